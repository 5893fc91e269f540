"""In-Close over packed words: every closed set of attributes, each once.

A node is a concept (A, B). Attributes are scanned in order: one that all of A has joins
B; any other, j, makes a child if the closure of B + {j} gains nothing before j. That
test reads the rows of A with j one by one and stops as soon as no attribute before j is
common to all of them, which takes a few rows. Where it fails, what the closure gains is
handed down: below, j is passed over until B holds it (as in FCbO, by Krajca, Outrata
and Vychodil).

Extents shrink fast, so the rows of a small extent are packed anew (a projection): words
per extent then follow the size of the extent, not that of the table.

Copies are loops: for an assignment to a slice numba compiles the text of an error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp.lattice._bits import FULL, ONE, ZERO, Words, bit, lowest, popcount

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def grown(array: Words, needed: int) -> Words:
    """Array of at least the needed length, with the same content in front."""
    if needed <= len(array):
        return array
    larger = np.empty(needed + len(array), dtype=array.dtype)
    copy(array, larger, len(array))
    return larger


@njit(cache=True, nogil=True)
def copy(source: Words, target: Words, n: int) -> None:
    """Copy the first members of an array."""
    for i in range(n):
        target[i] = source[i]


@njit(cache=True, nogil=True)
def count_rows(extent: Words, n_words: int, ids: Ints, weights: Ints) -> int:
    """Rows of an extent, each as often as it stands in the table."""
    total = 0
    if len(weights) == 0:
        for w in range(n_words):
            total += popcount(extent[w])
        return total
    for w in range(n_words):
        word = extent[w]
        while word != ZERO:
            total += weights[ids[(w << 6) + lowest(word)]]
            word &= word - ONE
    return total


@njit(cache=True, nogil=True)
def common_before(
    j: int,
    intent: Words,
    extent: Words,
    n_words: int,
    ids: Ints,
    rows: Words,
    out: Words,
) -> bool:
    """Put into ``out`` the attributes before j that an extent has beyond an intent.

    Says whether there is any; the loop ends once there is none.
    """
    last = j >> 6
    for v in range(len(intent)):
        out[v] = ~intent[v] if v < last else ZERO
    out[last] = ~intent[last] & (bit(j) - ONE)
    for w in range(n_words):
        word = extent[w]
        while word != ZERO:
            row = ids[(w << 6) + lowest(word)]
            word &= word - ONE
            left = ZERO
            for v in range(last + 1):
                out[v] &= rows[row, v]
                left |= out[v]
            if left == ZERO:
                return False
    return True


@njit(cache=True, nogil=True)
def project(
    ids: Ints, rows: Words, intent: Words, start: int, columns: Words, n_words: int
) -> None:
    """Pack the columns from ``start`` on, over the given rows, into ``columns``."""
    n_attributes = len(columns) // n_words
    for w in range(start * n_words, len(columns)):
        columns[w] = ZERO
    for i in range(len(ids)):
        mark, place = bit(i), i >> 6
        for v in range(start >> 6, len(intent)):
            word = rows[ids[i], v] & ~intent[v]
            if v == start >> 6:
                word &= ~(bit(start) - ONE)
            while word != ZERO:
                j = (v << 6) + lowest(word)
                word &= word - ONE
                if j < n_attributes:
                    columns[j * n_words + place] |= mark


@njit(cache=True, nogil=True)
def members(extent: Words, n_words: int, ids: Ints, out: Ints) -> int:
    """Put the rows of an extent into ``out``, and count them."""
    n = 0
    for w in range(n_words):
        word = extent[w]
        while word != ZERO:
            out[n] = ids[(w << 6) + lowest(word)]
            n += 1
            word &= word - ONE
    return n


@njit(cache=True, nogil=True)
def scan_root(
    rows: Words, columns: Words, weights: Ints, min_size: int
) -> tuple[Words, NDArray[np.bool_], Words]:
    """Intent of the top, the attributes that make children, and what others gain."""
    m, n_words = columns.shape
    ids = np.arange(len(rows))
    intent = np.full(rows.shape[1], FULL)
    for i in range(len(rows)):
        intent &= rows[i]
    child = np.zeros(m, dtype=np.bool_)
    gained = np.zeros((m, rows.shape[1]), dtype=np.uint64)
    for j in range(m):
        if intent[j >> 6] & bit(j) != ZERO:
            continue
        size = count_rows(columns[j], n_words, ids, weights)
        if size >= max(min_size, 1):
            child[j] = not common_before(
                j, intent, columns[j], n_words, ids, rows, gained[j]
            )
    return intent, child, gained


# columns of the table of levels: one line per node on the path of the search
START, EXTENT, CHILDREN, NEXT, LOG, PROJECTION = range(6)
# columns of the table of projections; their rows and columns lie in two pools
IDS, COLUMNS, WIDTH = range(3)


class Search(NamedTuple):
    """What a search has of fixed size: the table, and what it knows of its path."""

    rows: Words
    weights: Ints
    min_size: int
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
def reserve(pools: Pools, extents: int, children: int, logged: int, wm: int) -> Pools:
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
def holds_gained(gained: Words, j: int, intent: Words, last: int) -> bool:
    """Whether an intent has all that the failed closure with j gained."""
    missing = ZERO
    for v in range(last + 1):
        missing |= gained[j, v] & ~intent[v]
    return missing == ZERO


@njit(cache=True, nogil=True)
def intersect(
    extents: Words, at: int, columns: Words, column: int, n_words: int, to: int
) -> int:
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
def scan(search: Search, pools: Pools, d: int, n_log: int) -> tuple[int, int]:
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
def forget(search: Search, pools: Pools, n_log: int, until: int) -> int:
    """Undo what a node has logged, when the search leaves it."""
    wm = search.gained.shape[1]
    while n_log > until:
        n_log -= 1
        for u in range(wm):
            j = pools.log_j[n_log]
            search.gained[j, u] = pools.log_words[n_log * wm + u]
    return n_log


@njit(cache=True, nogil=True)
def count_bits(words: Words) -> int:
    """Members of a set."""
    n = 0
    for word in words:
        n += popcount(word)
    return n


@njit(cache=True, nogil=True)
def narrow(search: Search, pools: Pools, d: int, n: int) -> Pools:
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
def enter(search: Search, pools: Pools, d: int, j: int, n_log: int) -> int:
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
    first: int,
    min_size: int,
) -> tuple[Search, Pools]:
    """Search whose first node is the child of the top that ``first`` makes."""
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
    pools = Pools(ids, no_words, extent, no_ints, no_ints, no_words)
    return search, narrow(search, pools, 0, count_bits(extent))


@njit(cache=True, nogil=True)
def enumerate_branch(
    rows: Words,
    columns: Words,
    weights: Ints,
    root_intent: Words,
    root_gained: Words,
    first: int,
    min_size: int,
    limit: int,
    counter: Ints,
) -> tuple[Words, Ints]:
    """Concepts below the top whose first new attribute is ``first``.

    Stops early once ``counter``, which all branches share, exceeds ``limit``.
    """
    m, wm = len(columns), rows.shape[1]
    search, pools = start_search(
        rows, columns, weights, root_intent, root_gained, first, min_size
    )
    levels, projections, intents = search.levels, search.projections, search.intents
    out, sizes = np.empty(wm, dtype=np.uint64), np.empty(1, dtype=np.int64)
    n_out, n_log, d, fresh = 0, 0, 0, True
    while d >= 0:
        if fresh:
            p, at = levels[d, PROJECTION], levels[d, EXTENT]
            n_words = projections[p, WIDTH]
            children = levels[d, CHILDREN]
            room = at + 2 * n_words + wm
            if (
                room > len(pools.extents)
                or children + m > len(pools.children)
                or n_log + m > len(pools.log_j)
            ):
                pools = reserve(pools, room, children + m, n_log + m, wm)
            levels[d + 1, CHILDREN], n_log = scan(search, pools, d, n_log)
            levels[d, NEXT] = children
            out, sizes = grown(out, (n_out + 1) * wm), grown(sizes, n_out + 1)
            copy(intents[d], out[n_out * wm :], wm)
            sizes[n_out] = count_rows(
                pools.extents[at:], n_words, pools.ids[projections[p, IDS] :], weights
            )
            n_out += 1
            counter[0] += 1
            if counter[0] > limit:
                break
        fresh = levels[d, NEXT] < levels[d + 1, CHILDREN]
        if fresh:
            j = pools.children[levels[d, NEXT]]
            levels[d, NEXT] += 1
            few = enter(search, pools, d, j, n_log)
            d += 1
            if few > 0:
                pools = narrow(search, pools, d, few)
        else:
            n_log = forget(search, pools, n_log, levels[d, LOG])
            d -= 1
    return out[: n_out * wm], sizes[:n_out]


@njit(cache=True, nogil=True)
def enumerate_branches(
    rows: Words,
    columns: Words,
    weights: Ints,
    root_intent: Words,
    root_gained: Words,
    firsts: Ints,
    min_size: int,
    limit: int,
    counter: Ints,
) -> tuple[Words, Ints]:
    """Concepts of several branches: their intents, one after the other, and sizes."""
    wm, n = rows.shape[1], 0
    out, sizes = np.empty(wm, dtype=np.uint64), np.empty(1, dtype=np.int64)
    for first in firsts:
        words, more = enumerate_branch(
            rows,
            columns,
            weights,
            root_intent,
            root_gained,
            first,
            min_size,
            limit,
            counter,
        )
        out, sizes = grown(out, n * wm + len(words)), grown(sizes, n + len(more))
        copy(words, out[n * wm :], len(words))
        copy(more, sizes[n:], len(more))
        n += len(more)
        if counter[0] > limit:
            break
    return out[: n * wm], sizes[:n]
