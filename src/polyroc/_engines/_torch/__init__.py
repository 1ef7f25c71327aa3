"""The engine of graphics cards: sorted, cut and fitted by PyTorch, with Triton where a pass would be memory-bound."""
