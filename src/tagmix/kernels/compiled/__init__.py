"""The kernels compiled by numba: same names, same numbers as ``reference``, to rounding."""
