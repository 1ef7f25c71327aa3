"""D in a training loop of PyTorch: a metric of torchmetrics. Needs ``polyroc[torch]``."""

from polyroc.streams._torch_metric import MulticlassD

__all__ = ["MulticlassD"]
