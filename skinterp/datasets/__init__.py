"""Data to try methods on, with the truth beside them."""

from __future__ import annotations

from skinterp.datasets._feynman import FeynmanEquation, feynman_equations, make_feynman

__all__ = ["FeynmanEquation", "feynman_equations", "make_feynman"]
