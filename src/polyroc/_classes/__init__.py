"""One row per class: how often it is found, how well it is ranked, and with what it is confused."""
