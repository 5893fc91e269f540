"""Structure types from which crystals for a benchmark are made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ANIONS", "CATIONS", "PROTOTYPES", "Prototype"]

Site = tuple[str, tuple[tuple[float, float, float], ...]]

# Forty common elements: those that sit on metal sites, and those on the others.
# fmt: off
CATIONS = (
    "Li", "Na", "Mg", "Al", "K", "Ca", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu",
    "Zn", "Sr", "Y", "Zr", "Nb", "Mo", "Ag", "Cd", "Sn", "Cs", "Ba", "La", "W", "Au",
    "Pb",
)
ANIONS = ("B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br")
# fmt: on

_NONE = ((0.0, 0.0, 0.0),)
_BODY = (*_NONE, (0.5, 0.5, 0.5))
_FACE = (*_NONE, (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
_RHOMB = (*_NONE, (2 / 3, 1 / 3, 1 / 3), (1 / 3, 2 / 3, 2 / 3))


@dataclass(frozen=True)
class Prototype:
    """A structure type: cell, symmetry, and which site is whose.

    Parameters
    ----------
    name : str
        What the type is called.
    space_group : int
        Number of the space group, 1 to 230.
    crystal_system : str
        Its system; what has a threefold axis and no sixfold one is "trigonal".
    lengths : tuple of 3 float
        Edges of the conventional cell, in angstrom.
    sites : tuple of (str, tuple of coordinates)
        Role and fractional coordinates; roles "A", "B" are metals, "X", "Y" others.
    centring : tuple of coordinates
        What is added to the coordinates.
    hexagonal : bool, default=False
        Whether the angle between the first two edges is 120 degrees, not 90.
    """

    name: str
    space_group: int
    crystal_system: str
    lengths: tuple[float, float, float]
    sites: tuple[Site, ...]
    centring: tuple[tuple[float, float, float], ...] = _NONE
    hexagonal: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles, each once, in their order."""
        return tuple(dict.fromkeys(role for role, _ in self.sites))

    def lattice(self, scale: float, axis_ratio: float) -> NDArray[np.float64]:
        """Give the cell's edges as rows.

        Parameters
        ----------
        scale : float
            What all edges are multiplied by.
        axis_ratio : float
            What the last edge is multiplied by as well, cubic cells excepted.

        Returns
        -------
        ndarray of shape (3, 3)
            In angstrom.
        """
        a, b, c = (scale * length for length in self.lengths)
        if self.crystal_system != "cubic":
            c *= axis_ratio
        gamma = math.radians(120.0) if self.hexagonal else math.pi / 2
        second = [b * math.cos(gamma), b * math.sin(gamma), 0.0]
        return np.array([[a, 0.0, 0.0], second, [0.0, 0.0, c]])

    def positions(self) -> tuple[list[str], NDArray[np.float64]]:
        """Give role and fractional coordinates of all atoms of the cell.

        Returns
        -------
        roles : list of str
            One for each atom.
        coords : ndarray of shape (n_atoms, 3)
            Within [0, 1).
        """
        atoms = [
            (role, np.add(at, shift) % 1.0)
            for role, places in self.sites
            for at in places
            for shift in self.centring
        ]
        return [role for role, _ in atoms], np.array([at for _, at in atoms])


def _mirror_c(x: float, z: float) -> tuple[tuple[float, float, float], ...]:
    """Four places (x, 1/4, z) of Pnma."""
    return (
        (x, 0.25, z),
        (0.5 - x, 0.75, 0.5 + z),
        (-x, 0.75, -z),
        (0.5 + x, 0.25, 0.5 - z),
    )


def _general_pnma(
    x: float, y: float, z: float
) -> tuple[tuple[float, float, float], ...]:
    """Eight general places of Pnma."""
    half = (
        (x, y, z),
        (0.5 - x, -y, 0.5 + z),
        (-x, 0.5 + y, -z),
        (0.5 + x, 0.5 - y, 0.5 - z),
    )
    return half + tuple((-p, -q, -r) for p, q, r in half)


def _twofold_r3c(x: float) -> tuple[tuple[float, float, float], ...]:
    """Places (x, 0, 1/4) of R-3c, without the centring."""
    return (
        (x, 0.0, 0.25),
        (0.0, x, 0.25),
        (-x, -x, 0.25),
        (-x, 0.0, 0.75),
        (0.0, -x, 0.75),
        (x, x, 0.75),
    )


def _rutile(u: float) -> tuple[tuple[float, float, float], ...]:
    """Places of the anions in rutile."""
    return (
        (u, u, 0.0),
        (-u, -u, 0.0),
        (0.5 + u, 0.5 - u, 0.5),
        (0.5 - u, 0.5 + u, 0.5),
    )


def _anatase(z: float) -> tuple[tuple[float, float, float], ...]:
    """Places of the anions in anatase, without the centring."""
    return ((0.0, 0.0, z), (0.0, 0.0, -z), (0.0, 0.5, 0.25 + z), (0.0, 0.5, 0.25 - z))


_ORIGIN = ((0.0, 0.0, 0.0),)
_CENTRE = ((0.5, 0.5, 0.5),)
_QUARTER = ((0.25, 0.25, 0.25),)
_EDGES = ((0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5))
_CLOSE = ((1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75))


def _cubic(
    name: str,
    group: int,
    a: float,
    sites: tuple[Site, ...],
    centring: tuple[tuple[float, float, float], ...] = _NONE,
) -> Prototype:
    return Prototype(name, group, "cubic", (a, a, a), sites, centring)


PROTOTYPES = {
    one.name: one
    for one in (
        _cubic("fcc", 225, 3.615, (("A", _ORIGIN),), _FACE),
        _cubic("bcc", 229, 2.866, (("A", _ORIGIN),), _BODY),
        _cubic("rock-salt", 225, 5.640, (("A", _ORIGIN), ("X", _CENTRE)), _FACE),
        _cubic("cesium-chloride", 221, 4.123, (("A", _ORIGIN), ("X", _CENTRE))),
        _cubic("zincblende", 216, 5.409, (("A", _ORIGIN), ("X", _QUARTER)), _FACE),
        _cubic(
            "fluorite",
            225,
            5.463,
            (("A", _ORIGIN), ("X", (*_QUARTER, (0.75, 0.75, 0.75)))),
            _FACE,
        ),
        _cubic(
            "perovskite", 221, 3.905, (("A", _ORIGIN), ("B", _CENTRE), ("X", _EDGES))
        ),
        Prototype(
            "hcp",
            194,
            "hexagonal",
            (3.209, 3.209, 5.211),
            (("A", _CLOSE),),
            _NONE,
            True,
        ),
        Prototype(
            "wurtzite",
            186,
            "hexagonal",
            (3.250, 3.250, 5.207),
            (
                ("A", ((1 / 3, 2 / 3, 0.0), (2 / 3, 1 / 3, 0.5))),
                ("X", ((1 / 3, 2 / 3, 0.382), (2 / 3, 1 / 3, 0.882))),
            ),
            _NONE,
            True,
        ),
        Prototype(
            "nickel-arsenide",
            194,
            "hexagonal",
            (3.602, 3.602, 5.009),
            (("A", (*_ORIGIN, (0.0, 0.0, 0.5))), ("X", _CLOSE)),
            _NONE,
            True,
        ),
        Prototype(
            "rutile",
            136,
            "tetragonal",
            (4.594, 4.594, 2.959),
            (("A", (*_ORIGIN, *_CENTRE)), ("X", _rutile(0.305))),
        ),
        Prototype(
            "anatase",
            141,
            "tetragonal",
            (3.785, 3.785, 9.514),
            (("A", (*_ORIGIN, (0.0, 0.5, 0.25))), ("X", _anatase(0.2081))),
            _BODY,
        ),
        Prototype(
            "copper-gold",
            123,
            "tetragonal",
            (2.801, 2.801, 3.670),
            (("A", _ORIGIN), ("B", _CENTRE)),
        ),
        Prototype(
            "tilted-perovskite",
            62,
            "orthorhombic",
            (5.442, 7.640, 5.380),
            (
                ("A", _mirror_c(0.0365, 0.9935)),
                ("B", ((0, 0, 0.5), (0.5, 0, 0), (0, 0.5, 0.5), (0.5, 0.5, 0))),
                ("X", _mirror_c(0.484, 0.071) + _general_pnma(0.289, 0.037, 0.711)),
            ),
        ),
        Prototype(
            "stretched-rock-salt",
            69,
            "orthorhombic",
            (5.640, 6.091, 5.189),
            (("A", _ORIGIN), ("X", _CENTRE)),
            _FACE,
        ),
        Prototype(
            "aragonite",
            62,
            "orthorhombic",
            (5.740, 4.961, 7.967),
            (
                ("A", _mirror_c(0.7597, 0.4150)),
                ("Y", _mirror_c(0.9138, 0.7622)),
                ("X", _mirror_c(0.9038, 0.9225) + _general_pnma(0.9128, 0.4736, 0.681)),
            ),
        ),
        Prototype(
            "corundum",
            167,
            "trigonal",
            (4.760, 4.760, 12.993),
            (
                (
                    "A",
                    tuple((0.0, 0.0, z) for z in (0.352, 0.148, 0.648, 0.852)),
                ),
                ("X", _twofold_r3c(0.306)),
            ),
            _RHOMB,
            True,
        ),
        Prototype(
            "calcite",
            167,
            "trigonal",
            (4.990, 4.990, 17.061),
            (
                ("A", (*_ORIGIN, (0.0, 0.0, 0.5))),
                ("Y", ((0.0, 0.0, 0.25), (0.0, 0.0, 0.75))),
                ("X", _twofold_r3c(0.258)),
            ),
            _RHOMB,
            True,
        ),
    )
}
