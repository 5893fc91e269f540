"""Kernels of the algebra of boxes.

A box is a pair of inclusive bounds per used feature, counted in cells of the grid of
thresholds; the cells of an axis are ordered.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@njit(cache=True, nogil=True)
def inside(low: Ints, high: Ints, outer_low: Ints, outer_high: Ints) -> bool:
    """Whether a box lies in another one."""
    for j in range(low.shape[0]):
        if low[j] < outer_low[j] or high[j] > outer_high[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def meet(low: Ints, high: Ints, other_low: Ints, other_high: Ints) -> bool:
    """Whether two boxes share a cell."""
    for j in range(low.shape[0]):
        if max(low[j], other_low[j]) > min(high[j], other_high[j]):
            return False
    return True


@njit(cache=True, nogil=True)
def copy_box(low: Ints, high: Ints, to_low: Ints, to_high: Ints, to: int) -> None:
    """Write a box to place `to` of a list."""
    for j in range(low.shape[0]):
        to_low[to, j] = low[j]
        to_high[to, j] = high[j]


@njit(cache=True, nogil=True)
def keep_maximal(
    low: Ints, high: Ints, size: int, first: int, piece_low: Ints, piece_high: Ints
) -> int:
    """Add a piece to a list of boxes unless one of them holds it.

    Boxes before `first` can't lie in the piece. Returns the new size of the list.
    """
    for i in range(size - 1, -1, -1):  # late boxes are the likely ones
        if inside(piece_low, piece_high, low[i], high[i]):
            return size
    kept = first
    for i in range(first, size):
        if not inside(low[i], high[i], piece_low, piece_high):
            copy_box(low[i], high[i], low, high, kept)
            kept += 1
    copy_box(piece_low, piece_high, low, high, kept)
    return kept + 1


@njit(cache=True, nogil=True)
def grown(boxes: Ints, capacity: int) -> Ints:
    """Return a copy with room for `capacity` boxes."""
    bigger = np.empty((capacity, boxes.shape[1]), np.int32)
    for i in range(boxes.shape[0]):
        for j in range(boxes.shape[1]):
            bigger[i, j] = boxes[i, j]
    return bigger


@njit(cache=True, nogil=True)
def subtract_box(
    low: Ints,
    high: Ints,
    size: int,
    hole_low: Ints,
    hole_high: Ints,
    max_boxes: int,
) -> tuple[Ints, Ints, int]:
    """Maximal boxes of what is left of maximal boxes without a hole.

    A box that meets the hole falls into at most two pieces per feature: below and
    above the hole. Only pieces can be swallowed, by a box that was not met or by
    another piece. Ends early when there are more than `max_boxes`.
    """
    n_used = low.shape[1]
    hit_low = np.empty((size, n_used), np.int32)
    hit_high = np.empty((size, n_used), np.int32)
    n_hit, n_free = 0, 0
    for i in range(size):
        if meet(low[i], high[i], hole_low, hole_high):
            copy_box(low[i], high[i], hit_low, hit_high, n_hit)
            n_hit += 1
        else:
            copy_box(low[i], high[i], low, high, n_free)
            n_free += 1
    size = n_free
    for i in range(n_hit):
        if size > max_boxes:
            break
        if size + 2 * n_used > low.shape[0]:
            capacity = 2 * low.shape[0] + 2 * n_used
            low, high = grown(low, capacity), grown(high, capacity)
        piece_low, piece_high = hit_low[i], hit_high[i]
        for j in range(n_used):
            bottom, top = piece_low[j], piece_high[j]
            if bottom < hole_low[j]:
                piece_high[j] = hole_low[j] - 1
                size = keep_maximal(low, high, size, n_free, piece_low, piece_high)
                piece_high[j] = top
            if top > hole_high[j]:
                piece_low[j] = hole_high[j] + 1
                size = keep_maximal(low, high, size, n_free, piece_low, piece_high)
                piece_low[j] = bottom
    return low, high, size


@njit(cache=True, nogil=True)
def maximal_boxes(
    top: Ints, hole_low: Ints, hole_high: Ints, max_boxes: int
) -> tuple[Ints, Ints, bool]:
    """All maximal boxes of the grid `0..top` that meet no hole.

    Returns the bounds and whether their number stayed within `max_boxes` all along.
    """
    n_used = top.shape[0]
    low = np.zeros((64, n_used), np.int32)
    high = np.empty((64, n_used), np.int32)
    copy_box(low[0], top, low, high, 0)
    size = 1
    for hole in range(hole_low.shape[0]):
        low, high, size = subtract_box(
            low, high, size, hole_low[hole], hole_high[hole], max_boxes
        )
        if size > max_boxes:
            return low[:0], high[:0], False
    return low[:size], high[:size], True


@njit(cache=True, nogil=True)
def widened(
    codes: Ints,
    keep: Bools,
    labels: Ints,
    top: Ints,
    n_cuts: Ints,
    box_low: Ints,
    box_high: Ints,
    box_label: Ints,
) -> tuple[Ints, Ints]:
    """Maximal box around the kept cells of each row, and of its label.

    `box_*` are all the boxes of the tree; a side moves until it meets one of another
    label. Features that are not kept are free, up to the cell `top`; kept ones span
    values alone, up to the cell `n_cuts`.
    """
    n_rows, n_used = codes.shape
    low = np.zeros((n_rows, n_used), np.int32)
    high = np.empty((n_rows, n_used), np.int32)
    for row in range(n_rows):
        for j in range(n_used):
            high[row, j] = top[j]
            if keep[row, j]:
                low[row, j] = high[row, j] = codes[row, j]
        for j in range(n_used):
            if not keep[row, j]:
                continue
            # A side that was stopped stays stopped while the box grows elsewhere, so
            # that one turn per feature gives a maximal box.
            cell, new_low, new_high = codes[row, j], 0, n_cuts[j]
            low[row, j], high[row, j] = new_low, new_high
            for b in range(box_low.shape[0]):
                if box_label[b] == labels[row] or not meet(
                    low[row], high[row], box_low[b], box_high[b]
                ):
                    continue
                if box_high[b, j] < cell:
                    new_low = max(new_low, box_high[b, j] + 1)
                else:
                    new_high = min(new_high, box_low[b, j] - 1)
            low[row, j], high[row, j] = new_low, new_high
    return low, high


@njit(cache=True, nogil=True)
def box_weight(
    low: Ints, high: Ints, bound: Bools, codes: Ints, weight: Floats
) -> Floats:
    """Weight of the rows of codes that each box holds.

    Only features marked in `bound` are looked at; a cell that isn't there (a
    negative code) satisfies no bound.
    """
    total = np.zeros(low.shape[0])
    for b in range(low.shape[0]):
        for row in range(codes.shape[0]):
            holds = True
            for j in range(codes.shape[1]):
                if bound[b, j] and not low[b, j] <= codes[row, j] <= high[b, j]:
                    holds = False
                    break
            if holds:
                total[b] += weight[row]
    return total


@njit(cache=True, nogil=True)
def essential_cuts(
    low: Ints, high: Ints, labels: Ints, n_cuts: Ints, width: int
) -> Bools:
    """Mark the thresholds at which the label really changes somewhere."""
    marked = np.zeros((n_cuts.shape[0], width), np.bool_)
    for a in range(low.shape[0]):
        for b in range(low.shape[0]):
            if labels[a] == labels[b]:
                continue
            conflict, count = -1, 0
            for j in range(low.shape[1]):
                if max(low[a, j], low[b, j]) > min(high[a, j], high[b, j]):
                    conflict = j
                    count += 1
            if count == 1 and high[a, conflict] + 1 == low[b, conflict]:
                marked[conflict, high[a, conflict]] = True
    return marked


@njit(cache=True, nogil=True)
def disagree(
    lower: Floats,
    upper: Floats,
    labels: Ints,
    other_lower: Floats,
    other_upper: Floats,
    other_labels: Ints,
) -> bool:
    """Whether two boxes (lower, upper] of different label share a point."""
    for a in range(lower.shape[0]):
        for b in range(other_lower.shape[0]):
            if labels[a] == other_labels[b]:
                continue
            common = True
            for j in range(lower.shape[1]):
                bottom = max(lower[a, j], other_lower[b, j])
                if bottom >= min(upper[a, j], other_upper[b, j]):
                    common = False
                    break
            if common:
                return True
    return False
