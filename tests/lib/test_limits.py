"""All limits by number of classes stand in one table, and a page says what is left out beyond each."""

import re

import pytest
from pages import ROOT, text_of

from polyroc._lib import limits

LIMITS = {name: value for name, value in vars(limits).items() if name.isupper()}
SOURCES = sorted((ROOT / "src" / "polyroc").rglob("*.py"))


@pytest.mark.parametrize("name", LIMITS)
def test_the_page_names_each_limit_with_its_number(name):
    [row] = re.findall(rf"^\| ([\d,]+)(?: pairs)? \| .+ \| `{name}` \|$", text_of("docs/large.md"), flags=re.M)
    assert int(row.replace(",", "")) == LIMITS[name]


def test_the_page_names_no_other_limit():
    assert set(re.findall(r"\| `([A-Z_]+)` \|$", text_of("docs/large.md"), flags=re.M)) == set(LIMITS)


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_is_used_and_has_a_reason(name):
    own = (ROOT / "src" / "polyroc" / "_lib" / "limits.py").read_text(encoding="utf-8")
    assert re.search(rf"^# .+\.\n{name} = ", own, flags=re.M)
    assert any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in SOURCES if path.stem != "limits")


def test_no_other_module_has_a_limit_by_classes():
    for path in SOURCES:
        if path.stem != "limits":
            found = re.search(r"^_?(MOST|MANY|N)_CLASSES = .*", path.read_text(encoding="utf-8"), flags=re.M)
            assert found is None, f"{path}: {found[0]}"
