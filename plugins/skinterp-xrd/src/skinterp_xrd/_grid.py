"""Angles of the points of patterns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["grid_of", "grid_step"]

_NAME = re.compile(r"2theta=(\d+(?:\.\d+)?)")


def grid_of(two_theta: Any, n_points: int, names: Any) -> NDArray[np.float64]:
    """Angles of the points, from their names, first and last angle, or all of them."""
    told = [_NAME.fullmatch(str(name)) for name in names] if names is not None else []
    if told and all(told):
        source = "the grid that the columns' names tell"
        grid = np.array([float(match.group(1)) for match in told if match])
    else:
        source = f"two_theta={two_theta!r}"
        grid = _as_grid(two_theta, n_points)
    inside = (grid > 0).all() and (grid < 180).all()
    if len(grid) != n_points or not inside or not (np.diff(grid) > 0).all():
        msg = (
            f"{source} is no grid of {n_points} points: give the first and the last "
            "angle, or one for each point, ascending between 0 and 180 degrees."
        )
        raise ValueError(msg)
    return grid


def _as_grid(two_theta: Any, n_points: int) -> NDArray[np.float64]:
    try:
        grid = np.asarray(two_theta, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        msg = f"two_theta must be angles in degrees, got {two_theta!r}."
        raise ValueError(msg) from error
    # two angles are first and last, also of patterns of two points
    ends = len(grid) == 2 and grid[0] < grid[1]
    return np.linspace(grid[0], grid[1], n_points) if ends else grid


def grid_step(two_theta: NDArray[np.float64]) -> float:
    """Typical distance of the points, in degrees."""
    return float(np.median(np.diff(two_theta))) if len(two_theta) > 1 else 1.0
