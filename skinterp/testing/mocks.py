"""Small right methods, one per task, to test what works with methods.

They are meant for tests of tools, and as plain examples of the contract: nearest
centroids, ridge regression, centring, and nearest centroids of series.
"""

from __future__ import annotations

from skinterp.testing._mock_others import CenterTransformer, LinearRegressor
from skinterp.testing._mock_series import SeriesCentroidClassifier
from skinterp.testing._mock_tables import CentroidClassifier

__all__ = [
    "CenterTransformer",
    "CentroidClassifier",
    "LinearRegressor",
    "SeriesCentroidClassifier",
]
