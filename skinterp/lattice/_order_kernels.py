"""The order of concepts: covers and stability, without comparing pairs of concepts."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp.lattice._bits import FULL, ONE, ZERO, Words, bit, find_set, lowest
from skinterp.lattice._set_kernels import Ints, copy, grown

# What lies this many rows below adds less than one rounding error to a stability.
FAR = 64


@njit(cache=True, nogil=True)
def extent_of(intent: Words, columns: Words, out: Words, n: int) -> None:
    """Rows that have all attributes of a set."""
    for w in range(len(out)):
        out[w] = FULL
    if n & 63:
        out[n >> 6] = bit(n) - ONE
    for v in range(len(intent)):
        word = intent[v]
        while word != ZERO:
            j = (v << 6) + lowest(word)
            word &= word - ONE
            for w in range(len(out)):
                out[w] &= columns[j, w]


@njit(cache=True, nogil=True)
def extents_of(intents: Words, columns: Words, n: int) -> Words:
    """Extents of several sets of attributes."""
    out = np.empty((len(intents), columns.shape[1]), dtype=np.uint64)
    for i in range(len(intents)):
        extent_of(intents[i], columns, out[i], n)
    return out


@njit(cache=True, nogil=True)
def closures_of(sets: Words, rows: Words, columns: Words, full: Words) -> Words:
    """What all rows that have a set's attributes have in common: B''."""
    out = np.empty_like(sets)
    extent = np.empty(columns.shape[1], dtype=np.uint64)
    for i in range(len(sets)):
        extent_of(sets[i], columns, extent, len(rows))
        close(extent, sets[i], rows, full, out[i])
    return out


@njit(cache=True, nogil=True)
def close(extent: Words, lower: Words, rows: Words, full: Words, out: Words) -> None:
    """Intent of an extent, which holds at least ``lower``: there the loop may end."""
    copy(full, out, len(out))
    for w in range(len(extent)):
        word = extent[w]
        while word != ZERO:
            row = (w << 6) + lowest(word)
            word &= word - ONE
            same = True
            for v in range(len(out)):
                out[v] &= rows[row, v]
                same &= out[v] == lower[v]
            if same:
                return


@njit(cache=True, nogil=True)
def generate(
    intent: Words, extent: Words, rows: Words, closed: Words, seen: NDArray[np.bool_]
) -> None:
    """Close the intent with each further attribute that occurs in the extent."""
    for w in range(len(extent)):
        word = extent[w]
        while word != ZERO:
            row = (w << 6) + lowest(word)
            word &= word - ONE
            for v in range(len(intent)):
                new = rows[row, v] & ~intent[v]
                while new != ZERO:
                    j = (v << 6) + lowest(new)
                    new &= new - ONE
                    if not seen[j]:
                        seen[j] = True
                        copy(rows[row], closed[j], len(intent))
                        continue
                    for u in range(len(intent)):
                        closed[j, u] &= rows[row, u]


@njit(cache=True, nogil=True)
def cover_edges(
    first: int,
    last: int,
    intents: Words,
    lengths: Ints,
    table: Ints,
    rows: Words,
    columns: Words,
    bottom: int,
) -> Ints:
    """Edges, as lower, upper, ..., below the concepts ``first`` to ``last - 1``.

    A neighbour that k further attributes generate is covered if its intent gains just
    these k: one that gains more lies below another that gains some of them.
    """
    m = len(columns)
    edges = np.empty(64, dtype=np.int64)
    n_edges = 0
    extent = np.empty(columns.shape[1], dtype=np.uint64)
    closed = np.empty((m, intents.shape[1]), dtype=np.uint64)
    seen = np.empty(m, dtype=np.bool_)
    times = np.zeros(len(intents), dtype=np.int64)
    found = np.empty(m, dtype=np.int64)
    for c in range(first, last):
        extent_of(intents[c], columns, extent, len(rows))
        for j in range(m):
            seen[j] = False
        generate(intents[c], extent, rows, closed, seen)
        n_found, n_seen = 0, 0
        for j in range(m):
            if not seen[j]:
                continue
            n_seen += 1
            lower = find_set(closed[j], intents, table)
            if lower >= 0:
                if times[lower] == 0:
                    found[n_found] = lower
                    n_found += 1
                times[lower] += 1
        if n_seen == 0 and bottom >= 0 and c != bottom:
            # no row below has more than the intent: only the empty extent is left
            found[0], n_found = bottom, 1
            times[bottom] = lengths[bottom] - lengths[c]
        for i in range(n_found):
            lower = found[i]
            if times[lower] == lengths[lower] - lengths[c]:
                edges = grown(edges, n_edges + 2)
                edges[n_edges], edges[n_edges + 1] = lower, c
                n_edges += 2
            times[lower] = 0
    return edges[:n_edges]


@njit(cache=True, nogil=True)
def stabilities(sizes: Ints, lower: Ints, starts: Ints) -> NDArray[np.float64]:
    """Share of the subsets of each extent that have the intent of the concept.

    Concepts come by falling size; ``lower[starts[c]:starts[c + 1]]`` are the lower
    covers of c. A subset of A with another intent has that of one concept below.
    """
    out = np.ones(len(sizes))
    mark = np.full(len(sizes), -1, dtype=np.int64)
    stack = np.empty(64, dtype=np.int64)
    for c in range(len(sizes) - 1, -1, -1):
        depth, lost = 0, 0.0
        at = c
        while True:
            stack = grown(stack, depth + starts[at + 1] - starts[at])
            for e in range(starts[at], starts[at + 1]):
                below = lower[e]
                if mark[below] != c and sizes[c] - sizes[below] <= FAR:
                    mark[below] = c
                    stack[depth] = below
                    depth += 1
            if depth == 0:
                break
            depth -= 1
            at = stack[depth]
            lost += out[at] * 2.0 ** float(sizes[at] - sizes[c])
        out[c] = 1.0 - lost
    return out


@njit(cache=True, nogil=True)
def memberships(rows: Words, intents: Words) -> tuple[Ints, Ints]:
    """Concepts whose intent each row has: their positions, and where each row ends."""
    found, ends = np.empty(64, dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    n = 0
    for i in range(len(rows)):
        for c in range(len(intents)):
            inside = True
            for v in range(rows.shape[1]):
                if intents[c, v] & ~rows[i, v] != ZERO:
                    inside = False
                    break
            if inside:
                if n == len(found):
                    found = grown(found, n + 1)
                found[n] = c
                n += 1
        ends[i] = n
    return found[:n], ends


@njit(cache=True, nogil=True)
def find_sets(sets: Words, intents: Words, table: Ints) -> Ints:
    """Positions of sets among the intents, -1 for those that are none."""
    out = np.empty(len(sets), dtype=np.int64)
    for i in range(len(sets)):
        out[i] = find_set(sets[i], intents, table)
    return out


@njit(cache=True, nogil=True)
def crosses_in(intents: Words, columns: Words, crosses: Ints) -> Ints:
    """Crosses in all rows of each extent, given how many each row has."""
    out = np.zeros(len(intents), dtype=np.int64)
    extent = np.empty(columns.shape[1], dtype=np.uint64)
    for i in range(len(intents)):
        extent_of(intents[i], columns, extent, len(crosses))
        for w in range(len(extent)):
            word = extent[w]
            while word != ZERO:
                out[i] += crosses[(w << 6) + lowest(word)]
                word &= word - ONE
    return out
