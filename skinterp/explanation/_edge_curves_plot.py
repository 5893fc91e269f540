"""The picture of a network: nodes in rows, and on each edge its curve."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._edge_curves_show import node_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._edge_curves import EdgeCurves

Floats = NDArray[np.float64]

MAX_NODES = 10
MAX_EDGES = 18  # of a layer
BOX = 0.28  # height of a curve's box, in layers
INCHES = 0.65  # between two boxes: eighteen are still read at the width of a page
INK, MARK, FRAME = "0.1", "C3", "0.55"
FAINTEST = 0.12
PLATE: Any = {"fc": "white", "ec": "none", "pad": 0.4}  # edges end behind a name


@dataclass(frozen=True)
class _Layout:
    """Which nodes and edges are drawn, and where."""

    nodes: list[dict[int, float]]  # per layer: node to horizontal place
    edges: list[list[int]]  # per layer, from left to right
    width: float
    box: float


def draw_network(curves: EdgeCurves, ax: Axes | None) -> Axes:
    """Inputs below, outputs above; a box with its curve on each edge."""
    importance = curves.edge_importances()
    layout = _lay_out(curves, importance)
    ax = make_axes(ax, max(5.0, INCHES * layout.width), 1.0 + 2.0 * curves.n_layers)
    for layer in range(curves.n_layers):
        _draw_layer(curves, ax, layout, layer, importance)
    _draw_nodes(curves, ax, layout)
    ax.set_xlim(-0.6, layout.width - 0.4)
    ax.set_ylim(-0.4, curves.n_layers + 0.35)
    ax.set_axis_off()
    ax.set_title(_title(curves, layout), fontsize="medium")
    return ax


def _lay_out(curves: EdgeCurves, importance: Floats) -> _Layout:
    shares = curves.node_importances()
    best = []
    for share, ends in zip(shares, _ends(curves), strict=True):
        order = [int(j) for j in np.argsort(-share, kind="stable") if int(j) in ends]
        best.append(sorted(order[:MAX_NODES]))
    edges = [_edges_drawn(curves, i, best, importance) for i in range(curves.n_layers)]
    kept = _connected(curves, best, edges)
    width = float(max(*map(len, edges), *(1.2 * len(k) for k in kept), 3))
    nodes = [
        {j: (i + 0.5) * width / len(layer) - 0.5 for i, j in enumerate(layer)}
        for layer in kept
    ]
    for layer, drawn in enumerate(edges):
        _untangle(curves, drawn, nodes[layer], nodes[layer + 1])
    return _Layout(nodes, edges, width, 0.8)


def _ends(curves: EdgeCurves) -> list[set[int]]:
    """Nodes that edges which are shown start from or lead to, and all outputs."""
    assert curves.shown is not None
    found: list[set[int]] = [set() for _ in curves.widths]
    found[-1] = set(range(int(curves.widths[-1])))
    for edge in curves.shown:
        layer, source, target = curves.ends_of(int(edge))
        found[layer].add(source)
        found[layer + 1].add(target)
    return found


def _connected(
    curves: EdgeCurves, nodes: list[list[int]], edges: list[list[int]]
) -> list[list[int]]:
    """Nodes that a drawn edge touches, and the outputs."""
    touched: set[tuple[int, int]] = {(curves.n_layers, j) for j in nodes[-1]}
    for edge in (edge for layer in edges for edge in layer):
        layer, source, target = curves.ends_of(edge)
        touched |= {(layer, source), (layer + 1, target)}
    return [[j for j in part if (i, j) in touched] for i, part in enumerate(nodes)]


def _edges_drawn(
    curves: EdgeCurves, layer: int, kept: list[list[int]], importance: Floats
) -> list[int]:
    """Most important edges between nodes that are drawn, at first one for each node."""
    assert curves.shown is not None
    there = curves._edges_of(layer)
    among = []
    for edge in curves.shown:
        if there.start <= edge < there.stop:
            _, source, target = curves.ends_of(int(edge))
            if source in kept[layer] and target in kept[layer + 1]:
                among.append((int(edge), source, target))
    among.sort(key=lambda ends: -importance[ends[0]])
    into: dict[int, int] = {}
    out_of: dict[int, int] = {}
    for edge, source, target in among:
        into.setdefault(target, edge)
        out_of.setdefault(source, edge)
    ordered = [*into.values(), *out_of.values(), *(ends[0] for ends in among)]
    return list(dict.fromkeys(ordered))[:MAX_EDGES]


def _untangle(
    curves: EdgeCurves,
    edges: list[int],
    below: dict[int, float],
    above: dict[int, float],
) -> None:
    """Put the boxes in the order of where their edges start and lead."""

    def place(edge: int) -> tuple[float, float]:
        _, source, target = curves.ends_of(edge)
        return below[source] + 0.2 * above[target], above[target]

    edges.sort(key=place)


def _draw_layer(
    curves: EdgeCurves,
    ax: Axes,
    layout: _Layout,
    layer: int,
    importance: Floats,
) -> None:
    edges = layout.edges[layer]
    points, values = curves.curves(layer)
    largest = importance[edges].max() if edges else 1.0
    middle = layer + 0.5
    for i, edge in enumerate(edges):
        _, source, target = curves.ends_of(edge)
        x = (i + 0.5) * layout.width / len(edges) - 0.5
        share = importance[edge] / largest if largest > 0 else 0.0
        alpha = FAINTEST + (1 - FAINTEST) * float(np.sqrt(share))
        bottom = (layout.nodes[layer][source], layer + 0.0)
        top = (layout.nodes[layer + 1][target], layer + 1.0)
        style: Any = {"color": INK, "lw": 1.0, "alpha": alpha, "zorder": 1}
        ax.plot([bottom[0], x], [bottom[1], middle - BOX / 2], **style)
        ax.plot([x, top[0]], [middle + BOX / 2, top[1]], **style)
        curve = values[target, source]
        mark = _mark(curves, layer, source, target)
        _draw_box(ax, (x, middle), layout.box, points[source], curve, alpha, mark)


def _mark(
    curves: EdgeCurves, layer: int, source: int, target: int
) -> tuple[float, float] | None:
    """Where the first explained row lies on an edge's curve."""
    if curves.activations is None or not len(curves.activations):
        return None
    nodes = curves.activations[:1, curves._nodes_of(layer)]
    value = float(nodes[0, source])
    if layer == 0:
        value = float(
            (value - curves.input_offset[source]) / curves.input_scale[source]
        )
    return value, float(curves.edge_values(layer, nodes)[0, target, source])


def _draw_box(
    ax: Axes,
    center: tuple[float, float],
    width: float,
    points: Floats,
    values: Floats,
    alpha: float,
    mark: tuple[float, float] | None,
) -> None:
    from matplotlib.patches import Rectangle

    corner = (center[0] - width / 2, center[1] - BOX / 2)
    ax.add_patch(Rectangle(corner, width, BOX, fc="white", ec=FRAME, lw=0.8, zorder=2))

    def into(xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
        span, height = np.ptp(points) or 1.0, np.ptp(values) or 1.0
        right = (np.asarray(xs) - points.min()) / span
        up = (np.asarray(ys) - values.min()) / height if np.ptp(values) else 0.5
        flat = np.broadcast_to(up, right.shape)
        return (
            corner[0] + width * (0.08 + 0.84 * np.clip(right, -0.05, 1.05)),
            corner[1] + BOX * (0.12 + 0.76 * np.clip(flat, -0.1, 1.1)),
        )

    ax.plot(*into(points, values), color=INK, lw=1.6, alpha=alpha, zorder=3)
    if mark is not None:
        at = into(np.array(mark[:1]), np.array(mark[1:]))
        ax.plot(*at, "o", color=MARK, ms=4.5, zorder=4)


def _draw_nodes(curves: EdgeCurves, ax: Axes, layout: _Layout) -> None:
    last = curves.n_layers
    for layer, nodes in enumerate(layout.nodes):
        room = layout.width / max(1, len(nodes))
        for node, x in nodes.items():
            ax.plot([x], [layer], "o", ms=7, color=INK, zorder=5)
            name = _broken(node_name(curves, layer, node), max(6, int(7 * room)))
            if layer in (0, last):
                below = layer == 0
                ax.annotate(
                    name,
                    (x, layer),
                    xytext=(0, -9 if below else 9),
                    textcoords="offset points",
                    ha="center",
                    va="top" if below else "bottom",
                    fontsize="small",
                )
            else:
                ax.annotate(
                    name,
                    (x, layer),
                    xytext=(7, 0),
                    textcoords="offset points",
                    va="center_baseline",
                    fontsize="x-small",
                    color="0.35",
                    bbox=PLATE,
                    zorder=4,
                )
        hidden = int(curves.widths[layer]) - len(nodes)
        if hidden:
            ax.annotate(
                f"{hidden} more",
                (layout.width - 0.5, layer),
                xytext=(0, 6),
                textcoords="offset points",
                ha="right",
                va="bottom",
                fontsize="small",
                style="italic",
                color="0.35",
            )


def _broken(name: str, length: int) -> str:
    """Name in up to three lines, cut where a word is too long."""
    words = wrap(name.replace("_", " "), length) if len(name) > length else [name]
    if len(words) > 3:
        words = [*words[:2], " ".join(words[2:])]
    return "\n".join(shorten(word, length) for word in words)


def _title(curves: EdgeCurves, layout: _Layout) -> str:
    drawn = sum(map(len, layout.edges))
    hidden = curves.complexity - drawn
    text = f"{drawn} edges, darker for more important ones"
    if hidden > 0:
        text += f"; {hidden} more are not drawn"
    if curves.activations is not None and len(curves.activations):
        text += f"\ndots: {curves.unit} 0"
        rest = len(curves.activations) - 1
        text += f" ({rest} more not drawn)" if rest else ""
    return text
