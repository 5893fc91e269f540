"""Parameters of InstaSHAP; its players, their terms, and how these are shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import HasMethods, Integral, Interval, Real, StrOptions

Float = NDArray[np.float64]
Sets = list[tuple[int, ...]]

MOST_TERMS = 5000

_COUNT = Interval(Integral, 1, None, closed="left")
_SHARE = Interval(Real, 0, 1, closed="both")
CONSTRAINTS: dict[str, list[Any]] = {
    "order": [_COUNT],
    "interactions": [StrOptions({"auto", "all"}), list, tuple],
    "max_interactions": [Interval(Integral, 0, None, closed="left")],
    "feature_groups": [list, tuple, Mapping, None],
    "hidden_layer_sizes": [list, tuple],
    "mask_distribution": [StrOptions({"uniform_size", "shapley"})],
    "end_weight": [Interval(Real, 0, None, closed="neither")],
    "masks_per_row": [StrOptions({"auto"}), _COUNT],
    "unmask_schedule": [tuple, list],
    "max_unmasked": [_SHARE],
    "l1": [Interval(Real, 0, None, closed="left")],
    "teacher": [HasMethods(["predict"]), None],
    "background": [StrOptions({"conditional", "marginal"})],
}


def weighted_moments(values: Any, weight: Any) -> tuple[Float, Float]:
    """Mean and standard deviation per column over the cells that are there.

    The deviation is 1 where cells are constant, or none is there.
    """
    there = ~np.isnan(values)
    w = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    mass = np.where(there, w.reshape(-1, *[1] * (values.ndim - 1)), 0.0)
    total = mass.sum(axis=0)
    mass /= np.where(total > 0, total, 1.0)
    # squares of huge cells would overflow
    size = np.max(np.abs(values), axis=0, where=there, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    unit = np.where(there, values, 0.0) / size
    mean = (mass * unit).sum(axis=0)
    scale = np.sqrt((mass * (unit - mean) ** 2).sum(axis=0))
    return mean * size, np.where(scale > 1e-12, scale * size, 1.0)


def check_hidden(sizes: Any) -> tuple[int, ...]:
    """Units of the hidden layers."""
    whole = all(
        isinstance(s, int | np.integer) and not isinstance(s, bool) and s >= 1
        for s in sizes
    )
    if not sizes or not whole:
        msg = (
            f"hidden_layer_sizes={sizes!r} must hold integers of at least 1, such as "
            "(32, 16)"
        )
        raise ValueError(msg)
    return tuple(int(s) for s in sizes)


def check_schedule(schedule: Any) -> tuple[float, float]:
    """Shares of the epochs where unmasked rows begin to come, and stop to grow."""
    numbers = all(isinstance(s, Real) for s in schedule)
    if len(schedule) != 2 or not numbers or not 0 <= schedule[0] <= schedule[1] <= 1:
        msg = (
            f"unmask_schedule={schedule!r} must be two rising shares of the epochs, "
            "such as (1/3, 2/3)"
        )
        raise ValueError(msg)
    return float(schedule[0]), float(schedule[1])


def make_players(groups: Any, names: Sequence[str]) -> tuple[Sets, tuple[str, ...]]:
    """Columns and names of the players: groups, and columns that are in none."""
    if groups is None:
        return [(j,) for j in range(len(names))], tuple(names)
    named = isinstance(groups, Mapping)
    label: dict[tuple[int, ...], str] = {}
    owner: dict[int, Any] = {}
    for key, columns in groups.items() if named else enumerate(groups):
        found = _columns_of_group(columns, key, names)
        for j in found:
            if j in owner:
                msg = (
                    f"feature_groups has column {names[j]!r} in both {owner[j]!r} and "
                    f"{key!r}; a column belongs to one group."
                )
                raise ValueError(msg)
            owner[j] = key
        label[found] = str(key) if named else " + ".join(names[j] for j in found)
    for j in range(len(names)):
        if j not in owner:
            label[(j,)] = names[j]
    players = sorted(label)
    if len(players) == 1 and len(names) > 1:
        msg = (
            "feature_groups puts all columns in one group, so that there is nothing "
            "to tell apart; at least two players are needed."
        )
        raise ValueError(msg)
    labels = tuple(label[p] for p in players)
    if len(set(labels)) < len(labels):
        msg = f"feature_groups names players alike: {labels}"
        raise ValueError(msg)
    return players, labels


def _columns_of_group(columns: Any, key: Any, names: Sequence[str]) -> tuple[int, ...]:
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        msg = (
            f"feature_groups[{key!r}]={columns!r} must be a list of columns, by name "
            "or position."
        )
        raise ValueError(msg)
    where = f"feature_groups[{key!r}]"
    return tuple(sorted({_position(c, names, where, "column") for c in columns}))


def _position(item: Any, names: Sequence[str], where: str, what: str) -> int:
    """Position of what is given by name or position."""
    if isinstance(item, str):
        if item in names:
            return names.index(item)
    elif (
        isinstance(item, int | np.integer)
        and not isinstance(item, bool)
        and 0 <= item < len(names)
    ):
        return int(item)
    shown = list(names[:8]) + (["..."] if len(names) > 8 else [])
    msg = (
        f"{where} names the {what} {item!r}, which there is not; allowed are positions "
        f"below {len(names)} and the names {shown}."
    )
    raise ValueError(msg)


def make_terms(order: int, interactions: Any, labels: Sequence[str]) -> Sets | None:
    """Terms as sets of players, or None where they are to be chosen from the data."""
    n = len(labels)
    if order > max(n, 2):
        msg = (
            f"order={order} is more than the {n} players (columns or groups of "
            "columns) that there are."
        )
        raise ValueError(msg)
    singles: Sets = [(i,) for i in range(n)]
    if not isinstance(interactions, str):
        return singles + _listed(interactions, labels)
    if interactions == "auto" and order > 1:
        return None
    sizes = range(2, min(order, n) + 1)
    if sum(comb(n, k) for k in sizes) > MOST_TERMS:
        msg = (
            f"interactions='all' makes more than {MOST_TERMS} terms of {n} players; "
            "take 'auto' or a list."
        )
        raise ValueError(msg)
    return singles + [t for k in sizes for t in combinations(range(n), k)]


def _listed(interactions: Any, labels: Sequence[str]) -> Sets:
    found: Sets = []
    for item in interactions:
        if isinstance(item, str) or not isinstance(item, Sequence) or len(item) < 1:
            msg = (
                f"interactions holds {item!r}, which is no tuple of players; an "
                "example is [(0, 1), (0, 2)]."
            )
            raise ValueError(msg)
        at = [_position(p, labels, f"interactions {item!r}", "player") for p in item]
        if len(set(at)) < len(at):
            msg = f"interactions holds {item!r}, which names a player twice."
            raise ValueError(msg)
        if len(at) > 1:  # terms of one player are there anyway
            found.append(tuple(sorted(at)))
    return sorted(set(found), key=lambda t: (len(t), t))


def shapley_shares(terms: Sequence[tuple[int, ...]], n_players: int) -> Any:
    """Share of each term that goes to each player: an equal one to its members."""
    shares = np.zeros((len(terms), n_players))
    for t, term in enumerate(terms):
        shares[t, list(term)] = 1 / len(term)
    return shares


def taylor_shares(
    terms: Sequence[tuple[int, ...]], order: int
) -> tuple[Sets, NDArray[np.float64]]:
    """Sets of at most ``order`` players, and the share of each term that goes to them.

    Terms up to the order stay; larger ones are split equally among their subsets of
    ``order`` players, which gives the Shapley-Taylor index.
    """
    sets: dict[tuple[int, ...], int] = {}
    entries = []
    for t, term in enumerate(terms):
        parts = [term] if len(term) <= order else list(combinations(term, order))
        for part in parts:
            entries.append((t, sets.setdefault(part, len(sets)), 1 / len(parts)))
    shares = np.zeros((len(terms), len(sets)))
    for t, s, share in entries:
        shares[t, s] = share
    return list(sets), shares
