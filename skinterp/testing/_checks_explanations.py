"""Checks of ``explain``: what it takes, what it refuses, that it tells the truth."""

from __future__ import annotations

import copy
import pickle
from functools import partial, wraps
from typing import Any

from skinterp.testing._case import Case, content, quiet
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same, assert_soft_failure


def explains(case: Case) -> bool:
    """Apply to what declares an explanation."""
    return bool(case.explains)


def local(case: Case) -> bool:
    """Apply to what explains single cases."""
    return "local" in case.explains


def arguments(case: Case, scope: str) -> tuple[Any, ...]:
    """Return what ``explain`` is called with for a scope."""
    return () if scope == "global" else (case.Xy[0],)


@check()
def check_explains_declared(case: Case) -> None:
    """The class declares ``explains``, with scopes and kinds that exist."""
    from skinterp.plugins import explanation_kinds

    assert case.explains, f"{case.name} declares nothing in explains"
    for scope, kinds in case.explains.items():
        assert scope in ("global", "local"), f"explains has the scope {scope!r}"
        assert isinstance(kinds, tuple), f"explains[{scope!r}] is {kinds!r}"
        assert kinds, f"explains[{scope!r}] names no kind"
        unknown = set(kinds) - set(explanation_kinds())
        assert not unknown, f"explains[{scope!r}] has unknown kinds {sorted(unknown)}"


@check(explains)
def check_explain_kinds(case: Case) -> None:
    """Every declared scope and kind gives that scope, that kind, a row per case."""
    _, y = case.Xy
    for scope, kinds in case.explains.items():
        with quiet():
            default = case.fitted.explain(*arguments(case, scope))
        assert default.kind == kinds[0], f"{scope}: the default kind is {default.kind}"
        for kind in kinds:
            with quiet():
                explanation = case.fitted.explain(*arguments(case, scope), kind=kind)
            got = explanation.scope, explanation.kind
            assert got == (scope, kind), f"asked for {(scope, kind)}, got {got}"
            if scope == "local":
                n = len(explanation)
                assert n == len(y), f"{kind}: {n} explanations for {len(y)} cases"
                unit = explanation.unit
                assert unit == case.tags.unit, (
                    f"unit is {unit!r}, not {case.tags.unit!r}"
                )


@check(explains)
def check_explain_refusals(case: Case) -> None:
    """An undeclared scope, kind or option is refused before any work."""
    estimator = copy.copy(case.fitted)
    work_done: list[str] = []
    for name in ("_explain", "_validate_X"):
        _count_calls(estimator, name, work_done)
    refuse = assert_soft_failure
    for scope in ("global", "local"):
        given = arguments(case, scope)
        if scope not in case.explains:
            refuse(partial(estimator.explain, *given), f"explain, {scope}", [scope])
        for kind in ("no such kind", 3):
            work = partial(estimator.explain, *given, kind=kind)
            words = ["kind", scope]
            refuse(work, f"explain with kind={kind!r}", words)
        if scope in case.explains:
            work = partial(estimator.explain, *given, no_such_option=1)
            error = refuse(work, "explain with no_such_option", ["no_such_option"])
            assert isinstance(error, TypeError), f"an unknown option raises {error!r}"
    assert not work_done, f"explain calls {work_done[0]} before it refuses"


def _count_calls(estimator: Any, name: str, calls: list[str]) -> None:
    """Note the calls of a method, whose signature stays: options are read off it."""
    method = getattr(estimator, name, None)
    if method is None:
        return

    @wraps(method)
    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return method(*args, **kwargs)

    setattr(estimator, name, counted)


@check(explains)
def check_explain_changes_nothing(case: Case) -> None:
    """``explain`` leaves the estimator as it was, byte by byte."""
    X, y = case.Xy
    estimator = case.fit(case.new(), X, y)
    # a round trip first: what pickle itself changes once is no change by explain
    estimator = pickle.loads(pickle.dumps(estimator))
    before, names = pickle.dumps(estimator), sorted(vars(estimator))
    case.explanations(estimator, X)
    assert sorted(vars(estimator)) == names, (
        f"explain sets {sorted(set(vars(estimator)) ^ set(names))}"
    )
    assert pickle.dumps(estimator) == before, "explain changes the fitted estimator"


@check(explains)
def check_explain_again(case: Case) -> None:
    """``explain`` gives the same twice, after predict on other rows, after pickling."""
    X, _ = case.Xy
    estimator = case.fitted
    for scope, kind in case.scopes():
        given = arguments(case, scope)
        with quiet():
            first = estimator.explain(*given, kind=kind)
            assert estimator.explain(*given, kind=kind) == first, (
                f"{scope} {kind}: another answer the second time"
            )
            case.outputs(estimator, X[::-1])
            assert estimator.explain(*given, kind=kind) == first, (
                f"{scope} {kind}: another answer after predict on other rows"
            )
            again = pickle.loads(pickle.dumps(estimator)).explain(*given, kind=kind)
            assert again == first, f"{scope} {kind}: another answer after pickling"


@check(local)
def check_explain_follows_rows(case: Case) -> None:
    """Explanations come in the order of the cases, and follow them."""
    X, _ = case.Xy
    for kind in case.explains["local"]:
        with quiet():
            whole = case.fitted.explain(X, kind=kind)
            turned = case.fitted.explain(X[::-1], kind=kind)
        for i in (0, 3, len(X) - 1):
            got = content(turned[len(X) - 1 - i])
            assert_same(got, content(whole[i]), f"{kind} of case {i}, rows turned")


@check(explains)
def check_explain_faithful(case: Case) -> None:
    """What an explanation says is what the model does, by the invariant of its kind."""
    for X, y in (case.Xy, case.data(seed=1, n_classes=2)):
        estimator = case.fit(case.new(), X, y)
        other, _ = case.data(seed=2)
        with quiet():  # some rows are beyond those of fit, of which methods may warn
            made = case.explanations(estimator, other)
        for (scope, kind), explanation in made.items():
            try:
                with quiet():
                    explanation.check_faithful(estimator, other)
            except AssertionError as error:
                msg = f"{scope} {kind} does not say what {case.name} does: {error}"
                raise AssertionError(msg) from error


@check(explains)
def check_explanation_targets(case: Case) -> None:
    """``target_names`` are the labels of ``classes_``, in their order."""
    X, _ = case.Xy
    for scope, explanation in case.explanations(case.fitted, X).items():
        names = explanation.target_names
        assert len(names) > 0, f"{scope}: target_names is empty"
        if case.is_classifier:
            assert_same(names, case.fitted.classes_, f"{scope}: target_names")


@check(explains)
def check_explanation_meta(case: Case) -> None:
    """``meta`` holds the method, its versions, parameters and seed."""
    X, _ = case.Xy
    for scope, explanation in case.explanations(case.fitted, X).items():
        meta = dict(explanation.meta)
        cls = type(case.fitted)
        method = f"{cls.__module__}.{cls.__qualname__}"
        assert meta.get("method") == method, f"{scope}: method {meta.get('method')!r}"
        parameters = set(meta.get("parameters", ()))
        missing = set(case.fitted.get_params(deep=False)) - parameters
        assert not missing, f"{scope}: meta lacks the parameters {sorted(missing)}"
        assert "skinterp" in meta.get("versions", ()), f"{scope}: meta has no versions"
        if case.has_parameter("random_state"):
            assert meta.get("seed") == 0, f"{scope}: seed is {meta.get('seed')!r}"


@check(lambda case: explains(case) and case.is_tabular and case.is_predictor)
def check_explain_in_pipeline(case: Case) -> None:
    """``skinterp.explain`` reaches it in a pipeline, in the user's own columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import skinterp
    from skinterp.testing._checks_frames import ODD_NAMES, frame_of

    X, y = case.Xy
    names = ODD_NAMES[3:8]
    frame = frame_of(X, names)
    pipeline = make_pipeline(StandardScaler(), case.new())
    with quiet():
        pipeline.fit(frame, y)
        for scope, kind in case.scopes():
            given = () if scope == "global" else (frame,)
            explanation = skinterp.explain(pipeline, *given, kind=kind)
            got = tuple(explanation.feature_names)
            assert got == names, f"{scope} {kind} in a pipeline names {got}"
            explanation.check_faithful(pipeline, frame)
