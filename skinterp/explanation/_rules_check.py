"""Hold rules against their own arrays, and against the model they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import check_shapes
from skinterp.explanation._literals import read_feature, read_table
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
    for name in ("offsets", "feature", "target", "row_offsets", "prediction"):
        if np.ndim(getattr(rules, name)) != (getattr(rules, name) is not None):
            msg = f"{name} must be one-dimensional, got {getattr(rules, name)!r}"
            raise ValueError(msg)
    n_literals, n_rules = len(rules.feature), len(rules.target)
    for name in PER_LITERAL:
        if len(getattr(rules, name)) != n_literals:
            msg = f"{name} has length {len(getattr(rules, name))}, not {n_literals}"
            raise ValueError(msg)
    check_ends(rules.lower, rules.upper)
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


def check_ends(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    """Raise ValueError where an end of an interval is not a number."""
    for name, ends in (("lower", lower), ("upper", upper)):
        if np.isnan(ends).any():
            msg = f"{name} holds NaN; an interval without this end has an infinite one"
            raise ValueError(msg)


def check_whole(name: str, values: NDArray[Any]) -> None:
    """Raise ValueError where positions are not whole numbers."""
    kind = values.dtype.kind
    if (
        values.size
        and kind not in "iub"
        and not (kind == "f" and (values == np.floor(values)).all())
    ):
        msg = f"{name} must hold positions (whole numbers), got {values!r}"
        raise ValueError(msg)


def read_labels(labels: Any) -> tuple[Any, ...] | None:
    """Labels of one literal, None for an interval."""
    if labels is None:
        return None
    if isinstance(labels, str):
        msg = f"categories must hold None or a tuple of labels, got {labels!r}"
        raise ValueError(msg)
    found = tuple(labels)
    try:
        hash(found)
    except TypeError as error:
        msg = f"categories must hold labels that can be hashed, got {found!r}"
        raise ValueError(msg) from error
    return found


def _check_rows_fit(rules: RuleSet) -> None:
    if rules.scope == "global":
        local = ("row_offsets", "prediction", "relevant_missing")
        given = [name for name in local if getattr(rules, name) is not None]
        if given:
            msg = f"a global rule set has no {given[0]}; only scope='local' has"
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
    X = read_table(X, rules.feature_names, rules.feature_dtypes)
    lacking = np.zeros(len(X), dtype=bool)
    for j in rules.used_features:
        lacking |= read_feature(X, rules.feature_names, j, "category")[1]
    return lacking


def _fail(wrong: NDArray[np.bool_], what: str, X: Any) -> None:
    """Raise AssertionError naming the first wrong row."""
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        row = X.iloc[i].to_dict() if hasattr(X, "iloc") else X[i]
        msg = f"{what} row {i}: {row!r} ({int(wrong.sum())} of {len(wrong)} rows)"
        raise AssertionError(msg)
