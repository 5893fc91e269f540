"""Checks of what a structure is made of, by which errors name the place."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp_xrd._elements import atomic_number

# A cell of a smaller volume than its edges' product by this factor is flat.
_FLAT = 1e-9


def prefix(label: str) -> str:
    """Begin a message by the name of the structure, if it has one."""
    return f"{label}: " if label else ""


def checked_lattice(lattice: ArrayLike, label: str) -> NDArray[np.float64]:
    """Copy the edges of a cell, and see that they span one."""
    matrix = checked_floats(lattice, (3, 3), "lattice", label)
    edges = np.linalg.norm(matrix, axis=1)
    if not np.isfinite(edges).all():
        raise ValueError(
            f"{prefix(label)}lattice must be finite, got {matrix.tolist()}."
        )
    if not abs(np.linalg.det(matrix)) > _FLAT * edges.prod():
        raise ValueError(
            f"{prefix(label)}lattice must span a volume, got the singular cell "
            f"{matrix.tolist()}."
        )
    return matrix


def checked_numbers(numbers: ArrayLike, label: str) -> NDArray[np.int64]:
    """Copy atomic numbers, and see that all have a form factor."""
    given = np.asarray(numbers)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(
            f"{prefix(label)}numbers must be a list of one or more atomic numbers, got "
            f"{numbers!r}."
        )
    for i, number in enumerate(given.tolist()):
        atomic_number(number, f"{prefix(label)}site {i}")
    return given.astype(np.int64)


def checked_floats(
    values: ArrayLike, shape: tuple[int, ...], name: str, label: str
) -> NDArray[np.float64]:
    """Copy numbers of a given shape."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{prefix(label)}{name} must be numbers: {error}.") from error
    if array.shape != shape:
        raise ValueError(
            f"{prefix(label)}{name} must have the shape {shape}, got {array.shape}."
        )
    return array
