"""Data of the user, checked and turned into records."""
