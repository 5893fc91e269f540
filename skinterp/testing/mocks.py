"""Small right methods, one per task, to test what works with methods.

They are meant for tests of tools, and as plain examples of the contract: nearest
centroids, ridge regression, centring, nearest centroids of series, and networks of one
layer.
"""

from __future__ import annotations

from skinterp.testing._mock_neural import LinearNetClassifier, LinearNetRegressor
from skinterp.testing._mock_others import CenterTransformer, LinearRegressor
from skinterp.testing._mock_series import SeriesCentroidClassifier
from skinterp.testing._mock_tables import CentroidClassifier

__all__ = [
    "CenterTransformer",
    "CentroidClassifier",
    "LinearNetClassifier",
    "LinearNetRegressor",
    "LinearRegressor",
    "SeriesCentroidClassifier",
]
