"""The kernels in NumPy, written to be read: they define what the compiled ones compute."""
