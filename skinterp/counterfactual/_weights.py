"""Sample weights: handed to a model, and in deviations and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from skinterp.compat import FrozenEstimator
from skinterp.counterfactual._table import Floats


def fit_weighted(
    estimator: Any, X: Any, y: Any, weight: Floats | None, parameter: str
) -> Any:
    """Fit a clone, with weights where there are any.

    Parameters
    ----------
    estimator : estimator
        What to fit; a frozen one is not fitted, and has no use for weights.
    X, y : array-like
        Training rows.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    parameter : str
        Name of the parameter that gave the estimator, for the error.

    Returns
    -------
    estimator
        The fitted clone.

    Raises
    ------
    ValueError
        If there are weights that the estimator does not take.
    """
    if weight is None or isinstance(estimator, FrozenEstimator):
        return clone(estimator).fit(X, y)
    name, inner = "sample_weight", estimator
    while isinstance(inner, Pipeline):
        step, inner = inner.steps[-1]
        name = f"{step}__{name}"
    if not has_fit_parameter(inner, "sample_weight"):
        msg = (
            f"sample_weight is given, but {parameter}={estimator!r} does not take any "
            "in fit"
        )
        raise ValueError(msg)
    return clone(estimator).fit(X, y, **{name: weight})


def weighted_mean(values: Floats, weight: Floats | None) -> Floats:
    """Mean of each column."""
    mean: Floats = np.average(values, axis=0, weights=weight)
    return mean


def weighted_std(values: Floats, weight: Floats | None) -> Floats:
    """Deviation of each column, as if every row stood there as often as it weighs."""
    if weight is None:
        std: Floats = values.std(axis=0)
        return std
    return np.sqrt(weighted_mean((values - weighted_mean(values, weight)) ** 2, weight))


def weighted_quantile(values: Floats, share: float, weight: Floats | None) -> Floats:
    """Smallest value of each column that at least a share of the weight lies below."""
    order = np.argsort(values, axis=0, kind="stable")
    weight = np.ones(len(values)) if weight is None else weight
    below = np.cumsum(weight[order], axis=0) / weight.sum()
    first = (below >= share - 1e-12).argmax(axis=0)
    columns = np.arange(values.shape[1])
    quantile: Floats = values[order[first, columns], columns]
    return quantile
