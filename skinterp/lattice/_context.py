"""A formal context as packed words, and what is computed on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from skinterp.lattice._basis_kernels import advance_basis
from skinterp.lattice._bits import Words, build_index, pack, unpack
from skinterp.lattice._concept_lattice_kernels import enumerate_branches
from skinterp.lattice._order_kernels import (
    closures_of,
    cover_edges,
    crosses_in,
    extents_of,
    find_sets,
    memberships,
    sort_edges,
    stabilities,
)
from skinterp.lattice._set_kernels import scan_root

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
FIELDS = ("rows", "columns", "counts", "order", "row_of")
CHUNK = 4096
STEPS = 2000


@dataclass(frozen=True)
class Context:
    """A table of objects by attributes.

    Parameters
    ----------
    rows : ndarray of shape (n_distinct, n_words), uint64
        The distinct rows; bit i stands for attribute ``order[i]``.
    columns : ndarray of shape (m, n_row_words), uint64
        The same table by columns, in that order.
    counts : ndarray of shape (n_distinct,), int64
        How often each row stands in the table.
    order : ndarray of shape (m,), int64
        Attributes by rising support, which keeps extents small where most attributes
        are still to be tried.
    row_of : ndarray of shape (n,), int64
        Distinct row of each row of the table.
    """

    rows: Words
    columns: Words
    counts: Ints
    order: Ints
    row_of: Ints

    @classmethod
    def of(cls, table: Bools) -> Context:
        """Context of a truth table with at least one row and one column."""
        order = np.argsort(table.sum(axis=0), kind="stable")
        distinct, row_of, counts = np.unique(
            pack(table[:, order]), axis=0, return_inverse=True, return_counts=True
        )
        columns = pack(np.ascontiguousarray(unpack(distinct, len(order)).T))
        return cls(distinct, columns, counts, order, row_of.reshape(-1))

    @property
    def n_objects(self) -> int:
        """Number of rows of the table."""
        return len(self.row_of)

    @property
    def n_attributes(self) -> int:
        """Number of columns of the table."""
        return len(self.order)

    @property
    def full(self) -> Words:
        """The set of all attributes."""
        return pack(np.ones((1, self.n_attributes), dtype=bool))[0]

    def table(self) -> Bools:
        """The truth table itself."""
        return self.sets(self.rows)[self.row_of]

    def pack(self, sets: Bools) -> Words:
        """Pack sets of attributes in the order of this context."""
        return pack(sets[:, self.order])

    def sets(self, words: Words) -> Bools:
        """Sets of attributes of packed words."""
        out = np.empty((len(words), self.n_attributes), dtype=bool)
        out[:, self.order] = unpack(words, self.n_attributes)
        return out

    def closure(self, sets: Bools) -> Bools:
        """What all objects that have these attributes have in common."""
        packed = self.pack(sets)
        return self.sets(closures_of(packed, self.rows, self.columns, self.full))

    def extents(self, sets: Bools) -> Bools:
        """Which objects have all of these attributes."""
        packed = extents_of(self.pack(sets), self.columns, len(self.rows))
        return unpack(packed, len(self.rows))[:, self.row_of]

    def own_concepts(self, intents: Bools) -> Ints:
        """Concept whose intent each distinct row is, -1 where there is none."""
        packed = self.pack(intents)
        return find_sets(self.rows, packed, build_index(packed))

    def members(self, sets: Bools, intents: Bools) -> tuple[Ints, Ints]:
        """Concepts that rows belong to, flat, and where each row's begin."""
        distinct, back = np.unique(self.pack(sets), axis=0, return_inverse=True)
        found, ends = memberships(distinct, self.pack(intents))
        starts = np.concatenate([[0], ends])
        back = back.reshape(-1)
        counts = np.diff(starts)[back]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(offsets[-1]) + np.repeat(starts[back] - offsets[:-1], counts)
        return found[at], offsets


@dataclass(frozen=True)
class TooMany(Exception):
    """More concepts than allowed."""

    found: int


def min_size_of(min_support: float, n: int) -> int:
    """Rows that a share of n rows means; 0.07 of 100 is 7, not 7.000000000000001."""
    return math.ceil(round(min_support * n, 9))


def concepts(
    context: Context,
    min_size: int,
    limit: int,
    *,
    n_jobs: int | None = None,
    bar: Any = iter,
) -> tuple[Bools, Ints]:
    """Intents and sizes of all concepts of at least a size, the largest first.

    Raises TooMany where there are more than ``limit``.
    """
    counts = context.counts
    weights = counts[:0] if (counts == 1).all() else counts
    table = context.rows, context.columns, weights
    root, child, gained = scan_root(*table, min_size)
    counter = np.ones(1, dtype=np.int64)
    tasks = [
        (*table, root, gained, firsts, min_size, limit, counter)
        for firsts in _shares(np.flatnonzero(child), context.rows.size)
    ]
    branches = _each(enumerate_branches, tasks, n_jobs)
    intents, sizes, total = [root[None]], [np.array([context.n_objects])], 1
    for words, size in bar(branches, len(tasks)):
        total += len(size)
        if total <= limit:
            intents.append(words.reshape(len(size), context.rows.shape[1]))
            sizes.append(size)
    if min_size <= 0 and not (context.rows == context.full).all(axis=1).any():
        total += 1
        intents.append(context.full[None])
        sizes.append(np.array([0]))
    if total > limit:
        raise TooMany(total)
    return _sorted(context.sets(np.concatenate(intents)), np.concatenate(sizes))


def _shares(branches: Ints, n_words: int) -> list[Ints]:
    """Branches to search in one call: one by one where they may take long."""
    if n_words > 500:
        return list(branches.reshape(-1, 1))
    return [branches]


def _each(kernel: Any, tasks: list[Any], n_jobs: int | None) -> Iterator[Any]:
    """Run a kernel on each task; one worker does without joblib, for small tables."""
    if effective_n_jobs(n_jobs) == 1 or len(tasks) == 1:
        return (kernel(*task) for task in tasks)
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    found: Iterator[Any] = parallel(delayed(kernel)(*task) for task in tasks)
    return found


def _sorted(intents: Bools, sizes: Ints) -> tuple[Bools, Ints]:
    """By falling size, then by intent, those with the first attributes in front."""
    n = -(-intents.shape[1] // 64)
    padded = np.zeros((len(intents), 8 * n), dtype=np.uint8)
    as_bytes = np.packbits(intents, axis=1)
    padded[:, : as_bytes.shape[1]] = as_bytes
    keys = ~padded.view(">u8").astype(np.uint64)
    order = np.lexsort((*keys.T[::-1], -sizes))
    return intents[order], sizes[order]


def frequent_size(context: Context, limit: int, min_size: int, **how: Any) -> int:
    """Smallest size that at most ``limit`` concepts have."""
    low, high = max(min_size, 0), context.n_objects
    while low < high:
        middle = (low + high) // 2
        try:
            concepts(context, middle, limit, **how)
        except TooMany:
            low = middle + 1
        else:
            high = middle
    return low


def covers(
    context: Context,
    intents: Bools,
    sizes: Ints,
    *,
    n_jobs: int | None = None,
    bar: Any = iter,
) -> Ints:
    """Pairs (lower, upper) of neighbours in the order of the concepts, sorted."""
    packed = context.pack(intents)
    table = build_index(packed)
    bottom = len(sizes) - 1 if sizes[-1] == 0 else -1
    fixed = (packed, table, context.rows, context.columns, bottom)
    tasks = [
        (start, min(start + CHUNK, len(sizes)), *fixed)
        for start in range(0, len(sizes), CHUNK)
    ]
    parts = list(bar(_each(cover_edges, tasks, n_jobs), len(tasks)))
    return sort_edges(np.concatenate(parts), len(sizes)).reshape(-1, 2)


def stability(sizes: Ints, edges: Ints) -> NDArray[np.float64]:
    """Share of the subsets of each extent that have its intent."""
    by_upper = edges[np.argsort(edges[:, 1], kind="stable")]
    starts = np.searchsorted(by_upper[:, 1], np.arange(len(sizes) + 1))
    return stabilities(sizes, np.ascontiguousarray(by_upper[:, 0]), starts)


def separation(context: Context, intents: Bools, sizes: Ints) -> NDArray[np.float64]:
    """Share of the crosses in the rows and columns of a concept that it holds."""
    inside = sizes * intents.sum(axis=1)
    table = context.sets(context.rows)
    per_column = context.counts @ table
    per_row = crosses_in(
        context.pack(intents), context.columns, context.counts * table.sum(axis=1)
    )
    around = per_row + intents @ per_column - inside
    return np.divide(inside, around, out=np.zeros(len(sizes)), where=around > 0)


def basis(
    table: Bools, max_found: int, max_visited: int, *, bar: Any = iter
) -> tuple[Bools, bool]:
    """Canonical basis, as premises and conclusions, and whether it is whole."""
    m = table.shape[1]
    rows = np.unique(pack(table), axis=0)
    columns = pack(np.ascontiguousarray(unpack(rows, m).T))
    full = pack(np.ones((1, m), dtype=bool))[0]
    current = np.zeros_like(full)
    premises = np.empty((16, len(full)), dtype=np.uint64)
    conclusions = np.empty_like(premises)
    n, more = 0, True
    for _ in bar(range(-(-max_visited // STEPS)), None):
        premises, conclusions, n, more = advance_basis(
            rows, columns, full, current, premises, conclusions, n, max_found, STEPS
        )
        if not more or n == max_found:
            break
    left = unpack(premises[:n], m)
    right = unpack(conclusions[:n], m) & ~left
    return np.stack([left, right], axis=1), not more


def plain(items: Iterable[Any], total: int | None) -> Iterable[Any]:
    """No bar."""
    return items
