"""Sphinx settings: Markdown pages with the paper's mathematics."""

from importlib.metadata import version as version_of

project = "tagmix"
author = "The tagmix developers"
version = release = version_of("tagmix")

extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3  # so that pages can point at one another's sections

exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tagmix {version}"
