"""The exact solver against brute force, and its bound against random points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from skinterp.counterfactual._convex import solve
from skinterp.counterfactual._polish import duality_gap
from skinterp.counterfactual._steps import Steps


def problem(
    matrix: np.ndarray, normal: np.ndarray, need: np.ndarray, lam: float, **other
) -> Steps:
    k = matrix.shape[1]
    fields = {
        "offset": np.zeros((1, len(matrix))),
        "spent": np.zeros((1, 0)),
        "low": np.full((1, k), -np.inf),
        "high": np.full((1, k), np.inf),
    } | other
    return Steps(
        matrix=matrix,
        normal=np.atleast_2d(normal)[None],
        need=np.atleast_1d(need)[None],
        lam=lam,
        **fields,
    )


numbers = st.floats(-3, 3).map(lambda x: round(x, 2))


@given(
    slope=numbers,
    weight=st.tuples(numbers, numbers),
    lam=st.sampled_from([0.1, 1.0, 3.0, np.inf]),
    norm=st.sampled_from(["l1", "l2"]),
)
def test_two_columns_by_brute_force(slope, weight, lam, norm) -> None:
    """On the boundary, a line, the objective is convex in one number."""
    normal = np.array(weight)
    length = np.linalg.norm(normal)
    if length < 0.1:
        return
    one = problem(np.array([[1.0, 0], [-slope, 1.0]]), normal, 2.0, lam, norm=norm)
    solution = solve(one)
    base, along = 2.0 * normal / length**2, np.array([-normal[1], normal[0]]) / length
    best = minimize_scalar(
        lambda t: one.objective((base + t * along)[None])[0],
        bounds=(-100, 100),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert solution.feasible.all()
    assert_allclose(one.objective(solution.step)[0], best.fun, rtol=1e-6)
    assert solution.gap[0] <= 1e-7 * max(1.0, one.objective(solution.step)[0])
    assert normal @ solution.step[0] >= 2.0 - 1e-9


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_no_point_beats_the_bound(seed: int) -> None:
    """With several constraints, bounds, offsets: feasible, and within the gap."""
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    matrix = np.eye(k) + np.tril(rng.normal(size=(k, k)), -1)
    # a listed column that has changed is noise of its own, which no step undoes
    matrix = np.vstack([matrix, np.zeros(k)])
    offset = np.r_[rng.normal(size=k), rng.uniform(0.3, 2.0)] * rng.integers(2)
    inside = rng.normal(size=k)
    normal = rng.normal(size=(m, k))
    need = normal @ inside - rng.uniform(0.01, 1.0, size=m)
    width = rng.uniform(0.05, 2.0, size=(2, k))
    width[rng.uniform(size=(2, k)) < 0.4] = np.inf
    low, high = inside - width[0], inside + width[1]
    one = problem(
        matrix,
        normal,
        need,
        float(rng.choice([0.0, 0.5, 2.0, np.inf])),
        norm=str(rng.choice(["l1", "l2"])),
        offset=offset[None],
        spent=np.abs(rng.normal(size=(1, 2))) * rng.integers(2),
        low=low[None],
        high=high[None],
    )
    solution = solve(one)
    step = solution.step[0]
    assert solution.feasible[0]
    assert (normal @ step >= need - 1e-8).all()
    assert (step >= low - 1e-9).all()
    assert (step <= high + 1e-9).all()
    value = one.objective(step[None])[0]
    assert solution.gap[0] <= 1e-6 * max(1.0, value)
    others = inside + rng.normal(size=(300, k)) * rng.uniform(0, 1, size=(300, 1))
    others = np.vstack([others, step + 1e-3 * rng.normal(size=(300, k)), inside[None]])
    fits = (others @ normal.T >= need).all(1)
    fits &= (others >= low).all(1) & (others <= high).all(1)
    ours = value - solution.gap[0] / one.size - 1e-9
    rest = others[fits]
    many = one.take(np.zeros(len(rest), dtype=int))
    assert (many.objective(rest) >= ours).all()


def test_what_cannot_be_reached() -> None:
    """Constraints against each other, or against the bounds, leave no room."""
    eye = np.eye(2)
    against = problem(eye, [[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0], 1.0)
    assert not solve(against).feasible.any()
    high = np.array([[0.5, 0.2]])
    beyond = problem(eye, [1.0, 1.0], 1.0, 1.0, high=high)
    assert not solve(beyond).feasible.any()
    crossed = problem(eye, [1.0, 1.0], 1.0, 1.0, low=np.array([[0.7, 0.0]]), high=high)
    assert not solve(crossed).feasible.any()


def test_a_longer_step_has_a_gap() -> None:
    """Proofs are of the step given: one twice as long could save half of it."""
    one = problem(np.eye(2), [1.0, 2.0], 4.0, 1.0)
    best = solve(one).step[0]
    value = one.objective(best[None])[0]
    length = np.linalg.norm(best)
    price = best / length * one.weights[1]
    multiplier = np.array([value / 4.0])
    assert duality_gap(one, best, price, multiplier) < 1e-6
    assert_allclose(duality_gap(one, 2 * best, price, multiplier), value, rtol=1e-6)


def test_nothing_to_do() -> None:
    solution = solve(problem(np.eye(2), [1.0, 1.0], -1.0, 1.0))
    assert solution.feasible.all()
    assert not solution.step.any()


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_any_size(size: float) -> None:
    """The relative accuracy does not depend on the size of the numbers."""
    one = problem(np.array([[1.0, 0], [-2.0, 1.0]]), [1.0, 2.0], 4.0 * size, 1.0)
    solution = solve(one)
    assert_allclose(one.objective(solution.step) / size, 3.07469002, rtol=1e-8)
