"""Checks of seeds, of what is global, and of work in parallel."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from joblib import parallel_config

from skinterp.testing._case import Case
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same, assert_soft_failure, softly


def seeded(case: Case) -> bool:
    """Apply to estimators with a seed."""
    return case.has_parameter("random_state")


def parallel(case: Case) -> bool:
    """Apply to estimators that work in parallel."""
    return case.has_parameter("n_jobs")


def answers(case: Case, **params: Any) -> dict[str, Any]:
    """Outputs and explanations of a fit with the given parameters."""
    X, y = case.Xy
    return case.answers(case.fit(case.new(**params), X, y), X)


@check()
def check_same_seed(case: Case) -> None:
    """Two fits on the same data, with the same seed if there is one, are bit-equal."""
    assert_same(answers(case), answers(case), "the same fit twice")


@check(seeded)
def check_kinds_of_seed(case: Case) -> None:
    """0, 1, numpy integers and a remade RandomState seed alike; 0 is not None."""
    for seed in (0, 1):
        expected = answers(case, random_state=seed)
        assert_same(answers(case, random_state=seed), expected, f"random_state={seed}")
        got = answers(case, random_state=np.int64(seed))
        assert_same(got, expected, f"random_state=np.int64({seed})")
    made = [answers(case, random_state=np.random.RandomState(3)) for _ in range(2)]
    assert_same(made[1], made[0], "a RandomState made anew from its seed")


@check(lambda case: seeded(case) and case.tags.stochastic)
def check_other_seed(case: Case) -> None:
    """Another seed changes a method that is tagged as stochastic."""
    first = answers(case, random_state=0)
    for seed in range(1, 6):
        try:
            assert_same(answers(case, random_state=seed), first, "")
        except AssertionError:
            return
    msg = f"{case.name} is tagged stochastic, but five other seeds change nothing"
    raise AssertionError(msg)


@check(lambda case: seeded(case) and not case.tags.stochastic)
def check_seed_without_effect(case: Case) -> None:
    """Another seed changes nothing in a method that is not tagged as stochastic."""
    first = answers(case, random_state=0)
    for seed in (1, 2):
        got = answers(case, random_state=seed)
        assert_same(got, first, f"{case.name} is not tagged stochastic; seed {seed}")


def global_state() -> dict[str, Any]:
    """Return what a library must leave alone."""
    if "numba" in sys.modules:
        # asking starts numba's threads, which changes those of others the first time
        sys.modules["numba"].get_num_threads()
    state: dict[str, Any] = {
        "np.random": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "random": random.getstate(),
        "warnings.filters": list(warnings.filters),
        "np.geterr": np.geterr(),
        "np.get_printoptions": repr(np.get_printoptions()),
        "os.environ": dict(os.environ),
        "the working folder": os.getcwd(),
        "sys.path": list(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "number of threads": _threads(),
    }
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        state["torch's generator"] = torch.get_rng_state().tolist()
        state["torch's threads"] = torch.get_num_threads()
        state["torch's default dtype"] = torch.get_default_dtype()
        state["torch's grad mode"] = torch.is_grad_enabled()
    if "matplotlib" in sys.modules:
        state["rcParams"] = dict(sys.modules["matplotlib"].rcParams)
    if "numba" in sys.modules:
        state["numba's threads"] = sys.modules["numba"].get_num_threads()
    return state


def _threads() -> list[tuple[str, int]]:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())


@check()
def check_global_state(case: Case) -> None:
    """Generators, filters, threads, rcParams, environment are left as they were."""
    X, y = case.data()
    estimator = case.new()
    case.answers(case.fit(case.new(), X, y), X)  # whatever is imported, now is
    with warnings.catch_warnings(), _odd_seeds():
        warnings.simplefilter("ignore")
        before = global_state()
        estimator.fit(X, y)
        _assert_unchanged(before, "fit")
        for name in ("predict", "predict_proba", "transform"):
            if hasattr(estimator, name):
                getattr(estimator, name)(X)
                _assert_unchanged(before, name)
        for scope, kind in case.scopes():
            explanation = estimator.explain(X if scope == "local" else None, kind=kind)
            explanation.to_text()
            _assert_unchanged(before, f"explain, {scope} {kind}")


@contextlib.contextmanager
def _odd_seeds() -> Iterator[None]:
    """Seed the global generators as nobody does, so that seeding them shows."""
    states = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(987_654_321)  # noqa: NPY002
    random.seed(987_654_321)
    try:
        yield
    finally:
        np.random.set_state(states[0])  # noqa: NPY002
        random.setstate(states[1])


def _assert_unchanged(before: dict[str, Any], what: str) -> None:
    after = global_state()
    loaded = {path for path, _ in before["number of threads"]}
    # a library that is loaded on first use is no change of a setting
    after["number of threads"] = [
        p for p in after["number of threads"] if p[0] in loaded
    ]
    changed = [name for name, value in before.items() if after[name] != value]
    assert not changed, f"{what} changes {', '.join(changed)}"


@check(parallel)
def check_n_jobs(case: Case) -> None:
    """``n_jobs`` 1, 2, -1, -2 and None give equal answers; 0 is refused by fit."""
    expected = answers(case, n_jobs=1)
    with parallel_config(backend="threading"):
        for n_jobs in (2, -1, -2, None):
            assert_same(answers(case, n_jobs=n_jobs), expected, f"n_jobs={n_jobs}")
    X, y = case.Xy
    estimator = case.new(n_jobs=0)
    done, _ = softly(
        partial(case.fit, estimator, X, y), "fit with n_jobs=0", ["n_jobs"]
    )
    if done:  # nothing was done in parallel yet
        work = partial(case.answers, estimator, X)
        assert_soft_failure(work, "n_jobs=0", ["n_jobs"])


@check(parallel)
def check_backends(case: Case) -> None:
    """Every joblib back end gives the same answers."""
    expected = answers(case, n_jobs=1)
    for backend in ("threading", "sequential"):
        with parallel_config(backend=backend):
            assert_same(answers(case, n_jobs=2), expected, f"back end {backend}")


@check(lambda case: case.has_parameter("verbose"))
def check_verbose(case: Case) -> None:
    """``verbose=0`` prints nothing, ``verbose=1`` shows progress."""
    X, y = case.Xy
    for verbose in (0, 1):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            estimator = case.fit(case.new(verbose=verbose), X, y)
            case.answers(estimator, X)
        text = stream.getvalue()
        if verbose == 0:
            assert not text, f"verbose=0 prints {text[:80]!r}"
        else:
            assert text, "verbose=1 shows nothing"
