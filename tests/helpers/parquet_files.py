"""Parquet files for tests, and damage to them."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def predictions(n=6_000, k=4, *, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    z = rng.normal(size=(n, k))
    z[np.arange(n), y] += 1.2
    z = np.exp(z)
    return y, (z / z.sum(axis=1, keepdims=True)).astype(dtype)


def table_of(y, scores, names=None, **more):
    names = [f"p_{c}" for c in range(scores.shape[1])] if names is None else names
    return pa.table({"y": y, **{name: scores[:, c] for c, name in enumerate(names)}, **more})


def write(folder, table, *, n_files=1, rows=1_000, **options):
    folder.mkdir(exist_ok=True)
    edges = np.linspace(0, len(table), n_files + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(edges.tolist())):
        part = table.slice(start, stop - start)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=rows, **options)
    return folder


def states(evaluation):
    """All counts of an evaluation, to be compared byte for byte."""
    source = evaluation.fitted.source
    return [array.tobytes() for column in source.columns for array in (column.bins, column.weight)]


def damage(file, *, row_group, column):
    chunk = pq.ParquetFile(file).metadata.row_group(row_group).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(file.read_bytes())
    middle = start + chunk.total_compressed_size // 2
    content[middle : middle + 64] = bytes(64)
    file.write_bytes(bytes(content))
