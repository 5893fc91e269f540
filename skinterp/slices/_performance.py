"""How well a model does on each row, by itself or out of fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import KFold, StratifiedKFold, check_cv, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils.multiclass import type_of_target

from skinterp.compat import check_is_fitted, is_frozen

Metric = str | Callable[[Any, Any], Any]
METRICS = ("accuracy", "log_loss", "brier", "absolute_error", "squared_error")
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean")
OF_PROBABILITIES = ("log_loss", "brier")


def choose_metric(metric: Metric, estimator: Any) -> Metric:
    """Metric to use; "auto" goes by what the model predicts."""
    if metric == "accuracy" and is_regressor(estimator):
        msg = (
            "metric='accuracy' asks for classes, and the estimator is a regressor; use "
            "'absolute_error', 'squared_error' or a function"
        )
        raise ValueError(msg)
    if metric != "auto":
        return metric
    return "absolute_error" if is_regressor(estimator) else "accuracy"


def name_of(metric: Metric) -> str:
    """What to call a metric."""
    return metric if isinstance(metric, str) else getattr(metric, "__name__", "loss")


def default_estimator(X: Any, y: NDArray[Any], seed: int) -> Any:
    """Boosted trees that take text columns too."""
    continuous = type_of_target(y) in ("continuous", "continuous-multioutput")
    boosting = (
        HistGradientBoostingRegressor if continuous else HistGradientBoostingClassifier
    )
    model = boosting(random_state=seed)
    if not hasattr(X, "columns") and np.asarray(X).dtype.kind in "biuf":
        return model
    table = plain_columns(X)
    texts = [j for j, dtype in enumerate(table.dtypes) if dtype.kind != "f"]
    # boosted trees refuse a column without a single number
    known = np.flatnonzero(table.notna().any())
    numbers = [int(j) for j in known if j not in texts]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoded = ColumnTransformer(
        [("codes", codes, texts), ("numbers", "passthrough", numbers)]
    )
    return make_pipeline(FunctionTransformer(plain_columns), encoded, model)


def plain_columns(X: Any) -> pd.DataFrame:
    """Each column as floats, dates as days, or as texts; missing cells are NaN."""
    table = pd.DataFrame(X)
    columns = [_plain(table.iloc[:, j]) for j in range(table.shape[1])]
    return pd.concat(columns, axis=1, keys=range(len(columns)))


def _plain(column: pd.Series) -> pd.Series:
    if column.dtype.kind == "M":
        days = (column - pd.Timestamp(0, tz=column.dt.tz)) / pd.Timedelta(days=1)
        return days.astype(np.float64)
    numbers = pd.api.types.infer_dtype(column, skipna=True) in NUMBERS
    if numbers and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(object).where(column.notna(), np.nan).astype(np.float64)
    texts = column.astype(object).map(str)
    return texts.where(column.notna().to_numpy(), np.nan).astype(object)


def fit_and_measure(
    estimator: Any, X: Any, y: NDArray[Any], metric: Metric, cv: Any, seed: int
) -> tuple[Any, NDArray[np.float64]]:
    """Fitted model and how well each row is predicted.

    A frozen model predicts the rows that it is given; another one is fitted on all of
    them, and measured on those that were left out of a fold.
    """
    method = "predict_proba" if metric in OF_PROBABILITIES else "predict"
    if is_frozen(estimator):
        check_is_fitted(estimator)
        return estimator, measure(estimator, X, y, metric)
    folds = _folds(cv, y, is_classifier(estimator), seed)
    predicted = cross_val_predict(clone(estimator), X, y, cv=folds, method=method)
    fitted = clone(estimator).fit(X, y)
    classes = getattr(fitted, "classes_", None)
    return fitted, per_row(metric, y, predicted, classes)


def _folds(cv: Any, y: NDArray[Any], classifier: bool, seed: int) -> Any:
    """Folds of mixed rows: tables are often sorted."""
    if not isinstance(cv, int | np.integer):
        return check_cv(cv, y, classifier=classifier)
    stratified = classifier and type_of_target(y) in ("binary", "multiclass")
    if stratified and np.unique(y, return_counts=True)[1].min() >= cv:
        return StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    return KFold(int(cv), shuffle=True, random_state=seed)


def measure(
    estimator: Any, X: Any, y: NDArray[Any], metric: Metric
) -> NDArray[np.float64]:
    """How well a fitted model does on each row."""
    method = "predict_proba" if metric in OF_PROBABILITIES else "predict"
    if not hasattr(estimator, method):
        msg = f"metric={metric!r} needs {method}, which {estimator!r} does not have"
        raise ValueError(msg)
    predicted = getattr(estimator, method)(X)
    return per_row(metric, y, predicted, getattr(estimator, "classes_", None))


def per_row(
    metric: Metric, y: NDArray[Any], predicted: Any, classes: Any
) -> NDArray[np.float64]:
    """Correctness of each row for "accuracy", its loss for all others."""
    predicted = np.asarray(predicted)
    if callable(metric):
        values = np.asarray(metric(y, predicted), dtype=np.float64)
    elif metric == "accuracy":
        values = np.asarray(y == predicted.reshape(y.shape), dtype=np.float64)
    elif metric in OF_PROBABILITIES:
        hit = np.asarray(y)[:, None] == np.asarray(classes)[None, :]
        values = _of_probabilities(str(metric), hit, predicted)
    else:
        difference = _number(metric, y) - _number(metric, predicted.reshape(y.shape))
        power = 1 if metric == "absolute_error" else 2
        values = np.abs(difference) ** power
    if values.shape != (len(y),) or not np.isfinite(values).all():
        msg = (
            f"metric {name_of(metric)!r} has to give a finite number for each of "
            f"{len(y)} rows; got shape {values.shape}"
        )
        raise ValueError(msg)
    return values


def _number(metric: Metric, values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"metric={metric!r} needs targets that are numbers: {error}"
        raise ValueError(msg) from error


def _of_probabilities(
    metric: str, hit: NDArray[np.bool_], probability: NDArray[Any]
) -> NDArray[np.float64]:
    if metric == "brier":
        return ((probability - hit) ** 2).sum(axis=1)
    own = np.where(hit, probability, 0.0).sum(axis=1)
    # a class that the model does not know has no probability at all
    return -np.log(np.clip(own, 1e-15, 1.0))
