"""The Hasse diagram: layers from the top down, with reduced labels."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._lattice_order import levels_of
from skinterp.explanation._lattice_show import count, objects_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._lattice import Lattice

MAX_DRAWN = 60
MAX_LINES = 4
SWEEPS = 24
LETTERS = 14
SHARE = 0.775  # of a figure's width, for the axes
NODE, EDGE, MARK = "#3b6ea5", "0.65", "#d1632a"


@dataclass
class Layout:
    """Concepts, and points where long edges pass a layer, in rows from the top down."""

    layers: list[list[int]]
    chains: list[list[int]]
    x: NDArray[np.float64]
    level: NDArray[np.int64]


def draw_lattice(lattice: Lattice, ax: Axes | None) -> Axes:
    """Circles by layers, edges, new attributes above and rows below."""
    shown = _part_to_draw(lattice)
    above, below = _labels(shown)
    inches = _widths(above, below)
    step = float(inches.max(initial=0.0))
    layout = lay_out(shown.edges, len(shown.concept), inches / max(step, 0.01))
    lines = [t.count("\n") + 1 for t in (*above, *below) if t]
    height = float(layout.level.max(initial=0)) * (0.7 + 0.13 * max(lines, default=1))
    left = float(layout.x.min()) - 0.6 if len(layout.x) else -1.0
    right = float(layout.x.max()) + 0.6 if len(layout.x) else 1.0
    width = min(26.0, max(4.0, step * (right - left) / SHARE))
    ax = make_axes(ax, width, max(3.0, 1.6 + height))
    _draw_edges(ax, layout)
    _draw_nodes(ax, shown, layout)
    _write(ax, layout, above, below)
    ax.set_axis_off()
    ax.set_xlim(left, right)
    ax.set_ylim(-float(layout.level.max(initial=0)) - 0.55, 0.55)
    ax.set_title(_tell(lattice, shown), fontsize="small", loc="left")
    return ax


def _part_to_draw(lattice: Lattice) -> Lattice:
    """Lattice itself, or the largest concepts of it."""
    if len(lattice.concept) <= MAX_DRAWN:
        return lattice
    if lattice.row_concept is None:
        return lattice.top(MAX_DRAWN)
    n = len(lattice)
    while n > 1 and len(lattice[:n].concept) > MAX_DRAWN:
        n = n * 2 // 3
    return lattice[:n]


def _tell(lattice: Lattice, shown: Lattice) -> str:
    """What is drawn, and how much more there is."""
    said = [count(len(shown.concept), "concept")]
    more = lattice.n_concepts - len(shown.concept)
    if lattice.row_concept is None and more:
        said.append(f"{more} more of fewer rows")
    if lattice.row_concept is not None and len(shown) < len(lattice):
        said.append(f"{len(lattice) - len(shown)} more {lattice.unit}s")
    if lattice.min_size > 0 and lattice.row_concept is None:
        said.append(f"those of fewer than {count(lattice.min_size, 'row')} left out")
    return "; ".join(said)


def _labels(shown: Lattice) -> tuple[list[str], list[str]]:
    """What is written above and below each concept."""
    new = shown.own_attributes()
    above = [
        _stack([shown.attribute_names[k] for k in np.flatnonzero(held)]) for held in new
    ]
    objects = objects_at(shown)
    sizes = zip(objects, shown.own_size, shown.size, strict=True)
    if shown.row_concept is not None:
        cases = np.bincount(shown.row_concept, minlength=len(shown.concept))
        return above, [count(int(n), shown.unit) if n else "" for n in cases]
    if shown.object_names:
        return above, [_stack(names) for names, _, _ in sizes]
    return above, [str(size) for _, _, size in sizes]


def _widths(above: list[str], below: list[str]) -> NDArray[np.float64]:
    """Inches that the labels of each concept take, with a gap."""
    pairs = zip(above, below, strict=True)
    longest = [max(map(len, "\n".join(pair).split("\n"))) for pair in pairs]
    return 0.2 + 0.078 * np.maximum(np.array(longest, dtype=np.float64), 3.0)


def _stack(names: list[str]) -> str:
    """Names below each other, long ones broken; the lines left out are counted."""
    lines: list[str] = []
    for i, name in enumerate(names):
        broken = textwrap.wrap(shorten(name, 2 * LETTERS), LETTERS) or [""]
        last = i == len(names) - 1
        if len(lines) + len(broken) > MAX_LINES - (not last) and i > 0:
            return "\n".join([*lines, f"+ {len(names) - i} more"])
        lines += broken
    return "\n".join(lines)


# -- layout ----------------------------------------------------------------------------


def lay_out(
    edges: NDArray[np.int64], n: int, room: NDArray[np.float64] | None = None
) -> Layout:
    """Place concepts in layers such that edges cross little (after Sugiyama).

    ``room`` is the width of each concept; the widest is 1, as all are where not given.
    """
    level = levels_of(edges, n)
    layers: list[list[int]] = [[] for _ in range(int(level.max(initial=0)) + 1)]
    for c in range(n):
        layers[level[c]].append(c)
    chains, total = [], n
    levels = level.tolist()
    for low, high in edges.tolist():
        between = list(range(total, total + level[low] - level[high] - 1))
        for i, point in enumerate(between):
            layers[level[high] + 1 + i].append(point)
            levels.append(int(level[high]) + 1 + i)
        total += len(between)
        chains.append([high, *between, low])
    up, down = _neighbours(chains, total)
    _order_layers(layers, up, down, total)
    widths = np.full(total, 0.25)
    widths[:n] = 1.0 if room is None else room
    x = _place(layers, up, down, widths)
    return Layout(layers, chains, x, np.array(levels, dtype=np.int64))


def _neighbours(chains: list[list[int]], total: int) -> tuple[list[list[int]], ...]:
    up: list[list[int]] = [[] for _ in range(total)]
    down: list[list[int]] = [[] for _ in range(total)]
    for chain in chains:
        for high, low in pairwise(chain):
            down[high].append(low)
            up[low].append(high)
    return up, down


def _order_layers(
    layers: list[list[int]], up: list[list[int]], down: list[list[int]], total: int
) -> None:
    """Sort each layer by the mean place of its neighbours; keep the best sweep."""
    best, fewest = [list(layer) for layer in layers], crossings(layers, down, total)
    for sweep in range(SWEEPS):
        near = up if sweep % 2 == 0 else down
        steps = layers[1:] if sweep % 2 == 0 else layers[-2::-1]
        place = _places(layers, total)
        for layer in steps:
            key = {
                v: float(np.mean(place[near[v]])) if near[v] else place[v]
                for v in layer
            }
            layer.sort(key=lambda v: key[v])
            place[layer] = _spread(len(layer))
        found = crossings(layers, down, total)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def _spread(n: int) -> NDArray[np.float64]:
    """Places of a layer, about the middle."""
    places: NDArray[np.float64] = np.arange(n, dtype=np.float64) - (n - 1) / 2
    return places


def _places(layers: list[list[int]], total: int) -> NDArray[np.float64]:
    place = np.zeros(total)
    for layer in layers:
        place[layer] = _spread(len(layer))
    return place


def crossings(layers: list[list[int]], down: list[list[int]], total: int) -> int:
    """Pairs of edges between neighbouring layers that cross."""
    place = _places(layers, total)
    crossed = 0
    for layer in layers:
        ends = np.array([(place[v], place[w]) for v in layer for w in down[v]])
        if len(ends) > 1:
            left = np.sign(ends[:, None, 0] - ends[None, :, 0])
            right = np.sign(ends[:, None, 1] - ends[None, :, 1])
            crossed += int((left * right < 0).sum()) // 2
    return crossed


def _place(
    layers: list[list[int]],
    up: list[list[int]],
    down: list[list[int]],
    room: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Coordinates: towards the neighbours, no nearer to each other than allowed."""
    x = _places(layers, len(room))
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            near = [
                np.mean(x[up[v] + down[v]]) if up[v] + down[v] else x[v] for v in layer
            ]
            gaps = (room[layer[:-1]] + room[layer[1:]]) / 2
            x[layer] = _apart(np.array(near, dtype=float), gaps)
    return x


def _apart(wish: NDArray[np.float64], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places nearest to those wished for that keep an order and its gaps."""
    from sklearn.isotonic import isotonic_regression

    if len(wish) == 0:
        return wish
    shift = np.concatenate([[0.0], np.cumsum(gaps)])
    placed: NDArray[np.float64] = isotonic_regression(wish - shift) + shift
    return placed


# -- drawing ---------------------------------------------------------------------------


def _draw_edges(ax: Axes, layout: Layout) -> None:
    for chain in layout.chains:
        ax.plot(
            layout.x[chain], -layout.level[chain], "-", color=EDGE, lw=0.9, zorder=1
        )


def _draw_nodes(ax: Axes, shown: Lattice, layout: Layout) -> None:
    n = len(shown.concept)
    share = shown.size / max(shown.n_rows, 1)
    marked = np.zeros(n, dtype=bool)
    if shown.row_concept is not None:
        marked[shown.row_concept] = True
    ax.scatter(
        layout.x[:n],
        -layout.level[:n],
        s=30 + 120 * np.sqrt(share),
        c=[MARK if m else NODE for m in marked],
        edgecolors="white",
        zorder=2,
    )


def _write(ax: Axes, layout: Layout, above: list[str], below: list[str]) -> None:
    """New attributes above in bold, rows or their number below."""
    paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    for c, (high, low) in enumerate(zip(above, below, strict=True)):
        for text, side, weight in ((high, 1, "bold"), (low, -1, "normal")):
            if text:
                ax.annotate(
                    text,
                    (layout.x[c], -layout.level[c]),
                    xytext=(0, 8 * side),
                    textcoords="offset points",
                    ha="center",
                    va="bottom" if side > 0 else "top",
                    fontsize=7.5,
                    fontweight=weight,
                    linespacing=1.1,
                    bbox=paper,
                    zorder=3,
                )
