"""Exact inverses of monotone functions of one float64 number.

A rule says "feature <= t" about what a transformer made of a cell. To say the same of
the cell itself, one needs the last cell whose feature is still at most t. An analytic
inverse is off by rounding; the search below asks the transformer itself, over the
ordered float64 numbers, and so finds the very cell at which the answer changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._feature_map import widen_float32

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

_TOP = np.finfo(np.float64).max
_MIDDLE = (0.0, 1.0, 0.5)


@dataclass(frozen=True)
class Stage:
    """One monotone function on the way from a cell to a feature.

    ``forward`` evaluates it; ``solve`` gives its inverse where evaluating is not
    possible. ``budget`` bounds how many numbers are tried in one evaluation.
    """

    forward: Function | None = None
    increasing: bool = True
    solve: Callable[[float], float] | None = None
    budget: int = 512

    def invert(self, threshold: float) -> float:
        """Last number (first, if decreasing) whose value is at most a threshold.

        Minus or plus infinity stand for "no number" and "every number".
        """
        if self.solve is not None:
            return float(self.solve(threshold))
        if self.forward is None:
            return threshold
        forward, sign = self.forward, 1.0 if self.increasing else -1.0
        # a decreasing f is searched as the increasing x -> f(-x)
        found = last_at_most(lambda x: forward(sign * x), threshold, self.budget)
        return sign * found


CAST_FLOAT32 = Stage(
    forward=lambda x: x.astype(np.float32).astype(np.float64), solve=widen_float32
)


def evaluate(stages: tuple[Stage, ...], value: float) -> float:
    """Value of a chain at one number, NaN where a stage cannot be evaluated."""
    cells = np.array([value], dtype=np.float64)
    for stage in stages:
        if stage.forward is None:
            return math.nan
        cells = stage.forward(cells)
    return float(cells[0])


def invert_chain(stages: tuple[Stage, ...], threshold: float) -> float:
    """Exact inverse of a chain of stages, as ``Stage.invert`` of one."""
    bound, at_most = threshold, True
    for stage in reversed(stages):
        if not at_most:
            # v >= bound is "not v <= the number before bound"
            bound = math.nextafter(bound, -math.inf) if bound < math.inf else _TOP
        edge = stage.invert(bound)
        if at_most:
            at_most, bound = stage.increasing, edge
        elif stage.increasing:
            bound = math.nextafter(edge, math.inf) if edge > -math.inf else edge
        else:
            at_most = True
            bound = math.nextafter(edge, -math.inf) if edge < math.inf else edge
    return bound


def last_at_most(function: Function, threshold: float, budget: int = 512) -> float:
    """Last float64 number at which an increasing function is at most a threshold.

    Parameters
    ----------
    function : callable
        Takes and returns float64 arrays. It may be flat, and NaN beyond one of its
        ends; there it counts as below or above everything.
    threshold : float
        The threshold.
    budget : int, default=512
        How many numbers to try in one call.

    Returns
    -------
    float
        -inf where no finite number qualifies, inf where all do.

    Notes
    -----
    Takes ``64 / log2(budget)`` calls.
    """
    middle = _defined_point(function)
    low, high = _rank(-_TOP) - 1, _rank(_TOP) + 1
    while high - low > 1:
        ranks = _between(low, high, budget)
        holds = _at_most(function, _unrank(ranks), threshold, middle)
        n_below = len(ranks) if holds.all() else int(np.argmin(holds))
        if n_below < len(ranks):
            high = int(ranks[n_below])
        if n_below > 0:
            low = int(ranks[n_below - 1])
    if low < _rank(-_TOP):
        return -math.inf
    return math.inf if high > _rank(_TOP) else float(_unrank(np.array([low]))[0])


def _defined_point(function: Function) -> float:
    with np.errstate(all="ignore"):
        values = function(np.array(_MIDDLE))
    defined = [x for x, v in zip(_MIDDLE, values, strict=True) if not math.isnan(v)]
    return defined[0] if defined else 0.0


def _at_most(
    function: Function, cells: Floats, threshold: float, middle: float
) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        values = function(cells)
    beyond = np.isnan(values)
    return np.where(beyond, cells < middle, values <= threshold)


def _between(low: int, high: int, budget: int) -> NDArray[np.int64]:
    """Ranks strictly between two ranks, evenly spread, at most ``budget``."""
    n = min(budget, high - low - 1)
    # python integers: the span of all float64 numbers does not fit in int64
    ranks = [low + (high - low) * i // (n + 1) for i in range(1, n + 1)]
    return np.array(ranks, dtype=np.int64)


def _rank(value: float) -> int:
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _unrank(ranks: NDArray[np.int64]) -> Floats:
    size = np.abs(ranks).view(np.float64)
    return np.where(ranks < 0, -size, size)
