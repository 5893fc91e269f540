"""Nearest shrunken centroids."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import (
    Interval,
    Real,
    check_is_fitted,
    fit_context,
    validate_data,
)
from skinterp.explanation import Attribution, Explanation
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets


class CentroidClassifier(ExplainableMixin, ClassifierMixin, BaseEstimator):
    r"""Assign each row to the nearest class centre, in few features.

    Columns are scaled by their spread within the classes. The centres are shrunken
    towards the mean of all rows; where all of them have come to it, the feature has
    no part in the model any more. The decision function is linear, so that it
    divides exactly into one number for each feature.

    Parameters
    ----------
    shrinkage : float, default=0.0
        How many standard errors each centre is shrunken by.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    mean_, scale_ : ndarray of shape (n_features,)
        What the columns are centred and divided by.
    coef_ : ndarray of shape (n_classes, n_features)
        Shrunken centres of the scaled columns; of two classes, their difference, as
        one row.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        The decision function at the mean.

    Notes
    -----
    With scaled columns :math:`z` and shrunken centres :math:`c_k`, the decision
    function is :math:`z^T c_k - |c_k|^2 / 2 + \log \pi_k`: the squared distance
    without the part that all classes share, and the share of the class. The cost is
    :math:`O(n d)` in time.

    References
    ----------
    .. [1] R. Tibshirani, T. Hastie, B. Narasimhan, G. Chu, "Diagnosis of multiple
       cancer types by shrunken centroids of gene expression", PNAS 99 (2002),
       doi:10.1073/pnas.082099299.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = CentroidClassifier(shrinkage=1.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.93
    >>> model.explain(X.iloc[:2]).values.shape
    (2, 4, 3)
    """

    explains: ClassVar = {"local": ("attribution",), "global": ("attribution",)}
    _parameter_constraints: ClassVar = {
        "shrinkage": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(self, shrinkage: float = 0.0) -> None:
        self.shrinkage = shrinkage

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        CentroidClassifier
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        n, n_classes = len(X), len(classes)
        if n_classes < 2:
            raise ValueError(f"y must have at least 2 classes, got 1 class: {y[0]}.")
        counts = np.bincount(codes)
        mean = X.mean(axis=0)
        centres = np.array([X[codes == k].mean(axis=0) for k in range(n_classes)])
        within = ((X - centres[codes]) ** 2).sum(axis=0) / max(n - n_classes, 1)
        # The median keeps features with a tiny spread from deciding alone.
        scale = np.sqrt(within) + np.median(np.sqrt(within))
        scale = np.where(scale > 0, scale, 1.0)
        offsets = (centres - mean) / scale
        error = np.sqrt(1 / counts - 1 / n)[:, None]
        size = np.maximum(np.abs(offsets) - self.shrinkage * error, 0)
        offsets = np.sign(offsets) * size
        intercept = np.log(counts / n) - (offsets**2).sum(axis=1) / 2
        if n_classes == 2:
            offsets, intercept = np.diff(offsets, axis=0), np.diff(intercept)
        # All at the end: a fit that is interrupted leaves no half a model.
        self.classes_, self.mean_, self.scale_ = classes, mean, scale
        self.intercept_, self.coef_ = intercept, offsets
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Say how near each row is to each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One number for two classes, positive for the second.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        parts = self._parts(X)
        return parts.sum(axis=1) + self._drop(self.intercept_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Name the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        decision = self.decision_function(X)
        binary = decision.ndim == 1
        return self.classes_[
            (decision > 0).astype(int) if binary else decision.argmax(1)
        ]

    def _explain(self, X: Any, *, kind: str) -> Explanation:
        shared = {
            "feature_names": feature_names_of(self),
            "target_names": self.classes_,
        }
        if X is None:
            values = self._drop(self.coef_.T)
            return Attribution(scope="global", values=values, **shared)
        values = self._parts(X)
        base = self._drop(self.intercept_)
        return Attribution(
            scope="local",
            values=values,
            base_values=np.broadcast_to(base, (len(X), *values.shape[2:])),
            data=X,
            output="decision_function",
            **shared,
        )

    def _parts(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Divide the decision function by features: the terms of the scalar product."""
        z = (X - self.mean_) / self.scale_
        return self._drop(z[:, :, None] * self.coef_.T)

    def _drop(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the last axis where two classes share one output."""
        return values[..., 0] if len(self.classes_) == 2 else values
