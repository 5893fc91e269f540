"""Nearest shrunken centroids, as a plugin of skinterp."""

from skinterp_template._centroid import CentroidClassifier

__all__ = ["CentroidClassifier"]
