"""What a set of training rows is worth: the score of a model trained on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skinterp.valuation._rows import take_rows
from skinterp.valuation._tables import columns_of, holds_labels, is_frame

LOWEST_R2 = -1.0
LARGEST = 1e100  # squares of rewards are summed


def default_estimator(classification: bool, table: Any = None) -> Any:
    """Linear model on scaled columns, and on one column for each label."""
    model = LogisticRegression() if classification else Ridge()
    columns = columns_of(table) if is_frame(table) else []
    labels = [j for j, column in enumerate(columns) if holds_labels(column)]
    if not is_frame(table):
        return make_pipeline(StandardScaler(), model)
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    coder = OneHotEncoder(handle_unknown="ignore")
    parts = make_column_transformer((coder, labels), remainder=numbers)
    return make_pipeline(parts, model)


def fit_model(model: Any, X: Any, y: NDArray[Any]) -> Any:
    """Fit a model; where it has something against texts, say in which column."""
    try:
        return model.fit(X, y)
    except (TypeError, ValueError) as error:
        columns = columns_of(X) if is_frame(X) else []
        for name, column in zip(getattr(X, "columns", ()), columns, strict=False):
            if holds_labels(column):
                msg = (
                    f"{type(model).__name__} does not learn from the column {name!r} "
                    f"of dtype {column.dtype}: give a pipeline that encodes it."
                )
                raise ValueError(msg) from error
        raise


class ModelUtility:
    """Score on validation rows of a model trained on some of the training rows."""

    def __init__(
        self,
        estimator: Any,
        train: tuple[Any, NDArray[Any]],
        validation: tuple[Any, NDArray[Any]],
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
        return self.attempt(indices)[0]

    def attempt(self, indices: NDArray[np.intp]) -> tuple[float, bool]:
        """Score of a coalition, and whether the estimator refused to learn from it.

        Many models need more rows than a small coalition has: neighbours, folds. Such
        a coalition teaches what a constant does.
        """
        X, y = take_rows(self.X, indices), self.y[indices]
        if self._nothing_to_learn(indices):
            some = (X, y) if len(indices) else (self.X, self.y)
            return self._score(self._constant(*some)), False
        try:
            return self._score(self._trained(X, y)), False
        except (TypeError, ValueError):
            return self._score(self._constant(X, y)), True

    def check(self) -> float:
        """Score of all rows; raises what the estimator has against them."""
        return self._score(self._trained(self.X, self.y))

    def _nothing_to_learn(self, indices: NDArray[np.intp]) -> bool:
        if len(indices) < self.least_rows:
            return True
        return self.classification and len(np.unique(self.codes[indices])) == 1

    def _trained(self, X: Any, y: NDArray[Any]) -> Any:
        """Fitted model; one that wants labels from 0 on, without gaps, gets such."""
        try:
            return fit_model(clone(self.estimator), X, y)
        except ValueError:
            if not self.classification:
                raise
            classes, codes = np.unique(y, return_inverse=True)
            if np.array_equal(codes, y):
                raise
            try:
                return Decoded(clone(self.estimator).fit(X, codes), classes)
            except ValueError:
                pass
            raise

    def _constant(self, X: Any, y: NDArray[Any]) -> Any:
        dummy = DummyClassifier(strategy="prior")
        return (dummy if self.classification else DummyRegressor()).fit(X, y)

    def _score(self, model: Any) -> float:
        if self.scorer is not None:
            if self.classification and len(model.classes_) < len(self.classes):
                model = AllClasses(model, self.classes)
            return float(self.scorer(model, self.X_val, self.y_val))
        predicted = np.ravel(model.predict(self.X_val))  # some give a column
        if self.classification:
            return float(np.mean(predicted == self.y_val))
        residual = self.y_val - predicted
        spread = self.y_val - self.y_val.mean()
        total = float(spread @ spread)
        r2 = 1.0 - float(residual @ residual) / total if total > 0 else 0.0
        return max(r2, LOWEST_R2)


class Decoded(ClassifierMixin, BaseEstimator):
    """A fitted model of the positions of labels, which gives the labels."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model = model
        self.classes = classes
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels at the positions that the model predicts."""
        return self.classes[np.ravel(self.model.predict(X)).astype(np.intp)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the model."""
        return np.asarray(self.model.predict_proba(X))


class AllClasses(ClassifierMixin, BaseEstimator):
    """A fitted model that has not seen every class, for scores by probabilities."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model = model
        self.classes = classes
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the model."""
        return np.ravel(self.model.predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the model; 0 for the classes that it has not seen."""
        padded = np.zeros((len(X), len(self.classes)))
        seen = np.searchsorted(self.classes, self.model.classes_)
        padded[:, seen] = self.model.predict_proba(X)
        return padded


def draw_reward(
    utility: Any, n: int, arm: int, size: int, seed: np.random.SeedSequence
) -> tuple[float, int]:
    """One marginal contribution of a row to a random coalition of the others.

    Gives also how many of the two coalitions were refused.
    """
    others = np.random.default_rng(seed).permutation(n - 1)[:size]
    coalition = np.sort(others + (others >= arm))
    joined = np.insert(coalition, np.searchsorted(coalition, arm), arm)
    attempt = getattr(utility, "attempt", None) or _never_refused(utility)
    with_it, first = attempt(joined)
    without, second = attempt(coalition)
    reward = float(with_it) - float(without)
    if not abs(reward) < LARGEST:
        msg = (
            f"the utility of a coalition of {size} rows is not finite: utility, or the "
            "score by scoring, must give a finite number for every set of rows."
        )
        raise ValueError(msg)
    return reward, first + second


def _never_refused(utility: Any) -> Any:
    return lambda indices: (utility(indices), False)


class SomeRows:
    """A utility of all rows, asked about some of them only."""

    def __init__(self, utility: Any, at: NDArray[np.intp]) -> None:
        self.utility, self.at = utility, at

    def __call__(self, indices: NDArray[np.intp]) -> float:
        return float(self.utility(self.at[indices]))
