"""Explanations of patterns as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from skinterp.explanation import make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp_xrd._explanation import Diffraction

__all__ = ["draw"]

MAX_LINES = 8
MAX_CONFUSION = 12
# Distance of the patterns, whose height is 1.
GAP = 1.35
D_TICKS = (20, 10, 7, 5, 4, 3.5, 3, 2.5, 2.2, 2, 1.8, 1.6, 1.4, 1.3, 1.2, 1.1, 1, 0.9)


def draw(told: Diffraction, ax: Axes | None) -> Axes:
    """Patterns one above the other, coloured by the attribution."""
    n = min(len(told), MAX_LINES)
    beside = told.confusion is not None and len(told.confusion) <= MAX_CONFUSION
    ax = make_axes(ax, 12.0 if beside else 9.0, 2.0 + 1.1 * max(n, 2))
    colors = _colors(told, n)
    for i in range(n):
        _draw_pattern(ax, told, i, -GAP * i, colors[i])
    _label(ax, told, n, room=0.75 if beside else 0.0)
    if beside:
        _draw_confusion(ax, told)
    return ax


def _colors(told: Diffraction, n: int) -> NDArray[np.float64]:
    """Attribution of neighbouring points together, 1 for the strongest of a line."""
    width = max(1, len(told.two_theta) // 200)
    smooth = uniform_filter1d(told.values[:n], width, axis=1, mode="nearest")
    top = np.abs(smooth).max(axis=1, keepdims=True)
    return np.divide(smooth, top, out=np.zeros(smooth.shape), where=top > 0)


def _draw_pattern(
    ax: Axes, told: Diffraction, i: int, offset: float, color: NDArray[np.float64]
) -> None:
    from matplotlib.collections import LineCollection

    x, y = told.two_theta, told.patterns[i]
    y = offset + y / (y.max() or 1.0)
    ax.plot(x, y, color="0.75", lw=0.8, zorder=1)
    points = np.column_stack([x, y])
    # the root, so that weaker peaks are still told from grey
    strength = np.sign(color) * np.sqrt(np.abs(color))
    if told.scope == "global":
        ax.fill_between(x, offset, y, color="0.92", lw=0, zorder=0)
    lines = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)),
        array=(strength[:-1] + strength[1:]) / 2,
        cmap="coolwarm" if told.scope == "local" else "YlOrRd",
        clim=(-1, 1) if told.scope == "local" else (0, 1),
        lw=1.6,
        zorder=2,
    )
    ax.add_collection(lines)
    if told.background is not None:
        under = offset + told.background[i] / (told.patterns[i].max() or 1.0)
        ax.plot(x, under, color="0.4", lw=0.7, ls=":", zorder=1)
    if told.peak_offsets is not None:
        _draw_ticks(ax, told, i, offset)


def _draw_ticks(ax: Axes, told: Diffraction, i: int, offset: float) -> None:
    """Ticks at the peaks; the strongest three are named."""
    assert told.peak_offsets is not None
    assert told.peak_two_theta is not None
    assert told.peak_share is not None
    own = slice(*told.peak_offsets[i : i + 2])
    at, share = told.peak_two_theta[own], told.peak_share[own]
    inside = (at >= told.two_theta[0]) & (at <= told.two_theta[-1])
    ax.vlines(at[inside], offset - 0.16, offset - 0.06, color="0.25", lw=1.0)
    for j in np.argsort(-share, kind="stable")[:3]:
        name = told.peak_hkl[own][j]
        if inside[j] and share[j] > 0:
            text = f"{name} {share[j]:.0%}".strip()
            height = _height(told, i, at[j])
            ax.annotate(
                shorten(text, 20),
                (at[j], offset + height + 0.03),
                ha="center",
                va="bottom",
                fontsize=7,
                color="0.2",
            )


def _height(told: Diffraction, i: int, angle: float) -> float:
    y = told.patterns[i] / (told.patterns[i].max() or 1.0)
    near = np.abs(told.two_theta - angle) <= 0.3
    return float(y[near].max()) if near.any() else 0.0


def _label(ax: Axes, told: Diffraction, n: int, room: float) -> None:
    """Write what the axes are; on the right there is room for a table."""
    low, high = told.two_theta[0], told.two_theta[-1]
    margin = 0.01 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin + room * (high - low))
    ticks = [t for t in ax.get_xticks() if low <= t <= high]
    ax.set_xticks(ticks if ticks else [low])
    ax.set_ylim(-GAP * (n - 1) - 0.25, 1.3)
    ax.set_yticks([-GAP * i + 0.4 for i in range(n)])
    ax.set_yticklabels([_line_label(told, i) for i in range(n)], fontsize=8)
    ax.tick_params(axis="y", length=0)
    more = len(told) - n
    rest = f" ({more} more {_plural(told)})" if more else ""
    how = "red: in favour, blue: against"
    if told.scope == "global":
        how = "mean patterns; the redder, the more it is looked at"
    middle = 0.5 / (1 + room)
    ax.set_xlabel(f"2-theta in degrees; {how}{rest}", x=middle)
    for side in ("left", "right"):
        ax.spines[side].set_visible(False)
    distances = [d for d in D_TICKS if told.wavelength < 2 * d]
    angles = [2 * np.degrees(np.arcsin(told.wavelength / (2 * d))) for d in distances]
    pairs = zip(distances, angles, strict=True)
    shown = [(d, a) for d, a in pairs if low <= a <= high]
    top = ax.secondary_xaxis("top")
    top.set_xticks([a for _, a in shown], [f"{d:g}" for d, _ in shown], fontsize=7)
    top.set_xlabel("d in angstrom", fontsize=8, x=middle)
    for spine in (ax.spines["bottom"], top.spines["top"]):
        spine.set_bounds(low, high)
    ax.spines["top"].set_visible(False)


def _plural(told: Diffraction) -> str:
    return "classes" if told.scope == "global" else f"{told.unit}s"


def _line_label(told: Diffraction, i: int) -> str:
    label = shorten(str(told.target_names[told.targets[i]]), 22)
    if told.scope == "local":
        outside = ""
        if told.outside is not None:
            outside = f"\noutside peaks {told.outside[i]:.0%}"
        return f"{told.unit} {i}\n{label}{outside}"
    assert told.counts is not None
    assert told.accuracy is not None
    k = told.targets[i]
    right = told.accuracy[k]
    judged = "" if np.isnan(right) else f", {right:.0%} right"
    return f"{label}\nn = {told.counts[k]:.6g}{judged}"


def _draw_confusion(ax: Axes, told: Diffraction) -> None:
    """Shares of each class that are taken for each."""
    assert told.confusion is not None
    tried = told.confusion.sum(axis=1, keepdims=True)
    share = np.divide(
        told.confusion, tried, out=np.zeros(told.confusion.shape), where=tried > 0
    )
    # inside the Axes, where room was left: what lies beside them may be cut off
    inset: Any = ax.inset_axes((0.73, 0.2, 0.26, 0.6))
    inset.imshow(share, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    names = [shorten(name, 14) for name in told.confusion_names]
    inset.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    inset.set_yticks(range(len(names)), names, fontsize=7)
    for (row, column), count in np.ndenumerate(told.confusion):
        if count:
            dark = share[row, column] > 0.5
            inset.text(
                column,
                row,
                f"{count:.4g}",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else "black",
            )
    inset.set_title(f"{told.evaluated_on} patterns taken for", fontsize=8)
