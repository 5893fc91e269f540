"""How the documentation is built: warnings are errors, and no network is needed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

# Before anything imports numpy or the registry.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"
os.environ["SKINTERP_LOAD_PLUGINS"] = ""

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import api_reference
import method_tables
from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

import skinterp

project = "skinterp"
author = "skinterp developers"
copyright = "2026, skinterp developers"
release = skinterp.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery", "**/*.inc", "generated/backreferences"]
root_doc = "index"
default_role = "py:obj"
nitpicky = True

# Pages made from the registry; they must exist before Sphinx looks for documents.
method_tables.write(HERE / "generated")
api_reference.write(HERE / "generated")

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections state the types in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the class template lists the members
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery_built",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skinterp",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 20,  # an example that takes longer belongs elsewhere
    "plot_gallery": "True",
    "show_memory": False,
    "write_computation_times": False,
    "reference_url": {"skinterp": None},
}

# Links to other projects cost the network, so they are made only on request.
if os.environ.get("SKINTERP_DOCS_INTERSPHINX") == "1":
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }

# Every name of ours must resolve. Names of others do only with their inventories.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(numpy|np|scipy|sklearn|pandas|pd|matplotlib|pluggy|pytest|hypothesis|shap"
        r"|skops|typer|joblib|os|pathlib|collections|typing|types|abc|dataclasses"
        r"|importlib)\..*",
    ),
    # Python's own types, which the base classes of ours name.
    (r"py:.*", r"(object|Exception|ValueError|TypeError|UserWarning|ABC|Any|Mapping)"),
]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"skinterp {release}"
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/skinterp/skinterp",
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def skip_foreign(
    app: object, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out what a class inherits from other libraries: it is documented there."""
    function = getattr(member, "fget", member)
    module = getattr(function, "__module__", None) or "skinterp"
    return None if module.startswith("skinterp") else True


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
    app.add_html_math_renderer("mathml", (draw_formula, None), (draw_formula, None))
    app.connect("autodoc-skip-member", skip_foreign)
    # After numpydoc, which runs at the default priority of 500.
    app.connect("autodoc-process-docstring", escape_shapes, priority=900)
