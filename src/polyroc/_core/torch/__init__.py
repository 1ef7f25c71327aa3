"""Passes for graphics cards: by PyTorch, with Triton if a pass would be memory-bound."""
