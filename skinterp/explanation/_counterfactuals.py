"""Counterfactuals: for each row the nearest one that gets another answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import Explanation, check_k, check_shapes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

STATUSES = ("found", "already", "unreachable", "not found")
ROWS = ("rows", "noise", "source")
CELLS = ("counterfactuals", "counterfactual_noise", "steps", "own_steps")
ANSWERS = (
    "target",
    "status",
    "certified",
    "gap",
    "distance_x",
    "distance_u",
    "objective",
)
NUMBERS = ("gap", "distance_x", "distance_u", "objective")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Counterfactuals(Explanation):
    """For each row the nearest one that the model puts into another class.

    What changes is told apart along a causal graph: a column moves by itself, or
    because one of its causes has moved.

    Parameters
    ----------
    scope : {"local"}
        Counterfactuals speak about rows.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (n_classes,)
        Class labels.
    rows : ndarray of shape (n_rows, n_features)
        The rows: numbers, or cells of any type.
    counterfactuals : ndarray of shape (..., n_rows, n_features)
        Where each has to go; the row itself where there is no answer. Several weights
        ``lam`` give a leading axis, here and below.
    noise : ndarray of shape (n_rows, n_features)
        What the causes do not explain of each cell, in the units that the model sees;
        NaN for columns of labels.
    counterfactual_noise : ndarray of shape (..., n_rows, n_features)
        The same of the counterfactuals.
    steps : ndarray of shape (..., n_rows, n_features)
        Change of each column in its own unit, usually its standard deviation; 1 unit
        over the deviation for a label that changes.
    own_steps : ndarray of shape (..., n_rows, n_features)
        Change of the noise, in the same units. What is left of the step follows from
        causes.
    source : ndarray of shape (n_rows,), int
        Position of the class that the model gives the row.
    target : ndarray of shape (..., n_rows), int
        Position of the class of the counterfactual; -1 for any other class where no
        answer was found.
    status : ndarray of shape (..., n_rows), str
        "found", "already" (the row is in the class asked for), "unreachable" (no row
        within what is allowed is in that class) or "not found" (the search has found
        none).
    certified : ndarray of shape (..., n_rows), bool
        Whether the answer is proved to be the nearest, or to be impossible.
    gap : ndarray of shape (..., n_rows)
        What a nearer row could save of the objective, at most; inf where unknown.
    distance_x, distance_u, objective : ndarray of shape (..., n_rows)
        Distance of the columns, of the noise, and what was minimised. NaN where there
        is no answer.
    lam : float or ndarray of shape (n_weights,)
        Weight of the distance of the noise.
    held : ndarray of shape (n_features,), bool
        Columns that were not allowed to change.
    edges : ndarray of shape (n_edges, 2), int
        Cause and effect of each arrow of the graph.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of cells that change, over all rows.

    See Also
    --------
    RuleSet : Conditions under which the model gives a class.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import Counterfactuals
    >>> answer = Counterfactuals(
    ...     scope="local",
    ...     feature_names=("amount", "months"),
    ...     target_names=np.array(["bad", "good"]),
    ...     rows=np.array([[4308.0, 48.0]]),
    ...     counterfactuals=np.array([[4084.0, 33.0]]),
    ...     noise=np.array([[4308.0, 30.0]]),
    ...     counterfactual_noise=np.array([[4084.0, 16.0]]),
    ...     steps=np.array([[-0.08, -1.25]]),
    ...     own_steps=np.array([[-0.08, -1.2]]),
    ...     source=np.array([0]),
    ...     target=np.array([1]),
    ...     status=np.array(["found"]),
    ...     certified=np.array([True]),
    ...     gap=np.array([0.0]),
    ...     distance_x=np.array([1.33]),
    ...     distance_u=np.array([1.2]),
    ...     objective=np.array([2.53]),
    ...     lam=1.0,
    ...     held=np.array([False, False]),
    ...     edges=np.array([[0, 1]]),
    ... )
    >>> print(answer.to_text())
    row 0: bad becomes good by
      - months: 48 -> 33 (-15: -14.4 by itself, -0.6 following amount)
      - amount: 4308 -> 4084 (-224)
      distance 1.33, of the noise 1.2; no row is nearer
    """

    kind = "counterfactuals"

    rows: NDArray[Any]
    counterfactuals: NDArray[Any]
    noise: NDArray[np.float64]
    counterfactual_noise: NDArray[np.float64]
    steps: NDArray[np.float64]
    own_steps: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    status: NDArray[np.str_]
    certified: NDArray[np.bool_]
    gap: NDArray[np.float64]
    distance_x: NDArray[np.float64]
    distance_u: NDArray[np.float64]
    objective: NDArray[np.float64]
    lam: NDArray[np.float64] | float
    held: NDArray[np.bool_]
    edges: NDArray[np.int64]

    def _normalise(self) -> None:
        for name in ("rows", "counterfactuals"):
            value = np.asarray(getattr(self, name))
            if value.dtype.kind not in "fO":
                value = value.astype(object if value.dtype.kind in "US" else float)
            self._set(name, value)
        for name in (*NUMBERS, *CELLS[1:], "noise", "lam"):
            self._set(name, np.asarray(getattr(self, name), dtype=np.float64))
        for name in ("source", "target", "edges"):
            self._set(name, np.asarray(getattr(self, name), dtype=np.int64))
        self._set("edges", self.edges.reshape(-1, 2))
        self._set("status", np.asarray(self.status, dtype="<U11"))
        for name in ("certified", "held"):
            self._set(name, np.asarray(getattr(self, name), dtype=bool))

    def _check(self) -> None:
        if self.scope != "local":
            msg = f"scope={self.scope!r}: counterfactuals speak about rows"
            raise ValueError(msg)
        n, d = len(self.source), len(self.feature_names)
        path = np.shape(self.lam)
        if len(path) > 1:
            msg = f"lam has shape {path}, expected one number or a row of them"
            raise ValueError(msg)
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {}
        for name in CELLS:
            shapes[name] = getattr(self, name), (*path, n, d)
        for name in ANSWERS:
            shapes[name] = getattr(self, name), (*path, n)
        shapes |= {"rows": (self.rows, (n, d)), "noise": (self.noise, (n, d))}
        shapes |= {"source": (self.source, (n,)), "held": (self.held, (d,))}
        check_shapes(shapes)
        unknown = set(np.unique(self.status).tolist()) - set(STATUSES)
        if unknown:
            msg = f"status {sorted(unknown)} is not one of {list(STATUSES)}"
            raise ValueError(msg)
        n_classes = len(self.target_names)
        for name, low in (("source", 0), ("target", -1)):
            value = getattr(self, name)
            if value.size and not low <= value.min() <= value.max() < n_classes:
                msg = f"{name} must lie in [{low}, {n_classes}), got {value.tolist()}"
                raise ValueError(msg)
        if self.edges.size and not 0 <= self.edges.min() <= self.edges.max() < d:
            msg = f"edges must name columns 0 to {d - 1}, got {self.edges.tolist()}"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which rows have an answer."""
        known: NDArray[np.bool_] = np.isin(self.status, STATUSES[:2])
        return known

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which cells differ from those of the row."""
        out: NDArray[np.bool_] = self.steps != 0
        return out

    @property
    def complexity(self) -> int:
        """Number of cells that change, over all rows (of a path: for the last lam)."""
        return int(self.changed.reshape(-1, *self.rows.shape)[-1:].sum())

    def at(self, k: int) -> Self:
        """Keep one weight of a path.

        Parameters
        ----------
        k : int
            Position in ``lam``.

        Returns
        -------
        Counterfactuals
            Without the leading axis.
        """
        if not np.ndim(self.lam):
            msg = "there is one lam only, so that there is no path to take from"
            raise ValueError(msg)
        names = (*CELLS, *ANSWERS, "lam")
        return self._with(**{name: getattr(self, name)[k] for name in names})

    def _take(self, indices: NDArray[np.intp]) -> Self:
        parts = {name: getattr(self, name)[indices] for name in ROWS}
        parts |= {name: getattr(self, name)[..., indices, :] for name in CELLS}
        parts |= {name: getattr(self, name)[..., indices] for name in ANSWERS}
        return self._with(**parts)

    def top(self, k: int) -> Self:
        """Keep the k rows that have the nearest answers.

        Parameters
        ----------
        k : int
            Number of rows, at least 1.

        Returns
        -------
        Counterfactuals
            Of these rows, nearest first; of a path by the first lam.
        """
        k = check_k(k)
        if k >= len(self):
            return self
        cost = self.objective.reshape(-1, len(self))[0]
        return self._take(np.argsort(cost, kind="stable")[:k])

    def summary(self) -> pd.DataFrame:
        """Sum up over the rows that an answer was found for.

        Returns
        -------
        pandas.DataFrame
            A line per column, and per ``lam`` where there are several: ``feature``,
            ``share_changed`` of the rows, ``mean_step`` (mean size of its change, in
            its unit), ``mean_own_step`` (the part that follows from no cause), and, the
            same in all lines, ``valid`` (share of rows with an answer) and the medians
            ``distance_x`` and ``distance_u``.
        """
        from skinterp.explanation._counterfactuals_show import summarise

        return summarise(self)

    def to_frame(self) -> pd.DataFrame:
        """Give the counterfactuals as a table.

        Returns
        -------
        pandas.DataFrame
            Per row (and ``lam`` of a path) one line for each column that changes:
            ``row``, ``lam``, ``source``, ``target``, ``status``, ``certified``,
            ``distance_x``, ``distance_u``, ``feature``, ``from``, ``to``, ``step`` and
            ``own_step``. A row in which nothing changes has one line without feature.
        """
        from skinterp.explanation._counterfactuals_show import tabulate

        return tabulate(self)

    def to_text(self) -> str:
        """Say what to change in each row, and what follows from it.

        Returns
        -------
        str
            A few lines per row, with numbers of five digits. It is the unrounded
            ones in ``counterfactuals`` that the model has been asked about.
        """
        from skinterp.explanation._counterfactuals_show import say

        return say(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the change of each column: its own, and what follows from causes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on. One row shows bars, several a point each, a path of one
            row the steps over ``lam``.
        """
        from skinterp.explanation._counterfactuals_show import draw

        return draw(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Ask the model for the classes of the very rows shown.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            The explained rows.

        Raises
        ------
        AssertionError
            If the model gives a row or its counterfactual another class than is said,
            a column that is held has changed, or the distances do not fit the steps.
        """
        from skinterp.explanation._counterfactuals_check import check_rows

        check_rows(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same in the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        Counterfactuals
            Cells in the user's units and labels; steps and distances stay what they
            are.

        Raises
        ------
        ValueError
            If a feature that changes mixes columns, so that there is no row to show.
        """
        from skinterp.explanation._counterfactuals_map import map_cells

        feature_map.check_size(len(self.feature_names))
        return self._with(**map_cells(self, feature_map))

    def with_rows(self, cells: NDArray[Any]) -> Self:
        """Show the user's own cells where nothing changes.

        Parameters
        ----------
        cells : ndarray of shape (n_rows, n_features)
            The rows as the user has them.

        Returns
        -------
        Counterfactuals
            With these rows; cells that change keep their new value.
        """
        shown = np.where(
            self.changed, self.counterfactuals, np.asarray(cells, dtype=object)
        )
        return self._with(rows=np.asarray(cells, dtype=object), counterfactuals=shown)
