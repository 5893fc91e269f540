"""What is known of one feature on its way from the user's columns."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from skinterp.explanation import FeatureSource
from skinterp.tabular._invert import (
    CAST_FLOAT32,
    Function,
    Stage,
    evaluate,
    invert_chain,
)

# A missing cell gets a number, but which one depends on the other columns. No
# condition holds for NaN, so that rules leave such cells open instead of guessing.
UNTOLD: Final = math.nan


@dataclass(frozen=True)
class Trace:
    """One feature between two steps.

    ``form`` is "value" (the cell itself, or ``stages`` of it), "table" (a number per
    category of a column) or "opaque". ``fill`` is what a missing cell has become, None
    while it is still missing; ``unknown`` what a cell outside ``categories`` becomes,
    None where it is refused.
    """

    name: str
    form: str = "value"
    column: int = -1
    stages: tuple[Stage, ...] = ()
    fill: Any = None
    categories: tuple[Any, ...] = ()
    values: tuple[float, ...] = ()
    unknown: float | None = None
    dtype: str = "float64"

    @property
    def is_cell(self) -> bool:
        """Whether it is the user's cell as it stands, missing ones aside."""
        return self.form == "value" and not self.stages

    @property
    def is_known(self) -> bool:
        """Whether a missing cell has become a definite value."""
        return self.fill is not None and not is_untold(self.fill)


def is_missing(value: Any) -> bool:
    """Whether a single cell or category is a missing one."""
    if isinstance(value, str | int):
        return False
    if value is None or isinstance(value, float):
        return value is None or math.isnan(value)
    import pandas as pd

    return bool(np.all(pd.isna(value)))


def is_untold(fill: Any) -> bool:
    """Whether a missing cell has become a number that cannot be told."""
    return isinstance(fill, float) and math.isnan(fill)


def opaque(name: str) -> Trace:
    """Feature of which only a name is known."""
    return Trace(name=name, form="opaque")


def table(
    trace: Trace,
    encode: Callable[[Any], float],
    categories: Sequence[Any],
    **other: Any,
) -> Trace:
    """Feature that has a number per category of what ``trace`` was."""
    known = tuple(c for c in categories if not is_missing(c))
    values = tuple(float(encode(c)) for c in known)
    return Trace(
        name=trace.name,
        form="table",
        column=trace.column,
        categories=known,
        values=values,
        **other,
    )


def _restart(trace: Trace) -> Trace:
    return Trace(name=trace.name, column=trace.column, dtype=trace.dtype)


def missing_flag(trace: Trace) -> Trace:
    """Feature that is 1 where ``trace`` is missing, else 0."""
    if trace.form == "opaque":
        return opaque(f"{trace.name} is missing")
    flag = float(trace.fill is None)
    if trace.form == "table":
        values = tuple(float(math.isnan(v)) for v in trace.values)
        unknown = None if trace.unknown is None else float(math.isnan(trace.unknown))
        return replace(trace, values=values, unknown=unknown, fill=flag)
    return replace(_restart(trace), form="table", unknown=0.0, fill=flag)


def fill_in(trace: Trace, fill: Any) -> Trace:
    """Feature after missing cells have become ``fill``."""
    if trace.form == "opaque":
        return trace
    if trace.form == "table":
        swap = functools.partial(_swap_missing, fill=fill)
        return replace(
            trace,
            values=tuple(swap(v) for v in trace.values),
            unknown=None if trace.unknown is None else swap(trace.unknown),
            fill=fill if trace.fill is None else trace.fill,
        )
    return trace if trace.fill is not None else replace(trace, fill=fill)


def _swap_missing(value: float, fill: Any) -> float:
    return float(fill) if math.isnan(value) else value


def apply(trace: Trace, function: Function, monotone: int, budget: int = 512) -> Trace:
    """Feature after a function of it alone.

    ``monotone`` is 1 for an increasing function, -1 for a decreasing one, and 0 for
    any other: of those a table can still be told.
    """
    number = isinstance(trace.fill, int | float | np.number | None)
    if trace.form == "opaque" or not number:
        return opaque(trace.name)
    stage = Stage(forward=finite_only(function), increasing=monotone > 0, budget=budget)
    step = functools.partial(_step, stage)
    if trace.form == "table":
        values = tuple(step(v) for v in trace.values)
        return replace(
            trace, values=values, unknown=step(trace.unknown), fill=step(trace.fill)
        )
    if monotone == 0:
        return opaque(trace.name)
    return replace(trace, stages=(*trace.stages, stage), fill=step(trace.fill))


def _step(stage: Stage, value: Any) -> Any:
    return None if value is None else evaluate((stage,), float(value))


def finite_only(function: Function) -> Function:
    """Keep infinities and NaN away from a transformer, which would refuse them."""

    def guarded(cells: Any) -> Any:
        out = np.array(cells, dtype=np.float64)
        finite = np.isfinite(out)
        if finite.any():
            with np.errstate(all="ignore"):
                out[finite] = _or_nan(function, out[finite])
        return out

    return guarded


def _or_nan(function: Function, cells: Any) -> Any:
    """Evaluate a function, with NaN for the cells that it refuses.

    Box-Cox refuses negative cells, other transformers cells that overflow inside.
    """
    try:
        return function(cells)
    except ValueError:
        if len(cells) == 1:
            return np.array([np.nan])
    half = len(cells) // 2
    parts = (_or_nan(function, cells[:half]), _or_nan(function, cells[half:]))
    return np.concatenate(parts)


def to_source(trace: Trace, dtype: str) -> FeatureSource:
    """Say a trace in the terms of ``FeatureMap``, for a model that reads ``dtype``."""
    if trace.form == "opaque":
        return FeatureSource(form="opaque", name=trace.name)
    fill = _to_number(trace.fill, dtype)
    if trace.form == "table":
        return _table_source(trace, fill, dtype)
    if trace.is_cell and trace.dtype == "float64":
        return FeatureSource(form="value", column=trace.column, fill=fill)
    stages = (*trace.stages, CAST_FLOAT32) if dtype == "float32" else trace.stages
    return FeatureSource(
        form="value",
        column=trace.column,
        invert=functools.lru_cache(maxsize=None)(
            functools.partial(invert_chain, stages)
        ),
        increasing=math.prod(1 if s.increasing else -1 for s in stages) > 0,
        fill=fill,
        dtype=trace.dtype,
    )


def _to_number(value: Any, dtype: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        return UNTOLD
    return float(np.float32(value)) if dtype == "float32" else float(value)


def _table_source(trace: Trace, fill: float | None, dtype: str) -> FeatureSource:
    unknown = _to_number(trace.unknown, dtype)
    values = tuple(_to_number(v, dtype) for v in trace.values)
    pairs = list(zip(trace.categories, values, strict=True))
    if unknown is not None:
        # a category that counts as any unknown cell does need not be named
        pairs = [(c, v) for c, v in pairs if v != unknown]
    if not pairs and (unknown, fill) == (0.0, 1.0):
        return FeatureSource(form="missing", column=trace.column)
    categories = tuple(c for c, _ in pairs)
    if pairs and unknown == 0.0 and all(v == 1.0 for _, v in pairs):
        return FeatureSource(
            form="category",
            column=trace.column,
            categories=categories,
            fill=fill,
            unknown=0.0,
        )
    return FeatureSource(
        form="code",
        column=trace.column,
        categories=categories,
        codes=tuple(float(v) for _, v in pairs if v is not None),
        fill=fill,
        unknown=unknown,
    )
