"""Hold rules against their own arrays, and against the model they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import check_shapes
from skinterp.explanation._literals import read_cells, read_column
from skinterp.explanation._ragged import check_offsets, check_range

if TYPE_CHECKING:
    from skinterp.explanation._rules import RuleSet


DTYPES = ("float32", "float64", "date", "category", "derived")
PER_LITERAL = (
    "lower",
    "upper",
    "lower_closed",
    "upper_closed",
    "categories",
    "negated",
    "missing",
)


def check_arrays(rules: RuleSet) -> None:
    """Raise ValueError where the arrays of a rule set do not fit together."""
    n_literals, n_rules = len(rules.feature), len(rules.target)
    for name in PER_LITERAL:
        if len(getattr(rules, name)) != n_literals:
            msg = f"{name} has length {len(getattr(rules, name))}, not {n_literals}"
            raise ValueError(msg)
    check_shapes({"support": (rules.support, (n_rules,))})
    check_offsets("offsets", rules.offsets, n_rules, n_literals)
    check_range("feature", rules.feature, 0, len(rules.feature_names))
    check_range("target", rules.target, 0, len(rules.target_names))
    unknown = set(rules.feature_dtypes) - set(DTYPES)
    if unknown or len(rules.feature_dtypes) != len(rules.feature_names):
        msg = (
            f"feature_dtypes={rules.feature_dtypes!r} must name one of {list(DTYPES)} "
            f"for each of {len(rules.feature_names)} features"
        )
        raise ValueError(msg)
    _check_rows_fit(rules)


def _check_rows_fit(rules: RuleSet) -> None:
    if rules.scope == "global":
        if rules.row_offsets is not None or rules.prediction is not None:
            msg = "a global rule set has neither row_offsets nor prediction"
            raise ValueError(msg)
        return
    if rules.row_offsets is None or rules.prediction is None:
        msg = "a local rule set needs row_offsets and prediction"
        raise ValueError(msg)
    n_rows = len(rules.prediction)
    check_offsets("row_offsets", rules.row_offsets, n_rows, len(rules.target))
    check_range("prediction", rules.prediction, -1, len(rules.target_names))
    shape = (n_rows, len(rules.feature_names))
    check_shapes({"relevant_missing": (rules.relevant_missing, shape)})


def check_rules(rules: RuleSet, estimator: Any, X: Any) -> None:
    """Check the rules of a whole model on rows."""
    held = rules.covers(X)
    decided = rules.decide(X)
    for target in range(len(rules.target_names)):
        named = held[:, rules.target == target].any(axis=1)
        _fail(named & (decided != target), "rules of two classes hold for", X)
    if rules.complete:
        complete = ~_has_missing(rules, X)
        _fail(complete & (decided < 0), "no rule holds for the complete", X)
    _compare(rules, decided, estimator, X)


def check_rows(rules: RuleSet, estimator: Any, X: Any) -> None:
    """Check the rules given for single rows on these rows."""
    owner = rules.row_of_rule()
    held = rules.covers(X)[owner, np.arange(len(owner))]
    wrong = np.zeros(len(rules), dtype=bool)
    wrong[owner[~held]] = True
    _fail(wrong, "a rule given does not hold for", X)
    assert rules.prediction is not None
    wrong[owner[rules.target != rules.prediction[owner]]] = True
    _fail(wrong, "a rule given names another class than the prediction for", X)
    _compare(rules, rules.prediction, estimator, X)


def _compare(
    rules: RuleSet, decided: NDArray[np.int64], estimator: Any, X: Any
) -> None:
    predicted = np.ma.getdata(estimator.predict(X))
    different = rules.target_names[decided] != predicted
    _fail((decided >= 0) & different, "rules and predict disagree for", X)


def _has_missing(rules: RuleSet, X: Any) -> NDArray[np.bool_]:
    """Rows that lack a cell which some rule reads."""
    X = X if hasattr(X, "columns") else np.asarray(X)
    lacking = np.zeros(len(X), dtype=bool)
    for j in rules.used_features:
        column = read_column(X, rules.feature_names, j)
        lacking |= read_cells(column, "category")[1]
    return lacking


def _fail(wrong: NDArray[np.bool_], what: str, X: Any) -> None:
    """Raise AssertionError naming the first wrong row."""
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        row = X.iloc[i].to_dict() if hasattr(X, "iloc") else X[i]
        msg = f"{what} row {i}: {row!r} ({int(wrong.sum())} of {len(wrong)} rows)"
        raise AssertionError(msg)
