"""Scores that are linear in the columns: which are, and with what coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import compose, decomposition, impute, pipeline, preprocessing

from skinterp.compat import FrozenEstimator
from skinterp.counterfactual._table import Floats

_AFFINE = (
    preprocessing.StandardScaler,
    preprocessing.MinMaxScaler,
    preprocessing.MaxAbsScaler,
    preprocessing.RobustScaler,
    decomposition.PCA,
    decomposition.TruncatedSVD,
    impute.SimpleImputer,
    # of columns that hold still; where they move, the trial on rows fails
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    preprocessing.TargetEncoder,
)


def affine_scores(
    estimator: Any,
    scores: Callable[[Floats], Floats],
    rows: Floats,
    columns: NDArray[np.intp],
    scale: Floats,
) -> Floats | None:
    """Find the coefficients of a score that is linear in some columns.

    Parameters
    ----------
    estimator : estimator
        The fitted model.
    scores : callable
        Gives its score per class.
    rows : ndarray of shape (n, d)
        Rows on which linearity is tried.
    columns : ndarray of int
        Columns that move; the others only shift the score.
    scale : ndarray of shape (d,)
        Unit of each column.

    Returns
    -------
    ndarray of shape (n_classes, n_columns) or None
        None where the steps of the model do not promise linearity, or break it.
    """
    if not is_affine(estimator) or not len(columns):
        return None
    base = rows[0].copy()
    base[columns] = rows[:, columns].mean(0)
    unit = scale[columns]
    probes = np.tile(base, (2 * len(columns), 1))
    at = np.arange(len(columns))
    probes[at, columns] += unit
    probes[at + len(columns), columns] -= unit
    still = rows.copy()
    still[:, columns] = base[columns]
    try:
        values = scores(np.vstack([probes, still, rows]))
    except ValueError:
        return None
    k, n = len(columns), len(rows)
    coef = (values[:k] - values[k : 2 * k]).T / (2.0 * unit)
    claimed = values[2 * k : 2 * k + n] + (rows[:, columns] - base[columns]) @ coef.T
    said = values[2 * k + n :]
    size = 1.0 + np.abs(said) + np.abs(rows[:, columns]) @ np.abs(coef).T
    return coef if (np.abs(claimed - said) <= 1e-8 * size).all() else None


def is_affine(model: Any) -> bool:
    """Say whether a model's score is an affine function of its columns by design."""
    if isinstance(model, FrozenEstimator):
        return is_affine(model.estimator)
    if hasattr(model, "best_estimator_"):
        return is_affine(model.best_estimator_)
    if isinstance(model, pipeline.Pipeline):
        steps = [step for _, step in model.steps]
        return all(map(_is_affine_step, steps[:-1])) and is_affine(steps[-1])
    has_weights = hasattr(model, "coef_") and hasattr(model, "intercept_")
    kernel = getattr(model, "kernel", "linear")
    return has_weights and hasattr(model, "decision_function") and kernel == "linear"


def _is_affine_step(step: Any) -> bool:
    if step is None or isinstance(step, str):
        return True
    if isinstance(step, FrozenEstimator):
        return _is_affine_step(step.estimator)
    if isinstance(step, pipeline.Pipeline):
        return all(_is_affine_step(inner) for _, inner in step.steps)
    if isinstance(step, compose.ColumnTransformer):
        return all(_is_affine_step(inner) for _, inner, _ in step.transformers_)
    if isinstance(step, preprocessing.FunctionTransformer):
        return step.func is None
    if hasattr(step, "get_support"):
        return True
    if isinstance(step, impute.SimpleImputer):  # of a number, it makes it jump
        missing = step.missing_values
        return not isinstance(missing, int | float) or np.isnan(missing)
    return isinstance(step, _AFFINE) and not getattr(step, "clip", False)
