"""One evaluation or a comparison: `evaluate`, `compare`, and their results with words, tables and intervals."""
