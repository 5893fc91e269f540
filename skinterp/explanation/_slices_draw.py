"""Slices as pictures: size against performance, and the slices of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._slices_show import say_shrinkage, say_slice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._slices import SliceSet

MAX_NAMES = 6
MAX_POINTS = 2000
MAX_ROWS = 60
COVER, OTHER, HELD = "C3", "0.65", "C0"


def draw_slices(slices: SliceSet, ax: Axes | None) -> Axes:
    """Found slices as dots, those of the cover with lines to where they fell."""
    ax = make_axes(ax, 8.0, 5.0 + 0.2 * min(len(slices.cover), MAX_NAMES))
    others = np.flatnonzero(slices.cover_step < 0)[:MAX_POINTS]
    ax.plot(
        slices.size[others],
        slices.performance[others],
        ".",
        color=OTHER,
        ms=4,
        label=f"{len(others)} other slices, as found",
    )
    cover = slices.cover
    n_cover = len(cover)
    ax.plot(slices.size[cover], slices.performance[cover], "o", color=COVER, ms=6)
    ax.lines[-1].set_label(f"{n_cover} slices of the cover, as found")
    _draw_held(slices, ax)
    ax.axhline(slices.overall, color="0.3", lw=1, label="overall")
    threshold = slices.overall + (slices.gap if slices.loss else -slices.gap)
    ax.axhline(threshold, color="0.3", lw=1, ls=":", label="gap asked for")
    for place, s in enumerate(cover[:MAX_NAMES], start=1):
        ax.annotate(
            str(place),
            (slices.size[s], slices.performance[s]),
            xytext=(6, 6),
            textcoords="offset points",
            fontsize="small",
            color=COVER,
        )
    if slices.n_slices:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(_few(ax))
    ax.set_xlabel("rows of the slice, among those searched")
    ax.set_ylabel(shorten(str(slices.target_names[0]), 30))
    _name_cover(slices, ax)
    ax.set_title(say_shrinkage(slices), loc="left", fontsize="medium")
    return ax


def _few(ax: Axes) -> Any:
    """Numbers between the powers of ten only where there are few of these."""
    low, high = ax.get_xlim()
    return "{x:g}" if high < 30 * low else ""


def _draw_held(slices: SliceSet, ax: Axes) -> None:
    """Where the slices of the cover are on rows that were held out."""
    if slices.held_performance is None or slices.held_size is None:
        return
    cover = slices.cover
    seen = cover[slices.held_size[cover] > 0]
    size, held = slices.size[seen], slices.held_performance[seen]
    ax.vlines(size, slices.performance[seen], held, color=HELD, lw=1, alpha=0.6)
    ax.plot(size, held, "_", color=HELD, ms=9, mew=2)
    ax.lines[-1].set_label("the same, held out")
    ax.axhline(slices.held_overall, color=HELD, lw=1, label="overall, held out")


def _name_cover(slices: SliceSet, ax: Axes) -> None:
    """Legend of the signs, and under the axes the first slices of the cover."""
    ax.legend(frameon=False, fontsize="small", loc="best")
    lines = []
    for place, s in enumerate(slices.cover[:MAX_NAMES], start=1):
        share = slices.cover_errors[slices.cover_step[s]]
        words = shorten(say_slice(slices, int(s)), 80)
        lines.append(f"{place}  {words}  ({share:.0%} of errors so far)")
    more = len(slices.cover) - MAX_NAMES
    lines += [f"... {more} more"] if more > 0 else []
    if lines:
        label = "\n".join([ax.get_xlabel(), "", *lines])
        ax.set_xlabel(label, loc="left", fontsize="small")


def draw_rows(slices: SliceSet, ax: Axes | None) -> Axes:
    """Each row's slices as dots at their performance, and what to expect of it."""
    assert slices.row_offsets is not None
    assert slices.row_slices is not None
    n = min(len(slices), MAX_ROWS)
    ax = make_axes(ax, 7.0, 2.0 + 0.22 * max(n, 3))
    end = slices.row_offsets[n]
    rows = np.repeat(np.arange(n), np.diff(slices.row_offsets[: n + 1]))
    own = slices.row_slices[:end]
    ax.plot(slices.performance[own], rows, "o", color=COVER, ms=4, alpha=0.5)
    ax.lines[-1].set_label("its slices, as found")
    if slices.held_performance is not None:
        ax.plot(slices.held_performance[own], rows, "|", color=HELD, ms=13, mew=2)
        ax.lines[-1].set_label("its slices, held out")
    if slices.expected is not None:
        ax.plot(slices.expected[:n], np.arange(n), "kd", ms=3.5, label="expected")
    overall, label = slices.held_overall, "overall, held out"
    if not slices.n_held:
        overall, label = slices.overall, "overall"
    ax.axvline(overall, color="0.3", lw=1, label=label)
    ax.set_yticks(np.arange(n), [str(i) for i in range(n)], fontsize="small")
    ax.set_ylim(n - 0.5, -0.5)
    ax.set_ylabel(slices.unit)
    ax.set_xlabel(shorten(str(slices.target_names[0]), 30))
    ax.legend(frameon=False, fontsize="small", loc="best")
    if len(slices) > n:
        ax.set_title(f"... {len(slices) - n} more", loc="right", fontsize="small")
    return ax
