"""Networks whose edges are curves that can be drawn (Kolmogorov-Arnold networks)."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
