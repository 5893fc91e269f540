"""Least distances of shapelets to series, by bounds from coarse to fine.

All windows of a series that a shapelet could match are bounded in float32 first; only
those that may be the nearest are measured in float64. The bounds hold with the rounding
of float32 in them, so that they change no answer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

#: Segments of the coarse bound; shapelets of up to DIRECT points go without it.
N_SEGMENTS = 16
DIRECT = 128
BLOCK = 64
#: Products are made for so many windows at once; float32 values are followed by as many.
LANES = 16
#: Distances that differ by less count as equal; the first window wins.
TIE = 1e-9

# Reordered sums are within the slack of the bounds, and no NaN or infinity gets here.
_REORDERED = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@njit(cache=True, nogil=True)
def match_cases(
    first: int,
    last: int,
    series: Any,
    shapelets: Any,
    distance: Any,
    location: Any,
) -> None:
    """Fill in the least distances of cases ``first`` to ``last``, and their offsets.

    ``series`` and ``shapelets`` are the tuples that ``pack_series`` and
    ``pack_shapelets`` make. ``location`` may have no rows: offsets are left out.
    """
    values, coarse, offsets, lengths, flat = series
    sizes, channels, starts, edges, shapes, fine, begins, is_flat, parts = shapelets
    longest = 1
    for i in range(first, last):
        longest = max(longest, lengths[i])
    s1, s2 = np.zeros(longest + 1), np.zeros(longest + 1)
    mean, scale, exact = np.empty(longest), np.empty(longest), np.empty(longest)
    work = _work_space(longest)
    for i in range(first, last):
        size = lengths[i]
        for g in range(len(sizes)):
            c = channels[g]
            a = offsets[i] + c * size
            x, x32 = values[a : a + size], coarse[a : a + size + LANES]
            if g == 0 or channels[g - 1] != c:
                _cumulate(x, s1, s2)
            n = sizes[g]
            windows = size - n + 1
            if windows > 0:
                _describe_windows(x, s1, s2, n, flat[i, c], mean, scale, work)
                if n > DIRECT:
                    _project(s1, n, edges[g], mean, scale, windows, work)
            for k in range(starts[g], starts[g + 1]):
                shape = shapes[begins[k] : begins[k + 1]]
                if windows <= 0:
                    d, at = _match_short(x, shape, flat[i, c])
                    at = -at
                elif is_flat[k]:
                    d, at = _match_flat(scale, windows)
                else:
                    shape32 = fine[begins[k] : begins[k + 1]]
                    low = _bound(x32, shape32, parts[k], windows, work)
                    d, at = _nearest(x, shape, mean, scale, windows, low, work, exact)
                distance[i - first, k] = d
                if len(location) > 0:
                    location[i - first, k] = at


@njit(cache=True, nogil=True)
def _work_space(longest: int) -> Any:
    """Arrays over windows: coordinates; base, scale, shift, slack and value of bounds.

    Apart from each other, so that the compiler need not think that they overlap.
    """
    n = longest + BLOCK
    return (
        np.empty((N_SEGMENTS + 1, n), np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n // BLOCK + 1, np.float32),
        np.empty(n, np.int64),
    )


@njit(cache=True, nogil=True)
def _cumulate(x: Any, s1: Any, s2: Any) -> None:
    for t in range(len(x)):
        s1[t + 1] = s1[t] + x[t]
        s2[t + 1] = s2[t] + x[t] * x[t]


@njit(cache=True, nogil=True)
def _describe_windows(
    x: Any, s1: Any, s2: Any, n: int, flat: float, mean: Any, scale: Any, work: Any
) -> None:
    """Mean and 1 / deviation of each window (0 where flat), and slack of its bound."""
    _, base, weight, shift, slack, _, _, _ = work
    windows = len(x) - n + 1
    _moments_of_windows(s1, s2, n, windows, mean, scale)
    doubt = 1e-6 * len(x) * s2[len(x)]
    for d in range(windows):
        base[d] = shift[d] = 0.0
        if scale[d] <= doubt:  # the difference of two sums says little: once more
            mean[d], scale[d] = _moments(x, d, n)
            base[d] = n
        if scale[d] <= flat * flat * n:
            scale[d] = slack[d] = 0.0
            shift[d] = base[d] = 0.5 * n  # a product that gives the distance 1
    _weigh(n, windows, mean, scale, weight, slack)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _moments_of_windows(
    s1: Any, s2: Any, n: int, windows: int, mean: Any, spread: Any
) -> None:
    for d in range(windows):
        m = (s1[d + n] - s1[d]) / n
        mean[d] = m
        spread[d] = s2[d + n] - s2[d] - n * m * m


@njit(cache=True, nogil=True, fastmath={"contract"})
def _weigh(
    n: int, windows: int, mean: Any, scale: Any, weight: Any, slack: Any
) -> None:
    """Turn spreads into scales, and bound what float32 rounds in a product."""
    rounding = 6e-8 * (n / 8 + 16) * n
    for d in range(windows):
        spread = scale[d]
        s = math.sqrt(n / spread) if spread > 0.0 else 0.0
        scale[d] = weight[d] = s
        # raw values are rounded: what matters is their size against the deviation
        slack[d] = min(rounding * (2.0 + abs(mean[d]) * s), 4.0 * n) if s > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _moments(x: Any, start: int, n: int) -> Any:
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
def _project(
    s1: Any, n: int, edges: Any, mean: Any, scale: Any, windows: int, work: Any
) -> None:
    """Coordinates of normalised windows: means of segments, and the norm of the rest.

    A bound of a scalar product is then the scalar product of the coordinates, by the
    inequality of Cauchy and Schwarz. Windows of which little is known have the
    coordinates 0 and a base that alone is a bound.
    """
    coordinates, base = work[0], work[1]
    rest = coordinates[N_SEGMENTS]
    rest[:windows] = n
    for s in range(N_SEGMENTS):
        a, b = edges[s], edges[s + 1]
        _segment(s1[a:], s1[b:], b - a, mean, scale, windows, coordinates[s], rest)
    for d in range(windows):
        rest[d] = math.sqrt(max(rest[d], np.float32(0.0)) + np.float32(2e-6) * n)
    for d in range(windows):
        if base[d] > 0.0:
            coordinates[:, d] = 0.0
        else:
            base[d] = 2e-6 * n


@njit(cache=True, nogil=True, fastmath={"contract"})
def _segment(
    low: Any, high: Any, n: int, mean: Any, scale: Any, windows: int, row: Any, rest: Any
) -> None:
    root = 1.0 / math.sqrt(n)
    for d in range(windows):
        z = np.float32((high[d] - low[d] - n * mean[d]) * (scale[d] * root))
        row[d] = z
        rest[d] -= z * z


@njit(cache=True, nogil=True)
def _bound(x: Any, shape: Any, part: Any, windows: int, work: Any) -> Any:
    """Fill bounds of the products with windows, tight where it matters.

    Gives a product that one of the windows has for sure. Blocks of windows whose
    coarse bound is below it keep that bound.
    """
    coordinates, base, _, _, _, bound, top, _ = work
    if len(shape) <= DIRECT:
        return _refine(x, shape, 0, windows, work)
    _coarse(base, coordinates, part, windows, bound)
    blocks = (windows + BLOCK - 1) // BLOCK
    best = _block_maxima(bound, windows, top)
    low = _refine(x, shape, best * BLOCK, min(windows, (best + 1) * BLOCK), work)
    top[best] = -np.inf
    b = 0
    while b < blocks:
        e = b
        while e < blocks and top[e] >= low:
            e += 1
        if e > b:
            low = max(low, _refine(x, shape, b * BLOCK, min(windows, e * BLOCK), work))
        b = e + 1
    return low


@njit(cache=True, nogil=True)
def _refine(x: Any, shape: Any, first: int, last: int, work: Any) -> Any:
    """Replace the coarse bounds of some windows; gives the best sure product."""
    _, _, weight, shift, slack, bound, _, _ = work
    whole = (last - first + LANES - 1) // LANES * LANES
    _correlate(x[first:], shape, whole, bound[first:])
    return _to_products(first, last, weight, shift, slack, bound)


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _coarse(base: Any, coordinates: Any, part: Any, windows: int, bound: Any) -> None:
    p = part[N_SEGMENTS]
    rest = coordinates[N_SEGMENTS]
    for d in range(windows):
        bound[d] = base[d] + p * rest[d]
    for s in range(0, N_SEGMENTS, 4):
        p0, p1, p2, p3 = part[s], part[s + 1], part[s + 2], part[s + 3]
        for d in range(windows):
            bound[d] += (
                p0 * coordinates[s, d]
                + p1 * coordinates[s + 1, d]
                + p2 * coordinates[s + 2, d]
                + p3 * coordinates[s + 3, d]
            )


@njit(cache=True, nogil=True)
def _block_maxima(bound: Any, windows: int, top: Any) -> int:
    best = 0
    for b in range((windows + BLOCK - 1) // BLOCK):
        top[b] = _largest(bound, b * BLOCK, min(windows, (b + 1) * BLOCK))
        if top[b] > top[best]:
            best = b
    return best


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _largest(values: Any, first: int, last: int) -> Any:
    m = np.float32(-3e38)
    for d in range(first, last):
        m = max(m, values[d])
    return m


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _correlate(x: Any, shape: Any, windows: int, out: Any) -> None:
    """Scalar products of a shapelet with raw windows, eight points at a time."""
    n = len(shape)
    for d in range(windows):
        out[d] = np.float32(0.0)
    j = 0
    while j + 8 <= n:
        a0, a1, a2, a3 = shape[j], shape[j + 1], shape[j + 2], shape[j + 3]
        a4, a5, a6, a7 = shape[j + 4], shape[j + 5], shape[j + 6], shape[j + 7]
        y = x[j:]
        for d in range(windows):
            out[d] += (
                a0 * y[d] + a1 * y[d + 1] + a2 * y[d + 2] + a3 * y[d + 3]
            ) + (a4 * y[d + 4] + a5 * y[d + 5] + a6 * y[d + 6] + a7 * y[d + 7])
        j += 8
    while j < n:
        a0 = shape[j]
        y = x[j:]
        for d in range(windows):
            out[d] += a0 * y[d]
        j += 1


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _to_products(
    first: int, last: int, weight: Any, shift: Any, slack: Any, bound: Any
) -> Any:
    """Turn raw products into bounds of normalised ones; gives the best sure one."""
    sure = np.float32(-3e38)
    for d in range(first, last):
        product = bound[d] * weight[d] + shift[d]
        bound[d] = product + slack[d]
        sure = max(sure, product - slack[d])
    return sure


@njit(cache=True, nogil=True)
def _nearest(
    x: Any, shape: Any, mean: Any, scale: Any, windows: int, low: Any, work: Any, exact: Any
) -> Any:
    """Measure the windows that may be the nearest; its distance and its offset."""
    bound, places = work[5], work[7]
    n, count, least = len(shape), 0, np.inf
    for b in range(0, windows, BLOCK):
        e = min(windows, b + BLOCK)
        if _largest(bound, b, e) < low:
            continue
        for d in range(b, e):
            if bound[d] >= low:
                exact[count] = _squares(x, d, shape, mean[d], scale[d])
                least = min(least, exact[count])
                places[count] = d
                count += 1
    limit = (math.sqrt(least) + TIE * math.sqrt(n)) ** 2
    at = 0
    for j in range(count):
        if exact[j] <= limit:
            at = places[j]
            break
    return math.sqrt(least / n), at


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squares(x: Any, start: int, shape: Any, mean: float, scale: float) -> float:
    y = x[start : start + len(shape)]
    total = 0.0
    for j in range(len(shape)):
        total += (shape[j] - (y[j] - mean) * scale) ** 2
    return total


@njit(cache=True, nogil=True)
def _match_flat(scale: Any, windows: int) -> Any:
    for d in range(windows):
        if scale[d] == 0.0:
            return 0.0, d
    return 1.0, 0


@njit(cache=True, nogil=True)
def _match_short(x: Any, shape: Any, flat: float) -> Any:
    """Match a series that is shorter than the shapelet: it slides over the shapelet."""
    n = len(x)
    mean, spread = _moments(x, 0, n)
    own = 0.0 if spread <= flat * flat * n else math.sqrt(n / spread)
    query = (x - mean) * own
    best, at = np.inf, 0
    for d in range(len(shape) - n + 1):
        m, spread = _moments(shape, d, n)
        scale = 0.0 if spread <= 1e-20 * n else math.sqrt(n / spread)
        value = math.sqrt(_squares(shape, d, query, m, scale) / n)
        if value < best - TIE:
            best, at = value, d
    return best, at
