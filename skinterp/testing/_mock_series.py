"""A small right method for time series, to test what works with methods."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from skinterp.base import SkinterpTags
from skinterp.compat import check_sample_weight, fit_context, validate_data
from skinterp.testing._mock_tables import Array, CentroidClassifier


class SeriesCentroidClassifier(CentroidClassifier):
    """Nearest centroid of series of equal length, each taken off its mean.

    Parameters
    ----------
    noise : float, default=1e-3
        Size of the disturbance.
    metric : {"plain", "scaled"}, default="plain"
        Whether time points are divided by their spread.
    random_state : int, RandomState or None, default=None
        Seed of the disturbance.
    n_jobs : int, default=None
        Number of workers.
    verbose : int, default=0
        Whether to say what is done.

    Attributes
    ----------
    n_channels_ : int
        Number of channels.
    n_timepoints_in_ : int
        Number of time points.

    Examples
    --------
    >>> from skinterp.testing import make_data
    >>> from skinterp.testing.mocks import SeriesCentroidClassifier
    >>> X, y = make_data("series")
    >>> SeriesCentroidClassifier().fit(X, y).score(X, y)
    1.0
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Find the centroids.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series; two dimensions are taken as one channel.
        y : array-like of shape (n_cases,)
            Their labels.
        sample_weight : array-like of shape (n_cases,), default=None
            Their weights.

        Returns
        -------
        SeriesCentroidClassifier
            The fitted estimator.
        """
        X = self._series(X)
        _, labels = validate_data(self, np.zeros((len(X), 1)), y)
        del self.n_features_in_
        check_classification_targets(labels)
        flat = self._flatten(X)
        weight = check_sample_weight(sample_weight, flat)
        self._shape = X.shape[1:]
        return self._fit(flat, labels, weight)

    @property
    def n_channels_(self) -> int:
        """Number of channels."""
        return int(self._shape[0])

    @property
    def n_timepoints_in_(self) -> int:
        """Number of time points."""
        return int(self._shape[1])

    def _series(self, X: Any) -> Array:
        X = np.asarray(X) if hasattr(X, "__array__") else X
        lengths = {np.shape(series)[-1:] for series in X}
        if len(lengths) > 1:
            msg = f"X must hold series of equal length, got lengths {sorted(lengths)}"
            raise ValueError(msg)
        try:
            data = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = f"X must be an array or a list of numbers, got {type(X).__name__}"
            raise ValueError(msg) from error
        if data.ndim == 2:
            data = data[:, None, :]
        if data.ndim != 3 or not data.size:
            msg = (
                "X must have the shape (n_cases, n_channels, n_timepoints) with at "
                f"least one case, got {np.shape(X)}; reshape a single series"
            )
            raise ValueError(msg)
        if not np.isfinite(data).all():
            msg = "X contains NaN or infinity"
            raise ValueError(msg)
        return data

    def _flatten(self, X: Array) -> Array:
        centred: Array = X - X.mean(axis=2, keepdims=True)
        return centred.reshape(len(X), -1)

    def _validate_X(self, X: Any) -> Array:
        data = self._series(X)
        if data.shape[1:] != self._shape:
            msg = (
                f"X has {data.shape[1]} channels of {data.shape[2]} timepoints, "
                f"but fit has seen {self._shape[0]} of {self._shape[1]}"
            )
            raise ValueError(msg)
        return self._flatten(data)

    def _names(self) -> tuple[str, ...]:
        channels, points = self._shape
        return tuple(
            f"channel {c}, t={t}" for c in range(channels) for t in range(points)
        )

    def __skinterp_tags__(self) -> SkinterpTags:
        return SkinterpTags(input="series", stochastic=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
