"""What the parameters of InstaSHAP may be, and how its columns are measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import HasMethods, Integral, Interval, Real, StrOptions

Float = NDArray[np.float64]

_COUNT = Interval(Integral, 1, None, closed="left")
_SHARE = Interval(Real, 0, 1, closed="both")
CONSTRAINTS: dict[str, list[Any]] = {
    "order": [_COUNT],
    "interactions": [StrOptions({"auto", "all"}), list, tuple],
    "max_interactions": [Interval(Integral, 0, None, closed="left")],
    "feature_groups": [list, tuple, Mapping, None],
    "hidden_layer_sizes": [list, tuple],
    "mask_distribution": [StrOptions({"uniform_size", "shapley"})],
    "end_weight": [Interval(Real, 0, None, closed="neither")],
    "masks_per_row": [StrOptions({"auto"}), _COUNT],
    "unmask_schedule": [tuple, list],
    "max_unmasked": [_SHARE],
    "l1": [Interval(Real, 0, None, closed="left")],
    "teacher": [HasMethods(["predict"]), None],
    "background": [StrOptions({"conditional", "marginal"})],
}


def weighted_moments(values: Any, weight: Any) -> tuple[Float, Float]:
    """Mean and standard deviation per column over the cells that are there.

    The deviation is 1 where cells are constant, or none is there.
    """
    there = ~np.isnan(values)
    w = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    mass = np.where(there, w.reshape(-1, *[1] * (values.ndim - 1)), 0.0)
    total = mass.sum(axis=0)
    mass /= np.where(total > 0, total, 1.0)
    # squares of huge cells would overflow
    size = np.max(np.abs(values), axis=0, where=there, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    unit = np.where(there, values, 0.0) / size
    mean = (mass * unit).sum(axis=0)
    scale = np.sqrt((mass * (unit - mean) ** 2).sum(axis=0))
    return mean * size, np.where(scale > 1e-12, scale * size, 1.0)


def check_hidden(sizes: Any) -> tuple[int, ...]:
    """Units of the hidden layers."""
    whole = all(isinstance(s, int | np.integer) and s >= 1 for s in sizes)
    if not sizes or not whole:
        msg = (
            f"hidden_layer_sizes={sizes!r} must hold integers of at least 1, such as "
            "(32, 16)"
        )
        raise ValueError(msg)
    return tuple(int(s) for s in sizes)


def check_schedule(schedule: Any) -> tuple[float, float]:
    """Shares of the epochs where unmasked rows begin to come, and stop to grow."""
    if len(schedule) != 2 or not 0 <= schedule[0] <= schedule[1] <= 1:
        msg = (
            f"unmask_schedule={schedule!r} must be two rising shares of the epochs, "
            "such as (1/3, 2/3)"
        )
        raise ValueError(msg)
    return float(schedule[0]), float(schedule[1])
