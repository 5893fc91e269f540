"""Three views of one list of checks: a generator, a runner and a pytest decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from importlib import metadata
from typing import Any

from skinterp.testing import (  # noqa: F401  (the imports fill the list of checks)
    _checks_displays,
    _checks_edges,
    _checks_explanations,
    _checks_frames,
    _checks_labels,
    _checks_memory,
    _checks_persistence,
    _checks_processes,
    _checks_protocol,
    _checks_randomness,
    _checks_series,
    _checks_values,
)
from skinterp.testing._case import Case
from skinterp.testing._check import CHECKS, CheckRecord, run
from skinterp.testing._fresh_session import FRESH
from skinterp.testing._sklearn import sklearn_checks


class MethodCheck:
    """A check bound to an estimator: call it, and it raises if something is wrong.

    Parameters
    ----------
    name : str
        Name of the check.
    case : Case
        The estimator.
    work : callable
        Does the checking, without arguments.
    """

    def __init__(self, name: str, case: Case, work: Callable[[], None]) -> None:
        self.name, self.case, self.work = name, case, work

    def __repr__(self) -> str:
        return f"<{self.name} of {self.case}>"

    def __call__(self, estimator: Any = None) -> None:
        """Run the check.

        Parameters
        ----------
        estimator : estimator, default=None
            Only the estimator that the check is bound to may be given: this is the
            form in which tests of scikit-learn's checks are written.
        """
        if estimator is not None and estimator is not self.case.estimator:
            msg = f"{self!r} is bound to {self.case.estimator!r}, got {estimator!r}"
            raise ValueError(msg)
        self.work()


class MethodCheckError(AssertionError):
    """Some checks failed, or passed in spite of an excuse.

    Parameters
    ----------
    records : list of CheckRecord
        What became of every check.

    Examples
    --------
    >>> record = CheckRecord("Tree()", "check_pickle", "failed", "cannot pickle")
    >>> print(MethodCheckError([record]))
    1 of 1 checks need attention:
      Tree(): failed  check_pickle: cannot pickle
    """

    def __init__(self, records: list[CheckRecord]) -> None:
        self.records = records
        bad = [record for record in records if not record.ok]
        lines = [f"  {record.estimator}: {record}" for record in bad]
        head = f"{len(bad)} of {len(records)} checks need attention:"
        super().__init__("\n".join([head, *lines]))


def method_checks(method: Any) -> Iterator[tuple[str, MethodCheck]]:
    """Yield the checks that apply to a method.

    Parameters
    ----------
    method : estimator, class or str
        An unfitted estimator; a class, which is checked with each of its
        ``_test_params()``; or the name of a registered method.

    Yields
    ------
    name : str
        Name of the check.
    work : callable
        Runs it, raising where the behaviour is missing and ``unittest.SkipTest``
        where it cannot be tried. It may be given the estimator, and need not.

    Examples
    --------
    >>> from skinterp.testing import method_checks
    >>> from skinterp.testing.mocks import CentroidClassifier
    >>> checks = dict(method_checks(CentroidClassifier()))
    >>> checks["check_pickle"]()
    """
    for case in cases_of(method):
        yield from checks_of(case)


def checks_of(case: Case) -> Iterator[tuple[str, MethodCheck]]:
    """Yield the checks that apply to a case, scikit-learn's first."""
    for name, work in sklearn_checks(case):
        yield name, MethodCheck(name, case, work)
    if not case.has_data:
        work = functools.partial(_no_data, case)
        yield "check_data", MethodCheck("check_data", case, work)
        return
    for one in CHECKS.values():
        if one.applies(case):
            work = functools.partial(one.function, case)
            yield one.name, MethodCheck(one.name, case, work)


def _no_data(case: Case) -> None:
    msg = (
        f"there is no data for input {case.tags.input!r}; add a builder with "
        "skinterp.testing.register_data"
    )
    raise ValueError(msg)


def excuse_for(case: Case, name: str) -> str | None:
    """Reason for which a check is expected to fail, None if it is not."""
    failures = case.tags.expected_failures
    return failures.get(name, failures.get(name.partition("(")[0]))


def check_method(
    method: Any, *, only: str = "*", on_fail: str = "raise"
) -> list[CheckRecord]:
    """Run every check that applies to a method.

    Parameters
    ----------
    method : estimator, class or str
        As for `method_checks`.
    only : str, default="*"
        Pattern of the names of the checks to run, such as ``"check_explain*"``.
    on_fail : {"raise", "record"}, default="raise"
        Whether to raise, after all checks have run, if one needs attention.

    Returns
    -------
    list of CheckRecord
        What became of each check, in order.

    Raises
    ------
    MethodCheckError
        If a check failed, or passed in spite of an entry in ``expected_failures``,
        and ``on_fail`` is "raise".
    ValueError
        If no check has such a name: nothing tried is nothing shown.

    Examples
    --------
    >>> from skinterp.testing import check_method
    >>> from skinterp.testing.mocks import CentroidClassifier
    >>> for record in check_method(CentroidClassifier, only="check_json*"):
    ...     print(record)
    passed  check_json_round_trip
    """
    if on_fail not in ("raise", "record"):
        msg = f"on_fail={on_fail!r} is not one of ['raise', 'record']"
        raise ValueError(msg)
    records = run_checks(cases_of(method), only)
    if not records:
        msg = f"only={only!r} is the name of no check that applies to {method!r}"
        raise ValueError(msg)
    return finish(records, on_fail)


def run_checks(cases: list[Case], only: str = "*") -> list[CheckRecord]:
    """Run the checks of some cases, with one fresh process for all of them."""
    for case in cases:
        FRESH.announce(case)
    return [
        run(name, repr(case), work, excuse_for(case, name))
        for case in cases
        for name, work in checks_of(case)
        if fnmatch(name, only)
    ]


def finish(records: list[CheckRecord], on_fail: str) -> list[CheckRecord]:
    """Return the records, or raise if one needs attention."""
    if on_fail == "raise" and not all(record.ok for record in records):
        raise MethodCheckError(records)
    return records


def cases_of(method: Any) -> list[Case]:
    """Make the cases of an estimator, a class or a name."""
    if isinstance(method, Case):
        return [method]
    if isinstance(method, str):
        from skinterp.plugins import get_registry

        row = get_registry().find(method)
        return [case for task in row.tasks for case in cases_of(row.load(task))]
    if isinstance(method, type):
        make: Any = method
        settings = getattr(make, "_test_params", _none)()
        if not isinstance(settings, list | tuple) or not settings:
            msg = (
                f"{method.__name__}._test_params() must give a list of at least one "
                f"dict of parameters, got {settings!r}"
            )
            raise ValueError(msg)
        return [Case(make(**params)) for params in settings]
    if not hasattr(method, "fit"):
        msg = (
            "method must be an estimator, a class or the name of a registered method, "
            f"got {method!r}"
        )
        raise TypeError(msg)
    return [Case(method)]


def _none() -> list[dict[str, Any]]:
    return [{}]


def missing_requirements(requires: Iterable[str]) -> list[str]:
    """Requirements of a method whose distribution is not installed."""
    missing = []
    for requirement in requires:
        name = requirement.replace(" ", "")
        for sign in "<>=!~[;":
            name = name.partition(sign)[0]
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(requirement)
    return missing


def parametrize_with_methods(methods: Iterable[Any] | None = None) -> Any:
    """Decorate a pytest function so that it runs once per method and check.

    Parameters
    ----------
    methods : iterable of estimator, class or str, default=None
        As for `method_checks`. None takes every registered method, those of plugins
        included.

    Returns
    -------
    pytest.MarkDecorator
        Parametrises the arguments ``estimator`` and ``check``, as scikit-learn's
        ``parametrize_with_checks`` does. Checks in ``expected_failures`` are marked
        as strict expected failures, and a method whose optional packages are missing
        is skipped.

    Examples
    --------
    >>> from skinterp.testing import parametrize_with_methods
    >>> from skinterp.testing.mocks import CentroidClassifier
    >>> @parametrize_with_methods([CentroidClassifier])
    ... def test_method(estimator, check):
    ...     check(estimator)
    """
    import pytest

    params = []
    for label, method in _labelled(methods):
        params += _params_of(label, method)
    return pytest.mark.parametrize(("estimator", "check"), params)


def _labelled(methods: Iterable[Any] | None) -> Iterator[tuple[str, Any]]:
    """Yield methods in an order that is the same in every worker."""
    if methods is not None:
        for method in methods:
            name = getattr(method, "__name__", type(method).__name__)
            yield (method if isinstance(method, str) else name), method
        return
    from skinterp.plugins import get_registry

    for row in sorted(get_registry().methods, key=lambda row: row.id):
        yield row.id, row.id


def _params_of(label: str, method: Any) -> list[Any]:
    import pytest

    try:
        cases = cases_of(method)
    except Exception as error:
        failing = functools.partial(_raise, error)
        return [pytest.param(None, failing, id=f"{label}-check_import")]
    params = []
    for i, case in enumerate(cases):
        place = f"{label}-{case.name}" if label != case.name else label
        place += f"[{i}]" if i else ""
        missing = missing_requirements(case.tags.requires)
        if missing:
            mark = pytest.mark.skip(reason=f"needs {', '.join(missing)}")
            params.append(pytest.param(None, None, id=place, marks=mark))
            continue
        FRESH.announce(case)
        for name, work in checks_of(case):
            excuse = excuse_for(case, name)
            strict = pytest.mark.xfail(reason=excuse or "", strict=True)
            marks = [strict] if excuse is not None else []
            params.append(
                pytest.param(case.estimator, work, id=f"{place}-{name}", marks=marks)
            )
    return params


def _raise(error: Exception, estimator: Any = None) -> None:
    raise error
