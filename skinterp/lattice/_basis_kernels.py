"""The Duquenne-Guigues basis by NextClosure: attribute 0 is the most significant."""

from __future__ import annotations

import numpy as np
from numba import njit

from skinterp.lattice._bits import ONE, ZERO, Words, bit
from skinterp.lattice._order_kernels import close, extent_of
from skinterp.lattice._set_kernels import copy


@njit(cache=True, nogil=True)
def respect(
    found: Words, premises: Words, conclusions: Words, n: int, before: int
) -> bool:
    """Close a set under implications; False once it gains an attribute too early.

    An attribute before ``before`` means that the set is not the next one.
    """
    wm = len(found)
    last, early = before >> 6, bit(before) - ONE
    changed = True
    while changed:
        changed = False
        for q in range(n):
            applies, gains = True, False
            for v in range(wm):
                if premises[q, v] & ~found[v] != ZERO:
                    applies = False
                    break
                gains |= conclusions[q, v] & ~found[v] != ZERO
            if not applies or not gains:
                continue
            for v in range(wm):
                new = conclusions[q, v] & ~found[v]
                if (v < last and new != ZERO) or (v == last and new & early != ZERO):
                    return False
                found[v] |= new
            changed = True
    return True


@njit(cache=True, nogil=True)
def next_closed(
    current: Words, m: int, premises: Words, conclusions: Words, n: int
) -> bool:
    """Replace a set by the next one in lectic order that respects the implications."""
    found = np.empty_like(current)
    for j in range(m - 1, -1, -1):
        v = j >> 6
        if current[v] & bit(j) != ZERO:
            current[v] &= ~bit(j)
            continue
        copy(current, found, len(found))
        found[v] |= bit(j)
        if respect(found, premises, conclusions, n, j):
            copy(found, current, len(found))
            return True
    return False


@njit(cache=True, nogil=True)
def grow_rows(array: Words, n: int) -> Words:
    """Array with room for row n."""
    if n < len(array):
        return array
    larger = np.empty((2 * n, array.shape[1]), dtype=array.dtype)
    for i in range(n):
        copy(array[i], larger[i], array.shape[1])
    return larger


@njit(cache=True, nogil=True)
def advance_basis(
    rows: Words,
    columns: Words,
    full: Words,
    current: Words,
    premises: Words,
    conclusions: Words,
    n: int,
    max_found: int,
    n_steps: int,
) -> tuple[Words, Words, int, bool]:
    """Visit some more closed sets, and note those that are no intents.

    ``current`` is the next set to look at. Gives the implications, their number, and
    whether there may be more.
    """
    m = len(columns)
    extent = np.empty(columns.shape[1], dtype=np.uint64)
    intent = np.empty_like(current)
    for _ in range(n_steps):
        extent_of(current, columns, extent, len(rows))
        close(extent, current, rows, full, intent)
        gained = ZERO
        for v in range(len(intent)):
            gained |= intent[v] ^ current[v]
        if gained != ZERO:
            if n == max_found:
                return premises, conclusions, n, True
            premises, conclusions = grow_rows(premises, n), grow_rows(conclusions, n)
            copy(current, premises[n], len(current))
            copy(intent, conclusions[n], len(intent))
            n += 1
        if not next_closed(current, m, premises, conclusions, n):
            return premises, conclusions, n, False
    return premises, conclusions, n, True
