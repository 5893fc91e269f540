"""Neighbours in an order that is known by its edges, for lattices that are cut down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def path_edges(path: Ints, offsets: Ints) -> Ints:
    """Distinct steps of several paths, as (lower, upper)."""
    steps = np.column_stack([path[:-1], path[1:]])
    inside = np.ones(max(len(path) - 1, 0), dtype=bool)
    ends = offsets[1:-1] - 1
    inside[ends[(ends >= 0) & (ends < len(inside))]] = False
    steps = steps[inside]
    return np.unique(steps, axis=0) if len(steps) else np.empty((0, 2), dtype=np.int64)


def induced_edges(edges: Ints, kept: NDArray[np.intp], n: int) -> Ints:
    """Neighbours among the kept elements of an order given by its edges."""
    at = np.full(n, -1, dtype=np.int64)
    at[kept] = np.arange(len(kept))
    whole = at[edges] >= 0
    # all that lies above a kept one is kept: its neighbours stay its neighbours
    if (whole[:, 1] | ~whole[:, 0]).all():
        return at[edges[whole.all(axis=1)]]
    upper: list[list[int]] = [[] for _ in range(n)]
    for low, high in edges.tolist():
        upper[low].append(high)
    found = [
        (int(at[c]), int(at[u]))
        for c in kept.tolist()
        for u in _next_kept(c, upper, at)
    ]
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def _next_kept(c: int, upper: list[list[int]], at: Ints) -> list[int]:
    """Kept elements above c, without those above another of them."""
    reached = _above(upper[c], upper, at, stop=True)
    candidates = [u for u in reached if at[u] >= 0]
    beyond: set[int] = set()
    for u in candidates:
        beyond |= _above(upper[u], upper, at, stop=False)
    return [u for u in candidates if u not in beyond]


def _above(
    start: list[int], upper: list[list[int]], at: Ints, *, stop: bool
) -> set[int]:
    """All that is reached upwards; with ``stop``, not past what is kept."""
    seen, stack = set(start), list(start)
    while stack:
        u = stack.pop()
        if stop and at[u] >= 0:
            continue
        new = [v for v in upper[u] if v not in seen]
        seen.update(new)
        stack += new
    return seen


def levels_of(edges: Ints, n: int) -> Ints:
    """Length of the longest way from each element up to a maximal one."""
    level = np.zeros(n, dtype=np.int64)
    while len(edges):
        below = np.zeros(n, dtype=np.int64)
        np.maximum.at(below, edges[:, 0], level[edges[:, 1]] + 1)
        if (below <= level).all():
            break
        level = np.maximum(level, below)
    return level
