"""The exact pass: one score column at a time is gathered, sorted and asked, so memory is that of one column."""

from threading import Lock
from typing import Any

import numpy as np

from polyroc._engines._exact import ExactColumns, SortedColumn, check_exact_memory, code_type, exact_columns
from polyroc._estimator._rates import sampled_pairs
from polyroc._inputs.checks import InputError
from polyroc._lib.grid import grid
from polyroc._lib.typing import FloatArray
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._parquet_files import Part
from polyroc.streams._parquet_layout import Layout
from polyroc.streams._parquet_run import ParquetRun

_EXACT = "exact"


def check_exact(accumulator: RocAccumulator, sample_weight: str | None) -> None:
    """Refuse what sorted columns cannot give, before any file is read."""
    if accumulator._options.thresholds != "own":
        rule = "must be 'own' with `exact=True`, which sorts one score column at a time"
        raise InputError("thresholds", rule, repr(accumulator._options.thresholds))
    if sample_weight is not None:
        rule = "must be None with `exact=True`: sorted weights take three times the memory that it promises"
        raise InputError("sample_weight", rule, repr(sample_weight))


class ExactPass:
    """Every column of every model, after the counts."""

    def __init__(self, run: ParquetRun, layout: Layout, accumulators: dict[str, RocAccumulator]) -> None:
        self._run, self._layout, self._accumulators = run, layout, accumulators
        self._source = next(iter(accumulators.values()))._tally.counts()
        options = next(iter(accumulators.values()))._options
        self._pairs = sampled_pairs(self._source, options.max_pairs, options.rng)
        # Two classes have one area, and a curve whose vertices bins have.
        self._call_rates = np.zeros(0) if self._source.is_binary else grid(options.n_thresholds)
        self._dtype = np.dtype(np.float32 if layout.reader.single else np.float64)
        n_rates = len(self._call_rates) * len(self._pairs)
        check_exact_memory(self._source.n_samples, len(layout.labels), self._dtype.itemsize, n_rates)
        self._codes: Any = None
        self._starts: dict[int, int] = {}

    def find(self) -> None:
        """Give every accumulator what was found."""
        stored, column, lock = self._run.of_stage(_EXACT), None, Lock()
        positives = np.unique(self._pairs.positive).tolist()
        if self._source.n_columns == 2:
            # Of two classes one is positive; the table of classes has the area of the other one, too.
            positives = [0, 1]
        n_columns = len(positives) * len(self._accumulators)
        for number, (model, accumulator) in enumerate(self._accumulators.items()):
            found: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
            for place, i in enumerate(positives):
                key = f"{number}/{i}"
                if f"{key}/areas" not in stored:
                    column = column or SortedColumn(self._source.class_counts, self._dtype)
                    own = self._layout.reader.models[model]
                    name = own[i if len(own) > 1 else 0]
                    title = f"column {number * len(positives) + place + 1} of {n_columns}"
                    self._gather(name, column, lock, title)
                    stored |= self._asked(column, i, key)
                    self._run.store(_EXACT, stored, self._layout.labels)
                found[i] = self._checked(stored, i, key)
            accumulator._exact = self._put_together(found)

    def _put_together(self, found: dict[int, tuple[FloatArray, FloatArray, FloatArray]]) -> ExactColumns:
        return exact_columns(self._call_rates, self._pairs, found, len(self._layout.labels))

    def _asked(self, column: SortedColumn, i: int, key: str) -> dict[str, Any]:
        n_jobs = self._run.n_jobs
        column.sort(n_jobs)
        negatives = self._pairs.negative[self._pairs.positive == i].tolist()
        tpr: FloatArray = np.zeros((0, len(negatives)))
        scores: FloatArray = tpr
        if len(self._call_rates):
            tpr, scores = column.cut(i, negatives, self._call_rates, n_jobs)
        return {f"{key}/areas": column.areas(i, n_jobs), f"{key}/tpr": tpr, f"{key}/scores": scores}

    def _checked(self, stored: dict[str, Any], i: int, key: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        shape = (len(self._call_rates), int(np.count_nonzero(self._pairs.positive == i)))
        shapes = {"areas": (len(self._layout.labels),), "tpr": shape, "scores": shape}
        found = [np.asarray(stored.get(f"{key}/{name}")) for name in shapes]
        if any(one.shape != own or one.dtype != np.float64 for one, own in zip(found, shapes.values(), strict=True)):
            raise InputError("checkpoint", f"must hold all of exact column {key}", hint=": it is damaged")
        return found[0], found[1], found[2]

    def _gather(self, name: str, column: SortedColumn, lock: Lock, title: str) -> None:
        """Read a column into its classes; with the first one, the classes of all samples."""
        reader, k = self._layout.reader, len(self._layout.labels)
        is_first = self._codes is None
        if is_first:
            self._codes = np.empty(self._source.n_samples, dtype=code_type(k))
            sizes = [part.n_rows for part in self._run.present]
            starts = np.cumsum([0, *sizes])[:-1].tolist()
            self._starts = {part.number: start for part, start in zip(self._run.present, starts, strict=True)}
        column.begin()

        def work(part: Part) -> bool:
            at = self._starts[part.number]
            for rows, place in self._run.rows(part, [reader.target, name] if is_first else [name]):
                codes = self._codes[at : at + len(rows)]
                if is_first:
                    codes[:] = reader.encode(rows.column(reader.target), reader.target, place)
                scores = reader.score(rows.column(name), name, place)
                with lock:
                    places = column.reserve(np.bincount(codes, minlength=k))
                column.put(scores, codes, places)
                at += len(rows)
            return True

        self._run.every_part(title, work, lambda _done: None, may_fail=False)
