"""A fitted scikit-learn tree as tables that the kernels read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier

from skinterp.compat import FrozenEstimator, check_is_fitted
from skinterp.trees import _boolean_tree_kernels as kernels

LARGEST = np.finfo(np.float32).max


class TreeTables(NamedTuple):
    """A tree over the cells of the grid of its thresholds.

    Feature `used[j]` has the thresholds `cuts[j]` and, between and around them,
    `n_cuts[j] + 1` cells. Cell i holds the float32 values in (cuts[i - 1], cuts[i]].

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, N_FIELDS)
        See `_boolean_tree_kernels`.
    threshold : ndarray of shape (n_nodes,)
        Largest float32 that goes left.
    used : ndarray of shape (n_used,)
        Columns that the tree tests.
    cuts : tuple of ndarray
        Sorted thresholds of each used column.
    n_cuts : ndarray of shape (n_used,)
        Their numbers.
    low, high : ndarray of shape (n_nodes, n_used)
        Cells of each feature that lead to a node, inclusive.
    empty : ndarray of shape (n_nodes, n_used)
        Whether a missing value, as scikit-learn sends it, leads to a node.
    weight : ndarray of shape (n_nodes,)
        Training weight.
    value : ndarray of shape (n_nodes, n_classes)
        Class frequencies.
    """

    nodes: NDArray[np.int32]
    threshold: NDArray[np.float32]
    used: NDArray[np.int64]
    cuts: tuple[NDArray[np.float32], ...]
    n_cuts: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    empty: NDArray[np.bool_]
    weight: NDArray[np.float64]
    value: NDArray[np.float64]


def unwrap(estimator: Any) -> Any:
    """Return what a FrozenEstimator holds, or the estimator itself."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


FITTABLE = (
    "a DecisionTreeClassifier or ExtraTreeClassifier of scikit-learn, or a fitted one "
    "in a FrozenEstimator"
)
COMPARABLE = (
    "a DecisionTreeClassifier or ExtraTreeClassifier of scikit-learn or a "
    "BooleanTreeClassifier, fitted, in a FrozenEstimator or not"
)


def check_tree(
    estimator: object, name: str, *, fitted: bool, allowed: str = FITTABLE
) -> DecisionTreeClassifier:
    """Unwrap a tree classifier, or say why it isn't one."""
    tree = unwrap(estimator)
    if not isinstance(tree, DecisionTreeClassifier):
        got = type(tree).__name__
        if isinstance(tree, type):
            got = f"the class {tree.__name__} instead of an instance of it"
        raise TypeError(f"{name} must be {allowed}; got {got}.")
    if not fitted:
        return tree
    check_is_fitted(tree)
    if tree.n_outputs_ != 1:
        raise ValueError(
            f"{name} must have been fitted on one target; it has "
            f"{tree.n_outputs_} outputs."
        )
    return tree


def check_columns(tree: Any, other: Any, tree_name: str, other_name: str) -> None:
    """Refuse a tree that was fitted on other columns than another model."""
    tree, other = unwrap(tree), unwrap(other)
    if tree.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"{tree_name} was fitted on {tree.n_features_in_} columns, {other_name} "
            f"has {other.n_features_in_}."
        )
    names = getattr(tree, "feature_names_in_", None)
    others = getattr(other, "feature_names_in_", None)
    if names is not None and others is not None and list(names) != list(others):
        raise ValueError(
            f"{tree_name} was fitted on the columns {list(names)}, {other_name} has "
            f"{list(others)}."
        )


def check_costs(costs: ArrayLike | None, n_features: int) -> NDArray[np.float64]:
    """Validate the costs of the features; None means 1 for each."""
    if costs is None:
        return np.ones(n_features)
    try:
        checked = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"feature_costs must hold numbers; got {costs!r}.") from None
    if checked.shape != (n_features,):
        raise ValueError(
            f"feature_costs must hold one cost for each of {n_features} features; "
            f"got the shape {checked.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))
    if len(bad):
        raise ValueError(
            f"feature_costs must be finite and not negative; "
            f"feature_costs[{bad[0]}] is {checked[bad[0]]}."
        )
    return checked


def check_groups(
    groups: ArrayLike | None, costs: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Number the groups of columns by first appearance; None: each its own.

    The columns of a group must have the same cost.
    """
    if groups is None:
        return np.arange(len(costs))
    labels = np.asarray(groups, dtype=object)
    if labels.shape != costs.shape:
        raise ValueError(
            f"feature_groups must hold one label for each of {len(costs)} features; "
            f"got the shape {labels.shape}."
        )
    number: dict[Any, int] = {}
    for column, label in enumerate(labels):
        try:
            if label is None or label != label:
                raise TypeError
            number.setdefault(label, len(number))
        except (TypeError, ValueError):  # not hashable, or not comparable, as pd.NA
            raise ValueError(
                f"feature_groups must hold labels as numbers or text; "
                f"feature_groups[{column}] is {label!r}."
            ) from None
    numbered = np.array([number[label] for label in labels], np.int64)
    for label, position in number.items():
        own = np.unique(costs[numbered == position])
        if len(own) > 1:
            raise ValueError(
                f"feature_groups measures the columns of group {label!r} together, "
                f"at one cost; their feature_costs are {own.tolist()}."
            )
    return numbered


def numbered_classes(all_classes: list[NDArray]) -> list[NDArray[np.int32]]:
    """Number the classes of several trees alike."""
    number: dict[Any, int] = {}
    return [
        np.array(
            [number.setdefault(c, len(number)) for c in classes.tolist()], np.int32
        )
        for classes in all_classes
    ]


def floor_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 below or at each value.

    A float32 x satisfies `x <= t` exactly if it satisfies `x <= floor_float32(t)`.
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        below = np.nextafter(rounded, np.float32(-np.inf))
    floors = np.where(rounded > values, below, rounded)
    return floors + np.float32(0)  # no -0.0, whose bytes differ from those of 0.0


def tree_tables(estimator: DecisionTreeClassifier) -> TreeTables:
    """Read a fitted tree; linear in nodes times used features."""
    tree = estimator.tree_
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left >= 0)
    column = tree.feature[inner]
    floors = floor_float32(tree.threshold[inner])
    used, position = np.unique(column, return_inverse=True)
    cuts, cut = _grid(floors, position, len(used))
    nodes = np.full((tree.node_count, kernels.N_FIELDS), -1, np.int32)
    nodes[:, kernels.LEFT] = left
    nodes[:, kernels.RIGHT] = right
    nodes[inner, kernels.COLUMN] = column
    nodes[inner, kernels.FEATURE] = position
    nodes[inner, kernels.CUT] = cut
    skips_left = tree.missing_go_to_left[inner].astype(bool)
    nodes[inner, kernels.SKIP] = np.where(skips_left, left[inner], right[inner])
    value = np.ascontiguousarray(tree.value[:, 0, :], dtype=np.float64)
    nodes[:, kernels.LABEL] = value.argmax(axis=1)
    threshold = np.full(tree.node_count, np.nan, np.float32)
    threshold[inner] = floors
    n_cuts = np.array([len(c) for c in cuts], np.int32)
    low, high, empty = kernels.analyse_nodes(nodes, n_cuts)
    return TreeTables(
        nodes=nodes,
        threshold=threshold,
        used=used.astype(np.int64),
        cuts=cuts,
        n_cuts=n_cuts,
        low=low,
        high=high,
        empty=empty,
        weight=tree.weighted_n_node_samples.astype(np.float64),
        value=value,
    )


def _grid(
    floors: NDArray[np.float32], position: NDArray[np.int64], n_used: int
) -> tuple[tuple[NDArray[np.float32], ...], NDArray[np.int64]]:
    """Sorted distinct thresholds per feature, and the last cell left of each test.

    Thresholds with no float32 on one side are no cuts. Trees that saw missing values
    have some: "x <= inf" asks whether x is there.
    """
    order = np.lexsort((floors, position))
    value, feature = floors[order], position[order]
    is_cut = (value >= -LARGEST) & (value < LARGEST)
    is_cut[1:] &= (value[1:] != value[:-1]) | (feature[1:] != feature[:-1])
    start = np.searchsorted(feature[is_cut], np.arange(n_used + 1))
    flat = value[is_cut]
    cut = np.empty(len(floors), np.int64)
    cut[order] = np.cumsum(is_cut) - 1 - start[feature] + (value >= LARGEST)
    return tuple(flat[i:j] for i, j in pairwise(start)), cut


def cell_codes(tables: TreeTables, X: NDArray[np.float32]) -> NDArray[np.int32]:
    """Cell of each value of the used columns, UNKNOWN where it is missing."""
    codes = np.empty((len(X), len(tables.used)), np.int32)
    for j, (column, cuts) in enumerate(zip(tables.used, tables.cuts, strict=True)):
        codes[:, j] = np.searchsorted(cuts, X[:, column], side="left")
        codes[np.isnan(X[:, column]), j] = kernels.UNKNOWN
    return codes
