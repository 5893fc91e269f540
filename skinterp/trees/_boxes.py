"""Trees as sets of boxes, and their maximal boxes: the prime implicants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skinterp.trees import _box_kernels as kernels
from skinterp.trees._boolean_tree_kernels import COMMON, pure_nodes
from skinterp.trees._tables import TreeTables


class Boxes(NamedTuple):
    """Boxes over the grid of a tree.

    Attributes
    ----------
    low, high : ndarray of shape (n_boxes, n_used)
        Inclusive bounds in cells. On a feature of which a missing value has a leaf
        of its own, the last cell of the axis stands for "missing".
    label : ndarray of shape (n_boxes,)
        Class index.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    label: NDArray[np.int32]


def value_boxes(tables: TreeTables) -> Boxes:
    """Boxes of the pure nodes of a tree that rows without missing cells reach."""
    nodes = pure_nodes(tables.nodes)
    nodes = nodes[(tables.low[nodes] <= tables.high[nodes]).all(axis=1)]
    return Boxes(tables.low[nodes], tables.high[nodes], tables.nodes[nodes, COMMON])


def meaningful_gaps(tables: TreeTables) -> NDArray[np.bool_]:
    """Features of which a missing value has a leaf of its own.

    Only there can it mean something that no value means. Elsewhere the tree's own way
    for missing values is an accident: scikit-learn gives one to every test, whether
    missing values were seen or not.
    """
    nodes = pure_nodes(tables.nodes)
    return np.asarray((tables.low[nodes] > tables.high[nodes]).any(axis=0))


def full_boxes(tables: TreeTables) -> tuple[Boxes, NDArray[np.int32]]:
    """Boxes of all pure nodes, and the last cell of each axis.

    Trees fitted on missing values may have leaves that no value reaches, only a
    missing one. The features concerned get a last cell that stands for "missing",
    and a node that both reach counts as two boxes.
    """
    nodes = pure_nodes(tables.nodes)
    low, high = tables.low[nodes], tables.high[nodes]
    label = tables.nodes[nodes, COMMON]
    top = tables.n_cuts.copy()
    for j in np.flatnonzero(meaningful_gaps(tables)):
        top[j] += 1
        skipped = tables.empty[nodes, j]
        valued = low[:, j] <= high[:, j]
        low, high = (
            np.vstack([bound[valued], bound[skipped]]) for bound in (low, high)
        )
        nodes = np.concatenate([nodes[valued], nodes[skipped]])
        label = np.concatenate([label[valued], label[skipped]])
        low[valued.sum() :, j] = high[valued.sum() :, j] = top[j]
    return Boxes(low, high, label), top


def maximal_boxes(boxes: Boxes, top: NDArray[np.int32], max_boxes: int) -> Boxes:
    """All maximal boxes of each label: its prime implicants.

    They are the fixed point of generalised consensus (unite two boxes along one
    feature, intersect them along the others), which is the same as the maximal boxes
    that meet no box of another label; the kernel cuts those out one by one.
    """
    found = []
    for label in np.unique(boxes.label):
        others = boxes.label != label
        low, high, complete = kernels.maximal_boxes(
            top, boxes.low[others], boxes.high[others], max_boxes
        )
        if not complete:
            raise ValueError(
                f"The tree has more than max_terms={max_boxes} prime implicants, or "
                f"needs more of them on the way (their number can grow exponentially "
                f"with the depth). Raise max_terms or prune the tree. "
                f"explain(X, reasons_only=True), predict, determined, "
                f"sufficient_reasons and is_equivalent don't need them."
            )
        found.append(Boxes(low, high, np.full(len(low), label, np.int32)))
    return Boxes(*(np.concatenate(part) for part in zip(*found, strict=True)))


class Terms(NamedTuple):
    """Maximal boxes as conjunctions of bounds on values.

    `bound` tells which features a term speaks about; a bound feature may be open on
    both sides, which means that its cell must not be missing.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    label: NDArray[np.int32]
    bound: NDArray[np.bool_]


def prime_terms(tables: TreeTables, max_terms: int) -> Terms:
    """All prime implicants of a tree."""
    boxes, top = full_boxes(tables)
    primes = maximal_boxes(boxes, top, max_terms)
    bound = (primes.low > 0) | (primes.high < top)
    if (top > tables.n_cuts).any():
        primes, bound = _on_values(primes, bound, tables.n_cuts)
    return Terms(*primes, bound)


def _on_values(
    primes: Boxes, bound: NDArray[np.bool_], n_cuts: NDArray[np.int32]
) -> tuple[Boxes, NDArray[np.bool_]]:
    """Leave the cell "missing" out of bounds that don't span their whole axis."""
    high = np.where(bound, np.minimum(primes.high, n_cuts), primes.high)
    real = (primes.low <= high).all(axis=1)
    low, high, label = primes.low[real], high[real], primes.label[real]
    bound = bound[real]
    keep = np.ones(len(low), bool)
    for i in range(len(low)):
        larger = (low <= low[i]).all(axis=1) & (high >= high[i]).all(axis=1)
        same = (low == low[i]).all(axis=1) & (high == high[i]).all(axis=1)
        larger &= (label == label[i]) & keep
        larger[i] = False
        keep[i] = not (larger & (~same | (np.arange(len(low)) < i))).any()
    return Boxes(low[keep], high[keep], label[keep]), bound[keep]


def edges(
    tables: TreeTables, low: NDArray[np.int32], high: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds (lower, upper] as values, infinite where there is none."""
    if not tables.cuts:
        return np.empty(low.shape), np.empty(high.shape)
    ends = [part for cuts in tables.cuts for part in ([-np.inf], cuts, [np.inf])]
    flat = np.concatenate(ends, dtype=np.float64)
    start = np.cumsum(tables.n_cuts + 2) - (tables.n_cuts + 2)
    return flat[start + low], flat[start + np.minimum(high, tables.n_cuts) + 1]
