"""The reference engine: NumPy, one function per step."""
