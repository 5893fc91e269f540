"""Matching of shapelets and series as explanations define it, window by window."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DISTANCES = ("l1", "l2", "cosine", "pearson")
# What a mean square counts for at least, so that flat pieces have an angle.
_TINY = 1e-12


def normalised(series: Floats) -> Floats:
    """Take each channel of each series off its mean, and divide it by its deviation.

    A channel whose deviations are what rounding leaves is flat, and becomes zero.
    """
    unit, spread = _centred(series)[1:]
    flat = spread <= 1e-10
    result: Floats = np.where(flat, 0.0, unit / np.where(flat, 1.0, spread))
    return result


def mean_and_scale(series: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of each channel, the latter 0 for a flat one."""
    size, _, spread = _centred(series)
    mean = (series / size).mean(axis=-1, keepdims=True) * size
    return mean[..., 0], (np.where(spread > 1e-10, spread, 0.0) * size)[..., 0]


def _centred(series: Floats) -> tuple[Floats, Floats, Floats]:
    """Largest size of each channel; its deviations from the mean in it; their size."""
    size = np.abs(series).max(axis=-1, keepdims=True)
    size = np.where(size > 0, size, 1.0)  # squares of huge values would overflow
    unit = series / size
    unit = unit - unit.mean(axis=-1, keepdims=True)
    n = series.shape[-1]
    return size, unit, np.sqrt((unit**2).sum(axis=-1, keepdims=True) / (n - 1))


def distances(channel: Floats, shapelet: Floats, stride: int, distance: str) -> Floats:
    """Distance of a shapelet to each window of normalised channels, (n, n_windows)."""
    windows = sliding_window_view(channel, len(shapelet), axis=1)[:, ::stride]
    if distance == "l1":
        return np.asarray(np.abs(windows - shapelet).mean(axis=2))
    if distance == "l2":
        return np.asarray(((windows - shapelet) ** 2).mean(axis=2))
    if distance == "pearson":
        windows = windows - windows.mean(axis=2, keepdims=True)
        shapelet = shapelet - shapelet.mean()
    squares = np.maximum((windows**2).mean(axis=2), _TINY)
    own = max(float((shapelet**2).mean()), _TINY)
    cosine = (windows * shapelet).mean(axis=2) / np.sqrt(squares * own)
    return np.asarray(np.clip(1 - cosine, 0, 2))


def spread_over(
    amounts: Floats,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    channel: NDArray[np.int64],
    shape: tuple[int, int],
) -> Floats:
    """Spread amounts evenly over windows: (n, n_channels, n_timepoints).

    By their cumulative sum: an amount begins at a point and ends at another.
    """
    n_channels, n_points = shape
    steps = np.zeros((len(amounts), n_channels, n_points + 1))
    rows = np.arange(len(amounts))[:, None]
    share = amounts / lengths
    where = np.broadcast_to(channel, amounts.shape)
    np.add.at(steps, (rows, where, starts), share)
    np.add.at(steps, (rows, where, starts + lengths), -share)
    return np.asarray(np.cumsum(steps, axis=2)[:, :, :n_points])
