"""The search for linear scores and equations: exact, with a certificate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skinterp.counterfactual._convex import solve
from skinterp.counterfactual._setting import ANY, Found, Labels, Setting
from skinterp.counterfactual._steps import Steps
from skinterp.counterfactual._table import Floats

MAX_COMBINATIONS = 10_000
MAX_TABLE = 100_000  # rows with choices put in that are held at once
CHUNK = 256
MAX_PUSHES = 8


@dataclass(frozen=True)
class ExactSearch:
    """Least distance over the free columns, for each choice in the others.

    Parameters
    ----------
    setting : Setting
        The fitted state.
    coef : ndarray of shape (n_classes, n_free)
        Coefficients of the scores in the free columns.
    """

    setting: Setting
    coef: Floats

    def __call__(
        self,
        Z: Floats,
        U: Floats,
        present: Labels,
        target: Labels,
        lam: float,
        hints: Floats | None = None,
    ) -> Found:
        """Search for every row; hints are of no use here."""
        best = Found.nothing(Z)
        best.status[:] = "unreachable"
        best.gap[:] = 0.0
        value = np.full(len(Z), np.inf)
        for wanted in range(len(self.coef)):
            rows = np.flatnonzero(
                np.where(target == ANY, present != wanted, target == wanted)
            )
            if len(rows):
                goal = np.full(len(rows), wanted)
                self._improve(best, value, rows, Z, U, goal, lam)
        return best

    def _improve(
        self,
        best: Found,
        value: Floats,
        rows: NDArray[np.intp],
        Z: Floats,
        U: Floats,
        goal: Labels,
        lam: float,
    ) -> None:
        """Go through the choices, those that cost least on their own first."""
        for base, at in self._chosen(Z[rows], lam, value, rows):
            row = rows[at]
            found, distance = self._solve(Z[row], U[row], base, goal[at], lam)
            # rows stand in a chunk several times: the last one written is the best
            for i in np.argsort(-distance, kind="stable"):
                r = row[i]
                best.n_iter[r] += found.n_iter[i]
                if distance[i] < value[r]:
                    value[r] = distance[i]
                    one = found.rows[i], found.status[i], found.gap[i]
                    best.rows[r], best.status[r], best.gap[r] = one

    def _chosen(
        self, Z: Floats, lam: float, value: Floats, rows: NDArray[np.intp]
    ) -> Iterator[tuple[Floats, NDArray[np.intp]]]:
        """Rows with choices put in, and which rows they are, chunk by chunk."""
        yield Z, np.arange(len(Z))
        choices = combinations(self.setting.choices)
        if not len(choices):
            return
        size = max(1, MAX_TABLE // len(choices))
        for start in range(0, len(Z), size):
            owner = np.arange(start, min(start + size, len(Z)))
            yield from self._further(Z, choices, owner, lam, value, rows)

    def _further(
        self,
        Z: Floats,
        choices: Floats,
        some: NDArray[np.intp],
        lam: float,
        value: Floats,
        rows: NDArray[np.intp],
    ) -> Iterator[tuple[Floats, NDArray[np.intp]]]:
        """All choices for some of the rows, those that cost least first."""
        owner = np.repeat(some, len(choices))
        everything = Z[owner]
        everything[:, list(self.setting.choices)] = np.tile(choices, (len(some), 1))
        steps = self.setting.steps(Z[owner], everything)
        alone = self.setting.distances(steps, steps)[0] * (not np.isinf(lam))
        order = np.argsort(alone, kind="stable")
        order = order[steps[order].any(axis=1)]
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            # what a choice costs on its own bounds what it leads to
            part = part[alone[part] < value[rows[owner[part]]]]
            if len(part):
                yield everything[part], owner[part]

    def _solve(
        self, Z: Floats, U: Floats, base: Floats, goal: Labels, lam: float
    ) -> tuple[Found, Floats]:
        """Move the free columns from given base points, and ask the model."""
        setting, found = self.setting, Found.nothing(base)
        found.status[:] = "unreachable"
        present = np.full(len(Z), ANY)
        margin = np.full(len(Z), setting.margin)
        distance = np.full(len(Z), np.inf)
        least = np.full(len(Z), -np.inf)
        going = np.arange(len(Z))
        for push in range(MAX_PUSHES):
            problem = self._problem(
                Z[going], U[going], base[going], goal[going], margin[going], lam
            )
            solution = solve(problem)
            after = base[going].copy()
            unit = setting.scale[setting.free]
            after[:, setting.free] += unit * solution.step
            after = setting.within(after)
            reached = setting.reached(after, goal[going], present[going])
            done = solution.feasible & reached
            at = going[done]
            found.rows[at] = after[done]
            found.n_iter[going] += solution.n_iter
            found.status[at] = "found"
            distance[at] = setting.objective(Z[at], U[at], after[done], lam)
            if push == 0:  # bounds from below are those of the margin asked for
                least = problem.size * problem.objective(solution.step) - solution.gap
            gap = np.maximum(distance[at] - least[at], 0.0)
            found.gap[at] = solution.gap[done] if push == 0 else gap
            # rounding inside of the model can take the last digit of the margin
            going = going[solution.feasible & ~reached]
            if not len(going):
                break
            margin[going] = 10.0 * np.maximum(margin[going], 1e-12)
        found.status[going] = "not found"
        found.gap[going] = np.inf
        return found, distance

    def _problem(
        self,
        Z: Floats,
        U: Floats,
        base: Floats,
        goal: Labels,
        margin: Floats,
        lam: float,
    ) -> Steps:
        setting = self.setting
        free, movable = setting.free, setting.movable
        unit = setting.scale[free]
        rivals = np.array(
            [[c for c in range(len(self.coef)) if c != g] for g in goal]
        ).reshape(len(goal), -1)
        scores = setting.scores(base)  # type: ignore[misc]
        rows = np.arange(len(Z))[:, None]
        lead = scores[rows, goal[:, None]] - scores[rows, rivals]
        normal = (self.coef[goal][:, None] - self.coef[rivals]) * unit
        own = setting.steps(U, setting.causal.abduct(base))
        spent = setting.steps(Z, base)
        problem = Steps(
            matrix=noise_matrix(setting),
            offset=own[:, movable],
            spent=spent[:, list(setting.choices)],
            normal=normal,
            need=margin[:, None] - lead,
            low=(setting.low[free] - base[:, free]) / unit,
            high=(setting.high[free] - base[:, free]) / unit,
            lam=lam,
            norm=setting.norm,
        )
        return within_noise(problem, setting, U)


def noise_matrix(setting: Setting) -> Floats:
    """What steps of the free columns do to the noise of those that may move."""
    d = len(setting.scale)
    unit = np.where(setting.scale > 0, setting.scale, 1.0)
    slopes = np.zeros((d, d)) if setting.slopes is None else setting.slopes
    whole = np.eye(d) - slopes * unit[None, :] / unit[:, None]
    matrix: Floats = whole[np.ix_(setting.movable, setting.free)]
    return matrix


def combinations(choices: Mapping[int, Floats]) -> Floats:
    """List every choice of values, one combination a row."""
    if not choices:
        return np.zeros((0, 0))
    count = np.prod([float(len(values)) for values in choices.values()])
    if count > MAX_COMBINATIONS:
        msg = (
            f"categories allows {count:.0f} combinations of values; at most "
            f"{MAX_COMBINATIONS} are tried. Allow fewer values or fewer columns."
        )
        raise ValueError(msg)
    return np.array(list(itertools.product(*choices.values())))


def within_noise(problem: Steps, setting: Setting, U: Floats) -> Steps:
    """Add the limits of the noise of the free columns, for rows with noise ``U``."""
    limits = setting.noise_limits(U)
    if limits is None:
        return problem
    free, n = setting.free, len(problem)
    at = np.searchsorted(setting.movable, free)
    matrix, offset = problem.matrix[at], problem.offset[:, at]
    low, high = ((limit - U)[:, free] / setting.scale[free] for limit in limits)
    both = np.broadcast_to(np.vstack([matrix, -matrix]), (n, 2 * len(at), len(at)))
    return replace(
        problem,
        normal=np.concatenate([problem.normal, both], axis=1),
        need=np.hstack([problem.need, low - offset, offset - high]),
    )
