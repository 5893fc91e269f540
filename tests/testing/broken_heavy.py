"""A module that loads more than a method may."""

import matplotlib.pyplot  # noqa: F401  (this is what is wrong with it)

from skinterp.testing.mocks import CenterTransformer


class HeavyImport(CenterTransformer):
    pass
