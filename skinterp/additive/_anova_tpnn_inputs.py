"""What an additive network does to features first, and where it draws its terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

# Points of the curve from cells to ranks.
_KNOTS = 1000
# Columns of so few values are drawn at these alone.
_FEW = 32


def fit_scaler(method: str | None, X: Float, weight: Float | None) -> Any:
    """Learn an increasing, continuous function per column.

    "quantile" maps a cell to the share of cells below it plus half of those equal,
    stretched to [-1, 1], joined by straight lines; "standard" to the number of standard
    deviations from the mean.
    """
    if method == "quantile":
        return tuple(_rank_curve(X[:, j], weight) for j in range(X.shape[1]))
    if method is None:
        return None
    size = np.abs(X).max(axis=0)
    size[size == 0] = 1.0  # squares of huge cells would overflow
    unit = X / size
    mean = np.average(unit, axis=0, weights=weight)
    scale = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=weight))
    return mean * size, np.where(scale > 1e-12, scale * size, 1.0)


def apply_scaler(method: str | None, scaler: Any, X: Float) -> Float:
    """Scale rows."""
    if method == "standard":
        return np.asarray((X - scaler[0]) / scaler[1])
    if method is None:
        return X
    made = np.empty(X.shape)
    for j, (cells, ranks) in enumerate(scaler):
        made[:, j] = np.interp(X[:, j], cells, ranks)
    return made


def _rank_curve(x: Float, weight: Float | None) -> tuple[Float, Float]:
    cells, inverse = np.unique(x, return_inverse=True)
    mass = np.bincount(inverse, weights=weight).astype(float)
    ranks = 2 * (np.cumsum(mass) - mass / 2) / mass.sum() - 1
    if len(cells) > _KNOTS:
        level = np.linspace(ranks[0], ranks[-1], _KNOTS)
        kept = np.unique(np.searchsorted(ranks, level).clip(max=len(cells) - 1))
        cells, ranks = cells[kept], ranks[kept]
    return cells, ranks


def points_to_draw(x: Float) -> tuple[Float, Float, Float]:
    """Points of a column for curves, and fewer for surfaces and for solids.

    They lie evenly over the range and evenly over the ranks, so that both long tails
    and crowded parts are seen; fewer ones are among the more.
    """
    values = np.unique(x)
    if len(values) <= _FEW:
        return values, values, values
    even = np.linspace(values[0], values[-1], 121)
    ranks = np.quantile(x, np.linspace(0, 1, 121))
    return tuple(  # type: ignore[return-value]
        np.unique(np.concatenate([even[::step], ranks[::step]])) for step in (1, 5, 20)
    )


def density_of(x: Float) -> tuple[Float, Float]:
    """Where the cells of a column lie: at few values, or in 30 intervals."""
    values, counts = np.unique(x, return_counts=True)
    if len(values) <= _FEW:
        return values, counts / len(x)
    counts, borders = np.histogram(x, bins=30)
    return borders, counts / len(x)
