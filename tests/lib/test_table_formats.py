"""Tables as Markdown, LaTeX and HTML: what stands in a cell is text."""

import re
from html.parser import HTMLParser

import pytest

from polyroc._lib.text import html_table, latex_table, markdown_table

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "a\nb | c",
    "\\end{tabular}\\input{secret}",
    "50 % & more_$x^2$ #1 {~}",
    "[link](javascript:alert(1))",
    "![x](y)",
    "**bold** `code`",
    "&lt;b&gt;",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_in_its_cell_of_markdown(name):
    lines = markdown_table([["class", "n"], [name, "1"]], right=[1]).split("\n")
    assert len(lines) == 3
    assert lines[1] == "| :--- | ---: |"
    # Split as readers of Markdown do: at pipes without a backslash before them.
    cells = re.split(r"(?<!\\)\|", lines[2])
    assert len(cells) == 4
    assert not re.search(r"(?<!\\)[<>*`\[\]!]", cells[1])
    unescaped = re.sub(r"\\(.)", r"\1", cells[1].strip()).replace("&amp;", "&")
    assert unescaped == name.replace("\n", "?")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_no_command_of_latex(name):
    line = latex_table([["class", "n"], [name, "1"]]).split("\n")[4]
    body = line.removesuffix(" & 1 \\\\")
    assert body != line
    known = r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\[&%$#_{}]|\{[-'`,\"\[]\}"
    rest = re.sub(known, "", body)
    assert not re.search(r"[\\&%$#_{}~^]", rest)


def test_signs_that_latex_joins_stay_two():
    line = latex_table([["class"], ["[a] -- ''b''"]]).split("\n")[4]
    assert line == "{[}a] {-}{-} {'}{'}b{'}{'} \\\\"


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_no_tag_of_html(name):
    found = _Tags()
    found.feed(html_table([["class", "n"], [name, "1"]], right=[1], caption=name))
    assert found.tags == ["table", "caption", "tr", "th", "th", "tr", "td", "td"]
    assert found.text.count(name) == 2


def test_columns_of_numbers_are_aligned_right():
    rows = [["class", "n"], ["a", "1"]]
    assert latex_table(rows, right=[1]).startswith("\\begin{tabular}{lr}\n")
    assert '<td style="text-align: right">1</td>' in html_table(rows, right=[1])
