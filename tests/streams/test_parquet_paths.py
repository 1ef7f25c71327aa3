"""Which files paths lead to: each counts once, and unfinished ones do not count."""

import os
import shutil

import pytest
from parquet_files import predictions, table_of, write

import polyroc


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "a", table_of(*predictions(n=200)))


def refused(paths, *spellings):
    with pytest.raises(polyroc.InputError, match="must not name a file twice") as caught:
        polyroc.evaluate_parquet(paths, target="y")
    assert all(f"'{spelling}'" in str(caught.value) for spelling in spellings)


def test_a_file_of_two_spellings_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    file = folder / "0.parquet"
    refused([file, "0.parquet"], file, "0.parquet")
    refused([file, folder / ".." / "a" / "0.parquet"], file, folder / ".." / "a" / "0.parquet")
    refused([folder, "0.parquet"], file, "0.parquet")
    refused([".", folder], "0.parquet", file)


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_link_is_the_file_that_it_leads_to(folder, link):
    link(folder / "0.parquet", folder / "1.parquet")
    refused(folder, folder / "0.parquet", folder / "1.parquet")
    refused([folder / "1.parquet", folder / "0.parquet"], folder / "1.parquet", folder / "0.parquet")


def test_a_file_that_is_named_twice_in_the_same_way(folder):
    for paths in ([folder, folder], [folder / "0.parquet", folder / "0.parquet"]):
        with pytest.raises(polyroc.InputError, match=r"must not name a file twice, got '[^']+0\.parquet' twice\.$"):
            polyroc.evaluate_parquet(paths, target="y")


def test_a_folder_by_a_link_is_refused_beside_itself(folder, tmp_path):
    (tmp_path / "b").symlink_to(folder)
    refused([folder, tmp_path / "b"], folder / "0.parquet", tmp_path / "b" / "0.parquet")


@pytest.mark.parametrize("name", [".ipynb_checkpoints/0.parquet", "_temporary/0/0.parquet", ".0.parquet", "_0.pq"])
def test_names_that_begin_with_a_dot_or_a_line_are_left_out_of_folders(folder, name):
    copy = folder / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "0.parquet", copy)
    assert polyroc.evaluate_parquet(folder, target="y").n_samples == 200
    # Whoever names it means it.
    assert polyroc.evaluate_parquet(copy, target="y").n_samples == 200
    assert polyroc.evaluate_parquet(copy.parent, target="y").n_samples == 200


def test_a_folder_of_nothing_else_is_told(folder):
    (folder / "0.parquet").rename(folder / "_0.parquet")
    with pytest.raises(polyroc.InputError, match=r"none in folder .* but 1 whose names"):
        polyroc.evaluate_parquet(folder, target="y")
