"""Selections as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._selection import Selection

MAX_NAMES = 50
MAX_LABELS = 15
KEPT, DROPPED = "C0", "0.6"


def say_selection(selection: Selection) -> str:
    """Columns that are kept, by rank, and the first one that is not."""
    order = selection.by_rank()
    kept = order[: selection.complexity]
    rest = order[selection.complexity :]
    rule = f" by {selection.rule}" if selection.rule else ""
    gap = f" (gap {selection.gap:.3g})" if np.isfinite(selection.gap) else ""
    lines = [f"{len(kept)} of {len(selection)} columns kept{rule}{gap}"]
    lines += [f"  - {_say_column(selection, j)}" for j in kept[:MAX_NAMES]]
    if len(kept) > MAX_NAMES:
        lines.append(f"  ... {len(kept) - MAX_NAMES} more")
    if len(rest):
        lines.append(f"next: {_say_column(selection, rest[0])}")
    return "\n".join(lines)


def _say_column(selection: Selection, j: int) -> str:
    name = selection.feature_names[j]
    if np.isnan(selection.rank[j]):
        return f"{name}: not ranked"
    text = f"{name}: rank {_spread(selection.rank, selection.rank_sd, j)}"
    if selection.score is not None:
        score = _spread(selection.score, selection.score_sd, j)
        text += f", {selection.score_name} {score}"
    return text


def _spread(
    values: NDArray[np.float64], deviation: NDArray[np.float64] | None, j: int
) -> str:
    if deviation is None or not np.isfinite(deviation[j]):
        return f"{values[j]:.3g}"
    return f"{values[j]:.3g} ± {deviation[j]:.2g}"


def draw_selection(selection: Selection, ax: Axes | None) -> Axes:
    """Score over rank; error bars and names for the columns that are kept."""
    ax = make_axes(ax, 7.0, 4.5)
    ranked = np.flatnonzero(np.isfinite(selection.rank))
    kept = selection.selected[ranked]
    height = np.zeros(len(selection)) if selection.score is None else selection.score
    for group, color, label in (
        (ranked[~kept], DROPPED, "dropped"),
        (ranked[kept], KEPT, "kept"),
    ):
        ax.plot(selection.rank[group], height[group], "o", ms=5, color=color, alpha=0.7)
        ax.lines[-1].set_label(f"{len(group)} {label}")
        if len(group):
            mean = float(selection.rank[group].mean())
            ax.axvline(mean, color=color, ls=":", lw=1)
    _draw_spread(selection, height, ax)
    _draw_names(selection, height, ax)
    ax.set_xlabel("mean rank")
    ax.set_ylabel(selection.score_name if selection.score is not None else "")
    if np.isfinite(selection.gap):
        ax.set_title(f"gap {selection.gap:.3g}", loc="right", fontsize="small")
    ax.legend(frameon=False)
    return ax


def _draw_spread(selection: Selection, height: NDArray[np.float64], ax: Axes) -> None:
    """Bars at the columns that are kept; those of all others would hide everything."""
    kept = np.flatnonzero(selection.selected)
    x, y = _bars(selection.rank_sd, kept), None
    if selection.score is not None:
        y = _bars(selection.score_sd, kept)
    ax.errorbar(
        selection.rank[kept],
        height[kept],
        xerr=x,
        yerr=y,
        fmt="none",
        ecolor=KEPT,
        lw=1,
    )


def _bars(
    deviation: NDArray[np.float64] | None, columns: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    return None if deviation is None else np.nan_to_num(deviation[columns])


def _draw_names(selection: Selection, height: NDArray[np.float64], ax: Axes) -> None:
    """Name the best columns; further ones would hide each other."""
    for j in selection.by_rank()[: min(selection.complexity, MAX_LABELS)]:
        ax.annotate(
            shorten(selection.feature_names[j], 20),
            (selection.rank[j], height[j]),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize="small",
        )
