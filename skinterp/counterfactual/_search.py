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
MAX_AHEAD = 48  # columns that are tried in one call of the model, over all points
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
        swarm = Swarm(self.setting, Z, U, present, target, lam)
        self._put_nearest(swarm)
        if hints is not None:
            owner = np.tile(np.arange(len(Z)), len(hints))
            swarm.add(owner, hints.reshape(-1, Z.shape[1]))
        swarm.back_to_boundary()
        swarm.keep_best(self.n_starts)
        return swarm

    def _put_nearest(self, swarm: Swarm) -> None:
        """Put in the nearest training rows of the wanted class, where they are so.

        What is held stays, which can undo their class: where it does for all of the
        nearest rows, the rest are tried.
        """
        n, m = len(swarm.Z), len(self.reference)
        owner = np.repeat(np.arange(n), m)
        rows = self._blend(swarm.Z[owner], np.tile(self.reference, (n, 1)))
        labels = np.tile(self.labels, n)
        target, present = swarm.target[owner], swarm.present[owner]
        right = np.where(target == ANY, labels != present, labels == target)
        cost = np.where(right, swarm.cost(owner, rows), np.inf).reshape(n, m)
        order = np.argsort(cost, axis=1, kind="stable")
        chosen = order[:, :N_NEAREST].ravel()
        near = np.repeat(np.arange(n), min(N_NEAREST, m))
        at = (near * m + chosen)[np.isfinite(cost[near, chosen])]
        swarm.add(owner[at], rows[at])
        lost = np.setdiff1d(np.arange(n), swarm.owner)
        rest = np.flatnonzero(np.isin(owner, lost))
        swarm.add(owner[rest], rows[rest])

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

    Attributes
    ----------
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
    ) -> None:
        self.setting, self.Z, self.U, self.lam = setting, Z, U, lam
        self.present, self.target = present, target
        self.owner, self.rows = np.zeros(0, dtype=np.intp), Z[:0]
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

    def add(self, owner: NDArray[np.intp], rows: Floats) -> None:
        """Put in those of further points that the model agrees to."""
        good = self.reached(owner, rows)
        self.owner = np.r_[self.owner, owner[good]]
        self.rows = np.vstack([self.rows, rows[good]])

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
        every = np.arange(len(far))
        for _ in range(n_passes):
            share = low[:, None] + width[:, None] * grid
            points = start[:, None] + share[:, :, None] * far[:, None]
            points[..., codes] = self.rows[:, None, codes]
            # a row outside of the bounds must not be gone back to
            points = self.setting.within(points)
            flat = points.reshape(-1, points.shape[-1])
            good = self.reached(np.repeat(self.owner, n_points), flat)
            good = np.c_[good.reshape(-1, n_points), np.ones(len(far), bool)]
            first = good.argmax(axis=1)
            # the last one stands for the best point so far
            points = np.concatenate([points, self.rows[:, None]], axis=1)
            self.rows = points[every, first]
            width = width / (n_points + 1)
            low = low + first * width

    def count(self, points: NDArray[np.intp]) -> None:
        """Count a round for the rows of some points."""
        self.n_iter[np.unique(self.owner[points])] += 1

    def descend(self) -> None:
        """Take back changes, column by column, as long as a sweep helps."""
        going = np.arange(len(self.owner))
        for grid in SWEEPS:
            cost = self.cost(self.owner[going], self.rows[going])
            self._sweep(going, grid)
            better = self.cost(self.owner[going], self.rows[going]) < cost
            # a first sweep without success says nothing of smaller steps
            going = going[better] if grid is not SWEEPS[0] else going

    def _sweep(self, points: NDArray[np.intp], grid: tuple[float, ...]) -> None:
        """Try every column of every point once, the largest change first.

        Few points try several columns in one call of the model, and use the answers
        up to the first success: what is found is the same, in fewer calls.
        """
        size = np.abs(self._steps(points))
        order = np.argsort(-size, axis=1, kind="stable")
        end = (size > 0).sum(axis=1)
        place = np.zeros(len(points), dtype=np.intp)
        while (place < end).any():
            todo = np.flatnonzero(place < end)
            ahead = place[todo, None] + np.arange(max(1, MAX_AHEAD // len(todo)))
            which, at = np.nonzero(ahead < end[todo, None])
            ahead = ahead[which, at]
            chosen = todo[which]
            columns, tried = order[chosen, ahead], points[chosen]
            moves = self.rows[tried, columns] != self.Z[self.owner[tried], columns]
            self.count(tried[moves])
            success = np.full(len(points), -1)
            if moves.any():
                done = self._take_back(tried[moves], columns[moves], grid)
                success[chosen[moves][done]] = ahead[moves][done]
            last = np.zeros(len(points), dtype=np.intp)
            np.maximum.at(last, chosen, ahead)
            place[todo] = np.where(success >= 0, success, last)[todo] + 1

    def _steps(self, points: NDArray[np.intp]) -> Floats:
        return self.setting.steps(self.Z[self.owner[points]], self.rows[points])

    def _take_back(
        self,
        points: NDArray[np.intp],
        columns: NDArray[np.intp],
        grid: tuple[float, ...],
    ) -> NDArray[np.intp]:
        """Keep a share of one change per point: the one that costs least.

        A point may stand there several times; its first change that succeeds is kept.
        Which ones are is returned.
        """
        before = self.cost(self.owner[points], self.rows[points])
        parent, moved = self._moves(points, columns, grid)
        cost = self.cost(self.owner[points[parent]], moved)
        hopeful = cost < before[parent] * (1 - 1e-9) - 1e-12
        parent, moved, cost = parent[hopeful], moved[hopeful], cost[hopeful]
        good = self.reached(self.owner[points[parent]], moved)
        parent, moved, cost = parent[good], moved[good], cost[good]
        order = np.lexsort((cost, parent))
        parent, moved = parent[order], moved[order]
        _, first = np.unique(points[parent], return_index=True)
        self.rows[points[parent[first]]] = moved[first]
        return parent[first]

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
