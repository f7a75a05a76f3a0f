"""Write formulas into the pages as MathML while they are built: a reader needs no network and no script."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)
# TeX that latex2mathml, or a browser's MathML, does not take as it stands → what it takes.
REWRITTEN = {
    r"\\(mathbb|mathcal) *([A-Za-z])": r"\\\1{\2}",  # in braces a letter becomes its Unicode sign
    r"\\(big|Big)\\[lr]?Vert": r"\\\1‖",
    r"\\(big|Big)\\[lr]vert": r"\\\1|",
    r"\\log(?![a-zA-Z])(?! *(\(|\\big|\\Big))": r"\\,\\log\\,",  # TeX sets a function's name apart
}


def mathml(tex: str, display: str) -> str:
    """Return a formula as a ``<math>`` element."""
    for pattern, replacement in REWRITTEN.items():
        tex = re.sub(pattern, replacement, tex)
    element = convert(tex, display=display)
    if "\\" in element:
        LOGGER.warning("this formula has a command that latex2mathml does not know: %s", tex)
    return element


def visit_math(writer: Any, node: nodes.math) -> None:
    """Write a formula in the running text."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_math_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    number = f"<span>({get_node_equation_number(writer, node)})</span>" if node.get("number") else ""
    formula = mathml(node.astext(), "block")
    writer.body.append(writer.starttag(node, "div", CLASS="math") + f"{formula}{number}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx which writer to use for formulas."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config["html_math_renderer"] = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
