"""From split shares to a selection: ranks and their two groups, or permutations."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]

BLOCK = 256


def share_ranks(shares: Floats) -> Floats:
    """Ranks within each chain: 1 for the largest share, ties get their mean rank."""
    ranks: Floats = rankdata(-shares, method="average", axis=1)
    return ranks


def two_clusters(values: Floats) -> NDArray[np.int64]:
    """Cut values into two groups by average linkage; 0 is the group of small ones.

    On a line, average linkage merges neighbours only, as groups stay intervals and
    their distance is that of their means: O(n log n) instead of all pairs. Of equal
    distances the one at the smallest values counts. Equal values are one group.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    labels = np.zeros(len(values), np.int64)
    if len(values) < 2 or ordered[0] == ordered[-1]:
        return labels
    labels[order[_last_border(ordered) :]] = 1
    return labels


def _last_border(ordered: Floats) -> int:
    """Where the second of the two last groups starts."""
    n = len(ordered)
    sums, sizes = ordered.astype(float), np.ones(n, np.int64)
    after, before = np.arange(1, n + 1), np.arange(-1, n - 1)
    version = np.zeros(n, np.int64)
    heap = [(ordered[i + 1] - ordered[i], i, 0, 0) for i in range(n - 1)]
    heapq.heapify(heap)
    for _ in range(n - 2):
        while True:
            _, i, seen_i, seen_j = heapq.heappop(heap)
            j = after[i]
            # pairs of groups that have changed since are out of date
            if seen_i == version[i] and j < n and seen_j == version[j]:
                break
        sums[i] += sums[j]
        sizes[i] += sizes[j]
        version[i] += 1
        version[j] = -1
        after[i] = after[j]
        if after[i] < n:
            before[after[i]] = i
        for a, b in ((before[i], i), (i, after[i])):
            if a >= 0 and b < n:
                gap = sums[b] / sizes[b] - sums[a] / sizes[a]
                heapq.heappush(heap, (gap, int(a), int(version[a]), int(version[b])))
    return int(after[0])


def rank_gap(mean_rank: Floats, cluster: NDArray[np.int64]) -> float:
    """Distance of the two groups' mean ranks, as a share of the number of columns."""
    if not cluster.any():
        return 0.0
    low, high = mean_rank[cluster == 0].mean(), mean_rank[cluster == 1].mean()
    return float((high - low) / len(mean_rank))


def permutation_threshold(rule: str, null: Floats, alpha: float) -> Floats:
    """Share that a column has to exceed, from shares on permuted targets.

    Bleich, Kapelner, George and Jensen (2014). "local": the column's own quantile;
    "g_max": the quantile of the largest share; "g_se": mean and C standard
    deviations, with the smallest C that covers all columns at once.
    """
    if rule == "local":
        return np.quantile(null, 1.0 - alpha, axis=0)
    if rule == "g_max":
        largest = null.max(axis=1)
        return np.full(null.shape[1], np.quantile(largest, 1.0 - alpha))
    mean, spread = null.mean(axis=0), null.std(axis=0, ddof=1)
    above = (null - mean) / np.where(spread > 0, spread, np.inf)
    covered = np.sort(above.max(axis=1))
    enough = covered[int(np.ceil((1.0 - alpha) * len(covered))) - 1]
    return mean + enough * spread


def limit_number(
    support: NDArray[np.bool_], mean_rank: Floats, lowest: int, highest: int | None
) -> NDArray[np.bool_]:
    """Keep at least and at most so many columns, those of the best mean ranks."""
    p = len(support)
    highest = p if highest is None else min(highest, p)
    number = min(max(int(support.sum()), min(lowest, p)), highest)
    if number == support.sum():
        return support
    # the kept ones come first, each by rank; ties by position
    order = np.lexsort((mean_rank, ~support))
    limited = np.zeros(p, bool)
    limited[order[:number]] = True
    return limited


def correlated_columns(
    ranks: NDArray[Any], support: NDArray[np.bool_], level: float
) -> dict[int, NDArray[np.intp]]:
    """Columns that follow a kept one, by the correlation of their ranks.

    ``ranks`` has the shape (n_columns, n_rows). A kept column that no other follows
    is left out.
    """
    kept = np.flatnonzero(support)
    ours = _standard(ranks[kept])
    near = np.empty((len(kept), len(ranks)), bool)
    for first in range(0, len(ranks), BLOCK):
        part = slice(first, first + BLOCK)
        near[:, part] = np.abs(ours @ _standard(ranks[part]).T) >= level
    near[np.arange(len(kept)), kept] = False
    return {
        int(j): np.flatnonzero(row)
        for j, row in zip(kept, near, strict=True)
        if row.any()
    }


def _standard(ranks: NDArray[Any]) -> Floats:
    """Rows of mean 0 and length 1; zeros for a constant one."""
    centered = ranks - ranks.mean(axis=1, keepdims=True)
    length = np.sqrt((centered**2).sum(axis=1, keepdims=True))
    standard: Floats = centered / np.where(length > 0, length, 1.0)
    return standard
