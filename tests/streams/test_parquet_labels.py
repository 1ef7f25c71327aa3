"""Integer labels of every width are counted to the classes that they name."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import polyroc

WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def columns_of(width):
    """Classes at both ends of a type, and apart by more than it can hold."""
    low, high = int(np.iinfo(width).min), int(np.iinfo(width).max)
    apart = [[-1, 45, 127], [-100, 45, 100]] if low else [[0, 45, 255], [100, 150, 255]]
    return [*apart, [low, low + 1, low + 3], [high - 100, high - 45, high], [low, (low + high) // 2, high]]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("is_dictionary", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("case", range(5))
@pytest.mark.parametrize("is_told", [False, True], ids=["found", "labels"])
def test_labels_of_every_width_keep_their_classes(tmp_path, width, is_dictionary, case, is_told):
    classes = columns_of(width)[case]
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [6, 7, 8])
    scores = np.round(rng.dirichlet(np.ones(3), 21) * 64) / 64
    target = pa.array([classes[code] for code in codes], pa.from_numpy_dtype(np.dtype(width)))
    if is_dictionary:
        values = pa.array(classes, target.type)
        target = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), values)
    table = pa.table({"y": target, **{f"p_{label}": scores[:, c] for c, label in enumerate(classes)}})
    pq.write_table(table, tmp_path / "a.parquet")
    labels = classes if is_told else None
    found = polyroc.evaluate_parquet(tmp_path / "a.parquet", target="y", labels=labels, standard_errors=False)
    assert found.labels.tolist() == classes
    assert_array_equal(found.class_counts, [6, 7, 8])
    # The same samples with other names for the classes.
    assert found.auc == pytest.approx(polyroc.evaluate(codes, scores).auc, abs=1e-12)
