"""Transformers that say themselves where their outputs come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skinterp.explanation import FeatureMap, FeatureSource
from skinterp.tabular._encoders import Coder, encode
from skinterp.tabular._invert import Stage
from skinterp.tabular._trace import Trace, fill_in, missing_flag, opaque

HOOK = "__skinterp_feature_map__"


def through_hook(transformer: Any, traces: Sequence[Trace]) -> list[Trace]:
    """Trace features through a transformer that has ``__skinterp_feature_map__``.

    What it says of its own input holds for the user's columns where that input is the
    cell itself, or where only a threshold has to be carried back.
    """
    columns = tuple(t.name for t in traces)
    told = getattr(transformer, HOOK)(columns)
    if not isinstance(told, FeatureMap):
        msg = (
            f"{type(transformer).__name__}.{HOOK} returned "
            f"{type(told).__name__}, not a FeatureMap"
        )
        raise TypeError(msg)
    names = iter(told.names[len(told.columns) :])
    return [
        opaque(next(names)) if s.form == "opaque" else _compose(s, traces[s.column])
        for s in told.sources
    ]


def _compose(source: FeatureSource, trace: Trace) -> Trace:
    if trace.form == "opaque":
        return trace
    if source.form == "missing":
        return missing_flag(trace)
    if source.form != "value":
        coder = Coder(
            dict(zip(source.categories, source.values(), strict=True)),
            source.fill,
            0.0 if source.form == "category" else source.unknown,
        )
        return encode(trace, coder, trace.name)
    if source.invert is None:
        return trace if source.fill is None else fill_in(trace, source.fill)
    if trace.form == "table" or trace.fill is not None:
        # the source can carry a threshold back, but not a number forth
        return opaque(trace.name)
    stage = Stage(solve=source.invert, increasing=source.increasing)
    return Trace(
        name=trace.name,
        column=trace.column,
        stages=(*trace.stages, stage),
        fill=source.fill,
        dtype=source.dtype if trace.is_cell else trace.dtype,
    )
