"""Values of curves on edges: B-splines by recursion, and a base function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

ROUNDING = 1e-6  # of an interval


def features(
    x: Floats, size: int, order: int, low: float, high: float, base: str
) -> Floats:
    """Values of all B-splines, then of the base function, at each number of x.

    Knots are uniform, ``order`` of them on either side of the ``size`` intervals from
    low to high. For order 0 the ends belong to the outer intervals.
    """
    step = (high - low) / size
    knots = low + step * np.arange(-order, size + order + 1)
    cells = x[..., None]
    if order == 0:
        place = _interval((x - low) / step, size)
        table = (place[..., None] == np.arange(size)).astype(np.float64)
    else:
        table = ((cells >= knots[:-1]) & (cells < knots[1:])).astype(np.float64)
    for k in range(1, order + 1):  # Cox, de Boor
        width = k * step
        rising = (cells - knots[: -k - 1]) / width
        falling = (knots[k + 1 :] - cells) / width
        table = rising * table[..., :-1] + falling * table[..., 1:]
    return np.concatenate([table, _base(x, base)[..., None]], axis=-1)


def _interval(steps: Floats, size: int) -> Floats:
    """Number of the interval, also of ends that are a rounding error beyond."""
    place = np.floor(steps)
    place[(steps < 0) & (steps > -ROUNDING)] = 0
    place[(steps >= size) & (steps < size + ROUNDING)] = size - 1
    return place


def slopes(
    x: Floats, size: int, order: int, low: float, high: float, base: str
) -> Floats:
    """Derivatives of what `features` gives."""
    step = (high - low) / size
    if order == 0:
        table = np.zeros((*x.shape, size))
    else:
        # the lower order has its own first and last spline on these knots
        wide = features(x, size + 2, order - 1, low - step, high + step, "none")
        table = (wide[..., :-2] - wide[..., 1:-1]) / step
    gate = expit(x)
    silu = gate * (1 + x * (1 - gate)) if base == "silu" else np.zeros_like(x)
    return np.concatenate([table, silu[..., None]], axis=-1)


def _base(x: Floats, base: str) -> Floats:
    silu: Floats = x * expit(x)
    return silu if base == "silu" else np.zeros_like(x)
