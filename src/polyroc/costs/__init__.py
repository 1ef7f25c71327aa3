"""From costs to decisions: rules that predict classes, what they cost, and which costs would change the best model."""
