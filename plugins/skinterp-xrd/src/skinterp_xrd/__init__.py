"""Powder X-ray diffraction for skinterp: from structure to explained symmetry.

The names are imported when they are first used, so that what needs no network of
torch and no compiled kernels does not load them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skinterp_xrd._cif import read_cif
    from skinterp_xrd._classifier import XRDSymmetryClassifier
    from skinterp_xrd._conditions import IDEAL_CONDITIONS, RANDOM_CONDITIONS
    from skinterp_xrd._explanation import Diffraction
    from skinterp_xrd._peaks import PowderPeaks
    from skinterp_xrd._report import SymmetryReport
    from skinterp_xrd._simulator import PowderXRDSimulator
    from skinterp_xrd._sticks import Peaks, find_peaks
    from skinterp_xrd._structures import Structure, as_structure
    from skinterp_xrd._symmetry import crystal_system_of

__all__ = [
    "IDEAL_CONDITIONS",
    "RANDOM_CONDITIONS",
    "Diffraction",
    "Peaks",
    "PowderPeaks",
    "PowderXRDSimulator",
    "Structure",
    "SymmetryReport",
    "XRDSymmetryClassifier",
    "as_structure",
    "crystal_system_of",
    "find_peaks",
    "read_cif",
]

_PLACES = {
    "IDEAL_CONDITIONS": "_conditions",
    "RANDOM_CONDITIONS": "_conditions",
    "Diffraction": "_explanation",
    "Peaks": "_sticks",
    "PowderPeaks": "_peaks",
    "PowderXRDSimulator": "_simulator",
    "Structure": "_structures",
    "SymmetryReport": "_report",
    "XRDSymmetryClassifier": "_classifier",
    "as_structure": "_structures",
    "crystal_system_of": "_symmetry",
    "find_peaks": "_sticks",
    "read_cif": "_cif",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        module = importlib.import_module(f"skinterp_xrd.{_PLACES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'skinterp_xrd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
