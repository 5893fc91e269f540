"""Which rows are valued, which are scored on, and which are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def validation_rows(
    y: NDArray[Any], fraction: float, rng: np.random.Generator, classification: bool
) -> NDArray[np.bool_]:
    """Rows to score on, drawn at random, of each class its share.

    A class with few rows may have none there, and never all.
    """
    chosen = np.zeros(len(y), dtype=bool)
    if not classification:
        size = min(max(2, round(fraction * len(y))), len(y) - 2)
        chosen[rng.permutation(len(y))[:size]] = True
        return chosen
    for label in np.unique(y):
        at = rng.permutation(np.flatnonzero(y == label))
        chosen[at[: min(round(fraction * len(at)), len(at) - 1)]] = True
    if not chosen.any():  # only classes of one or two rows
        chosen[rng.integers(len(y))] = True
    return chosen


def candidate_rows(
    free: NDArray[np.bool_], most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Positions of the rows to value: all that are free, or as many at random."""
    at = np.flatnonzero(free)
    return at if len(at) <= most else np.sort(rng.permutation(at)[:most])


def kept_rows(
    support: NDArray[np.bool_],
    lowest: bool,
    value: NDArray[np.float64],
    y: NDArray[Any] | None,
) -> NDArray[np.bool_]:
    """Rows to train on: those found, or all others; no class is lost."""
    kept = ~support if lowest else support.copy()
    for label in np.unique(y) if y is not None else ():
        at = np.flatnonzero(y == label)
        if not kept[at].any():
            kept[at[np.argmax(value[at])]] = True
    return kept


def number_of_rows(m: float, n: int) -> int:
    """Number that m stands for; fewer than all n rows that are valued."""
    number = int(m) if isinstance(m, int | np.integer) else max(1, round(m * n))
    if not 1 <= number < n:
        msg = f"m={m!r} asks for {number} rows of {n}: allowed are 1 to {n - 1}."
        raise ValueError(msg)
    return number


def mark_rows(marked: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
    """Mask of rows, from a mask or from positions."""
    if marked is None:
        return None
    given = np.asarray(marked)
    if given.dtype == bool and given.shape == (n,):
        return given
    right = given.ndim == 1 and (given.dtype.kind in "iu" or given.size == 0)
    if not right or (given.size and (given.min() < 0 or given.max() >= n)):
        msg = f"marked must be a mask of {n} rows or positions from 0 to {n - 1}."
        raise ValueError(msg)
    mask = np.zeros(n, dtype=bool)
    mask[given.astype(np.intp)] = True
    return mask


def take_rows(data: Any, at: NDArray[np.intp]) -> Any:
    """Some rows of an array, a list, or a pandas or polars frame or series."""
    if hasattr(data, "iloc"):
        return data.iloc[at]
    if hasattr(data, "columns") or type(data).__module__.startswith("polars"):
        return data[at]
    return np.asarray(data)[at]
