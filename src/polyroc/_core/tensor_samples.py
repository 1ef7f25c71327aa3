"""What `samples` asks of rows and columns, of samples that lie on a GPU: few numbers come to the host, and at once."""

from typing import NamedTuple

from polyroc._inputs.tensors import Tensor, TensorPredictions, summed
from polyroc._lib.typing import BoolArray, FloatArray, IntArray


class TableLook(NamedTuple):
    """What a table of scores looks like."""

    lowest: float
    highest: float
    mean_error: float
    """How far the sum of a row is from 1, in the mean over the rows."""
    worst_error: float


def look_at(predictions: TensorPredictions, *, exponentials: bool = False) -> TableLook:
    """One pass over the scores, or over their exponentials."""
    import torch

    scores = predictions.tensors.scores.exp() if exponentials else predictions.tensors.scores
    off = (scores.sum(dim=1, dtype=torch.float64) - 1).abs()
    found = torch.stack([*(number.double() for number in scores.aminmax()), off.mean(), off.max()])
    return TableLook(*found.tolist())


def column_ranges(predictions: TensorPredictions) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each column, shape (k,) each."""
    import torch

    lowest, highest = torch.stack(predictions.tensors.scores.aminmax(dim=0)).cpu().numpy()
    return lowest, highest


def predicted_classes(predictions: TensorPredictions) -> IntArray:
    """The class of the highest column of each sample, shape (n,), on the host; the first of equal ones."""
    predicted: IntArray = _predicted(predictions).cpu().numpy()
    return predicted


def predicted_right(predictions: TensorPredictions) -> BoolArray:
    """Whether that is the true class, shape (n,), on the host."""
    right: BoolArray = (_predicted(predictions) == predictions.tensors.codes).cpu().numpy()
    return right


def accuracy_of(predictions: TensorPredictions) -> float:
    """Share of the samples, by their weights, for which that is the true class."""
    right, weight = _predicted(predictions) == predictions.tensors.codes, predictions.tensors.weight
    if weight is None:
        return int(right.sum()) / len(right)
    return float((weight * right).sum() / weight.sum())


def _predicted(predictions: TensorPredictions) -> Tensor:
    return predictions.tensors.scores.argmax(dim=1)


def sums_of_quarters(predictions: TensorPredictions) -> tuple[float, float]:
    """Lowest and highest sum of a quarter of each of two columns."""
    import torch

    scores = predictions.tensors.scores
    low, high = torch.stack((scores[:, 0] / 4 + scores[:, 1] / 4).aminmax()).tolist()
    return low, high


def two_areas(predictions: TensorPredictions) -> tuple[float, float]:
    """Areas of two classes by the second column, and by the first one turned round."""
    scores, codes, weight = predictions.tensors
    if weight is not None:
        weight = weight / weight.new_tensor(predictions.class_weights)[codes]
    return _mann_whitney(scores[:, 1], codes, weight), _mann_whitney(-scores[:, 0], codes, weight)


def _mann_whitney(score: Tensor, is_positive: Tensor, share: Tensor | None) -> float:
    """Probability that a positive sample scores higher than a negative one, ties one half."""
    distinct, place = score.unique(return_inverse=True)
    place, n_places = 2 * place + is_positive, 2 * len(distinct)
    by_class = place.bincount(minlength=n_places) if share is None else summed(share, place, n_places)
    negative, positive = by_class.reshape(-1, 2).T
    # Twice the wins over those below and among ties; of whole numbers without shares, and so exact.
    wins = (positive * (2 * negative.cumsum(0) - negative)).sum()
    if share is not None:
        return float(wins / 2)
    n_positive = int(is_positive.sum())
    return int(wins) / (2 * n_positive * (len(score) - n_positive))
