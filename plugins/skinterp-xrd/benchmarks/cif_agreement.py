"""All structures of a folder of CIFs: read and reflected as by pymatgen.

Run ``OMP_NUM_THREADS=1 python -m benchmarks.cif_agreement``.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Structure as Theirs
from pymatgen.io.cif import CifParser

from benchmarks._harness import data_folder, machine, write
from skinterp_xrd import Structure, find_peaks, read_cif

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.cif_agreement"
WAVELENGTH, RANGE = 1.54184, (10.0, 80.0)
# What counts as the same: rounding, in degrees and relative to the intensity.
SAME = 1e-9


def read_by_pymatgen(path: Path) -> Theirs:
    """Read the conventional cell, without the remarks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (made,) = CifParser(path).parse_structures(primitive=False, on_error="raise")
    return made


def as_pymatgen(made: Structure) -> Theirs:
    """Hand our structure over; rows at one place become one site there."""
    sites: dict[tuple[float, ...], dict[str, float]] = {}
    for species, coords, amount in zip(
        made.species, made.coords.tolist(), made.occupancies.tolist(), strict=True
    ):
        sites.setdefault(tuple(coords), {})[species] = amount
    return Theirs(made.lattice, list(sites.values()), list(sites))


def reflected_by_pymatgen(structure: Theirs) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and raw intensities."""
    pattern = XRDCalculator(WAVELENGTH).get_pattern(structure, False, RANGE)
    return np.asarray(pattern.x), np.asarray(pattern.y)


def compare(ours: Any, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Match each peak with the nearest; what has no partner is counted."""
    distance = np.abs(ours.two_theta[:, None] - x)
    # Different peaks may be as near as 1e-5 degree: the nearest is the partner if
    # each is the other's.
    partner = distance.argmin(axis=1)
    mutual = distance.argmin(axis=0)[partner] == np.arange(len(ours))
    matched = np.flatnonzero(mutual & (distance.min(axis=1) < 1e-5))
    partner = partner[matched]
    top = y.max()
    lonely = np.setdiff1d(np.arange(len(ours)), matched)
    theirs = np.setdiff1d(np.arange(len(x)), partner)
    unmatched = [*ours.intensity[lonely] / top, *y[theirs] / top]
    shift = np.abs(ours.two_theta[matched] - x[partner])
    change = np.abs(ours.intensity[matched] - y[partner])
    return {
        "peaks": len(ours),
        "position": float(shift.max(initial=0)),
        "relative": float((change / y[partner]).max(initial=0)),
        "of strongest": float(change.max(initial=0) / top),
        "unmatched": len(unmatched),
        "strongest unmatched": float(max(unmatched, default=0)),
    }


def moved(made: Structure, theirs: Theirs) -> float:
    """Largest distance of an atom of ours from the nearest of pymatgen's, in edges."""
    places = np.array([site.frac_coords for site in theirs])
    difference = made.coords[:, None] - places
    difference -= np.round(difference)
    return float(np.abs(difference).max(axis=2).min(axis=1).max())


def main() -> None:
    """Compare file by file, and write what differs."""
    facts = machine(["numpy", "numba", "gemmi", "pymatgen"])
    refused, cases = [], []
    for path in sorted(data_folder("crystals", "cif").glob("*.cif")):
        try:
            made = read_cif(path)
        except ValueError as error:
            refused.append({"file": path.name, "message": str(error)})
            continue
        peaks = find_peaks(made, WAVELENGTH, RANGE)
        theirs = read_by_pymatgen(path)
        cases.append(
            {
                "file": path.name,
                "atoms": len(made),
                "moved": moved(made, theirs),
                "same": compare(peaks, *reflected_by_pymatgen(as_pymatgen(made))),
                "read": compare(peaks, *reflected_by_pymatgen(theirs)),
            }
        )
    parts = {
        "summary": summary(cases, refused),
        "differences": differences(cases),
    }
    if refused:
        parts["refused"] = {"title": "Refused", "about": "By whom.", "rows": refused}
    write("cif_agreement", COMMAND, facts, parts)


def summary(cases: list[Any], refused: list[Any]) -> dict[str, Any]:
    """Put all files into two rows."""
    rows = []
    for key, what in (
        ("same", "the same structure, reflected by both"),
        ("read", "the file, read and reflected by each"),
    ):
        found = [case[key] for case in cases]
        rows.append(
            {
                "compared": what,
                "files": len(cases),
                "refused": len(refused),
                "peaks": sum(f["peaks"] for f in found),
                "largest difference of position, degrees": max(
                    f["position"] for f in found
                ),
                "files within 1e-9 (position and relative intensity)": sum(
                    _agrees(f) for f in found
                ),
                "largest difference of intensity / strongest": max(
                    f["of strongest"] for f in found
                ),
                "peaks without partner": sum(f["unmatched"] for f in found),
            }
        )
    return {
        "title": "All files",
        "about": "Stick patterns at 1.54184 angstrom, 10 to 80 degrees, raw "
        "intensities, against pymatgen's CifParser and XRDCalculator.",
        "rows": rows,
    }


def _agrees(found: dict[str, Any]) -> bool:
    return (
        found["position"] < SAME and found["relative"] < SAME and not found["unmatched"]
    )


def differences(cases: list[Any]) -> dict[str, Any]:
    """List the files on which the two do not agree to rounding."""
    rows = []
    for case in cases:
        for key in ("same", "read"):
            found = case[key]
            if not _agrees(found):
                rows.append(
                    {
                        "file": case["file"],
                        "compared": key,
                        "position, degrees": found["position"],
                        "relative intensity": found["relative"],
                        "intensity / strongest": found["of strongest"],
                        "unmatched": found["unmatched"],
                        "strongest unmatched / strongest": found["strongest unmatched"],
                        "atoms moved, of an edge": case["moved"],
                    }
                )
    return {
        "title": "Every difference above 1e-9",
        "about": "`same`: one structure given to both; `read`: each reads the file. "
        "Where these differ, the file rounds a sixth to 0.166667: `read_cif` takes it "
        "for 1/6, pymatgen for what is written.",
        "rows": rows or [{"file": "none"}],
    }


if __name__ == "__main__":
    main()
