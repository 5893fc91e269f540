"""Small right methods for tables, to test what works with methods."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import (
    Integral,
    Interval,
    Real,
    StrOptions,
    check_is_fitted,
    check_sample_weight,
    fit_context,
    validate_data,
)
from skinterp.explanation import Attribution, Explanation

__all__ = [
    "CentroidClassifier",
]

Array = NDArray[Any]


class LinearScores(ExplainableMixin, BaseEstimator):
    """What the mocks with linear scores share: they divide into parts exactly."""

    explains: ClassVar = {"local": ("attribution",), "global": ("attribution",)}

    def _names(self) -> tuple[str, ...]:
        return feature_names_of(self)

    def _scores(self, X: Array) -> Array:
        # sums along rows, since a matrix product depends on the rows beside it
        parts: Array = (X[:, :, None] * self.coef_).sum(axis=1) + self.intercept_
        return parts

    def _attribute(self, X: Array | None, targets: Array, output: str) -> Explanation:
        if X is None:
            return Attribution(
                scope="global",
                feature_names=self._names(),
                target_names=targets,
                values=np.abs(self.coef_).sum(axis=1) * self.scale_,
            )
        values = X[:, :, None] * self.coef_
        base = np.repeat(self.intercept_[None], len(X), axis=0)
        single = self.coef_.shape[1] == 1
        return Attribution(
            scope="local",
            feature_names=self._names(),
            target_names=targets,
            values=values[:, :, 0] if single else values,
            base_values=base[:, 0] if single else base,
            output=output,
            data=X,
        )


class CentroidClassifier(ClassifierMixin, LinearScores):
    """Nearest centroid, with a tiny seeded disturbance of the centroids.

    Parameters
    ----------
    noise : float, default=1e-3
        Size of the disturbance.
    metric : {"plain", "scaled"}, default="plain"
        Whether columns are divided by their spread.
    random_state : int, RandomState or None, default=None
        Seed of the disturbance.
    n_jobs : int, default=None
        Number of workers, one per class at most.
    verbose : int, default=0
        Whether to say what is done.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (n_features, n_outputs)
        Weights of the scores.
    intercept_ : ndarray of shape (n_outputs,)
        Scores at the origin.
    scale_ : ndarray of shape (n_features,)
        Spread of the columns.

    Examples
    --------
    >>> from skinterp.testing import make_data
    >>> from skinterp.testing.mocks import CentroidClassifier
    >>> X, y = make_data()
    >>> CentroidClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar = {
        "noise": [Interval(Real, 0, None, closed="left")],
        "metric": [StrOptions({"plain", "scaled"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        noise: float = 1e-3,
        *,
        metric: str = "plain",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.noise = noise
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Find the centroids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        CentroidClassifier
            The fitted estimator.
        """
        data, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        return self._fit(data, labels, check_sample_weight(sample_weight, data))

    def _fit(self, X: Array, y: Array, weight: Array) -> Self:
        if not weight.any():
            msg = "sample_weight is zero for all rows, need a row of positive weight"
            raise ValueError(msg)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        classes = np.unique(y)
        mean = np.average(X, axis=0, weights=weight)
        scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
        work = Parallel(n_jobs=self.n_jobs)(
            delayed(_centroid)(X, y == label, weight) for label in classes
        )
        random = check_random_state(self.random_state)
        shape = (len(classes), X.shape[1])
        centers = np.array(work) + self.noise * random.normal(size=shape) * scale
        divide = np.where(scale > 0, scale, 1.0) if self.metric == "scaled" else 1.0
        coef = ((centers - mean) / np.square(divide)).T
        constant = scale <= 1e-12
        coef[constant] = 0.0
        intercept = -0.5 * (coef * (centers + mean).T).sum(axis=0)
        if len(classes) == 2:
            coef, intercept = np.diff(coef, axis=1), np.diff(intercept)
        if self.verbose:
            sys.stderr.write(f"{len(classes)} centroids found\n")
        self.scale_, self.intercept_ = scale, intercept
        self.classes_, self.coef_ = classes, coef
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Score each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        check_is_fitted(self, "coef_")
        scores = self._scores(self._validate_X(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> Array:
        """Name the nearest class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        scores = self.decision_function(X)
        two = len(self.classes_) == 2
        codes = (scores > 0).astype(int) if two else scores.argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: ArrayLike) -> Array:
        """Turn the scores into probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        scores = self.decision_function(X)
        if len(self.classes_) == 2:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Array = odds / odds.sum(axis=1, keepdims=True)
        return shares

    def _explain(self, X: Array | None, *, kind: str) -> Explanation:
        check_is_fitted(self, "coef_")
        return self._attribute(X, self.classes_, "decision_function")

    def __skinterp_tags__(self) -> SkinterpTags:
        return SkinterpTags(stochastic=True)


def _centroid(X: Array, chosen: Array, weight: Array) -> Array:
    mean: Array = np.average(X[chosen], axis=0, weights=weight[chosen])
    return mean
