"""Checks of copying and storing: what comes back answers the same."""

from __future__ import annotations

import copy
import io
import os
import pickle
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

import joblib
import numpy as np

from skinterp.testing._case import Case
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same

#: Bytes that an empty estimator may take, and how much more than its arrays.
OVERHEAD, FACTOR = 40_000, 20


def assert_survives(case: Case, copy_of: Callable[[Any], Any], how: str) -> None:
    """Assert that an estimator survives a kind of copying, unfitted and fitted."""
    X, y = case.Xy
    expected = case.answers(case.fitted, X)
    try:
        again, unfitted = copy_of(case.fitted), copy_of(case.new())
    except Exception as error:
        msg = f"{how} fails: {type(error).__name__}: {error}"
        raise AssertionError(msg) from error
    assert type(again) is type(case.fitted), f"{how} gives a {type(again).__name__}"
    assert_same(case.answers(again, X), expected, f"after {how}")
    got = case.answers(case.fit(unfitted, X, y), X)
    assert_same(got, expected, f"fitted after {how}")


@check()
def check_pickle(case: Case) -> None:
    """``pickle`` keeps everything, before and after fit, in every protocol in use."""
    for protocol in (4, 5):
        assert_survives(
            case,
            partial(_repickled, pickle.dumps, protocol=protocol),
            f"pickle protocol {protocol}",
        )


@check()
def check_copy(case: Case) -> None:
    """A deep copy answers the same, and shares nothing with the original."""
    assert_survives(case, copy.deepcopy, "deepcopy")
    X, _ = case.Xy
    before = case.answers(case.fitted, X)
    for value in vars(copy.deepcopy(case.fitted)).values():
        numeric = isinstance(value, np.ndarray) and value.dtype.kind in "fiu"
        if numeric and value.flags.writeable:
            value.fill(0)
    assert_same(case.answers(case.fitted, X), before, "after changing its deep copy")


@check()
def check_joblib(case: Case) -> None:
    """``joblib`` keeps everything, also memory-mapped with ``mmap_mode="r"``."""
    with tempfile.TemporaryDirectory() as folder:
        for mode in (None, "r"):

            def again(estimator: Any, mode: str | None = mode) -> Any:
                # a file that is mapped must not be written again
                path = Path(folder) / f"{len(os.listdir(folder))}.joblib"
                joblib.dump(estimator, path)
                return joblib.load(path, mmap_mode=mode)

            assert_survives(case, again, f"joblib with mmap_mode={mode!r}")


@check()
def check_cloudpickle(case: Case) -> None:
    """``cloudpickle``, which distributed back ends use, keeps everything."""
    try:
        import cloudpickle
    except ImportError as error:
        msg = "cloudpickle is not installed"
        raise SkipTest(msg) from error
    assert_survives(case, partial(_repickled, cloudpickle.dumps), "cloudpickle")


def _repickled(dumps: Callable[..., bytes], estimator: Any, **options: Any) -> Any:
    return pickle.loads(dumps(estimator, **options))


@check()
def check_skops(case: Case) -> None:
    """``skops`` stores and loads it with the library's list of trusted types only."""
    from skops import io as skops_io

    from skinterp.plugins import trusted_types

    trusted = list(trusted_types())

    def again(estimator: Any) -> Any:
        data = skops_io.dumps(estimator)
        foreign = set(skops_io.get_untrusted_types(data=data)) - set(trusted)
        own = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
        foreign -= set() if _is_registered(type(estimator)) else {own}
        assert not foreign, f"skops finds types that nobody declares: {sorted(foreign)}"
        return skops_io.loads(data, trusted=[*trusted, own])

    assert_survives(case, again, "skops")


def _is_registered(cls: type) -> bool:
    """Whether a row of the registry names the class, so that it must be trusted."""
    from skinterp.plugins import get_registry

    targets = {t for row in get_registry().methods for t in row.targets.values()}
    return f"{cls.__module__}:{cls.__qualname__}" in targets


@check()
def check_pickle_size(case: Case) -> None:
    """A pickle is not much larger than the arrays in the estimator, nor holds X."""
    sizes = []
    for n_rows in (60, 240):
        X, y = case.data(n_rows=n_rows)
        estimator = case.fit(case.new(), X, y)
        buffers: list[pickle.PickleBuffer] = []
        stream = io.BytesIO()
        pickle.Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(
            estimator
        )
        arrays = sum(buffer.raw().nbytes for buffer in buffers)
        sizes.append((len(stream.getvalue()) + arrays, arrays))
    for size, arrays in sizes:
        assert size < OVERHEAD + FACTOR * arrays, (
            f"a pickle takes {size} bytes for {arrays} bytes of arrays"
        )


@check()
def check_no_hidden_state(case: Case) -> None:
    """What is fitted lies in attributes that end in an underscore or start with one."""
    params = set(case.fitted.get_params(deep=False))
    odd = [
        name
        for name in vars(case.fitted)
        if name not in params and not (name.startswith("_") or name.endswith("_"))
    ]
    assert not odd, f"fit sets {odd}; fitted attributes end with an underscore"
