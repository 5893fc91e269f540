"""Structures from CIF, read by gemmi."""

from __future__ import annotations

import os

from skinterp_xrd._structures import Structure


def read_cif(source: str | os.PathLike[str]) -> Structure:
    """Read a structure from a CIF."""
    raise NotImplementedError
