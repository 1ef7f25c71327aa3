"""The pictures in the documentation: each is there, is shown, and says nothing of when and with what it was made."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = {
    f"{name}-{k}-{theme}.png"
    for name in ("roc-curve", "heatmap", "comparison", "cost-sweep", "decision")
    for k in (3, 10, 50)
    for theme in ("light", "dark")
} | {f"{name}-{theme}.png" for name in ("ranks", "corner") for theme in ("light", "dark")}


def test_every_picture_is_there_and_shown():
    shown = re.findall(r"images/display/(\S+)", (DOCS / "displays.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(PICTURES)
    assert {path.name for path in (DOCS / "images" / "display").iterdir()} == PICTURES


def test_pictures_are_small_and_undated():
    pictures = [path.read_bytes() for path in (DOCS / "images" / "display").glob("*.png")]
    assert 0 < sum(map(len, pictures)) < 3_500_000
    # The kinds of chunk in which PNG files keep text and times.
    assert not any(chunk in picture for picture in pictures for chunk in (b"tEXt", b"iTXt", b"tIME"))
