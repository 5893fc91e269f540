"""Shape functions as text and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._attribution_show import draw_bars, say_rows
from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._shape_functions import ShapeFunctions

MAX_TERMS = 50
MAX_PANELS = 12
MAX_LABELS = 12
COLUMNS = 3
# inches: a panel with its title and labels, and the gaps between them
WIDTH, HEIGHT = 3.2, 2.5
LEFT, RIGHT, TOP, BOTTOM = 0.65, 0.15, 0.3, 0.55
TIGHT = 0.7  # share of these that a panel needs at least
SCALE = 0.45  # for the scale of colors beside a heat map
DENSITY = "0.85"


def say_terms(shapes: ShapeFunctions) -> str:
    """Terms by importance, or the sum of each row."""
    if shapes.scope == "local":
        return say_rows(shapes.as_attribution())
    count = len(shapes.terms)
    start = f"{float(shapes.intercept):.4g}" if not shapes.intercept.ndim else "base"
    lines = [f"{shapes.output} = {start} + {count} term{'s' * (count != 1)}"]
    if shapes.intercept.ndim:
        pairs = zip(shapes.target_names, shapes.intercept, strict=True)
        lines.append("base: " + ", ".join(f"{b:.4g} ({name})" for name, b in pairs))
    order, shares = np.argsort(-shapes.sizes(), kind="stable"), shapes.shares()
    lines += [_say_term(shapes, int(t), shares[t]) for t in order[:MAX_TERMS]]
    if count > MAX_TERMS:
        lines.append(f"  ... {count - MAX_TERMS} more")
    return "\n".join(lines)


def _say_term(shapes: ShapeFunctions, t: int, share: float) -> str:
    head = f"  - {shapes.term_names[t]}: spread {shapes.sizes()[t]:.3g} ({share:.0%})"
    head = head.replace("%)", " %)")
    values = shapes.values[t]
    if not values.size or values.min() == values.max():
        return head
    ends = [(values.argmin(), "from"), (values.argmax(), "to")]
    said = []
    for flat, word in ends:
        index = np.unravel_index(flat, values.shape)
        where = ", ".join(
            _say_point(axis[i]) for axis, i in zip(shapes.grids[t], index, strict=False)
        )
        of = f" for {shapes.target_names[index[-1]]}" if shapes.intercept.ndim else ""
        where = f"({where})" if len(shapes.grids[t]) > 1 else where
        said.append(f"{word} {values[index]:.3g}{of} at {where}")
    return f"{head}, {' '.join(said)}"


def _say_point(point: Any) -> str:
    return f"{point:.4g}" if isinstance(point, float | np.floating) else str(point)


def draw_terms(shapes: ShapeFunctions, ax: Axes | None) -> Axes:
    """A panel per term; bars for rows."""
    if shapes.scope == "local":
        return draw_bars(shapes.as_attribution(), ax)
    order = np.argsort(-shapes.sizes(), kind="stable")
    drawn = [int(t) for t in order if shapes.terms[t] and shapes.values[t].size]
    columns, rows = _room(ax)
    shown = drawn[: min(MAX_PANELS, columns * rows)]
    columns = max(1, min(columns, len(shown)))
    rows = max(1, math.ceil(len(shown) / columns))
    ax = make_axes(ax, columns * WIDTH, rows * HEIGHT)
    ax.set_axis_off()
    panels = [
        ax.inset_axes(_place(i, columns, rows, len(shapes.terms[t])))
        for i, t in enumerate(shown)
    ]
    _fill_panels(shapes, shown, panels)
    left_out = len(shapes.terms) - len(shown)
    if left_out:
        text = f"{left_out} more term{'s' * (left_out != 1)}"
        ax.set_title(text, loc="right", fontsize="small", color="0.4")
    return ax


def _room(ax: Axes | None) -> tuple[int, int]:
    """How many panels fit beside and below each other, with legible labels."""
    most = COLUMNS, math.ceil(MAX_PANELS / COLUMNS)
    if ax is None or getattr(ax.figure, "fits_drawing", False):
        return most
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    columns = int(box.width / dpi / (TIGHT * WIDTH))
    rows = int(box.height / dpi / (TIGHT * HEIGHT))
    return min(most[0], max(1, columns)), min(most[1], max(1, rows))


def _place(
    i: int, columns: int, rows: int, order: int
) -> tuple[float, float, float, float]:
    """Place of a panel, in shares of the axes."""
    wide = WIDTH - LEFT - RIGHT - (SCALE if order > 1 else 0)
    return (
        (i % columns + LEFT / WIDTH) / columns,
        1 - (i // columns + 1 - BOTTOM / HEIGHT) / rows,
        wide / WIDTH / columns,
        (HEIGHT - TOP - BOTTOM) / HEIGHT / rows,
    )


def _fill_panels(shapes: ShapeFunctions, shown: list[int], panels: list[Any]) -> None:
    """Curves share one vertical scale, heat maps one scale of colors."""
    curves = [shapes.values[t] for t in shown if len(shapes.terms[t]) == 1]
    ends = [(float(v.min()), float(v.max())) for v in curves]
    low, high = (
        (min(e[0] for e in ends), max(e[1] for e in ends)) if ends else (0.0, 1.0)
    )
    margin = 0.06 * (high - low) or 1.0
    surfaces = [shapes.values[t] for t in shown if len(shapes.terms[t]) > 1]
    limit = max((float(np.abs(v).max()) for v in surfaces), default=0.0) or 1.0
    legend = False
    for t, panel in zip(shown, panels, strict=True):
        panel.tick_params(labelsize="x-small")
        panel.set_title(
            f"{_title(shapes, t)} ({100 * shapes.shares()[t]:.0f} %)",
            fontsize="small",
        )
        if len(shapes.terms[t]) == 1:
            panel.set_ylim(low - margin, high + margin)
            _draw_curve(shapes, t, panel)
            if shapes.intercept.ndim and not legend:
                _draw_legend(shapes, panel)
                legend = True
        else:
            _draw_surface(shapes, t, panel, limit)


def _title(shapes: ShapeFunctions, t: int) -> str:
    names = [shapes.feature_names[j] for j in shapes.terms[t]]
    room = 34 // len(names) - 3 * (len(names) > 1)
    return " × ".join(shorten(name, max(room, 6)) for name in names)


def _draw_curve(shapes: ShapeFunctions, t: int, panel: Any) -> None:
    (j,), (points,) = shapes.terms[t], shapes.grids[t]
    values = shapes.values[t].reshape(len(points), -1)
    panel.axhline(0, color="#8888", lw=0.8, zorder=0)
    panel.set_xlabel(shorten(shapes.feature_names[j], 30), fontsize="x-small")
    if points.dtype.kind != "f":
        _draw_categories(points, values, panel)
        return
    _draw_density(shapes, j, points, panel)
    for c in range(values.shape[1]):
        panel.plot(points, values[:, c], color=f"C{c}", lw=1.5)


def _draw_categories(points: Any, values: NDArray[np.float64], panel: Any) -> None:
    """Bars, those of one category side by side."""
    n, width = values.shape[1], 0.8 / values.shape[1]
    for c in range(n):
        x = np.arange(len(points)) + (c - (n - 1) / 2) * width
        panel.bar(x, values[:, c], width=width, color=f"C{c}")
    _name_ticks(panel, points, "x")


def _name_ticks(panel: Any, points: Any, axis: str) -> None:
    """Names of categories; every other one, or fewer, where there are many."""
    step = math.ceil(len(points) / MAX_LABELS)
    names = [shorten(str(p), 10) for p in points[::step]]
    at = np.arange(0, len(points), step)
    if axis == "x":
        turn = 0 if sum(map(len, names)) <= 24 else 35
        panel.set_xticks(at, names, rotation=turn, ha="right" if turn else "center")
    else:
        panel.set_yticks(at, names)


def _draw_density(shapes: ShapeFunctions, j: int, points: Any, panel: Any) -> None:
    """Where the data lie, along the lower border."""
    if not shapes.density or not len(shapes.density[j]):
        return
    at, share = shapes.density_at[j], shapes.density[j]
    if at.dtype.kind != "f":
        return
    height = 0.22 * share / share.max()
    lower = panel.get_xaxis_transform()
    if len(at) > len(share):
        panel.bar(
            at[:-1],
            height,
            width=np.diff(at),
            align="edge",
            color=DENSITY,
            transform=lower,
            zorder=0,
        )
    else:
        panel.vlines(at, 0, height, color=DENSITY, lw=3, transform=lower, zorder=0)
    low, high = min(at[0], points[0]), max(at[-1], points[-1])
    margin = 0.03 * (high - low) or 1.0
    panel.set_xlim(low - margin, high + margin)


def _draw_legend(shapes: ShapeFunctions, panel: Any) -> None:
    # matplotlib leaves out empty labels and those that begin with "_"
    handles = panel.lines[1:] or panel.containers
    legend = panel.legend(
        list(handles),
        [f"output {c}" for c in range(len(handles))],
        fontsize="xx-small",
        frameon=False,
    )
    for text, name in zip(legend.get_texts(), shapes.target_names, strict=False):
        text.set_text(shorten(str(name), 16))


def _draw_surface(shapes: ShapeFunctions, t: int, panel: Any, limit: float) -> None:
    """Heat map over two features; further ones stand at their middle point."""
    term, grid, values = shapes.terms[t], shapes.grids[t], shapes.values[t]
    notes = []
    for k in range(len(term) - 1, 1, -1):
        middle = len(grid[k]) // 2
        values = np.take(values, middle, axis=k)
        name = shorten(shapes.feature_names[term[k]], 14)
        notes.append(f"{name} = {_say_point(grid[k][middle])}")
    if shapes.intercept.ndim:
        spread = values.reshape(-1, values.shape[-1]).std(axis=0)
        c = int(spread.argmax())
        values = values[..., c]
        notes.append(shorten(str(shapes.target_names[c]), 14))
    x, y = (_borders(axis) for axis in grid[:2])
    mesh = panel.pcolormesh(
        x, y, values.T, cmap="RdBu_r", vmin=-limit, vmax=limit, rasterized=True
    )
    panel.set_xlabel(shorten(shapes.feature_names[term[0]], 30), fontsize="x-small")
    panel.set_ylabel(shorten(shapes.feature_names[term[1]], 24), fontsize="x-small")
    for axis, name in zip(grid[:2], "xy", strict=True):
        if axis.dtype.kind != "f":
            _name_ticks(panel, axis, name)
    if notes:
        panel.text(
            0.03,
            0.97,
            ", ".join(notes),
            transform=panel.transAxes,
            va="top",
            fontsize="xx-small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
    side = panel.inset_axes((1.02, 0, 0.04, 1))
    bar = panel.figure.colorbar(mesh, cax=side)
    bar.ax.tick_params(labelsize="xx-small")


def _borders(points: NDArray[Any]) -> NDArray[Any]:
    """Borders of the cells around points; categories stand at 0, 1, ..."""
    if points.dtype.kind != "f":
        return np.arange(len(points) + 1) - 0.5
    if len(points) == 1:
        return np.array([points[0] - 0.5, points[0] + 0.5])
    middle = (points[1:] + points[:-1]) / 2
    return np.concatenate([points[:1], middle, points[-1:]])
