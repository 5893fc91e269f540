"""Structures from CIF, read by gemmi."""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import optional_import
from skinterp_xrd._cif_symmetry import Site, exact, expand, operations
from skinterp_xrd._elements import ISOTOPES, symbols
from skinterp_xrd._structures import Structure

_REQUIRED = ("_atom_site_fract_x", "_atom_site_fract_y", "_atom_site_fract_z")
_OPTIONAL = (
    "_atom_site_label",
    "_atom_site_type_symbol",
    "_atom_site_occupancy",
    "_atom_site_B_iso_or_equiv",
    "_atom_site_U_iso_or_equiv",
    "_atom_site_calc_flag",
)
_ANISOTROPIC = ("U_11", "U_22", "U_33", "B_11", "B_22", "B_33")
# Letters, then a charge, a site number, or the letters of a mineral's site.
_SYMBOL = re.compile(r"([A-Z])([a-z]*)")
# Water and hydroxyl, whose hydrogen the files do not place.
_GROUPS = {"Ow": "O", "Oh": "O", "Hw": "H", "Ho": "H"}
_B_OF_U = 8 * math.pi**2


def read_cif(
    source: str | os.PathLike[str],
    *,
    block: str | int | None = None,
    displacements: bool = False,
) -> Structure:
    """Read a crystal structure from a CIF.

    Symmetry operations are applied, the listed ones or those of the named space
    group, and the conventional cell of the file is kept.

    Parameters
    ----------
    source : str or path
        A file (``.cif``, ``.cif.gz``), or the text of one.
    block : str or int, optional
        Which data block, by name or by position among those with a structure;
        needed if there are several.
    displacements : bool, default=False
        Use the isotropic (or equivalent isotropic) displacement parameters of the
        file as ``b_iso``. The default leaves them out, since the conditions of a
        simulation bring their own thermal motion.

    Returns
    -------
    Structure
        With one row for each atom of the cell, or several where elements share a
        site; labelled by the file, or else by the block.

    Raises
    ------
    ImportError
        If gemmi is not installed: ``pip install 'skinterp-xrd[cif]'``.
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no CIF, has no structure or several, or has a site that cannot be
        computed; the message names the site, the value and what is allowed.

    Notes
    -----
    - Rows within 1e-4 of each other in fractions of the edges are one site, and
      their occupancies add up, as in pymatgen. A sum up to 1.01 is scaled to 1, more
      is refused. Rows of occupancy 0 are left out; a missing occupancy is 1.
    - Coordinates such as 0.3333 stand for the twelfth that they round.
    - Uncertainties in brackets are dropped, and so are charges: ``Fe2+`` scatters
      as ``Fe``. ``D`` and ``T`` are hydrogen. Hydrogen that a file mentions but
      does not place does not scatter. Dummy and unknown atoms are refused.
    - Without operations, Hall symbol, name and number, the sites are taken as the
      whole cell, with a warning. If a name leaves the origin open, the one that
      gives the stated formula is taken, else the file is refused.

    Examples
    --------
    >>> from skinterp_xrd import read_cif
    >>> text = '''data_iron
    ... _cell_length_a 2.8665(2)
    ... _cell_length_b 2.8665(2)
    ... _cell_length_c 2.8665(2)
    ... _cell_angle_alpha 90
    ... _cell_angle_beta 90
    ... _cell_angle_gamma 90
    ... _symmetry_space_group_name_H-M 'I m -3 m'
    ... loop_
    ... _atom_site_label
    ... _atom_site_fract_x
    ... _atom_site_fract_y
    ... _atom_site_fract_z
    ... Fe1 0 0 0
    ... '''
    >>> read_cif(text)
    Structure(Fe2, 2 sites, 23.554 cubic angstrom, 'iron')
    """
    gemmi = optional_import(
        "gemmi", extra="cif", who="Reading a CIF", distribution="skinterp-xrd"
    )
    text, name = _load(source)
    chosen = _choose(_blocks(text, name, gemmi), block, name)
    name = name or chosen.name
    try:
        sites = _sites(chosen, gemmi, displacements)
        full = expand(sites, operations(chosen, gemmi, sites))
        lattice = _lattice(chosen, gemmi)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return Structure(
        lattice,
        [site.number for site in full],
        [site.coords for site in full],
        [site.occupancy for site in full],
        [site.b_iso for site in full],
        label=name,
    )


def _load(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the text, and the name of the file if there is one."""
    if isinstance(source, str):
        text = source.removeprefix("\ufeff")
        if "\n" in text or text.startswith("data_"):
            return text, ""
    path = Path(source)
    if not os.path.isfile(path):  # unlike Path.is_file, also of names that are too long
        what = "a folder, not a file" if os.path.isdir(path) else "no such file"
        raise FileNotFoundError(f"{os.fspath(source)!r}: {what}.")
    content = path.read_bytes()
    name = path.name
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{name}: not a complete gzip file ({error}).") from error
        name = path.stem
    # Old files hold names of authors in other encodings; no number depends on them.
    return content.decode("utf-8-sig", errors="replace"), Path(name).stem


def _blocks(text: str, name: str, gemmi: Any) -> list[Any]:
    try:
        document = gemmi.cif.read_string(text)
    except (RuntimeError, ValueError) as error:
        reason = str(error).replace("string:", "line ", 1)
        raise ValueError(f"{name or 'The text'}: not a readable CIF ({reason}).") from (
            error
        )
    found = [block for block in document if block.find(_REQUIRED)]
    if not found:
        names = ", ".join(b.name or "(no name)" for b in document) or "none"
        raise ValueError(
            f"{name or 'The text'}: no block has sites with fractional coordinates "
            f"(_atom_site_fract_x, _y and _z); blocks: {names}."
        )
    return found


def _choose(blocks: list[Any], block: str | int | None, name: str) -> Any:
    names = [b.name for b in blocks]
    if block is None and len(blocks) == 1:
        return blocks[0]
    if isinstance(block, str) and block in names:
        return blocks[names.index(block)]
    if isinstance(block, str) and block.isdigit():
        block = int(block)
    if isinstance(block, int) and -len(blocks) <= block < len(blocks):
        return blocks[block]
    given = "several have a structure" if block is None else f"got {block!r}"
    raise ValueError(
        f"{name or 'The text'}: block must be one of {', '.join(map(repr, names))}, or "
        f"a number from 0 to {len(blocks) - 1}; {given}."
    )


def _lattice(block: Any, gemmi: Any) -> NDArray[np.float64]:
    a, b, c, alpha, beta, gamma = (
        _number(block.find_value(f"_cell_{name}") or "?", f"_cell_{name}", gemmi)
        for name in (
            *("length_a", "length_b", "length_c"),
            *("angle_alpha", "angle_beta", "angle_gamma"),
        )
    )
    cosines = np.array([_cosine(angle) for angle in (alpha, beta, gamma)])
    ca, cb, cg = cosines
    sg = math.sqrt(1 - cg**2)
    height = 1 - (cosines**2).sum() + 2 * cosines.prod()
    possible = height > 0 and sg > 0 and min(alpha, beta, gamma) > 0
    if not possible or not min(a, b, c) > 0 or not max(alpha, beta, gamma) < 180:
        raise ValueError(
            f"The cell {a:g} {b:g} {c:g} {alpha:g} {beta:g} {gamma:g} has no volume; "
            "lengths must be positive, and the angles possible together."
        )
    return np.array(
        [
            [a, 0.0, 0.0],
            [b * cg, b * sg, 0.0],
            [c * cb, c * (ca - cb * cg) / sg, c * math.sqrt(height) / sg],
        ]
    )


def _cosine(degrees: float) -> float:
    """Be exact where cells are: rounding would tell equivalent planes apart."""
    known = {90.0: 0.0, 60.0: 0.5, 120.0: -0.5}
    return known.get(degrees, math.cos(math.radians(degrees)))


def _sites(block: Any, gemmi: Any, displacements: bool) -> list[Site]:
    rows = block.find([*_REQUIRED, *(f"?{tag}" for tag in _OPTIONAL)])
    elements = _formula(block, gemmi)
    anisotropic = _anisotropic(block, gemmi) if displacements else {}
    sites = []
    for i, row in enumerate(rows):
        label, symbol, filled, b, u, flag = (
            gemmi.cif.as_string(row[3 + j]) if row.has(3 + j) else ""
            for j in range(len(_OPTIONAL))
        )
        who = f"site {label or i + 1}"
        occupancy = 1.0 if filled in ("", ".", "?") else _number(filled, who, gemmi)
        if occupancy == 0:
            continue
        if occupancy < 0:
            raise ValueError(f"{who}: the occupancy must be positive, got {filled}.")
        if flag.lower() == "dum":  # codespell:ignore dum
            raise ValueError(f"{who} is flagged as a dummy atom; leave it out.")
        texts = [row[j] for j in range(3)]
        decimals = [_decimals(text) for text in texts]
        values = [_number(text, who, gemmi) for text in texts]
        b_iso = 0.0
        if displacements:
            b_iso = _b_iso(b, u, anisotropic.get(label), who, gemmi)
        sites.append(
            Site(
                label=label or str(i + 1),
                number=_element(symbol, label, elements, who),
                coords=np.array(
                    [exact(*x) for x in zip(values, decimals, strict=True)]
                ),
                occupancy=occupancy,
                b_iso=b_iso,
                decimals=min((d for d in decimals if d >= 3), default=9),
            )
        )
    if not sites:
        raise ValueError("The file has no atoms, or all are of occupancy 0.")
    return sites


def _element(symbol: str, label: str, formula: set[str], who: str) -> int:
    """Return the number of the element that a type symbol, or a label, names."""
    given = label if symbol in ("", ".", "?") else symbol
    if not given:
        raise ValueError(f"{who} has neither a type symbol nor a label.")
    known = symbols()
    found = _read_symbol(given, formula)
    if found not in known:
        raise ValueError(
            f"{who}: {given!r} is no element with a form factor; it must begin with a "
            f"symbol from H to {known[-1]}."
        )
    return known.index(found) + 1


def _read_symbol(text: str, formula: set[str]) -> str:
    match = _SYMBOL.match(text)
    if match is None:
        return ""
    first, rest = match.groups()
    known = symbols()
    if rest:
        # "Fe", "Ow"; "Wat" is no element, and does not stand for one.
        symbol = first + rest if len(rest) == 1 else ""
        symbol = ISOTOPES.get(symbol, symbol)
        return symbol if symbol in known else _GROUPS.get(symbol, "")
    second = text[1:2]
    long = first + second.lower() if second.isalpha() else ""
    short = ISOTOPES.get(first, first)
    readings = [s for s in (long, short) if s in known]
    if len(readings) == 2 and first in "CHNO":
        # "CA1" is carbon in a molecule, calcium in a mineral: the formula tells.
        readings = [s for s in readings if s in formula]
        return readings[0] if len(readings) == 1 else ""
    return readings[0] if readings else ""


def _formula(block: Any, gemmi: Any) -> set[str]:
    value = block.find_value("_chemical_formula_sum") or ""
    return set(re.findall(r"[A-Z][a-z]?", gemmi.cif.as_string(value)))


def _b_iso(b: str, u: str, anisotropic: float | None, who: str, gemmi: Any) -> float:
    if b not in ("", ".", "?"):
        value = _number(b, who, gemmi)
    elif u not in ("", ".", "?"):
        value = _number(u, who, gemmi) * _B_OF_U
    else:
        value = anisotropic or 0.0
    if value < 0:
        raise ValueError(
            f"{who}: the displacement parameter must be at least 0, got B = {value:g} "
            "square angstrom; read without displacements."
        )
    return value


def _anisotropic(block: Any, gemmi: Any) -> dict[str, float]:
    """Return the equivalent isotropic B of each label, the mean of the diagonal."""
    found = {}
    tags = [f"?_atom_site_aniso_{part}" for part in _ANISOTROPIC]
    for row in block.find(["_atom_site_aniso_label", *tags]):
        for columns, factor in (((1, 2, 3), _B_OF_U), ((4, 5, 6), 1.0)):
            if all(row.has(j) for j in columns):
                values = [gemmi.cif.as_number(row[j]) for j in columns]
                if np.isfinite(values).all():
                    label = gemmi.cif.as_string(row[0])
                    found[label] = float(np.mean(values)) * factor
    return found


def _number(text: str, who: str, gemmi: Any) -> float:
    """Read a number, with or without its uncertainty in brackets."""
    value = float(gemmi.cif.as_number(text))
    if not math.isfinite(value):
        raise ValueError(f"{who}: {text!r} is no number.")
    return value


def _decimals(text: str) -> int:
    """Count the digits after the point; whole numbers are exact."""
    digits = re.match(r"[^.(]*\.(\d*)", text)
    return len(digits.group(1)) if digits else 9
