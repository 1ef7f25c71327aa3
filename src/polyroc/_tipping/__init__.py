"""What a single mistake would have to cost to change which model is first."""
