"""Slices: where a model errs, as conjunctions of tags, found and estimated again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import Explanation, check_k
from skinterp.explanation._literals import Literal
from skinterp.explanation._ragged import offsets_of, ranges
from skinterp.explanation._rules_check import check_whole, read_labels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

WHOLE = ("offsets", "feature", "cover_step", "row_offsets", "row_slices")
SIZES = ("size", "held_size")
FIGURES = (
    "performance",
    "p_value",
    "q_value",
    "error_share",
    "held_performance",
    "held_p_value",
    "held_q_value",
)
PER_SLICE = (*SIZES, *FIGURES, "cover_step")
PER_LITERAL = (
    "feature",
    "lower",
    "upper",
    "lower_closed",
    "upper_closed",
    "negated",
    "missing",
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SliceSet(Explanation):
    """Conjunctions of tags with size, performance and evidence, found and held out.

    Parameters
    ----------
    scope : {"global", "local"}
        Local ones tell for each row which slices it lies in.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (1,)
        Name of the metric.
    offsets : ndarray of shape (n_slices + 1,)
        Where the conditions of each slice begin.
    feature : ndarray of shape (n_conditions,)
        Column that a condition speaks about.
    lower, upper : ndarray of shape (n_conditions,)
        Ends of the interval of a condition; infinite where there is none.
    lower_closed, upper_closed : ndarray of shape (n_conditions,), bool
        Whether the ends belong to it.
    categories : tuple
        Labels of each condition, None for an interval.
    negated, missing : ndarray of shape (n_conditions,), bool
        Whether the cell is none of the labels; whether a missing cell satisfies it.
    feature_dtypes : tuple of str
        How each column is read: "float32", "float64", "date", "category", "derived",
        or "tags" where a cell is a collection of labels.
    size : ndarray of shape (n_slices,)
        Rows of the slice among those searched.
    performance : ndarray of shape (n_slices,)
        Mean of the metric over these.
    p_value, q_value : ndarray of shape (n_slices,)
        Chance of so bad a mean in rows like all others, and adjusted for the slices
        that were tested.
    error_share : ndarray of shape (n_slices,)
        Share of all errors that the slice holds.
    cover_step : ndarray of shape (n_slices,)
        Place in the greedy cover, from 0; -1 for a slice that is not in it.
    cover_errors, cover_rows : ndarray of shape (n_steps,)
        Shares of the errors and of the rows that the cover holds after each step.
    overall : float
        Mean of the metric over the rows searched.
    gap : float
        How much worse a slice had to be.
    n_rows, n_found, n_tests : int
        Rows searched, slices bad enough, and slices tested.
    loss : bool, default=False
        Whether the metric is larger where the model is worse.
    held_size : ndarray of shape (n_slices,), default=None
        Rows of the slice among those held out.
    held_performance, held_p_value, held_q_value : ndarray, default=None
        The same figures on these; NaN where the slice has none of them.
    held_overall : float, default=nan
        Mean of the metric over the rows held out.
    n_held : int, default=0
        Number of these.
    row_offsets : ndarray of shape (n_rows + 1,), default=None
        Where the slices of each row begin in ``row_slices``.
    row_slices : ndarray, default=None
        Positions of the slices that the rows lie in.
    expected : ndarray of shape (n_rows,), default=None
        Performance to expect on each row.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of slices plus number of conditions.

    See Also
    --------
    RuleSet : Conjunctions that decide a class.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import SliceSet
    >>> slices = SliceSet(
    ...     scope="global",
    ...     feature_names=("light", "age"),
    ...     target_names=np.array(["accuracy"]),
    ...     offsets=[0, 2],
    ...     feature=[0, 1],
    ...     lower=[-np.inf, 30.0],
    ...     upper=[np.inf, np.inf],
    ...     lower_closed=[False, False],
    ...     upper_closed=[True, True],
    ...     categories=(("night",), None),
    ...     negated=[False, False],
    ...     missing=[False, False],
    ...     feature_dtypes=("category", "float64"),
    ...     size=[40],
    ...     performance=[0.5],
    ...     p_value=[0.001],
    ...     q_value=[0.01],
    ...     error_share=[0.4],
    ...     cover_step=[0],
    ...     cover_errors=[0.4],
    ...     cover_rows=[0.2],
    ...     overall=0.75,
    ...     gap=0.2,
    ...     n_rows=200,
    ...     n_found=1,
    ...     n_tests=10,
    ... )
    >>> slices.conditions()
    ("light is 'night' and age > 30",)
    """

    kind = "slices"

    offsets: NDArray[np.int64]
    feature: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    lower_closed: NDArray[np.bool_]
    upper_closed: NDArray[np.bool_]
    categories: tuple[tuple[Any, ...] | None, ...]
    negated: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    feature_dtypes: tuple[str, ...]
    size: NDArray[np.int64]
    performance: NDArray[np.float64]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]
    error_share: NDArray[np.float64]
    cover_step: NDArray[np.int64]
    cover_errors: NDArray[np.float64]
    cover_rows: NDArray[np.float64]
    overall: float
    gap: float
    n_rows: int
    n_found: int
    n_tests: int
    loss: bool = False
    held_size: NDArray[np.int64] | None = None
    held_performance: NDArray[np.float64] | None = None
    held_p_value: NDArray[np.float64] | None = None
    held_q_value: NDArray[np.float64] | None = None
    held_overall: float = float("nan")
    n_held: int = 0
    row_offsets: NDArray[np.int64] | None = None
    row_slices: NDArray[np.int64] | None = None
    expected: NDArray[np.float64] | None = None

    def _normalise(self) -> None:
        for name in (*WHOLE, *SIZES):
            if getattr(self, name) is not None:
                check_whole(name, np.asarray(getattr(self, name)))
            self._cast(name, np.int64)
        for name in ("lower", "upper", *FIGURES, "cover_errors", "cover_rows"):
            self._cast(name, np.float64)
        self._cast("expected", np.float64)
        for name in ("lower_closed", "upper_closed", "negated", "missing"):
            self._cast(name, np.bool_)
        self._set("categories", tuple(map(read_labels, self.categories)))
        self._set("feature_dtypes", tuple(self.feature_dtypes))
        for name in ("overall", "gap", "held_overall"):
            self._set(name, float(getattr(self, name)))
        for name in ("n_rows", "n_found", "n_tests", "n_held"):
            self._set(name, int(getattr(self, name)))
        self._set("loss", bool(self.loss))

    def _cast(self, name: str, dtype: type[np.generic]) -> None:
        value = getattr(self, name)
        if value is not None:
            self._set(name, np.asarray(value, dtype=dtype))

    def _check(self) -> None:
        from skinterp.explanation._slices_check import check_arrays

        check_arrays(self)

    def __len__(self) -> int:
        return self.n_slices if self.row_offsets is None else len(self.row_offsets) - 1

    @property
    def n_slices(self) -> int:
        """Number of slices."""
        return len(self.size)

    @property
    def complexity(self) -> int:
        """Number of slices plus number of conditions."""
        return self.n_slices + len(self.feature)

    @property
    def cover(self) -> NDArray[np.intp]:
        """Positions of the slices of the greedy cover, in its order."""
        chosen = np.flatnonzero(self.cover_step >= 0)
        return chosen[np.argsort(self.cover_step[chosen])]

    @property
    def gaps(self) -> NDArray[np.float64]:
        """How much worse than overall each slice is, among the rows searched."""
        worse = self.overall - self.performance
        return -worse if self.loss else worse

    @property
    def held_gaps(self) -> NDArray[np.float64] | None:
        """The same among the rows held out; None without."""
        if self.held_performance is None:
            return None
        worse = self.held_overall - self.held_performance
        return -worse if self.loss else worse

    def literals(self, index: int) -> tuple[Literal, ...]:
        """Give the conditions of one slice.

        Parameters
        ----------
        index : int
            Position of the slice.

        Returns
        -------
        tuple of Literal
            All of which have to hold.
        """
        if not -self.n_slices <= index < self.n_slices:
            msg = f"slice {index} is out of range for {self.n_slices} slices"
            raise IndexError(msg)
        index %= self.n_slices
        return tuple(
            self._literal(i)
            for i in range(self.offsets[index], self.offsets[index + 1])
        )

    def _literal(self, i: int) -> Literal:
        return Literal(
            int(self.feature[i]),
            float(self.lower[i]),
            float(self.upper[i]),
            bool(self.lower_closed[i]),
            bool(self.upper_closed[i]),
            self.categories[i],
            bool(self.negated[i]),
            bool(self.missing[i]),
        )

    def conditions(self) -> tuple[str, ...]:
        """Say each slice in words.

        Returns
        -------
        tuple of str
            Such as ``"sex is 'F' and age > 51"``.
        """
        from skinterp.explanation._slices_show import say_slice

        return tuple(say_slice(self, s) for s in range(self.n_slices))

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Say which rows lie in which slices.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            A frame's columns are found by name. A missing cell has no tag.

        Returns
        -------
        ndarray of shape (n_rows, n_slices), bool
            True where a row lies in a slice.

        Raises
        ------
        ValueError
            If X is not a table of these columns, or a slice uses what is no column.
        """
        from skinterp.explanation._slices_check import covered

        return covered(self, X)

    def top(self, k: int) -> Self:
        """Keep the first slices, or of each row the first ones.

        Parameters
        ----------
        k : int
            Number of slices, at least 1.

        Returns
        -------
        SliceSet
            Of these.
        """
        k = check_k(k)
        if self.row_offsets is None or self.row_slices is None:
            return self._keep(np.arange(min(k, self.n_slices)))
        counts = np.diff(self.row_offsets)
        place = np.arange(len(self.row_slices)) - np.repeat(
            self.row_offsets[:-1], counts
        )
        return self._with(
            row_slices=self.row_slices[place < k],
            row_offsets=offsets_of(np.minimum(counts, k)),
        )._pruned()

    def _take(self, indices: NDArray[np.intp]) -> Self:
        if self.row_offsets is None or self.row_slices is None:
            return self._keep(indices)
        counts = np.diff(self.row_offsets)[indices]
        at = ranges(self.row_offsets[:-1][indices], counts)
        return self._with(
            row_slices=self.row_slices[at],
            row_offsets=offsets_of(counts),
            expected=None if self.expected is None else self.expected[indices],
        )._pruned()

    def _pruned(self) -> Self:
        """Leave out the slices that no row lies in."""
        assert self.row_slices is not None
        used = np.unique(self.row_slices)
        return self._keep(used, row_slices=np.searchsorted(used, self.row_slices))

    def _keep(self, slices: NDArray[np.intp], **changes: Any) -> Self:
        counts = np.diff(self.offsets)[slices]
        at = ranges(self.offsets[:-1][slices], counts)
        parts: dict[str, Any] = {n: getattr(self, n)[at] for n in PER_LITERAL}
        for name in PER_SLICE:
            value = getattr(self, name)
            if value is not None:
                parts[name] = value[slices]
        return self._with(
            offsets=offsets_of(counts),
            categories=tuple(self.categories[i] for i in at),
            **parts,
            **changes,
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the slices as a table; a local one has a line per row and slice.

        Returns
        -------
        pandas.DataFrame
            ``slice`` and, first, the figures of the rows held out. Gaps are positive
            where the model is worse.
        """
        from skinterp.explanation._slices_show import frame_of_slices

        return frame_of_slices(self)

    def to_text(self) -> str:
        """Say what was found, first what of it is left on rows held out.

        Returns
        -------
        str
            The cover, and the worst slices beside it; or the slices of each row.
        """
        from skinterp.explanation._slices_show import say_rows, say_slices

        return say_slices(self) if self.row_offsets is None else say_rows(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw size against performance, found and held out, the cover in color.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._slices_draw import draw_rows, draw_slices

        return (draw_slices if self.row_offsets is None else draw_rows)(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Count the rows of each slice again, by its conditions alone.

        Parameters
        ----------
        estimator : estimator
            The fitted finder that was explained; its ``transform`` tells membership.
        X : array-like or frame
            Rows to try it on; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If a row lies in a slice by its conditions and not by the finder, or the
            other way round.
        """
        from skinterp.explanation._slices_check import check_membership

        check_membership(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same of the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        SliceSet
            With conditions in the user's columns and units.
        """
        from skinterp.explanation._slices_check import map_slices

        return self._with(**map_slices(self, feature_map))
