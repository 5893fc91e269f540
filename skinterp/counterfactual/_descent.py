"""The search for smooth scores: a sequence of convex problems."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skinterp.counterfactual._convex import solve
from skinterp.counterfactual._exact import noise_matrix, within_noise
from skinterp.counterfactual._search import BlackBoxSearch, Swarm
from skinterp.counterfactual._setting import ANY, Found, Labels, Setting
from skinterp.counterfactual._steps import Steps
from skinterp.counterfactual._table import Floats

MAX_STEPS = 30
DIFFERENCE = 1e-4  # of a column's unit, for derivatives
LAST_RADIUS = 1e-4
ROUGH = 1e-5  # gap of the convex problems, which are approximations anyway


def leads(setting: Setting, rows: Floats, target: Labels, present: Labels) -> Floats:
    """By how much the wanted class leads the best of the others."""
    scores = setting.scores(rows)  # type: ignore[misc]
    at = np.arange(len(rows))
    any_other = target == ANY
    chosen = np.where(any_other, present, target)
    own = scores[at, chosen]
    others = scores.copy()
    others[at, chosen] = -np.inf
    lead: Floats = own - others.max(axis=1)
    return np.where(any_other, -lead, lead)


@dataclass(frozen=True)
class GradientSearch:
    """Follow the boundary downhill, from where the search for any model starts.

    Parameters
    ----------
    coarse : BlackBoxSearch
        Finds the points to start from, and takes back single changes at the end.
    """

    coarse: BlackBoxSearch

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
        swarm = self.coarse.start(Z, U, present, target, lam, hints)
        self._follow(swarm)
        swarm.descend()
        swarm.gather(found)
        return found

    def _follow(self, swarm: Swarm) -> None:
        """Solve the problem made linear at each point, within a radius; repeat."""
        setting = swarm.setting
        if not len(setting.free):
            return
        cost = swarm.cost(swarm.owner, swarm.rows)
        steps = setting.steps(swarm.Z[swarm.owner], swarm.rows)
        radius = 0.5 * np.abs(steps).max(axis=1, initial=0.0)
        going = np.flatnonzero(radius > LAST_RADIUS)
        for _ in range(MAX_STEPS):
            if not len(going):
                break
            swarm.count(going)
            proposal = self._propose(swarm, going, radius[going])
            owner = swarm.owner[going]
            new = swarm.cost(owner, proposal)
            better = new < cost[going] * (1 - 1e-7)
            better[better] = swarm.reached(owner[better], proposal[better])
            moved = going[better]
            swarm.rows[moved], cost[moved] = proposal[better], new[better]
            radius[moved] *= 1.5
            radius[going[~better]] *= 0.3
            going = going[radius[going] > LAST_RADIUS]

    def _propose(self, swarm: Swarm, going: NDArray[np.intp], radius: Floats) -> Floats:
        setting = swarm.setting
        rows, owner = swarm.rows[going], swarm.owner[going]
        target, present = swarm.target[owner], swarm.present[owner]
        lead, slope = _slopes(setting, rows, target, present)
        problem = _linearised(swarm, rows, owner, lead, slope, radius)
        solution = _solve_each(swarm, problem, rows, owner)
        free = setting.free
        unit = setting.scale[free]
        out = rows.copy()
        out[:, free] = swarm.Z[owner][:, free] + unit * solution
        # back across the boundary along the gradient, where it was left
        for _ in range(3):
            lead = leads(setting, out, target, present)
            short = np.maximum(setting.margin - lead, 0.0)
            length = np.maximum((slope**2).sum(axis=1), 1e-300)
            push = np.where(short > 0, 1.05 * short / length, 0.0)[:, None] * slope
            exact = np.abs(solution) < 1e-12
            push = np.where(exact & (np.abs(push) < 1e-3), 0.0, push)
            out[:, free] += unit * np.clip(push, -radius[:, None], radius[:, None])
            out = setting.within(out)
        return out


def _slopes(
    setting: Setting, rows: Floats, target: Labels, present: Labels
) -> tuple[Floats, Floats]:
    """Lead at some points, and its derivatives per unit of each free column."""
    n, k = len(rows), len(setting.free)
    probes = np.repeat(rows[:, None], 2 * k + 1, axis=1)
    at = np.arange(k)
    size = DIFFERENCE * setting.scale[setting.free]
    probes[:, 1 + at, setting.free] += size
    probes[:, 1 + k + at, setting.free] -= size
    flat = probes.reshape(-1, rows.shape[1])
    times = 2 * k + 1
    values = leads(setting, flat, np.repeat(target, times), np.repeat(present, times))
    values = values.reshape(n, times)
    slope = (values[:, 1 : 1 + k] - values[:, 1 + k :]) / (2 * DIFFERENCE)
    return values[:, 0], slope


def _linearised(
    swarm: Swarm,
    rows: Floats,
    owner: NDArray[np.intp],
    lead: Floats,
    slope: Floats,
    radius: Floats,
) -> Steps:
    """The problem in steps from the row itself, with the lead made linear."""
    setting = swarm.setting
    free = setting.free
    unit = setting.scale[free]
    Z = swarm.Z[owner]
    here = (rows[:, free] - Z[:, free]) / unit
    need = setting.margin - lead + (slope * here).sum(axis=1)
    base = rows.copy()
    base[:, free] = Z[:, free]
    own = setting.steps(swarm.U[owner], setting.causal.abduct(base))
    low = np.maximum((setting.low[free] - Z[:, free]) / unit, here - radius[:, None])
    high = np.minimum((setting.high[free] - Z[:, free]) / unit, here + radius[:, None])
    return Steps(
        matrix=noise_matrix(setting),
        offset=own[:, setting.movable],
        spent=setting.steps(Z, base)[:, list(setting.choices)],
        normal=slope[:, None, :],
        need=need[:, None],
        low=low,
        high=high,
        lam=swarm.lam,
        norm=setting.norm,
    )


def _solve_each(
    swarm: Swarm, problem: Steps, rows: Floats, owner: NDArray[np.intp]
) -> Floats:
    """Solve; equations that are not linear are made so at each point first."""
    setting = swarm.setting
    here = (rows - swarm.Z[owner])[:, setting.free] / setting.scale[setting.free]
    if setting.slopes is not None:
        solution = solve(within_noise(problem, setting, swarm.U[owner]), rough=ROUGH)
        return np.where(solution.feasible[:, None], solution.step, here)
    matrices, offsets = _noise_slopes(swarm, rows, owner, here)
    out = here.copy()
    for i in range(len(rows)):
        one = replace(
            problem.take(np.array([i])), matrix=matrices[i], offset=offsets[i : i + 1]
        )
        solution = solve(within_noise(one, setting, swarm.U[owner[[i]]]), rough=ROUGH)
        if solution.feasible[0]:
            out[i] = solution.step[0]
    return out


def _noise_slopes(
    swarm: Swarm, rows: Floats, owner: NDArray[np.intp], here: Floats
) -> tuple[Floats, Floats]:
    """Derivatives of the noise, and the noise that the tangent has at no step."""
    setting = swarm.setting
    n, k = len(rows), len(setting.free)
    at = np.arange(k)
    probes = np.repeat(rows[:, None], 2 * k + 1, axis=1)
    size = DIFFERENCE * setting.scale[setting.free]
    probes[:, 1 + at, setting.free] += size
    probes[:, 1 + k + at, setting.free] -= size
    noise = setting.causal.abduct(probes.reshape(-1, rows.shape[1]))
    before = np.repeat(swarm.U[owner], 2 * k + 1, axis=0)
    own = setting.steps(before, noise)[:, setting.movable].reshape(n, 2 * k + 1, -1)
    slopes = (own[:, 1 : 1 + k] - own[:, 1 + k :]) / (2 * DIFFERENCE)
    matrices = slopes.transpose(0, 2, 1)
    offsets = own[:, 0] - np.einsum("nrk,nk->nr", matrices, here)
    return matrices, offsets
