"""How fast polyroc is, beside its peers on the same data: `python -m benchmarks`, or `make bench`."""
