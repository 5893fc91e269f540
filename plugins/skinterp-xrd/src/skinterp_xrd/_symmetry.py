"""Crystal systems of the space groups."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SYSTEMS", "crystal_system_of", "systems_of_labels"]

# The last space group of each system, in the order of the numbers.
_LAST = {
    "triclinic": 2,
    "monoclinic": 15,
    "orthorhombic": 74,
    "tetragonal": 142,
    "trigonal": 167,
    "hexagonal": 194,
    "cubic": 230,
}
SYSTEMS = tuple(_LAST)


def crystal_system_of(space_group: int) -> str:
    """Name the crystal system of a space group.

    Parameters
    ----------
    space_group : int
        Its number, 1 to 230.

    Returns
    -------
    str
        "triclinic", "monoclinic", "orthorhombic", "tetragonal", "trigonal",
        "hexagonal" or "cubic".

    Raises
    ------
    ValueError
        If there is no such space group.

    Examples
    --------
    >>> from skinterp_xrd import crystal_system_of
    >>> crystal_system_of(225), crystal_system_of(167)
    ('cubic', 'trigonal')
    """
    whole = isinstance(space_group, Integral) and not isinstance(space_group, bool)
    if not whole or not 1 <= space_group <= 230:
        msg = f"space_group must be an integer from 1 to 230, got {space_group!r}."
        raise ValueError(msg)
    return next(name for name, last in _LAST.items() if space_group <= last)


def systems_of_labels(labels: Sequence[Any] | NDArray[Any]) -> list[str] | None:
    """Name the systems of labels that are numbers of space groups, else None."""
    try:
        return [crystal_system_of(int(np.asarray(label).item())) for label in labels]
    except (TypeError, ValueError):
        return None
