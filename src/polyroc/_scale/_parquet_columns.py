"""Which columns and classes Parquet files have, for whoever must know before they are counted."""

from collections.abc import Mapping
from typing import Any

from polyroc._lib._typing import LabelArray
from polyroc._scale._arrow_batch import typed_like
from polyroc._scale._parquet_files import open_files
from polyroc._scale._parquet_layout import as_wanted, check_wanted, layout_of
from polyroc._scale._parquet_passes import find_classes
from polyroc._scale._parquet_run import ParquetRun


def found_columns(
    paths: Any,
    *,
    target: str,
    scores: Mapping[str, Any],
    labels: list[str] | None,
    sample_weight: str | None,
    groups: str | None,
    partial: bool,
    progress: bool,
    n_jobs: int | None,
) -> tuple[LabelArray, dict[str, list[str]]]:
    """The classes, of the type that the target has, and the score columns of each model in their order."""
    files = open_files(paths, partial=partial)
    files.check_columns([target], "target")
    given = None if labels is None else typed_like(labels, files.files[0].type_of(target))
    wanted = as_wanted(target, scores, given, sample_weight, groups)
    check_wanted(files, wanted)
    run = ParquetRun(files, n_jobs=n_jobs, partial=partial, progress=progress, checkpoint=None)
    found, categories = find_classes(run, target) if given is None else (given, None)
    layout = layout_of(files, wanted, found, categories)
    return layout.labels, {name: list(columns) for name, columns in layout.reader.models.items()}
