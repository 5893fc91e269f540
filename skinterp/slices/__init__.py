"""Slices of a table where a model errs, in words that a person can check."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
