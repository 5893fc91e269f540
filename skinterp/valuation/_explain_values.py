"""What a fitted search says of its rows, as an explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skinterp.base import feature_names_of
from skinterp.explanation import DataValues
from skinterp.valuation._rows import mark_rows
from skinterp.valuation._task import task_of


def values_of(search: Any, marked: ArrayLike | None, level: float) -> DataValues:
    """Values of all training rows."""
    n = len(search.value_mean_)
    return DataValues(
        scope="global",
        feature_names=feature_names_of(search),
        target_names=getattr(search, "classes_", np.array(["y"])),
        unit="training row",
        row=np.arange(n),
        value=search.value_mean_,
        std=search.value_std_,
        selected=search.support_,
        probability=search.probability_,
        pulls=search.pulls_,
        marked=mark_rows(marked, n),
        data=search._cells,
        target=search._fit_y,
        lowest=bool(search.lowest),
        level=level,
        meta={
            "search": {
                "trainings": search.n_evaluations_,
                "gap bound": search.gap_bound_,
                "certified": bool(search.certified_),
                "calibration": search.calibration_,
            }
        },
    )


def sources_of(search: Any, values: DataValues, row: int) -> DataValues:
    """Rows whose draws made the value of a row, those first that add most."""
    whole = isinstance(row, int | np.integer) and not isinstance(row, bool)
    at = search._candidates
    if not whole or row not in at or search.pulls_.sum() == 0:
        msg = (
            f"row={row!r} has no value made of draws: allowed are the positions of "
            "candidates (candidates_), after a search."
        )
        raise ValueError(msg)
    regression = task_of(search).regression(search)
    pulled, weight = regression.weights(int(np.searchsorted(at, row)))
    part = weight * (regression.pulls.means() - regression.prior)
    order = np.argsort(-np.abs(part), kind="stable")
    chosen = values[at[pulled[order]]]
    return chosen._with(weight=weight[order], part=part[order], of=int(row))
