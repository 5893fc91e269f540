"""Dictionaries of logistic functions, and what a kernel makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

# Widths of logistic functions, in distances between thresholds.
_WIDTH = 0.3
# Functions whose size is below this share of the largest are left out.
_RANK = 1e-7
# Correlation of the values of a curve at two points: it falls by e within this share
# of the feature's range, so that curves may turn and jump.
_LENGTH = 0.3


@dataclass(frozen=True)
class Dictionary:
    """Logistic functions of each feature, on the points of its grid.

    Thresholds and widths are of shape (n_features, n_functions); of a feature with
    fewer levels the last functions repeat, and ``used`` tells how many there are.
    """

    t: Float
    tau: Float
    used: NDArray[np.int64]


def make_dictionary(grid: Mapping[str, Float], n_functions: int) -> Dictionary:
    """Put thresholds between levels, or where there are many, at equal ranks."""
    rows = []
    for points, weights in zip(grid["points"], grid["weights"], strict=True):
        n = int(np.count_nonzero(weights))
        rows.append(_thresholds(points[:n], weights[:n], n_functions))
    size = functions_needed(grid, n_functions)
    t, tau = np.zeros((len(rows), size)), np.ones((len(rows), size))
    for j, (place, width) in enumerate(rows):
        count = len(place)
        t[j, :count], tau[j, :count] = place, width
        if count:
            t[j, count:], tau[j, count:] = place[-1], width[-1]
    return Dictionary(t, tau, np.array([len(place) for place, _ in rows]))


def functions_needed(grid: Mapping[str, Float], limit: int) -> int:
    """Count the functions of the feature that has most of them."""
    levels = np.count_nonzero(grid["weights"], axis=1)
    return int(max(1, min(limit, max(levels, default=1) - 1)))


def _thresholds(points: Float, weights: Float, limit: int) -> tuple[Float, Float]:
    borders = (points[1:] + points[:-1]) / 2
    if len(borders) > limit:
        ranks = np.cumsum(weights)[:-1]
        wanted = (np.arange(limit) + 0.5) / limit
        borders = borders[
            np.unique(np.searchsorted(ranks, wanted).clip(max=len(ranks) - 1))
        ]
        gaps = np.diff(borders, prepend=points[0], append=points[-1])
        width = np.minimum(gaps[1:], gaps[:-1])
    else:
        # a jump between levels, that are met as they stand
        width = np.diff(points) / 4
    least = 1e-9 * np.ptp(points) if len(points) else 1.0
    return borders, _WIDTH * np.maximum(width, least)


@dataclass(frozen=True)
class Functions:
    """Functions of each feature that are uncorrelated, by a kernel.

    ``values`` at the grid's points, of shape (n_features, n_points, n_functions), have
    unit variance over the data; ``sizes`` are their shares of the kernel's variance and
    ``mix`` (n_features, n_logistic, n_functions) makes them of the logistic functions.
    """

    values: Float
    sizes: Float
    mix: Float

    def kernels(self) -> Float:
        """Covariances between points, of shape (n_features, n_points, n_points)."""
        scaled = self.values * self.sizes[:, None]
        return np.asarray(scaled @ self.values.transpose(0, 2, 1))


def make_functions(
    dictionary: Dictionary, grid: Mapping[str, Float], *, straight: bool = False
) -> Functions:
    """Diagonalise a kernel within the span of the dictionary, centred on the data."""
    points, weights = grid["points"], grid["weights"]
    d, size = dictionary.t.shape
    values = np.zeros((d, points.shape[1], size))
    sizes, mix = np.zeros((d, size)), np.zeros((d, size, size))
    for j in range(d):
        n, k = np.count_nonzero(weights[j]), int(dictionary.used[j])
        if k == 0:
            continue
        at, w = points[j, :n], weights[j, :n]
        made = logistic((at[:, None] - dictionary.t[j, :k]) / dictionary.tau[j, :k])
        share, functions, how = _diagonal(w @ made - made, w, _kernel(at, straight))
        r = len(share)
        sizes[j, :r], mix[j, :k, :r], values[j, :n, :r] = share, how, functions
        values[j, n:] = values[j, n - 1]
    return Functions(values, sizes, mix)


def join(parts: Sequence[Functions]) -> Functions:
    """Put functions of several kernels one after the other."""
    names = ("values", "sizes", "mix")
    return Functions(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
    )


def logistic(z: Float) -> Float:
    """Evaluate the logistic function, without denormal numbers."""
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -30, 30))))


def _kernel(at: Float, straight: bool) -> Float:
    unit = (at - at[0]) / (at[-1] - at[0])
    if straight:
        return np.multiply.outer(unit, unit)
    return np.asarray(np.exp(-np.abs(unit[:, None] - unit) / _LENGTH))


def _diagonal(made: Float, w: Float, kernel: Float) -> tuple[Float, Float, Float]:
    """Sizes, values and mixture of the uncorrelated functions, largest first."""
    root = np.sqrt(w)[:, None]
    left, s, right = np.linalg.svd(root * made, full_matrices=False)
    kept = s > _RANK * s[0]
    left, s, right = left[:, kept], s[kept], right[kept]
    inner = left.T @ (root * (kernel - w @ kernel) * root.T) @ left
    share, turn = np.linalg.eigh((inner + inner.T) / 2)
    share, turn = np.maximum(share[::-1], 0), turn[:, ::-1]
    how = (right.T / s) @ turn
    return share / share.sum(), made @ how, how


def codes_of(Z: Any, grid: Mapping[str, Float]) -> NDArray[np.int64]:
    """Points of the grid to which cells are rounded, of shape (n_rows, n_features)."""
    borders = grid["borders"]
    columns = [np.searchsorted(borders[j], Z[:, j]) for j in range(Z.shape[1])]
    return np.column_stack(columns).astype(np.int64)
