"""Prime implicants as rule sets and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import plot_tree

from skinterp.explanation import RuleSet
from skinterp.trees import _box_kernels as kernels
from skinterp.trees._boxes import Terms, edges, full_boxes
from skinterp.trees._tables import TreeTables, unwrap

if TYPE_CHECKING:
    from skinterp.trees._boolean_tree import BooleanTreeClassifier


# Largest number of pairs of a row and a rule looked at together; a few bytes for each.
MAX_PAIRS = 2**24


def global_rules(
    tables: TreeTables,
    terms: Terms,
    cells: NDArray[np.int32],
    weight: NDArray[np.float64],
    **about: Any,
) -> RuleSet:
    """All prime implicants, per class by falling support."""
    support = kernels.box_weight(terms.low, terms.high, terms.bound, cells, weight)
    order = _order(terms, support)
    return _rule_set(tables, terms, order, support, scope="global", **about)


class Rows(NamedTuple):
    """Rows to explain.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_used)
        Their cells.
    label : ndarray of shape (n_rows,)
        Class index, -1 where undetermined.
    reason : ndarray of shape (n_rows, n_used)
        Cells of a minimal sufficient reason.
    """

    codes: NDArray[np.int32]
    label: NDArray[np.int32]
    reason: NDArray[np.bool_]


def local_rules(
    tables: TreeTables,
    terms: Terms,
    cells: NDArray[np.int32],
    weight: NDArray[np.float64],
    *,
    rows: Rows,
    **about: Any,
) -> RuleSet:
    """Prime implicants that hold for each row, first the one around its reason."""
    support = kernels.box_weight(terms.low, terms.high, terms.bound, cells, weight)
    order = _order(terms, support)
    # Rules of a row come in the order of the global ones, but for the first.
    row, place = _held(terms, order, rows.codes)
    rule = order[place]
    first = _positions(terms, reason_terms(tables, rows))
    rule = rule[np.lexsort((place, rule != first[row], row))]
    return _rule_set(
        tables,
        terms,
        rule,
        support,
        scope="local",
        row_offsets=np.searchsorted(row, np.arange(len(rows.codes) + 1)),
        prediction=rows.label,
        **about,
    )


def _held(
    terms: Terms, order: NDArray[np.intp], codes: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of a row and the place of a term that holds for it, row by row.

    Blocks of rows keep the memory, apart from that of the answer, within bounds.
    """
    low, high, free = terms.low[order], terms.high[order], ~terms.bound[order]
    step = max(1, MAX_PAIRS // max(1, len(order)))
    found = []
    for start in range(0, len(codes), step):
        block = codes[start : start + step]
        held = np.ones((len(block), len(order)), bool)
        for j in range(codes.shape[1]):
            cell = block[:, j, None]
            held &= ((low[:, j] <= cell) & (cell <= high[:, j])) | free[:, j]
        row, place = np.nonzero(held)
        found.append((row + start, place))
    row, place = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, place


def reason_rules(
    tables: TreeTables,
    cells: NDArray[np.int32],
    weight: NDArray[np.float64],
    *,
    rows: Rows,
    **about: Any,
) -> RuleSet:
    """Only the rule around the reason of each row; polynomial in the tree."""
    known = rows.label >= 0
    low, high, label, bound = reason_terms(tables, rows)
    terms = Terms(low[known], high[known], label[known], bound[known])
    support = kernels.box_weight(terms.low, terms.high, terms.bound, cells, weight)
    return _rule_set(
        tables,
        terms,
        np.arange(len(support)),
        support,
        scope="local",
        row_offsets=np.concatenate([[0], np.cumsum(known)]),
        prediction=rows.label,
        **about,
    )


def reason_terms(tables: TreeTables, rows: Rows) -> Terms:
    """Prime implicant around the reason of each row.

    The bounds of the cells of a minimal reason are widened until another class
    stops them; what results is maximal, hence among the prime implicants.
    """
    found, top = full_boxes(tables)
    low, high = kernels.widened(
        rows.codes, rows.reason, rows.label, top, tables.n_cuts, *found
    )
    return Terms(low, high, rows.label, rows.reason)


def _order(terms: Terms, support: NDArray[np.float64]) -> NDArray[np.intp]:
    """By class, falling support, rising length; then by the bounds themselves."""
    bounds = [*terms.high.T[::-1], *terms.low.T[::-1]]
    return np.lexsort((*bounds, terms.bound.sum(axis=1), -support, terms.label))


def _positions(terms: Terms, some: Terms) -> NDArray[np.int64]:
    """Positions of some terms among all, -1 for those of undetermined rows."""
    place = {line: i for i, line in enumerate(_lines(terms))}
    found = [place[line] if line[0] >= 0 else -1 for line in _lines(some)]
    return np.array(found, np.int64)


def _lines(terms: Terms) -> Iterator[tuple[int, ...]]:
    columns = np.column_stack([terms.label, terms.low, terms.high])
    return map(tuple, columns.tolist())


def _rule_set(
    tables: TreeTables,
    terms: Terms,
    chosen: NDArray[np.intp],
    support: NDArray[np.float64],
    *,
    feature_names: tuple[str, ...],
    **fields: Any,
) -> RuleSet:
    """Rules from the chosen terms; cells are compared in float32, as in the tree."""
    rule, used = np.nonzero(terms.bound[chosen])
    lower, upper = edges(tables, terms.low[chosen], terms.high[chosen])
    false = np.zeros(len(rule), bool)
    return RuleSet(
        feature_names=feature_names,
        offsets=np.searchsorted(rule, np.arange(len(chosen) + 1)),
        feature=tables.used[used],
        lower=lower[rule, used],
        upper=upper[rule, used],
        lower_closed=false,
        upper_closed=~false,
        categories=(None,) * len(rule),
        negated=false,
        missing=false,
        target=terms.label[chosen].astype(np.int64),
        support=support[chosen],
        feature_dtypes=("float32",) * len(feature_names),
        **fields,
    )


def draw(estimator: BooleanTreeClassifier, ax: Any) -> NDArray:
    """Draw a tree, and its rules below it."""
    rules = estimator.explain()
    tree = unwrap(estimator.estimator_)
    given = _new_axes(tree.get_depth(), len(rules)) if ax is None else ax
    axes = np.asarray(given, dtype=object).ravel()
    if len(axes) != 2:
        raise ValueError(f"ax must hold two Axes, for tree and rules; got {len(axes)}.")
    rules.plot(ax=axes[1])
    if ax is None:  # plot_tree fits its letters to the room that it finds
        axes[0].set_axis_off()
        axes[0].figure.draw_without_rendering()
    boxes = plot_tree(
        tree,
        feature_names=[name.replace("$", r"\$") for name in rules.feature_names],
        class_names=[str(c).replace("$", r"\$") for c in estimator.classes_],
        impurity=False,
        proportion=True,
        ax=axes[0],
    )
    for box in boxes:
        box.set_fontsize(min(box.get_fontsize(), 9))
    return axes


def _new_axes(depth: int, n_rules: int) -> NDArray:
    import matplotlib.pyplot as plt

    heights = [1 + min(depth, 10), 1.3 + min(n_rules, 12) / 3]
    return plt.subplots(
        2, 1, figsize=(9, sum(heights)), height_ratios=heights, layout="constrained"
    )[1]
