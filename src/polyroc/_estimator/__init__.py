"""The method, top to bottom as on docs/method.md."""
