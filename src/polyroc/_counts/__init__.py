"""The second kind of source: scores counted in bins, which can be added up over batches, files and machines."""
