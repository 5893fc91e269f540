"""Checks of data frames: names, columns, types of cells, missing cells."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any
from unittest import SkipTest

import numpy as np

from skinterp.testing._case import Case, quiet
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same, assert_soft_failure, softly

ODD_NAMES = (
    "N",
    "S",
    "E",
    "pi",
    "my col",
    "a+b",
    "x<y",
    "1",
    "größe µ 温度",
    "$x_1^2$",
    "{a} %s",
    "<script>alert(1)</script>",
)


def tabular(case: Case) -> bool:
    """Apply to methods for tables."""
    return case.is_tabular


def frame_of(X: Any, names: tuple[str, ...] | None = None) -> Any:
    """Make a frame, with names of its own or the first of the given ones."""
    import pandas as pd

    columns = [f"col {i}" for i in range(X.shape[1])] if names is None else names
    return pd.DataFrame(X, columns=list(columns)[: X.shape[1]])


@check(tabular)
def check_odd_column_names(case: Case) -> None:
    """Names such as ``N``, ``a+b``, ``x<y`` or ``1`` change nothing, and are kept."""
    X, y = case.Xy
    plain = case.outputs(case.fitted, X)
    for names in (ODD_NAMES[:5], ODD_NAMES[5:10], ODD_NAMES[7:12]):
        frame = frame_of(X, names)
        estimator = case.fit(case.new(), frame, y)
        kept = tuple(getattr(estimator, "feature_names_in_", ()))
        assert kept == names, f"feature_names_in_ is {kept} for the columns {names}"
        got = case.outputs(estimator, frame)
        # a frame lies in memory by columns, so that sums may round otherwise
        assert_same(got, plain, f"columns {names}", atol=1e-9)


@check(lambda case: case.is_tabular and bool(case.explains))
def check_names_in_explanation(case: Case) -> None:
    """An explanation names columns and classes as the user wrote them."""
    X, y = case.Xy
    labels = np.array(["b c", "<d>", "é"])[y] if case.is_classifier else y
    for names in (ODD_NAMES[:5], ODD_NAMES[5:10]):
        frame = frame_of(X, names)
        estimator = case.fit(case.new(), frame, labels)
        for scope, explanation in case.explanations(estimator, frame).items():
            got = explanation.feature_names
            assert set(names) <= set(got), f"{scope}: feature_names is {got}"
            if case.is_classifier:
                targets = list(explanation.target_names)
                assert targets == list(estimator.classes_), f"{scope}: {targets}"
            _check_shown(explanation, names, scope)


def _check_shown(explanation: Any, names: tuple[str, ...], scope: Any) -> None:
    """Whatever column is shown in the table is written as the user wrote it."""
    frame = explanation.to_frame()
    shown = [str(c) for c in frame.columns]
    shown += [str(v) for c in frame.columns for v in frame[c].tolist()]
    written = " ".join(shown)
    assert any(name in written for name in names), f"{scope}: to_frame names no column"
    assert any(name in explanation.to_text() for name in names), (
        f"{scope}: to_text names no column as given"
    )


@check(tabular)
def check_array_after_frame(case: Case) -> None:
    """A plain array after a frame in fit gives a warning, and the same numbers."""
    X, y = case.Xy
    frame = frame_of(X)
    estimator = case.fit(case.new(), frame, y)
    got, expected = case.outputs(estimator, X), case.outputs(estimator, frame)
    assert_same(got, expected, "an array after a frame", atol=1e-9)
    methods = ["explain"] if "local" in case.explains else []
    methods += [m for m in ("predict", "transform") if hasattr(estimator, m)]
    for method in methods:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(estimator, method)(X)
        told = any("feature names" in str(w.message) for w in caught)
        assert told, f"{method} of an array after a frame does not warn"


@check(tabular)
def check_polars_frame(case: Case) -> None:
    """A polars frame is taken as a pandas frame is, names included."""
    try:
        import polars as pl
    except ImportError as error:
        msg = "polars is not installed"
        raise SkipTest(msg) from error
    X, y = case.Xy
    names = list(ODD_NAMES[3:8])
    frame = pl.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    estimator = case.fit(case.new(), frame, y)
    assert list(estimator.feature_names_in_) == names, estimator.feature_names_in_
    expected = case.outputs(case.fitted, X)
    got = case.outputs(estimator, frame)
    assert_same(got, expected, "with a polars frame", atol=1e-9)
    for scope, explanation in case.explanations(estimator, frame).items():
        got = explanation.feature_names
        assert set(names) <= set(got), f"{scope} of a polars frame names {got}"


@check(lambda case: case.is_tabular and "local" in case.explains)
def check_explain_columns(case: Case) -> None:
    """``explain`` refuses columns in another order, a missing and an extra one."""
    X, y = case.Xy
    frame = frame_of(X)
    estimator = case.fit(case.new(), frame, y)
    for what, other in (
        ("columns in another order", frame.iloc[:, ::-1]),
        ("a column missing", frame.iloc[:, 1:]),
        ("an extra column", frame.assign(extra=1.0)),
        ("too few columns in an array", X[:, 1:]),
    ):
        work = partial(estimator.explain, other)
        with quiet():
            assert_soft_failure(work, f"explain with {what}", ["feature"])


@check(tabular)
def check_numeric_columns(case: Case) -> None:
    """Integer, boolean and nullable columns are the numbers that they hold."""
    X, y = case.Xy
    frame = frame_of(np.clip(np.round(X), 0, 1))
    expected = case.outputs(case.fit(case.new(), frame, y), frame)
    for dtype in ("int64", "int8", "bool", "Int64", "boolean", "Float64"):
        typed = frame.astype(dtype) if dtype != "boolean" else frame.astype("bool")
        typed = typed.astype(dtype)
        work = partial(case.fit, case.new(), typed, y)
        done, estimator = softly(work, f"fitting {dtype} columns", [dtype, "dtype"])
        if done:
            got = case.outputs(estimator, typed)
            assert_same(got, expected, f"with {dtype} columns", atol=1e-9)
            case.explanations(estimator, typed)


@check(tabular)
def check_text_columns(case: Case) -> None:
    """Text and categories are used where the tags say so, and else refused softly."""
    import pandas as pd

    X, y = case.Xy
    tags = case.sklearn_tags.input_tags
    words = np.array(["red", "green", "blue"])[np.arange(len(y)) % 3]
    for dtype, taken in (
        ("object", tags.string),
        ("str", tags.string),
        ("string", tags.string),
        ("category", tags.categorical),
    ):
        frame = frame_of(X).assign(
            color=pd.Series(words).astype(pd.api.types.pandas_dtype(dtype))
        )
        what = f"fitting a column of dtype {dtype}"
        work = partial(case.fit, case.new(), frame, y)
        done, estimator = softly(work, what, ["color", "red", "green", "blue", "dtype"])
        assert done or not taken, f"{what} is refused although the tags say it is used"
        if done:
            case.answers(estimator, frame)
        if taken:  # no other column to hold on to
            case.answers(case.fit(case.new(), frame[["color"]], y), frame[["color"]])


@check(lambda case: case.is_tabular and case.sklearn_tags.input_tags.categorical)
def check_unseen_category(case: Case) -> None:
    """A category never seen in fit gets an answer, or is refused naming the column."""
    import pandas as pd

    X, y = case.Xy
    color = pd.Series(
        np.array(["red", "blue"])[np.arange(len(y)) % 2], dtype="category"
    )
    frame = frame_of(X).assign(color=color)
    estimator = case.fit(case.new(), frame, y)
    other = frame.assign(color=pd.Series(["pink"] * len(y), dtype="category"))
    work = partial(case.answers, estimator, other)
    softly(work, "a category never seen in fit", ["color"])


@check(tabular)
def check_constant_columns(case: Case) -> None:
    """Constant and equal columns fit, get no importance, and ties break one way."""
    X, y = case.Xy
    tied = np.column_stack([X[:, 0], X, np.full(len(X), 3.0), np.zeros(len(X))])
    estimator = case.fit(case.new(), tied, y)
    answers = case.answers(estimator, tied)
    again = case.answers(case.fit(case.new(), tied, y), tied)
    assert_same(again, answers, "with equal columns, fitted twice")
    for scope, explanation in case.explanations(estimator, tied).items():
        used = used_features(explanation)
        assert used is None or not used & {6, 7}, (
            f"{scope}: a constant column is given importance (columns used: {used})"
        )


def used_features(explanation: Any) -> set[int] | None:
    """Columns that an explanation gives any weight, where its kind has such a list."""
    if explanation.kind == "rules":
        return {int(j) for j in explanation.feature}
    if explanation.kind == "attribution" and explanation.scope == "global":
        sizes = np.abs(explanation.values).reshape(len(explanation.values), -1)
        return {int(j) for j in np.flatnonzero(sizes.max(axis=1) > 1e-12)}
    return None


@check(tabular)
def check_missing_and_infinite(case: Case) -> None:
    """NaN and inf are refused softly, or answered with numbers, as the tags say."""
    X, y = case.Xy
    for value, words in ((np.nan, ["nan", "missing"]), (np.inf, ["inf"])):
        for bad in (value, -value):
            _check_cell(case, X, y, bad, words)


@check(lambda case: case.is_tabular and case.allows_nan)
def check_kinds_of_missing(case: Case) -> None:
    """A missing cell is missing, whether it is NaN, None or NA."""
    import pandas as pd

    X, y = case.Xy
    whole = frame_of(np.round(X))
    missing = np.arange(len(y)) % 7 == 3
    holed = whole.mask(np.outer(missing, [True, False, True, False, False]))
    expected = case.answers(case.fit(case.new(), holed, y), holed)
    for what, other in (
        ("None in columns of objects", holed.astype(object).where(holed.notna(), None)),
        ("NA in columns of Int64", holed.astype("Int64")),
        ("NA in columns of Float64", holed.astype("Float64")),
    ):
        assert other.isna().to_numpy().sum() == holed.isna().to_numpy().sum()
        got = case.answers(case.fit(case.new(), pd.DataFrame(other), y), other)
        assert_same(got, expected, f"with {what}", atol=1e-9)


def _check_cell(case: Case, X: Any, y: Any, bad: float, words: list[str]) -> None:
    holed = X.copy()
    holed[7, 2] = bad
    must = case.allows_nan and np.isnan(bad)
    methods = ["fit", "predict", "transform"] + ["explain"] * ("local" in case.explains)
    for name in methods:
        if not hasattr(case.fitted, name):
            continue
        what = f"{name} with {bad} in a cell"
        work = partial(_answer_of, case, name, holed, y)
        done, values = softly(work, what, words)
        assert done or not must, f"{what} is refused although the tags allow NaN"
        # a transformer may hand a missing cell on
        for key, value in values.items() if done and name != "transform" else ():
            sound = value.dtype.kind != "f" or not np.isnan(value).any()
            assert sound or key == "transform", f"{what}: {key} gives NaN"


def _answer_of(case: Case, name: str, X: Any, y: Any) -> dict[str, Any]:
    if name == "fit":
        return case.outputs(case.fit(case.new(), X, y), X)
    with quiet():
        result = getattr(case.fitted, name)(X)
    return {} if name == "explain" else {name: np.asarray(result)}
