"""The three views of the list of checks, and what they say."""

import functools

import pytest
from broken.protocol import ExcusesNothing, FitReturnsNothing
from broken.working import HoldsLambda

from skinterp.base import SkinterpTags
from skinterp.testing import (
    CheckRecord,
    MethodCheckError,
    check_method,
    make_data,
    method_checks,
    parametrize_with_methods,
    register_data,
)
from skinterp.testing._check import run
from skinterp.testing._data import _BUILDERS
from skinterp.testing.mocks import CenterTransformer, CentroidClassifier


class Excused(HoldsLambda):
    def __skinterp_tags__(self):
        return SkinterpTags(
            expected_failures={
                "check_pickle": "holds a lambda",
                "check_copy": "no longer true",
                "check_readonly_memmap_input": "no longer true",
            }
        )


class SeveralSettings(CentroidClassifier):
    @classmethod
    def _test_params(cls):
        return [{"metric": "plain"}, {"metric": "scaled"}]


class NeedsMissingPackage(CenterTransformer):
    def __skinterp_tags__(self):
        return SkinterpTags(requires=("no-such-package>=1",))


class OfOtherInput(CenterTransformer):
    def __skinterp_tags__(self):
        return SkinterpTags(input="smells")


def statuses(*args, **kwargs):
    records = check_method(*args, on_fail="record", **kwargs)
    return {record.name: record.status for record in records}


def test_excused_failure_is_strict():
    assert statuses(Excused, only="check_pickle") == {"check_pickle": "xfailed"}
    with pytest.raises(
        MethodCheckError, match="xpassed check_copy: passes now; delete"
    ):
        check_method(Excused, only="check_copy")
    name = "check_readonly_memmap_input"
    assert statuses(Excused, only=name) == {name: "xpassed"}


def test_all_failures_are_told_at_once():
    with pytest.raises(MethodCheckError) as caught:
        check_method(ExcusesNothing, only="check_ex*")
    failed = [record for record in caught.value.records if not record.ok]
    assert [record.name for record in failed] == ["check_expected_failures_exist"]
    assert "'check_no_such_thing'" in str(caught.value)
    assert isinstance(failed[0].exception, AssertionError)


def test_bare_assertion_is_quoted():
    (record,) = check_method(
        FitReturnsNothing, only="check_estimators_fit_returns_self", on_fail="record"
    )
    assert "assert" in record.reason


def test_skip_is_a_record():
    record = run("check_x", "Tree()", functools.partial(_skip, "no polars"), None)
    assert record == CheckRecord("Tree()", "check_x", "skipped", "no polars")


def _skip(reason):
    import unittest

    raise unittest.SkipTest(reason)


def test_unknown_on_fail_is_refused():
    with pytest.raises(ValueError, match="on_fail='shout' is not one of"):
        check_method(CenterTransformer, on_fail="shout")


def test_class_is_checked_with_each_of_its_settings():
    records = check_method(SeveralSettings, only="check_pickle")
    assert [record.estimator for record in records] == [
        "SeveralSettings()",
        "SeveralSettings(metric='scaled')",
    ]


def test_bound_check_refuses_another_estimator():
    check = dict(method_checks(CenterTransformer()))["check_pickle"]
    check(check.case.estimator)
    with pytest.raises(ValueError, match="is bound to CenterTransformer"):
        check(CenterTransformer())


def params_of(methods):
    @parametrize_with_methods(methods)
    def test(estimator, check):
        check(estimator)

    (mark,) = test.pytestmark
    assert mark.args[0] == ("estimator", "check")
    return mark.args[1]


def test_parametrisation_is_the_same_each_time():
    methods = [SeveralSettings, CenterTransformer()]
    ids = [param.id for param in params_of(methods)]
    assert ids == [param.id for param in params_of(methods)]
    assert len(set(ids)) == len(ids)
    assert "SeveralSettings[1]-check_pickle" in ids
    assert "CenterTransformer-check_pickle" in ids


def test_parametrisation_marks_excuses_and_missing_packages():
    marks = {p.id: p.marks for p in params_of([Excused, NeedsMissingPackage])}
    (xfail,) = marks["Excused-check_pickle"]
    assert xfail.kwargs == {"reason": "holds a lambda", "strict": True}
    (skip,) = marks["NeedsMissingPackage"]
    assert skip.kwargs["reason"] == "needs no-such-package>=1"


def test_method_that_cannot_be_imported_fails_one_test():
    (param,) = params_of(["no-such-method"])
    assert param.id == "no-such-method-check_import"
    with pytest.raises(LookupError, match="no-such-method"):
        param.values[1](None)


def test_registered_methods_are_found_by_name():
    ids = [param.id for param in params_of(None)]
    assert "skinterp:boolean-tree-BooleanTreeClassifier-check_pickle" in ids


def test_input_without_data_says_what_to_add():
    assert statuses(OfOtherInput)["check_data"] == "failed"
    with pytest.raises(MethodCheckError, match=r"skinterp\.testing\.register_data"):
        check_method(OfOtherInput, only="check_data")


def test_data_can_be_added(monkeypatch):
    monkeypatch.setattr("skinterp.testing._data._BUILDERS", dict(_BUILDERS))
    register_data("smells", lambda task, **_: make_data("tabular", task))
    assert statuses(OfOtherInput, only="check_pickle") == {"check_pickle": "passed"}


@pytest.mark.parametrize("thing", [None, 3, [CentroidClassifier()], object()])
def test_what_is_no_method_is_refused(thing):
    with pytest.raises(TypeError, match="method must be an estimator, a class or"):
        check_method(thing)


@pytest.mark.parametrize("settings", [[], {"metric": "plain"}, None])
def test_a_class_without_settings_to_try_is_refused(settings):
    class NothingToTry(CentroidClassifier):
        @classmethod
        def _test_params(cls):
            return settings

    with pytest.raises(ValueError, match=r"NothingToTry\._test_params\(\) must give"):
        check_method(NothingToTry)


def test_a_pattern_that_no_check_has_is_refused():
    with pytest.raises(ValueError, match="only='check_pikle' is the name of no check"):
        check_method(CentroidClassifier, only="check_pikle")
