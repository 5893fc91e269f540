"""Additive models: predictions as sums of curves and surfaces."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
