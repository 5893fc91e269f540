"""Pictures of rules over shapelets: shapelets by weight, series with matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._shapelet_rules_math import mean_and_scale
from skinterp.explanation._shapelet_rules_show import say_prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._shapelet_rules import Floats, ShapeletRules

MAX_TARGETS = 6
PER_TARGET = 5
MAX_CHANNELS = 4
MARKED = 3
FOR, AGAINST, QUIET = "#2166ac", "#b2182b", "0.55"
COLORS = "RdBu"


def draw_rules(rules: ShapeletRules, ax: Axes | None) -> Axes:
    """A row of small curves per target, the heaviest first."""
    targets = range(min(len(rules.target_names), MAX_TARGETS))
    ax = make_axes(ax, 8.0, 0.9 + 1.3 * len(targets))
    ax.set_axis_off()
    ax.set_title("shapelets by weight: blue speaks for it, red against", fontsize=10)
    width = min(PER_TARGET, rules.complexity)
    reach = max((np.abs(rules.shapelet(j)).max() for j in _drawn(rules)), default=1.0)
    for row in targets:
        low = 1 - (row + 1) / len(targets)
        order = rules.by_weight(row)
        for column, j in enumerate(order[:width]):
            place = (0.14 + 0.86 * column / width, low + 0.02 / len(targets))
            size = (0.8 / width, 0.66 / len(targets))
            _draw_shapelet(rules, ax.inset_axes((*place, *size)), int(j), row, reach)
        name = shorten(str(rules.target_names[row]), 16)
        ax.text(0, low + 0.4 / len(targets), name, va="center", fontsize=9)
    _say_left_out(rules, ax, width)
    return ax


def _drawn(rules: ShapeletRules) -> list[int]:
    targets = range(min(len(rules.target_names), MAX_TARGETS))
    return [int(j) for t in targets for j in rules.by_weight(t)[:PER_TARGET]]


def _draw_shapelet(
    rules: ShapeletRules, ax: Axes, j: int, target: int, reach: float
) -> None:
    weight = rules.weights[j, target]
    color = FOR if weight > 0 else AGAINST if weight < 0 else QUIET
    ax.axhline(0, color="0.85", lw=0.8)
    ax.plot(rules.shapelet(j), color=color, lw=1.6)
    ax.set_ylim(-1.05 * reach, 1.05 * reach)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color("0.8")
    channel = shorten(rules.feature_names[rules.channel[j]], 12)
    text = f"{weight:+.2g}  {channel}, {rules.lengths[j]} points"
    ax.set_title(text, fontsize=6.5, pad=2)


def _say_left_out(rules: ShapeletRules, ax: Axes, width: int) -> None:
    notes = []
    if rules.complexity > width:
        left = _count(rules.complexity - width, "more shapelet")
        notes.append(f"{left} per row")
    if len(rules.target_names) > MAX_TARGETS:
        notes.append(_count(len(rules.target_names) - MAX_TARGETS, "more target"))
    if notes:
        ax.text(1, -0.02, ", ".join(notes), ha="right", va="top", fontsize=8)


def draw_series(rules: ShapeletRules, ax: Axes | None) -> Axes:
    """The first series, coloured by what each point adds, with the best matches."""
    if not len(rules):
        ax = make_axes(ax, 8.0, 2.0)
        ax.set_title("no rows")
        return ax
    one = rules[0]
    series = one._rows()[0][0]
    evidence = one.evidence()[0]
    channels = _channels(one)
    marked = _marked(one, channels)
    ax = make_axes(ax, 8.0, 1.6 + 1.5 * len(channels))
    ax.set_axis_off()
    ax.set_title(_sentence(rules), fontsize=10)
    reach = float(np.abs(evidence).max()) or 1.0
    height = 1 / len(channels)
    for row, c in enumerate(channels):
        box = ax.inset_axes((0.07, 1 - (row + 0.86) * height, 0.85, 0.78 * height))
        _draw_channel(box, series[c], evidence[c], reach)
        _draw_matches(one, box, c, marked)
        box.set_ylabel(shorten(one.feature_names[c], 14), fontsize=8)
        box.yaxis.set_label_coords(-0.06, 0.5)
        if row < len(channels) - 1:
            box.set_xticklabels([])
        else:
            box.set_xlabel("time point", fontsize=8)
    _add_scale(ax, reach)
    return ax


def _sentence(rules: ShapeletRules) -> str:
    text = say_prediction(rules, 0)
    notes = []
    if len(rules) > 1:
        notes.append(_count(len(rules) - 1, f"more {rules.unit}"))
    left = len(rules.feature_names) - MAX_CHANNELS
    if left > 0:
        notes.append(_count(left, "more channel"))
    return shorten(text, 110) + (f"\n({', '.join(notes)})" if notes else "")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _channels(one: ShapeletRules) -> list[int]:
    """Channels whose matches add most, in their order."""
    size = np.zeros(len(one.feature_names))
    np.add.at(size, one.channel, np.abs(one.contributions()[0]))
    best = np.argsort(-size, kind="stable")[:MAX_CHANNELS]
    return sorted(int(c) for c in best)


def _marked(one: ShapeletRules, channels: list[int]) -> list[int]:
    """Shapelets that add most, of those in the channels that are drawn."""
    assert one.shown is not None
    there = one.shown[np.isin(one.channel[one.shown], channels)]
    size = np.abs(one.contributions()[0, there])
    return [int(j) for j in there[np.argsort(-size, kind="stable")][:MARKED]]


def _draw_channel(ax: Axes, values: Floats, evidence: Floats, reach: float) -> None:
    from matplotlib.collections import LineCollection

    t = np.arange(len(values))
    points = np.column_stack([t, values])
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    ax.plot(t, values, color="0.8", lw=3.2, solid_capstyle="round")
    lines = LineCollection(pieces, cmap=COLORS, norm=_norm(reach), lw=2.2)  # type: ignore[arg-type]
    lines.set_array((evidence[:-1] + evidence[1:]) / 2)
    ax.add_collection(lines)
    ax.margins(x=0.01, y=0.12)
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def _norm(reach: float) -> Any:
    from matplotlib.colors import Normalize

    return Normalize(-reach, reach)


def _draw_matches(one: ShapeletRules, ax: Axes, c: int, marked: list[int]) -> None:
    """Lay the shapelets, in the units of the channel, over the windows they match."""
    series, predicates, starts, _ = one._rows()
    amounts = one.contributions()[0]
    mean, scale = mean_and_scale(series[0])
    here = [j for j in marked if one.channel[j] == c]
    for place, j in enumerate(here):
        first, n = int(starts[0, j]), int(one.lengths[j])
        color = FOR if amounts[j] >= 0 else AGAINST
        ax.axvspan(first, first + n - 1, color=color, alpha=0.1, lw=0)
        curve = one.shapelet(j) * scale[c] + mean[c]
        ax.plot(first + np.arange(n), curve, color=color, lw=1, ls=(0, (4, 2)))
        text = f"shapelet {j}: {amounts[j]:+.2g}, match {predicates[0, j]:.2f}"
        plate: Any = {"fc": "white", "ec": "none", "pad": 0.6, "alpha": 0.8}
        ax.text(
            first,
            1.08 - 0.15 * place,
            text,
            transform=ax.get_xaxis_transform(),
            va="top",
            fontsize=7,
            color=color,
            bbox=plate,
        )


def _add_scale(ax: Axes, reach: float) -> None:
    from matplotlib.cm import ScalarMappable

    place = ax.inset_axes((0.95, 0.1, 0.015, 0.8))
    figure: Any = ax.figure
    bar = figure.colorbar(ScalarMappable(_norm(reach), COLORS), cax=place)
    bar.set_ticks([-reach, 0, reach], labels=["against", "0", "for"])
    bar.ax.tick_params(labelsize=7)
