"""Checks of labels, targets and sample weights."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.testing._case import Case, quiet
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same, assert_soft_failure, softly


def classifier(case: Case) -> bool:
    """Apply to classifiers."""
    return case.is_classifier


def supervised(case: Case) -> bool:
    """Apply to classifiers and regressors."""
    return case.is_classifier or case.is_regressor


def weighted(case: Case) -> bool:
    """Apply to predictors whose ``fit`` takes sample_weight."""
    return case.takes_weights and supervised(case)


def label_sets(n: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield labels of every usual type, in sorted order."""
    yield "strings", np.array(["a long one", "b", "c"][:n])
    yield "objects", np.array(["no", "or", "yes"][:n], dtype=object)
    yield "spread integers", np.array([10, 20, 30][:n])
    yield "floats", np.array([1.0, 2.0, 3.0][:n])
    if n == 2:
        yield "booleans", np.array([False, True])
        yield "signs", np.array([-1, 1])


@check(classifier)
def check_label_types(case: Case) -> None:
    """Labels of any type come back: sorted in ``classes_``, same dtype in predict."""
    for n in (2, 3) if case.multi_class else (2,):
        X, y = case.data(n_classes=n)
        plain = case.outputs(case.fit(case.new(), X, y), X)
        for what, labels in label_sets(n):
            estimator = case.fit(case.new(), X, labels[y])
            _check_labels(case, estimator, labels, X, y, f"{n} {what} as labels")
            assert_same(
                estimator.predict(X), labels[plain["predict"]], f"predict, {n} {what}"
            )


def _check_labels(
    case: Case, estimator: Any, labels: Any, X: Any, y: Any, what: str
) -> None:
    classes, predicted = estimator.classes_, estimator.predict(X)
    assert_same(np.asarray(classes), labels, f"classes_ with {what}")
    assert predicted.dtype.kind == labels.dtype.kind, (
        f"predict returns {predicted.dtype} for {labels.dtype}, {what}"
    )
    score = estimator.score(X, labels[y])
    assert 0.0 <= score <= 1.0, f"score is {score} with {what}"


@check(classifier)
def check_categorical_labels(case: Case) -> None:
    """A pandas Categorical with an unused level gives the classes that occur."""
    import pandas as pd

    X, y = case.data(n_classes=2)
    labels = np.array(["no", "yes"], dtype=object)[y]
    series = pd.Series(pd.Categorical(labels, categories=["maybe", "no", "yes"]))
    estimator = case.fit(case.new(), X, series)
    assert list(estimator.classes_) == ["no", "yes"], f"{estimator.classes_}"
    expected = case.fit(case.new(), X, labels)
    assert_same(
        list(estimator.predict(X)), list(expected.predict(X)), "predict, Categorical"
    )


@check(lambda case: case.is_classifier and case.has_method("predict_proba"))
def check_predict_proba_columns(case: Case) -> None:
    """Columns of ``predict_proba`` follow ``classes_``, sum to 1, fit predict."""
    X, y = case.data()
    labels = np.array(["z", "m", "a"])[y]
    estimator = case.fit(case.new(), X, labels)
    proba = estimator.predict_proba(X)
    shape = (len(y), len(estimator.classes_))
    assert proba.shape == shape, f"predict_proba: shape {proba.shape}, not {shape}"
    assert np.isfinite(proba).all(), "predict_proba is not finite"
    assert proba.min() >= 0.0, f"predict_proba gives {proba.min()}"
    assert_same(proba.sum(axis=1), np.ones(len(y)), "sum of predict_proba", atol=1e-6)
    ordered = np.sort(proba, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 0.1 if proba.shape[1] > 1 else [True]
    chosen = estimator.classes_[proba.argmax(axis=1)]
    assert_same(chosen[clear], estimator.predict(X)[clear], "most probable class")


@check(classifier)
def check_one_class(case: Case) -> None:
    """With one class, fit refuses softly or gives a sound constant model."""
    X, _ = case.Xy
    y = np.full(case.data()[1].shape, "only")
    work = partial(case.fit, case.new(), X, y)
    done, estimator = softly(work, "fitting one class", ["class", "label", "only"])
    if done:
        assert list(estimator.classes_) == ["only"], f"{estimator.classes_}"
        answers = case.outputs(estimator, X)
        assert set(answers["predict"]) == {"only"}, "predict leaves the one class"
        proba = answers.get("predict_proba", np.ones((len(y), 1)))
        assert_same(
            proba, np.ones((len(y), 1)), "predict_proba of one class", atol=1e-9
        )
        case.explanations(estimator, X)


@check(classifier)
def check_rare_class(case: Case) -> None:
    """A class with one member is kept, with finite probabilities, or refused softly."""
    X, y = case.data(n_classes=2)
    labels = np.where(np.arange(len(y)) == 1, 1, 0)
    done, estimator = softly(
        partial(case.fit, case.new(), X, labels), "fitting a rare class", ["class", "1"]
    )
    if done:
        assert list(estimator.classes_) == [0, 1], f"classes_ is {estimator.classes_}"
        _assert_finite(case.outputs(estimator, X), "with a class of one member")
        case.explanations(estimator, X)


def _assert_finite(answers: dict[str, NDArray[Any]], when: str) -> None:
    for name, values in answers.items():
        bad = values.dtype.kind == "f" and np.isnan(values).any()
        assert not bad, f"{name} gives NaN {when}"


@check(classifier)
def check_continuous_labels(case: Case) -> None:
    """A continuous target is refused by a classifier."""
    X, y = case.Xy
    target = np.random.default_rng(0).normal(size=len(y))
    work = partial(case.fit, case.new(), X, target)
    assert_soft_failure(work, "fitting continuous labels", ["label", "continuous"])


@check(lambda case: case.is_classifier and not case.multi_class)
def check_binary_only(case: Case) -> None:
    """A method for two classes refuses three, saying how many it got."""
    X, y = case.data(n_classes=3)
    work = partial(case.fit, case.new(), X, y)
    assert_soft_failure(work, "fitting three classes", ["binary", "two", "multiclass"])


@check(supervised)
def check_target_shapes(case: Case) -> None:
    """A list, a column and a Series with any index are the target they hold."""
    import warnings

    import pandas as pd

    X, y = case.data(n_classes=2)
    expected = case.outputs(case.fit(case.new(), X, y), X)
    index = np.random.default_rng(0).permutation(len(y))
    for what, target in (
        ("a list", y.tolist()),
        ("a Series with a shuffled index", pd.Series(y, index=index)),
    ):
        got = case.outputs(case.fit(case.new(), X, target), X)
        assert_same(got, expected, f"with {what} as y")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = case.outputs(case.new().fit(X, y[:, None]), X)
    told = any(w.category.__name__ == "DataConversionWarning" for w in caught)
    if not case.sklearn_tags.target_tags.multi_output:
        assert told, "y of shape (n, 1) gives no DataConversionWarning"
        assert_same(got, expected, "with y of shape (n, 1)")


@check(supervised)
def check_two_targets(case: Case) -> None:
    """A target with two columns is learnt, or refused softly."""
    X, y = case.data(n_classes=2)
    work = partial(case.fit, case.new(), X, np.column_stack([y, y]))
    done, estimator = softly(
        work, "fitting y of shape (n, 2)", ["1d", "shape", "multi", "2"]
    )
    if done:
        shape = estimator.predict(X).shape
        assert shape == (len(y), 2), f"predict has shape {shape} for y of two columns"


@check(lambda case: case.is_regressor)
def check_integer_target(case: Case) -> None:
    """Whole numbers are as good a target as the same numbers as floats."""
    X, y = case.Xy
    whole = np.round(y).astype(np.int64)
    expected = case.outputs(case.fit(case.new(), X, whole.astype(float)), X)
    got = case.outputs(case.fit(case.new(), X, whole), X)
    assert_same(got, expected, "with an integer target", atol=1e-9)


@check(lambda case: weighted(case) and not case.tags.stochastic)
def check_zero_weights(case: Case) -> None:
    """A weight of zero is the same as leaving the row out."""
    X, y = case.Xy
    kept = np.arange(len(y)) % 5 != 0
    expected = case.fit(case.new(), X[kept], y[kept], sample_weight=np.ones(kept.sum()))
    got = case.fit(case.new(), X, y, sample_weight=kept.astype(float))
    _assert_close(case, got, expected, "zero weights and left-out rows")


@check(weighted)
def check_scaled_weights(case: Case) -> None:
    """All weights times 7 change nothing."""
    X, y = case.Xy
    weights = 1.0 + np.arange(len(y)) % 3
    expected = case.fit(case.new(), X, y, sample_weight=weights)
    got = case.fit(case.new(), X, y, sample_weight=7.0 * weights)
    _assert_close(case, got, expected, "weights and 7 times these weights")


@check(lambda case: weighted(case) and not case.tags.stochastic)
def check_repeated_rows(case: Case) -> None:
    """Integer weights are the same as repeated rows."""
    X, y = case.Xy
    weights = 1 + np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    expected = case.fit(case.new(), X[rows], y[rows])
    got = case.fit(case.new(), X, y, sample_weight=weights)
    _assert_close(case, got, expected, "weights and repeated rows")


def _assert_close(case: Case, got: Any, expected: Any, what: str) -> None:
    X, _ = case.Xy
    assert_same(case.outputs(got, X), case.outputs(expected, X), what, atol=1e-6)


@check(weighted)
def check_weight_length(case: Case) -> None:
    """Weights of another length than the rows are refused."""
    X, y = case.Xy
    work = partial(case.fit, case.new(), X, y, sample_weight=np.ones(len(y) - 1))
    words = ["sample_weight", "inconsistent", "weights"]
    assert_soft_failure(work, "fitting with too few weights", words)


@check(weighted)
def check_weights_are_used(case: Case) -> None:
    """Weights that single out some rows change the model."""
    X, y = case.Xy
    weights = np.where(np.arange(len(y)) % 3 == 0, 1e3, 1e-3)
    other = np.random.default_rng(0).permutation(y)
    with quiet():
        plain = case.outputs(case.fit(case.new(), X, other), X)
        got = case.outputs(case.fit(case.new(), X, other, sample_weight=weights), X)
    try:
        assert_same(got, plain, "")
    except AssertionError:
        return
    msg = f"{case.name}.fit takes sample_weight and pays no heed to it"
    raise AssertionError(msg)
