"""Labelled crystals and patterns to learn from, and honest ways to split them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from skinterp_xrd._elements import atomic_number
from skinterp_xrd._prototypes import ANIONS, CATIONS, PROTOTYPES, Prototype
from skinterp_xrd._splits import (
    in_library_split,
    leave_one_prototype_out,
    out_of_library_split,
)
from skinterp_xrd._structures import Structure

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "XRDBenchmark",
    "in_library_split",
    "leave_one_prototype_out",
    "make_prototype_structures",
    "make_xrd_benchmark",
    "out_of_library_split",
    "prototype_names",
]


@dataclass(frozen=True, eq=False, repr=False)
class XRDBenchmark:
    """Simulated patterns of crystals whose symmetry is known.

    Parameters
    ----------
    patterns : ndarray of float32 of shape (n_patterns, n_points)
        One pattern per row, as the simulator gives them.
    labels : pandas.DataFrame
        One line per pattern: "crystal" (its number), "prototype", "space_group",
        "crystal_system".
    conditions : pandas.DataFrame
        One line per pattern: under which conditions it was simulated.
    two_theta : ndarray of shape (n_points,)
        Angles of the points, in degrees.
    structures : list of Structure
        The crystals, in the order of their numbers.

    See Also
    --------
    make_xrd_benchmark : Makes one.

    Examples
    --------
    >>> from skinterp_xrd.datasets import make_xrd_benchmark
    >>> data = make_xrd_benchmark(1, 2, prototypes=["fcc", "hcp"], random_state=0)
    >>> data
    <XRDBenchmark: 4 patterns of 2 crystals, 2 prototypes, 3501 points>
    """

    patterns: NDArray[np.float32]
    labels: pd.DataFrame
    conditions: pd.DataFrame
    two_theta: NDArray[np.float64]
    structures: list[Structure]

    def __repr__(self) -> str:
        """Say what it holds in one line."""
        n, points = self.patterns.shape
        types = self.labels["prototype"].nunique()
        return (
            f"<XRDBenchmark: {n} patterns of {len(self.structures)} crystals, "
            f"{types} prototypes, {points} points>"
        )

    @property
    def groups(self) -> NDArray[np.int64]:
        """Number of the crystal of each pattern, for ``GroupKFold``."""
        return self.labels["crystal"].to_numpy()

    @property
    def prototypes(self) -> NDArray[Any]:
        """Name of the prototype of each pattern, for ``LeaveOneGroupOut``."""
        return self.labels["prototype"].to_numpy()


def prototype_names() -> tuple[str, ...]:
    """List the structure types that crystals can be made of.

    Returns
    -------
    tuple of str
        Eighteen names.

    Examples
    --------
    >>> from skinterp_xrd.datasets import prototype_names
    >>> prototype_names()[:3]
    ('fcc', 'bcc', 'rock-salt')
    """
    return tuple(PROTOTYPES)


def make_prototype_structures(
    n_per_prototype: int = 60,
    *,
    prototypes: Iterable[str] | None = None,
    scale: tuple[float, float] = (0.85, 1.15),
    axis_ratio: tuple[float, float] = (0.95, 1.05),
    random_state: Any = None,
) -> tuple[list[Structure], pd.DataFrame]:
    """Make crystals of known symmetry from structure types.

    Each crystal takes the places of its prototype, different elements for its
    different sites (of 29 metals and 11 others), and a cell that is scaled at random,
    so that neither the positions of the peaks nor single intensities give it away.

    Parameters
    ----------
    n_per_prototype : int, default=60
        Crystals of each prototype, at least 1.
    prototypes : iterable of str, default=None
        Which of `prototype_names`; None takes all eighteen.
    scale : (float, float), default=(0.85, 1.15)
        Bounds of the factor of all edges, drawn evenly.
    axis_ratio : (float, float), default=(0.95, 1.05)
        Bounds of a further factor of the third edge, cubic cells excepted.
    random_state : int, RandomState instance or None, default=None
        Seeds what is drawn.

    Returns
    -------
    structures : list of Structure
        Crystals, prototype by prototype.
    labels : pandas.DataFrame
        One line per crystal: "crystal", "prototype", "space_group", "crystal_system".

    Raises
    ------
    ValueError
        If a count is below 1, a bound not positive, or a prototype unknown.

    Examples
    --------
    >>> from skinterp_xrd.datasets import make_prototype_structures
    >>> crystals, labels = make_prototype_structures(2, random_state=0)
    >>> len(crystals), labels["crystal_system"].nunique()
    (36, 5)
    """
    import pandas as pd

    count = _count("n_per_prototype", n_per_prototype)
    low_high = _bounds("scale", scale), _bounds("axis_ratio", axis_ratio)
    random = check_random_state(random_state)
    chosen = [one for one in _chosen(prototypes) for _ in range(count)]
    structures = [_make(one, random, *low_high) for one in chosen]
    labels = pd.DataFrame(
        {
            "crystal": np.arange(len(chosen)),
            "prototype": [one.name for one in chosen],
            "space_group": [one.space_group for one in chosen],
            "crystal_system": [one.crystal_system for one in chosen],
        }
    )
    return structures, labels


def make_xrd_benchmark(
    n_crystals: int = 60,
    n_patterns: int = 5,
    *,
    prototypes: Iterable[str] | None = None,
    simulator: Any = None,
    random_state: Any = None,
) -> XRDBenchmark:
    """Simulate patterns of crystals of known symmetry, each under several conditions.

    The classes of the crystal system are unequal on purpose: seven prototypes are
    cubic, two trigonal.

    Parameters
    ----------
    n_crystals : int, default=60
        Crystals of each prototype.
    n_patterns : int, default=5
        Patterns of each crystal, under conditions of their own.
    prototypes : iterable of str, default=None
        Which of `prototype_names`; None takes all eighteen.
    simulator : PowderXRDSimulator, default=None
        What simulates; None takes one with its defaults and ``random_state``.
    random_state : int, RandomState instance or None, default=None
        Seeds the crystals, and the simulator where none is given.

    Returns
    -------
    XRDBenchmark
        Patterns, labels, conditions and crystals; see there.

    Raises
    ------
    ValueError
        As `make_prototype_structures` does.

    See Also
    --------
    in_library_split : Known crystals under new conditions.
    out_of_library_split : Crystals never seen.
    leave_one_prototype_out : Structure types never seen.

    Notes
    -----
    The cost is that of the simulation: about a second of CPU for 300 patterns.

    Examples
    --------
    >>> from skinterp_xrd.datasets import make_xrd_benchmark
    >>> data = make_xrd_benchmark(2, 1, prototypes=["bcc", "rutile"], random_state=0)
    >>> data.labels["crystal_system"].tolist()
    ['cubic', 'cubic', 'tetragonal', 'tetragonal']
    """
    each = _count("n_patterns", n_patterns)
    random = check_random_state(random_state)
    structures, crystals = make_prototype_structures(
        n_crystals, prototypes=prototypes, random_state=random
    )
    if simulator is None:
        from skinterp_xrd._simulator import PowderXRDSimulator

        simulator = PowderXRDSimulator(random_state=int(random.randint(2**31 - 1)))
    simulator = clone(simulator, safe=False).fit(structures)
    patterns, conditions, groups = simulator.simulate(structures, each)
    labels = crystals.iloc[np.asarray(groups)].reset_index(drop=True)
    return XRDBenchmark(
        patterns, labels, conditions, np.array(simulator.grid_), structures
    )


# -- making one crystal ---------------------------------------------------------------
def _make(
    prototype: Prototype,
    random: np.random.RandomState,
    scale: tuple[float, float],
    axis_ratio: tuple[float, float],
) -> Structure:
    """Draw elements and cell of one crystal."""
    roles, coords = prototype.positions()
    elements: dict[str, str] = {}
    for role in prototype.roles:
        pool = CATIONS if role in "AB" else ANIONS
        free = [symbol for symbol in pool if symbol not in elements.values()]
        elements[role] = free[random.randint(len(free))]
    lattice = prototype.lattice(random.uniform(*scale), random.uniform(*axis_ratio))
    return Structure(
        lattice,
        [atomic_number(elements[role]) for role in roles],
        coords,
        label=f"{prototype.name} {''.join(elements.values())}",
    )


def _chosen(names: Iterable[str] | None) -> list[Prototype]:
    wanted = list(PROTOTYPES) if names is None else names
    if isinstance(wanted, str):
        wanted = [wanted]
    made = []
    for name in wanted if isinstance(wanted, Iterable) else [wanted]:
        if not isinstance(name, str) or name not in PROTOTYPES:
            msg = f"prototypes holds {name!r}; allowed are {list(PROTOTYPES)}."
            raise ValueError(msg)
        made.append(PROTOTYPES[name])
    if not made:
        msg = f"prototypes is empty; allowed are {list(PROTOTYPES)}."
        raise ValueError(msg)
    return made


# -- checking -------------------------------------------------------------------------
def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        msg = f"{name} must be an integer of at least 1, got {value!r}."
        raise ValueError(msg)
    return int(value)


def _bounds(name: str, value: Any) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError) as error:
        msg = f"{name} must be two numbers, lower and upper bound, got {value!r}."
        raise ValueError(msg) from error
    if not 0 < low <= high < np.inf:
        msg = f"{name} must be 0 < lower <= upper, got {value!r}."
        raise ValueError(msg)
    return low, high
