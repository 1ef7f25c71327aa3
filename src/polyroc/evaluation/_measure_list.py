"""Every measure, declared once: what it is called, what it means, what it needs, what range it has."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Need: TypeAlias = Literal[
    "", "predicted", "predicted, several", "predicted, ordered", "probabilities", "all pairs", "all pairs, one scale"
]
Scale: TypeAlias = Literal["area", "share", "logit", "log", "size"]


@dataclass(frozen=True)
class Kind:
    """What is known of a measure without any sample."""

    name: str
    label: str
    """For people, in a table."""
    meaning: str
    sklearn: str
    """The function of scikit-learn that gives the same value; empty where there is none."""
    needs: Need = ""
    depends_on_prevalence: bool = False
    """Whether the measure changes where only the proportions of the classes change."""
    higher_is_better: bool = True
    lowest: float = 0.0
    highest: float = 1.0
    scale: Scale = "logit"
    """How its interval is made: that of an area, of a share of samples, on the scale of the range, ..."""
    rare_classes_count: bool = False
    """Whether a sample of a rare class counts more than others, so that the smallest class limits what is known."""
    unseen: float = 0.0
    """What share of a mistake its interval adds for errors that no sample shows (`_uncertainty/_logit_scale.py`)."""
    is_curved: bool = False
    """Whether the measure has a bias that its interval takes out."""


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "auc", "D (multi-class AUC)", "area under the one curve that all pairs of classes share", "", scale="area"
        ),
        Kind(
            "hand_till",
            "M (Hand and Till)",
            "mean of the areas of all pairs of classes",
            'roc_auc_score(multi_class="ovo")',
            scale="area",
        ),
        Kind(
            "pdi",
            "PDI",
            "chance that the right one of k samples, one per class, has the highest score for a class: 1/k by guessing",
            "",
            rare_classes_count=True,
            unseen=0.1,
        ),
        Kind(
            "auc_mu",
            "AUCmu",
            "mean area of all pairs of classes, each ranked by the difference of its two columns",
            "",
            needs="all pairs, one scale",
            rare_classes_count=True,
            unseen=0.1,
        ),
        Kind(
            "ovr_macro",
            "one-vs-rest AUC, macro",
            "mean area of one class against all others, classes counting the same",
            'roc_auc_score(multi_class="ovr")',
            needs="all pairs",
            depends_on_prevalence=True,
            rare_classes_count=True,
            unseen=0.5,
        ),
        Kind(
            "ovr_weighted",
            "one-vs-rest AUC, weighted",
            "mean area of one class against all others, classes counting by their samples",
            'roc_auc_score(multi_class="ovr", average="weighted")',
            needs="all pairs",
            depends_on_prevalence=True,
            unseen=0.5,
        ),
        Kind(
            "accuracy",
            "accuracy",
            "share of samples whose highest column is their class",
            "accuracy_score",
            needs="predicted",
            depends_on_prevalence=True,
            scale="share",
            unseen=0.5,
        ),
        Kind(
            "top_3",
            "top-3 accuracy",
            "share of samples whose class is among the three highest columns",
            "top_k_accuracy_score(k=3)",
            needs="predicted, several",
            depends_on_prevalence=True,
            scale="share",
            unseen=0.5,
        ),
        Kind(
            "balanced_accuracy",
            "balanced accuracy",
            "mean share of each class that is predicted correctly (recall)",
            "balanced_accuracy_score",
            needs="predicted",
            rare_classes_count=True,
        ),
        Kind(
            "f1_macro",
            "F1, macro",
            "mean over the classes of the harmonic mean of precision and recall",
            'f1_score(average="macro")',
            needs="predicted",
            depends_on_prevalence=True,
            rare_classes_count=True,
            is_curved=True,
        ),
        Kind(
            "mcc",
            "MCC",
            "Matthews' correlation of true and predicted classes: 0 for chance, 1 for no mistake",
            "matthews_corrcoef",
            needs="predicted",
            depends_on_prevalence=True,
            lowest=-1.0,
            is_curved=True,
        ),
        Kind(
            "kappa",
            "kappa",
            "Cohen's agreement of true and predicted classes beyond chance: 0 for chance, 1 for no mistake",
            "cohen_kappa_score",
            needs="predicted",
            depends_on_prevalence=True,
            lowest=-1.0,
            is_curved=True,
        ),
        Kind(
            "quadratic_kappa",
            "quadratic kappa",
            "kappa of ordered classes, mistakes counting by their squared distance",
            'cohen_kappa_score(weights="quadratic")',
            needs="predicted, ordered",
            depends_on_prevalence=True,
            lowest=-1.0,
            is_curved=True,
        ),
        Kind(
            "brier",
            "Brier score",
            "mean squared error of the probabilities, summed over the classes (half of that for two classes)",
            "brier_score_loss",
            needs="probabilities",
            depends_on_prevalence=True,
            higher_is_better=False,
            highest=2.0,
            unseen=0.5,
        ),
        Kind(
            "log_loss",
            "log loss",
            "mean of minus the logarithm of the probability of the true class",
            "log_loss",
            needs="probabilities",
            depends_on_prevalence=True,
            higher_is_better=False,
            highest=float("inf"),
            scale="log",
            unseen=0.5,
        ),
        Kind(
            "calibration_error",
            "calibration error",
            "mean over classes and 15 bins of |share of the class - mean probability| (class-wise ECE)",
            "",
            needs="probabilities",
            depends_on_prevalence=True,
            higher_is_better=False,
            scale="size",
        ),
    )
}
# Only where somebody says that the classes are ordered.
ONLY_ORDERED = ("quadratic_kappa",)
