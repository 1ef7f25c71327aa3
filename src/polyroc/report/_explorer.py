"""The dict -> what the template and the script need to let somebody try other costs."""

from collections.abc import Sequence
from typing import Any

from polyroc._engines._coded import CodedScores, RuleScores, drawn_rows, row_weights, rule_scores, true_places
from polyroc._engines._samples import can_be_probabilities
from polyroc._lib.numbers import area, counted
from polyroc._lib.text import short_names
from polyroc._lib.typing import FloatArray
from polyroc._records import AllPairs
from polyroc.evaluation._evaluation import Evaluation
from polyroc.report._packing import as_letters, explorer_note
from polyroc.report._sentences import Sentence, joined, models_of

# Scores of all models together, 1.3 MB on the page; of more samples some are drawn.
MOST_SCORES = 500_000
_SEED = 0
_WHAT: Sentence = (
    "What predictions cost per sample at these costs and shares, judged on the same samples: point estimates, in which "
    "a mistake that these samples do not show costs nothing. The right class costs 0.",
)
_RULES: Sentence = (
    "The class of the lowest expected cost is predicted, with scores taken as probabilities. The last column predicts "
    "the class of the highest score, whatever mistakes cost.",
)
_CONTAINS: Sentence = (
    "This page contains true classes and scores of single samples. Send it only to people who may see them.",
)


def packed_decisions(evaluations: Sequence[Evaluation]) -> dict[str, Any] | None:
    """What the script needs to name classes; None where the page has no grid of costs, or knows no single sample."""
    if any(explorer_note(evaluation) or not evaluation.fitted.has_samples for evaluation in evaluations):
        return None
    sources, pairs = [evaluation.fitted.unchanged.samples for evaluation in evaluations], evaluations[0].fitted.pairs
    assert isinstance(pairs, AllPairs)
    classes, first = pairs.classes, sources[0]
    n_coded = sum(can_be_probabilities(source) for source in sources)
    # Where no model needs its scores, all samples count.
    most = MOST_SCORES // (n_coded * len(classes)) if n_coded else first.n_samples
    rows = drawn_rows(first.n_samples, most, _SEED)
    weight = row_weights(first, rows)
    return {
        "n_samples": first.n_samples,
        "n_rows": first.n_samples if rows is None else len(rows),
        "true": as_letters(true_places(first, classes, rows)) if n_coded else None,
        "weight": _bits(weight.astype("<f4")) if n_coded and weight is not None else None,
        "models": [_of_model(rule_scores(source, classes, rows)) for source in sources],
    }


def decision_words(summary: dict[str, Any]) -> dict[str, list[Sentence]] | None:
    """What the costs of decisions are, and what the page contains because of them; None where it has none."""
    found = summary.get("decisions")
    if found is None:
        return None
    free = [model for model, one in zip(models_of(summary), found["models"], strict=True) if one["scores"] is None]
    if len(free) == len(found["models"]):
        rule = "The class of the highest score is predicted, because the scores are not probabilities."
        table = "For that the page contains a table of true and predicted classes, and no scores of single samples."
        return {"what": [_WHAT, (rule,)], "contains": [(table,)]}
    said = [_WHAT, _RULES]
    if free:
        names = joined([(model.name,) for model in free if model.name is not None])
        said.append(("The scores of ", *names, " are not probabilities, so only the highest score is judged."))
    if found["n_rows"] < found["n_samples"]:
        drawn, all_samples = f"{found['n_rows']:,}", counted(found["n_samples"], "sample")
        said.append((f"These costs are judged on a random sample of {drawn} of the {all_samples} (seed 0).",))
    return {"what": said, "contains": [_CONTAINS]}


def _of_model(found: RuleScores) -> dict[str, Any]:
    scores = None if found.scores is None else _of_scores(found.scores)
    return {"confusion": found.confusion.tolist(), "scores": scores}


def _of_scores(scores: CodedScores) -> dict[str, Any]:
    return {
        "codes": as_letters(scores.codes),
        "values": None if scores.values is None else _bits(scores.values.astype("<f8")),
        "low": scores.low,
        "step": scores.step,
    }


def _bits(values: FloatArray) -> str:
    """Positive numbers bit by bit, as whole numbers of 32 bits: all upper halves first, which change little."""
    words = values.view("<u4").reshape(len(values), -1)
    return as_letters(words.T[::-1])


# Letters of a name along a side of the grid.
_LETTERS = 14
# Above these the cells have no room for numbers, and above the second the controls stand over the grid.
_WIDE, _NUMBERED = 12, 20


def explorer_section(summary: dict[str, Any], explorer: dict[str, Any] | None) -> dict[str, Any] | None:
    """The shell of the cost explorer; None where the page does not carry the rates of all pairs."""
    if explorer is None:
        return None
    k = len(explorer["classes"])
    return {
        "k": k,
        "n_models": len(models_of(summary)),
        "n_left_out": len(summary["labels"]) - k,
        "given": summary["options"]["costs"] is not None,
        "size": "wide" if k <= _WIDE else "medium" if k <= _NUMBERED else "small",
        "decisions": decision_words(summary),
        "judged": [{key: area(one[key]) for key in ("auc", "mean_auc")} for one in explorer["models"]],
    }


def explorer_names(summary: dict[str, Any], explorer: dict[str, Any] | None) -> dict[str, dict[str, list[str]]]:
    """All classes: for the sides of the grid, and letter by letter for a file that `--costs` reads."""
    if explorer is None:
        return {}
    labels = summary["labels"]
    return {"explorer_names": {"short": short_names(labels, _LETTERS), "exact": [_exact(label) for label in labels]}}


def _exact(label: Any) -> str:
    """As the command line calls a class; it knows booleans in small letters."""
    return str(label).lower() if isinstance(label, bool) else str(label)
