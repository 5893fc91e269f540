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

#: Segments of the coarse bound; shapelets of up to DIRECT points, and series of up to
#: BLOCK windows, go without it.
N_SEGMENTS = 16
DIRECT = 128
BLOCK = 64
#: Products are made for so many windows and points at once; beyond float32 values lie
#: BEYOND more, which products read but do not use.
LANES, TAPS = 16, 8
BEYOND = LANES + TAPS
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
    sizes, channels, starts, edges, shapes, begins, fine, filled, is_flat, parts = (
        shapelets
    )
    longest = 1
    for i in range(first, last):
        longest = max(longest, lengths[i])
    s1, s2 = np.zeros(longest + 1), np.zeros(longest + 1)
    mean, spread, exact = np.empty(longest), np.empty(longest), np.empty(longest)
    coordinates, base, weight, shift, slack, bound, top, places = _work_space(longest)
    for i in range(first, last):
        size = lengths[i]
        for g in range(len(sizes)):
            c = channels[g]
            a = offsets[i] + c * size
            x, x32 = values[a : a + size], coarse[a : a + size + BEYOND]
            if g == 0 or channels[g - 1] != c:
                _cumulate(x, s1, s2)
            n = sizes[g]
            windows = size - n + 1
            if windows > 0:
                by_segments = n > DIRECT and windows > BLOCK
                rounded = _describe_windows(
                    x, s1, s2, n, flat[i, c], mean, spread, weight, base, shift, slack,
                    by_segments,
                )
                if by_segments:
                    _project(
                        s1, n, edges[g], mean, weight, windows, coordinates, base
                    )
            for k in range(starts[g], starts[g + 1]):
                o, f = begins[k], filled[k]
                if windows <= 0:
                    d, at = _match_short(x, shapes[o : o + n], flat[i, c])
                    at = -at
                elif is_flat[k]:
                    d, at = _match_flat(spread, windows)
                else:
                    if by_segments:
                        _coarse(base, coordinates, parts, k, windows, bound)
                        low = _refine_best(
                            x32, fine, f, n, windows, weight, shift, slack, bound, top
                        )
                    else:
                        _correlate(x32, fine, f, n, windows, bound)
                        if rounded >= 0.0:
                            low = _scale(bound, weight, windows) - 2 * rounded
                        else:
                            low = _to_products(0, windows, weight, shift, slack, bound)
                    count, at = _above(bound, windows, low)
                    if count == 1:  # here, since calls that pass parts of arrays cost
                        scale = math.sqrt(n / spread[at]) if spread[at] > 0.0 else 0.0
                        shape = shapes[o : o + n]
                        d = math.sqrt(_squares(x[at:], shape, mean[at], scale) / n)
                    else:
                        d, at = _nearest(
                            x, shapes, o, n, mean, spread, windows, low, bound, places,
                            exact,
                        )
                distance[i - first, order[k]] = d
                if len(location) > 0:
                    location[i - first, order[k]] = at


@njit(cache=True, nogil=True)
def _work_space(longest: int) -> Any:
    """Arrays over windows: coordinates; base, weight, shift, slack and value of bounds.

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
    x: Any, s1: Any, s2: Any, n: int, flat: float, mean: Any, spread: Any, weight: Any,
    base: Any, shift: Any, slack: Any, whole: bool,
) -> Any:
    """Mean and sum of squares about it of each window, and what is rounded in a product.

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
            mean[d], spread[d] = _moments(x, d, n)
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


@njit(cache=True, nogil=True, fastmath=_REORDERED)
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


@njit(cache=True, nogil=True, fastmath=_REORDERED)
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
    s1: Any, n: int, edges: Any, mean: Any, weight: Any, windows: int,
    coordinates: Any, base: Any,
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
    low: Any, high: Any, n: int, mean: Any, weight: Any, windows: int, row: Any,
    rest: Any,
) -> None:
    root, points = np.float32(1.0 / math.sqrt(n)), float(n)
    for d in range(windows):
        off = np.float32(high[d] - low[d] - points * mean[d])
        z = off * (weight[d] * root)
        row[d] = z
        rest[d] -= z * z


@njit(cache=True, nogil=True)
def _refine_best(
    x: Any, shapes: Any, o: int, n: int, windows: int, weight: Any, shift: Any,
    slack: Any, bound: Any, top: Any,
) -> Any:
    """Make the bounds tight where they matter: in blocks that may hold the nearest.

    Gives a product that one of the windows has for sure. Blocks of windows whose
    coarse bound is below it keep that bound.
    """
    blocks = (windows + BLOCK - 1) // BLOCK
    best = _block_maxima(bound, windows, top)
    first, last = best * BLOCK, min(windows, (best + 1) * BLOCK)
    _correlate(x[first:], shapes, o, n, last - first, bound[first:])
    low = _to_products(first, last, weight, shift, slack, bound)
    top[best] = -np.inf
    b = 0
    while b < blocks:
        e = b
        while e < blocks and top[e] >= low:
            e += 1
        if e > b:
            first, last = b * BLOCK, min(windows, e * BLOCK)
            _correlate(x[first:], shapes, o, n, last - first, bound[first:])
            low = max(low, _to_products(first, last, weight, shift, slack, bound))
        b = e + 1
    return low


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _coarse(
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


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _largest(values: Any, first: int, last: int) -> Any:
    m = np.float32(-3e38)
    for d in range(first, last):
        m = max(m, values[d])
    return m


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _correlate(x: Any, shapes: Any, o: int, n: int, windows: int, out: Any) -> None:
    """Scalar products of the shapelet at ``o`` with raw windows, eight points at a time.

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


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _scale(bound: Any, weight: Any, windows: int) -> Any:
    """Turn raw products into normalised ones; gives the largest."""
    largest = np.float32(-3e38)
    for d in range(windows):
        bound[d] *= weight[d]
        largest = max(largest, bound[d])
    return largest


@njit(cache=True, nogil=True)
def _nearest(
    x: Any, shapes: Any, o: int, n: int, mean: Any, spread: Any, windows: int, low: Any,
    bound: Any, places: Any, exact: Any,
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
        value = math.sqrt(_squares(shape[d:], query, m, scale) / n)
        if value < best - TIE:
            best, at = value, d
    return best, at
