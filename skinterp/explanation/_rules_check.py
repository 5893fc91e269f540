"""Hold rules against the model they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._literals import read_cells, read_column

if TYPE_CHECKING:
    from skinterp.explanation._rules import RuleSet


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
