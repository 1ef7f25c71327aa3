"""Results as text: what is printed, shown in a notebook, and said in words."""
