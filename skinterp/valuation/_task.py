"""What is valued: rows, labels, and how alike they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import type_of_target

from skinterp.compat import get_tags
from skinterp.valuation._data_kernel import CallableKernel, DataKernel, column_scales
from skinterp.valuation._knn import KNNUtility
from skinterp.valuation._posterior import Pulls, Regression, Variances
from skinterp.valuation._rows import take_rows
from skinterp.valuation._tables import (
    cells_of,
    checked_features,
    encode,
    groups_of,
    learn_encoding,
    read_table,
    read_target,
)
from skinterp.valuation._utility import ModelUtility, SomeRows, default_estimator

MIN_ROWS = 20


@dataclass(frozen=True)
class Task:
    """Candidates by what the kernel compares, and their labels."""

    features: NDArray[np.float64]
    y: NDArray[Any]
    classes: NDArray[Any] | None
    kernel: Any
    encoding: list[dict[str, Any]]
    transformer: Any = None

    def make_kernel(self) -> Any:
        """Kernel of the candidates."""
        if callable(self.kernel):
            return CallableKernel(self.kernel, self.features, self.y)
        n_classes = 0 if self.classes is None else len(self.classes)
        d = self.features.shape[1]
        groups = None if self.transformer is not None else groups_of(self.encoding, d)
        y = self.codes(self.y)
        return DataKernel(self.features, y, n_classes, self.kernel, groups)

    def codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Position of each label among the classes; a number stays as it is."""
        return y if self.classes is None else np.searchsorted(self.classes, y)

    def regression(self, search: Any) -> Regression:
        """Posterior of a fitted search, made anew from what it stores."""
        counts, totals = search._counts, search._totals
        pulls = Pulls(counts, totals, np.zeros(len(counts)))
        variances = Variances(search.signal_variance_, search.noise_variance_)
        return Regression(self.make_kernel(), variances, search._prior, pulls)

    def predict(
        self, regression: Regression, table: Any, y: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of the values of rows."""
        if not len(table):
            return np.zeros(0), np.zeros(0)
        features = features_of(table, self.encoding, self.transformer)
        labels = y if callable(self.kernel) else self.codes(y)
        return regression.of_rows(features, labels)


def task_of(search: Any) -> Task:
    """Candidates and kernel of a search that is fitted, or being so."""
    return Task(
        features=search._features,
        y=search._fit_y[search._candidates],
        classes=getattr(search, "classes_", None),
        kernel=search.kernel,
        encoding=search._encoding,
        transformer=getattr(search, "features_", None),
    )


def features_of(table: Any, encoding: Any, transformer: Any) -> NDArray[np.float64]:
    """What the kernel compares."""
    if transformer is None:
        return encode(encoding, table)
    return checked_features(transformer.transform(table), len(table))


def note_rows(search: Any, table: Any) -> None:
    """Keep on a search its cells, and what the kernel compares of the candidates."""
    rows = take_rows(table, search._candidates)
    search._cells = cells_of(table)
    search._encoding = learn_encoding(rows)
    transformer = None
    if search.features is not None:
        target = search._fit_y[search._candidates]
        transformer = search.features_ = clone(search.features).fit(rows, target)
    search._features = features_of(rows, search._encoding, transformer)


def make_utility(params: Any, table: Any, at: NDArray[Any], validation: Any) -> Any:
    """What a set of candidates is worth; ``at`` says which rows these are."""
    classes = getattr(params, "classes_", None)
    if callable(params.utility):
        whole = len(at) == len(table)
        return params.utility if whole else SomeRows(params.utility, at)
    rows, target = take_rows(table, at), params._fit_y[at]
    if params.utility == "knn":
        if classes is None:
            msg = "utility='knn' needs labels, but y is continuous."
            raise ValueError(msg)
        near, far = (encode(params._encoding, t) for t in (rows, validation[0]))
        if any("labels" in part for part in params._encoding):  # units are our own
            scale = column_scales(near, groups_of(params._encoding, near.shape[1]))
            near, far = near / scale, far / scale
        return KNNUtility(near, target, far, validation[1], params.n_neighbors)
    model = params.estimator
    if model is None:
        model = default_estimator(classes is not None, rows)
    return ModelUtility(
        model,
        (rows, target),
        validation,
        classification=classes is not None,
        scoring=params.scoring,
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


def read_validation(
    search: Any, X: Any, y: Any, classes: NDArray[Any] | None
) -> tuple[Any, NDArray[Any]] | None:
    """Validation rows of the user's own, None if there are none."""
    if not is_given(X, y, search.utility):
        return None
    table = read_table(search, X, reset=False)
    return table, check_labels(read_target(table, y), classes, "y_val")


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
    table: Any, y: NDArray[Any], estimator: Any, who: str
) -> NDArray[Any] | None:
    """Labels of the rows, None where the target is a number; refuses too little data.

    The estimator tells which of both it is, and without one the target does.
    """
    n, d = table.shape
    if n < MIN_ROWS:
        msg = (
            f"Found array with n_samples={n}, n_features={d}, but {who} needs at least "
            f"{MIN_ROWS} samples."
        )
        raise ValueError(msg)
    if isinstance(estimator, FrozenEstimator):
        msg = (
            f"estimator={estimator!r} is frozen: rows are valued by training on them. "
            "Give the model itself."
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
