"""Groups of trees that decide alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.trees import _box_kernels as box_kernels
from skinterp.trees._boolean_tree_kernels import decide_codes
from skinterp.trees._boxes import value_boxes
from skinterp.trees._equivalence import equivalent, fitted_tree
from skinterp.trees._tables import (
    TreeTables,
    check_columns,
    numbered_classes,
    tree_tables,
)

# Grids of up to this many cells are compared whole, larger ones by a sample first.
N_PROBES = 512


def deduplicate_trees(
    trees: Iterable[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group trees that give every complete row the same class.

    The order of tests, tests without effect and copies of subtrees make no
    difference: what counts is the decision function. Importances averaged over the
    groups of a Rashomon set don't depend on how often it holds the same function in
    another shape.

    Parameters
    ----------
    trees : iterable of estimators
        Fitted ``DecisionTreeClassifier``, ``ExtraTreeClassifier`` or
        ``BooleanTreeClassifier``, or a ``FrozenEstimator`` around one, all fitted on
        the same columns. ``RandomForestClassifier.estimators_`` will do.

    Returns
    -------
    labels : ndarray of shape (n_trees,)
        Group of each tree; groups are numbered in the order of their first tree.
    counts : ndarray of shape (n_groups,)
        Number of trees in each group.

    See Also
    --------
    BooleanTreeClassifier.is_equivalent : Compare two trees.

    Notes
    -----
    Exact, and polynomial in the size of the trees. Equivalent trees share a
    signature: the thresholds at which the label really changes, and the labels of
    the cells of the grid of these thresholds. Up to 512 cells the signature settles
    the matter; for a larger grid it holds a fixed sample of cells, and trees with
    equal signatures are compared leaf by leaf.

    Examples
    --------
    Both trees compute "x0 and x1".

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skinterp.trees import deduplicate_trees
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> trees = [
    ...     DecisionTreeClassifier(random_state=seed).fit(X, y) for seed in range(5)
    ... ]
    >>> sorted({int(tree.tree_.feature[0]) for tree in trees})
    [0, 1]
    >>> deduplicate_trees(trees)
    (array([0, 0, 0, 0, 0]), array([5]))
    """
    trees = list(trees)
    models = [
        fitted_tree(tree, f"trees[{position}]") for position, tree in enumerate(trees)
    ]
    for position, tree in enumerate(trees):
        check_columns(tree, trees[0], f"trees[{position}]", "trees[0]")
    classes = numbered_classes([model.classes_ for model in models])
    buckets: dict[tuple, list[tuple[TreeTables, NDArray[np.int32], int]]] = {}
    labels = np.empty(len(models), np.int64)
    n_groups = 0
    for position, model in enumerate(models):
        tables, own = tree_tables(model), classes[position]
        key, settled = signature(tables, own)
        bucket = buckets.setdefault(key, [])
        for other, others, group in bucket:
            # In a bucket of a sampled grid, equal signatures are only a hint.
            if settled or equivalent(tables, other, own, others):
                labels[position] = group
                break
        else:
            bucket.append((tables, own, n_groups))
            labels[position] = n_groups
            n_groups += 1
    return labels, np.bincount(labels, minlength=n_groups)


def signature(
    tables: TreeTables, classes: NDArray[np.int32]
) -> tuple[tuple[bytes, ...], bool]:
    """Return what equivalent trees share, and whether only they do."""
    boxes = value_boxes(tables)
    width = int(tables.n_cuts.max(initial=0))
    marked = box_kernels.essential_cuts(
        boxes.low, boxes.high, boxes.label, tables.n_cuts, width
    )
    needed = np.flatnonzero(marked.any(axis=1))
    codes, settled = _probes(marked[needed])
    whole = np.zeros((len(codes), len(tables.used)), np.int32)
    for column, j in zip(codes.T, needed, strict=True):
        # A cell of the coarse grid stands for all fine cells below its upper end.
        upper = np.append(np.flatnonzero(marked[j]), tables.n_cuts[j])
        whole[:, j] = upper[column]
    labels = classes[decide_codes(whole, tables.nodes)]
    cuts = [tables.cuts[j][marked[j, : tables.n_cuts[j]]] for j in needed]
    return (
        tables.used[needed].tobytes(),
        np.array([len(c) for c in cuts], np.int64).tobytes(),
        b"".join(c.tobytes() for c in cuts),
        labels.tobytes(),
    ), settled


def _probes(marked: NDArray[np.bool_]) -> tuple[NDArray[np.int64], bool]:
    """Cells of the grid of the marked thresholds: all, or a fixed sample."""
    shape = marked.sum(axis=1) + 1
    n_cells = float(np.prod(shape.astype(float)))
    if n_cells <= N_PROBES:
        if len(shape) == 0:
            return np.zeros((1, 0), np.int64), True
        return np.indices(shape).reshape(len(shape), -1).T, True
    rng = np.random.default_rng(0)
    return rng.integers(0, shape, size=(N_PROBES, len(shape))), False
