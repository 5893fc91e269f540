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

__all__ = ["__version__", "explain", "get_method", "list_methods", "load"]


def __getattr__(name: str) -> Any:
    # Kept in the module, so that the next access does not come here.
    value = globals()[name] = importlib.import_module("skinterp._lazy").public(name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *importlib.import_module("skinterp._lazy").rooms()})
