"""Out-of-sample predictions of real classifiers, to draw samples from."""

from functools import cache
import os
import numpy as np


@cache
def populations():
    with np.load(os.environ["POPS"]) as held:
        names = sorted({name.rsplit("-", 1)[0] for name in held.files})
        return {name: (held[name + "-codes"], held[name + "-scores"].astype(float)) for name in names}
