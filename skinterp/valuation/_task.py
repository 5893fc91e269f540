"""What is valued: rows, labels, and how alike they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from skinterp.compat import get_tags
from skinterp.valuation._data_kernel import CallableKernel, DataKernel
from skinterp.valuation._knn import KNNUtility
from skinterp.valuation._posterior import Pulls, Regression, Variances
from skinterp.valuation._utility import ModelUtility, SomeRows, default_estimator

MIN_ROWS = 20


@dataclass(frozen=True)
class Task:
    """Training rows, which of them are candidates, and the kernel over them."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    at: NDArray[np.intp]
    classes: NDArray[Any] | None
    kernel: Any
    features: Any = None

    def make_kernel(self) -> Any:
        """Kernel of the candidates."""
        features, y = self.encode(self.X[self.at]), self.y[self.at]
        if callable(self.kernel):
            return CallableKernel(self.kernel, features, y)
        n_classes = 0 if self.classes is None else len(self.classes)
        return DataKernel(features, self.codes(y), n_classes, self.kernel)

    def encode(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the kernel compares."""
        if self.features is None:
            return rows
        made = self.features.transform(rows)
        made = made.toarray() if hasattr(made, "toarray") else made
        return np.ascontiguousarray(made, dtype=np.float64)

    def codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Position of each label among the classes; a number stays as it is."""
        return y if self.classes is None else np.searchsorted(self.classes, y)

    def make_utility(self, params: Any, validation: Any) -> Any:
        """What a set of candidates is worth."""
        rows, target = self.X[self.at], self.y[self.at]
        if callable(params.utility):
            whole = len(self.at) == len(self.X)
            return params.utility if whole else SomeRows(params.utility, self.at)
        if params.utility == "knn":
            if self.classes is None:
                msg = "utility='knn' needs labels, but y is continuous."
                raise ValueError(msg)
            X_val, y_val = validation
            return KNNUtility(rows, target, X_val, y_val, params.n_neighbors)
        labelled = self.classes is not None
        model = params.estimator
        return ModelUtility(
            default_estimator(labelled) if model is None else model,
            (rows, target),
            validation,
            classification=labelled,
            scoring=params.scoring,
        )

    def regression(self, search: Any) -> Regression:
        """Posterior of a fitted search, made anew from what it stores."""
        counts, totals = search._counts, search._totals
        pulls = Pulls(counts, totals, np.zeros(len(counts)))
        variances = Variances(search.signal_variance_, search.noise_variance_)
        return Regression(self.make_kernel(), variances, search._prior, pulls)

    def predict(
        self, regression: Regression, rows: NDArray[np.float64], y: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of the values of rows."""
        if not len(rows):
            return np.zeros(0), np.zeros(0)
        labels = y if callable(self.kernel) else self.codes(y)
        return regression.of_rows(self.encode(rows), labels)


def task_of(search: Any) -> Task:
    """Rows and kernel of a search that is fitted, or being so."""
    return Task(
        X=search._fit_X,
        y=search._fit_y,
        at=search._candidates,
        classes=getattr(search, "classes_", None),
        kernel=search.kernel,
        features=getattr(search, "features_", None),
    )


def is_given(X_val: Any, y_val: Any, utility: Any) -> bool:
    """Whether there are validation rows of the user's own, which must make sense."""
    if X_val is None and y_val is None:
        return False
    if X_val is None or y_val is None:
        msg = "X_val and y_val must be given together, got one of them."
        raise ValueError(msg)
    if callable(utility):
        msg = "X_val is given, but a callable utility scores on no rows: drop it."
        raise ValueError(msg)
    return True


def check_labels(
    y: NDArray[Any], classes: NDArray[Any] | None, name: str
) -> NDArray[Any]:
    """Labels that were seen in fit, or numbers."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)
    unknown = np.setdiff1d(y, classes).tolist()
    if unknown:
        msg = f"{name} holds {unknown[0]!r}, which is no label of y: {classes.tolist()}"
        raise ValueError(msg)
    return y


def find_classes(
    X: NDArray[np.float64], y: NDArray[Any], estimator: Any, who: str
) -> NDArray[Any] | None:
    """Labels of the rows, None where the target is a number; refuses too little data.

    The estimator tells which of both it is, and without one the target does.
    """
    n, d = X.shape
    if n < MIN_ROWS:
        msg = (
            f"Found array with n_samples={n}, n_features={d}, but {who} needs at least "
            f"{MIN_ROWS} samples."
        )
        raise ValueError(msg)
    continuous = type_of_target(y) == "continuous"
    if estimator is None:
        regression = continuous
    else:
        regression = get_tags(estimator).estimator_type == "regressor"
    if regression:
        return None
    if continuous:
        msg = (
            "y is continuous, but estimator is a classifier, which needs labels: give "
            "a regressor."
        )
        raise ValueError(msg)
    classes = np.unique(y)
    if len(classes) < 2:
        msg = (
            f"y has only one class, {classes.tolist()}: {who} needs at least 2 classes."
        )
        raise ValueError(msg)
    return classes
