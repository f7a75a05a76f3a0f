"""The hot loops, twice: ``reference`` (NumPy, the definition) and ``compiled`` (numba, same names)."""
