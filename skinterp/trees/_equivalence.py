"""Trees that decide alike: pairwise comparison, and a key that they share."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from skinterp.compat import check_is_fitted, check_parameter
from skinterp.trees import _box_kernels as kernels
from skinterp.trees._boxes import edges, maximal_boxes, value_boxes
from skinterp.trees._tables import (
    COMPARABLE,
    TreeTables,
    check_columns,
    check_tree,
    numbered_classes,
    tree_tables,
    unwrap,
)


def fitted_tree(estimator: Any, name: str) -> DecisionTreeClassifier:
    """Find the fitted scikit-learn tree in what a user passed."""
    model = unwrap(estimator)
    if isinstance(model, EquivalenceMixin):
        check_is_fitted(model)
        model = model.estimator_
    return check_tree(model, name, fitted=True, allowed=COMPARABLE)


class EquivalenceMixin:
    """Comparison of decision functions, for a model with `_tables`."""

    if TYPE_CHECKING:
        classes_: NDArray
        estimator_: Any
        max_terms: int

        def _tables(self) -> TreeTables: ...

    @property
    def canonical_key_(self) -> tuple[tuple, ...]:
        """Hashable form of the decision function: all prime implicants per class.

        Equal for trees that give all complete rows the same class, and only for
        these. Computed at each access, at the cost of ``explain``.
        """
        tables = self._tables()
        check_parameter(self, "max_terms")
        return canonical_key(tables, self.classes_, self.max_terms)

    def is_equivalent(self, other: Any) -> bool:
        """Tell whether another tree gives all complete rows the same class.

        Parameters
        ----------
        other : estimator
            A fitted tree classifier of scikit-learn, or a BooleanTreeClassifier,
            fitted on the same columns.

        Returns
        -------
        bool
            True if no complete row gets different classes.

        Notes
        -----
        Compares the leaves pairwise: O(n_leaves x n_leaves_other x n_used).
        """
        tables, tree = self._tables(), fitted_tree(other, "other")
        check_columns(other, self, "other", "this tree")
        own, others = numbered_classes([self.classes_, tree.classes_])
        return equivalent(tables, tree_tables(tree), own, others)


def canonical_key(
    tables: TreeTables, classes: NDArray, max_terms: int
) -> tuple[tuple, ...]:
    """Hashable form that equals for equal decision functions on complete rows."""
    primes = maximal_boxes(value_boxes(tables), tables.n_cuts, max_terms)
    lower, upper = edges(tables, primes.low, primes.high)
    term, j = np.nonzero(np.isfinite(lower) | np.isfinite(upper))
    columns = (tables.used[j], lower[term, j], upper[term, j])
    bounds = list(zip(*(c.tolist() for c in columns), strict=True))
    start = np.searchsorted(term, np.arange(len(lower) + 1)).tolist()
    terms: dict[int, list[tuple]] = {}
    for label, (i, k) in zip(primes.label.tolist(), pairwise(start), strict=True):
        terms.setdefault(label, []).append(tuple(bounds[i:k]))
    names = classes.tolist()
    return tuple((names[label], tuple(sorted(terms[label]))) for label in sorted(terms))


class ValueBoxes(NamedTuple):
    """Boxes (lower, upper] over chosen columns, with labels."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    label: NDArray[np.int32]


def boxes_over(tables: TreeTables, columns: NDArray[np.int64]) -> ValueBoxes:
    """Boxes of a tree over columns, which hold all that it uses."""
    boxes = value_boxes(tables)
    lower = np.full((len(boxes.low), len(columns)), -np.inf)
    upper = np.full((len(boxes.low), len(columns)), np.inf)
    place = np.searchsorted(columns, tables.used)
    lower[:, place], upper[:, place] = edges(tables, boxes.low, boxes.high)
    return ValueBoxes(lower, upper, boxes.label)


def equivalent(
    first: TreeTables,
    second: TreeTables,
    first_classes: NDArray[np.int32],
    second_classes: NDArray[np.int32],
) -> bool:
    """Whether two trees give all complete rows the same class.

    `*_classes` number the classes of both trees alike. Two boxes of different class
    must be disjoint: quadratic in leaves, linear in used features.
    """
    columns = np.union1d(first.used, second.used)
    a, b = boxes_over(first, columns), boxes_over(second, columns)
    return not kernels.disagree(
        a.lower, a.upper, first_classes[a.label],
        b.lower, b.upper, second_classes[b.label],
    )  # fmt: skip
