"""Labelled crystals and patterns to learn from, and honest ways to split them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from skinterp_xrd._elements import atomic_number
from skinterp_xrd._prototypes import ANIONS, CATIONS, PROTOTYPES, Prototype
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

Rows = NDArray[np.intp]


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
    simulator.fit(structures)
    patterns, conditions, groups = simulator.simulate(structures, each)
    labels = crystals.iloc[np.asarray(groups)].reset_index(drop=True)
    return XRDBenchmark(
        patterns, labels, conditions, np.array(simulator.grid_), structures
    )


def in_library_split(
    groups: ArrayLike, test_size: float = 0.2, random_state: Any = None
) -> tuple[Rows, Rows]:
    """Split so that both parts hold all crystals, under different conditions.

    This flatters: a model may know the crystals by heart.

    Parameters
    ----------
    groups : array-like of shape (n_patterns,)
        The crystal of each pattern.
    test_size : float, default=0.2
        Share of each crystal's patterns that is kept to test on, at least one.
    random_state : int, RandomState instance or None, default=None
        Seeds what is drawn.

    Returns
    -------
    train : ndarray of int
        Positions of the patterns to train on, ascending.
    test : ndarray of int
        Positions of the others, ascending.

    Raises
    ------
    ValueError
        If ``test_size`` is not between 0 and 1, or a crystal has a single pattern.

    Examples
    --------
    >>> from skinterp_xrd.datasets import in_library_split
    >>> train, test = in_library_split([0, 0, 0, 1, 1, 1], 0.3, random_state=0)
    >>> len(train), len(test)
    (4, 2)
    """
    crystal = _labels("groups", groups)
    share, random = _share(test_size), check_random_state(random_state)
    held = []
    for one in np.unique(crystal).tolist():
        rows = np.flatnonzero(crystal == one)
        if len(rows) < 2:
            msg = (
                f"crystal {one!r} has one pattern; an in-library split needs at least "
                "two of each crystal."
            )
            raise ValueError(msg)
        held.append(random.permutation(rows)[: _part(share, len(rows))])
    return _complement(np.concatenate(held), len(crystal))


def out_of_library_split(
    groups: ArrayLike,
    prototypes: ArrayLike | None = None,
    test_size: float = 0.2,
    random_state: Any = None,
) -> tuple[Rows, Rows]:
    """Split so that no crystal is in both parts.

    Parameters
    ----------
    groups : array-like of shape (n_patterns,)
        The crystal of each pattern.
    prototypes : array-like of shape (n_patterns,), default=None
        The prototype (or another class) of each pattern, within which crystals are
        drawn, so that each is in both parts. None draws from all.
    test_size : float, default=0.2
        Share of the crystals that is kept to test on, at least one of each prototype.
    random_state : int, RandomState instance or None, default=None
        Seeds what is drawn.

    Returns
    -------
    train : ndarray of int
        Positions of the patterns to train on, ascending.
    test : ndarray of int
        Positions of the others, ascending.

    Raises
    ------
    ValueError
        If ``test_size`` is not between 0 and 1, the lengths differ, or a prototype
        has a single crystal.

    Examples
    --------
    >>> from skinterp_xrd.datasets import out_of_library_split
    >>> crystals = [0, 0, 1, 1, 2, 2]
    >>> train, test = out_of_library_split(crystals, test_size=0.3, random_state=0)
    >>> len(train), len(test)
    (4, 2)
    """
    crystal = _labels("groups", groups)
    kind = np.zeros(len(crystal)) if prototypes is None else prototypes
    kind = _labels("prototypes", kind)
    if len(kind) != len(crystal):
        msg = f"prototypes has {len(kind)} entries for {len(crystal)} groups."
        raise ValueError(msg)
    share, random = _share(test_size), check_random_state(random_state)
    held = []
    for one in np.unique(kind).tolist():
        members = np.unique(crystal[kind == one])
        if len(members) < 2:
            msg = (
                f"prototype {one!r} has one crystal; a split by crystals needs at "
                "least two."
            )
            raise ValueError(msg)
        held.append(random.permutation(members)[: _part(share, len(members))])
    out = np.isin(crystal, np.concatenate(held))
    return _complement(np.flatnonzero(out), len(crystal))


def leave_one_prototype_out(
    prototypes: ArrayLike,
) -> Iterator[tuple[Any, Rows, Rows]]:
    """Leave out all crystals of one structure type, of each in turn.

    Parameters
    ----------
    prototypes : array-like of shape (n_patterns,)
        The prototype of each pattern; at least two different ones.

    Yields
    ------
    prototype : object
        The one that is left out.
    train, test : ndarray of int
        Positions of the patterns, ascending.

    Raises
    ------
    ValueError
        If there is one prototype only.

    Examples
    --------
    >>> from skinterp_xrd.datasets import leave_one_prototype_out
    >>> for name, train, test in leave_one_prototype_out(["fcc", "hcp", "fcc"]):
    ...     print(name, train, test)
    fcc [1] [0 2]
    hcp [0 2] [1]
    """
    kind = _labels("prototypes", prototypes)
    names = list(dict.fromkeys(kind.tolist()))
    if len(names) < 2:
        msg = f"prototypes holds {names} only; to leave one out, two are needed."
        raise ValueError(msg)
    for name in names:
        out = kind == name
        yield name, np.flatnonzero(~out), np.flatnonzero(out)


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
    for name in wanted:
        if name not in PROTOTYPES:
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


def _share(test_size: Any) -> float:
    if not isinstance(test_size, Real) or not 0 < test_size < 1:
        msg = f"test_size must be a share between 0 and 1, got {test_size!r}."
        raise ValueError(msg)
    return float(test_size)


def _part(share: float, n: int) -> int:
    """Give how many of n are kept to test on: one at least, not all."""
    return min(max(1, round(share * n)), n - 1)


def _labels(name: str, values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        msg = f"{name} must be one label per pattern, got shape {array.shape}."
        raise ValueError(msg)
    return array


def _complement(test: Rows, n: int) -> tuple[Rows, Rows]:
    test = np.sort(test)
    return np.setdiff1d(np.arange(n), test), test
