"""Bring rules back from a model's features to the user's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._feature_map import FeatureMap
from skinterp.explanation._literals import Literal, merge, translate

if TYPE_CHECKING:
    from skinterp.explanation._rules import RuleSet

Rule = tuple[Literal, ...]


def map_rules(rules: RuleSet, feature_map: FeatureMap) -> dict[str, Any]:
    """Fields of a rule set that says the same in the user's columns."""
    feature_map.check_size(len(rules.feature_names))
    dtypes = _column_dtypes(rules.feature_dtypes, feature_map)
    mapped = [
        _map_rule(rules, rule, feature_map, dtypes) for rule in range(rules.n_rules)
    ]
    keep = list(range(len(mapped)))
    if rules.scope == "global":
        keep = _distinct(mapped, rules.target)
    return {
        "feature_names": feature_map.names,
        "feature_dtypes": dtypes,
        **flatten([mapped[r] or () for r in keep]),
        "target": rules.target[keep],
        "support": rules.support[keep],
        "relevant_missing": _map_missing(rules.relevant_missing, feature_map),
    }


def flatten(rules: Sequence[Rule]) -> dict[str, Any]:
    """Turn rules into the flat arrays of a rule set."""
    flat = [literal for rule in rules for literal in rule]
    names = ("feature", "lower", "upper", "lower_closed", "upper_closed")
    fields = {
        name: np.array([getattr(x, name) for x in flat])
        for name in (*names, "negated", "missing")
    }
    offsets = np.concatenate([[0], np.cumsum([len(rule) for rule in rules])])
    return fields | {
        "offsets": offsets,
        "categories": tuple(x.categories for x in flat),
    }


def _column_dtypes(inner: tuple[str, ...], feature_map: FeatureMap) -> tuple[str, ...]:
    """How each column is read, given how the model's features are compared."""
    read: list[set[str]] = [set() for _ in feature_map.columns]
    for dtype, source in zip(inner, feature_map.sources, strict=True):
        if source.form == "value":
            read[source.column].add(dtype if source.invert is None else source.dtype)
    return tuple(_one_dtype(kinds) for kinds in read) + ("derived",) * len(
        feature_map.opaque
    )


def _one_dtype(kinds: set[str]) -> str:
    if not kinds:
        return "category"
    return kinds.pop() if len(kinds) == 1 else "float64"


def _map_rule(
    rules: RuleSet, rule: int, feature_map: FeatureMap, dtypes: tuple[str, ...]
) -> Rule | None:
    """Rule in the user's columns; None where no row can satisfy it."""
    merged: dict[int, tuple[Literal, ...]] = {}
    for literal in rules.literals(rule):
        outer = _map_literal(literal, rules.feature_dtypes, feature_map, dtypes)
        if not outer.is_trivial:
            j = outer.feature
            merged[j] = _insert(merged.get(j, ()), outer)
    flat = tuple(literal for j in sorted(merged) for literal in merged[j])
    if any(x.admits_none and not x.missing for x in flat):
        return None
    return flat


def _insert(present: tuple[Literal, ...], new: Literal) -> tuple[Literal, ...]:
    """Add a literal to those of its column, merged with the first of its type."""
    for i, old in enumerate(present):
        together = merge(old, new)
        if len(together) == 1:
            return _insert(present[:i] + present[i + 1 :], together[0])
    return (*present, new)


def _map_literal(
    literal: Literal,
    inner: tuple[str, ...],
    feature_map: FeatureMap,
    dtypes: tuple[str, ...],
) -> Literal:
    j = literal.feature
    source = feature_map.sources[j]
    if source.form == "opaque":
        return replace(literal, feature=feature_map.targets[j])
    widen = inner[j] == "float32" and dtypes[source.column] == "float64"
    return translate(literal, source, dtype=inner[j], widen=widen)


def _distinct(mapped: list[Rule | None], target: NDArray[np.int64]) -> list[int]:
    """Positions of the rules that can hold, each once."""
    seen: dict[tuple[Any, ...], int] = {}
    for r, rule in enumerate(mapped):
        if rule is not None:
            seen.setdefault((int(target[r]), rule), r)
    return list(seen.values())


def _map_missing(
    missing: NDArray[np.bool_] | None, feature_map: FeatureMap
) -> NDArray[np.bool_] | None:
    if missing is None:
        return None
    outer = np.zeros((len(missing), len(feature_map.names)), dtype=bool)
    for j, target in enumerate(feature_map.targets):
        outer[:, target] |= missing[:, j]
    return outer
