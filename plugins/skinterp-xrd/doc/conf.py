"""How the documentation is built: warnings are errors, and no network is needed."""

from __future__ import annotations

import os
import re
from importlib.metadata import version as installed

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

project = "skinterp-xrd"
author = "skinterp developers"
copyright = "2026, skinterp developers"
release = installed("skinterp-xrd")
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
root_doc = "index"
default_role = "py:obj"
nitpicky = True

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections state the types in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the class template lists the members
numpydoc_class_members_toctree = False

plot_include_source = True
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = [("png", 110)]

# Every name of the plugin must resolve. Names of others do in their own pages, which
# would have to be fetched.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(skinterp|numpy|np|scipy|sklearn|pandas|pd|matplotlib|torch|os|pathlib"
        r"|collections|typing|types|abc)\..*",
    ),
    (r"py:.*", r"(object|Exception|ValueError|TypeError|ImportError|Any|Mapping)"),
]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"skinterp-xrd {release}"
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/skinterp/skinterp",
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def skip_foreign(
    app: object, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out what a class inherits from other libraries: it is documented there."""
    function = getattr(member, "fget", member)
    module = getattr(function, "__module__", None) or "skinterp_xrd"
    return None if module.startswith("skinterp_xrd") else True


def escape_shapes(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Keep ``(n_features_in_,)`` in a type from being read as a link."""
    lines[:] = [re.sub(r"([(,] ?)(\w+)_(?=[,)])", r"\1\2\\_", line) for line in lines]


def draw_formula(translator, node) -> None:
    """Write MathML, which browsers draw themselves; MathJax would need the network."""
    is_block = node.tagname == "math_block"
    formula = tex2mathml(node.astext(), as_block=is_block)
    translator.body.append(f"<p>{formula}</p>" if is_block else formula)
    raise SkipNode


def setup(app) -> None:
    """Connect the above."""
    app.add_html_math_renderer("mathml", (draw_formula, None), (draw_formula, None))
    app.connect("autodoc-skip-member", skip_foreign)
    # After numpydoc, which runs at the default priority of 500.
    app.connect("autodoc-process-docstring", escape_shapes, priority=900)
