"""Kernels of the slice search: packed row sets, counted and joined depth-first.

The rows that carry a tag are a row of ``bits``: 64 rows to a word. A slice is a rising
sequence of tags; its row set is the AND of theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)


@njit(cache=True, nogil=True)
def popcount(word: np.uint64) -> np.int64:
    """Count the bits of a word; LLVM makes one instruction of this form."""
    word = word - ((word >> _1) & _PAIRS)
    word = (word & _FOURS) + ((word >> _2) & _FOURS)
    word = (word + (word >> _4)) & _BYTES
    return np.int64((word * _ONES) >> _56)


@njit(cache=True, nogil=True)
def count_two(
    rows: NDArray[np.uint64], errors: NDArray[np.uint64], tag: NDArray[np.uint64]
) -> tuple[int, int]:
    """Count rows and errors inside of a tag, in one pass over its words."""
    n, wrong = 0, 0
    for i in range(tag.shape[0]):
        n += int(popcount(rows[i] & tag[i]))
        wrong += int(popcount(errors[i] & tag[i]))
    return n, wrong


@njit(cache=True, nogil=True)
def count_one(rows: NDArray[np.uint64], tag: NDArray[np.uint64]) -> int:
    """Count rows inside of a tag."""
    n = 0
    for i in range(tag.shape[0]):
        n += int(popcount(rows[i] & tag[i]))
    return n


@njit(cache=True, nogil=True)
def is_safe(
    rows: NDArray[np.uint64],
    tag: NDArray[np.uint64],
    n: int,
    planes: NDArray[np.uint64],
    deep: NDArray[np.float64],
    steps: NDArray[np.float64],
) -> bool:
    """Whether a bound by counts shows that the mean is above the threshold.

    Each row's excess over the threshold is at least ``steps[0]``, and ``steps[k]``
    more where plane ``k`` has a bit; what some rows lack to this is in ``deep``, their
    bits in plane 0. Planes are counted until they tell.
    """
    low = n * steps[0]
    for i in range(tag.shape[0]):
        word = rows[i] & tag[i] & planes[0, i]
        while word:
            lowest = word & (~word + _1)
            low += deep[64 * i + popcount(lowest - _1)]
            word ^= lowest
    for k in range(1, planes.shape[0]):
        plane, count = planes[k], 0
        for i in range(tag.shape[0]):
            count += int(popcount(rows[i] & tag[i] & plane[i]))
        low += steps[k] * count
        if low > 1e-9 * n:  # well above what rounding does
            return True
    return False


@njit(cache=True, nogil=True)
def sum_both(
    rows: NDArray[np.uint64],
    tag: NDArray[np.uint64],
    weight: NDArray[np.float64],
    weighted: NDArray[np.float64],
) -> tuple[float, float]:
    """Sum weights and weighted values over the rows inside of a tag."""
    total, value = 0.0, 0.0
    for i in range(tag.shape[0]):
        word = rows[i] & tag[i]
        while word:
            lowest = word & (~word + _1)
            row = 64 * i + popcount(lowest - _1)
            total += weight[row]
            value += weighted[row]
            word ^= lowest
    return total, value


@njit(cache=True, nogil=True)
def rank(path: NDArray[np.int64], size: int, skip: int, binomial: Any) -> int:
    """Place of a rising sequence among all of its length, one member left out."""
    place, k = 0, 0
    for i in range(size):
        if i != skip:
            k += 1
            place += binomial[path[i], k]
    return place


@njit(cache=True, nogil=True)
def may_live(
    path: NDArray[np.int64],
    size: int,
    tables: NDArray[np.uint8],
    starts: NDArray[np.int64],
    binomial: NDArray[np.int64],
) -> bool:
    """Whether all parts of a candidate that are on record are large enough.

    The part without the last tag is: the walk comes from there.
    """
    if size < 3:
        return True
    if starts[size - 1] >= 0:
        for skip in range(size - 1):
            place = rank(path, size, skip, binomial)
            if tables[starts[size - 1] + place] == 0:
                return False
        return True
    pair = np.empty(2, dtype=np.int64)
    pair[1] = path[size - 1]
    for i in range(size - 1 if starts[2] >= 0 else 0):
        pair[0] = path[i]
        if tables[starts[2] + rank(pair, 2, -1, binomial)] == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def measure(
    rows: NDArray[np.uint64],
    errors: NDArray[np.uint64],
    tag: NDArray[np.uint64],
    scores: tuple[Any, ...],
    min_size: int,
    binary: bool,
) -> tuple[int, float, float]:
    """Size, weight and weighted value of the rows inside of a tag.

    Rows whose sum cannot be bad enough are not summed; they count as good ones.
    """
    if binary:
        n, wrong = count_two(rows, errors, tag)
        return n, float(n), float(n - wrong)
    _, weight, weighted, planes, deep, steps = scores
    n = count_one(rows, tag)
    if n < min_size or is_safe(rows, tag, n, planes, deep, steps):
        return n, 1.0, np.inf
    total, value = sum_both(rows, tag, weight, weighted)
    return n, total, value


@njit(cache=True, nogil=True)
def is_bad(
    n: int,
    total: float,
    value: float,
    limit: NDArray[np.int64],
    threshold: float,
    binary: bool,
) -> bool:
    """Whether the mean is at most the threshold; exact for right and wrong."""
    if binary:
        return value <= limit[n]
    return value <= (threshold + 1e-12) * total  # no value is larger than 1


@njit(cache=True, nogil=True)
def add(
    found: NDArray[np.int32],
    sums: NDArray[np.float64],
    n: int,
    path: NDArray[np.int64],
    figures: tuple[int, float, float],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Write one more slice, into larger arrays if these are full."""
    if n == len(found):
        found, sums = np.concatenate((found, found)), np.concatenate((sums, sums))
    found[n] = path
    sums[n, 0], sums[n, 1], sums[n, 2] = figures
    return found, sums


@njit(cache=True, nogil=True)
def narrow(
    rows: NDArray[np.uint64],
    wrong: NDArray[np.uint64],
    d: int,
    tag: NDArray[np.uint64],
) -> None:
    """Write the rows and errors of a slice with one tag more."""
    for i in range(rows.shape[1]):
        rows[d, i] = rows[d - 1, i] & tag[i]
    for i in range(wrong.shape[1]):
        wrong[d, i] = wrong[d - 1, i] & tag[i]


@njit(cache=True, nogil=True)
def walk(
    first: int,
    depth: int,
    tags: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]],
    scores: tuple[Any, ...],
    judged: tuple[bool, int, int, NDArray[np.int64], float],
    records: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Evaluate all slices of ``depth`` tags that begin with one tag.

    Slices of fewer tags were evaluated by earlier walks, which left a byte for each in
    ``tables``; only the row sets on the way down are held.
    """
    bits, attribute, several = tags
    errors = scores[0]
    binary, min_size, min_errors, limit, threshold = judged
    tables, starts, binomial = records
    n_tags, n_words = bits.shape
    path = np.zeros(depth, dtype=np.int64)
    following = np.zeros(depth, dtype=np.int64)
    rows = np.empty((depth, n_words), dtype=np.uint64)
    wrong = np.empty((depth, len(errors)), dtype=np.uint64)
    found = np.empty((16, depth), dtype=np.int32)
    sums = np.empty((16, 3), dtype=np.float64)
    n_found, d = 0, 0
    counts = np.zeros(3, dtype=np.int64)  # evaluated, large enough, cut by the bound
    path[0], following[0] = first, first + 1
    rows[0], wrong[0] = bits[first], bits[first][: len(errors)] & errors
    while d >= 0:
        tag = following[d]
        if tag == n_tags:
            d -= 1
            continue
        following[d] += 1
        if attribute[tag] == attribute[path[d]] and not several[tag]:
            continue
        size = d + 2
        path[d + 1] = tag
        known = size < depth and starts[size] >= 0
        if known:
            place = starts[size] + rank(path, size, -1, binomial)
            alive = tables[place] != 0
        else:
            if not may_live(path, size, tables, starts, binomial):
                continue
            n, total, value = measure(
                rows[d], wrong[d], bits[tag], scores, min_size, binary
            )
            large = n >= min_size
            alive = large and (not binary or n - value >= min_errors)
            if size == depth:
                counts[0] += 1
                counts[1] += large
                counts[2] += large and not alive
                if alive and starts[size] >= 0:
                    tables[starts[size] + rank(path, size, -1, binomial)] = 1
                if large and is_bad(n, total, value, limit, threshold, binary):
                    figures = (n, total, value)
                    found, sums = add(found, sums, n_found, path, figures)
                    n_found += 1
        if alive and size < depth:
            d += 1
            narrow(rows, wrong, d, bits[tag])
            following[d] = tag + 1
    return found[:n_found], sums[:n_found], counts


@njit(cache=True, nogil=True)
def slice_sums(
    bits: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    tags: NDArray[np.int64],
    weight: NDArray[np.float64],
    value: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Per slice: rows, weight, squared weight, and weighted value and its square."""
    out = np.zeros((len(offsets) - 1, 5))
    for s in range(len(offsets) - 1):
        for i in range(bits.shape[1]):
            word = bits[tags[offsets[s]], i]
            for k in range(offsets[s] + 1, offsets[s + 1]):
                word &= bits[tags[k], i]
            while word:
                lowest = word & (~word + _1)
                row = 64 * i + popcount(lowest - _1)
                w, v = weight[row], value[row]
                out[s, 0] += 1.0
                out[s, 1] += w
                out[s, 2] += w * w
                out[s, 3] += w * v
                out[s, 4] += w * v * v
                word ^= lowest
    return out


@njit(cache=True, nogil=True)
def gain_of(
    bits: NDArray[np.uint64],
    tags: NDArray[np.int64],
    left: NDArray[np.uint64],
    error: NDArray[np.float64],
) -> float:
    """Sum the errors of a slice's rows that are still left."""
    total = 0.0
    for i in range(bits.shape[1]):
        word = left[i]
        for tag in tags:
            word &= bits[tag, i]
        while word:
            lowest = word & (~word + _1)
            total += error[64 * i + popcount(lowest - _1)]
            word ^= lowest
    return total


@njit(cache=True, nogil=True)
def row_set(bits: NDArray[np.uint64], tags: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Rows of one slice."""
    out = bits[tags[0]].copy()
    for tag in tags[1:]:
        out &= bits[tag]
    return out
