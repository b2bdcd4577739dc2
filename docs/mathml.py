"""Render formulas as MathML, which browsers display without scripts or network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

# docutils supports only \left and \right.
OPENING = re.compile(r"\\[bB]ig(?=[(\[]|\\lVert)")
CLOSING = re.compile(r"\\[bB]ig(?=[)\]]|\\rVert)")


def visit_math(translator, node):
    """Write an inline formula."""
    translator.body.append(convert(node, as_block=False))
    raise nodes.SkipNode


def visit_displaymath(translator, node):
    """Write a display formula."""
    formula = convert(node, as_block=True)
    translator.body.append(f'<div class="math-block">{formula}</div>\n')
    raise nodes.SkipNode


def convert(node, as_block):
    """Return the MathML of a node, or warn and return its TeX."""
    tex = CLOSING.sub(r"\\right", OPENING.sub(r"\\left", node.astext()))
    tex = tex.replace(r"\dots", r"\ldots")
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, tex, location=node)
        return f"<code>{tex}</code>"


def setup(app):
    """Register the renderer as "mathml"."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True}
