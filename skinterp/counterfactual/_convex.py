"""The exact solver for linear scores and linear mechanisms.

For many rows at once it minimises the distance that BRACE charges, over steps that
cross linear constraints:

    min  |d|  +  lam * ||A d + o||_2     so that  W d >= need,  low <= d <= high,

with the l1 or the l2 norm of d in the first term. Both norms are written as cones,
whose logarithmic barriers are minimised over the cone's own variable in closed form.
What is left is a smooth self-concordant function of d alone, followed by Newton's
method along the central path. Zeros, bounds and active constraints read off at its end
are then made exact, and a feasible point of the dual says how far from the optimum the
answer can be at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from skinterp.counterfactual._central_path import follow_path
from skinterp.counterfactual._polish import finish, snap
from skinterp.counterfactual._steps import Floats, Steps, in_units, slacks

# where the path is left, and where where that was too early
GAPS = (1e-6, 1e-9)


@dataclass
class Solution:
    """Steps with a bound on what a better one could save.

    ``feasible`` is False for rows where no step meets the constraints; ``gap`` is the
    objective minus a lower bound, infinite where there is none.
    """

    step: Floats
    gap: Floats
    feasible: NDArray[np.bool_]
    n_iter: NDArray[np.int64]


def solve(problem: Steps, *, rough: float | None = None) -> Solution:
    """Minimise the distance for every row.

    Parameters
    ----------
    problem : Steps
        The rows.
    rough : float, default=None
        Gap at which to stop, without the work at the end that makes all exact.

    Returns
    -------
    Solution
        With the steps, of shape (n, k).

    Notes
    -----
    About 40 Newton steps, each of which costs ``O(k^2 (k + r + m))`` per row.
    """
    n, k = problem.low.shape
    out = Solution(
        np.zeros((n, k)), np.full(n, np.inf), np.zeros(n, bool), np.zeros(n, np.int64)
    )
    start, out.feasible = interior_points(problem)
    idle = out.feasible & _stays(problem)
    out.gap[idle] = 0.0
    todo = np.flatnonzero(out.feasible & ~idle)
    if not len(todo):
        return out
    if problem.lam == 0 and problem.norm == "l1":
        for i in todo:
            out.step[i] = _cheapest(problem.take(np.array([i])))
            out.gap[i] = 0.0
        return out
    # in units of each step's own size, so that the path is the same at any scale
    unit = np.maximum(np.abs(start[todo]).sum(1), 1e-12)
    scaled = in_units(problem.take(todo), unit)
    inside = _is_inside(scaled, start[todo] / unit[:, None])
    if not inside.all():
        out.step[todo[~inside]] = start[todo[~inside]]  # valid, and nothing more
        todo, unit, scaled = todo[inside], unit[inside], scaled.take(inside)
    first = start[todo] / unit[:, None]
    stop = GAPS[0] if rough is None else rough
    steps, kappa, out.n_iter[todo] = follow_path(scaled, first, stop)
    if rough is not None:
        out.step[todo] = snap(scaled, steps, kappa) * unit[:, None]
        return out
    exact, gap = _finish_all(scaled, steps, kappa)
    open_ = np.flatnonzero(gap > GAPS[1] * np.maximum(1.0, scaled.objective(exact)))
    if len(open_):  # signs that are not clear yet
        part = scaled.take(open_)
        steps, kappa, n_iter = follow_path(part, steps[open_], GAPS[1], kappa)
        exact[open_], gap[open_] = _finish_all(part, steps, kappa)
        out.n_iter[todo[open_]] += n_iter
    out.step[todo], out.gap[todo] = exact * unit[:, None], gap * unit * problem.size
    return out


def _finish_all(problem: Steps, steps: Floats, kappa: float) -> tuple[Floats, Floats]:
    """Make the end of the path exact, row by row."""
    exact, gap = steps.copy(), np.empty(len(steps))
    for i in range(len(steps)):
        exact[i], gap[i] = finish(problem.take(np.array([i])), steps[i], kappa)
    return exact, gap


def _stays(problem: Steps) -> NDArray[np.bool_]:
    """Rows in which nothing at all has to be done, and nothing was done before."""
    ready = np.hstack([-problem.need, -problem.low, problem.high]) >= 0
    before = np.hstack([problem.offset, problem.spent]) != 0
    stays: NDArray[np.bool_] = ready.all(axis=1) & ~before.any(axis=1)
    return stays


# -- points inside -------------------------------------------------------------------


def interior_points(problem: Steps) -> tuple[Floats, NDArray[np.bool_]]:
    """Find a point strictly inside the constraints of each row, or tell that none is.

    Parameters
    ----------
    problem : Steps
        The rows.

    Returns
    -------
    points : ndarray of shape (n, k)
        The points.
    found : ndarray of shape (n,), bool
        False where the constraints leave no room.
    """
    first = problem.normal[:, 0]
    length = np.einsum("nk,nk->n", first, first)
    need = problem.need[:, 0]
    ratio = np.where(need > 0, need, 1e-3 * np.sqrt(length))
    scale = np.divide(1.5 * ratio, length, out=np.zeros(len(first)), where=length > 0)
    points: Floats = scale[:, None] * first
    found = _is_inside(problem, points)
    if problem.need.shape[1] == 1 and not found.all():
        other = _between_corner_and_middle(problem, np.abs(points).max(1))
        points = np.where(found[:, None], points, other)
        found = _is_inside(problem, points)
    for i in np.flatnonzero(~found):
        points[i], found[i] = _inside(problem.take(np.array([i])))
    return points, found


def _is_inside(problem: Steps, points: Floats) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = np.all(slacks(problem, points) > 0, axis=1)
    return inside


def _between_corner_and_middle(problem: Steps, size: Floats) -> Floats:
    """Point on the way from the corner of most room to the middle of the bounds."""
    far = 3.0 * size[:, None] + 1e-12
    low, high = np.maximum(problem.low, -far), np.minimum(problem.high, far)
    normal = problem.normal[:, 0]
    corner = np.where(normal > 0, high, low)
    middle = (low + high) / 2.0
    most = (normal * corner).sum(1) - problem.need[:, 0]
    least = (normal * middle).sum(1) - problem.need[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(least > 0, 1.0, 0.5 * most / (most - least))
    share = np.clip(np.nan_to_num(share), 0.0, 1.0)[:, None]
    points: Floats = corner + share * (middle - corner)
    return points


def _inside(problem: Steps) -> tuple[Floats, bool]:
    """Point of one row with the largest smallest slack, by a linear program."""
    normal, need = problem.normal[0], problem.need[0]
    low, high = problem.low[0], problem.high[0]
    if (low >= high).any() or not len(low):
        return np.zeros(len(low)), False
    length = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    eye = np.eye(len(low))
    ends = [(-eye, -low), (eye, high)]
    rows = [-normal / length[:, None]] + [m[np.isfinite(b)] for m, b in ends]
    sides = [-need / length] + [b[np.isfinite(b)] for _, b in ends]
    table = np.vstack(rows)
    table = np.hstack([table, np.ones((len(table), 1))])
    goal = np.r_[np.zeros(len(low)), -1.0]
    limits = [(None, None)] * len(low) + [(None, 1.0)]
    found = linprog(goal, table, np.concatenate(sides), bounds=limits)
    if found.x is None or found.x[-1] <= 1e-10:
        return np.zeros(len(low)), False
    return found.x[:-1], True


def _cheapest(problem: Steps) -> Floats:
    """Step of one row with the least l1 norm: a corner of a linear program."""
    normal, need = problem.normal[0], problem.need[0]
    low, high = problem.low[0], problem.high[0]
    if len(need) == 1 and (low <= 0).all() and (high >= 0).all():
        return _fill(normal[0], need[0], low, high)
    ends = np.r_[np.maximum(high, 0.0), np.maximum(-low, 0.0)]
    starts = np.r_[np.maximum(low, 0.0), np.maximum(-high, 0.0)]
    goal = np.ones(2 * len(low))
    limits = [
        (a, b if np.isfinite(b) else None) for a, b in zip(starts, ends, strict=True)
    ]
    found = linprog(goal, -np.hstack([normal, -normal]), -need, bounds=limits)
    parts = np.asarray(found.x, dtype=np.float64).reshape(2, -1)
    step: Floats = parts[0] - parts[1]
    return step


def _fill(weight: Floats, need: float, low: Floats, high: Floats) -> Floats:
    """Move along the column with the largest weight first, up to its bound."""
    step, left = np.zeros(len(weight)), need
    room = np.where(weight > 0, high, -low)
    for j in np.argsort(-np.abs(weight), kind="stable"):
        if left <= 1e-14 * need or weight[j] == 0:
            break
        size = min(room[j], left / abs(weight[j]))
        step[j] = np.sign(weight[j]) * size
        left -= size * abs(weight[j])
    return step
