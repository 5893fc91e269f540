"""Chemical elements: their symbols, and how strongly their atoms scatter X-rays."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Isotopes scatter X-rays as their element does.
ISOTOPES = {"D": "H", "T": "H"}
# Symbol, then what may follow it: an oxidation state as 2+ or +2, a site number.
_SPECIES = re.compile(r"([A-Z][a-z]?)(\d*[+-]|[+-]\d*)?")


@functools.cache
def _table() -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read the symbols in the order of their numbers, and the coefficients."""
    source = files("skinterp_xrd") / "data" / "form_factors.csv"
    lines = [
        line.split(",")
        for line in source.read_text(encoding="utf-8").splitlines()
        if not line.startswith(("#", "symbol"))
    ]
    values = np.array([[float(v) for v in line[1:]] for line in lines])
    values = values.reshape(-1, 4, 2)
    values.flags.writeable = False
    return tuple(line[0] for line in lines), values


def symbols() -> tuple[str, ...]:
    """List the elements that have a form factor, in the order of their numbers.

    Returns
    -------
    tuple of str
        ``("H", "He", ..., "Cf")``; number ``Z`` stands at ``Z - 1``.

    Examples
    --------
    >>> from skinterp_xrd._elements import symbols
    >>> symbols()[25], len(symbols())
    ('Fe', 98)
    """
    return _table()[0]


def form_factor_coefficients(numbers: ArrayLike) -> NDArray[np.float64]:
    """Return the coefficients of the form factors of neutral atoms.

    An atom of number ``Z`` scatters as many electrons as
    ``f(s) = Z - 41.78214 s^2 sum_k a_k exp(-b_k s^2)`` with
    ``s = sin(theta) / wavelength`` in 1/angstrom.

    Parameters
    ----------
    numbers : array-like of int of shape (m,)
        Atomic numbers from 1 to 98.

    Returns
    -------
    ndarray of float64 of shape (m, 4, 2)
        ``a_k`` in angstrom and ``b_k`` in square angstrom.

    Raises
    ------
    ValueError
        If there is no form factor for a number.

    Examples
    --------
    >>> from skinterp_xrd._elements import form_factor_coefficients
    >>> form_factor_coefficients([11])[0, 0]
    array([  2.241, 108.004])
    """
    wanted = np.asarray(numbers, dtype=np.int64)
    values = _table()[1]
    wrong = wanted[(wanted < 1) | (wanted > len(values))]
    if wrong.size:
        raise ValueError(
            f"There is no form factor for atomic number {wrong[0]}; it must be from "
            f"1 (H) to {len(values)} ({symbols()[-1]})."
        )
    return values[wanted - 1]


def atomic_number(species: Any, where: str = "species") -> int:
    """Read an element, with or without a charge.

    Parameters
    ----------
    species : str or int
        ``"Fe"``, ``"Fe2+"``, ``"O-2"``, ``26``. The charge is dropped: the form
        factors are those of neutral atoms. ``"D"`` and ``"T"`` are hydrogen.
    where : str, default="species"
        How an error calls the place.

    Returns
    -------
    int
        The atomic number, from 1 to 98.

    Raises
    ------
    ValueError
        If it is no element, or one without a form factor.

    Examples
    --------
    >>> from skinterp_xrd._elements import atomic_number
    >>> atomic_number("Fe3+"), atomic_number("D"), atomic_number(8)
    (26, 1, 8)
    """
    known = symbols()
    if isinstance(species, int | np.integer) and not isinstance(species, bool):
        if 1 <= species <= len(known):
            return int(species)
    elif isinstance(species, str):
        match = _SPECIES.fullmatch(species.strip())
        symbol = match.group(1) if match else ""
        symbol = ISOTOPES.get(symbol, symbol)
        if symbol in known:
            return known.index(symbol) + 1
    raise ValueError(
        f"{where}: {species!r} is no element with a form factor; it must be a symbol "
        f"from H to {known[-1]}, with or without a charge as in 'Fe2+', or a number "
        f"from 1 to {len(known)}."
    )
