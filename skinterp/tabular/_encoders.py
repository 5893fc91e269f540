"""What encoders of categories do to a trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skinterp.tabular._elementwise import output_names
from skinterp.tabular._trace import UNTOLD, Trace, is_missing, opaque, table

Encode = Callable[[Any], float]


@dataclass(frozen=True)
class Coder:
    """What an encoder turns the categories of one column into, for one output.

    ``missing`` is the code of a missing cell (None where it stays missing), ``unknown``
    that of a category not seen before, None where such a cell is refused. ``labels``
    are the categories seen, if missing ones were among them.
    """

    codes: dict[Any, float]
    missing: float | None
    unknown: float | None
    labels: frozenset[Any] | None = None

    def __call__(self, value: Any) -> float:
        """Code of one category."""
        default = math.nan if self.unknown is None else self.unknown
        return self.codes.get(plain(value), default)


def plain(label: Any) -> Any:
    """Category as Python writes it: a number, a text, or what it was."""
    if isinstance(label, np.generic) and label.dtype.kind in "biufU":
        return label.item()
    return label


def encode(trace: Trace, coder: Coder, name: str) -> Trace:
    """Feature after one output of an encoder."""
    if trace.form == "table":
        return replace(
            trace,
            values=tuple(_recode(coder, v) for v in trace.values),
            unknown=None if trace.unknown is None else _recode(coder, trace.unknown),
            fill=_fill(coder, trace.fill),
        )
    if not trace.is_cell or any(not _is_label(c) for c in coder.codes):
        return opaque(name)
    return table(
        trace,
        coder,
        list(coder.codes),
        unknown=coder.unknown,
        fill=_fill(coder, trace.fill),
    )


def _is_label(category: Any) -> bool:
    return isinstance(category, str | bool | int | float)


def _recode(coder: Coder, value: float) -> float:
    if math.isnan(value):
        return math.nan if coder.missing is None else coder.missing
    return coder(value)


def _fill(coder: Coder, fill: Any) -> float | None:
    """What a missing cell becomes; None while it stays missing."""
    if fill is None:
        return coder.missing
    if is_missing(fill):
        return UNTOLD
    if coder.labels is None:
        return coder(fill)
    # an imputer of NaN lets None pass: cells of which kind came here?
    return UNTOLD if plain(fill) in coder.labels else coder.missing


def infrequent_of(encoder: Any, column: int) -> list[Any]:
    """Categories that an encoder puts together, without the missing one."""
    try:
        found = encoder.infrequent_categories_
    except AttributeError:
        return []
    return [] if found[column] is None else list(found[column])


def one_hot(encoder: Any, traces: Sequence[Trace]) -> list[Trace]:
    """Trace through ``OneHotEncoder``."""
    names = iter(output_names(encoder, [t.name for t in traces]))
    out = []
    for j, trace in enumerate(traces):
        groups, unknown = _one_hot_groups(encoder, j)
        known = [c for c in encoder.categories_[j] if not is_missing(c)]
        blanks = [c for c in encoder.categories_[j] if is_missing(c)]
        labels = _labels(encoder, j)
        for k, group in enumerate(groups):
            coder = _one_hot_coder(group, known, blanks, float(unknown == k))
            out.append(encode(trace, replace(coder, labels=labels), next(names)))
    return out


def _labels(encoder: Any, column: int) -> frozenset[Any] | None:
    """Categories of a column, if an encoder has seen missing cells in it."""
    categories = encoder.categories_[column]
    if not any(is_missing(c) for c in categories):
        return None
    return frozenset(plain(c) for c in categories if not is_missing(c))


def _one_hot_groups(encoder: Any, column: int) -> tuple[list[list[Any]], int | None]:
    """Categories of each output, and the output of an unknown category."""
    categories = list(encoder.categories_[column])
    rare = infrequent_of(encoder, column)
    is_rare = _membership(rare)
    groups = [[c] for c in categories if _key(c) not in is_rare]
    if rare:
        groups.append(rare)
    to_rare = encoder.handle_unknown in ("infrequent_if_exist", "warn") and bool(rare)
    drop = None if encoder.drop_idx_ is None else encoder.drop_idx_[column]
    if drop is not None:
        label = _key(categories[drop])
        to_rare = to_rare and label not in is_rare
        groups = [g for g in groups if label not in _membership(g)]
    return groups, len(groups) - 1 if to_rare else None


def _key(label: Any) -> Any:
    """Category as a key; scikit-learn tells None from NaN, and NaN differs from NaN."""
    if is_missing(label):
        return (label is None,)
    return plain(label)


def _membership(labels: Sequence[Any]) -> set[Any]:
    return {_key(label) for label in labels}


def _one_hot_coder(
    group: list[Any], known: list[Any], blanks: list[Any], unknown: float
) -> Coder:
    """Coder of one output; only categories unlike an unknown one need a code."""
    members = _membership(group)
    named = known if unknown else [c for c in group if not is_missing(c)]
    codes = {plain(c): float(_key(c) in members) for c in named}
    kinds = {float(_key(c) in members) for c in blanks}
    return Coder(codes, _missing_code(kinds, unknown), unknown)


def _missing_code(kinds: set[float], unknown: float | None) -> float | None:
    """Code of a missing cell, given the codes of the missing categories seen."""
    if not kinds:
        return unknown if unknown is not None else UNTOLD
    return kinds.pop() if len(kinds) == 1 else UNTOLD


def ordinal(encoder: Any, traces: Sequence[Trace]) -> list[Trace]:
    """Trace through ``OrdinalEncoder``."""
    names = output_names(encoder, [t.name for t in traces])
    return [
        encode(
            trace,
            replace(_ordinal_coder(encoder, j), labels=_labels(encoder, j)),
            names[j],
        )
        for j, trace in enumerate(traces)
    ]


def _ordinal_coder(encoder: Any, column: int) -> Coder:
    # None counts as a category like any other, NaN has a code of its own
    categories = [c for c in encoder.categories_[column] if not _is_nan(c)]
    rare = infrequent_of(encoder, column)
    is_rare = _membership(rare)
    frequent = [c for c in categories if _key(c) not in is_rare]
    codes = {_key(c): float(i) for i, c in enumerate(frequent)}
    codes |= {_key(c): float(len(frequent)) for c in rare if not _is_nan(c)}
    unknown = None
    if encoder.handle_unknown == "use_encoded_value":
        unknown = float(encoder.unknown_value)
    missing = codes.pop(_key(None), None)
    if len(categories) < len(encoder.categories_[column]):
        nan = float(encoder.encoded_missing_value)
        missing = nan if missing is None else UNTOLD
        return Coder(codes, _or_none(missing), unknown)
    return Coder(codes, _or_none(unknown if missing is None else missing), unknown)


def _is_nan(label: Any) -> bool:
    return label is not None and is_missing(label)


def _or_none(code: float | None) -> float | None:
    """NaN, as a code, says that the cell is missing still."""
    return None if code is None or math.isnan(code) else code


def target(encoder: Any, traces: Sequence[Trace]) -> list[Trace]:
    """Trace through ``TargetEncoder``, one output per class if there are many."""
    names = output_names(encoder, [t.name for t in traces])
    means = np.atleast_1d(encoder.target_mean_)
    out = []
    for k, encodings in enumerate(encoder.encodings_):
        j, mean = k // len(means), float(means[k % len(means)])
        codes: dict[Any, float] = {}
        kinds: set[float] = set()
        for label, code in zip(encoder.categories_[j], encodings, strict=True):
            if is_missing(label):
                kinds.add(float(code))
            else:
                codes[plain(label)] = float(code)
        coder = Coder(codes, _missing_code(kinds, mean), mean, _labels(encoder, j))
        out.append(encode(traces[j], coder, names[k]))
    return out


def bins(
    binner: Any, traces: Sequence[Trace], edge: Callable[..., Trace]
) -> list[Trace]:
    """Trace through ``KBinsDiscretizer`` with one output per bin.

    The first and the last bin are monotone in the cell; a bin between them is not, and
    keeps a name of its own. ``edge(trace, column, output, monotone)`` traces an output.
    """
    out: list[Trace] = []
    for j, trace in enumerate(traces):
        edges = binner.bin_edges_[j]
        n_bins = len(edges) - 1
        for k in range(n_bins):
            monotone = 1 if k == n_bins - 1 else -1 if k == 0 else 0
            told = edge(trace, j, len(out), monotone)
            if told.form == "opaque":
                low, high = f"{edges[k]:.6g}", f"{edges[k + 1]:.6g}"
                told = opaque(f"{trace.name} in [{low}, {high})")
            out.append(told)
    return out
