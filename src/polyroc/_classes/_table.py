"""What was measured of the classes, as the table that users read."""

import numpy as np

from polyroc._classes._measured import MeasuredClasses
from polyroc._classes._record import Classes
from polyroc._lib._names import printable
from polyroc._lib._numbers import counted
from polyroc._lib._typing import IntArray, LabelArray

# More names than this are counted.
_TOLD = 5


def class_table(measured: MeasuredClasses) -> Classes:
    """One row per class, without intervals."""
    source, named, areas = measured.prepared.source, measured.named, measured.areas
    return Classes(
        label=source.labels,
        n_samples=source.class_counts,
        weight=source.class_weights if source.is_weighted else None,
        n_named=None if named is None else named.n_named,
        recall=None if named is None else named.recall,
        precision=None if named is None else named.precision,
        auc_vs_rest=areas.against_rest,
        mean_pair_auc=areas.of_pairs,
        hardest_partner=_names(source.labels, areas.hardest),
        hardest_auc=areas.of_hardest,
        mistaken_for=None if named is None else _names(source.labels, named.mistaken_for),
        mistaken_share=None if named is None else named.mistaken_share,
        notes=_notes(measured),
        _measured=measured,
    )


def _names(labels: LabelArray, places: IntArray | None) -> LabelArray | None:
    """The labels at these places, None at -1."""
    if places is None:
        return None
    if len(places) and places.min() >= 0:
        found: LabelArray = labels[places]
        return found
    names = np.empty(len(places), dtype=object)
    names[:] = [None if place < 0 else name for place, name in zip(places, labels[places].tolist(), strict=True)]
    return names


def _notes(measured: MeasuredClasses) -> tuple[str, ...]:
    found = []
    if measured.why_unnamed:
        found.append(f"There is no recall and no precision. {measured.why_unnamed}")
    if measured.areas.of_pairs is None:
        found.append("Areas of pairs need all pairs of a class: only a sample of them was compared (max_pairs).")
    if note := never_named_note(measured):
        found.append(note)
    return tuple(found)


def never_named_note(measured: MeasuredClasses) -> str:
    """That classes with samples are never named; nothing where there are none. It takes no areas."""
    if measured.named is None:
        return ""
    source = measured.prepared.source
    lost = np.flatnonzero((measured.named.n_named == 0) & (source.class_counts > 0))
    if len(lost) == 0:
        return ""
    why = "highest in no row. D and M compare samples within a column and cannot show that."
    first = zip(source.labels[lost[:_TOLD]].tolist(), source.class_counts[lost[:_TOLD]].tolist(), strict=True)
    told = [f"{printable(name)} ({counted(count, 'sample')})" for name, count in first]
    if len(lost) == 1:
        return f"Class {told[0]} is never named: its column is the {why}"
    more = f" and {len(lost) - _TOLD:,} more" if len(lost) > _TOLD else ""
    which = f"{len(lost):,} of {counted(len(source.labels), 'class')} are never named: {', '.join(told)}{more}"
    return f"{which}. Their columns are the {why}"
