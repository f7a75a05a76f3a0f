"""Sphinx settings: Markdown pages with the paper's mathematics."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "tagmix"
author = "The tagmix developers"
copyright = f"2026, {author}"
version = release = version_of("tagmix")

extensions = ["myst_parser", "mathml"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3  # so that pages can point at one another's sections

exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tagmix {version}"
html_static_path = ["_static"]
html_css_files = ["tagmix.css"]
