"""Kernels of the nearest-neighbour utility: of one coalition, and its exact values."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def coalition_utility(order, match, member, size, n_neighbors):
    """Mean share of right labels among the nearest members, over the queries.

    Missing neighbours count as wrong ones, so that no member at all is worth 0.
    """
    total = 0
    wanted = min(size, n_neighbors)
    for q in range(order.shape[0]):
        found = 0
        for k in range(order.shape[1]):
            if found == wanted:
                break
            i = order[q, k]
            if member[i]:
                found += 1
                total += match[q, k]
    return total / (order.shape[0] * n_neighbors)


@njit(cache=True, nogil=True)
def add_shapley_values(order, match, n_neighbors, values):
    """Add the Shapley values of all rows, of one query after the other.

    The recursion runs from the farthest row to the nearest one: two neighbours in the
    order differ in the coalitions in which just one of them is among the nearest.
    """
    n = order.shape[1]
    for q in range(order.shape[0]):
        value = match[q, n - 1] / max(n, n_neighbors)
        values[order[q, n - 1]] += value
        for k in range(n - 2, -1, -1):
            rank = k + 1
            step = np.float64(match[q, k]) - np.float64(match[q, k + 1])
            value += step / n_neighbors * min(n_neighbors, rank) / rank
            values[order[q, k]] += value
