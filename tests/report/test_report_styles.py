"""Style sheets are several, and one page: what one says of its own parts must not reach those of another."""

import re
from importlib.resources import files

TEMPLATES = files("polyroc.report") / "_templates"
# `.more`, `.more:hover`: anything of this class, wherever it is.
BARE = re.compile(r"\.([\w-]+)(?::{1,2}[\w-]+)?")


def classes_of_cells():
    script = (TEMPLATES / "explorer_grid.js").read_text(encoding="utf-8")
    return set(re.findall(r'(?:classList\.(?:toggle|add)\(|className = )"([\w-]+)"', script))


def classes_styled_everywhere():
    sheets = [one.read_text(encoding="utf-8") for one in TEMPLATES.iterdir() if one.name.endswith(".css")]
    heads = re.findall(r"([^{}]+)\{", re.sub(r"/\*.*?\*/", "", "".join(sheets), flags=re.S))
    found = (BARE.fullmatch(selector.strip()) for head in heads for selector in head.split(","))
    return {one[1] for one in found if one}


def test_cells_of_the_grid_have_no_style_of_other_parts():
    # Costs above the usual were bold, blue and round, like the button "more".
    assert {"more", "less", "changed", "none", "share"} <= classes_of_cells()
    assert "tile" in classes_styled_everywhere()
    assert classes_of_cells() & classes_styled_everywhere() == set()
