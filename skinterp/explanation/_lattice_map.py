"""Bring attributes of a lattice back from a model's features to the user's columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation._feature_map import FeatureMap, FeatureSource
from skinterp.explanation._literals import Literal, say, translate

if TYPE_CHECKING:
    from skinterp.explanation._lattice import Lattice

PER_LITERAL = ("lower", "upper", "lower_closed", "upper_closed", "negated", "missing")


def flatten(literals: list[Literal]) -> dict[str, Any]:
    """Turn conditions into the arrays of a lattice."""
    fields: dict[str, Any] = {
        name: np.array([getattr(x, name) for x in literals]) for name in PER_LITERAL
    }
    fields["attribute_feature"] = np.array(
        [x.feature for x in literals], dtype=np.int64
    )
    return fields | {"categories": tuple(x.categories for x in literals)}


def map_attributes(lattice: Lattice, feature_map: FeatureMap) -> dict[str, Any]:
    """Fields of a lattice that says the same in the user's columns."""
    feature_map.check_size(len(lattice.feature_names))
    inner = lattice.feature_dtypes or ()
    dtypes = _column_dtypes(inner, feature_map)
    literals, names = [], []
    for k, name in enumerate(lattice.attribute_names):
        literal = lattice.literal(k)
        j = literal.feature
        source, target = feature_map.sources[j], feature_map.targets[j]
        if source.form == "opaque" or _is_label(literal, source):
            literals.append(replace(literal, feature=target))
            same = feature_map.names[target] == lattice.feature_names[j]
        else:
            literals.append(translate(literal, source, dtype=inner[j], widen=False))
            same = False
        if _unchanged(literal, source) or same:
            names.append(name)
        elif source.form == "opaque" and _is_flag(literal):
            names.append(feature_map.names[target])
        else:
            names.append(say(literals[-1], feature_map.names[target], dtypes[target]))
    return {
        "feature_names": feature_map.names,
        "feature_dtypes": dtypes,
        "attribute_names": tuple(names),
        **flatten(literals),
    }


def _is_label(literal: Literal, source: FeatureSource) -> bool:
    """Labels that a step hands on as they are."""
    return literal.categories is not None and source.form == "value"


def _unchanged(literal: Literal, source: FeatureSource) -> bool:
    """A cell that was read as it is: the attribute keeps its name."""
    return source.form == "value" and source.invert is None and _is_flag(literal)


def _is_flag(literal: Literal) -> bool:
    """Whether an attribute is a column of truth values as it is."""
    return literal.lower == 0.5 and literal.upper == float("inf")


def _column_dtypes(inner: tuple[str, ...], feature_map: FeatureMap) -> tuple[str, ...]:
    """How each column is read, given how the model's features are."""
    read: list[set[str]] = [set() for _ in feature_map.columns]
    for dtype, source in zip(inner, feature_map.sources, strict=True):
        if source.form == "value":
            read[source.column].add(dtype if source.invert is None else source.dtype)
    columns = [
        "category" if not kinds else kinds.pop() if len(kinds) == 1 else "float64"
        for kinds in read
    ]
    return (*columns, *("derived",) * len(feature_map.opaque))
