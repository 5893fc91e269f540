"""Formal concept analysis: lattices of tables, and contexts from language models."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
