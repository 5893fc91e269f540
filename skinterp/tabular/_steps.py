"""What each fitted transformer does to the traces of its inputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special
from sklearn import feature_selection, impute, pipeline, preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import text

from skinterp.compat import FrozenEstimator
from skinterp.tabular import _encoders
from skinterp.tabular._elementwise import (
    UntoldOutputs,
    budget_for,
    column_function,
    kept_and_flagged,
    output_names,
)
from skinterp.tabular._hook import HOOK, through_hook
from skinterp.tabular._trace import (
    UNTOLD,
    Trace,
    apply,
    fill_in,
    is_missing,
    missing_flag,
    opaque,
)

Traces = list[Trace]

_LOGARITHMS = (np.log, np.log2, np.log10, np.log1p, special.logit, special.ndtri)
_POWERS = (np.exp, np.exp2, np.expm1, np.sqrt, np.cbrt, np.sinh)
_BOUNDED = (np.tanh, np.arctan, special.expit, special.ndtr, np.sign)
_LINEAR = (np.positive, np.arcsinh, np.deg2rad, np.rad2deg, np.radians, np.degrees)
_ROUNDED = (np.floor, np.ceil, np.rint, np.trunc, np.round)
INCREASING = frozenset((*_LOGARITHMS, *_POWERS, *_BOUNDED, *_LINEAR, *_ROUNDED))
DECREASING = frozenset([np.negative])


def trace_chain(steps: Sequence[Any], traces: Traces, width: int | None) -> Traces:
    """Trace features through steps; ``width`` outputs are to come out, if known."""
    for i, step in enumerate(steps):
        following = (getattr(s, "n_features_in_", None) for s in steps[i + 1 :])
        hint = next((n for n in following if n is not None), width)
        traces = trace_step(step, traces, hint)
    return traces


def trace_step(transformer: Any, traces: Traces, width: int | None = None) -> Traces:
    """Trace features through one fitted transformer.

    Parameters
    ----------
    transformer : transformer
        Fitted, or "passthrough".
    traces : list of Trace
        Its inputs.
    width : int, default=None
        Number of its outputs, for transformers that do not tell.

    Returns
    -------
    list of Trace
        Its outputs, in order.
    """
    if transformer is None or isinstance(transformer, str):
        return [] if transformer == "drop" else traces
    if hasattr(transformer, HOOK):
        return through_hook(transformer, traces)
    known = _rule.dispatch(type(transformer))
    owner = _OWNERS.get(known)
    # a subclass with a transform of its own may do anything
    if owner and _method(type(transformer)) is not _method(owner):
        known = _opaque
    try:
        return known(transformer, traces)
    except UntoldOutputs:
        if width is None:
            raise
    stem = type(transformer).__name__.lower()
    return [opaque(f"{stem}{i}") for i in range(width)]


def _method(cls: type) -> Any:
    return inspect.getattr_static(cls, "transform", None)


def _opaque(transformer: Any, traces: Traces) -> Traces:
    return [opaque(n) for n in output_names(transformer, [t.name for t in traces])]


@functools.singledispatch
def _rule(transformer: Any, traces: Traces) -> Traces:
    # its class can only be imported after a switch that is not ours to set
    if any(c.__name__ == "IterativeImputer" for c in type(transformer).__mro__):
        return _neighbor_imputer(transformer, traces)
    return _opaque(transformer, traces)


_OWNERS: dict[Callable[..., Traces], Any] = {}


def _register(
    *classes: Any,
) -> Callable[[Callable[..., Traces]], Callable[..., Traces]]:
    def decorate(rule: Callable[..., Traces]) -> Callable[..., Traces]:
        for cls in classes:
            own = functools.partial(rule)
            _OWNERS[own] = cls
            _rule.register(cls, own)
        return rule

    return decorate


def _column(
    transformer: Any, width: int, j: int, k: int, trace: Trace, monotone: int
) -> Trace:
    function = column_function(transformer, width, j, k)
    return apply(trace, function, monotone, budget_for(width))


@_register(
    preprocessing.StandardScaler,
    preprocessing.MinMaxScaler,
    preprocessing.MaxAbsScaler,
    preprocessing.RobustScaler,
    preprocessing.QuantileTransformer,
    preprocessing.PowerTransformer,
    preprocessing.Binarizer,
)
def _increasing(transformer: Any, traces: Traces, monotone: int = 1) -> Traces:
    width = len(traces)
    return [
        _column(transformer, width, j, j, trace, monotone)
        for j, trace in enumerate(traces)
    ]


@_register(preprocessing.FunctionTransformer)
def _function(transformer: Any, traces: Traces) -> Traces:
    if transformer.func is None:
        return traces
    plain = not transformer.kw_args and callable(transformer.func)
    for functions, monotone in ((INCREASING, 1), (DECREASING, -1)):
        if plain and transformer.func in functions:
            return _increasing(transformer, traces, monotone)
    return _opaque(transformer, traces)


@_register(preprocessing.KBinsDiscretizer)
def _bins(transformer: Any, traces: Traces) -> Traces:
    if transformer.encode == "ordinal":
        return _increasing(transformer, traces)
    width = len(traces)

    def edge(trace: Trace, j: int, k: int, monotone: int) -> Trace:
        return _column(transformer, width, j, k, trace, monotone)

    return _encoders.bins(transformer, traces, edge)


@_register(preprocessing.PolynomialFeatures)
def _powers(transformer: Any, traces: Traces) -> Traces:
    names = output_names(transformer, [t.name for t in traces])
    out = []
    for k, row in enumerate(transformer.powers_):
        used = np.flatnonzero(row)
        if len(used) != 1:
            out.append(opaque(names[k]))
            continue
        j = int(used[0])
        if row[j] == 1:
            out.append(traces[j])
            continue
        told = _column(transformer, len(traces), j, k, traces[j], int(row[j] % 2))
        out.append(opaque(names[k]) if told.form == "opaque" else told)
    return out


@_register(impute.SimpleImputer)
def _simple_imputer(imputer: Any, traces: Traces) -> Traces:
    kept, flagged = kept_and_flagged(imputer, len(traces))
    if not is_missing(imputer.missing_values):
        names = [t.name for t in traces]
        flags = [opaque(f"{names[j]} is {imputer.missing_values!r}") for j in flagged]
        return [opaque(names[j]) for j in kept] + flags
    filled = [fill_in(traces[j], _encoders.plain(imputer.statistics_[j])) for j in kept]
    return filled + [missing_flag(traces[j]) for j in flagged]


@_register(impute.KNNImputer)
def _neighbor_imputer(imputer: Any, traces: Traces) -> Traces:
    kept, flagged = kept_and_flagged(imputer, len(traces))
    if not is_missing(imputer.missing_values):
        return _opaque(imputer, traces)
    filled = [fill_in(traces[j], UNTOLD) for j in kept]
    return filled + [missing_flag(traces[j]) for j in flagged]


@_register(impute.MissingIndicator)
def _indicator(indicator: Any, traces: Traces) -> Traces:
    if not is_missing(indicator.missing_values):
        return _opaque(indicator, traces)
    return [missing_flag(traces[j]) for j in indicator.features_]


@_register(preprocessing.OneHotEncoder)
def _one_hot(encoder: Any, traces: Traces) -> Traces:
    return _encoders.one_hot(encoder, traces)


@_register(preprocessing.OrdinalEncoder)
def _ordinal(encoder: Any, traces: Traces) -> Traces:
    return _encoders.ordinal(encoder, traces)


@_register(preprocessing.TargetEncoder)
def _target(encoder: Any, traces: Traces) -> Traces:
    return _encoders.target(encoder, traces)


@_register(feature_selection.SelectorMixin)
def _selector(selector: Any, traces: Traces) -> Traces:
    return [traces[j] for j in selector.get_support(indices=True)]


@_register(text.CountVectorizer, text.TfidfVectorizer)
def _tokens(vectorizer: Any, traces: Traces) -> Traces:
    name = traces[0].name if traces else "text"
    words = output_names(vectorizer, [name])
    if isinstance(vectorizer, text.TfidfVectorizer):
        return [opaque(f"weight of {w!r} in {name}") for w in words]
    if vectorizer.binary:
        return [opaque(f"{name} contains {w!r}") for w in words]
    return [opaque(f"count of {w!r} in {name}") for w in words]


@_register(FrozenEstimator)
def _frozen(frozen: Any, traces: Traces) -> Traces:
    return trace_step(frozen.estimator, traces)


@_register(pipeline.Pipeline)
def _pipeline(steps: Any, traces: Traces) -> Traces:
    return trace_chain([step for _, step in steps.steps], traces, None)


@_register(pipeline.FeatureUnion)
def _union(union: Any, traces: Traces) -> Traces:
    weights = union.transformer_weights or {}
    out: Traces = []
    for name, transformer in union.transformer_list:
        out += _weighted(trace_step(transformer, traces), weights.get(name))
    return out


def _weighted(traces: Traces, weight: float | None) -> Traces:
    """Trace outputs that a union or a ``ColumnTransformer`` multiplies by a weight."""
    if weight is None or weight == 1:
        return traces
    scale = functools.partial(np.multiply, float(weight))
    return [apply(t, scale, -1 if weight < 0 else 1) for t in traces]


@_register(ColumnTransformer)
def _columns(transformer: Any, traces: Traces) -> Traces:
    names = getattr(transformer, "feature_names_in_", None)
    weights = transformer.transformer_weights or {}
    out: Traces = []
    for name, step, columns in transformer.transformers_:
        positions = resolve_columns(columns, names, len(traces))
        if (isinstance(step, str) and step == "drop") or not positions:
            continue
        span = transformer.output_indices_[name]
        chosen = [traces[j] for j in positions]
        traced = trace_step(step, chosen, span.stop - span.start)
        if len(traced) != span.stop - span.start:
            msg = (
                f"step {name!r} ({type(step).__name__}) gives "
                f"{span.stop - span.start} columns but describes {len(traced)}"
            )
            raise TypeError(msg)
        out += _weighted(traced, weights.get(name))
    return out


def resolve_columns(columns: Any, names: Sequence[str] | None, width: int) -> list[int]:
    """Positions of the columns that a step of a ``ColumnTransformer`` takes.

    Parameters
    ----------
    columns : str, int, slice, list or mask
        As ``transformers_`` holds them.
    names : sequence of str or None
        Names of all columns.
    width : int
        Number of all columns.
    """
    place = {} if names is None else {str(n): i for i, n in enumerate(names)}
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):
            # a slice of names holds both ends
            low = 0 if columns.start is None else place[columns.start]
            high = width if columns.stop is None else place[columns.stop] + 1
            return list(range(low, high))[:: columns.step]
        return list(range(width))[columns]
    if isinstance(columns, str | int | np.integer):
        columns = [columns]
    chosen = list(columns)
    if chosen and all(isinstance(c, bool | np.bool_) for c in chosen):
        return [i for i, keep in enumerate(chosen) if keep]
    return [place[c] if isinstance(c, str) else range(width)[int(c)] for c in chosen]
