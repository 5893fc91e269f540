"""Values of training data: which rows help a model, and which ones harm it."""

from skinterp._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
