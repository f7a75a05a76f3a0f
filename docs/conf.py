"""Sphinx settings: Markdown pages, the mathematics as MathML, and a reference built from the code."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "tagmix"
author = "The tagmix developers"
copyright = f"2026, {author}"
version = release = version_of("tagmix")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",  # NumPy-style sections
    "mathml",
    "reference",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3  # so that pages can point at one another's sections

templates_path = ["_templates"]
autosummary_generate = ["reference/api.rst"]
autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

exclude_patterns = ["_build", "_templates"]
html_theme = "furo"
html_title = f"tagmix {version}"
html_static_path = ["_static"]
html_css_files = ["tagmix.css"]
