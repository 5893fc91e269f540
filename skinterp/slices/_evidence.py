"""What speaks for a slice: p-values, redundancy, and the greedy cover."""

from __future__ import annotations

import heapq
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skinterp.slices import _error_slice_finder_kernels as kernels
from skinterp.slices._search import Found, Rows, unpack


def p_values(sums: NDArray[np.float64], overall: float | None) -> NDArray[np.float64]:
    """Chance of so low a mean if the rows of a slice were like all others.

    Binomial for right and wrong; with ``overall`` None by Student's t, one-sided, for
    other numbers, which are taken from the mean.
    """
    n, weight, squares, total, total_squares = sums.T
    if overall is not None:
        return stats.binom.cdf(total, n, overall)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = weight**2 / squares
        mean = total / weight
        spread = np.maximum(total_squares / weight - mean**2, 0.0)
        spread = np.where(spread < 1e-14 * mean**2, 0.0, spread)
        error = np.sqrt(spread / (effective - 1.0))
        p = stats.t.cdf(mean / error, effective - 1.0)
    # a lone row has no spread, and says nothing
    return np.where(effective > 1.0 + 1e-9, np.nan_to_num(p, nan=1.0), 1.0)


def adjust(p: NDArray[np.float64], n_tests: int) -> NDArray[np.float64]:
    """Benjamini and Hochberg's adjusted p-values.

    Tests that are not listed count as if nothing had been found in them, so that the
    values are never too small.
    """
    order = np.argsort(p, kind="stable")
    raised = p[order] * max(n_tests, len(p)) / np.arange(1, len(p) + 1)
    lowest = np.minimum.accumulate(raised[::-1])[::-1]
    out = np.empty_like(p)
    out[order] = np.minimum(lowest, 1.0)
    return out


def sort_slices(found: Found, order_by: str) -> NDArray[np.intp]:
    """Worst first, then large ones, then by tags; or rare ones first."""
    width = int(np.diff(found.offsets).max(initial=0))
    padded = np.full((len(found.size), width), -1, dtype=np.int64)
    for k in range(width):
        has = np.diff(found.offsets) > k
        padded[has, k] = found.tags[found.offsets[:-1][has] + k]
    tags = [padded[:, k] for k in range(width)[::-1]]
    mean = _tied(found.mean)
    if order_by == "size":
        return np.lexsort((*tags, mean, found.size))
    return np.lexsort((*tags, -found.size, mean))


def _tied(mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means whose last bits, which sums in another order change, don't order."""
    scale = float(np.abs(mean).max(initial=0.0)) or 1.0
    return np.round(mean / scale, 12)


def distinct(found: Found, limit: int | None, slack: float | None) -> Found:
    """Keep the first slices, without those that a part of them already explains.

    A slice is redundant if some of its tags alone make a slice of found ones that is
    at most ``slack`` better.
    """
    n = len(found.size)
    if slack is None:
        return found.take(np.arange(n if limit is None else min(limit, n)))
    nearly = 1e-12 * float(np.abs(found.mean).max(initial=0.0))
    mean = {tuple(found.of(s)): m for s, m in enumerate(found.mean)}
    kept: list[int] = []
    for s in range(n):
        if len(kept) == limit:
            break
        tags, worst = tuple(found.of(s)), found.mean[s] + slack + nearly
        parts = (p for k in range(1, len(tags)) for p in combinations(tags, k))
        if not any(mean.get(part, np.inf) <= worst for part in parts):
            kept.append(s)
    return found.take(np.array(kept, dtype=np.intp))


def error_of(rows: Rows, *, loss: bool) -> NDArray[np.float64]:
    """How much of an error each row is: what lacks to 1, or a loss above the mean."""
    if loss:
        return rows.weight * np.maximum(-rows.centred()[0], 0.0)
    return rows.weight * (1.0 - rows.value)


def cover(
    found: Found, bits: NDArray[np.uint64], error: NDArray[np.float64], coverage: float
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Slices that hold a share of the errors, greedily, with errors and rows so far.

    Gains only shrink, so that an old one is a bound: few are computed again.
    """
    left = np.full(bits.shape[1], ~np.uint64(0), dtype=np.uint64)
    heap: list[Any] = [
        (-kernels.gain_of(bits, found.of(s), left, error), s, 0)
        for s in range(len(found.size))
    ]
    heapq.heapify(heap)
    chosen: list[int] = []
    errors, rows, total = [0.0], [0], error.sum()
    while heap and errors[-1] < coverage * total * (1 - 1e-12):
        gain, s, seen = heapq.heappop(heap)
        if -gain <= 0:
            break
        if seen < len(chosen):
            gain = -kernels.gain_of(bits, found.of(s), left, error)
            heapq.heappush(heap, (gain, s, len(chosen)))
            continue
        chosen.append(s)
        inside = kernels.row_set(bits, found.of(s))
        rows.append(rows[-1] + int(unpack(inside & left, len(error)).sum()))
        errors.append(errors[-1] - gain)
        left &= ~inside
    share = np.array(errors[1:]) / total if total else np.zeros(len(chosen))
    return (
        np.array(chosen, dtype=np.intp),
        share,
        np.array(rows[1:]) / len(error),
    )
