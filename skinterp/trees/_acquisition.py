"""Which cell to buy next, so that a decision is reached at least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp.trees import _boolean_tree_kernels as kernels
from skinterp.trees._boolean_tree_kernels import MISSING, UNKNOWN
from skinterp.trees._tables import TreeTables, cell_codes

# The exact solution visits every set of unknown features, for each training row. It is
# taken up to this many features, and beyond as long as sets times rows stay few.
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
    costs : ndarray of shape (n_used,)
        Cost of each used feature.
    """

    nodes: NDArray[np.int32]
    codes: NDArray[np.int32]
    weight: NDArray[np.float64]
    costs: NDArray[np.float64]


class Choice(NamedTuple):
    """Expected cost from a state on, and the feature to buy; -1: none is needed."""

    cost: float
    feature: int


class AcquisitionMixin:
    """Which feature to measure next, for a model with `_tables` and `_validate_X`."""

    if TYPE_CHECKING:
        training_cells_: NDArray[np.int32]
        training_weight_: NDArray[np.float64]
        feature_costs_: NDArray[np.float64]

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
            Column to measure, -1 where the class is determined.

        Notes
        -----
        Measuring a feature reveals its value, hence the outcome of all tests on it.
        Only features that the tree uses are considered. Probabilities are the
        frequencies among those training rows that agree with what is known. With at
        most 10 unknown features (12 if the tree tells few training rows apart), the
        choice is optimal: dynamic programming over the sets of measured features,
        O(2^k x n_distinct) states. With more it is the best first step if the order
        of the tree is followed after it, which on the training rows never costs
        more than the tree's order. Where no training row agrees, the next test of
        the tree is taken.
        """
        tables = self._tables()
        one = np.ndim(x) == 1
        rows = self._validate_X(_as_table(x) if one else x)
        problem = self._problem(tables)
        states, group = np.unique(cell_codes(tables, rows), axis=0, return_inverse=True)
        chosen = [best_choice(problem, state).feature for state in states]
        column = np.append(tables.used, -1)[np.array(chosen, np.int64)]
        column = column[group.ravel()]
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
        return Problem(
            tables.nodes,
            self.training_cells_,
            self.training_weight_,
            self.feature_costs_[tables.used],
        )


def _as_table(row: Any) -> Any:
    """Make a table of one row; a pandas row keeps its names."""
    return row.to_frame().T if hasattr(row, "to_frame") else np.reshape(row, (1, -1))


def best_choice(problem: Problem, state: NDArray[np.int32]) -> Choice:
    """Choose the next feature in a state (a row of codes).

    Probabilities are those of the training rows that agree with what is known. With
    few unknown features (see `is_small`) the choice is optimal. Beyond, it is one step
    of policy improvement over the order of the tree: the feature with the least
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
    if is_small(int((~known).sum()), len(here.codes)):
        return _exact_choice(here, known)
    mean = kernels.lookahead_costs(
        here.codes, here.weight, known, here.costs, here.nodes
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
        if choice < 0 or is_small(int((state == UNKNOWN).sum()), len(rows)):
            total += cost * here.weight.sum()
            continue
        total += problem.costs[choice] * here.weight.sum()
        cells, group = np.unique(here.codes[:, choice], return_inverse=True)
        for number, cell in enumerate(cells):
            after = state.copy()
            after[choice] = cell
            pending.append((after, rows[group == number]))
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
        kernels.tree_order_cost(row, nothing, problem.costs, problem.nodes, stack)
        for row in problem.codes
    ]
    return float(np.average(costs, weights=problem.weight))


def _tree_choice(problem: Problem, state: NDArray[np.int32]) -> int:
    """First unknown feature on the path of a state."""
    node = 0
    while True:
        line = problem.nodes[node]
        cell = state[line[kernels.FEATURE]]
        if cell == UNKNOWN:
            return int(line[kernels.FEATURE])
        node = kernels.known_child(node, cell, problem.nodes)


def _exact_choice(problem: Problem, known: NDArray[np.bool_]) -> Choice:
    """Dynamic programming over the sets of features bought.

    V(S, row) is the expected cost to go after the set S was bought and the cells of
    the row were seen: 0 where they determine the answer, else the minimum over j of
    cost(j) + mean of V(S + j, .) over the rows that look alike on S. Rows that look
    alike share one value, so that V is kept per row.
    """
    free = np.flatnonzero(~known)
    full = (1 << len(free)) - 1
    decided = _decided_sets(problem, free, known)
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


def _decided_sets(
    problem: Problem, free: NDArray[np.intp], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether a row is determined once a set of features was bought, per set."""
    decided = np.zeros((1 << len(free), len(problem.codes)), bool)
    for bought in range(len(decided)):
        for bit in range(len(free)):
            if bought >> bit & 1:  # knowing more keeps a row determined
                decided[bought] |= decided[bought ^ (1 << bit)]
        open_rows = np.flatnonzero(~decided[bought])
        codes = problem.codes[open_rows]
        codes[:, free[[not bought >> bit & 1 for bit in range(len(free))]]] = UNKNOWN
        decided[bought, open_rows] = kernels.decide_codes(codes, problem.nodes) >= 0
    return decided


def _values(
    problem: Problem,
    free: NDArray[np.intp],
    bought: int,
    decided: NDArray[np.bool_],
    later: dict[int, NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """V(bought, .) of each row, and the costs of the choices of the last group."""
    rows = np.flatnonzero(~decided)
    value = np.zeros(len(decided))
    if len(rows) == 0:  # every row is decided
        return value, np.full(len(free), np.inf)
    group = _alike(problem.codes[np.ix_(rows, free[_bits(bought, len(free))])])
    weight = problem.weight[rows]
    mass = np.bincount(group, weight)
    costs = np.full((len(free), len(mass)), np.inf)
    for bit, feature in enumerate(free):
        if not bought >> bit & 1:
            after = np.bincount(group, weight * later[bought | 1 << bit][rows])
            costs[bit] = problem.costs[feature] + after / mass
    value[rows] = costs.min(axis=0)[group]
    return value, costs[:, 0]


def _bits(number: int, length: int) -> list[int]:
    return [bit for bit in range(length) if number >> bit & 1]


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
