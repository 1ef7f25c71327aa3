"""llms.txt and llms-full.txt of the built site: the names of all pages, and all pages as one text."""

import re
from pathlib import Path

SUMMARY = (
    "polyroc evaluates classifiers of many classes: one ROC curve, the AUCs D and M with confidence intervals, "
    "paired comparisons of models, costs of mistakes, decisions and sample sizes. Python library and command line."
)
# Nothing that somebody would look for: lists of other pages, and what autosummary writes.
LEFT_OUT = ("index", "how-to", "explanation", "reference", "evidence", "changelog")
FIRST = ("agents", "tutorial", "cli", "comparing", "decisions")


def pages_of(folder):
    """Name and text of each page, the most useful ones first."""
    names = sorted(path.stem for path in Path(folder).glob("*.md") if path.stem not in LEFT_OUT)
    ordered = [*(name for name in FIRST if name in names), *(name for name in names if name not in FIRST)]
    return {name: (Path(folder) / f"{name}.md").read_text(encoding="utf-8") for name in ordered}


def title_of(text):
    return re.search(r"^# (.+)$", text, flags=re.MULTILINE)[1]


def first_sentence(text):
    """Of the first paragraph after the title, without links."""
    paragraph = next(
        (part for part in text.split("\n\n")[1:] if part[:1].isalpha() or part[:1] in "`*"), title_of(text)
    )
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=[.:?])\s", plain, maxsplit=1)[0].rstrip(":")


def llms_of(pages):
    entries = [f"- [{title_of(text)}]({name}.html): {first_sentence(text)}" for name, text in pages.items()]
    return "\n".join(
        ["# polyroc", "", f"> {SUMMARY}", "", "All pages as one text: llms-full.txt", "", "## Pages", "", *entries, ""]
    )


def write_llms(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    pages = pages_of(app.srcdir)
    out = Path(app.outdir)
    (out / "llms.txt").write_text(llms_of(pages), encoding="utf-8")
    whole = "\n\n".join(f"<!-- {name}.html -->\n\n{text.strip()}" for name, text in pages.items())
    (out / "llms-full.txt").write_text(f"{whole}\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_llms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
