"""Hold a network of curves against its model, and bring it to the user's columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._expression_map import _derived_name, _line
from skinterp.explanation._feature_map import FeatureMap
from skinterp.explanation._literals import read_column

if TYPE_CHECKING:
    from skinterp.explanation._edge_curves import EdgeCurves

TOLERANCE = 1e-6
_POSITION = re.compile(r"x\d+")  # what columns of an array are called


def check_network(curves: EdgeCurves, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first row that comes out otherwise."""
    given = getattr(estimator, curves.output)(X)
    expected = np.asarray(given, dtype=np.float64).reshape(len(given), -1)
    if curves.activations is not None:
        inputs = curves.activations[:, : int(curves.widths[0])]
        _check_activations(curves)
    else:
        found = _inputs(curves, X)
        if found is None:
            return  # features that the columns alone do not tell
        inputs = found
    nodes = curves.run(inputs)
    got = nodes[-1] * curves.output_scale + curves.output_offset
    if got.shape != expected.shape:
        msg = f"{curves.output} gives shape {expected.shape}, the curves {got.shape}"
        raise AssertionError(msg)
    size = np.abs(expected).max(initial=0.0) + np.abs(curves.output_scale).max()
    wrong = np.abs(got - expected) > TOLERANCE * size
    if wrong.any():
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        msg = f"row {i}: the curves add up to {got[i, j]}, the model: {expected[i, j]}"
        raise AssertionError(msg)


def _check_activations(curves: EdgeCurves) -> None:
    """The values of hidden nodes are those that the curves give."""
    assert curves.activations is not None
    nodes = np.hstack(curves.run(curves.activations[:, : int(curves.widths[0])]))
    scale = 1 + np.abs(nodes)
    wrong = np.abs(nodes - curves.activations) > TOLERANCE * scale
    if wrong.any():
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        msg = (
            f"row {i}: node {j} is said to be {curves.activations[i, j]}, but the "
            f"curves give {nodes[i, j]}"
        )
        raise AssertionError(msg)


def _inputs(curves: EdgeCurves, X: Any) -> NDArray[np.float64] | None:
    """Input nodes for rows in the columns named; None where a column is derived."""
    rows: Any = X if hasattr(X, "columns") else np.asarray(X)
    names = curves.feature_names
    if hasattr(X, "columns"):
        if not set(names) <= {str(name) for name in X.columns}:
            return None
        cells = [read_column(rows, names, j) for j in range(len(names))]
    else:
        places = [int(n[1:]) if _POSITION.fullmatch(n) else -1 for n in names]
        if not all(0 <= place < rows.shape[1] for place in places):
            return None
        cells = [rows[:, place] for place in places]
    cells = [np.asarray(cell, dtype=np.float64) for cell in cells]
    scaled = np.column_stack(cells) * curves.input_scale + curves.input_offset
    return np.clip(scaled, *curves.clip)


def map_inputs(curves: EdgeCurves, feature_map: FeatureMap) -> dict[str, Any]:
    """Names, scales and offsets of the input nodes in the user's columns."""
    feature_map.check_size(len(curves.feature_names))
    names: list[str] = []
    scale, offset = curves.input_scale.copy(), curves.input_offset.copy()
    for j, source in enumerate(feature_map.sources):
        name = feature_map.names[feature_map.targets[j]]
        if source.form == "value" and source.invert is not None:
            line = _line(source)
            if line is None:
                name = _derived_name(source, feature_map.columns)
            else:
                slope, start = line
                offset[j] += start * scale[j]
                scale[j] *= slope
        elif source.form not in ("value", "opaque"):
            name = _derived_name(source, feature_map.columns)
        names.append(name)
    return {
        "feature_names": tuple(names),
        "input_scale": scale,
        "input_offset": offset,
    }
