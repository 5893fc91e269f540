"""What a set of training rows is worth: the score of a model trained on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

LOWEST_R2 = -1.0


def default_estimator(classification: bool) -> Any:
    """Linear model on scaled columns."""
    model = LogisticRegression() if classification else Ridge()
    return make_pipeline(StandardScaler(), model)


class ModelUtility:
    """Score on validation rows of a model trained on some of the training rows."""

    def __init__(
        self,
        estimator: Any,
        train: tuple[NDArray[Any], NDArray[Any]],
        validation: tuple[NDArray[Any], NDArray[Any]],
        *,
        classification: bool,
        scoring: Any = None,
    ) -> None:
        self.estimator = estimator
        self.X, self.y = train
        self.X_val, self.y_val = validation
        self.classification = classification
        self.scorer = None
        if scoring is not None:
            self.scorer = check_scoring(estimator, scoring)
        if classification:
            self.classes, self.codes = np.unique(self.y, return_inverse=True)
        self.least_rows = 1 if classification else 2

    def __call__(self, indices: NDArray[np.intp]) -> float:
        return self._score(self._trained(indices))

    def _trained(self, indices: NDArray[np.intp]) -> Any:
        """Model of a coalition; a constant one where there is nothing to learn."""
        if len(indices) == 0:
            return self._constant(self.X, self.y)
        X, y = self.X[indices], self.y[indices]
        single = self.classification and (self.codes[indices[0]] == self.codes[indices])
        if len(indices) < self.least_rows or np.all(single):
            return self._constant(X, y)
        return clone(self.estimator).fit(X, y)

    def _constant(self, X: NDArray[Any], y: NDArray[Any]) -> Any:
        dummy = DummyClassifier(strategy="prior")
        return (dummy if self.classification else DummyRegressor()).fit(X, y)

    def _score(self, model: Any) -> float:
        if self.scorer is not None:
            if self.classification and len(model.classes_) < len(self.classes):
                model = AllClasses(model, self.classes)
            return float(self.scorer(model, self.X_val, self.y_val))
        predicted = model.predict(self.X_val)
        if self.classification:
            return float(np.mean(predicted == self.y_val))
        residual = self.y_val - predicted
        spread = self.y_val - self.y_val.mean()
        total = float(spread @ spread)
        r2 = 1.0 - float(residual @ residual) / total if total > 0 else 0.0
        return max(r2, LOWEST_R2)


class AllClasses(ClassifierMixin, BaseEstimator):
    """A fitted model that has not seen every class, for scores by probabilities."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model = model
        self.classes = classes
        self.classes_ = classes

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Labels of the model."""
        return np.asarray(self.model.predict(X))

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Probabilities of the model; 0 for the classes that it has not seen."""
        padded = np.zeros((len(X), len(self.classes)))
        seen = np.searchsorted(self.classes, self.model.classes_)
        padded[:, seen] = self.model.predict_proba(X)
        return padded


def draw_reward(
    utility: Any, n: int, arm: int, size: int, seed: np.random.SeedSequence
) -> float:
    """One marginal contribution of a row to a random coalition of the others."""
    others = np.random.default_rng(seed).permutation(n - 1)[:size]
    coalition = np.sort(others + (others >= arm))
    joined = np.insert(coalition, np.searchsorted(coalition, arm), arm)
    reward = float(utility(joined)) - float(utility(coalition))
    if not np.isfinite(reward):
        msg = (
            f"the utility of a coalition of {size} rows is not finite: utility, or the "
            "score by scoring, must give a finite number for every set of rows."
        )
        raise ValueError(msg)
    return reward


class SomeRows:
    """A utility of all rows, asked about some of them only."""

    def __init__(self, utility: Any, at: NDArray[np.intp]) -> None:
        self.utility, self.at = utility, at

    def __call__(self, indices: NDArray[np.intp]) -> float:
        return float(self.utility(self.at[indices]))
