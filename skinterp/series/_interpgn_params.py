"""Parameters of the estimators with learnt shapelets: what is allowed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import Integral, Interval, Real, StrOptions
from skinterp.series._containers import PADS

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = [
    "CONSTRAINTS",
    "LENGTHS",
    "MIXED",
    "SHORTEST",
    "gini",
    "points_of",
    "small_fcn",
    "stride_of",
]

Floats = NDArray[np.float64]

#: Lengths of the shapelets as shares of the series.
LENGTHS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
#: Shortest shapelet.
SHORTEST = 3
#: Series so long are matched at some of the offsets only.
_LONG = 3000

CONSTRAINTS: dict[str, list[Any]] = {
    "n_shapelets": [Interval(Integral, 1, None, closed="left")],
    "lengths": ["array-like"],
    "epsilon": [Interval(Real, 0, None, closed="neither")],
    "distance": [StrOptions({"l1", "l2", "cosine", "pearson"})],
    "lambda_reg": [Interval(Real, 0, None, closed="left")],
    "lambda_div": [Interval(Real, 0, None, closed="left")],
    "nonnegative_rules": ["boolean"],
    "pad": [StrOptions(set(PADS)), None],
}

#: Parameters of what mixes shapelets with a deep expert.
MIXED: dict[str, list[Any]] = {
    "deep": [StrOptions({"fcn", "resnet"}), callable, None],
    "beta": [Interval(Real, 0, None, closed="left")],
    "beta_schedule": [StrOptions({"constant", "cosine", "linear"})],
    "gate_threshold": [Interval(Real, 0, 1, closed="both")],
}


def small_fcn(n_channels: int, n_timepoints: int, n_outputs: int) -> Module:
    """Make an FCN of few filters, for tests."""
    from skinterp.series._interpgn_deep import FCN

    return FCN(n_channels, n_timepoints, n_outputs, (4, 8, 4))


def points_of(lengths: Any, n_timepoints: int) -> tuple[int, ...]:
    """Turn shares of the series into numbers of points, at least three each."""
    points = []
    for length in np.atleast_1d(np.asarray(lengths, dtype=object)):
        if isinstance(length, int | np.integer) and not isinstance(length, bool):
            size = int(length)
            allowed = SHORTEST <= size <= n_timepoints
        else:
            allowed = isinstance(length, float | np.floating) and bool(0 < length <= 1)
            # 0.07 * 100 is a little above 7
            size = math.ceil(round(length * n_timepoints, 9)) if allowed else 0
        if not allowed:
            msg = (
                f"lengths={lengths!r} holds {length!r}; allowed are shares of the "
                f"series in (0, 1], and whole numbers of {SHORTEST} to {n_timepoints} "
                "time points"
            )
            raise ValueError(msg)
        points.append(max(SHORTEST, size))
    if not points:
        msg = f"lengths={lengths!r} is empty; at least one length is needed"
        raise ValueError(msg)
    return tuple(points)


def stride_of(length: int, n_timepoints: int) -> int:
    """Offsets between windows: long series are not matched at each."""
    return max(1, int(math.log2(length))) if n_timepoints >= _LONG else 1


def gini(values: Floats) -> float:
    """Gini index of sizes: 0 if all are equal, near 1 if one has all."""
    ordered = np.sort(values, axis=None)
    total = ordered.sum()
    if total <= 0:
        return 0.0
    n = len(ordered)
    ranks = np.arange(1, n + 1)
    return float(((2 * ranks - n - 1) * ordered).sum() / (n * total))
