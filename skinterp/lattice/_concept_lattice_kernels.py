"""In-Close over packed words: every closed set of attributes, each once.

A node is a concept (A, B). Attributes are scanned in order: one that all of A has joins
B; any other, j, makes a child if the closure of B + {j} gains nothing before j. That
test reads the rows of A with j one by one and stops as soon as no attribute before j is
common to all of them, which takes a few rows. Where it fails, what the closure gains is
handed down: below, j is passed over until B holds it (as in FCbO, by Krajca, Outrata
and Vychodil).

Extents shrink fast, so the rows of a small extent are packed anew (a projection): words
per extent then follow the size of the extent, not that of the table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from skinterp.lattice._bits import FULL, ONE, ZERO, Words, bit, popcount
from skinterp.lattice._set_kernels import (
    Ints,
    common_before,
    copy,
    count_rows,
    grown,
    members,
    project,
)

# numbers of compiled code: int and np.int64 are one there, but not for type checkers
Int = Any

# columns of the table of levels: one line per node on the path of the search
START, EXTENT, CHILDREN, NEXT, LOG, PROJECTION = range(6)
# columns of the table of projections; their rows and columns lie in two pools
IDS, COLUMNS, WIDTH = range(3)
# typed: for a constant 0 numba would compile what it is handed to a second time
ROOT = np.int64(0)


class Search(NamedTuple):
    """What a search has of fixed size: the table, and what it knows of its path."""

    rows: Words
    weights: Ints
    min_size: Int
    gained: Words
    levels: Ints
    projections: Ints
    intents: Words


class Pools(NamedTuple):
    """What a search has of growing size."""

    ids: Ints
    columns: Words
    extents: Words
    children: Ints
    log_j: Ints
    log_words: Words


@njit(cache=True, nogil=True)
def reserve(pools: Pools, extents: Int, children: Int, logged: Int, wm: Int) -> Pools:
    """Pools with room for what one more node may need."""
    return Pools(
        pools.ids,
        pools.columns,
        grown(pools.extents, extents),
        grown(pools.children, children),
        grown(pools.log_j, logged),
        grown(pools.log_words, logged * wm),
    )


@njit(cache=True, nogil=True)
def holds_gained(gained: Words, j: Int, intent: Words, last: Int) -> bool:
    """Whether an intent has all that the failed closure with j gained."""
    missing = ZERO
    for v in range(last + 1):
        missing |= gained[j, v] & ~intent[v]
    return missing == ZERO


@njit(cache=True, nogil=True)
def intersect(
    extents: Words, at: Int, columns: Words, column: Int, n_words: Int, to: Int
) -> Int:
    """Rows of an extent that have an attribute: 0 for none, 1 for some, 2 for all.

    Places in the pools, not views of them: making a view costs more than the work.
    """
    some, differs = ZERO, ZERO
    for w in range(n_words):
        both = extents[at + w] & columns[column + w]
        extents[to + w] = both
        some |= both
        differs |= both ^ extents[at + w]
    return 2 if differs == ZERO else 0 if some == ZERO else 1


@njit(cache=True, nogil=True)
def scan(search: Search, pools: Pools, d: Int, n_log: Int) -> tuple[Int, Int]:
    """Complete the intent of a node, and list its children and its failures."""
    rows, gained, intent = search.rows, search.gained, search.intents[d]
    p, at, wm = search.levels[d, PROJECTION], search.levels[d, EXTENT], len(intent)
    n_words = search.projections[p, WIDTH]
    column = search.projections[p, COLUMNS]
    ids = pools.ids[search.projections[p, IDS] :]
    extents, spare = pools.extents, pools.extents[at + n_words :]
    lacking = spare[n_words : n_words + wm]
    n_children = search.levels[d, CHILDREN]
    for j in range(search.levels[d, START], len(gained)):
        v = j >> 6
        if intent[v] & bit(j) != ZERO or not holds_gained(gained, j, intent, v):
            continue
        shared = intersect(
            extents, at, pools.columns, column + j * n_words, n_words, at + n_words
        )
        if shared == 2:
            intent[v] |= bit(j)
            continue
        if shared == 0:
            continue
        if search.min_size > 1:
            size = count_rows(spare, n_words, ids, search.weights)
            if size < search.min_size:
                continue
        if common_before(j, intent, spare, n_words, ids, rows, lacking):
            pools.log_j[n_log] = j
            for u in range(wm):
                pools.log_words[n_log * wm + u] = gained[j, u]
                gained[j, u] = lacking[u]
            n_log += 1
        else:
            pools.children[n_children] = j
            n_children += 1
    return n_children, n_log


@njit(cache=True, nogil=True)
def forget(search: Search, pools: Pools, n_log: Int, until: Int) -> Int:
    """Undo what a node has logged, when the search leaves it."""
    wm = search.gained.shape[1]
    while n_log > until:
        n_log -= 1
        for u in range(wm):
            j = pools.log_j[n_log]
            search.gained[j, u] = pools.log_words[n_log * wm + u]
    return n_log


@njit(cache=True, nogil=True)
def count_bits(words: Words) -> Int:
    """Members of a set."""
    n = 0
    for word in words:
        n += popcount(word)
    return n


@njit(cache=True, nogil=True)
def narrow(search: Search, pools: Pools, d: Int, n: Int) -> Pools:
    """Pack the n rows of the extent of a node anew, over themselves alone."""
    levels, projections = search.levels, search.projections
    m, p = len(search.gained), levels[d, PROJECTION]
    first, at = projections[p + 1, IDS], projections[p + 1, COLUMNS]
    width = (n + 63) >> 6
    ids = grown(pools.ids, first + n)
    columns = grown(pools.columns, at + m * width)
    extent = pools.extents[levels[d, EXTENT] :]
    members(extent, projections[p, WIDTH], ids[projections[p, IDS] :], ids[first:])
    projections[p + 1, WIDTH] = width
    projections[p + 2, IDS] = first + n
    projections[p + 2, COLUMNS] = at + m * width
    project(
        ids[first : first + n],
        search.rows,
        search.intents[d],
        min(levels[d, START], m),
        columns[at : at + m * width],
        width,
    )
    for w in range(width):
        extent[w] = FULL
    if n & 63:
        extent[width - 1] = bit(n) - ONE
    levels[d, PROJECTION] = p + 1
    return Pools(
        ids, columns, pools.extents, pools.children, pools.log_j, pools.log_words
    )


@njit(cache=True, nogil=True)
def enter(search: Search, pools: Pools, d: Int, j: Int, n_log: Int) -> Int:
    """Go down to the child of node d that attribute j makes.

    Gives its number of rows if these are few enough to be packed anew, else 0.
    """
    levels, projections, intents = search.levels, search.projections, search.intents
    p, at = levels[d, PROJECTION], levels[d, EXTENT]
    n_words = projections[p, WIDTH]
    below = at + n_words
    column = projections[p, COLUMNS] + j * n_words
    intersect(pools.extents, at, pools.columns, column, n_words, below)
    copy(intents[d], intents[d + 1], intents.shape[1])
    intents[d + 1, j >> 6] |= bit(j)
    levels[d + 1, START], levels[d + 1, EXTENT] = j + 1, below
    levels[d + 1, LOG], levels[d + 1, PROJECTION] = n_log, p
    if n_words == 1:
        return 0
    n = count_bits(pools.extents[below : below + n_words])
    return n if 2 * ((n + 63) >> 6) <= n_words else 0


@njit(cache=True, nogil=True)
def start_search(
    rows: Words,
    columns: Words,
    weights: Ints,
    root_intent: Words,
    root_gained: Words,
    first: Int,
    min_size: Int,
) -> tuple[Search, Pools]:
    """Search whose first node is the child of the top that ``first`` makes.

    Its columns are not packed yet: ``narrow`` has to be called for the node.
    """
    (m, n_words), wm = columns.shape, rows.shape[1]
    levels = np.zeros((m + 3, 6), dtype=np.int64)
    projections = np.zeros((m + 4, 3), dtype=np.int64)
    projections[0, WIDTH], projections[1, IDS] = n_words, len(rows)
    intents = np.zeros((m + 3, wm), dtype=np.uint64)
    copy(root_intent, intents[0], wm)
    intents[0, first >> 6] |= bit(first)
    levels[0, START] = first + 1
    search = Search(
        rows, weights, min_size, root_gained.copy(), levels, projections, intents
    )
    no_words, no_ints = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.int64)
    extent = columns[first].copy()
    ids = np.arange(len(rows))
    return search, Pools(ids, no_words, extent, no_ints, no_ints, no_words)


@njit(cache=True, nogil=True)
def make_room(search: Search, pools: Pools, d: Int, n_log: Int) -> Pools:
    """Pools in which node d can be scanned."""
    levels, (m, wm) = search.levels, search.gained.shape
    n_words = search.projections[levels[d, PROJECTION], WIDTH]
    room = levels[d, EXTENT] + 2 * n_words + wm
    children = levels[d, CHILDREN] + m
    if (
        room > len(pools.extents)
        or children > len(pools.children)
        or n_log + m > len(pools.log_j)
    ):
        return reserve(pools, room, children, n_log + m, wm)
    return pools


@njit(cache=True, nogil=True)
def enumerate_branches(
    rows: Words,
    columns: Words,
    weights: Ints,
    root_intent: Words,
    root_gained: Words,
    firsts: Ints,
    min_size: Int,
    limit: Int,
    counter: Ints,
) -> tuple[Words, Ints]:
    """Concepts below the top whose first new attribute is one of ``firsts``.

    Gives their intents, one after the other, and sizes. Stops early once ``counter``,
    which all branches share, exceeds ``limit``.
    """
    wm, n_out = rows.shape[1], 0
    out, sizes = np.empty(64 * wm, dtype=np.uint64), np.empty(64, dtype=np.int64)
    for first in firsts:
        search, pools = start_search(
            rows, columns, weights, root_intent, root_gained, first, min_size
        )
        levels, projections = search.levels, search.projections
        d, n_log, fresh, few = ROOT, ROOT, True, count_bits(pools.extents)
        while d >= 0 and counter[0] <= limit:
            if few > 0:
                pools = narrow(search, pools, d, few)
            if fresh:
                pools = make_room(search, pools, d, n_log)
                levels[d, NEXT] = levels[d, CHILDREN]
                levels[d + 1, CHILDREN], n_log = scan(search, pools, d, n_log)
                out, sizes = grown(out, (n_out + 1) * wm), grown(sizes, n_out + 1)
                copy(search.intents[d], out[n_out * wm :], wm)
                p = levels[d, PROJECTION]
                sizes[n_out] = count_rows(
                    pools.extents[levels[d, EXTENT] :],
                    projections[p, WIDTH],
                    pools.ids[projections[p, IDS] :],
                    weights,
                )
                n_out += 1
                counter[0] += 1
            fresh = levels[d, NEXT] < levels[d + 1, CHILDREN]
            if fresh:
                j = pools.children[levels[d, NEXT]]
                levels[d, NEXT] += 1
                few = enter(search, pools, d, j, n_log)
                d += 1
            else:
                few = 0
                n_log = forget(search, pools, n_log, levels[d, LOG])
                d -= 1
    return out[: n_out * wm], sizes[:n_out]
