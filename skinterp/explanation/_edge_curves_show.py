"""Networks of curves as text and as a table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation._edge_curves import EdgeCurves

MAX_INPUTS = 15
MAX_EDGES = 15
MAX_ROWS = 20
FLAT = 0.02  # of a curve's height, below which a turn is none


def node_name(curves: EdgeCurves, layer: int, node: int) -> str:
    """Column of an input, label of an output, letter and number of a hidden node."""
    if layer == 0:
        return curves.feature_names[node]
    if layer == curves.n_layers:
        # one output for two classes speaks for the second
        binary = len(curves.target_names) > int(curves.widths[-1])
        return str(curves.target_names[1 if binary else node])
    return f"h{layer}.{node}" if curves.n_layers > 2 else f"h{node}"


def edge_name(curves: EdgeCurves, edge: int) -> str:
    """Names of the nodes at both ends."""
    layer, source, target = curves.ends_of(edge)
    start = node_name(curves, layer, source)
    return f"{start} -> {node_name(curves, layer + 1, target)}"


def edge_table(curves: EdgeCurves) -> pd.DataFrame:
    """A line per edge that is shown; local: per row and edge of the first layer."""
    import pandas as pd

    assert curves.shown is not None
    if curves.activations is not None:
        return _rows_table(curves)
    importance = curves.edge_importances()
    ends = [curves.ends_of(int(edge)) for edge in curves.shown]
    table: dict[str, Any] = {
        "layer": [layer for layer, _, _ in ends],
        "source": [node_name(curves, layer, source) for layer, source, _ in ends],
        "target": [node_name(curves, layer + 1, target) for layer, _, target in ends],
        "sd": curves.sizes[curves.shown],
        "importance": importance[curves.shown],
    }
    if curves.codes is not None and curves.codes.shape[1] == 1:
        table["code"] = curves.codes[curves.shown, 0]
    return pd.DataFrame(table)


def _rows_table(curves: EdgeCurves) -> pd.DataFrame:
    import pandas as pd

    assert curves.shown is not None
    assert curves.activations is not None
    first = [int(e) for e in curves.shown if curves.ends_of(int(e))[0] == 0]
    first = first or list(range(int(curves.widths[0] * curves.widths[1])))
    ends = [curves.ends_of(edge) for edge in first]
    sources = np.array([source for _, source, _ in ends])
    targets = np.array([target for _, _, target in ends])
    adds = curves.contributions(0)[:, targets, sources]
    cells = curves.activations[:, sources]
    cells = (cells - curves.input_offset[sources]) / curves.input_scale[sources]
    n_rows = len(curves.activations)
    return pd.DataFrame(
        {
            curves.unit: np.repeat(np.arange(n_rows), len(first)),
            "source": [curves.feature_names[s] for s in sources] * n_rows,
            "target": [node_name(curves, 1, int(t)) for t in targets] * n_rows,
            "value": cells.ravel(),
            "adds": adds.ravel(),
        }
    )


def say_edges(curves: EdgeCurves) -> str:
    """Inputs and edges by importance; local: what the edges of the rows add."""
    shape = "-".join(str(w) for w in curves.widths)
    count = f"{curves.n_edges} edge{'s' if curves.n_edges > 1 else ''}"
    lines = [f"network of {shape} nodes, {count}"]
    if curves.activations is not None:
        return "\n".join([*lines, *_say_rows(curves)])
    shares = curves.node_importances()[0]
    order = np.argsort(-shares, kind="stable")
    names = curves.feature_names
    lines.append("inputs by importance:")
    lines += [f"  - {names[j]}: {shares[j]:.3g}" for j in order[:MAX_INPUTS]]
    if len(order) > MAX_INPUTS:
        lines.append(f"  ... {len(order) - MAX_INPUTS} more")
    return "\n".join([*lines, *_say_curves(curves)])


def _say_curves(curves: EdgeCurves) -> list[str]:
    assert curves.shown is not None
    importance = curves.edge_importances()
    order = curves.shown[np.argsort(-importance[curves.shown], kind="stable")]
    lines = ["edges by importance:"]
    points = {i: curves.curves(i)[1] for i in range(curves.n_layers)}
    for edge in order[:MAX_EDGES]:
        layer, source, target = curves.ends_of(int(edge))
        shape = _say_shape(points[layer][target, source])
        name = edge_name(curves, int(edge))
        lines.append(f"  - {name}: {importance[edge]:.3g}, {shape}")
    if len(order) > MAX_EDGES:
        lines.append(f"  ... {len(order) - MAX_EDGES} more")
    return lines


def _say_shape(values: NDArray[np.float64]) -> str:
    """Where a curve goes: its ends, and the turns between them that can be seen."""
    height = np.ptp(values)
    if height == 0:
        return f"always {values[0]:.3g}"
    stops = [values[0]]
    for value in [*values[1:], values[-1]]:
        rising = len(stops) > 1 and stops[-1] > stops[-2]
        ahead = value > stops[-1]
        if len(stops) > 1 and rising == ahead:
            stops[-1] = value
        elif abs(value - stops[-1]) > FLAT * height:
            stops.append(value)
        elif len(stops) == 1:
            continue
    words = [f"from {stops[0]:.3g}"]
    words += [f"{'up' if b > a else 'down'} to {b:.3g}" for a, b in pairwise(stops)]
    return " ".join(words)


def _say_rows(curves: EdgeCurves) -> list[str]:
    assert curves.activations is not None
    n_out = int(curves.widths[-1])
    outputs = curves.activations[:, -n_out:] * curves.output_scale
    outputs = outputs + curves.output_offset
    adds = curves.contributions(0)
    lines = []
    for i in range(min(len(outputs), MAX_ROWS)):
        said = ", ".join(
            f"{node_name(curves, curves.n_layers, j)} {outputs[i, j]:.4g}"
            for j in range(min(n_out, 10))
        )
        lines.append(f"{curves.unit} {i}: {said}")
        flat = np.argsort(-np.abs(adds[i]).ravel(), kind="stable")[:3]
        for place in flat:
            target, source = divmod(int(place), int(curves.widths[0]))
            name = f"{curves.feature_names[source]} -> {node_name(curves, 1, target)}"
            lines.append(f"  - {name}: {adds[i, target, source]:+.3g}")
    rest = len(outputs) - MAX_ROWS
    return [*lines, f"... {rest} more"] if rest > 0 else lines
