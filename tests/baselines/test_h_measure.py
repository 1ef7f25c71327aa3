import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import beta

import polyroc
from polyroc.baselines import h_measure

# R's package hmeasure on the data set Pima of MASS. Below are the corners of the ROC convex hull as numbers of samples
# and H at several severity ratios as R gave them; they are in the tests of hmeasure's translation to Python
# (github.com/ldanov/pypkg_hmeasure, tests/resources).
#
#   library(MASS); library(hmeasure)
#   scores <- predict(lda(type ~ ., data = Pima.tr), newdata = Pima.te)$posterior[, 2]
#   for (ratio in c(NA, 0.1, 0.3, 1, 2, 4))
#     print(HMeasure(Pima.te$type == "Yes", scores, severity.ratio = ratio)$metrics$H, digits = 15)
PIMA_NEGATIVES = [0, 0, 3, 7, 15, 16, 17, 33, 68, 77, 119, 137, 196, 223]
PIMA_POSITIVES = [0, 1, 18, 40, 59, 61, 62, 75, 98, 100, 107, 108, 109, 109]
H_OF_R = {
    None: 0.46041583336617,
    0.1: 0.472887366171331,
    0.3: 0.484302831391568,
    1: 0.42144692438763,
    2: 0.392209317810797,
    4: 0.373863152716492,
}


@pytest.mark.parametrize("severity_ratio", H_OF_R)
def test_agrees_with_r_on_pima(severity_ratio):
    # Samples between two corners of the hull share a score: H depends on the corners alone.
    place = np.arange(13, 0, -1)
    y_true = np.repeat([0, 1], [223, 109])
    scores = np.concatenate([np.repeat(place, np.diff(PIMA_NEGATIVES)), np.repeat(place, np.diff(PIMA_POSITIVES))])
    assert_allclose(h_measure(y_true, scores, severity_ratio=severity_ratio), H_OF_R[severity_ratio], rtol=1e-13)


@pytest.mark.parametrize(
    ("severity_ratio", "expected"),
    [
        (None, 0.18889596344769588),
        (0.7, 0.13502616807120948),
        (0.5, 0.10750123502531805),
        (0.1, 0.001212529211507385),
    ],
)
def test_agrees_with_the_example_of_the_translation(severity_ratio, expected):
    # As printed on pypi.org/project/hmeasure.
    rng = np.random.default_rng(66)
    y_true, scores = rng.integers(low=0, high=2, size=10), rng.random(10)
    assert y_true.tolist() == [1, 1, 0, 1, 1, 0, 1, 1, 1, 0]
    assert_allclose(h_measure(y_true, scores, severity_ratio=severity_ratio), expected, rtol=1e-11)


def least_cost(c, y_true, scores, weight):
    """Lowest expected cost over all thresholds, a false positive costing c and a false negative 1 - c."""
    thresholds = [-np.inf, *np.unique(scores), np.inf]
    wrong = [
        c * weight[(scores >= t) & (y_true == 0)].sum() + (1 - c) * weight[(scores < t) & (y_true == 1)].sum()
        for t in thresholds
    ]
    return min(wrong) / weight.sum()


def h_by_quadrature(y_true, scores, weight, severity_ratio):
    prior = beta(2, 1 + 1 / severity_ratio)
    share = weight[y_true == 1].sum() / weight.sum()
    options = {"limit": 400, "epsabs": 1e-9}
    cost, _ = quad(lambda c: least_cost(c, y_true, scores, weight) * prior.pdf(c), 0, 1, **options)
    guessing, _ = quad(lambda c: min(c * (1 - share), (1 - c) * share) * prior.pdf(c), 0, 1, **options)
    return 1 - cost / guessing


@pytest.mark.parametrize("severity_ratio", [0.2, 1, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_quadrature_over_all_thresholds(severity_ratio, weighted):
    rng = np.random.default_rng(0)
    y_true = (rng.random(40) < 0.35).astype(int)
    scores = (rng.normal(size=40) + y_true).round(1)
    weight = rng.uniform(0.2, 2, 40) if weighted else np.ones(40)
    found = h_measure(y_true, scores, severity_ratio=severity_ratio, sample_weight=weight)
    assert_allclose(found, h_by_quadrature(y_true, scores, weight, severity_ratio), atol=1e-7)


def test_file_in_the_format_of_hmeasure(tmp_path):
    # A published example with 27 positive and 93 negative samples, for which R printed the AUCH and the MER below:
    #
    #   data <- read.csv("scores.csv")
    #   library(hmeasure)
    #   print(HMeasure(data$true.class, data$scores)$metrics[c("AUCH", "MER", "H")], digits = 10)
    #
    # Its file is not to be had. The one that is made here has as many samples, and the seed is the first whose hull
    # encloses the same area, 4440 / (2 * 27 * 93), with 17 mistakes at least: both are fractions, so that R prints the
    # same for it. R itself has not been run on it. H is that of the package's translation to Python, hmeasure 0.1.6
    # (which wants scores between 0 and 1; only their order matters).
    rng = np.random.default_rng(623)
    made = np.repeat([0, 1], [93, 27])
    scores = (rng.normal(size=120) + 1.5 * made).round(2)
    with (tmp_path / "scores.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["true.class", "scores"], *zip(made, scores, strict=True)])
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    y_true = np.array([int(row["true.class"]) for row in rows])
    scores = np.array([float(row["scores"]) for row in rows])
    evaluation, ones = polyroc.evaluate(y_true, scores), np.ones(120)
    hull = evaluation.curve.hull()
    assert_allclose(hull.auc, 0.8841099164, rtol=0, atol=5e-11)
    assert_allclose(evaluation.pairs.hull_area[0], hull.auc, rtol=1e-12)
    # The minimum error rate is reached in a corner of the hull, where costs are equal.
    share = y_true.mean()
    errors = (1 - share) * hull.fpr + share * (1 - hull.tpr)
    assert_allclose(errors.min(), 0.1416666667, rtol=0, atol=5e-11)
    assert_allclose(errors.min(), 2 * least_cost(0.5, y_true, scores, ones), rtol=1e-12)
    decision = polyroc.decide(y_true, scores, 1 - np.eye(2))
    assert_allclose(decision.resubstitution_cost, 17 / 120, rtol=1e-12)
    assert_allclose(h_measure(y_true, scores), 0.4611740815777948, rtol=1e-12)


def test_ends():
    y_true = [0, 0, 1, 1, 1]
    assert h_measure(y_true, [1, 2, 3, 4, 5]) == 1
    assert h_measure(y_true, [1, 1, 1, 1, 1]) == 0
    # Backwards scores are not turned round: no threshold beats guessing.
    assert h_measure(y_true, [5, 4, 3, 2, 1]) == 0


def test_order_scale_and_names_do_not_matter():
    rng = np.random.default_rng(3)
    y_true, scores = rng.integers(0, 2, 50), rng.normal(size=50)
    usual = h_measure(y_true, scores, severity_ratio=0.3)
    order = rng.permutation(50)
    assert_allclose(h_measure(y_true[order], np.exp(scores[order]), severity_ratio=0.3), usual, rtol=1e-13)
    names = np.array(["no", "yes"])[y_true]
    both = np.column_stack([-scores, scores])
    assert h_measure(names, both, severity_ratio=0.3) == usual
    # The other class as the positive one: what was a false positive is a false negative.
    turned = h_measure(names, -scores, labels=["yes", "no"], severity_ratio=1)
    assert_allclose(turned, h_measure(names, scores, severity_ratio=1), rtol=1e-13)


@pytest.mark.parametrize("ratio", [0, -1, np.nan, np.inf, "1", True, 1e-7, [1.0]])
def test_refuses_other_ratios(ratio):
    with pytest.raises(polyroc.InputError, match="`severity_ratio` must be None or a number from 1e-06 to 1e"):
        h_measure([0, 1], [0.2, 0.3], severity_ratio=ratio)


def test_refuses_more_classes():
    with pytest.raises(polyroc.InputError, match="`y_score` must have one or two columns, because H is defined"):
        h_measure([0, 1, 2], np.eye(3))
