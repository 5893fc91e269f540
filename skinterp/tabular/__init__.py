"""From a user's table to numbers, and the way back to the user's columns."""

from skinterp.tabular._feature_map import feature_map
from skinterp.tabular._table_encoder import TableEncoder

__all__ = ["TableEncoder", "feature_map"]
