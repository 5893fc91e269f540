"""The picture that ``skinterp xrd simulate --plot`` draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp_xrd._structures import Structure

# Labels nearer than this share of the range would lie on each other.
APART = 0.035
# Peaks that get their indices written, the strongest first.
LABELLED = 12


def draw_pattern(
    structure: Structure,
    peaks: pd.DataFrame,
    pattern: pd.DataFrame | None,
    angles: tuple[float, float],
    path: Path,
) -> None:
    """Draw a pattern over its Bragg peaks, and save it.

    Parameters
    ----------
    structure : Structure
        The crystal, for the title.
    peaks : pandas.DataFrame
        Of ``PowderXRDSimulator.peaks``.
    pattern : pandas.DataFrame or None
        Columns ``two_theta`` and ``intensity``; sticks alone are drawn when None.
    angles : tuple of float
        The range in degrees.
    path : Path
        File to write; its ending says the format.
    """
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    if pattern is None:
        axes.vlines(peaks["two_theta"], 0, peaks["intensity"], color="C0", lw=1.5)
        height = dict(zip(peaks.index, peaks["intensity"], strict=True))
    else:
        axes.plot(pattern["two_theta"], pattern["intensity"], color="C0", lw=1)
        axes.vlines(peaks["two_theta"], -6, -2, color="C3", lw=1)
        height = _heights(peaks, pattern)
    _label(axes, peaks, height, angles)
    axes.set(
        xlim=angles,
        ylim=(0 if pattern is None else -8, 118),
        xlabel="two-theta (degrees)",
        ylabel="intensity (strongest = 100)",
        title=f"{structure.label} ({structure.formula})",
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def _heights(peaks: pd.DataFrame, pattern: pd.DataFrame) -> dict[Any, float]:
    """Find how high the pattern is around each peak, as the zero may be shifted."""
    heights = {}
    for i, angle in peaks["two_theta"].items():
        near = (pattern["two_theta"] - angle).abs() < 0.3
        heights[i] = float(pattern["intensity"][near].max()) if near.any() else 0.0
    return heights


def _label(
    axes: Axes,
    peaks: pd.DataFrame,
    height: dict[Any, float],
    angles: tuple[float, float],
) -> None:
    """Write the indices of the strongest peaks that leave room for them."""
    room = APART * (angles[1] - angles[0])
    taken: list[float] = []
    for i in peaks["intensity"].sort_values(ascending=False).index[:LABELLED]:
        angle = float(peaks["two_theta"][i])
        if any(abs(angle - other) < room for other in taken):
            continue
        taken.append(angle)
        axes.annotate(
            _indices(peaks["hkl"][i]),
            (angle, height[i]),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )


def _indices(hkl: tuple[int, int, int]) -> str:
    """Write indices as crystallographers do, a bar over the digit for a minus."""
    words = [f"$\\bar{{{-k}}}$" if k < 0 else str(k) for k in hkl]
    return (" " if max(map(abs, hkl)) > 9 else "").join(words)
