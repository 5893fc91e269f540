"""Powder X-ray diffraction for skinterp: from structure to explained symmetry.

The names are imported when they are first used, so that what needs no network of
torch and no compiled kernels does not load them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skinterp_xrd._cif import read_cif
    from skinterp_xrd._structures import Structure, as_structure

__all__ = [
    "Structure",
    "as_structure",
    "read_cif",
]

_PLACES = {
    "Structure": "_structures",
    "as_structure": "_structures",
    "read_cif": "_cif",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        module = importlib.import_module(f"skinterp_xrd.{_PLACES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'skinterp_xrd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
