"""Data values as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._data_values import DataValues

MAX_ROWS = 30
MAX_CELLS = 5
MAX_BARS = 15
MAX_ERROR_BARS = 250  # more of them become a band
FOUND, OTHER, MARKED = "C0", "0.6", "C3"


def say_values(values: DataValues) -> str:
    """Rows found, from the most extreme one."""
    order = values.by_value()[: values.complexity]
    end = "lowest" if values.lowest else "highest"
    lines = [f"{len(order)} of {len(values)} rows of {end} value{_held_out(values)}"]
    lower, upper = values.interval()
    for i in order[:MAX_ROWS]:
        text = f"  - row {values.row[i]}: value {values.value[i]:.3g}"
        if values.std[i] > 0:
            text += f" ({lower[i]:.3g} to {upper[i]:.3g})"
        if values.pulls[i] or values.std[i] > 0:
            text += f", {_draws(values.pulls[i])}"
        if values.std[i] > 0:
            text += f", among the {end} with probability {values.probability[i]:.2g}"
        lines.append(text + _cells(values, i))
    if len(order) > MAX_ROWS:
        lines.append(f"  ... {len(order) - MAX_ROWS} more")
    if values.marked is not None:
        found = int((values.marked & values.selected).sum())
        lines.append(f"{found} of {int(values.marked.sum())} marked rows are found")
    return "\n".join(lines)


def _draws(count: int) -> str:
    return f"{count} draw{'' if count == 1 else 's'}" if count else "never drawn"


def _held_out(values: DataValues) -> str:
    rest = int(np.isnan(values.probability).sum())
    verb = "is no candidate" if rest == 1 else "are no candidates"
    return f" ({rest} {verb})" if rest else ""


def _cells(values: DataValues, i: int) -> str:
    """Contents of a row: its first cells, and its target."""
    parts = []
    if values.data is not None:
        names = values.feature_names[:MAX_CELLS]
        cells = [f"{n}={_cell(values.data[i, j])}" for j, n in enumerate(names)]
        rest = len(values.feature_names) - len(names)
        parts.append(", ".join(cells) + (f", {rest} more" if rest else ""))
    if values.target is not None:
        parts.append(_cell(values.target[i]))
    return f" [{'; '.join(parts)}]" if parts else ""


def _cell(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float | np.floating) else str(cell)


def say_sources(values: DataValues) -> str:
    """Rows whose draws made one value, by what they add to it."""
    assert values.weight is not None
    assert values.part is not None
    order = values.by_value()
    total = values.part.sum()
    lines = [
        f"value of row {values.of}: mean value {total:+.3g}, from {len(order)} rows"
    ]
    for i in order[:MAX_ROWS]:
        lines.append(
            f"  - row {values.row[i]}: {values.part[i]:+.3g}, weight "
            f"{values.weight[i]:.3g}, {_draws(values.pulls[i])}{_cells(values, i)}"
        )
    if len(order) > MAX_ROWS:
        lines.append(f"  ... {len(order) - MAX_ROWS} more")
    return "\n".join(lines)


def draw_values(values: DataValues, ax: Axes | None) -> Axes:
    """Values in their order; error bars, or a band where there are many rows."""
    ax = make_axes(ax, 8.0, 4.5)
    order = np.argsort(values.value, kind="stable")
    if not values.lowest:
        order = order[::-1]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    candidate = np.isfinite(values.probability)
    end = "lowest" if values.lowest else "highest"
    for group, color, label in (
        (candidate & ~values.selected, OTHER, "other rows"),
        (candidate & values.selected, FOUND, f"{end} {values.complexity}"),
    ):
        _draw_group(values, np.flatnonzero(group), place, ax, color, label)
    rest = np.flatnonzero(~candidate)
    if len(rest):
        label = f"{len(rest)} no candidates, predicted"
        ax.plot(place[rest], values.value[rest], "x", ms=3, color=OTHER, label=label)
    _draw_marks(values, place, ax)
    ax.axhline(0, color="#8888", lw=0.8)
    ax.set_xlabel("training rows, by value")
    exact = not values.std[candidate].any()
    ax.set_ylabel("value" if exact else f"value, {100 * values.level:.3g} % interval")
    # where the order of the values leaves room
    ax.legend(frameon=False, loc="upper left" if values.lowest else "upper right")
    return ax


def _draw_group(
    values: DataValues,
    rows: NDArray[np.intp],
    place: NDArray[np.intp],
    ax: Axes,
    color: str,
    label: str,
) -> None:
    rows = rows[np.argsort(place[rows])]
    lower, upper = values.interval()
    x, y = place[rows], values.value[rows]
    if len(values) <= MAX_ERROR_BARS:
        bars = np.stack([y - lower[rows], upper[rows] - y])
        ax.errorbar(x, y, yerr=bars, fmt="none", ecolor=color, lw=1, alpha=0.6)
    else:
        ax.fill_between(x, lower[rows], upper[rows], color=color, alpha=0.3, lw=0)
    ax.plot(x, y, "o", ms=4, color=color, label=label)


def _draw_marks(values: DataValues, place: NDArray[np.intp], ax: Axes) -> None:
    if values.marked is None:
        return
    rows = np.flatnonzero(values.marked)
    found = int((values.marked & values.selected).sum())
    ax.plot(
        place[rows],
        values.value[rows],
        "o",
        ms=9,
        mfc="none",
        mec=MARKED,
        mew=1.6,
        label=f"{len(rows)} marked, {found} found",
    )


def draw_sources(values: DataValues, ax: Axes | None) -> Axes:
    """Bars: what the draws of each row add to one value."""
    assert values.part is not None
    order = values.by_value()
    shown, rest = order[:MAX_BARS], order[MAX_BARS:]
    ax = make_axes(ax, 7.0, 1.2 + 0.32 * max(len(shown), 3))
    color = ["C3" if values.part[i] < 0 else "C0" for i in shown]
    ax.barh(np.arange(len(shown)), values.part[shown], height=0.8, color=color)
    ax.set_yticks(range(len(shown)))
    ax.set_yticklabels([_source_label(values, int(i)) for i in shown])
    ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    ax.axvline(0, color="#8888", lw=0.8)
    more = f" ({len(rest)} more rows)" if len(rest) else ""
    ax.set_xlabel(f"part of the value of row {values.of}{more}")
    return ax


def _source_label(values: DataValues, i: int) -> str:
    text = f"row {values.row[i]}"
    if values.target is not None:
        text += f": {shorten(_cell(values.target[i]), 20)}"
    return text
