"""What the moves of the BART sampler are made of, and how a forest is laid out.

Rows stand in an order of their own in each tree, such that the rows of a node are one
segment. A move touches only the rows of its node: GROW and CHANGE partition the
segment, PRUNE joins two neighbours. Columns are read as ranks: a row goes left if its
rank is at most the cut, which is the rank of a value seen in the node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp.symbolic._bart_random import (
    Words,
    integer_below,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Ranks = NDArray[np.uint16] | NDArray[np.uint32]

# Fields of a node.
COLUMN = 0  # column of its test; LEAF or FREE
CUT = 1
LEFT = 2  # the right child is the next one
PARENT = 3
DEPTH = 4
START = 5  # its rows are order[START:STOP]
STOP = 6
N_FIELDS = 7
LEAF = -1
FREE = -2

LANES = 8
MAX_TRIES = 64


class Table(NamedTuple):
    """The training table as ranks."""

    ranks: Ranks  # (n_columns, n_rows)
    n_distinct: Ints  # per column
    usable: Ints  # columns with two values or more


class Forest(NamedTuple):
    """The trees of one chain and what is left of the target."""

    nodes: Ints  # (n_trees, n_slots, N_FIELDS)
    values: Floats  # (n_trees, n_slots), of the leaves
    order: NDArray[np.uint32]  # (n_trees, n_rows)
    leaf_of: NDArray[np.uint16]  # (n_trees, n_rows)
    top: Ints  # (n_trees,), slots in use
    residual: Floats  # (n_rows,), target minus all trees
    sigma2: Floats  # (1,)
    counts: Longs  # (3, 2), proposed and accepted per move


class Scratch(NamedTuple):
    """Memory that moves work in."""

    sums: Floats  # (n_slots, LANES)
    total: Floats  # (n_slots,), residual summed over a leaf
    shift: Floats  # (n_slots,), what the rows of a leaf are still to be given
    rows: NDArray[np.uint32]  # (n_rows,)
    seen: NDArray[np.uint8]  # (n_ranks,), zero between calls
    distinct: NDArray[np.uint32]  # (n_rows,)


class Prior(NamedTuple):
    """Constants of the model."""

    log_grow: Floats  # log prior ratio of a split at each depth
    leaf_variance: float
    freedom: float
    scale: float  # of sigma squared
    min_leaf: int
    draw_sigma: bool


@njit(cache=True, nogil=True)
def log_marginal(n: int, total: float, sigma2: float, variance: float) -> float:
    """Log marginal likelihood of a leaf, without what all trees share."""
    spread = n * variance
    return -0.5 * math.log1p(spread / sigma2) + variance * total * total / (
        2.0 * sigma2 * (sigma2 + spread)
    )


@njit(cache=True, nogil=True)
def count_nodes(nodes: Ints, top: int, min_leaf: int) -> tuple[int, int]:
    """Leaves with enough rows to grow, and nodes with two leaf children."""
    growable, prunable = 0, 0
    for s in range(top):
        if nodes[s, COLUMN] == LEAF:
            growable += nodes[s, STOP] - nodes[s, START] >= 2 * min_leaf
        elif nodes[s, COLUMN] >= 0:
            prunable += has_leaf_children(nodes, s)
    return growable, prunable


@njit(cache=True, nogil=True)
def has_leaf_children(nodes: Ints, s: int) -> bool:
    """Tell whether both children of an inner node are leaves."""
    left = nodes[s, LEFT]
    return nodes[left, COLUMN] == LEAF and nodes[left + 1, COLUMN] == LEAF


@njit(cache=True, nogil=True)
def nth_growable(nodes: Ints, k: int, min_leaf: int) -> int:
    """Find leaf number k of those with enough rows to grow."""
    s = 0
    while True:
        if (
            nodes[s, COLUMN] == LEAF
            and nodes[s, STOP] - nodes[s, START] >= 2 * min_leaf
        ):
            if k == 0:
                return s
            k -= 1
        s += 1


@njit(cache=True, nogil=True)
def nth_prunable(nodes: Ints, k: int) -> int:
    """Find node number k of those with two leaf children."""
    s = 0
    while True:
        if nodes[s, COLUMN] >= 0 and has_leaf_children(nodes, s):
            if k == 0:
                return s
            k -= 1
        s += 1


@njit(cache=True, nogil=True)
def free_pair(nodes: Ints, top: int) -> int:
    """Lowest pair of slots for two children, or -1 if there is none left."""
    for s in range(1, top, 2):
        if nodes[s, COLUMN] == FREE:
            return s
    return top if top + 2 <= len(nodes) else -1


@njit(cache=True, nogil=True)
def varies(ranks: Ranks, rows: NDArray[np.uint32]) -> bool:
    """Tell whether a column has two values or more among some rows."""
    first = ranks[rows[0]]
    for k in range(1, len(rows)):  # noqa: SIM110, as numba knows no any()
        if ranks[rows[k]] != first:
            return True
    return False


@njit(cache=True, nogil=True)
def draw_column(table: Table, rows: NDArray[np.uint32], state: Words) -> int:
    """Draw from the columns with a valid cut among some rows; -1 if there is none.

    By rejection, which costs nothing per column. Where it fails often, the columns
    are counted instead: the same distribution.
    """
    ranks, usable = table.ranks, table.usable
    if len(usable) == 0:
        return -1
    for _ in range(MAX_TRIES):
        j = usable[integer_below(state, len(usable))]
        if varies(ranks[j], rows):
            return j
    valid = 0
    for j in usable:
        valid += varies(ranks[j], rows)
    if valid == 0:
        return -1
    k = integer_below(state, valid)
    for j in usable:
        if varies(ranks[j], rows):
            if k == 0:
                return j
            k -= 1
    return -1


@njit(cache=True, nogil=True)
def draw_cut(
    ranks: Ranks,
    tied: bool,
    rows: NDArray[np.uint32],
    scratch: Scratch,
    state: Words,
) -> int:
    """Draw from the distinct values of a column among some rows, the largest left out.

    The column has to have two of them.
    """
    n = len(rows)
    if not tied:
        # every row has a value of its own
        while True:
            cut = ranks[rows[integer_below(state, n)]]
            for k in range(n):
                if ranks[rows[k]] > cut:
                    return int(cut)
    seen, distinct = scratch.seen, scratch.distinct
    found, largest = 0, 0
    for k in range(n):
        rank = ranks[rows[k]]
        if seen[rank] == 0:
            seen[rank] = 1
            distinct[found] = rank
            found += 1
            largest = max(largest, int(rank))
    for k in range(found):
        seen[distinct[k]] = 0
    while True:
        cut = int(distinct[integer_below(state, found)])
        if cut != largest:
            return cut


@njit(cache=True, nogil=True)
def sum_left(
    ranks: Ranks, cut: int, rows: NDArray[np.uint32], residual: Floats
) -> tuple[int, float]:
    """Count the rows that a test sends left, and sum their residuals."""
    n = len(rows)
    limit = np.uint32(cut)
    count = 0
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    even = n - n % 4
    for k in range(0, even, 4):
        i0, i1, i2, i3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        left0, left1 = ranks[i0] <= limit, ranks[i1] <= limit
        left2, left3 = ranks[i2] <= limit, ranks[i3] <= limit
        count += int(left0) + int(left1) + int(left2) + int(left3)
        # sums of four lanes, as additions wait for one another
        a += residual[i0] if left0 else 0.0
        b += residual[i1] if left1 else 0.0
        c += residual[i2] if left2 else 0.0
        d += residual[i3] if left3 else 0.0
    for k in range(even, n):
        if ranks[rows[k]] <= limit:
            count += 1
            a += residual[rows[k]]
    return count, (a + b) + (c + d)


@njit(cache=True, nogil=True)
def partition(
    ranks: Ranks,
    cut: int,
    rows: NDArray[np.uint32],
    spare: NDArray[np.uint32],
    leaf_of: NDArray[np.uint16],
    left: int,
) -> None:
    """Bring the rows that a test sends left to the front, and note their leaves."""
    limit = np.uint32(cut)
    n_left, n_right = 0, 0
    for k in range(len(rows)):
        i = rows[k]
        goes_left = int(ranks[i] <= limit)
        leaf_of[i] = left + 1 - goes_left
        # both are written, and the counter says which one stays
        rows[n_left] = i
        spare[n_right] = i
        n_left += goes_left
        n_right += 1 - goes_left
    for k in range(n_right):
        rows[n_left + k] = spare[k]


@njit(cache=True, nogil=True)
def set_leaf(nodes: Ints, s: int, parent: int, start: int, stop: int) -> None:
    """Make a slot a leaf below a parent."""
    nodes[s, COLUMN] = LEAF
    nodes[s, PARENT] = parent
    nodes[s, DEPTH] = nodes[parent, DEPTH] + 1
    nodes[s, START] = start
    nodes[s, STOP] = stop


@njit(cache=True, nogil=True)
def shift_and_sum(
    residual: Floats,
    given: NDArray[np.uint16],
    shift: Floats,
    leaf_of: NDArray[np.uint16],
    sums: Floats,
) -> None:
    """Give the rows of one tree what they are due, and sum over the next one's leaves.

    One pass for both, in several lanes, as additions to one sum wait for one another.
    """
    n = len(residual)
    even = n - n % LANES
    for i in range(0, even, LANES):
        for lane in range(LANES):
            r = residual[i + lane] + shift[given[i + lane]]
            residual[i + lane] = r
            sums[leaf_of[i + lane], lane] += r
    for i in range(even, n):
        r = residual[i] + shift[given[i]]
        residual[i] = r
        sums[leaf_of[i], 0] += r


@njit(cache=True, nogil=True)
def shift_last(residual: Floats, given: NDArray[np.uint16], shift: Floats) -> float:
    """Give the rows of the last tree what they are due; sum of squares after it."""
    squares = np.zeros(LANES)
    n = len(residual)
    even = n - n % LANES
    for i in range(0, even, LANES):
        for lane in range(LANES):
            r = residual[i + lane] + shift[given[i + lane]]
            residual[i + lane] = r
            squares[lane] += r * r
    for i in range(even, n):
        r = residual[i] + shift[given[i]]
        residual[i] = r
        squares[0] += r * r
    return squares.sum()


@njit(cache=True, nogil=True)
def add_shares(nodes: Ints, top: Ints, shares: Floats) -> None:
    """Add each column's share of all splits; nothing if there is no split."""
    splits = 0
    for t in range(len(nodes)):
        for s in range(top[t]):
            splits += nodes[t, s, COLUMN] >= 0
    for t in range(len(nodes)):
        for s in range(top[t]):
            if nodes[t, s, COLUMN] >= 0:
                shares[nodes[t, s, COLUMN]] += 1.0 / splits


@njit(cache=True, nogil=True)
def add_predictions(
    ranks: Ranks, nodes: Ints, values: Floats, predictions: Floats
) -> None:
    """Add what the trees say of new rows, given as ranks of shape (columns, rows)."""
    for t in range(len(nodes)):
        for i in range(len(predictions)):
            s = 0
            while nodes[t, s, COLUMN] >= 0:
                right = ranks[nodes[t, s, COLUMN], i] > nodes[t, s, CUT]
                s = nodes[t, s, LEFT] + right
            predictions[i] += values[t, s]
