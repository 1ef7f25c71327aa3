"""Tensors that may not be copied to the host."""

import pytest


def refuse_copies(monkeypatch, most):
    """More than `most` numbers of a tensor cannot be brought to the host at once."""
    import torch

    def watch(name, is_copy):
        real = getattr(torch.Tensor, name)

        def asked(self, *args, **kwargs):
            if self.numel() > most and is_copy(args):
                pytest.fail(f"{self.numel()} numbers were copied to the host by `{name}`")
            return real(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, asked)

    for name in ("cpu", "numpy", "tolist", "__array__", "item"):
        watch(name, lambda _: True)
    watch("to", lambda args: args[:1] == ("cpu",))
