"""Honest ways to split patterns: by conditions, by crystal, by structure type."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

__all__ = ["in_library_split", "leave_one_prototype_out", "out_of_library_split"]

Rows = NDArray[np.intp]


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
) -> list[tuple[Any, Rows, Rows]]:
    """Leave out all crystals of one structure type, of each in turn.

    Parameters
    ----------
    prototypes : array-like of shape (n_patterns,)
        The prototype of each pattern; at least two different ones.

    Returns
    -------
    list of (object, ndarray of int, ndarray of int)
        The one that is left out, and the positions of the patterns to train and to test
        on, ascending.

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
    left = [(name, kind == name) for name in names]
    return [(name, np.flatnonzero(~out), np.flatnonzero(out)) for name, out in left]


# -- checking -----------------------------------------------------------------------
def _share(test_size: Any) -> float:
    if not isinstance(test_size, Real) or not 0 < float(test_size) < 1:
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
