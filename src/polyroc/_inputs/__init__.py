"""What a user holds, checked and turned into records."""
