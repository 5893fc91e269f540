"""Time series read by the shapes in them."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
