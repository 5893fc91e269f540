"""How well the distances to a shapelet separate classes, or order a target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Distances that differ by less are not split.
GAP = 1e-9
_AT_ONCE = 4_000_000


def rate_candidates(
    distance: Floats, y: Any, own: NDArray[np.int64], n_classes: int, quality: str
) -> tuple[Floats, Floats, Floats]:
    """Rate shapelets by their distances to the training series.

    Parameters
    ----------
    distance : ndarray of shape (n_shapelets, n_cases)
        Least distances, those of a shapelet beside each other.
    y : ndarray of shape (n_cases,)
        Codes of the classes, or numbers.
    own : ndarray of shape (n_shapelets,)
        Class of the series that each shapelet comes from; unused for numbers.
    n_classes : int
        Number of classes, 0 for numbers.
    quality : {"information_gain", "multiclass_information_gain", "f_statistic", \
"variance_reduction"}
        The measure.

    Returns
    -------
    quality, threshold, gap : ndarray of shape (n_shapelets,)
        Larger qualities are better. The threshold is the middle of the gap where the
        best split lies: series up to it are near. Of equal qualities the wider gap is
        better.
    """
    width, n = distance.shape
    rated, at = np.empty(width), np.empty((width, 2))
    step = max(1, _AT_ONCE // max(n, 1))
    for a in range(0, width, step):
        part = np.ascontiguousarray(distance[a : a + step])
        order = np.argsort(part, axis=1)
        out = rated[a : a + step], at[a : a + step]
        if quality == "variance_reduction":
            _split_numbers(part, order, y, *out)
        elif quality == "multiclass_information_gain":
            _split_classes(part, order, y, n_classes, *out)
        else:
            _split_one_class(part, order, y, own[a : a + step], n_classes, *out)
        if quality == "f_statistic":
            _f_statistics(part, y, n_classes, out[0])
    return rated, at[:, 0], at[:, 1]


@njit(cache=True, nogil=True)
def entropies(n: int) -> Any:
    """Give k log2(k) for k up to n, so that no logarithm is taken in a loop."""
    table = np.zeros(n + 1)
    for k in range(2, n + 1):
        table[k] = k * math.log2(k)
    return table


@njit(cache=True, nogil=True)
def _split_one_class(
    distance: Any, order: Any, y: Any, own: Any, n_classes: int, rated: Any, at: Any
) -> None:
    """Best information gain about one class against the rest, in bits."""
    n = distance.shape[1]
    table, total = entropies(n), np.zeros(n_classes, np.int64)
    for i in range(n):
        total[y[i]] += 1
    for k in range(len(distance)):
        p = total[own[k]]
        whole = table[n] - table[p] - table[n - p]
        best, near, place = whole, 0, n - 1
        for j in range(n - 1):
            i = order[k, j]
            near += y[i] == own[k]
            if distance[k, order[k, j + 1]] - distance[k, i] <= GAP:
                continue
            m = j + 1
            left = table[m] - table[near] - table[m - near]
            far = p - near
            right = table[n - m] - table[far] - table[n - m - far]
            if left + right < best - 1e-9:
                best, place = left + right, j
        rated[k] = (whole - best) / n
        _note_gap(distance[k], order[k], place, at[k])


@njit(cache=True, nogil=True)
def _note_gap(distance: Any, order: Any, place: int, at: Any) -> None:
    """Middle and width of the gap behind a place in the order."""
    near = distance[order[place]]
    far = distance[order[place + 1]] if place + 1 < len(order) else near
    at[0], at[1] = 0.5 * (near + far), far - near


@njit(cache=True, nogil=True)
def _split_classes(
    distance: Any, order: Any, y: Any, n_classes: int, rated: Any, at: Any
) -> None:
    """Best information gain about all classes, in bits."""
    n = distance.shape[1]
    table, total = entropies(n), np.zeros(n_classes, np.int64)
    for i in range(n):
        total[y[i]] += 1
    whole = table[n]
    for c in range(n_classes):
        whole -= table[total[c]]
    near = np.zeros(n_classes, np.int64)
    for k in range(len(distance)):
        near[:] = 0
        best, place = whole, n - 1
        for j in range(n - 1):
            i = order[k, j]
            near[y[i]] += 1
            if distance[k, order[k, j + 1]] - distance[k, i] <= GAP:
                continue
            value = table[j + 1] + table[n - j - 1]
            for c in range(n_classes):
                value -= table[near[c]] + table[total[c] - near[c]]
            if value < best - 1e-9:
                best, place = value, j
        rated[k] = (whole - best) / n
        _note_gap(distance[k], order[k], place, at[k])


@njit(cache=True, nogil=True)
def _split_numbers(distance: Any, order: Any, y: Any, rated: Any, at: Any) -> None:
    """Best share of the variance of numbers that a split explains."""
    n = distance.shape[1]
    mean = 0.0
    for i in range(n):
        mean += y[i] / n
    whole = 0.0
    for i in range(n):
        whole += (y[i] - mean) ** 2
    for k in range(len(distance)):
        best, place, near = 0.0, n - 1, 0.0
        for j in range(n - 1):
            i = order[k, j]
            near += y[i] - mean
            if distance[k, order[k, j + 1]] - distance[k, i] <= GAP:
                continue
            m = j + 1
            value = near * near * (1.0 / m + 1.0 / (n - m))
            if value > best * (1.0 + 1e-12):
                best, place = value, j
        rated[k] = best / whole if whole > 0.0 else 0.0
        _note_gap(distance[k], order[k], place, at[k])


@njit(cache=True, nogil=True)
def _f_statistics(distance: Any, y: Any, n_classes: int, rated: Any) -> None:
    """Variance of distances between classes over that within them."""
    n = distance.shape[1]
    count, mean = np.zeros(n_classes), np.zeros(n_classes)
    for k in range(len(distance)):
        count[:] = 0.0
        mean[:] = 0.0
        centre = 0.0
        for i in range(n):
            count[y[i]] += 1.0
            mean[y[i]] += distance[k, i]
            centre += distance[k, i] / n
        between = within = 0.0
        for c in range(n_classes):
            mean[c] /= count[c]
            between += count[c] * (mean[c] - centre) ** 2
        for i in range(n):
            within += (distance[k, i] - mean[y[i]]) ** 2
        between /= max(n_classes - 1, 1)
        if between <= 1e-18:
            rated[k] = 0.0
        elif n <= n_classes or within <= 1e-18 * n:
            rated[k] = np.inf
        else:
            rated[k] = between / (within / (n - n_classes))
