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

from skinterp.series._shapelet_windows import (
    BEYOND,
    BLOCK,
    N_SEGMENTS,
    REORDERED,
    correlate,
    cumulate,
    describe_windows,
    moments,
    project,
    work_space,
)

#: Shapelets of up to so many points, and series of up to BLOCK windows, go without the
#: bound by segments.
DIRECT = 128
#: Distances that differ by less count as equal; the first window wins.
TIE = 1e-9


@njit(cache=True, nogil=True)
def match_cases(
    first: int,
    last: int,
    series: Any,
    shapelets: Any,
    order: Any,
    distance: Any,
    location: Any,
) -> None:
    """Fill in the least distances of cases ``first`` to ``last``, and their offsets.

    ``series`` and ``shapelets`` are the tuples that ``pack_series`` and
    ``pack_shapelets`` make; column ``order[k]`` is that of the shapelet at k.
    ``location`` may have no rows: offsets are left out.
    """
    values, coarse, offsets, lengths, flat = series
    sizes, channels = shapelets[0], shapelets[1]
    longest = 1
    for i in range(first, last):
        longest = max(longest, lengths[i])
    found, places = np.empty(len(order)), np.empty(len(order), np.int64)
    work = work_space(longest)
    for i in range(first, last):
        size, begin = lengths[i], 0
        while begin < len(sizes):
            c, end = channels[begin], begin
            while end < len(sizes) and channels[end] == c:
                end += 1
            a = offsets[i] + c * size
            x, x32 = values[a : a + size], coarse[a : a + size + BEYOND]
            _match_channel(
                x, x32, flat[i, c], shapelets, begin, end, work, found, places
            )
            begin = end
        for k in range(len(order)):
            distance[i - first, order[k]] = found[k]
        if len(location) > 0:
            for k in range(len(order)):
                location[i - first, order[k]] = places[k]


@njit(cache=True, nogil=True)
def _match_channel(
    x: Any,
    x32: Any,
    flat: float,
    shapelets: Any,
    begin: int,
    end: int,
    work: Any,
    found: Any,
    places: Any,
) -> None:
    """Match all shapelets of a channel, length by length."""
    # taken apart here and handed on no further: that takes as long as the work
    sizes, _, starts, edges, shapes, begins, fine, filled, is_flat, parts = shapelets
    s1, s2, mean, spread, exact, at_exact, coordinates = work[:7]
    weight, base, shift, slack, bound, top = work[7:]
    cumulate(x, s1, s2)
    for g in range(begin, end):
        n = sizes[g]
        windows = len(x) - n + 1
        if windows <= 0:
            _match_short(
                x, flat, shapes, begins, starts[g], starts[g + 1], found, places
            )
            continue
        by_segments = n > DIRECT and windows > BLOCK
        rounded = describe_windows(
            x, s1, s2, n, flat, mean, spread, weight, base, shift, slack, by_segments
        )
        if by_segments:
            project(s1, n, edges[g], mean, weight, windows, coordinates, base)
        for k in range(starts[g], starts[g + 1]):
            o, f = begins[k], filled[k]
            if is_flat[k]:
                found[k], places[k] = _match_flat(spread, windows)
                continue
            if by_segments:
                _bound_by_segments(base, coordinates, parts, k, windows, bound)
                low = _refine(
                    x32, fine, f, n, windows, weight, shift, slack, bound, top
                )
            else:
                correlate(x32, fine, f, n, windows, bound)
                if rounded >= 0.0:
                    low = _scale(bound, weight, windows) - 2 * rounded
                else:
                    low = _to_products(0, windows, weight, shift, slack, bound)
            count, at = _above(bound, windows, low)
            if count == 1:
                scale = math.sqrt(n / spread[at]) if spread[at] > 0.0 else 0.0
                square = _squares(x[at:], shapes[o : o + n], mean[at], scale)
                found[k], places[k] = math.sqrt(square / n), at
            else:
                found[k], places[k] = _nearest(
                    x, shapes, o, n, mean, spread, windows, low, bound, at_exact, exact
                )


@njit(cache=True, nogil=True)
def _refine(
    x: Any,
    shapes: Any,
    o: int,
    n: int,
    windows: int,
    weight: Any,
    shift: Any,
    slack: Any,
    bound: Any,
    top: Any,
) -> Any:
    """Make the bounds tight where they matter: in blocks that may hold the nearest.

    Gives a product that one of the windows has for sure. Blocks of windows whose
    coarse bound is below it keep that bound.
    """
    blocks = (windows + BLOCK - 1) // BLOCK
    best = _block_maxima(bound, windows, top)
    first, last = best * BLOCK, min(windows, (best + 1) * BLOCK)
    correlate(x[first:], shapes, o, n, last - first, bound[first:])
    low = _to_products(first, last, weight, shift, slack, bound)
    top[best] = -np.inf
    b = 0
    while b < blocks:
        e = b
        while e < blocks and top[e] >= low:
            e += 1
        if e > b:
            first, last = b * BLOCK, min(windows, e * BLOCK)
            correlate(x[first:], shapes, o, n, last - first, bound[first:])
            low = max(low, _to_products(first, last, weight, shift, slack, bound))
        b = e + 1
    return low


@njit(cache=True, nogil=True, fastmath=REORDERED)
def _bound_by_segments(
    base: Any, coordinates: Any, parts: Any, k: int, windows: int, bound: Any
) -> None:
    p = parts[k, N_SEGMENTS]
    for d in range(windows):
        bound[d] = base[d] + p * coordinates[N_SEGMENTS, d]
    for s in range(0, N_SEGMENTS, 4):
        p0, p1, p2, p3 = parts[k, s], parts[k, s + 1], parts[k, s + 2], parts[k, s + 3]
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


@njit(cache=True, nogil=True, fastmath=REORDERED)
def _largest(values: Any, first: int, last: int) -> Any:
    m = np.float32(-3e38)
    for d in range(first, last):
        m = max(m, values[d])
    return m


@njit(cache=True, nogil=True, fastmath=REORDERED)
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


@njit(cache=True, nogil=True, fastmath=REORDERED)
def _scale(bound: Any, weight: Any, windows: int) -> Any:
    """Turn raw products into normalised ones; gives the largest."""
    largest = np.float32(-3e38)
    for d in range(windows):
        bound[d] *= weight[d]
        largest = max(largest, bound[d])
    return largest


@njit(cache=True, nogil=True)
def _nearest(
    x: Any,
    shapes: Any,
    o: int,
    n: int,
    mean: Any,
    spread: Any,
    windows: int,
    low: Any,
    bound: Any,
    places: Any,
    exact: Any,
) -> Any:
    """Measure the windows that may be the nearest; its distance and its offset."""
    shape = shapes[o : o + n]
    count, least = 0, np.inf
    for d in range(windows):
        if bound[d] >= low:
            scale = math.sqrt(n / spread[d]) if spread[d] > 0.0 else 0.0
            exact[count] = _squares(x[d:], shape, mean[d], scale)
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


@njit(cache=True, nogil=True)
def _above(bound: Any, windows: int, low: Any) -> Any:
    """Count the windows that may be the nearest, and sum their offsets."""
    count = total = np.int32(0)
    for d in range(np.int32(windows)):
        if bound[d] >= low:
            count += np.int32(1)
            total += np.int32(d)
    return np.int64(count), np.int64(total)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squares(x: Any, shape: Any, mean: float, scale: float) -> float:
    total = 0.0
    for j in range(len(shape)):
        total += (shape[j] - (x[j] - mean) * scale) ** 2
    return total


@njit(cache=True, nogil=True)
def _match_flat(spread: Any, windows: int) -> Any:
    for d in range(windows):
        if spread[d] == 0.0:
            return 0.0, d
    return 1.0, 0


@njit(cache=True, nogil=True)
def _match_short(
    x: Any,
    flat: float,
    shapes: Any,
    begins: Any,
    first: int,
    last: int,
    found: Any,
    places: Any,
) -> None:
    """Match a series that is shorter than some shapelets: it slides over them."""
    n = len(x)
    mean, spread = moments(x, 0, n)
    own = 0.0 if spread <= flat * flat * n else math.sqrt(n / spread)
    query = (x - mean) * own
    for k in range(first, last):
        shape = shapes[begins[k] : begins[k + 1]]
        found[k], places[k] = np.inf, 0
        for d in range(len(shape) - n + 1):
            m, spread = moments(shape, d, n)
            scale = 0.0 if spread <= 1e-20 * n else math.sqrt(n / spread)
            value = math.sqrt(_squares(shape[d:], query, m, scale) / n)
            if value < found[k] - TIE:
                found[k], places[k] = value, -d
