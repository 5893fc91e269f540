"""Checks at the edge: few rows, no rows, one column, binary tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skinterp.testing._case import Case, as_array, quiet
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same, assert_soft_failure, softly


def tabular(case: Case) -> bool:
    """Apply to methods for tables."""
    return case.is_tabular


def arrays(case: Case) -> bool:
    """Apply where the cases are rows of one array."""
    return case.is_tabular or case.is_series


def assert_finite(answers: dict[str, Any], when: str) -> None:
    """Assert that no output holds NaN."""
    for name, values in answers.items():
        sound = values.dtype.kind != "f" or not np.isnan(values).any()
        assert sound, f"{name} gives NaN {when}"


@check(arrays)
def check_few_rows(case: Case) -> None:
    """One, two and three rows are fitted, or refused saying how many are needed."""
    X, y = case.data(n_classes=2)
    for n in (1, 2, 3):
        what = f"fitting {n} row{'s' * (n > 1)}"
        work = partial(case.fit, case.new(), X[:n], y[:n])
        words = ["sample", "row", "case", "class", "member", "split"]
        done, estimator = softly(work, what, words)
        if done:
            assert_finite(case.outputs(estimator, X), f"after {what}")
            case.explanations(estimator, X)


@check(tabular)
def check_one_column(case: Case) -> None:
    """A single column is fitted, or refused saying how many are needed."""
    X, y = case.Xy
    work = partial(case.fit, case.new(), X[:, :1], y)
    done, estimator = softly(work, "fitting one column", ["feature", "column"])
    if done:
        assert_finite(case.outputs(estimator, X[:, :1]), "after fitting one column")
        case.explanations(estimator, X[:, :1])


@check(arrays)
def check_no_rows(case: Case) -> None:
    """No rows are answered with none of the right width, or refused softly."""
    X, _ = case.Xy
    estimator, whole = case.fitted, case.outputs(case.fitted, X)
    for name, values in whole.items():
        work = partial(getattr(estimator, name), X[:0])
        done, got = softly(work, f"{name} of no rows", ["sample", "row", "case"])
        expected = (0, *values.shape[1:])
        shape = as_array(got).shape if done else expected
        assert shape == expected, f"{name} of no rows has shape {shape}"
    if "local" in case.explains:
        work = partial(estimator.explain, X[:0])
        done, got = softly(work, "explain of no rows", ["sample", "row", "case"])
        assert not done or len(got) == 0, f"explain of no rows has length {len(got)}"


@check(arrays)
def check_one_row(case: Case) -> None:
    """A row gets the same answer alone as among others."""
    X, _ = case.Xy
    whole = case.outputs(case.fitted, X)
    for i in (0, 7, len(X) - 1):
        alone = case.outputs(case.fitted, X[i : i + 1])
        expected = {name: values[i : i + 1] for name, values in whole.items()}
        assert_same(alone, expected, f"row {i} alone", atol=1e-10)


@check(lambda case: arrays(case) and "local" in case.explains)
def check_explain_one_row(case: Case) -> None:
    """A row gets the same explanation alone as among others."""
    X, _ = case.Xy
    for kind in case.explains["local"]:
        with quiet():
            whole = case.fitted.explain(X, kind=kind)
            for i in (0, 7, len(X) - 1):
                alone = case.fitted.explain(X[i : i + 1], kind=kind)
                assert len(alone) == 1, f"explain of one row has length {len(alone)}"
                got, expected = alone.to_frame(), whole[i].to_frame()
                _assert_same_frame(got, expected, f"{kind} of row {i} alone")


def _assert_same_frame(got: Any, expected: Any, what: str) -> None:
    assert list(got.columns) == list(expected.columns), f"{what}: other columns"
    for name in expected.columns:
        a, b = got[name].to_numpy(), expected[name].to_numpy()
        assert_same(a, b, f"{what}, column {name!r}", atol=1e-10)


@check(arrays)
def check_one_dimensional_row(case: Case) -> None:
    """A row that is no table of one row is refused softly."""
    X, _ = case.Xy
    methods = ["predict", "transform"] + ["explain"] * ("local" in case.explains)
    for name in methods:
        if hasattr(case.fitted, name):
            row = np.ravel(X[0])
            work = partial(getattr(case.fitted, name), row)
            words = ["1d", "reshape", "dimension", "1-d", "shape"]
            assert_soft_failure(work, f"{name} of a one-dimensional row", words)


@check(tabular)
def check_binary_table(case: Case) -> None:
    """Many binary columns, one all true, and repeated rows: fits, and stays sound."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 24)).astype(float)
    X[:, 0], X[1] = 1.0, 0.0
    X[30:] = X[:30]
    y = X[:, 1] * 2.0 + X[:, 2] if case.is_regressor else X[:, 1].astype(int)
    estimator = case.fit(case.new(), X, y)
    answers = case.outputs(estimator, X)
    assert_finite(answers, "on a binary table")
    for name, values in answers.items():
        assert_same(values[30:], values[:30], f"{name} of repeated rows", atol=1e-10)
    for explanation in case.explanations(estimator, X).values():
        explanation.check_faithful(estimator, X)
