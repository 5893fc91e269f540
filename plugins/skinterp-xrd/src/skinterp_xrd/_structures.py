"""Crystal structures: what they are here, and how others' become one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp_xrd._checks import (
    checked_floats,
    checked_lattice,
    checked_numbers,
    prefix,
)
from skinterp_xrd._elements import atomic_number, symbols


@dataclass(frozen=True, eq=False)
class Structure:
    """A crystal: its cell, and the atoms in it.

    A site that several elements share is several rows at one place. The arrays are
    checked, copied and read-only.

    Parameters
    ----------
    lattice : array-like of float of shape (3, 3)
        The cell's edges as rows, in angstrom.
    numbers : array-like of int of shape (m,)
        Atomic numbers from 1 to 98.
    coords : array-like of float of shape (m, 3)
        Fractional coordinates, finite, not necessarily inside the cell.
    occupancies : array-like of float of shape (m,), optional
        How much of each site is filled, in (0, 1]; all 1 when None.
    b_iso : array-like of float of shape (m,), optional
        Isotropic displacement parameters B >= 0 in square angstrom, by which the
        form factor falls as ``exp(-B s^2)``; all 0 when None.
    label : str, default=""
        A name for tables and messages.

    Raises
    ------
    ValueError
        If an array has the wrong shape, the cell is singular, or a value is not
        finite or outside its range; the message names the site and the element.

    See Also
    --------
    as_structure : Make one of what other libraries have.
    read_cif : Make one of a CIF.

    Examples
    --------
    >>> from skinterp_xrd import Structure
    >>> a = 2.8665
    >>> iron = Structure([[a, 0, 0], [0, a, 0], [0, 0, a]], [26, 26],
    ...                  [[0, 0, 0], [0.5, 0.5, 0.5]], label="bcc iron")
    >>> iron
    Structure(Fe2, 2 sites, 23.554 cubic angstrom, 'bcc iron')
    """

    lattice: NDArray[np.float64]
    numbers: NDArray[np.int64]
    coords: NDArray[np.float64]
    occupancies: NDArray[np.float64]
    b_iso: NDArray[np.float64]
    label: str

    def __init__(
        self,
        lattice: ArrayLike,
        numbers: ArrayLike,
        coords: ArrayLike,
        occupancies: ArrayLike | None = None,
        b_iso: ArrayLike | None = None,
        label: str = "",
    ) -> None:
        matrix = checked_lattice(lattice, label)
        kinds = checked_numbers(numbers, label)
        m = len(kinds)
        fractional = checked_floats(coords, (m, 3), "coords", label)
        filled = np.ones(m) if occupancies is None else occupancies
        b = np.zeros(m) if b_iso is None else b_iso
        filled = checked_floats(filled, (m,), "occupancies", label)
        b = checked_floats(b, (m,), "b_iso", label)
        for name, value in (
            ("lattice", matrix),
            ("numbers", kinds),
            ("coords", fractional),
            ("occupancies", filled),
            ("b_iso", b),
        ):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "label", str(label))
        self._check_sites()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)

    def __repr__(self) -> str:
        """Say what it is in one line."""
        label = f", {self.label!r}" if self.label else ""
        sites = f"{len(self)} site" + "s" * (len(self) != 1)
        volume = f"{self.volume:.3f} cubic angstrom"
        return f"Structure({self.formula}, {sites}, {volume}{label})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the arguments: the arrays stay read-only."""
        parts = (self.lattice, self.numbers, self.coords, self.occupancies, self.b_iso)
        return Structure, (*parts, self.label)

    @property
    def volume(self) -> float:
        """Volume of the cell in cubic angstrom."""
        return float(abs(np.linalg.det(self.lattice)))

    @property
    def species(self) -> tuple[str, ...]:
        """Symbols of the rows' elements."""
        known = symbols()
        return tuple(known[z - 1] for z in self.numbers)

    @property
    def formula(self) -> str:
        """What the cell holds, in the order of the rows, as ``"Na4 Cl4"``."""
        amounts: dict[str, float] = {}
        for symbol, occupancy in zip(self.species, self.occupancies, strict=True):
            amounts[symbol] = amounts.get(symbol, 0.0) + float(occupancy)
        # Ten digits are enough to tell, and hide the rounding of thirds.
        return " ".join(f"{s}{round(n, 4):g}" for s, n in amounts.items())

    def with_b_iso(self, b_iso: float | ArrayLike) -> Structure:
        """Return the same crystal with other displacement parameters.

        Parameters
        ----------
        b_iso : float or array-like of float of shape (m,)
            B >= 0 in square angstrom, for all rows or for each.

        Returns
        -------
        Structure
            A new one.

        Examples
        --------
        >>> from skinterp_xrd import as_structure
        >>> iron = as_structure(([[2.9, 0, 0], [0, 2.9, 0], [0, 0, 2.9]], ["Fe"],
        ...                      [[0, 0, 0]]))
        >>> iron.with_b_iso(0.5).b_iso
        array([0.5])
        """
        b = np.broadcast_to(np.asarray(b_iso, dtype=np.float64), (len(self),))
        return replace(self, b_iso=b)

    def _check_sites(self) -> None:
        self._refuse(
            ~np.isfinite(self.coords).all(axis=1), "coordinates", self.coords, "finite"
        )
        filled = self.occupancies
        self._refuse(
            ~((filled > 0) & (filled <= 1)),
            "occupancy",
            filled,
            "above 0 and at most 1",
        )
        b = self.b_iso
        self._refuse(~((b >= 0) & (b < np.inf)), "b_iso", b, "finite and at least 0")

    def _refuse(
        self, wrong: Any, name: str, values: NDArray[Any], allowed: str
    ) -> None:
        if not wrong.any():
            return
        i = int(wrong.argmax())
        value = values[i].tolist()
        raise ValueError(
            f"{prefix(self.label)}site {i} ({self.species[i]}): {name} must be "
            f"{allowed}, got {value}."
        )


def as_structure(source: Any, *, label: str | None = None) -> Structure:
    """Make a structure of what other libraries, files and tables have.

    Parameters
    ----------
    source : object
        One of

        - a `Structure`;
        - a structure of pymatgen, with mixed occupancies; oxidation states are
          dropped;
        - atoms of ASE, periodic in all three directions, with the occupancies that
          ``ase.spacegroup.crystal`` and ``ase.io.read`` keep;
        - a tuple ``(lattice, species, coords)`` or ``(lattice, species, coords,
          occupancies)``: edges as rows in angstrom, symbols or atomic numbers,
          fractional coordinates;
        - the path of a CIF, or its text, which needs the extra ``cif``.
    label : str, optional
        A name for the structure; by default what the source says of itself.

    Returns
    -------
    Structure
        The crystal.

    Raises
    ------
    TypeError
        If the source is none of these.
    ValueError
        If it is not a crystal that can be computed; the message names the site or
        element, the value and what is allowed.
    FileNotFoundError
        If there is no such file.
    ImportError
        If a CIF is given and gemmi is not installed.

    See Also
    --------
    read_cif : Choose the block of a CIF, and use its displacement parameters.

    Notes
    -----
    Form factors are those of neutral atoms, so ``"Fe2+"`` scatters as ``"Fe"``;
    deuterium scatters X-rays as hydrogen does. Neither pymatgen nor ASE is imported.

    Examples
    --------
    >>> from skinterp_xrd import as_structure
    >>> a = 4.209
    >>> as_structure(([[a, 0, 0], [0, a, 0], [0, 0, a]], ["Cs+", "Cl-"],
    ...               [[0, 0, 0], [0.5, 0.5, 0.5]]))
    Structure(Cs1 Cl1, 2 sites, 74.565 cubic angstrom)
    """
    made = _convert(source)
    return made if label is None else replace(made, label=label)


def as_structures(source: Any) -> list[Structure]:
    """Make structures of a list, or of a single one.

    Parameters
    ----------
    source : object or iterable of object
        What `as_structure` takes.

    Returns
    -------
    list of Structure
        One for each.

    Raises
    ------
    ValueError
        If there is none, or one is wrong; the message says which.

    Examples
    --------
    >>> from skinterp_xrd._structures import as_structures
    >>> len(as_structures([([[3, 0, 0], [0, 3, 0], [0, 0, 3]], ["Po"], [[0, 0, 0]])]))
    1
    """
    if is_one(source):
        return [as_structure(source)]
    # iterating over these gives their keys, which would be taken for file names
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        raise TypeError(
            f"Structures must be a list, a column or an array, got a "
            f"{type(source).__name__}; pass the values of one of its columns or keys."
        )
    if not isinstance(source, Iterable):
        raise _unknown(source)
    made = []
    for i, item in enumerate(source):
        try:
            made.append(as_structure(item))
        except (ValueError, TypeError, FileNotFoundError) as error:
            raise type(error)(f"Structure {i}: {error}") from error
    if not made:
        raise ValueError("There must be at least one structure, got none.")
    return made


def _convert(source: Any) -> Structure:
    if isinstance(source, Structure):
        return source
    if isinstance(source, str | os.PathLike):
        from skinterp_xrd._cif import read_cif

        return read_cif(source)
    if _is_ase(source):
        return _from_ase(source)
    if _is_pymatgen(source):
        return _from_pymatgen(source)
    if isinstance(source, tuple) and len(source) in (3, 4):
        return _from_parts(*source)
    raise _unknown(source)


def is_one(source: Any) -> bool:
    """Say whether a source is one structure, not several."""
    return (
        isinstance(source, Structure | str | os.PathLike)
        or _is_ase(source)
        or _is_pymatgen(source)
        # A tuple of structures is several, a tuple of parts is one.
        or (
            isinstance(source, tuple)
            and len(source) in (3, 4)
            and np.ndim(_array_or_none(source[0])) == 2
        )
    )


def _array_or_none(value: Any) -> Any:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


# Looked at, not imported: neither library is needed to tell its objects.
def _is_ase(source: Any) -> bool:
    return hasattr(source, "get_scaled_positions") and hasattr(source, "numbers")


def _is_pymatgen(source: Any) -> bool:
    return hasattr(source, "lattice") and hasattr(source, "sites")


def _from_parts(
    lattice: ArrayLike,
    species: Sequence[str | int],
    coords: ArrayLike,
    occupancies: ArrayLike | None = None,
) -> Structure:
    if isinstance(species, str) or np.ndim(np.asarray(species)) != 1:
        raise ValueError(
            f"species must be a list of symbols or atomic numbers, got {species!r}."
        )
    numbers = [atomic_number(s, f"site {i}") for i, s in enumerate(_listed(species))]
    return Structure(lattice, numbers, coords, occupancies)


def _listed(values: Sequence[Any]) -> list[Any]:
    """Return plain numbers and text in place of those of numpy and of elements."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    return [getattr(v, "symbol", v) for v in plain]


def _from_pymatgen(source: Any) -> Structure:
    numbers, coords, filled = [], [], []
    for i, site in enumerate(source.sites):
        for species, amount in site.species.items():
            numbers.append(atomic_number(species.symbol, f"site {i}"))
            coords.append(site.frac_coords)
            filled.append(float(amount))
    if not numbers:
        raise ValueError("The structure has no atoms.")
    return Structure(source.lattice.matrix, numbers, coords, filled)


def _from_ase(source: Any) -> Structure:
    if not all(source.pbc):
        raise ValueError(
            f"A crystal is periodic in all three directions, got pbc="
            f"{[bool(p) for p in source.pbc]}; set atoms.pbc = True if it is one."
        )
    lattice = np.asarray(source.cell)
    coords = np.linalg.solve(checked_lattice(lattice, "").T, source.positions.T).T
    mixed = source.info.get("occupancy") or {}
    kinds = source.arrays.get("spacegroup_kinds")
    numbers, rows, filled = [], [], []
    for i, number in enumerate(_listed(source.numbers)):
        shares: dict[Any, float] = {number: 1.0}
        if kinds is not None:
            # Keys are numbers in memory, and text once ASE has written them.
            shares = mixed.get(str(kinds[i]), mixed.get(kinds[i], shares))
        for species, share in shares.items():
            numbers.append(atomic_number(species, f"site {i}"))
            rows.append(coords[i])
            filled.append(float(share))
    if not numbers:
        raise ValueError("The structure has no atoms.")
    return Structure(lattice, numbers, rows, filled)


def _unknown(source: Any) -> TypeError:
    return TypeError(
        "A structure must be a skinterp_xrd.Structure, a structure of pymatgen, atoms "
        "of ASE, a tuple (lattice, species, coords[, occupancies]), or the path or "
        f"text of a CIF, got {type(source).__name__}."
    )
