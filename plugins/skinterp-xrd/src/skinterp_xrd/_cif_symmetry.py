"""The symmetry that a CIF states, and the sites that follow from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

# In fractions of an edge: sites as near as this are one (the same as pymatgen).
SAME_SITE = 1e-4
# Fractions that no decimal writes exactly and that special positions have.
_FRACTIONS = np.array([1, 2, 4, 5, 7, 8, 10, 11]) / 12
# One and two thirds are taken within 1e-4 of themselves, again as in pymatgen.
_THIRDS = (2, 5)
# A sum of rounded occupancies may exceed one by this; it is scaled down.
OVERFULL = 0.01

OPERATIONS = (
    "_space_group_symop_operation_xyz",
    "_space_group_symop.operation_xyz",
    "_symmetry_equiv_pos_as_xyz",
)
HALL = ("_space_group_name_Hall", "_symmetry_space_group_name_Hall")
HERMANN_MAUGUIN = (
    "_space_group_name_H-M_alt",
    "_symmetry_space_group_name_H-M",
    "_space_group_name_H-M_full",
)
NUMBER = ("_space_group_IT_number", "_symmetry_Int_Tables_number")
# How databases write the settings that gemmi marks by a colon.
_SETTINGS = {"S": ":1", "Z": ":2", "H": ":H", "R": ":R"}

# Rotations (k, 3, 3) and shifts (k, 3) in fractional coordinates.
Operations = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Site:
    """One row of the table of atoms in a CIF."""

    label: str
    number: int
    coords: NDArray[np.float64]
    occupancy: float
    b_iso: float
    # Digits after the point of the least precise coordinate.
    decimals: int


def operations(block: Any, gemmi: Any, sites: Sequence[Site]) -> Operations:
    """Find the symmetry operations: listed, or of the space group that is named.

    Parameters
    ----------
    block : gemmi.cif.Block
        The block of the structure.
    gemmi : module
        The library.
    sites : sequence of Site
        The atoms, which tell the origin where its choice is not stated.

    Returns
    -------
    tuple of ndarray
        Rotations of shape (k, 3, 3) and shifts of shape (k, 3).
    """
    listed = _listed(block, gemmi)
    if listed:
        return _arrays(listed)
    hall = _text(block, gemmi, HALL)
    if hall:
        try:
            return _arrays(gemmi.symops_from_hall(hall))
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"The Hall symbol {hall!r} is wrong: {error}.") from error
    groups = _named(block, gemmi)
    if len(groups) > 1:
        groups = _by_content(block, gemmi, groups, sites)
    if groups:
        return _arrays(groups[0].operations())
    return _none(block)


def _listed(block: Any, gemmi: Any) -> list[Any]:
    for tag in OPERATIONS:
        texts = [gemmi.cif.as_string(t) for t in block.find_values(tag)]
        if texts:
            return [_operation(text, gemmi) for text in texts]
    return []


def _operation(text: str, gemmi: Any) -> Any:
    try:
        operation = gemmi.Op(text)
    except (RuntimeError, ValueError) as error:
        raise ValueError(
            f"The symmetry operation {text!r} cannot be read: {error}; it must be like "
            "'x,1/2+y,-z'."
        ) from error
    if abs(operation.det_rot()) != operation.DEN**3:
        raise ValueError(
            f"The symmetry operation {text!r} does not keep volumes; it must be like "
            "'x,1/2+y,-z'."
        )
    return operation


def _named(block: Any, gemmi: Any) -> list[Any]:
    """List the settings that the name, or else the number, may mean."""
    name = _text(block, gemmi, HERMANN_MAUGUIN)
    angles = [_angle(block, gemmi, greek) for greek in ("alpha", "gamma")]
    if name:
        stem, _, last = name.rpartition(" ")
        spelled = stem + _SETTINGS[last] if stem and last in _SETTINGS else name
        group = gemmi.find_spacegroup_by_name(spelled, *angles)
        if group is None:
            raise ValueError(
                f"The space group {name!r} is unknown; it must be a Hermann-Mauguin "
                "symbol such as 'P 21/c', or the file must list its operations."
            )
        if ":" in spelled or group.ext not in ("1", "2"):
            return [group]
        return _settings(gemmi, group.number, group.hm)
    number = _text(block, gemmi, NUMBER)
    if not number:
        return []
    group = gemmi.find_spacegroup_by_number(int(number)) if number.isdigit() else None
    if group is None:
        raise ValueError(f"The space group number must be 1 to 230, got {number!r}.")
    named = gemmi.find_spacegroup_by_name(group.hm, *angles)
    if group.ext in ("1", "2"):
        return _settings(gemmi, group.number, group.hm)
    return [named or group]


def _settings(gemmi: Any, number: int, name: str) -> list[Any]:
    table = gemmi.spacegroup_table()
    return [group for group in table if group.number == number and group.hm == name]


def _by_content(
    block: Any, gemmi: Any, groups: list[Any], sites: Sequence[Site]
) -> list[Any]:
    """Choose the origin that gives as many atoms as the file says."""
    formula = _text(block, gemmi, ("_chemical_formula_sum",))
    units = gemmi.cif.as_number(block.find_value("_cell_formula_units_Z") or "?")
    wanted = _formula_amounts(formula)
    fitting = []
    for group in groups if wanted and np.isfinite(units) else ():
        found: dict[int, float] = {}
        for site in expand(sites, _arrays(group.operations())):
            found[site.number] = found.get(site.number, 0.0) + site.occupancy
        amounts = {gemmi.Element(s).atomic_number: n for s, n in wanted.items()}
        if set(found) == set(amounts) and all(
            abs(found[z] - units * amounts[z]) < 0.02 * found[z] for z in found
        ):
            fitting.append(group)
    if len(fitting) != 1:
        names = " or ".join(repr(group.xhm()) for group in groups)
        raise ValueError(
            f"The space group {groups[0].hm!r} has two choices of origin, and the file "
            f"does not say which; write {names}, or list the operations."
        )
    return fitting


def _formula_amounts(formula: str) -> dict[str, float]:
    """Read ``"Al2 O3"``; empty if it is not so written."""
    amounts: dict[str, float] = {}
    for part in formula.split():
        symbol = part.rstrip("0123456789.")
        try:
            amounts[symbol] = float(part[len(symbol) :] or 1)
        except ValueError:
            return {}
    return amounts


def _none(block: Any) -> Operations:
    """Take the sites as the whole cell; refuse what means another symmetry."""
    tags = {item.pair[0].lower() for item in block if item.pair is not None}
    tags |= {t.lower() for item in block if item.loop for t in item.loop.tags}
    special = sorted(t for t in tags if "_magn" in t or "_ssg_" in t)
    if special:
        raise ValueError(
            f"Magnetic and modulated structures are not supported ({special[0]}); the "
            "file must list ordinary symmetry operations."
        )
    # By way of as_structure, read_cif and the file's own functions.
    warnings.warn(
        "The CIF names neither symmetry operations nor a space group; its sites are "
        "taken as the whole cell.",
        UserWarning,
        stacklevel=2,
    )
    return np.eye(3)[None], np.zeros((1, 3))


def expand(sites: Sequence[Site], symmetry: Operations) -> list[Site]:
    """Fill the cell; rows at one place share it.

    Parameters
    ----------
    sites : sequence of Site
        The rows of the file.
    symmetry : tuple of ndarray
        From `operations`.

    Returns
    -------
    list of Site
        A row for each atom of the cell and each element that shares its place.

    Raises
    ------
    ValueError
        If more atoms share a place than there is room for.
    """
    places: list[NDArray[np.float64]] = []
    tenants: list[list[Site]] = []
    for site in sites:
        at = next((i for i, p in enumerate(places) if _holds(p, site)), None)
        if at is None:
            places.append(_orbit(site, symmetry))
            tenants.append([site])
        else:
            tenants[at].append(site)
    full = []
    for orbit, group in zip(places, tenants, strict=True):
        shares = _shares(group)
        full += [replace(s, coords=x) for x in orbit for s in shares]
    return full


def _orbit(site: Site, symmetry: Operations) -> NDArray[np.float64]:
    """Return the different images of a site, of shape (k, 3), inside the cell."""
    rotations, shifts = symmetry
    images = rotations @ site.coords + shifts
    images -= np.floor(images)
    # Rounded coordinates, as (0.123, 0.247) for (x, 2x), make images that nearly
    # coincide: twice the last digit is no other atom.
    tolerance = max(SAME_SITE, 2 * 10.0**-site.decimals)
    near = _distance(images[:, None], images) < tolerance
    # The first of those that coincide stands for all.
    return images[near.argmax(axis=1) == np.arange(len(images))]


def _holds(orbit: NDArray[np.float64], site: Site) -> bool:
    return bool((_distance(orbit, site.coords) < SAME_SITE).any())


def _distance(
    points: NDArray[np.float64], point: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest difference of a coordinate, across the cell's faces too."""
    difference = points - point
    difference -= np.round(difference)
    return np.asarray(np.abs(difference).max(axis=-1), dtype=np.float64)


def _shares(group: Sequence[Site]) -> list[Site]:
    total = sum(site.occupancy for site in group)
    if total <= 1:
        return list(group)
    if total > 1 + OVERFULL:
        names = ", ".join(f"{s.label} {s.occupancy:g}" for s in group)
        raise ValueError(
            f"The occupancies at one place sum to {total:g}, they must be at most 1: "
            f"{names}."
        )
    return [replace(site, occupancy=site.occupancy / total) for site in group]


def exact(value: float, decimals: int) -> float:
    """Return the fraction that a rounded coordinate such as 0.3333 stands for.

    Parameters
    ----------
    value : float
        The coordinate as written.
    decimals : int
        How many digits after the point it has.

    Returns
    -------
    float
        A twelfth, or the value itself if it is none.

    Examples
    --------
    >>> from skinterp_xrd._cif_symmetry import exact
    >>> exact(0.6667, 4) == 2 / 3, exact(0.67, 2)
    (True, 0.67)
    """
    whole = np.floor(value)
    near = np.abs(value - whole - _FRACTIONS)
    best = int(near.argmin())
    limit = 0.501 * 10.0**-decimals if decimals >= 3 else 0.0
    if best in _THIRDS:
        limit = max(limit, SAME_SITE * _FRACTIONS[best])
    return float(whole + _FRACTIONS[best]) if near[best] <= limit else value


def _arrays(symmetry: Iterable[Any]) -> Operations:
    found = list(symmetry)
    scale = float(found[0].DEN)
    rotations = np.array([op.rot for op in found], dtype=np.float64) / scale
    shifts = np.array([op.tran for op in found], dtype=np.float64) / scale
    return rotations, shifts


def _text(block: Any, gemmi: Any, tags: Iterable[str]) -> str:
    for tag in tags:
        value = block.find_value(tag)
        if value is not None and value not in ("?", "."):
            return str(gemmi.cif.as_string(value)).strip()
    return ""


def _angle(block: Any, gemmi: Any, greek: str) -> float:
    value = gemmi.cif.as_number(block.find_value(f"_cell_angle_{greek}") or "90")
    return float(value) if np.isfinite(value) else 90.0
