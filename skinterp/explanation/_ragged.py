"""Ragged arrays: flat values with the offsets of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Concatenate the ranges that begin at ``starts`` and have ``counts`` members."""
    total = int(counts.sum())
    shift = np.repeat(starts - offsets_of(counts)[:-1], counts)
    return (np.arange(total) + shift).astype(np.intp)


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def check_offsets(name: str, offsets: NDArray[np.int64], n: int, total: int) -> None:
    ends = len(offsets) == n + 1 and offsets[0] == 0 and offsets[-1] == total
    if not ends or (np.diff(offsets) < 0).any():
        msg = f"{name} must rise from 0 to {total} in {n} steps, got {offsets!r}"
        raise ValueError(msg)


def check_range(name: str, values: NDArray[np.int64], low: int, high: int) -> None:
    if values.size and (values.min() < low or values.max() >= high):
        msg = f"{name} must lie in [{low}, {high}), got {values.min()}..{values.max()}"
        raise ValueError(msg)
