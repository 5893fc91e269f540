"""Whether data values are what a search found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from skinterp.explanation._data_values import DataValues

TOLERANCE = 1e-6  # of the deviation of a value


def check_values(values: DataValues, estimator: Any) -> None:
    """Raise AssertionError naming the first row of which something wrong is said."""
    if values.weight is None:
        _check_found(values)
    if hasattr(estimator, "predict_value") and values.data is not None:
        _check_predicted(values, estimator)


def _check_found(values: DataValues) -> None:
    candidate = np.isfinite(values.probability)
    sought = -values.value if values.lowest else values.value
    inside = candidate & values.selected
    outside = candidate & ~values.selected
    if not inside.any():
        msg = "no candidate is said to be found"
        raise AssertionError(msg)
    if outside.any() and sought[outside].max() > sought[inside].min():
        first = np.flatnonzero(outside)[np.argmax(sought[outside])]
        msg = f"row {values.row[first]} is more extreme than a row that is found"
        raise AssertionError(msg)
    total, number = values.probability[candidate].sum(), int(inside.sum())
    if abs(total - number) > 1e-6 * len(values):
        msg = f"the probabilities sum to {total:.6g} for {number} rows found"
        raise AssertionError(msg)


def _check_predicted(values: DataValues, estimator: Any) -> None:
    """Exact values are not predicted, so that their deviation is 0."""
    estimated = np.flatnonzero(values.std > 0)
    if not len(estimated):
        return
    assert values.data is not None
    assert values.target is not None
    X: Any = values.data[estimated]
    y = values.target[estimated]
    if hasattr(estimator, "feature_names_in_"):
        import pandas as pd

        X = pd.DataFrame(X, columns=estimator.feature_names_in_)
    mean, std = estimator.predict_value(X, y, return_std=True)
    scale = float(values.std.max())
    for name, said, found in (
        ("value", values.value[estimated], mean),
        ("deviation", values.std[estimated], std),
    ):
        off = np.abs(said - found)
        # a jitter of the kernel is not part of a prediction
        if off.max() > 1e-3 * scale + TOLERANCE:
            i = int(np.argmax(off))
            row = values.row[estimated[i]]
            msg = f"the {name} of row {row} is said to be {said[i]}, but is {found[i]}"
            raise AssertionError(msg)
