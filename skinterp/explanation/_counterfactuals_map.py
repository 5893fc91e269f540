"""Bring counterfactuals back from a model's features to the user's columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._feature_map import FeatureMap, FeatureSource

if TYPE_CHECKING:
    from skinterp.explanation._counterfactuals import Counterfactuals

Cells = NDArray[Any]


def map_cells(explanation: Counterfactuals, feature_map: FeatureMap) -> dict[str, Any]:
    """Fields of counterfactuals that say the same in the user's columns."""
    _refuse_mixed(explanation, feature_map)
    d = len(feature_map.names)
    owners: list[list[int]] = [[] for _ in range(d)]
    for j, target in enumerate(feature_map.targets):
        owners[target].append(j)
    out: dict[str, Any] = {
        "feature_names": feature_map.names,
        "edges": _edges(explanation.edges, feature_map),
        "held": np.array([explanation.held[js].all() for js in owners]),
    }
    rows = _columns(explanation.rows, owners, feature_map)
    moved = np.stack([explanation.changed[..., js].any(-1) for js in owners], axis=-1)
    after = np.broadcast_to(rows, moved.shape).copy()
    # only where something changes: to ask a transformer takes time
    for *at, k in np.argwhere(moved):
        cells = [explanation.counterfactuals[(*at, j)] for j in owners[k]]
        sources = [feature_map.sources[j] for j in owners[k]]
        after[(*at, k)] = _told(_cell(cells, sources), cells, feature_map.names[k])
    out |= {"rows": rows, "counterfactuals": after}
    for name in ("steps", "own_steps"):
        value = getattr(explanation, name)
        parts = [_joined(value[..., js]) for js in owners]
        out[name] = np.stack(parts, axis=-1)
    for name in ("noise", "counterfactual_noise"):
        value = getattr(explanation, name)
        gone = np.full(value.shape[:-1], np.nan)
        parts = [value[..., js[0]] if len(js) == 1 else gone for js in owners]
        out[name] = np.stack(parts, axis=-1)
    return out


def _refuse_mixed(explanation: Counterfactuals, feature_map: FeatureMap) -> None:
    changed = explanation.changed.reshape(-1, len(explanation.feature_names))
    moved: NDArray[np.bool_] = np.asarray(changed.any(axis=0))
    for j in feature_map.opaque:
        if moved[j]:
            name = explanation.feature_names[j]
            msg = (
                f"feature {name!r} changes, but comes from no single column, so that "
                "there is no row of the table to show. Put the steps inside of the "
                "estimator that is explained."
            )
            raise ValueError(msg)


def _joined(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """One step for all features of a column: theirs, or its length for several."""
    if steps.shape[-1] == 1:
        return steps[..., 0]
    size: NDArray[np.float64] = np.linalg.norm(steps, axis=-1)
    return size


def _edges(edges: NDArray[np.int64], feature_map: FeatureMap) -> NDArray[np.int64]:
    targets = np.array(feature_map.targets, dtype=np.int64)
    mapped = targets[edges] if len(edges) else edges
    mapped = mapped[mapped[:, 0] != mapped[:, 1]]
    return np.unique(mapped, axis=0).astype(np.int64).reshape(-1, 2)


def _columns(
    values: Cells, owners: Sequence[Sequence[int]], feature_map: FeatureMap
) -> Cells:
    out = np.empty((*values.shape[:-1], len(owners)), dtype=object)
    for k, features in enumerate(owners):
        for at in np.ndindex(values.shape[:-1]):
            cells = [values[at][j] for j in features]
            sources = [feature_map.sources[j] for j in features]
            out[(*at, k)] = _cell(cells, sources)
    return out


def _cell(cells: Sequence[Any], sources: Sequence[FeatureSource]) -> Any:
    """The user's cell that the features were made from; NaN where it cannot be told."""
    for value, source in zip(cells, sources, strict=True):
        if source.form == "opaque":
            return value
        if source.form == "value":
            if source.invert is None:
                return float(value)
            return float(source.invert(float(value)))
    known = list(zip(cells, sources, strict=True))
    labels = dict.fromkeys(c for _, s in known for c in s.categories)
    for label in labels:
        if all(_value_at(s, label) == float(v) for v, s in known):
            return label
    return math.nan


def _told(cell: Any, cells: Sequence[Any], name: str) -> Any:
    """Refuse features that no cell is encoded by, such as two labels at once."""
    if cell != cell:
        values = [float(value) for value in cells]
        msg = (
            f"the features of column {name!r} change to {values}, which no cell "
            "of it is encoded by. Put the steps inside of the estimator that is "
            "explained, or hold these features."
        )
        raise ValueError(msg)
    return cell


def _value_at(source: FeatureSource, label: Any) -> float:
    if label in source.categories:
        return source.values()[source.categories.index(label)]
    if source.form == "missing":
        return 0.0
    return math.nan if source.unknown is None else source.unknown
