"""Windows of a series: statistics, coordinates, and products with shapelets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

#: Segments of the coarse bound, and windows that are looked at together.
N_SEGMENTS = 16
BLOCK = 64
#: Products are made for so many windows and points at once; beyond float32 values lie
#: BEYOND more, which products read but do not use.
LANES, TAPS = 16, 8
BEYOND = LANES + TAPS

# Reordered sums are within the slack of the bounds, and no NaN or infinity gets here.
REORDERED = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@njit(cache=True, nogil=True)
def work_space(longest: int) -> Any:
    """Arrays over windows, apart from each other, so that compilers see no overlap.

    In float64 two cumulative sums, mean, spread and exact distances, then offsets; in
    float32 coordinates, weights, bases, shifts, slacks and values of bounds, and their
    largest by block.
    """
    n = longest + BLOCK
    return (
        np.zeros(n),
        np.zeros(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty((N_SEGMENTS + 1, n), np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n // BLOCK + 1, np.float32),
    )


@njit(cache=True, nogil=True)
def cumulate(x: Any, s1: Any, s2: Any) -> None:
    for t in range(len(x)):
        s1[t + 1] = s1[t] + x[t]
        s2[t + 1] = s2[t] + x[t] * x[t]


@njit(cache=True, nogil=True)
def describe_windows(
    x: Any,
    s1: Any,
    s2: Any,
    n: int,
    flat: float,
    mean: Any,
    spread: Any,
    weight: Any,
    base: Any,
    shift: Any,
    slack: Any,
    whole: bool,
) -> Any:
    """Mean and sum of squares about it of each window, and what products round.

    Gives one slack for all windows, or -1 where some are nearly flat: these get slacks
    of their own, flat ones the sum 0 and a product that gives the distance 1. The last
    three arrays are filled for them, and if they are wanted as a ``whole``.
    """
    windows = len(x) - n + 1
    least = _moments_of_windows(s1, s2, n, windows, mean, spread)
    doubt = 1e-6 * len(x) * s2[len(x)]
    if least > doubt:
        rounded = _weigh(n, windows, mean, spread, weight)
        if whole:
            base[:windows] = shift[:windows] = np.float32(0.0)
            slack[:windows] = rounded
        return rounded
    # the difference of two sums says little of some windows: once more
    for d in range(windows):
        if spread[d] <= doubt:
            mean[d], spread[d] = moments(x, d, n)
    _weigh(n, windows, mean, spread, weight)
    rounding = _rounding(n)
    for d in range(windows):
        base[d] = shift[d] = 0.0
        size = np.float32(2.0) + abs(np.float32(mean[d])) * weight[d]
        slack[d] = min(rounding * size, np.float32(4.0) * n)
        if spread[d] <= flat * flat * n:
            spread[d] = weight[d] = slack[d] = 0.0
            shift[d] = base[d] = 0.5 * n
        elif spread[d] <= doubt:
            base[d] = n
    return np.float32(-1.0)


@njit(cache=True, nogil=True, fastmath=REORDERED)
def _moments_of_windows(
    s1: Any, s2: Any, n: int, windows: int, mean: Any, spread: Any
) -> float:
    least, share = np.inf, 1.0 / n
    for d in range(windows):
        total = s1[d + n] - s1[d]
        mean[d] = total * share
        spread[d] = s2[d + n] - s2[d] - total * total * share
        least = min(least, spread[d])
    return least


@njit(cache=True, nogil=True)
def _rounding(n: int) -> Any:
    """Bound what float32 rounds in a product of n points, for values of size 1."""
    return np.float32(6e-8 * (n / 8 + 24) * n)


@njit(cache=True, nogil=True, fastmath=REORDERED)
def _weigh(n: int, windows: int, mean: Any, spread: Any, weight: Any) -> Any:
    """One over the deviation of windows; gives the largest rounding of a product.

    Raw values are rounded: what matters is their size against the deviation.
    """
    points, tiny, largest = np.float32(n), np.float32(1e-30), np.float32(0.0)
    for d in range(windows):
        s = math.sqrt(points / max(np.float32(spread[d]), tiny))
        weight[d] = s
        largest = max(largest, abs(np.float32(mean[d])) * s)
    return _rounding(n) * (np.float32(2.0) + largest)


@njit(cache=True, nogil=True)
def moments(x: Any, start: int, n: int) -> Any:
    total = 0.0
    for j in range(start, start + n):
        total += x[j]
    m = total / n
    spread = rest = 0.0
    for j in range(start, start + n):
        spread += (x[j] - m) ** 2
        rest += x[j] - m
    return m + rest / n, spread - rest * rest / n


@njit(cache=True, nogil=True)
def project(
    s1: Any,
    n: int,
    edges: Any,
    mean: Any,
    weight: Any,
    windows: int,
    coordinates: Any,
    base: Any,
) -> None:
    """Coordinates of normalised windows: means of segments, and the norm of the rest.

    A bound of a scalar product is then the scalar product of the coordinates, by the
    inequality of Cauchy and Schwarz. Windows of which little is known have the
    coordinates 0 and a base that alone is a bound.
    """
    rest = coordinates[N_SEGMENTS]
    rest[:windows] = n
    for s in range(N_SEGMENTS):
        a, b = edges[s], edges[s + 1]
        _segment(s1[a:], s1[b:], b - a, mean, weight, windows, coordinates[s], rest)
    for d in range(windows):
        rest[d] = math.sqrt(max(rest[d], np.float32(0.0)) + np.float32(4e-6) * n)
    for d in range(windows):
        if base[d] > 0.0:
            coordinates[:, d] = 0.0
        else:
            base[d] = 4e-6 * n


@njit(cache=True, nogil=True, fastmath={"contract"})
def _segment(
    low: Any,
    high: Any,
    n: int,
    mean: Any,
    weight: Any,
    windows: int,
    row: Any,
    rest: Any,
) -> None:
    root, points = np.float32(1.0 / math.sqrt(n)), float(n)
    for d in range(windows):
        off = np.float32(high[d] - low[d] - points * mean[d])
        z = off * (weight[d] * root)
        row[d] = z
        rest[d] -= z * z


@njit(cache=True, nogil=True, fastmath=REORDERED)
def correlate(x: Any, shapes: Any, o: int, n: int, windows: int, out: Any) -> None:
    """Scalar products of the shapelet at ``o`` with raw windows, eight points at once.

    Shapelets are filled up with zeros. Windows are rounded up to whole vectors; those
    beyond the last are of no use.
    """
    windows = (windows + LANES - 1) // LANES * LANES
    for d in range(windows):
        out[d] = np.float32(0.0)
    j = 0
    while j < n:
        i = o + j
        a0, a1, a2, a3 = shapes[i], shapes[i + 1], shapes[i + 2], shapes[i + 3]
        a4, a5, a6, a7 = shapes[i + 4], shapes[i + 5], shapes[i + 6], shapes[i + 7]
        for d in range(windows):
            t = j + d
            out[d] += (a0 * x[t] + a1 * x[t + 1] + a2 * x[t + 2] + a3 * x[t + 3]) + (
                a4 * x[t + 4] + a5 * x[t + 5] + a6 * x[t + 6] + a7 * x[t + 7]
            )
        j += TAPS
