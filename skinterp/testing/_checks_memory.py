"""Checks of memory layout and dtype: what holds the same numbers is the same data."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from skinterp.testing._case import Case, as_array
from skinterp.testing._check import check
from skinterp.testing._compare import assert_same, softly


def arrays(case: Case) -> bool:
    """Apply where the cases are rows of one array."""
    return case.is_tabular or case.is_series


@check(arrays)
def check_read_only_input(case: Case) -> None:
    """Read-only arrays and memory maps work, and come out as they went in."""
    X, y = case.data()
    expected = case.answers(case.fitted, X)
    weights = {"sample_weight": np.ones(len(y))} if case.takes_weights else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.joblib"
        joblib.dump((X, y, weights), path)
        mapped = joblib.load(path, mmap_mode="r")
        for array in (X, y, *weights.values()):
            array.flags.writeable = False
        for what, (X_, y_, w_) in (
            ("read-only arrays", (X, y, weights)),
            ("memory maps", mapped),
        ):
            before = X_.tobytes(), y_.tobytes()
            got = case.answers(case.fit(case.new(), X_, y_, **w_), X_)
            assert_same(got, expected, f"with {what}", atol=1e-9)
            assert (X_.tobytes(), y_.tobytes()) == before, f"{what} were written to"
        del mapped, X_, y_, w_


@check(arrays)
def check_input_unchanged(case: Case) -> None:
    """Writeable X, y and weights are byte-equal after fit, predict and explain."""
    X, y = case.data()
    weights = {"sample_weight": np.ones(len(y))} if case.takes_weights else {}
    held = (X, y, *weights.values())
    before = [array.tobytes() for array in held]
    case.answers(case.fit(case.new(), X, y, **weights), X)
    for name, array, bytes_ in zip(
        ("X", "y", "sample_weight"), held, before, strict=False
    ):
        assert array.tobytes() == bytes_, f"{name} was changed in place"


class ArrayLike:
    """An object that offers its numbers by ``__array__`` only."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """Give the numbers."""
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the numbers."""
        return self.values.shape


def layouts(X: NDArray[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the same numbers in other layouts and containers."""
    yield "Fortran order", np.asfortranarray(X)
    yield "negative strides", X[::-1, ..., ::-1].copy()[::-1, ..., ::-1]
    wide = np.repeat(X, 2, axis=-1)
    yield "a non-contiguous slice", np.repeat(wide, 2, axis=0)[::2, ..., ::2]
    yield "big-endian floats", X.astype(X.dtype.newbyteorder(">"))
    yield "an object array of floats", X.astype(object)
    yield "lists", X.tolist()
    yield "an object with __array__", ArrayLike(X)
    if "torch" in sys.modules:
        yield "a torch tensor", sys.modules["torch"].tensor(X)


@check(arrays)
def check_memory_layouts(case: Case) -> None:
    """Other layouts and containers give the same numbers, or are refused softly."""
    X, y = case.data()
    expected = case.outputs(case.fitted, X)
    for what, data in layouts(X):
        _check_data(case, data, y, expected, what, 1e-9)


@check(arrays)
def check_small_dtypes(case: Case) -> None:
    """Small integers, bools, float16 and float32 are the numbers that they hold."""
    X, y = case.data()
    whole = case.suit(np.clip(np.round(X), -3, 3))
    for dtype in ("float32", "float16", "int8", "uint8", "bool"):
        cast = np.abs(whole).astype(dtype) if dtype in "uint8 bool" else whole
        cast = cast.astype(dtype)
        exact = cast.astype(float)
        expected = case.outputs(case.fit(case.new(), exact, y), exact)
        _check_data(case, cast, y, expected, f"{dtype} data", 1e-4)


def _check_data(
    case: Case, data: Any, y: Any, expected: Any, what: str, atol: float
) -> None:
    words = ["dtype", "type", "array", "input", "data"]
    done, estimator = softly(
        partial(case.fit, case.new(), data, y), f"fitting {what}", words
    )
    if done:
        done, got = softly(partial(case.outputs, estimator, data), what, words)
        assert done, f"{what} is taken by fit and refused afterwards: {got}"
        got = {name: as_array(values) for name, values in got.items()}
        assert_same(got, expected, f"with {what}", atol=atol)
        if "local" in case.explains:
            case.explanations(estimator, data)


@check(lambda case: arrays(case) and "local" in case.explains)
def check_float32_faithful(case: Case) -> None:
    """Explanations are faithful for float32 input, and for large targets."""
    X, y = case.data()
    small = X.astype(np.float32)
    target = y * 1e6 + 1e6 if case.is_regressor else y
    estimator = case.fit(case.new(), small, target)
    for explanation in case.explanations(estimator, small).values():
        explanation.check_faithful(estimator, small)
