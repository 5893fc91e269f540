"""The central path: Newton's method on the barriers of the two norms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skinterp.counterfactual._steps import Floats, Steps, slacks

Counts = NDArray[np.int64]

GROWTH = 50.0
MAX_NEWTON = 40


def follow_path(
    problem: Steps, start: Floats, stop: float, kappa: float = 0.0
) -> tuple[Floats, float, Counts]:
    """Follow the central path until the gap that it promises is small.

    Parameters
    ----------
    problem : Steps
        In units in which the steps are of size one.
    start : ndarray of shape (n, k)
        A point strictly inside for each row.
    stop : float
        The gap.
    kappa : float, default=0
        Where on the path the points are; 0 is off the path.

    Returns
    -------
    steps : ndarray of shape (n, k)
        The end of the path.
    kappa : float
        Where on the path that is: the gap falls as one over it.
    n_iter : ndarray of shape (n,)
        Newton steps that each row took.
    """
    n_cones = 2 * problem.low.shape[1] + 4 + problem.need.shape[1]
    n_cones += int(np.isfinite(np.c_[problem.low, problem.high]).sum(1).max())
    step, kappa = start, kappa * GROWTH or float(n_cones)
    n_iter = np.zeros(len(start), dtype=np.int64)
    while True:
        step, used = _center(problem, step, kappa)
        n_iter += used
        if n_cones / kappa <= stop:
            return step, kappa, n_iter
        kappa = min(kappa * GROWTH, n_cones / stop)


def _center(problem: Steps, step: Floats, kappa: float) -> tuple[Floats, Counts]:
    """Newton's method for the smooth function at one point of the path."""
    going = np.arange(len(step))
    step, n_iter = step.copy(), np.zeros(len(step), dtype=np.int64)
    for _ in range(MAX_NEWTON):
        n_iter[going] += 1
        part = problem.take(going)
        here = step[going]
        value, gradient, hessian = _smooth(part, here, kappa)
        direction = _newton(gradient, hessian)
        slope = np.einsum("nk,nk->n", gradient, direction)
        decrement = np.sqrt(np.maximum(-slope, 0.0))
        reach = np.minimum(1.0, 0.99 * _room(part, here, direction))
        size = reach[:, None]
        better = _value(part, here + size * direction, kappa) <= value + 0.1 * (
            reach * slope
        )
        # the step of the theory of self-concordance always descends
        size = np.where(better, reach, reach / (1.0 + decrement))[:, None]
        new = here + size * direction
        # rounding can put a point on a bound that is far from zero: then stop there
        inside = (slacks(part, new) > 0).all(1) & np.isfinite(new).all(1)
        step[going[inside]] = new[inside]
        going = going[inside & (decrement > 0.05)]
        if not len(going):
            break
    return step, n_iter


def _newton(gradient: Floats, hessian: Floats) -> Floats:
    """Solve for the step, after scaling to a unit diagonal."""
    diagonal = np.einsum("nkk->nk", hessian)
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
    scaled = hessian * scale[:, :, None] * scale[:, None, :]
    scaled += 1e-14 * np.eye(hessian.shape[1])
    solved = np.linalg.solve(scaled, -(gradient * scale)[:, :, None])
    direction: Floats = solved[:, :, 0] * scale
    return direction


def _room(problem: Steps, step: Floats, direction: Floats) -> Floats:
    """How far a direction can be followed until a constraint is met."""
    slack = slacks(problem, step)
    along = np.einsum("nmk,nk->nm", problem.normal, direction)
    rate = np.hstack([along, direction, -direction])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(rate < 0, slack / -rate, np.inf)
    least: Floats = room.min(1)
    return least


def cone(size: Floats, weight: float) -> Floats:
    """Square root in the partly minimised barrier of a cone, times its weight."""
    root: Floats = np.sqrt(1.0 + (weight * size) ** 2)
    return root


def _value(problem: Steps, step: Floats, kappa: float) -> Floats:
    """The smooth function, up to a constant."""
    first, second = (kappa * w for w in problem.weights)
    slack = slacks(problem, step)
    logs = np.log(np.where(np.isfinite(slack) & (slack > 0), slack, 1.0))
    value = np.where((slack > 0).all(1), -logs.sum(1), np.inf)
    root = cone(np.linalg.norm(problem.noise(step), axis=1), second)
    value += root - np.log1p(root)
    if first:
        if problem.norm == "l1":
            roots = cone(step, first)
            value += (roots - np.log1p(roots)).sum(1)
        else:
            root = cone(problem.first_norm(step), first)
            value += root - np.log1p(root)
    return value


def _smooth(
    problem: Steps, step: Floats, kappa: float
) -> tuple[Floats, Floats, Floats]:
    """Value, gradient and Hessian of the smooth function."""
    first, second = (kappa * w for w in problem.weights)
    k = step.shape[1]
    slack = slacks(problem, step)
    inverse = 1.0 / slack
    m = problem.need.shape[1]
    gradient = -np.einsum("nm,nmk->nk", inverse[:, :m], problem.normal)
    gradient += inverse[:, m + k :] - inverse[:, m : m + k]
    pulled = inverse[:, :m, None] * problem.normal
    hessian = np.matmul(pulled.transpose(0, 2, 1), pulled)
    diagonal = inverse[:, m : m + k] ** 2 + inverse[:, m + k :] ** 2
    extra, curve = _norm_terms(problem.noise(step), problem.matrix, second)
    gradient, hessian = gradient + extra, hessian + curve
    if first and problem.norm == "l1":
        root = cone(step, first)
        gradient += first**2 * step / (1.0 + root)
        diagonal = diagonal + first**2 / (root * (1.0 + root))
    elif first:
        whole = np.hstack([step, problem.spent])
        extra, curve = _norm_terms(whole, np.eye(whole.shape[1], k), first)
        gradient, hessian = gradient + extra, hessian + curve
    hessian[:, np.arange(k), np.arange(k)] += diagonal
    return _value(problem, step, kappa), gradient, hessian


def _norm_terms(change: Floats, matrix: Floats, weight: float) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the barrier of a cone over ``matrix @ step + ...``."""
    root = cone(np.linalg.norm(change, axis=1), weight)
    back = change @ matrix
    outer = weight**2 / (1.0 + root)
    inner = weight**4 / (root * (1.0 + root) ** 2)
    gradient = outer[:, None] * back
    hessian = outer[:, None, None] * (matrix.T @ matrix)
    hessian = hessian - inner[:, None, None] * (back[:, :, None] * back[:, None, :])
    return gradient, hessian
