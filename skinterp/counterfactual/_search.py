"""The search for any model: from rows of the wanted class back towards the row.

The model is asked for classes only, for all rows at once. Nothing is proved of what is
found but that the model agrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skinterp.counterfactual._setting import ANY, Found, Labels, Setting
from skinterp.counterfactual._table import Floats

N_NEAREST = 10
# shares of a change that are tried, sweep by sweep
SWEEPS = (
    (0.0, 0.25, 0.5, 0.75),
    (0.0, 0.5, 0.8, 0.9),
    (0.0, 0.9, 0.96, 0.99),
    (0.0, 0.9, 0.96, 0.99),
)


@dataclass(frozen=True)
class BlackBoxSearch:
    """Start at training rows, go back to the boundary, take back single changes.

    Parameters
    ----------
    setting : Setting
        The fitted state.
    reference : ndarray of shape (n_reference, d)
        Training rows to start from.
    labels : ndarray of shape (n_reference,)
        Their predicted classes.
    n_starts : int
        How many starts are followed to the end.
    """

    setting: Setting
    reference: Floats
    labels: Labels
    n_starts: int

    def __call__(
        self,
        Z: Floats,
        U: Floats,
        present: Labels,
        target: Labels,
        lam: float,
        hints: Floats | None = None,
    ) -> Found:
        """Search for every row; hints are further rows to start from."""
        found = Found.nothing(Z)
        swarm = self.start(Z, U, present, target, lam, hints)
        swarm.descend()
        swarm.gather(found)
        return found

    def start(
        self,
        Z: Floats,
        U: Floats,
        present: Labels,
        target: Labels,
        lam: float,
        hints: Floats | None,
    ) -> Swarm:
        """Find points of the wanted class near the boundary, the best few per row."""
        owner, rows = self._nearest(Z, U, present, target, lam)
        if hints is not None:
            owner = np.r_[owner, np.tile(np.arange(len(Z)), len(hints))]
            rows = np.vstack([rows, hints.reshape(-1, Z.shape[1])])
        swarm = Swarm(self.setting, Z, U, present, target, lam, owner, rows)
        swarm.keep(swarm.reached(swarm.owner, swarm.rows))
        swarm.back_to_boundary()
        swarm.keep_best(self.n_starts)
        return swarm

    def _nearest(
        self, Z: Floats, U: Floats, present: Labels, target: Labels, lam: float
    ) -> tuple[NDArray[np.intp], Floats]:
        """Nearest training rows of the wanted class, with what is held put in."""
        n, m = len(Z), len(self.reference)
        owner = np.repeat(np.arange(n), m)
        rows = self._blend(Z[owner], np.tile(self.reference, (n, 1)))
        labels = np.tile(self.labels, n)
        right = labels == target[owner]
        right = np.where(target[owner] == ANY, labels != present[owner], right)
        cost = self.setting.objective(Z[owner], U[owner], rows, lam)
        cost = np.where(right, cost, np.inf).reshape(n, m)
        order = np.argsort(cost, axis=1, kind="stable")
        chosen = order[:, :N_NEAREST].ravel()
        near = np.repeat(np.arange(n), min(N_NEAREST, m))
        at = (near * m + chosen)[np.isfinite(cost[near, chosen])]
        good = self._any_reached(U, owner[at], rows[at], present, target)
        # the held columns can undo the class of a training row: then try them all
        lost = np.flatnonzero(~good)
        rest = np.flatnonzero(np.isin(owner, lost))
        at = np.r_[at[good[owner[at]]], rest]
        return owner[at], rows[at]

    def _any_reached(
        self,
        U: Floats,
        owner: NDArray[np.intp],
        rows: Floats,
        present: Labels,
        target: Labels,
    ) -> NDArray[np.bool_]:
        good = np.zeros(len(U), bool)
        reached = self.setting.reached(rows, target[owner], present[owner])
        reached &= self.setting.likely(U[owner], rows)
        good[owner[reached]] = True
        return good

    def _blend(self, Z: Floats, rows: Floats) -> Floats:
        """Rows with the held columns of others, within bounds and allowed values."""
        setting, out = self.setting, Z.copy()
        out[:, setting.free] = setting.within(rows)[:, setting.free]
        for j, values in setting.choices.items():
            allowed = np.isin(rows[:, j], values)
            out[:, j] = np.where(allowed, rows[:, j], Z[:, j])
        return out


class Swarm:
    """Points on the right side of the boundary, several per row.

    Parameters
    ----------
    setting : Setting
        The fitted state.
    Z, U : ndarray of shape (n, d)
        The rows and their noise.
    present, target : ndarray of shape (n,)
        Their classes, and those wanted.
    lam : float
        Weight of the distance of the noise.
    owner : ndarray of shape (n_points,)
        Row of each point.
    rows : ndarray of shape (n_points, d)
        The points.
    """

    def __init__(
        self,
        setting: Setting,
        Z: Floats,
        U: Floats,
        present: Labels,
        target: Labels,
        lam: float,
        owner: NDArray[np.intp],
        rows: Floats,
    ) -> None:
        self.setting, self.Z, self.U, self.lam = setting, Z, U, lam
        self.present, self.target = present, target
        self.owner, self.rows = owner, rows
        self.n_iter = np.zeros(len(Z), dtype=np.int64)

    def reached(self, owner: NDArray[np.intp], rows: Floats) -> NDArray[np.bool_]:
        """Ask the model about points of given rows, those of likely noise."""
        good = self.setting.likely(self.U[owner], rows)
        at = owner[good]
        good[good] = self.setting.reached(rows[good], self.target[at], self.present[at])
        return good

    def cost(self, owner: NDArray[np.intp], rows: Floats) -> Floats:
        """Objective of points of given rows."""
        return self.setting.objective(self.Z[owner], self.U[owner], rows, self.lam)

    def keep(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> None:
        """Keep some of the points."""
        self.owner, self.rows = self.owner[chosen], self.rows[chosen]

    def keep_best(self, k: int) -> None:
        """Keep the k best points of each row, equal ones once."""
        if not len(self.owner):
            return
        cost = self.cost(self.owner, self.rows)
        order = np.lexsort((cost, self.owner))
        owner, cost = self.owner[order], cost[order]
        same = np.r_[False, (np.diff(owner) == 0) & (np.diff(cost) == 0)]
        order, owner = order[~same], owner[~same]
        first = np.searchsorted(owner, owner)
        self.keep(order[np.arange(len(owner)) - first < k])

    def back_to_boundary(self, n_passes: int = 3, n_points: int = 7) -> None:
        """Go towards the row until the class is about to be lost."""
        start = self.Z[self.owner]
        far = self.rows - start
        codes = list(self.setting.choices)
        low, width = np.zeros(len(far)), np.ones(len(far))
        grid = np.arange(1, n_points + 1) / (n_points + 1)
        for _ in range(n_passes):
            share = low[:, None] + width[:, None] * grid
            points = start[:, None] + share[:, :, None] * far[:, None]
            points[..., codes] = self.rows[:, None, codes]
            flat = self.setting.within(points.reshape(-1, points.shape[-1]))
            good = self.reached(np.repeat(self.owner, n_points), flat)
            good = np.c_[good.reshape(-1, n_points), np.ones(len(far), bool)]
            first = good.argmax(axis=1)
            width = width / (n_points + 1)
            low = low + first * width
        at = low + width
        moved = start + at[:, None] * far
        moved[:, codes] = self.rows[:, codes]
        # a row outside of the bounds must not be gone back to
        moved = self.setting.within(moved)
        exact = np.where((at >= 1.0)[:, None], self.rows, moved)
        good = self.reached(self.owner, exact)
        self.rows = np.where(good[:, None], exact, self.rows)

    def count(self, points: NDArray[np.intp]) -> None:
        """Count a round for the rows of some points."""
        self.n_iter[np.unique(self.owner[points])] += 1

    def descend(self) -> None:
        """Take back changes, column by column, as long as a sweep helps."""
        going = np.arange(len(self.owner))
        for grid in SWEEPS:
            cost = self.cost(self.owner[going], self.rows[going])
            size = np.abs(self._steps(going))
            order = np.argsort(-size, axis=1, kind="stable")
            for place in range(int((size > 0).sum(axis=1).max(initial=0))):
                columns = order[:, place]
                at = self.rows[going, columns] != self.Z[self.owner[going], columns]
                if at.any():
                    self.count(going[at])
                    self._take_back(going[at], columns[at], grid)
            better = self.cost(self.owner[going], self.rows[going]) < cost
            # a first sweep without success says nothing of smaller steps
            going = going[better] if grid is not SWEEPS[0] else going

    def _steps(self, points: NDArray[np.intp]) -> Floats:
        return self.setting.steps(self.Z[self.owner[points]], self.rows[points])

    def _take_back(
        self,
        points: NDArray[np.intp],
        columns: NDArray[np.intp],
        grid: tuple[float, ...],
    ) -> None:
        """Keep a share of one change per point: the one that costs least."""
        before = self.cost(self.owner[points], self.rows[points])
        parent, moved = self._moves(points, columns, grid)
        cost = self.cost(self.owner[points[parent]], moved)
        hopeful = cost < before[parent] * (1 - 1e-9) - 1e-12
        parent, moved, cost = parent[hopeful], moved[hopeful], cost[hopeful]
        good = self.reached(self.owner[points[parent]], moved)
        parent, moved, cost = parent[good], moved[good], cost[good]
        order = np.lexsort((cost, parent))
        parent, moved = parent[order], moved[order]
        first = np.r_[True, np.diff(parent) > 0][: len(parent)]
        self.rows[points[parent[first]]] = moved[first]

    def _moves(
        self,
        points: NDArray[np.intp],
        columns: NDArray[np.intp],
        grid: tuple[float, ...],
    ) -> tuple[NDArray[np.intp], Floats]:
        """Points with part of a change taken back, of a column or of its noise."""
        setting, owner = self.setting, self.owner[points]
        every = np.arange(len(points))
        here, start = self.rows[points, columns], self.Z[owner, columns]
        listed = np.isin(columns, list(setting.choices))
        cause = np.isin(columns, [j for c in setting.causal.parents for j in c])
        cause &= ~listed
        noise = setting.causal.abduct(self.rows[points]) if cause.any() else None
        parents, moved = [], []
        for share in grid:
            chosen = every if share == 0 else every[~listed]
            rows = self.rows[points[chosen]].copy()
            at = np.arange(len(chosen)), columns[chosen]
            rows[at] = start[chosen] + share * (here[chosen] - start[chosen])
            parents.append(chosen)
            moved.append(setting.within(rows))
            if noise is not None:
                chosen = every[cause]
                spread = noise[chosen]
                at = np.arange(len(chosen)), columns[chosen]
                first = self.U[owner[chosen], columns[chosen]]
                spread[at] = first + share * (spread[at] - first)
                parents.append(chosen)
                moved.append(self._regenerate(spread, self.rows[points[chosen]]))
        return np.concatenate(parents), np.vstack(moved)

    def _regenerate(self, noise: Floats, rows: Floats) -> Floats:
        """Let the consequences follow, except in what is held or listed."""
        setting = self.setting
        kept = set(range(rows.shape[1])) - set(setting.free.tolist())
        return setting.within(
            setting.causal.generate(noise, {j: rows[:, j] for j in kept})
        )

    def gather(self, found: Found) -> None:
        """Write the best point of each row."""
        self.keep_best(1)
        found.rows[self.owner] = self.rows
        found.status[self.owner] = "found"
        found.n_iter[:] = self.n_iter
