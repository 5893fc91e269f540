"""Checks of methods for time series."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from skinterp.testing._case import Case, quiet
from skinterp.testing._check import check
from skinterp.testing._checks_edges import assert_finite
from skinterp.testing._compare import assert_same, assert_soft_failure, softly


def series(case: Case) -> bool:
    """Apply to methods for time series."""
    return case.is_series


@check(series)
def check_one_channel(case: Case) -> None:
    """A table of series is taken as series of one channel."""
    X, y = case.Xy
    flat = X[:, 0, :]
    expected = case.outputs(case.fitted, X)
    assert_same(case.outputs(case.fitted, flat), expected, "2-D series in predict")
    estimator = case.fit(case.new(), flat, y)
    assert_same(case.outputs(estimator, flat), expected, "2-D series in fit")


@check(series)
def check_series_attributes(case: Case) -> None:
    """``n_channels_`` and ``n_timepoints_in_`` are kept."""
    X, _ = case.Xy
    for name, expected in (
        ("n_channels_", X.shape[1]),
        ("n_timepoints_in_", X.shape[2]),
    ):
        got = getattr(case.fitted, name, None)
        assert got == expected, f"{name} is {got}, expected {expected}"


@check(series)
def check_unequal_lengths(case: Case) -> None:
    """A list of series of unequal lengths is learnt, or refused softly."""
    X, y = case.Xy
    cases = [series[:, : 40 - i % 5] for i, series in enumerate(X)]
    words = ["length", "timepoint", "time point", "equal"]
    work = partial(case.fit, case.new(), cases, y)
    done, estimator = softly(work, "fitting series of unequal lengths", words)
    if done:
        assert_finite(case.outputs(estimator, cases), "with unequal lengths")


@check(series)
def check_other_length(case: Case) -> None:
    """A series shorter than any in fit is answered, or refused softly."""
    X, _ = case.Xy
    words = ["length", "timepoint", "time point", "shape"]
    work = partial(case.outputs, case.fitted, X[:, :, :10])
    done, answers = softly(work, "predict of shorter series", words)
    if done:
        assert_finite(answers, "for shorter series")


@check(series)
def check_other_channels(case: Case) -> None:
    """Another number of channels than in fit is refused."""
    X, _ = case.Xy
    two = np.concatenate([X, X], axis=1)
    names = ["predict", "transform"] + ["explain"] * ("local" in case.explains)
    for name in names:
        if hasattr(case.fitted, name):
            work = partial(getattr(case.fitted, name), two)
            assert_soft_failure(work, f"{name} with other channels", ["channel"])


@check(series)
def check_flat_and_shifted_series(case: Case) -> None:
    """A flat series, and series far from zero, get finite answers."""
    X, y = case.Xy
    flat = np.concatenate([np.zeros_like(X[:1]), X[1:]])
    for what, data in (("a flat series", flat), ("series + 1e8", X + 1e8)):
        answers: dict[str, Any] = case.outputs(case.fitted, data)
        assert_finite(answers, f"for {what} in predict")
        assert_finite(case.outputs(case.fit(case.new(), data, y), data), f"for {what}")


@check(series)
def check_missing_time_points(case: Case) -> None:
    """A missing time point is answered where the tags allow it, else refused."""
    X, _ = case.Xy
    holed = X.copy()
    holed[3, 0, 5] = np.nan
    work = partial(case.outputs, case.fitted, holed)
    done, answers = softly(
        work, "predict with a missing time point", ["nan", "missing"]
    )
    assert done or not case.allows_nan, "refused although the tags allow NaN"
    if done:
        assert_finite(answers, "with a missing time point")


@check(series)
def check_infinite_time_points(case: Case) -> None:
    """An infinite time point is refused in fit and afterwards, or answered."""
    X, y = case.Xy
    holed = X.copy()
    holed[3, 0, 5] = np.inf
    for what, work in (
        ("predict", partial(case.outputs, case.fitted, holed)),
        ("fit", partial(_fit_and_answer, case, holed, y)),
    ):
        done, answers = softly(work, f"{what} with an infinite time point", ["inf"])
        if done:
            assert_finite(answers, "with an infinite time point")


def _fit_and_answer(case: Case, X: Any, y: Any) -> dict[str, Any]:
    return case.outputs(case.fit(case.new(), X, y), X)


def containers(X: Any) -> Iterator[tuple[str, Any]]:
    """Yield the same series in other containers."""
    import pandas as pd

    yield "a list of channels by time points", list(X)
    yield "a list of series", list(X[:, 0])
    yield "a frame of one series per row", pd.DataFrame(X[:, 0])
    yield "a frame of one series per cell", pd.DataFrame({"a": list(X[:, 0])})


@check(series)
def check_containers(case: Case) -> None:
    """Lists, and frames of a series per row or cell, are read alike, or refused."""
    X, y = case.Xy
    expected = case.outputs(case.fitted, X)
    words = ["list", "frame", "array", "dimension", "type", "number", "float"]
    for what, data in containers(X):
        done, got = softly(partial(case.outputs, case.fitted, data), what, words)
        if not done:
            continue
        assert_same(got, expected, what, atol=1e-9)
        estimator = case.fit(case.new(), data, y)
        assert_same(
            case.outputs(estimator, data), expected, f"{what} in fit", atol=1e-9
        )


@check(series)
def check_channel_names(case: Case) -> None:
    """Channels of a frame of cells are named in explanations as the user wrote them."""
    import pandas as pd

    X, y = case.Xy
    names = ("größe µ", "<b>x</b>")
    frame = pd.DataFrame(
        {name: list(X[:, 0] * (1 + i)) for i, name in enumerate(names)}
    )
    words = ["list", "frame", "array", "dimension", "type", "number", "float"]
    done, estimator = softly(
        partial(case.fit, case.new(), frame, y), "fitting a frame of cells", words
    )
    if done:
        for (scope, kind), one in case.explanations(estimator, frame).items():
            got = " ".join(one.feature_names)
            missing = [name for name in names if name not in got]
            assert not missing, f"{scope} {kind} does not name the channels {missing}"


@check(series)
def check_series_in_pipeline(case: Case) -> None:
    """In a pipeline it scores on string labels, and ``skinterp.explain`` reaches it."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    import skinterp

    X, y = case.data(n_classes=2)
    target = y if case.is_regressor else np.array(["b c", "<d>"])[y]
    last = () if case.is_predictor else (RidgeClassifier(),)
    with quiet():
        scores = cross_val_score(make_pipeline(case.new(), *last), X, target, cv=2)
        assert np.isfinite(scores).all(), f"cross_val_score gives {scores}"
        pipeline = make_pipeline(FunctionTransformer(), case.new()).fit(X, target)
        for scope, kind in case.scopes():
            given = () if scope == "global" else (X,)
            told = skinterp.explain(pipeline, *given, kind=kind)
            alone = pipeline[-1].explain(*given, kind=kind)
            assert told.feature_names == alone.feature_names, f"{told.feature_names}"
            told.check_faithful(pipeline, X)
