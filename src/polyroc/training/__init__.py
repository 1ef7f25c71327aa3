"""Early stopping by D: the same number in LightGBM, XGBoost, CatBoost and Keras.

For PyTorch and Lightning see `polyroc.torch`. Nothing of these packages is imported until one of them asks.
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from polyroc.training._metrics import CatBoostMetric, LightGBMMetric, XGBoostMetric, multiclass_d

if _TYPE_CHECKING:
    from polyroc.training._keras import KerasCallback as KerasCallback

__all__ = ["CatBoostMetric", "LightGBMMetric", "XGBoostMetric", "multiclass_d"]

# A class of Keras's, loaded when somebody asks for it. Not in __all__: `import *` works without Keras.
_OF_KERAS = "KerasCallback"


def __getattr__(name: str) -> _Any:
    if name == _OF_KERAS:
        return _import_module("polyroc.training._keras").KerasCallback
    msg = f"module 'polyroc.training' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted([*__all__, *([_OF_KERAS] if _find_spec("keras") else [])])
