"""Hold slices against arrays and finder, and bring them to other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import check_shapes
from skinterp.explanation._feature_map import FeatureMap
from skinterp.explanation._literals import (
    Literal,
    read_column,
    read_feature,
    read_table,
)
from skinterp.explanation._ragged import check_offsets, check_range
from skinterp.explanation._rules_check import DTYPES, check_ends
from skinterp.explanation._rules_map import _column_dtypes, _map_rule, flatten

if TYPE_CHECKING:
    from skinterp.explanation._slices import SliceSet

NEVER = Literal(0, categories=())
SETS = (list, set, frozenset, tuple, np.ndarray)


def labels_of(cell: Any) -> list[Any]:
    """Labels of a cell that may hold several; missing ones are none."""
    import pandas as pd

    labels = list(cell) if isinstance(cell, SETS) else [cell]
    return [x for x in labels if isinstance(x, SETS) or not pd.isna(x)]


def check_arrays(slices: SliceSet) -> None:
    """Raise ValueError where the arrays of a slice set do not fit together."""
    from skinterp.explanation._slices import PER_LITERAL, PER_SLICE

    n, n_literals = len(slices.size), len(slices.feature)
    check_shapes({name: (getattr(slices, name), (n_literals,)) for name in PER_LITERAL})
    check_shapes({name: (getattr(slices, name), (n,)) for name in PER_SLICE})
    if len(slices.categories) != n_literals:
        msg = f"categories has length {len(slices.categories)}, not {n_literals}"
        raise ValueError(msg)
    check_ends(slices.lower, slices.upper)
    check_offsets("offsets", slices.offsets, n, n_literals)
    check_range("feature", slices.feature, 0, len(slices.feature_names))
    steps = np.shape(slices.cover_errors)
    check_shapes({"cover_rows": (slices.cover_rows, steps)})
    check_range("cover_step", slices.cover_step, -1, len(slices.cover_errors))
    unknown = set(slices.feature_dtypes) - {*DTYPES, "tags"}
    if unknown or len(slices.feature_dtypes) != len(slices.feature_names):
        msg = (
            f"feature_dtypes={slices.feature_dtypes!r} must name one of "
            f"{[*DTYPES, 'tags']} for each of {len(slices.feature_names)} features"
        )
        raise ValueError(msg)
    _check_rows(slices)


def _check_rows(slices: SliceSet) -> None:
    local = slices.scope == "local"
    offsets, members = slices.row_offsets, slices.row_slices
    if (offsets is not None) != local or (members is not None) != local:
        msg = "a local slice set, and only such a one, has row_offsets and row_slices"
        raise ValueError(msg)
    if offsets is None or members is None:
        return
    check_offsets("row_offsets", offsets, max(len(offsets) - 1, 0), len(members))
    check_range("row_slices", members, 0, slices.n_slices)
    check_shapes({"expected": (slices.expected, (len(offsets) - 1,))})


def covered(slices: SliceSet, X: Any) -> NDArray[np.bool_]:
    """Which rows satisfy all conditions of which slices."""
    dtypes = slices.feature_dtypes
    X = read_table(X, slices.feature_names, dtypes)
    held = np.ones((X.shape[0], slices.n_slices), dtype=bool)
    known: dict[Literal, NDArray[np.bool_]] = {}
    for s in range(slices.n_slices):
        for literal in slices.literals(s):
            if literal not in known:
                known[literal] = _mask(slices, literal, X, dtypes[literal.feature])
            held[:, s] &= known[literal]
    return held


def _mask(slices: SliceSet, literal: Literal, X: Any, dtype: str) -> NDArray[np.bool_]:
    j, names = literal.feature, slices.feature_names
    if dtype == "derived":
        msg = (
            f"the slices use {names[j]!r}, which is no column of X but made from it by "
            "the steps in front of the finder"
        )
        raise ValueError(msg)
    if dtype != "tags":
        return literal.mask(*read_feature(X, names, j, dtype))
    labels = set(literal.categories or ())
    return np.array(
        [not labels.isdisjoint(labels_of(cell)) for cell in read_column(X, names, j)],
        dtype=bool,
    )


def check_membership(slices: SliceSet, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first row that is counted otherwise."""
    expected = membership(estimator, X)
    if slices.row_offsets is not None and slices.row_slices is not None:
        got = covered(slices, X)
        listed = np.zeros_like(got)
        rows = np.repeat(np.arange(len(got)), np.diff(slices.row_offsets))
        listed[rows, slices.row_slices] = True
        _compare(listed, got, slices)
        _check_expected(slices, estimator, X)
        if got.shape != expected.shape:
            return  # a part of the slices: held against their conditions alone
        _compare(expected, got, slices)
        return
    if expected.shape[1] != slices.n_slices:
        msg = f"{slices.n_slices} slices are said, the finder has {expected.shape[1]}"
        raise AssertionError(msg)
    _compare(expected, covered(slices, X), slices)


def membership(estimator: Any, X: Any) -> NDArray[np.bool_]:
    """What the finder's ``transform`` says of the rows."""
    inside = estimator.transform(X)
    dense = inside.toarray() if hasattr(inside, "toarray") else inside
    return np.asarray(dense, dtype=bool)


def _check_expected(slices: SliceSet, estimator: Any, X: Any) -> None:
    if slices.expected is not None:
        got = np.asarray(estimator.predict(X))
        wrong = np.flatnonzero(~np.isclose(got, slices.expected, rtol=1e-9))
        if len(wrong):
            i = wrong[0]
            msg = f"row {i}: {slices.expected[i]} is said, {got[i]} is predicted"
            raise AssertionError(msg)


def _compare(
    expected: NDArray[np.bool_], got: NDArray[np.bool_], slices: SliceSet
) -> None:
    wrong = np.argwhere(expected != got)
    if len(wrong):
        row, s = wrong[0]
        where = "in" if expected[row, s] else "out of"
        msg = (
            f"row {row} is said to be {where} slice {s} ({slices.conditions()[s]}), "
            "and its cells say otherwise"
        )
        raise AssertionError(msg)


def map_slices(slices: SliceSet, feature_map: FeatureMap) -> dict[str, Any]:
    """Fields of a slice set that says the same in the user's columns."""
    feature_map.check_size(len(slices.feature_names))
    dtypes = _column_dtypes(slices.feature_dtypes, feature_map)
    as_rules: Any = _Rules(slices)
    mapped = [
        _map_rule(as_rules, s, feature_map, dtypes) for s in range(slices.n_slices)
    ]
    # a conjunction that no row satisfies has to stay one
    conditions = [(NEVER,) if slice_ is None else slice_ for slice_ in mapped]
    return {
        "feature_names": feature_map.names,
        "feature_dtypes": dtypes,
        **flatten(conditions),
    }


class _Rules:
    """What the map of rules reads of them."""

    def __init__(self, slices: SliceSet) -> None:
        self.literals = slices.literals
        self.feature_dtypes = slices.feature_dtypes
