"""Windows of series, and series brought to one scale."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["timepoint_names", "windows_of", "znormalised"]

Floats = NDArray[np.float64]


def timepoint_names(X: Any, n_timepoints: int) -> tuple[str, ...]:
    """Name time points by the columns of a frame, one series per row, or by number."""
    columns = list(getattr(X, "columns", ()))
    if len(columns) == n_timepoints > 1:
        return tuple(str(name) for name in columns)
    return tuple(f"t{i}" for i in range(n_timepoints))


def windows_of(length: Any, stride: int, n_timepoints: int) -> tuple[int, int, int]:
    """Length of the windows, their number, and the time points between them."""
    if isinstance(length, Integral):
        m = int(length)
    else:  # 0.29 * 100 is a little below 29
        m = max(2, int(round(length * n_timepoints, 9)))
    q = int(stride) if m > stride else min(2, m, int(stride))
    n_tokens = (n_timepoints - m) // q + 1
    if n_tokens < 2:
        msg = (
            f"shape_length={length!r} makes windows of {m} time points, {q} apart; "
            f"series of {n_timepoints} time points have room for {max(n_tokens, 0)}, "
            "but at least 2 windows are needed: use a shorter shape_length"
        )
        raise ValueError(msg)
    return m, n_tokens, q


def znormalised(X: Floats) -> Floats:
    """Take each channel of each series off its mean, and divide it by its deviation.

    Missing values are left out of both. A channel whose deviations are what rounding
    leaves is flat, and becomes zero.
    """
    there = ~np.isnan(X)
    count = np.maximum(there.sum(axis=2, keepdims=True), 1)
    filled = np.where(there, X, 0.0)
    size = np.abs(filled).max(axis=2, keepdims=True)
    unit = filled / np.where(size > 0, size, 1.0)  # squares of huge values overflow
    mean = unit.sum(axis=2, keepdims=True) / count
    centred = np.where(there, unit - mean, 0.0)
    spread = np.sqrt((centred**2).sum(axis=2, keepdims=True) / count)
    flat = spread <= 1e-10
    ready = np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
    return np.where(there, ready, np.nan)
