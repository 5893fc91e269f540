"""Rows and attributes as sets of packed words: counting, closing, packing anew.

Copies are loops: for an assignment to a slice numba compiles the text of an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp.lattice._bits import ONE, ZERO, Words, bit, lowest, popcount

Ints = NDArray[np.int64]
Array = NDArray[Any]


@njit(cache=True, nogil=True)
def grown(array: Array, needed: int) -> Array:
    """Array of at least the needed length, with the same content in front."""
    if needed <= len(array):
        return array
    larger = np.empty(needed + len(array), dtype=array.dtype)
    copy(array, larger, len(array))
    return larger


@njit(cache=True, nogil=True)
def copy(source: Array, target: Array, n: int) -> None:
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
    intent = rows[0].copy()
    for i in range(1, len(rows)):
        for v in range(len(intent)):
            intent[v] &= rows[i, v]
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
