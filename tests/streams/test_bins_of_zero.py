import numpy as np
import pytest
from parts import ScoreBins

import polyroc


@pytest.mark.parametrize("scores", ["probabilities", "free"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_negative_zero_is_a_zero(scores, dtype):
    assert len(set(ScoreBins(scores).index(np.array([0.0, -0.0], dtype=dtype)).tolist())) == 1


def test_scores_with_negative_zeros_can_be_counted():
    y_true = [0, 1, 2, 0, 1, 2]
    y_score = np.array([[0.9, 0.1, 0], [0.2, 0.8, 0], [0, 0.5, 0.5], [0.4, 0.6, 0], [0, 0.3, 0.7], [0.5, 0, 0.5]])
    accumulators = [polyroc.RocAccumulator(range(3)) for _ in range(2)]
    accumulators[0].update(y_true, y_score)
    accumulators[1].update(y_true, np.where(y_score == 0, -0.0, y_score))
    first, second = (accumulator.compute().auc for accumulator in accumulators)
    assert first == second
