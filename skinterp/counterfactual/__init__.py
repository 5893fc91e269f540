"""What would have to change for another answer."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
