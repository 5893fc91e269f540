"""Pictures of shapelets: on the series they come from, and on series that match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._shapelets import ShapeletSet

MAX_PANELS = 5
MAX_CHANNELS = 4
MAX_MARKS = 4
MAX_GROUPS = 10
HEIGHT = 1.5
WIDTH = 8.5
LINE, TEXT = "0.55", "0.35"


def draw_shapelets(told: ShapeletSet, ax: Axes | None) -> Axes:
    """Panels of the best shapelets, or of rows with their matches."""
    if told.distance is None:
        rows = [(k, 0) for k in range(min(told.n_shapelets, MAX_PANELS))]
    else:
        rows = _panels_of_rows(told)
    ax = make_axes(ax, WIDTH, 0.6 + HEIGHT * max(len(rows), 1))
    ax.set_axis_off()
    for at, (i, channel) in enumerate(rows):
        if told.distance is None:
            _draw_source(told, i, ax, at, len(rows))
        else:
            _draw_row(told, i, channel, _panel(ax, at, len(rows), 0.06, 0.92))
    ax.set_title(_title(told, rows), fontsize="medium", loc="left")
    return ax


def _panels_of_rows(told: ShapeletSet) -> list[tuple[int, int]]:
    """Rows with their channels: those where the row has most shapelets."""
    panels: list[tuple[int, int]] = []
    for i in range(len(told)):
        near = np.asarray(told.distance)[i] <= told.threshold
        counts = np.bincount(told.channel[near], minlength=len(told.feature_names))
        order = np.argsort(-counts, kind="stable")[:MAX_CHANNELS]
        used = [c for c in order if counts[c]] or list(order[:1])
        panels += [(i, int(c)) for c in sorted(used)]
        if len(panels) >= MAX_PANELS:
            break
    return panels[:MAX_PANELS]


def _title(told: ShapeletSet, rows: list[Any]) -> str:
    if told.distance is None:
        text, left = f"shapelets by {told.quality_name}", told.n_shapelets - len(rows)
        return f"{text} ({left} more)" if left else text
    if not rows:
        return "no rows"
    left = len(told) - len({i for i, _ in rows})
    text = "what the rows have of the shapelets; behind, in gray, the shapelet"
    return f"{text} ({left} more row{'s' * (left != 1)})" if left else text


def _panel(ax: Axes, at: int, n: int, left: float, width: float) -> Any:
    gap = 0.36 / n
    return ax.inset_axes((left, 1 - (at + 1) / n + gap, width, 1 / n - 1.35 * gap))


def _color(told: ShapeletSet, k: int) -> str:
    return f"C{told.target[k] % 10}"


def _draw_source(told: ShapeletSet, k: int, ax: Axes, at: int, n: int) -> None:
    """Training series with the shapelet marked, and distances by class beside it."""
    panel = _panel(ax, at, n, 0.06, 0.56)
    series, start, length = told.source_series(k), told.start[k], told.lengths[k]
    panel.plot(series, color=LINE, lw=1)
    times = np.arange(start, start + length)
    panel.plot(times, series[start : start + length], color=_color(told, k), lw=2.5)
    panel.margins(x=0.01)
    name = "" if told.numeric else f"{told.target_names[told.target[k]]}, "
    text = f"s{k}: {name}{told.feature_names[told.channel[k]]}, series {told.case[k]}"
    panel.set_title(shorten(text, 60), fontsize="small", loc="left", pad=3)
    panel.tick_params(labelsize="x-small")
    side = _panel(ax, at, n, 0.76, 0.23)
    _draw_spread(told, k, side)
    side.set_title(
        f"{told.quality_name} {told.quality[k]:.3g}",
        fontsize="small",
        loc="left",
        pad=3,
    )


def _draw_spread(told: ShapeletSet, k: int, panel: Any) -> None:
    """Boxes of distances by class, nearest on top; or of the target, near and far."""
    spread = told.spread[k]
    if told.numeric:
        order, names = np.arange(2), ["near", "far"]
        colors = ["C0", LINE]
    else:
        order = np.argsort(spread[:, 2], kind="stable")[:MAX_GROUPS]
        names = [shorten(str(told.target_names[c]), 9) for c in order]
        colors = [f"C{c % 10}" for c in order]
        panel.axvline(told.threshold[k], color="k", lw=1, ls="--")
    for y, (group, color) in enumerate(zip(order, colors, strict=True)):
        low, first, middle, third, high = spread[group]
        panel.plot([low, high], [y, y], color=color, lw=1)
        panel.barh(y, third - first, left=first, height=0.6, color=color, alpha=0.4)
        panel.plot([middle, middle], [y - 0.3, y + 0.3], color=color, lw=2)
    panel.set_yticks(np.arange(len(order)), names, fontsize="x-small")
    panel.set_ylim(len(order) - 0.4, -0.6)
    panel.tick_params(axis="x", labelsize="x-small")
    what = shorten(str(told.target_names[0]), 20) if told.numeric else "distance"
    panel.set_xlabel(what, fontsize="x-small", labelpad=1)


def _draw_row(told: ShapeletSet, i: int, channel: int, panel: Any) -> None:
    """A row with the windows that match, over the shapelets at the row's own scale."""
    series = told.row_series(i)[channel]
    panel.plot(series, color=LINE, lw=1)
    order = [int(k) for k in told.order_of(i) if told.channel[k] == channel]
    distance = np.asarray(told.distance)[i]
    near = [k for k in order if distance[k] <= told.threshold[k]]
    marked = _apart(told, i, near or order[:1])
    for k in marked:
        _draw_match(told, i, k, series, panel, dashed=not near)
    panel.margins(x=0.01, y=0.22)
    panel.tick_params(labelsize="x-small")
    names = f"row {i}, {told.feature_names[channel]}"
    text = f"{names}: has {len(near)} of {len(order)} shapelets"
    if not near and order:
        text += f"; nearest is s{order[0]}, distance {distance[order[0]]:.2f}"
    panel.set_title(shorten(text, 90), fontsize="small", loc="left", pad=3)


def _apart(told: ShapeletSet, i: int, order: list[int]) -> list[int]:
    """The first few matches that do not cover each other."""
    chosen: list[int] = []
    spans: list[tuple[int, int]] = []
    for k in order:
        a = max(int(np.asarray(told.location)[i, k]), 0)
        b = a + int(told.lengths[k])
        if all(b <= c or d <= a for c, d in spans):
            chosen.append(k)
            spans.append((a, b))
    return chosen[:MAX_MARKS]


def _draw_match(
    told: ShapeletSet, i: int, k: int, series: Any, panel: Any, *, dashed: bool
) -> None:
    """Mark the window, and draw the shapelet at its level and scale behind it."""
    place, shape = int(np.asarray(told.location)[i, k]), told.shape(k)
    if place < 0 or len(shape) > len(series):
        shape, place = shape[-place : -place + len(series)], 0
    times = np.arange(place, place + len(shape))
    window = series[times]
    behind = window.mean() + window.std() * shape
    panel.plot(times, behind, color=TEXT, lw=4, alpha=0.25)
    style = "--" if dashed else "-"
    panel.plot(times, window, color=_color(told, k), lw=2, ls=style)
    name = "" if told.numeric else f" {told.target_names[told.target[k]]}"
    distance = np.asarray(told.distance)[i, k]
    panel.annotate(
        shorten(f"s{k}{name} {distance:.2f}", 24),
        (times[len(times) // 2], max(window.max(), behind.max())),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        fontsize="x-small",
        color=_color(told, k),
    )
