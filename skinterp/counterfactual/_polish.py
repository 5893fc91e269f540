"""The end of the path: exact zeros, and how far from the optimum it can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skinterp.counterfactual._central_path import cone
from skinterp.counterfactual._steps import Floats, Steps, slacks

Mask = NDArray[np.bool_]

MAX_NEWTON = 12
SLACK = 1e-11
KINK = 1e-9  # a norm below which it has no derivative to speak of
TINY = 1e-6  # a weight of the columns below which rounding has to be made good
FAR = 1e6  # where steps are of size one, a sign that Newton's method is lost


def finish(problem: Steps, step: Floats, kappa: float) -> tuple[Floats, float]:
    """Make zeros, bounds and active constraints of one row exact.

    Parameters
    ----------
    problem : Steps
        One row, in units in which its step is of size one.
    step : ndarray of shape (k,)
        End of the central path.
    kappa : float
        Where on the path that is.

    Returns
    -------
    step : ndarray of shape (k,)
        The exact step where one was found, else the one given.
    gap : float
        What a better step could save at most.
    """
    first, second = problem.weights
    noise = problem.noise(step[None])[0]
    root = float(cone(np.linalg.norm(noise[None], axis=1), kappa * second)[0])
    price = kappa * second**2 * noise / (1.0 + root)
    room = slacks(problem, step[None])[0]
    duals = 1.0 / (kappa * room)
    m, k = problem.need.shape[1], len(step)
    gap = duality_gap(problem, step, price, duals[:m])
    # of a variable and its price, the smaller one is what goes to zero
    vanishing = room < duals
    zero = np.zeros(k, bool)
    if first and problem.norm == "l1":
        zero = vanishing_steps(step, first, kappa)
    bound = np.where(vanishing[m : m + k], problem.low[0], np.nan)
    bound = np.where(vanishing[m + k :], problem.high[0], bound)
    bound[zero] = 0.0
    polished = _polish(problem, step, bound, vanishing[:m], duals[:m])
    if polished is None:
        return step, gap
    exact, price, multipliers = polished
    exact_gap = duality_gap(problem, exact, price, multipliers)
    return (exact, exact_gap) if exact_gap <= gap else (step, gap)


def vanishing_steps(step: Floats, weight: float, kappa: float) -> Mask:
    """Which columns go to zero at the end of the path."""
    pull = kappa * weight**2 * np.abs(step) / (1.0 + cone(step, kappa * weight))
    vanishing: Mask = np.abs(step) < weight - pull
    return vanishing


def snap(problem: Steps, steps: Floats, kappa: float) -> Floats:
    """Set to zero what goes there, for many rows, without any further care."""
    if not problem.weights[0] or problem.norm != "l1":
        return steps
    gone = vanishing_steps(steps, problem.weights[0], kappa)
    snapped = np.where(gone, 0.0, steps)
    inside = (problem.low <= 0) & (problem.high >= 0)
    return np.where(inside, snapped, steps)


def _polish(
    problem: Steps, step: Floats, held: Floats, active: Mask, duals: Floats
) -> tuple[Floats, Floats, Floats] | None:
    """Newton's method on the conditions of the optimum, given what is active.

    ``held`` gives the columns that do not move, NaN for those that do. None is
    returned where the conditions have no solution of the same signs.
    """
    free = np.isnan(held)
    normal, need = problem.normal[0][active], problem.need[0][active]
    x, multipliers = np.where(free, step, held), duals[active]
    n_free = int(free.sum())
    signs = np.sign(x)
    for _ in range(MAX_NEWTON):
        parts = _derivatives(problem, x, signs)
        if parts is None:
            return None
        gradient, hessian = parts
        residual = np.r_[(gradient - normal.T @ multipliers)[free], normal @ x - need]
        size = np.abs(residual).max(initial=0.0)
        if size < 1e-14:
            break
        across = normal[:, free]
        corner = np.zeros((len(need), len(need)))
        system = np.block([[hessian[np.ix_(free, free)], -across.T], [across, corner]])
        try:
            change = np.linalg.solve(system, -residual)
        except np.linalg.LinAlgError:
            change = np.linalg.lstsq(system, -residual, rcond=None)[0]
        x[free] += change[:n_free]
        multipliers = multipliers + change[n_free:]
        if not np.abs(x).max(initial=0.0) < FAR:
            return None
    room = slacks(problem, x[None])[0]
    same = problem.norm == "l2" or (np.sign(x) == signs).all()
    if not (np.isfinite(x).all() and same and room.min() >= -SLACK):
        return None
    change = problem.noise(x[None])[0]
    length = float(np.linalg.norm(change))
    if length < KINK:
        return None
    price = problem.weights[1] * change / length
    full = np.zeros(len(active))
    full[active] = np.maximum(multipliers, 0.0)
    return x, price, full


def _derivatives(
    problem: Steps, x: Floats, signs: Floats
) -> tuple[Floats, Floats] | None:
    """Gradient and Hessian of the objective where signs stay; None at a kink."""
    first, second = problem.weights
    if problem.norm == "l1":
        gradient, hessian = first * signs, np.zeros((len(x), len(x)))
    else:
        size = float(problem.first_norm(x[None])[0])
        if first and size < KINK:
            return None
        size = max(size, 1e-300)
        gradient = first * x / size
        hessian = first * (np.eye(len(x)) / size - np.outer(x, x) / size**3)
    if second:
        change = problem.noise(x[None])[0]
        size = float(np.linalg.norm(change))
        if size < KINK:
            return None
        back = problem.matrix.T @ change
        gradient = gradient + second * back / size
        gram = problem.matrix.T @ problem.matrix
        hessian = hessian + second * (gram / size - np.outer(back, back) / size**3)
    return gradient, hessian


def duality_gap(
    problem: Steps, step: Floats, price: Floats, multipliers: Floats
) -> float:
    """Bound what any step could save against one, for one row.

    Parameters
    ----------
    problem : Steps
        One row.
    step : ndarray of shape (k,)
        A step that meets the constraints.
    price : ndarray of shape (r,)
        Dual variables of the noise.
    multipliers : ndarray of shape (m,)
        Dual variables of the constraints, not negative.

    Returns
    -------
    float
        The objective minus the value of a point of the dual, made from the given one
        by scaling; infinite where that fails.
    """
    first, second = problem.weights
    matrix, normal = problem.matrix, problem.normal[0]
    low, high, spent = problem.low[0], problem.high[0], problem.spent[0]
    at_bound = (np.abs(step - low) < 1e-9) | (np.abs(high - step) < 1e-9)
    pull = normal.T @ multipliers - matrix.T @ price
    if first < TINY:
        # (almost) nothing but the noise answers the constraints, and what is left to
        # the columns is less than rounding
        aim = _pull_of_columns(problem, step, pull)
        fix = np.where(at_bound, 0.0, pull - aim)
        price = price + matrix @ np.linalg.lstsq(matrix.T @ matrix, fix, rcond=None)[0]
        pull = np.where(at_bound, normal.T @ multipliers - matrix.T @ price, aim)
    share, rest = np.zeros(len(step)), np.zeros(len(spent))
    excess = [1.0, np.linalg.norm(price) / second if second else 1.0]
    if first and problem.norm == "l1":
        unbounded = np.where(pull > 0, np.isinf(high), np.isinf(low))
        excess.append(np.abs(pull[unbounded]).max(initial=0.0) / first)
    elif first:
        whole = max(float(problem.first_norm(step[None])[0]), 1e-300)
        share = np.where(at_bound, first * step / whole, pull)
        rest = first * spent / whole
        excess.append(np.linalg.norm(np.r_[share, rest]) / first)
    scale = max(excess)
    value = (multipliers @ problem.need[0] + price @ problem.offset[0]) / scale
    if first and problem.norm == "l1":
        value += first * np.abs(spent).sum() + _least_l1(first, pull / scale, low, high)
    else:
        value += rest @ spent / scale + _least((share - pull) / scale, low, high)
    gap = float(problem.objective(step[None])[0] - value)
    return max(gap, 0.0) if np.isfinite(gap) else np.inf


def _pull_of_columns(problem: Steps, step: Floats, pull: Floats) -> Floats:
    """The nearest thing to a pull that the norm of the columns can answer."""
    first = problem.weights[0]
    if problem.norm == "l1" or not first:
        return np.clip(pull, -first, first)
    whole: Floats = problem.first_norm(step[None])
    return first * step / np.maximum(whole, 1e-300)


def _least_l1(weight: float, pull: Floats, low: Floats, high: Floats) -> float:
    """Least value of ``weight |d| - pull d`` within bounds: at a bound or near 0."""
    values = []
    for point in (np.clip(0.0, low, high), low, high):
        known = np.isfinite(point)
        safe = np.where(known, point, 0.0)
        values.append(np.where(known, weight * np.abs(safe) - pull * safe, np.inf))
    return float(np.min(values, axis=0).sum())


def _least(slope: Floats, low: Floats, high: Floats) -> float:
    """Least value of a linear function within bounds; slopes of rounding count as 0."""
    slope = np.where(np.abs(slope) < 1e-15, 0.0, slope)
    ends = np.where(slope > 0, low, high)
    return float((slope * np.where(slope == 0, 0.0, ends)).sum())
