"""Sphinx settings: the Markdown of the repository as a site that needs no network.

The source folder is the root of the repository, so that the relative links between README, docs
and case studies are the same on GitHub and in the site. ``make docs`` builds it into out/docs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import autodoc_comments  # noqa: E402
import mathml  # noqa: E402
import navigation  # noqa: E402

from archeng import __version__  # noqa: E402

project = "archeng"
author = "The archeng developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "docs/**.md",
    "case_studies/README.md",
    "case_studies/*/README.md",
]
nitpicky = True  # a reference that leads nowhere is a warning, and `make docs` takes no warnings
nitpick_ignore_regex = [
    # types in words, such as "tuple of str", and those of other packages
    ("py:class", r"[^A-Z].*|Path|CasADi .*|Pyomo .*|None|StrEnum|.* of .*"),
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # as on GitHub
highlight_language = "text"

toc_object_entries = False  # the headings of the API page are enough

autodoc_typehints = "none"  # the docstrings have them
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"archeng {__version__}"
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
html_static_path = [str(HERE / "static")]
html_css_files = ["archeng.css"]


def setup(app: Any) -> dict[str, Any]:
    """Connect our own small extensions."""
    mathml.setup(app)
    navigation.setup(app)
    autodoc_comments.setup(app)
    return {"parallel_read_safe": True}
