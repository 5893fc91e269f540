"""Data values: what each training row is worth, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import Explanation, check_k, check_shapes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

FLOATS = ("value", "std", "probability", "weight", "part")
PER_ROW = (*FLOATS, "selected", "pulls", "marked", "target")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DataValues(Explanation):
    """What training rows are worth, and which of them are the most extreme ones.

    Parameters
    ----------
    scope : {"global"}
        Data values speak about the whole training set.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (n_classes,)
        Labels of the classes; one name where the target is a number.
    row : ndarray of shape (n_rows,), int
        Position of each row in the training set.
    value : ndarray of shape (n_rows,)
        Value of each row: what it adds to the score.
    std : ndarray of shape (n_rows,)
        Standard deviation of the value; 0 where it is exact.
    selected : ndarray of shape (n_rows,), bool
        The rows found: the m of largest value, or of smallest with ``lowest``.
    probability : ndarray of shape (n_rows,)
        Probability of being one of the m. NaN for a row that was no candidate, of
        which the value is a prediction.
    pulls : ndarray of shape (n_rows,), int
        How often the contribution of the row was drawn.
    marked : ndarray of shape (n_rows,), bool, default=None
        Rows to point out, such as those whose labels are known to be wrong.
    data : ndarray of shape (n_rows, n_features), default=None
        Cells of the rows.
    target : ndarray of shape (n_rows,), default=None
        Labels or targets of the rows.
    weight : ndarray of shape (n_rows,), default=None
        Weight of the mean draw of each row in the value of the row ``of``.
    part : ndarray of shape (n_rows,), default=None
        What each row adds to the value of the row ``of``, above the mean value.
    of : int, default=-1
        Row of which weights and parts tell; -1 for none.
    lowest : bool, default=False
        Whether the rows found are those of smallest value.
    level : float, default=0.95
        Probability of the intervals.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of rows found.

    See Also
    --------
    Attribution : What features add to an output, instead of rows to a model.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import DataValues
    >>> values = DataValues(
    ...     scope="global",
    ...     feature_names=("dose",),
    ...     target_names=np.array(["no", "yes"]),
    ...     row=[0, 1, 2],
    ...     value=[0.02, -0.01, 0.03],
    ...     std=[0.01, 0.004, 0.01],
    ...     selected=[False, True, False],
    ...     probability=[0.0, 0.99, 0.01],
    ...     pulls=[4, 9, 3],
    ...     data=[[1.5], [2.0], [0.5]],
    ...     target=["no", "no", "yes"],
    ...     lowest=True,
    ... )
    >>> print(values.top(1).to_text().split(", 9")[0])
    1 of 1 rows of lowest value
      - row 1: value -0.01 (-0.0178 to -0.00216)
    """

    kind = "data-values"

    row: NDArray[np.int64]
    value: NDArray[np.float64]
    std: NDArray[np.float64]
    selected: NDArray[np.bool_]
    probability: NDArray[np.float64]
    pulls: NDArray[np.int64]
    marked: NDArray[np.bool_] | None = None
    data: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    part: NDArray[np.float64] | None = None
    of: int = -1
    lowest: bool = False
    level: float = 0.95

    def _normalise(self) -> None:
        for name in FLOATS:
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=np.float64))
        for name in ("row", "pulls"):
            self._set(name, np.asarray(getattr(self, name), dtype=np.int64))
        for name in ("selected", "marked"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=bool))
        for name in ("data", "target"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value))
        self._set("of", int(self.of))
        try:
            self._set("level", float(self.level))
        except (TypeError, ValueError) as error:
            msg = f"level={self.level!r} is not allowed: it must lie between 0 and 1"
            raise ValueError(msg) from error
        self._set("lowest", bool(self.lowest))

    def _check(self) -> None:
        if self.scope != "global":
            msg = f"scope={self.scope!r}: data values speak about the training set"
            raise ValueError(msg)
        n = self.row.size
        sizes: dict[str, tuple[Any, tuple[int, ...]]]
        sizes = {name: (getattr(self, name), (n,)) for name in ("row", *PER_ROW)}
        sizes["data"] = (self.data, (n, len(self.feature_names)))
        check_shapes(sizes)
        if not 0.0 < self.level < 1.0:
            msg = f"level={self.level!r} is not allowed: it must lie between 0 and 1"
            raise ValueError(msg)
        if not (np.isfinite(self.value).all() and (self.std >= 0).all()):
            msg = "value must be finite, and std at least 0"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def complexity(self) -> int:
        """Number of rows found."""
        return int(self.selected.sum())

    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the bounds between which each value lies with probability ``level``.

        Returns
        -------
        lower : ndarray of shape (n_rows,)
            Lower bounds.
        upper : ndarray of shape (n_rows,)
            Upper bounds.
        """
        width = self.std * NormalDist().inv_cdf(0.5 + self.level / 2)
        return self.value - width, self.value + width

    def by_value(self) -> NDArray[np.intp]:
        """Order of the rows: those found first, each group from the sought end.

        Returns
        -------
        ndarray of shape (n_rows,)
            Positions in this explanation. With weights, by the size of the part.
        """
        if self.weight is not None:
            size = self.weight if self.part is None else self.part
            return np.argsort(-np.abs(size), kind="stable")
        sought = self.value if self.lowest else -self.value
        return np.lexsort((sought, ~self.selected))

    def top(self, k: int) -> Self:
        """Keep the k rows that come first: those found, then by value.

        Parameters
        ----------
        k : int
            Number of rows, at least 1.

        Returns
        -------
        DataValues
            With these rows only.
        """
        return self._take(self.by_value()[: check_k(k)])

    def _take(self, indices: NDArray[np.intp]) -> Self:
        kept = {
            name: None if (value := getattr(self, name)) is None else value[indices]
            for name in ("row", "data", *PER_ROW)
        }
        return self._with(**kept)

    def to_frame(self) -> pd.DataFrame:
        """Give the values as a table.

        Returns
        -------
        pandas.DataFrame
            A line per row: ``row``, ``value``, ``std``, ``lower``, ``upper``,
            ``selected``, ``probability``, ``pulls``, what else is known (``marked``,
            ``weight``, ``part``, ``target``), then the cells by their columns. A
            column of the same name as one of these gets an underscore.
        """
        import pandas as pd

        lower, upper = self.interval()
        parts: dict[str, Any] = {
            "row": self.row,
            "value": self.value,
            "std": self.std,
            "lower": lower,
            "upper": upper,
            "selected": self.selected,
            "probability": self.probability,
            "pulls": self.pulls,
        }
        for name in ("marked", "weight", "part", "target"):
            if getattr(self, name) is not None:
                parts[name] = getattr(self, name)
        columns = {name: np.array(values) for name, values in parts.items()}
        for j, name in enumerate(self.feature_names if self.data is not None else ()):
            assert self.data is not None
            while name in columns:
                name = f"{name}_"
            columns[name] = np.array(self.data[:, j])
        return pd.DataFrame(columns)

    def to_text(self) -> str:
        """Say in words which rows were found.

        Returns
        -------
        str
            A line per row found: value, interval, draws, probability and cells.
        """
        from skinterp.explanation._data_values_show import say_sources, say_values

        return say_values(self) if self.weight is None else say_sources(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all values with their intervals, in their order.

        The rows found are coloured, rows that are marked are ringed. With weights,
        draw what the rows add to the value that they tell of.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._data_values_show import draw_sources, draw_values

        return draw_values(self, ax) if self.weight is None else draw_sources(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that the rows found are the extreme ones, and that values are told.

        The rows found have the most extreme values of all candidates, and the
        probabilities sum to their number. Values that were estimated equal those that
        the estimator predicts for the rows, where it predicts values.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            Not used: values are those of the training rows.

        Raises
        ------
        AssertionError
            If something else is said than was found.
        """
        from skinterp.explanation._data_values_check import check_values

        check_values(self, estimator)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same of the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        DataValues
            With the same values; without cells, which are those of the features,
            unless these are the user's columns as they stand.
        """
        feature_map.check_size(len(self.feature_names))
        same = feature_map.targets == tuple(range(len(feature_map.names)))
        same = same and all(
            s.form == "value" and s.invert is None for s in feature_map.sources
        )
        changes = {name: getattr(self, name) for name in ("row", *PER_ROW)}
        return type(self)(
            scope=self.scope,
            feature_names=feature_map.names,
            target_names=self.target_names,
            unit=self.unit,
            meta=self.meta,
            data=self.data if same else None,
            of=self.of,
            lowest=self.lowest,
            level=self.level,
            **changes,
        )
