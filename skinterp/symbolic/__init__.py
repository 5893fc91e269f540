"""Formulas: symbolic regression, and screening for tables with many columns."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
