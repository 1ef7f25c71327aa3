"""Parts that know nothing of ROC: types, text, numbers for people, files."""
