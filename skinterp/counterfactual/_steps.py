"""The convex problem that BRACE poses for a linear score: data and objective."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """The problems of ``n`` rows in ``k`` free columns, in scaled units.

    Parameters
    ----------
    matrix : ndarray of shape (r, k)
        What a step does to the noise.
    offset : ndarray of shape (n, r)
        Noise already spent on columns that are not free.
    spent : ndarray of shape (n, q)
        Steps already made in those columns, for the first norm.
    normal : ndarray of shape (n, m, k)
        Constraints.
    need : ndarray of shape (n, m)
        What they ask for.
    low, high : ndarray of shape (n, k)
        Bounds of the step; may be infinite.
    lam : float
        Weight of the second norm; infinite drops the first.
    norm : {"l1", "l2"}
        The first norm.
    """

    matrix: Floats
    offset: Floats
    spent: Floats
    normal: Floats
    need: Floats
    low: Floats
    high: Floats
    lam: float
    norm: str = "l1"

    def __len__(self) -> int:
        return len(self.need)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Steps:
        """Keep some of the rows."""
        names = ("offset", "spent", "normal", "need", "low", "high")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    @property
    def weights(self) -> tuple[float, float]:
        """Weights of the two norms, the larger of which is one."""
        if np.isinf(self.lam):
            return 0.0, 1.0
        return 1.0 / self.size, float(self.lam) / self.size

    @property
    def size(self) -> float:
        """What the objective has been divided by."""
        return 1.0 if np.isinf(self.lam) else max(1.0, float(self.lam))

    def noise(self, step: Floats) -> Floats:
        """Change of the noise, of shape (n, r)."""
        change: Floats = step @ self.matrix.T + self.offset
        return change

    def objective(self, step: Floats) -> Floats:
        """What is minimised, over ``size``; of shape (n,)."""
        first, second = self.weights
        return first * self.first_norm(step) + second * np.linalg.norm(
            self.noise(step), axis=1
        )

    def first_norm(self, step: Floats) -> Floats:
        """Norm of the step with what is spent already."""
        whole = np.hstack([step, self.spent])
        norm: Floats = np.linalg.norm(whole, 1 if self.norm == "l1" else 2, axis=1)
        return norm


def in_units(problem: Steps, unit: Floats) -> Steps:
    """Measure steps in given units, and constraints by normals of length one."""
    length = np.maximum(np.linalg.norm(problem.normal, axis=2), 1e-300)
    column = unit[:, None]
    return replace(
        problem,
        offset=problem.offset / column,
        spent=problem.spent / column,
        normal=problem.normal / length[:, :, None],
        need=problem.need / length / column,
        low=problem.low / column,
        high=problem.high / column,
    )


def slacks(problem: Steps, step: Floats) -> Floats:
    """Room left by each constraint, each lower and each upper bound, side by side."""
    inside = np.einsum("nmk,nk->nm", problem.normal, step) - problem.need
    return np.hstack([inside, step - problem.low, problem.high - step])
