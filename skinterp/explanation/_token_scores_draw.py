"""Pictures of windows with scores: means over time, a series, training windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation._drawing import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._token_scores import Floats, TokenScores

MAX_TARGETS = 10
MAX_CHANNELS = 4
# blue speaks for the class, as in the other kinds
COLOURS = "coolwarm_r"
# Share of the height that the windows take below a series.
STRIP = 0.36


def draw_means(tokens: TokenScores, ax: Axes | None) -> Axes:
    """Mean score of each window over its middle, a line per class."""
    assert tokens.mean_scores is not None
    assert tokens.shown is not None
    ax = make_axes(ax, 8.0, 3.6)
    shown = np.sort(tokens.shown)
    middle = tokens.starts[shown] + (tokens.length - 1) / 2
    names = tokens.target_names[:MAX_TARGETS]
    for t, name in enumerate(names):
        label = shorten(str(name), 24)
        # matplotlib leaves names with an underscore in front out of a legend
        label = f"\N{ZERO WIDTH SPACE}{label}" if label.startswith("_") else label
        ax.plot(middle, tokens.mean_scores[t, shown], marker=".", label=label)
    ax.set_xlim(0, len(tokens.timepoint_names) - 1)
    left_out = len(tokens.target_names) - len(names)
    more = f" ({left_out} more classes)" if left_out else ""
    ax.set_xlabel(f"time, middle of a window of {tokens.length} points{more}")
    ax.set_ylabel("mean score")
    ax.set_ylim(bottom=0)
    ax.legend(title="class", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    _plain(ax)
    return ax


def draw_series(tokens: TokenScores, ax: Axes | None) -> Axes:
    """The first series, coloured by what its time points add, above its windows."""
    _, _, _, prediction, series = tokens._rows()
    ax = make_axes(ax, 8.0, 4.4)
    if not len(tokens):
        ax.set_xlabel("no series")
        return ax
    colours = _colours(tokens)
    low, high, left_out = _draw_channels(tokens, ax, series[0], colours)
    room = (high - low) * STRIP / (1 - STRIP)
    ax.set_xlim(-0.5, len(tokens.timepoint_names) - 0.5)
    ax.set_ylim(low - 1.1 * room, high)
    ax.set_yticks([])
    _draw_windows(tokens, ax, colours)
    more = f" ({left_out} more channels)" if left_out else ""
    others = len(tokens) - 1
    others_said = f", first of {others + 1}" if others else ""
    ax.set_xlabel(f"time{more}")
    name = shorten(str(tokens.target_names[prediction[0]]), 30)
    total = tokens.contributions()[0].sum()
    ax.set_title(f"predicted: {name} ({total:.3g}){others_said}", loc="left")
    bar = ax.figure.colorbar(colours, ax=ax, pad=0.02, fraction=0.05)
    bar.set_label("added by windows, mean at a point")
    _plain(ax)
    ax.spines["left"].set_visible(False)
    return ax


def _colours(tokens: TokenScores) -> Any:
    """Colours of contributions of the first row, white at none."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    size = float(np.abs(tokens.contributions()[0]).max(initial=0.0)) or 1.0
    return ScalarMappable(Normalize(-size, size), COLOURS)


def _draw_channels(
    tokens: TokenScores, ax: Axes, series: Floats, colours: Any
) -> tuple[float, float, int]:
    """Draw channels one below the other; gives the range taken, and what is left."""
    from matplotlib.collections import LineCollection

    saliency = tokens.saliency()[0]
    shown = series[:MAX_CHANNELS]
    time = np.arange(series.shape[1])
    for c, values in enumerate(shown):
        y = _unit(values) - 1.15 * c
        points = np.stack([time, y], axis=1)
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        # grey below, as what adds nothing is drawn in white
        ax.plot(time, y, color="0.6", linewidth=4, zorder=1)
        lines = LineCollection(
            list(pieces), cmap=colours.cmap, norm=colours.norm, zorder=2
        )
        lines.set_array((saliency[:-1] + saliency[1:]) / 2)
        lines.set_linewidth(2.5)
        ax.add_collection(lines)
        if len(series) > 1:
            label = shorten(tokens.feature_names[c], 20)
            ax.text(0.0, 1.02 - 1.15 * c, label, fontsize="small", va="bottom")
    return -1.15 * (len(shown) - 1) - 0.05, 1.12, len(series) - len(shown)


def _unit(values: Floats) -> Floats:
    """Bring values to 0 to 1, missing ones left out."""
    there = values[np.isfinite(values)]
    low, high = (there.min(), there.max()) if len(there) else (0.0, 1.0)
    span = high - low
    return (values - low) / span if span > 0 else np.full(len(values), 0.5)


def _one_scale(windows: Floats) -> Floats:
    """Take windows off their middle; the one of widest range gets the range 0.8."""
    if not windows.size:
        return windows
    filled = np.where(np.isfinite(windows), windows, np.nan)
    low = np.nanmin(filled, axis=1, keepdims=True, initial=np.inf)
    high = np.nanmax(filled, axis=1, keepdims=True, initial=-np.inf)
    widest = np.nanmax(np.where(high > low, high - low, 0.0))
    return np.asarray(0.8 * (filled - (low + high) / 2) / (widest or 1.0))


def _draw_windows(tokens: TokenScores, ax: Axes, colours: Any) -> None:
    """Below the series, a bar as high as its score at the middle of each window."""
    scores, kept, _, _, _ = tokens._rows()
    strip = ax.inset_axes((0, 0, 1, STRIP * 0.9))
    shown = tokens.shown
    assert shown is not None
    middle = tokens.starts[shown] + (tokens.length - 1) / 2
    apart = int(np.diff(tokens.starts[:2]).sum()) or 1
    bars = strip.bar(
        middle,
        scores[0, shown],
        width=0.75 * apart,
        color=colours.to_rgba(tokens.contributions()[0, shown]),
        edgecolor=np.where(kept[0, shown], "0.1", "0.7"),
        linewidth=1.0,
    )
    for bar, own in zip(bars, kept[0, shown], strict=True):
        bar.set_hatch(None if own else "///")
    strip.set_xlim(*ax.get_xlim())
    strip.set_ylim(0, 1.05 * float(scores[0].max(initial=0.0)) or 1.0)
    strip.set_xticks([])
    strip.set_ylabel("score", fontsize="small")
    strip.tick_params(labelsize="small")
    strip.set_title(
        f"windows of {tokens.length} points at their middle; hatched: summed",
        fontsize="small",
        loc="left",
        pad=2,
    )
    _plain(strip)


def draw_examples(tokens: TokenScores, ax: Axes | None) -> Axes:
    """Training windows of highest score in their place, a band per class."""
    if tokens.example_values is None:
        msg = "a local explanation has no examples; explain() without X has them"
        raise ValueError(msg)
    assert tokens.example_target is not None
    assert tokens.example_start is not None
    names = tokens.target_names[:MAX_TARGETS]
    ax = make_axes(ax, 8.0, 1.0 + 0.8 * len(names))
    values = tokens.example_values[:, 0]
    for target in range(len(names)):
        own = tokens.example_target == target
        time = tokens.example_start[own, None] + np.arange(tokens.length)
        y = _one_scale(values[own]) - target
        ax.plot(time.T, y.T, color=f"C{target}", alpha=0.5)
    ax.set_yticks(-np.arange(len(names)), [shorten(str(n), 24) for n in names])
    ax.set_xlim(0, len(tokens.timepoint_names) - 1)
    ax.set_ylim(0.5 - len(names), 0.5)
    more = len(tokens.target_names) - len(names)
    first = f", {tokens.feature_names[0]}" if len(tokens.feature_names) > 1 else ""
    ax.set_xlabel(f"time{first}" + (f" ({more} more classes)" if more else ""))
    ax.set_title("training windows of highest score", loc="left")
    _plain(ax)
    return ax


def _plain(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
