"""Checks of the protocol: parameters, cloning, fitting, searching."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import (
    ClassifierMixin,
    OutlierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skinterp.compat import Interval, Options, StrOptions
from skinterp.testing._case import OUTPUTS, Case, quiet
from skinterp.testing._check import CHECKS, check
from skinterp.testing._compare import assert_same, assert_soft_failure, softly
from skinterp.testing._interrupt import count_calls, interrupts

MAX_SECONDS = 2.0
MAX_MEGABYTES = 200.0
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# pytest's flag, so that examples may use it
doctest.register_optionflag("NUMBER")
_NUMBER = re.compile(r"[-+]?\d+\.(\d*)(?:[eE][-+]?\d+)?")


class NumberChecker(doctest.OutputChecker):
    """Compare numbers only to the digits that the example shows, as pytest can."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Say whether the output is what the example shows."""
        wanted, found = list(_NUMBER.finditer(want)), list(_NUMBER.finditer(got))
        if len(wanted) == len(found):
            for w, g in zip(reversed(wanted), reversed(found), strict=True):
                if abs(float(w[0]) - float(g[0])) <= 10.0 ** -len(w[1]):
                    got = got[: g.start()] + w[0] + got[g.end() :]
        return super().check_output(want, got, optionflags)


def constraints_of(case: Case, name: str) -> Sequence[Any]:
    """Constraints that the class declares for a parameter, empty if it is free."""
    declared = getattr(type(case.estimator), "_parameter_constraints", {}).get(name, [])
    return [] if declared == "no_validation" else declared


def legal_values(case: Case, name: str) -> Iterator[Any]:
    """Yield values of a parameter that its declared constraints allow."""
    current = case.estimator.get_params(deep=False)[name]
    if isinstance(current, bool):
        yield from (np.bool_(current), not current)
    elif isinstance(current, int):
        yield np.int64(current)
    elif isinstance(current, float):
        yield np.float64(current)
    for constraint in constraints_of(case, name):
        if constraint is None:
            yield None
        elif isinstance(constraint, Options):
            yield from sorted(constraint.options, key=str)


@check()
def check_odd_legal_parameters(case: Case) -> None:
    """Declared options, None and scalars of numpy are kept as given, and fit."""
    X, y = case.Xy
    for name in case.estimator.get_params(deep=False):
        for value in legal_values(case, name):
            _check_legal(case, name, value, X, y)


def _check_legal(case: Case, name: str, value: Any, X: Any, y: Any) -> None:
    what = f"{case.name}({name}={value!r})"
    estimator = clone(case.new().set_params(**{name: value}))
    before = estimator.get_params(deep=False)
    _, error = softly(partial(case.fit, estimator, X, y), f"fitting {what}", [name])
    if isinstance(error, Exception) and isinstance(value, np.generic):
        msg = f"{what} is refused although {name}={value.item()!r} is taken"
        raise AssertionError(msg) from error
    for key, given in before.items():
        kept = estimator.get_params(deep=False)[key]
        assert kept is given, f"fit of {what} changed the parameter {key} to {kept!r}"
    again = clone(estimator).get_params(deep=False)
    assert repr(again) == repr(before), f"a clone of the fitted {what} differs"


@check()
def check_wrong_parameters(case: Case) -> None:
    """A value that no constraint allows is refused in fit, which says what is."""
    X, y = case.Xy
    for name in case.estimator.get_params(deep=False):
        constraints = constraints_of(case, name)
        options = [c for c in constraints if isinstance(c, StrOptions)]
        words = [str(o) for c in options for o in c.options]
        for value in _wrong_values(constraints):
            what = f"fitting {case.name}({name}={value!r})"
            estimator = case.new().set_params(**{name: value})
            work = partial(case.fit, estimator, X, y)
            error = assert_soft_failure(work, what, [name])
            unsaid = [w for w in words if w not in str(error)]
            assert not unsaid, (
                f"{what}: the error does not say that {unsaid} is allowed"
            )


def _wrong_values(constraints: Sequence[Any]) -> Iterator[Any]:
    if not constraints:
        return
    yield object()
    texts = (StrOptions, Options)
    if not any(c is str or c == "str" or isinstance(c, texts) for c in constraints):
        yield "no such value"
    if any(isinstance(c, StrOptions) for c in constraints) and str not in constraints:
        yield "no such option"
    intervals = [c for c in constraints if isinstance(c, Interval)]
    if intervals and not any(c in (Real, "nan") for c in constraints):
        yield float("nan")
    if len(intervals) == 1 and intervals[0].left is not None:
        lowest = intervals[0].left
        yield int(lowest) - 1 if intervals[0].type is Integral else float(lowest) - 1.0


@check()
def check_expected_failures_exist(case: Case) -> None:
    """Every check that the estimator excuses in ``expected_failures`` exists."""
    from skinterp.testing._sklearn import sklearn_checks

    known = set(CHECKS) | {name for name, _ in sklearn_checks(case)}
    known |= {name.partition("(")[0] for name in known}
    unknown = sorted(set(case.tags.expected_failures) - known)
    assert not unknown, f"expected_failures of {case.name} names no check: {unknown}"
    for name, reason in case.tags.expected_failures.items():
        assert reason.strip(), f"expected_failures[{name!r}] gives no reason"


@check()
def check_kind_of_estimator(case: Case) -> None:
    """scikit-learn tells its kind, alone and as the last step of a pipeline."""
    first = StandardScaler() if case.is_tabular else FunctionTransformer()
    for tell, mixin in (
        (is_classifier, ClassifierMixin),
        (is_regressor, RegressorMixin),
        (is_outlier_detector, OutlierMixin),
    ):
        expected = isinstance(case.estimator, mixin)
        for estimator in (case.estimator, make_pipeline(first, case.estimator)):
            got = tell(estimator)
            assert got == expected, f"{tell.__name__}({estimator!r}) is {got}"


@check(lambda case: case.is_classifier or case.is_regressor)
def check_grid_search(case: Case) -> None:
    """``GridSearchCV`` with two workers finds a model that predicts and explains."""
    X, y = case.Xy
    with quiet(), parallel_config(backend="threading"):
        search = GridSearchCV(case.new(), _grid(case), cv=2, n_jobs=2)
        search.fit(X, y)
    best = search.best_estimator_
    assert np.isfinite(search.best_score_), f"best_score_ is {search.best_score_}"
    assert type(best) is type(case.estimator), f"best_estimator_ is {best!r}"
    answers = case.answers(best, X)
    assert len(answers["predict"]) == len(y), "best_estimator_ predicts other rows"


def _grid(case: Case) -> dict[str, list[Any]]:
    """Two values of one parameter, as plain as there are."""
    for name in case.estimator.get_params(deep=False):
        if name not in ("n_jobs", "verbose", "random_state"):
            values = [v for v in legal_values(case, name) if v is not None]
            if len({repr(v) for v in values}) > 1:
                return {name: values[:2]}
    return {"random_state": [0, 1]} if case.has_parameter("random_state") else {}


@check(lambda case: case.sklearn_tags.requires_fit)
def check_not_fitted(case: Case) -> None:
    """Before fit, every method raises ``NotFittedError`` that names the class."""
    X, y = case.Xy
    original = case.new()
    case.fit(clone(original), X, y)
    for estimator in (case.new(), original):
        for name in OUTPUTS:
            if hasattr(estimator, name):
                _assert_not_fitted(case, partial(getattr(estimator, name), X))


def _assert_not_fitted(case: Case, work: Any) -> None:
    error = assert_soft_failure(work, f"using {case.name} before fit", [case.name])
    assert isinstance(error, NotFittedError), f"{type(error).__name__}: {error}"


@check(lambda case: bool(case.explains) and case.sklearn_tags.requires_fit)
def check_explain_before_fit(case: Case) -> None:
    """``explain`` before fit raises ``NotFittedError`` that names the class."""
    X, _ = case.Xy
    _assert_not_fitted(case, case.new().explain)
    _assert_not_fitted(case, partial(case.new().explain, X))


@check()
def check_refit(case: Case) -> None:
    """A second fit owes nothing to a first one on other columns and classes."""
    X, y = case.Xy
    fresh = case.answers(case.fit(case.new(), X, y), X)
    for other_X, other_y in _other_data(case):
        estimator = case.new()
        softly(partial(case.fit, estimator, other_X, other_y), "the first fit")
        again = case.answers(case.fit(estimator, X, y), X)
        assert_same(again, fresh, "after a fit on other data")


def _other_data(case: Case) -> Iterator[tuple[Any, Any]]:
    X, y = case.data(seed=1, n_classes=2)
    names = np.array(["no", "yes"])
    yield X, names[y] if case.is_classifier else y
    if case.is_tabular:
        import pandas as pd

        yield pd.DataFrame(X[:, :3], columns=["a", "b", "c"]), y


@check(lambda case: case.sklearn_tags.requires_fit)
def check_interrupt(case: Case) -> None:
    """An interrupted fit leaves the estimator unfitted or sound, and able to fit."""
    X, y = case.Xy
    expected = case.answers(case.fitted, X)
    counted = count_calls(partial(case.new().fit, X, y))
    for share in (0.3, 0.6, 0.9):
        estimator, limit = case.new(), int(counted * share)
        if limit < 1 or not interrupts(partial(estimator.fit, X, y), limit):
            continue
        for name in ("explain", *(n for n in OUTPUTS if hasattr(case.fitted, n))):
            _check_interrupted(estimator, name, X, f"interrupted at {share:.0%}")
        again = case.answers(case.fit(estimator, X, y), X)
        assert_same(again, expected, "fitting again after an interrupt")


def _check_interrupted(estimator: Any, name: str, X: Any, when: str) -> None:
    try:
        with quiet():
            getattr(estimator, name)(X)
    except (NotFittedError, ValueError):
        return
    except Exception as error:
        msg = (
            f"{name} after a fit {when} raises {type(error).__name__}: {error}; it "
            "should raise NotFittedError (set what check_is_fitted looks for last)"
        )
        raise AssertionError(msg) from error


@check()
def check_fit_is_cheap(case: Case) -> None:
    """A second fit on the tiny data takes below 2 s of CPU and 200 MB."""
    X, y = case.Xy
    case.fit(case.new(), X, y)
    start = time.process_time()
    case.fit(case.new(), X, y)
    seconds = time.process_time() - start
    assert seconds < MAX_SECONDS, f"fit takes {seconds:.1f} s; set _test_params()"
    tracemalloc.start()
    case.fit(case.new(), X, y)
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    assert megabytes < MAX_MEGABYTES, f"fit takes {megabytes:.0f} MB on the tiny data"


@check()
def check_docstring_example(case: Case) -> None:
    """The class has an example, which runs in an empty folder as it stands."""
    cls = type(case.estimator)
    doc = inspect.getdoc(cls) or ""
    namespace = dict(vars(sys.modules[cls.__module__]))
    test = doctest.DocTestParser().get_doctest(doc, namespace, case.name, None, 0)
    assert test.examples, f"the docstring of {case.name} has no example"
    report: list[str] = []
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            runner = doctest.DocTestRunner(NumberChecker(), optionflags=FLAGS)
            result = runner.run(test, out=report.append)
        finally:
            os.chdir(here)
    assert result.failed == 0, "".join(report)
