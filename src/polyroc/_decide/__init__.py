"""From scores and costs to a rule that names classes, and what that rule costs."""
