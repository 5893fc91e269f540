"""Which cell to buy next, so that a decision is reached at least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp.trees import _boolean_tree_kernels as kernels
from skinterp.trees._boolean_tree_kernels import MISSING, UNKNOWN
from skinterp.trees._tables import TreeTables, cell_codes

# The exact solution visits every set of unknown groups of features, for each training
# row. It is taken up to this many groups, and beyond as long as sets times rows stay
# few.
MAX_EXACT = 10
MAX_STATES = 2**20


class Problem(NamedTuple):
    """What buying cells depends on.

    Attributes
    ----------
    nodes : ndarray
        The tree.
    codes : ndarray of shape (n_rows, n_used)
        Distinct training rows, as cells of the grid.
    weight : ndarray of shape (n_rows,)
        Their weights.
    costs : ndarray of shape (n_groups,)
        Cost of each group of features that are bought together.
    group : ndarray of shape (n_used,)
        Group of each used feature, numbered by first appearance. In a state, either
        all features of a group are known or none.
    """

    nodes: NDArray[np.int32]
    codes: NDArray[np.int32]
    weight: NDArray[np.float64]
    costs: NDArray[np.float64]
    group: NDArray[np.int64]


class Choice(NamedTuple):
    """Expected cost from a state on, and the group to buy; -1: none is needed."""

    cost: float
    group: int


class AcquisitionMixin:
    """Which feature to measure next, for a model with `_tables` and `_validate_X`."""

    if TYPE_CHECKING:
        training_cells_: NDArray[np.int32]
        training_weight_: NDArray[np.float64]
        feature_costs_: NDArray[np.float64]
        feature_groups_: NDArray[np.int64]

        def _validate_X(self, X: ArrayLike) -> NDArray[np.float32]: ...
        def _tables(self) -> TreeTables: ...

    def next_feature(self, x: ArrayLike) -> int | NDArray[np.int64]:
        """Tell which feature to measure next, so as to decide at least expected cost.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (n_samples, n_features)
            One row, or several; NaN marks what isn't measured yet.

        Returns
        -------
        int or ndarray of shape (n_samples,)
            Column to measure, -1 where the class is determined. Of a group of
            ``feature_groups`` the first column that the tree uses and that isn't
            known.

        Notes
        -----
        Measuring a feature reveals its value, hence the outcome of all tests on it,
        and the values of all columns in its group. Only features that the tree uses
        are considered. What is left of a group that is known in part costs nothing,
        and comes first. Probabilities are the frequencies among those training rows
        that agree with what is known. With at most 10 unknown features (12 if the
        tree tells few training rows apart; a group counts once), the choice is
        optimal: dynamic programming over the sets of measured features,
        O(2^k x n_distinct) states. With more it is the best first step if the order
        of the tree is followed after it, which on the training rows never costs more
        than the tree's order. Where no training row agrees, the next test of the tree
        is taken.
        """
        tables = self._tables()
        one = np.ndim(x) == 1
        rows = self._validate_X(_as_table(x) if one else x)
        codes = cell_codes(tables, rows)
        column = np.full(len(rows), -1, np.int64)
        undecided = kernels.decide_codes(codes, tables.nodes) < 0
        begun = self._begun(tables, rows) & (codes == UNKNOWN)
        free = undecided & begun.any(axis=1)
        rest = undecided & ~free
        if free.any():
            column[free] = tables.used[begun[free].argmax(axis=1)]
        if rest.any():
            column[rest] = self._best_columns(tables, codes[rest])
        return int(column[0]) if one else column

    def expected_cost(self, *, order: str = "best") -> float:
        """Mean cost of measuring features, from none, until the class is determined.

        Parameters
        ----------
        order : {"best", "tree"}, default="best"
            "best": as ``next_feature`` says. "tree": in the order of the tree's
            tests. Both stop as soon as the class is determined.

        Returns
        -------
        float
            Mean over the training rows.
        """
        problem = self._problem(self._tables())
        if order not in ("best", "tree"):
            raise ValueError(f"order must be 'best' or 'tree'; got {order!r}.")
        return tree_order_cost(problem) if order == "tree" else best_cost(problem)

    def _problem(self, tables: TreeTables) -> Problem:
        first, group = _first_of_each(self.feature_groups_[tables.used])
        return Problem(
            tables.nodes,
            self.training_cells_,
            self.training_weight_,
            self.feature_costs_[tables.used[first]],
            group,
        )

    def _begun(
        self, tables: TreeTables, rows: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """Per used column whether a column of its group is known, used or not."""
        known, own = ~np.isnan(rows), self.feature_groups_[tables.used]
        begun = np.empty((len(rows), len(own)), bool)
        for group in np.unique(own):
            together = known[:, self.feature_groups_ == group]
            begun[:, own == group] = together.any(axis=1, keepdims=True)
        return begun

    def _best_columns(
        self, tables: TreeTables, codes: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        problem = self._problem(tables)
        states, alike = np.unique(codes, axis=0, return_inverse=True)
        chosen = [best_choice(problem, state).group for state in states]
        first = tables.used[_first_of_each(problem.group)[0]]
        return first[chosen][alike.ravel()]


def _as_table(row: Any) -> Any:
    """Make a table of one row; a pandas row keeps its names."""
    return row.to_frame().T if hasattr(row, "to_frame") else np.reshape(row, (1, -1))


def _first_of_each(
    labels: NDArray[np.int64],
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """First positions of the distinct labels, rising, and the labels renumbered so."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.sort(first), first.argsort().argsort()[number].astype(np.int64)


def best_choice(problem: Problem, state: NDArray[np.int32]) -> Choice:
    """Choose the next group of features in a state (a row of codes).

    Probabilities are those of the training rows that agree with what is known. With
    few unknown groups (see `is_small`) the choice is optimal. Beyond, it is one step
    of policy improvement over the order of the tree: the group with the least
    expected cost if the tree's order is followed after it. Such a policy never costs
    more on the training rows than the tree's order does. Where no training row agrees
    with the state, the tree's order decides.
    """
    if kernels.decide_codes(state[None], problem.nodes)[0] >= 0:
        return Choice(0.0, -1)
    known = state != UNKNOWN
    agree = (problem.codes[:, known] == state[known]).all(axis=1)
    if not agree.any():  # there are no frequencies to go by
        return Choice(np.nan, _tree_choice(problem, state))
    here = problem._replace(codes=problem.codes[agree], weight=problem.weight[agree])
    unknown = np.unique(problem.group[~known])
    if is_small(len(unknown), len(here.codes)):
        return _exact_choice(here, unknown)
    mean = kernels.lookahead_costs(
        here.codes, here.weight, known, here.costs, here.group, here.nodes
    )
    return Choice(float(mean.min()), _first_minimum(mean))


def best_cost(problem: Problem) -> float:
    """Mean cost over the training rows when `best_choice` is followed from nothing."""
    n_used = problem.codes.shape[1]
    start = np.full(n_used, UNKNOWN, np.int32)
    total = 0.0
    pending = [(start, np.arange(len(problem.codes)))]
    while pending:
        state, rows = pending.pop()
        here = problem._replace(codes=problem.codes[rows], weight=problem.weight[rows])
        cost, choice = best_choice(here, state)
        n_unknown = len(np.unique(problem.group[state == UNKNOWN]))
        if choice < 0 or is_small(n_unknown, len(rows)):
            total += cost * here.weight.sum()
            continue
        total += problem.costs[choice] * here.weight.sum()
        bought = np.flatnonzero(problem.group == choice)
        cells, alike = np.unique(here.codes[:, bought], axis=0, return_inverse=True)
        for number, cell in enumerate(cells):
            after = state.copy()
            after[bought] = cell
            pending.append((after, rows[alike.ravel() == number]))
    return float(total / problem.weight.sum())


def is_small(n_unknown: int, n_rows: int) -> bool:
    """Whether the exact solution is taken; a second for some thousand rows."""
    # A set costs some time of its own, as much as a few hundred rows.
    return n_unknown <= MAX_EXACT or max(n_rows, 256) << n_unknown <= MAX_STATES


def tree_order_cost(problem: Problem) -> float:
    """Mean cost over the training rows when the tree's tests are bought in order."""
    nothing = np.zeros(problem.codes.shape[1], bool)
    stack = np.empty(len(problem.nodes) + 1, np.int32)
    costs = [
        kernels.tree_order_cost(
            row, nothing, problem.costs, problem.group, problem.nodes, stack
        )
        for row in problem.codes
    ]
    return float(np.average(costs, weights=problem.weight))


def _tree_choice(problem: Problem, state: NDArray[np.int32]) -> int:
    """Group of the first unknown feature on the path of a state."""
    node = 0
    while True:
        line = problem.nodes[node]
        cell = state[line[kernels.FEATURE]]
        if cell == UNKNOWN:
            return int(problem.group[line[kernels.FEATURE]])
        node = kernels.known_child(node, cell, problem.nodes)


def _exact_choice(problem: Problem, free: NDArray[np.int64]) -> Choice:
    """Dynamic programming over the sets of groups bought, of those still `free`.

    V(S, row) is the expected cost to go after the set S was bought and the cells of
    the row were seen: 0 where they determine the answer, else the minimum over j of
    cost(j) + mean of V(S + j, .) over the rows that look alike on S. Rows that look
    alike share one value, so that V is kept per row.
    """
    full = (1 << len(free)) - 1
    decided = _decided_sets(problem, free)
    later: dict[int, NDArray[np.float64]] = {full: np.zeros(len(problem.codes))}
    by_size = sorted(range(full), key=lambda s: -s.bit_count())
    size, now, costs = len(free), later, np.empty(0)
    for bought in by_size:
        if bought.bit_count() < size - 1:  # drop the level that no set needs any more
            size, later, now = size - 1, now, {}
        elif now is later:
            now = {}
        values, costs = _values(problem, free, bought, decided[bought], later)
        now[bought] = values
    choice = free[_first_minimum(costs)]
    return Choice(float(costs.min()), int(choice))


def _decided_sets(problem: Problem, free: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a row is determined once a set of groups was bought, per set."""
    full = (1 << len(free)) - 1
    decided = np.zeros((1 << len(free), len(problem.codes)), bool)
    for bought in range(len(decided)):
        for bit in range(len(free)):
            if bought >> bit & 1:  # knowing more keeps a row determined
                decided[bought] |= decided[bought ^ (1 << bit)]
        open_rows = np.flatnonzero(~decided[bought])
        codes = problem.codes[open_rows]
        codes[:, _members(problem, free, full ^ bought)] = UNKNOWN
        decided[bought, open_rows] = kernels.decide_codes(codes, problem.nodes) >= 0
    return decided


def _values(
    problem: Problem,
    free: NDArray[np.int64],
    bought: int,
    decided: NDArray[np.bool_],
    later: dict[int, NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """V(bought, .) of each row, and the costs of the choices of the last group."""
    rows = np.flatnonzero(~decided)
    value = np.zeros(len(decided))
    if len(rows) == 0:  # every row is decided
        return value, np.full(len(free), np.inf)
    alike = _alike(problem.codes[np.ix_(rows, _members(problem, free, bought))])
    weight = problem.weight[rows]
    mass = np.bincount(alike, weight)
    costs = np.full((len(free), len(mass)), np.inf)
    for bit, group in enumerate(free):
        if not bought >> bit & 1:
            after = np.bincount(alike, weight * later[bought | 1 << bit][rows])
            costs[bit] = problem.costs[group] + after / mass
    value[rows] = costs.min(axis=0)[alike]
    return value, costs[:, 0]


def _members(
    problem: Problem, free: NDArray[np.int64], chosen: int
) -> NDArray[np.intp]:
    """Features of those free groups whose bit is set in `chosen`."""
    groups = [group for bit, group in enumerate(free) if chosen >> bit & 1]
    return np.flatnonzero(np.isin(problem.group, groups))


def _alike(codes: NDArray[np.int32]) -> NDArray[np.intp]:
    """Number the distinct rows."""
    group, size = np.zeros(len(codes), np.int64), 1
    for column in codes.T:
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        if size * width > 2**62:  # small numbers again, before the product overflows
            group = np.unique(group, return_inverse=True)[1]
            size = int(group.max()) + 1
        group = group * width + (column - low)
        size *= width
    return np.unique(group, return_inverse=True)[1]


def _first_minimum(costs: NDArray[np.float64]) -> int:
    """Position of the least cost; the first one among those equal up to rounding."""
    least = costs.min()
    return int(np.argmax(costs <= least * (1 + 1e-9)))


def training_cells(
    codes: NDArray[np.int32], weight: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Distinct rows of codes with summed weights; missing cells are MISSING."""
    codes = np.where(codes == UNKNOWN, np.int32(MISSING), codes)
    group = _alike(codes)
    first = np.zeros(group.max(initial=-1) + 1, np.intp)
    first[group[::-1]] = np.arange(len(group))[::-1]
    total = np.bincount(group, weight, minlength=len(first)).astype(np.float64)
    return codes[first[total > 0]], total[total > 0]
