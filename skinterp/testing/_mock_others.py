"""A small right regressor and transformer, to test what works with methods."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
)

from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import (
    Interval,
    Real,
    check_is_fitted,
    check_sample_weight,
    fit_context,
    validate_data,
)
from skinterp.explanation import Attribution, Explanation
from skinterp.testing._mock_tables import Array, LinearScores

__all__ = ["CenterTransformer", "LinearRegressor"]


class LinearRegressor(RegressorMixin, LinearScores):
    """Ridge regression.

    Parameters
    ----------
    alpha : float, default=1e-6
        Penalty, relative to the total weight.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, 1)
        Weights.
    intercept_ : ndarray of shape (1,)
        Prediction at the origin.
    scale_ : ndarray of shape (n_features,)
        Spread of the columns.

    Examples
    --------
    >>> from skinterp.testing import make_data
    >>> from skinterp.testing.mocks import LinearRegressor
    >>> X, y = make_data(task="regression")
    >>> LinearRegressor().fit(X, y).score(X, y) > 0.99
    True
    """

    _parameter_constraints: ClassVar = {
        "alpha": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, alpha: float = 1e-6) -> None:
        self.alpha = alpha

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Solve the normal equations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        LinearRegressor
            The fitted estimator.
        """
        pair: tuple[Array, Array]
        pair = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        data, targets = pair
        weight = check_sample_weight(sample_weight, data)
        if not weight.any():
            msg = "sample_weight is zero for all rows, need a row of positive weight"
            raise ValueError(msg)
        weight = weight / weight.sum()
        mean, target = weight @ data, float(weight @ targets)
        Z = data - mean
        scale = np.sqrt(weight @ Z**2)
        penalty = self.alpha * max(float((scale**2).sum()), 1e-12)
        gram = Z.T @ (weight[:, None] * Z) + penalty * np.eye(data.shape[1])
        coef = np.linalg.solve(gram, Z.T @ (weight * (targets - target)))
        coef[scale <= 1e-12] = 0.0
        self.scale_, self.intercept_ = scale, np.array([target - mean @ coef])
        self.coef_ = coef[:, None]
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Sum the parts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self, "coef_")
        scores: Array = self._scores(self._validate_X(X))
        return scores[:, 0]

    def _explain(self, X: Array | None, *, kind: str) -> Explanation:
        check_is_fitted(self, "coef_")
        return self._attribute(X, np.array(["y"]), "predict")


class CenterTransformer(
    ExplainableMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Take the mean off each column; its spread is what it says of a column.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        What is taken off.
    scale_ : ndarray of shape (n_features,)
        Spread of the columns.

    Examples
    --------
    >>> from skinterp.testing.mocks import CenterTransformer
    >>> CenterTransformer().fit_transform([[1.0], [3.0]])
    array([[-1.],
           [ 1.]])
    """

    explains: ClassVar = {"global": ("attribution",)}
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Not used.

        Returns
        -------
        CenterTransformer
            The fitted estimator.
        """
        data: Array = validate_data(self, X, dtype=np.float64)
        self.scale_ = data.std(axis=0)
        self.mean_ = data.mean(axis=0)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Take the means off.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The centred rows.
        """
        check_is_fitted(self, "mean_")
        data: Array = validate_data(self, X, reset=False, dtype=np.float64)
        centred: Array = data - self.mean_
        return centred

    def _explain(self, X: Array | None, *, kind: str) -> Explanation:
        check_is_fitted(self, "mean_")
        return Attribution(
            scope="global",
            feature_names=feature_names_of(self),
            target_names=np.array(["spread"]),
            values=np.where(self.scale_ > 1e-12, self.scale_, 0.0),
        )
