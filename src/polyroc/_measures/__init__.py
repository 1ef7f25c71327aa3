"""One table of what people ask of a classifier: each measure with an interval, all of them from the same samples."""
