"""What doctests are not collected from."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("mlflow") else ["polyroc/_mlflow/_evaluator.py"]
