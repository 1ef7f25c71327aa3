import sys
from pathlib import Path

import polyroc

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "polyroc"
author = "polyroc developers"
copyright = "2026, polyroc developers"
version = release = polyroc.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "mathml",
    "live_report",
    "llms",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "generated/README*"]
# As they are: schemas/evaluate.json and others.
html_extra_path = ["_extra"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
math_number_all = False
html_math_renderer = "mathml"
math_eqref_format = "({number})"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's parameter lists say the types
autodoc_member_order = "bysource"
# Base classes that the documentation does not need: it is built without these.
autodoc_mock_imports = ["torch", "torchmetrics", "keras"]
# The template of a class lists its members with their docstrings; numpydoc would list them again.
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"polyroc {release}"
html_static_path = ["_static"]
html_css_files = ["math.css", "site.css"]
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}
# Pages without others of their section have nothing to show at their left.
html_sidebars = {"index": [], "tutorial": [], "search": [], "genindex": []}
html_show_sourcelink = False
