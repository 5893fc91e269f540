"""Sets as packed words: 64 members a word, the lowest bit first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]

ZERO, ONE = np.uint64(0), np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FIVES = np.uint64(0x5555555555555555)
_THREES = np.uint64(0x3333333333333333)
_NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_2, _4, _56 = np.uint64(2), np.uint64(4), np.uint64(56)
# of FNV-1a, taken over words instead of bytes
_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)
_29, _32 = np.uint64(29), np.uint64(32)


@njit(cache=True, nogil=True)
def popcount(word: np.uint64) -> Any:
    """Count the bits of a word; LLVM makes one instruction of it."""
    word = word - ((word >> ONE) & _FIVES)
    word = (word & _THREES) + ((word >> _2) & _THREES)
    word = (word + (word >> _4)) & _NIBBLES
    return np.int64((word * _ONES) >> _56)


@njit(cache=True, nogil=True)
def lowest(word: np.uint64) -> int:
    """Position of the lowest bit of a word that has one."""
    return popcount((word & (~word + ONE)) - ONE)


@njit(cache=True, nogil=True)
def bit(position: int) -> np.uint64:
    """Word with one bit; positions count on over words."""
    return ONE << np.uint64(position & 63)


@njit(cache=True, nogil=True)
def hash_words(words: Words) -> np.uint64:
    """Hash a set by FNV-1a, mixed once more since only low bits are used."""
    value = _BASIS
    for word in words:
        value = (value ^ word) * _PRIME
        value ^= value >> _32
    return (value * _PRIME) ^ (value >> _29)


@njit(cache=True, nogil=True)
def build_index(sets: Words) -> NDArray[np.int64]:
    """Open-addressing table of distinct sets: their positions, -1 where free."""
    size = 16
    while size < 2 * len(sets):
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    mask = np.uint64(size - 1)
    for i in range(len(sets)):
        slot = np.int64(hash_words(sets[i]) & mask)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = i
    return table


@njit(cache=True, nogil=True)
def find_set(words: Words, sets: Words, table: NDArray[np.int64]) -> int:
    """Position of a set among those of a table, -1 if it is none of them."""
    size = len(table)
    slot = np.int64(hash_words(words) & np.uint64(size - 1))
    while table[slot] >= 0:
        found = table[slot]
        same = True
        for w in range(len(words)):
            if sets[found, w] != words[w]:
                same = False
                break
        if same:
            return found
        slot = (slot + 1) & (size - 1)
    return -1


def pack(table: NDArray[np.bool_]) -> Words:
    """Pack the rows of a truth table: bit j of a row stands for column j."""
    n, m = table.shape
    n_words = max(1, -(-m // 64))
    padded = np.zeros((n, n_words * 8), dtype=np.uint8)
    packed = np.packbits(table, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words, m: int) -> NDArray[np.bool_]:
    """Truth table of packed rows."""
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    bits = np.unpackbits(as_bytes, axis=1, count=m, bitorder="little")
    return bits.view(np.bool_)
