"""What is sent between machines: any split and any tree of merges gives what one accumulator gives."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from partitioned import local, problem

import polyroc
from polyroc.streams._partitions import PartCounts, PartPass, PartSums, Recipe, received_error, sent_error


@given(integers(0, 2**32 - 1))
def test_any_tree_of_merges_gives_the_same_bytes(seed):
    rng = np.random.default_rng(seed)
    y_true, y_score, _ = problem(seed, n=200, ties=bool(seed % 2))
    recipe = Recipe((0, 1, 2, 3), ("",), "probabilities", 8)
    parts = []
    for rows in np.array_split(rng.permutation(200), rng.integers(1, 12)):
        part = PartCounts(recipe)
        part.add(y_true[rows], [y_score[rows]])
        parts.append(part)
    while len(parts) > 1:
        rng.shuffle(parts)
        n_merged = int(rng.integers(2, 4))
        sent = [PartCounts.from_bytes(recipe, part.to_bytes()) for part in parts[:n_merged]]
        parts = [*parts[n_merged:], PartCounts.merged(sent)]
    mine = parts[0].accumulators[""].state_dict()
    theirs = local(y_true, y_score)[0].state_dict()
    assert {name: array.tobytes() for name, array in mine.items()} == {
        name: array.tobytes() for name, array in theirs.items()
    }


def test_damaged_bytes_are_refused():
    part = PartCounts(Recipe((0, 1, 2, 3), ("",), "probabilities", 8))
    part.add(*[problem(0)[0], [problem(0)[1]]])
    data = part.to_bytes()
    for damaged in (data[:-40], b"", data[:20] + bytes(20) + data[40:]):
        with pytest.raises(polyroc.InputError, match="`state` must"):
            PartCounts.from_bytes(part.recipe, damaged)
    with pytest.raises(polyroc.InputError, match="`state` must"):
        PartSums.from_bytes(b"nothing")


def test_errors_travel_as_text():
    error = polyroc.InputError("y_true", "must be so", "other", ": indeed")
    error.add_note("here")
    found = received_error(sent_error(error))
    assert (str(found), found.argument, found.__notes__) == (str(error), "y_true", ["here"])
    assert str(received_error(sent_error(ValueError("of others")))) == "of others"


def test_weights_and_groups_survive_the_way():
    y_true, y_score, weight = problem(1)
    recipe = Recipe((0, 1, 2, 3), ("",), "probabilities", 8)
    counts = PartCounts(recipe)
    counts.add(y_true, [y_score], weight)
    [sent] = pickle.loads(pickle.dumps(counts)).accumulators.values()
    assert sent.state_dict()["rows"].tobytes() == local(y_true, y_score, weight)[0].state_dict()["rows"].tobytes()
    whole = sent.second_pass()
    for groups in (None, np.arange(900) // 3, np.array(["a", "ü", "z"])[np.arange(900) % 3]):
        part = pickle.loads(pickle.dumps(PartPass(whole.tables)))
        part.add(y_true, [y_score], weight, groups)
        merged = PartSums.merged([PartSums.from_bytes(part.begun().summary.to_bytes()), part.summary])
        whole.sums = PartSums.from_bytes(merged.to_bytes()).sums
        assert whole.compute().standard_error == local(y_true, y_score, weight, groups)[1].standard_error
