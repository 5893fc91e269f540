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
    intent: Words, extent: Words, rows: Words, closed: Words, gained: Words
) -> None:
    """Close the intent with each further attribute that occurs in the extent.

    Line j of ``closed`` is the closure with j, for the attributes j in ``gained``.
    """
    for v in range(len(intent)):
        gained[v] = ZERO
    for w in range(len(extent)):
        word = extent[w]
        while word != ZERO:
            row = (w << 6) + lowest(word)
            word &= word - ONE
            for v in range(len(intent)):
                more = rows[row, v] & ~intent[v]
                old, new = more & gained[v], more & ~gained[v]
                gained[v] |= new
                while old != ZERO:
                    j = (v << 6) + lowest(old)
                    old &= old - ONE
                    for u in range(len(intent)):
                        closed[j, u] &= rows[row, u]
                while new != ZERO:
                    j = (v << 6) + lowest(new)
                    new &= new - ONE
                    copy(rows[row], closed[j], len(intent))


@njit(cache=True, nogil=True)
def is_neighbour(j: int, intent: Words, closed: Words) -> bool:
    """Whether j is the first attribute that a lower neighbour has beyond an intent.

    What a neighbour gains generates it, each attribute by itself: one that generates
    less lies between.
    """
    for v in range(len(intent)):
        word = closed[j, v] & ~intent[v]
        while word != ZERO:
            k = (v << 6) + lowest(word)
            word &= word - ONE
            if k < j:
                return False
            for u in range(len(intent)):
                if closed[k, u] != closed[j, u]:
                    return False
    return True


@njit(cache=True, nogil=True)
def cover_edges(
    first: int,
    last: int,
    intents: Words,
    table: Ints,
    rows: Words,
    columns: Words,
    bottom: int,
) -> Ints:
    """Edges, as lower, upper, ..., below the concepts ``first`` to ``last - 1``."""
    m, wm = len(columns), intents.shape[1]
    edges = np.empty(8 * (last - first) + 2 * m, dtype=np.int64)
    n = 0
    extent = np.empty(columns.shape[1], dtype=np.uint64)
    closed = np.empty((m, wm), dtype=np.uint64)
    gained = np.empty(wm, dtype=np.uint64)
    for c in range(first, last):
        intent = intents[c]
        extent_of(intent, columns, extent, len(rows))
        generate(intent, extent, rows, closed, gained)
        edges = grown(edges, n + 2 * m)
        any_gained = False
        for v in range(wm):
            word = gained[v]
            any_gained |= word != ZERO
            while word != ZERO:
                j = (v << 6) + lowest(word)
                word &= word - ONE
                if is_neighbour(j, intent, closed):
                    # an iceberg does not list all of them
                    lower = find_set(closed[j], intents, table)
                    if lower >= 0:
                        edges[n], edges[n + 1] = lower, c
                        n += 2
        if not any_gained and bottom >= 0 and c != bottom:
            # no row below has more than the intent: only the empty extent is left
            edges[n], edges[n + 1] = bottom, c
            n += 2
    return edges[:n]


@njit(cache=True, nogil=True)
def sort_edges(edges: Ints, n: int) -> Ints:
    """Pairs (lower, upper) among n, which come by upper, brought in order by lower."""
    starts = np.zeros(n + 1, dtype=np.int64)
    for e in range(0, len(edges), 2):
        starts[edges[e] + 1] += 1
    for c in range(n):
        starts[c + 1] += starts[c]
    out = np.empty_like(edges)
    for e in range(0, len(edges), 2):
        to = 2 * starts[edges[e]]
        starts[edges[e]] += 1
        out[to], out[to + 1] = edges[e], edges[e + 1]
    return out


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
