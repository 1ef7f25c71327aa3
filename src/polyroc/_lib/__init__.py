"""What knows nothing of ROC: types, text, numbers for people, files."""
