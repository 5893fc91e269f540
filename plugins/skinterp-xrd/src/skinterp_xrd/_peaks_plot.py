"""Bragg peaks as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skinterp.explanation import make_axes, shorten
from skinterp_xrd._conditions import PLACE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp_xrd._peaks import PowderPeaks

# Crystals in a picture, peaks of each that are named, and from one to the next.
MAX_SHOWN, MAX_NAMED, PITCH = 8, 6, 1.4
# Names keep this share of the width away from each other.
APART = 0.05
_OVERLINE = "\N{COMBINING MACRON}"


def draw(told: PowderPeaks, ax: Axes | None) -> Axes:
    """Draw the peaks of the first crystals as sticks, one above the other.

    Parameters
    ----------
    told : PowderPeaks
        What to draw.
    ax : matplotlib.axes.Axes or None
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    n = min(len(told), MAX_SHOWN)
    ax = make_axes(ax, 8.0, 1.0 + 1.1 * max(n, 1))
    # the first on top
    bases = [PITCH * (n - 1 - i) for i in range(n)]
    for i, base in enumerate(bases):
        _draw_crystal(ax, told, i, base)
    labels = [shorten(told.labels[i], 24) for i in range(n)]
    ax.set_yticks([base + 0.3 for base in bases], labels)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.set_xlim(told.two_theta_range[0], told.two_theta_range[1])
    ax.set_ylim(-0.05, PITCH * n)
    ax.set_xlabel("2θ (degrees)")
    more = len(told) - n
    ax.set_title("Bragg peaks" + (f" ({more} more crystals)" if more else ""))
    return ax


def _draw_crystal(ax: Axes, told: PowderPeaks, i: int, base: float) -> None:
    part = slice(*told.offsets[i : i + 2])
    inside = told.in_range[part]
    at = (told.two_theta[part] + told.conditions[PLACE["zero_shift"]])[inside]
    height, hkl = told.intensity[part][inside], told.hkl[part][inside]
    height = height / height.max() if len(height) else height
    ax.vlines(at, base, base + height, color=f"C{i % 10}", linewidth=1.2)
    ax.axhline(base, color="0.8", linewidth=0.6)
    width = told.two_theta_range[1] - told.two_theta_range[0]
    named: list[float] = []
    for p in np.argsort(-height, kind="stable")[:MAX_NAMED]:
        # letters would lie over each other
        if all(abs(at[p] - other) > APART * width for other in named):
            ax.annotate(
                _name(hkl[p].tolist()),
                (at[p], base + height[p]),
                (0, 1),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7,
            )
            named.append(float(at[p]))


def _name(hkl: list[int]) -> str:
    """Write indices as crystallographers do: a bar for a sign."""
    apart = " " if max(map(abs, hkl)) > 9 else ""
    return apart.join(
        str(v) if v >= 0 else "".join(digit + _OVERLINE for digit in str(-v))
        for v in hkl
    )
