"""D in a training loop of PyTorch: a metric of torchmetrics. Needs ``polyroc[torch]``."""

from polyroc.torch._metric import MulticlassD

__all__ = ["MulticlassD"]
