"""Decision trees that explain themselves."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
