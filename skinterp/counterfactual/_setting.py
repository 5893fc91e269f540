"""What every search needs to know: the model, the equations, what may move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.counterfactual._causal_model import CausalModel
from skinterp.counterfactual._table import Floats, Table

Labels = NDArray[np.intp]

ANY = -1  # any class but the present one


@dataclass(frozen=True)
class Setting:
    """The fitted state, as the searches read it.

    Parameters
    ----------
    table : Table
        The columns.
    causal : CausalModel
        The equations.
    slopes : ndarray of shape (d, d) or None
        Direct effects, where all equations are linear.
    scale : ndarray of shape (d,)
        Unit of each column.
    free : ndarray of int
        Columns that move continuously.
    choices : mapping of int to ndarray
        Columns that take listed values, with these.
    low, high : ndarray of shape (d,)
        Bounds.
    noise_range : tuple of two ndarrays of shape (d,), or None
        Least and largest noise; None leaves it free.
    norm : {"l1", "l2"}
        Norm of the change of the columns.
    margin : float
        How far inside of the class a linear score has to be.
    label : callable
        Gives the position of the class that the model predicts.
    scores : callable or None
        Gives a score per class, the largest of which decides.
    """

    table: Table
    causal: CausalModel
    slopes: Floats | None
    scale: Floats
    free: NDArray[np.intp]
    choices: Mapping[int, Floats]
    low: Floats
    high: Floats
    noise_range: tuple[Floats, Floats] | None
    norm: str
    margin: float
    label: Callable[[Floats], Labels]
    scores: Callable[[Floats], Floats] | None

    @property
    def movable(self) -> NDArray[np.intp]:
        """Columns that may change."""
        return np.union1d(self.free, np.array(list(self.choices), dtype=np.intp))

    def within(self, after: Floats) -> Floats:
        """Put the free columns within their bounds."""
        out, free = after.copy(), self.free
        out[..., free] = np.clip(after[..., free], self.low[free], self.high[free])
        return out

    def noise_limits(self, U: Floats) -> tuple[Floats, Floats] | None:
        """Least and largest noise of given rows; what a row has is always allowed."""
        if self.noise_range is None:
            return None
        low, high = self.noise_range
        return np.minimum(low, U), np.maximum(high, U)

    def likely(self, U: Floats, after: Floats) -> NDArray[np.bool_]:
        """Say of which rows the noise lies within its limits."""
        limits = self.noise_limits(U)
        if limits is None:
            return np.ones(len(after), bool)
        noise, free = self.causal.abduct(after)[:, self.free], self.free
        slack = 1e-9 * self.scale[free]
        low, high = limits[0][:, free] - slack, limits[1][:, free] + slack
        inside = (noise >= low) & (noise <= high)
        return np.asarray(inside.all(axis=1))

    def steps(self, before: Floats, after: Floats) -> Floats:
        """Change in scaled units; a text that changes has made one step."""
        unit = np.where(self.scale > 0, self.scale, 1.0)
        change = after - before
        codes = list(self.table.texts)
        change[..., codes] = change[..., codes] != 0
        held = np.ones(len(self.scale), bool)
        held[self.movable] = False
        change[..., held] = 0.0
        out: Floats = change / unit
        return out

    def distances(self, steps: Floats, own: Floats) -> tuple[Floats, Floats]:
        """Both distances, from the steps of the columns and of their noise."""
        first = np.linalg.norm(steps, 1 if self.norm == "l1" else 2, axis=-1)
        return first, np.linalg.norm(own, axis=-1)

    def objective(self, Z: Floats, U: Floats, after: Floats, lam: float) -> Floats:
        """What is minimised, for rows ``Z`` with noise ``U`` moved to ``after``."""
        own = self.steps(U, self.causal.abduct(after))
        first, second = self.distances(self.steps(Z, after), own)
        return second if np.isinf(lam) else first + lam * second

    def reached(self, after: Floats, target: Labels, present: Labels) -> NDArray[Any]:
        """Say which rows the model puts where they should be."""
        if not len(after):
            return np.zeros(0, bool)
        label = self.label(after)
        return np.where(target == ANY, label != present, label == target)


@dataclass
class Found:
    """What a search found for ``n`` rows.

    ``rows`` are the counterfactuals, ``status`` words of ``STATUSES``; ``gap`` bounds
    what a better answer could save and is infinite where nothing is known.
    """

    rows: Floats
    status: NDArray[np.str_]
    gap: Floats
    n_iter: NDArray[np.int64]

    @classmethod
    def nothing(cls, Z: Floats) -> Found:
        """Start with every row where it is."""
        n = len(Z)
        status = np.full(n, "not found", dtype="<U11")
        return cls(Z.copy(), status, np.full(n, np.inf), np.zeros(n, np.int64))

    def put(self, at: Any, other: Found) -> None:
        """Fill in the rows at some places."""
        self.rows[at], self.status[at] = other.rows, other.status
        self.gap[at], self.n_iter[at] = other.gap, other.n_iter
