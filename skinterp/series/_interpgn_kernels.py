"""Sliding absolute differences of shapelets and series, and their gradient.

One pass over each window, without a copy of it: memory is that of the distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["l1_distances", "l1_gradient"]

# Sums in another order, so that several windows are measured at once.
_REORDERED = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def l1_distances(x: Any, shapelets: Any, stride: int, out: Any) -> None:
    """Fill in the mean absolute difference of each shapelet and each window.

    ``x`` is (n_cases, n_channels, n_timepoints), ``shapelets`` (n_channels,
    n_shapelets, length), ``out`` (n_cases, n_channels, n_shapelets, n_windows).
    """
    length = shapelets.shape[2]
    full = x.shape[2] - length + 1
    sums = np.empty(full, dtype=x.dtype)
    for b in range(x.shape[0]):
        for c in range(x.shape[1]):
            for k in range(shapelets.shape[1]):
                _add_differences(x[b, c], shapelets[c, k], sums)
                row = out[b, c, k]
                for i in range(len(row)):
                    row[i] = sums[i * stride] / length


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _add_differences(x: Any, w: Any, sums: Any) -> None:
    """Sums over all windows, eight points of the shapelet at a time."""
    n = len(sums)
    sums[:] = 0
    j = 0
    while j + 8 <= len(w):
        a, b, c, d = w[j], w[j + 1], w[j + 2], w[j + 3]
        e, f, g, h = w[j + 4], w[j + 5], w[j + 6], w[j + 7]
        y = x[j:]
        for t in range(n):
            sums[t] += (
                abs(y[t] - a) + abs(y[t + 1] - b)
                + abs(y[t + 2] - c) + abs(y[t + 3] - d)
                + abs(y[t + 4] - e) + abs(y[t + 5] - f)
                + abs(y[t + 6] - g) + abs(y[t + 7] - h)
            )  # fmt: skip
        j += 8
    while j < len(w):
        a = w[j]
        y = x[j:]
        for t in range(n):
            sums[t] += abs(y[t] - a)
        j += 1


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def l1_gradient(x: Any, shapelets: Any, stride: int, slope: Any, out: Any) -> None:
    """Add up the gradient of the shapelets, given that of the distances.

    Where a point equals that of the shapelet, the slope of the absolute value is taken
    as 0. Shapes as in ``l1_distances``; ``out`` as ``shapelets``, of float64.
    """
    for b in range(x.shape[0]):
        for c in range(x.shape[1]):
            for k in range(shapelets.shape[1]):
                row = slope[b, c, k]
                if stride == 1:  # apart, since contiguous points are much faster
                    _add_signs(x[b, c], shapelets[c, k], row, out[c, k])
                else:
                    _add_strided(x[b, c], shapelets[c, k], stride, row, out[c, k])


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _add_signs(x: Any, w: Any, row: Any, out: Any) -> None:
    """Signs of the differences weighted by the slopes, two points at a time."""
    zero = row[0] * 0
    for j in range(0, len(w) - 1, 2):
        a, b = w[j], w[j + 1]
        y = x[j:]
        up, down, up_next, down_next = zero, zero, zero, zero
        for t in range(len(row)):
            g = row[t]
            up += g if a > y[t] else zero
            down += g if a < y[t] else zero
            up_next += g if b > y[t + 1] else zero
            down_next += g if b < y[t + 1] else zero
        out[j] += (up - down) / len(w)
        out[j + 1] += (up_next - down_next) / len(w)
    if len(w) % 2:
        a, y = w[len(w) - 1], x[len(w) - 1 :]
        up, down = zero, zero
        for t in range(len(row)):
            up += row[t] if a > y[t] else zero
            down += row[t] if a < y[t] else zero
        out[len(w) - 1] += (up - down) / len(w)


@njit(cache=True, nogil=True)
def _add_strided(x: Any, w: Any, stride: int, row: Any, out: Any) -> None:
    for j in range(len(w)):
        total = row[0] * 0
        for i in range(len(row)):
            value = x[i * stride + j]
            if w[j] > value:
                total += row[i]
            elif w[j] < value:
                total -= row[i]
        out[j] += total / len(w)
