"""Interpretable machine learning as scikit-learn estimators.

Every method is a scikit-learn estimator with one more verb, ``explain``. The
names below are resolved on first use, so ``import skinterp`` itself imports
neither scikit-learn nor any other heavy package. ``__init__.pyi``, which type
checkers and editors read, is written by ``python -m skinterp._lazy``.

Examples
--------
>>> import skinterp
>>> skinterp.get_method("boolean-tree").__name__
'BooleanTreeClassifier'
"""

from __future__ import annotations

import importlib
from typing import Any

# The public functions and where they live.
_FUNCTIONS = {
    "explain": "skinterp._explain",
    "get_method": "skinterp.plugins",
    "list_methods": "skinterp.plugins",
    "load": "skinterp.explanation",
}
# Rooms that answer to attribute access, besides the domains of the method table.
_ROOMS = ("base", "compat", "explanation", "plugins", "tabular", "testing")

__all__ = ["__version__", "explain", "get_method", "list_methods", "load"]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        value = getattr(importlib.import_module(_FUNCTIONS[name]), name)
    elif name == "__version__":
        value = importlib.import_module("skinterp._version").installed_version()
    elif not name.startswith("_") and name in _rooms():
        return importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_rooms()})


def _rooms() -> tuple[str, ...]:
    """Name the subpackages that need no import of their own before use."""
    lazy = importlib.import_module("skinterp._lazy")
    domains = (package.rpartition(".")[2] for package in lazy.domain_packages())
    return (*_ROOMS, *domains)
