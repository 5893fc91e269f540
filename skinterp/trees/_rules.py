"""Prime implicants as rule sets and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import plot_tree

from skinterp.explanation import RuleSet
from skinterp.trees import _box_kernels as kernels
from skinterp.trees._boxes import Terms, edges, full_boxes
from skinterp.trees._tables import TreeTables, unwrap

if TYPE_CHECKING:
    from skinterp.trees._boolean_tree import BooleanTreeClassifier


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


def local_rules(
    tables: TreeTables,
    terms: Terms,
    cells: NDArray[np.int32],
    weight: NDArray[np.float64],
    *,
    codes: NDArray[np.int32],
    prediction: NDArray[np.int32],
    reasons: NDArray[np.bool_],
    **about: Any,
) -> RuleSet:
    """Prime implicants that hold for each row, first the one around its reason."""
    support = kernels.box_weight(terms.low, terms.high, terms.bound, cells, weight)
    held = np.ones((len(codes), len(terms.low)), bool)
    for j in range(codes.shape[1]):
        cell = codes[:, j, None]
        within = (terms.low[:, j] <= cell) & (cell <= terms.high[:, j])
        held &= within | ~terms.bound[:, j]
    order = _order(terms, support)
    row, place = np.nonzero(held[:, order])
    rule = order[place]
    first = _reason_terms(tables, terms, codes, prediction, reasons)
    rule = rule[np.lexsort((place, rule != first[row], row))]
    return _rule_set(
        tables,
        terms,
        rule,
        support,
        scope="local",
        row_offsets=np.searchsorted(row, np.arange(len(codes) + 1)),
        prediction=prediction,
        **about,
    )


def _order(terms: Terms, support: NDArray[np.float64]) -> NDArray[np.intp]:
    """By class, falling support, rising length; then by the bounds themselves."""
    bounds = [*terms.high.T[::-1], *terms.low.T[::-1]]
    return np.lexsort((*bounds, terms.bound.sum(axis=1), -support, terms.label))


def _reason_terms(
    tables: TreeTables,
    terms: Terms,
    codes: NDArray[np.int32],
    prediction: NDArray[np.int32],
    reasons: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Prime implicant around the reason of each row, -1 where there is none.

    The bounds of the cells of a minimal reason are widened until another class
    stops them; what results is maximal, hence among the prime implicants.
    """
    found, top = full_boxes(tables)
    low, high = kernels.widened(codes, reasons, prediction, top, tables.n_cuts, *found)
    place = {
        (label, *bounds): i
        for i, (label, bounds) in enumerate(
            zip(
                terms.label.tolist(),
                map(tuple, np.hstack([terms.low, terms.high]).tolist()),
                strict=True,
            )
        )
    }
    wide = map(tuple, np.hstack([low, high]).tolist())
    return np.array(
        [
            place[label, *bounds] if label >= 0 else -1
            for label, bounds in zip(prediction.tolist(), wide, strict=True)
        ],
        dtype=np.int64,
    )


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
    """Draw a tree and its rules side by side."""
    import matplotlib.pyplot as plt

    rules = estimator.explain()
    if ax is None:
        _, ax = plt.subplots(1, 2, figsize=(15, 6), width_ratios=[3, 2])
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) != 2:
        raise ValueError(f"ax must hold two Axes, for tree and rules; got {len(axes)}.")
    plot_tree(
        unwrap(estimator.estimator_),
        feature_names=[name.replace("$", r"\$") for name in rules.feature_names],
        class_names=[str(c).replace("$", r"\$") for c in estimator.classes_],
        impurity=False,
        proportion=True,
        ax=axes[0],
    )
    rules.plot(ax=axes[1])
    return axes
