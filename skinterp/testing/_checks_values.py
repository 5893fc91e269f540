"""Checks of data values: in a game whose values are known, they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.testing._case import Case
from skinterp.testing._check import check


class AdditiveGame:
    """A utility in which each row adds its weight, whatever the others are."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        self.weights = weights

    def __call__(self, indices: Any) -> float:
        """Sum the weights."""
        return float(self.weights[np.asarray(indices, dtype=int)].sum())


def values_rows(case: Case) -> bool:
    """Apply to methods that value rows by a utility of one's own."""
    kinds = {kind for kinds in case.explains.values() for kind in kinds}
    return "data-values" in kinds and case.has_parameter("utility")


@check(values_rows)
def check_additive_game(case: Case) -> None:
    """Values of a game in which rows add their weights are these weights."""
    X, y = case.Xy
    weights = np.random.default_rng(0).uniform(-1.0, 1.0, size=len(y))
    estimator = case.new(utility=AdditiveGame(weights))
    for name, value in {"beta": "bayes", "max_evaluations": 4 * len(y), "m": 5}.items():
        if case.has_parameter(name):
            estimator.set_params(**{name: value})
    values = case.fit(estimator, X, y).explain()
    order = np.argsort(weights if values.lowest else -weights)
    expected, got = set(order[: values.complexity]), set(values.row[values.selected])
    assert got == expected, f"rows {sorted(got)} are found, not {sorted(expected)}"
    drawn = values.pulls > 0
    off = np.abs(values.value - weights[values.row])[drawn]
    assert off.max() < 1e-3, f"a row that was drawn is off its weight by {off.max()}"
