"""Selections: which columns are kept, and on what evidence."""

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

PER_FEATURE = ("selected", "rank", "rank_sd", "score", "score_sd", "threshold")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection(Explanation):
    """Which columns a selector keeps, with the rank and the score of each.

    Parameters
    ----------
    scope : {"global"}
        A selection speaks about the whole model.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (1,)
        Name of the target.
    selected : ndarray of shape (n_features,), bool
        Which columns are kept.
    rank : ndarray of shape (n_features,)
        Mean rank over repetitions; 1 is best. NaN for a column that was not ranked.
    rank_sd : ndarray of shape (n_features,), default=None
        Deviation of the rank over repetitions.
    score : ndarray of shape (n_features,), default=None
        What the ranks were made from; larger is better.
    score_sd : ndarray of shape (n_features,), default=None
        Deviation of the score over repetitions.
    threshold : ndarray of shape (n_features,), default=None
        Score that a column had to exceed, where the rule compares scores.
    score_name : str, default="score"
        What the score is.
    rule : str, default=""
        Rule that made the selection.
    gap : float, default=nan
        Distance of the mean ranks of the two groups over the number of columns: at
        most 0.5. No measure of confidence.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of columns that are kept.

    See Also
    --------
    Attribution : How much each feature matters, without a choice.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import Selection
    >>> selection = Selection(
    ...     scope="global",
    ...     feature_names=("mass", "noise", "speed"),
    ...     target_names=np.array(["y"]),
    ...     selected=np.array([True, False, True]),
    ...     rank=np.array([1.2, 3.0, 1.8]),
    ...     score=np.array([0.6, 0.1, 0.3]),
    ...     score_name="inclusion proportion",
    ...     rule="vip_rank",
    ... )
    >>> print(selection.to_text())
    2 of 3 columns kept by vip_rank
      - mass: rank 1.2, inclusion proportion 0.6
      - speed: rank 1.8, inclusion proportion 0.3
    next: noise: rank 3, inclusion proportion 0.1
    """

    kind = "selection"

    selected: NDArray[np.bool_]
    rank: NDArray[np.float64]
    rank_sd: NDArray[np.float64] | None = None
    score: NDArray[np.float64] | None = None
    score_sd: NDArray[np.float64] | None = None
    threshold: NDArray[np.float64] | None = None
    score_name: str = "score"
    rule: str = ""
    gap: float = float("nan")

    def _normalise(self) -> None:
        self._set("selected", np.asarray(self.selected, dtype=bool))
        for name in PER_FEATURE[1:]:
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=np.float64))
        self._set("gap", float(self.gap))

    def _check(self) -> None:
        if self.scope != "global":
            msg = f"scope={self.scope!r}: a selection speaks about the whole model"
            raise ValueError(msg)
        n = len(self.feature_names)
        check_shapes({name: (getattr(self, name), (n,)) for name in PER_FEATURE})
        if np.isnan(self.rank[self.selected]).any():
            msg = "a selected column needs a rank"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.selected)

    @property
    def complexity(self) -> int:
        """Number of columns that are kept."""
        return int(self.selected.sum())

    @property
    def selected_names(self) -> tuple[str, ...]:
        """Names of the columns that are kept, in their order in the table."""
        return tuple(self.feature_names[j] for j in np.flatnonzero(self.selected))

    def by_rank(self) -> NDArray[np.intp]:
        """Order of the columns: those kept first, each group by rank.

        Returns
        -------
        ndarray of shape (n_features,)
            Positions; columns without a rank come last.
        """
        return np.lexsort((self.rank, ~self.selected))

    def top(self, k: int) -> Self:
        """Keep the k columns that come first: those kept, then by rank.

        Parameters
        ----------
        k : int
            Number of columns, at least 1.

        Returns
        -------
        Selection
            Of these columns, best first.
        """
        k = check_k(k)
        return self if k >= len(self) else self._take(self.by_rank()[:k])

    def _take(self, indices: NDArray[np.intp]) -> Self:
        names = tuple(self.feature_names[j] for j in indices)
        parts = {name: getattr(self, name) for name in PER_FEATURE}
        kept = {name: v[indices] for name, v in parts.items() if v is not None}
        return self._with(feature_names=names, **kept)

    def to_frame(self) -> pd.DataFrame:
        """Give the selection as a table.

        Returns
        -------
        pandas.DataFrame
            A line per column: ``feature``, ``selected``, ``rank``, and what else is
            known: ``rank_sd``, ``score``, ``score_sd``, ``threshold``.
        """
        import pandas as pd

        table: dict[str, Any] = {"feature": list(self.feature_names)}
        for name in PER_FEATURE:
            value = getattr(self, name)
            if value is not None:
                table[name] = np.array(value)
        return pd.DataFrame(table)

    def to_text(self) -> str:
        """Say the selection in words.

        Returns
        -------
        str
            The columns that are kept, by rank, and the first one that is not.
        """
        from skinterp.explanation._selection_show import say_selection

        return say_selection(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw score over rank, the columns that are kept in color.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._selection_show import draw_selection

        return draw_selection(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that the output depends on the columns that are kept, and on no other.

        The cells of columns are moved to other rows. The output of ``transform`` (of
        ``predict`` where there is none) may change for a column that is kept only,
        and that of ``transform`` has to.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            Rows to try it on.

        Raises
        ------
        AssertionError
            If a column that is dropped changes the output, or one that is kept does
            not.
        """
        from skinterp.explanation._selection_check import check_columns

        check_columns(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same of the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        Selection
            A column is kept if any of its features is, with the rank and the score of
            the best of them. A column without features has the rank NaN.
        """
        feature_map.check_size(len(self.feature_names))
        targets = np.array(feature_map.targets, dtype=np.intp)
        best = np.full(len(feature_map.names), -1)
        # from the last to the first, so that the best one stays
        order = self.by_rank()[::-1]
        best[targets[order]] = order
        known = best >= 0
        parts: dict[str, Any] = {}
        for name in PER_FEATURE[1:]:
            value = getattr(self, name)
            if value is not None:
                parts[name] = np.where(known, value[best], np.nan)
        return type(self)(
            scope=self.scope,
            feature_names=feature_map.names,
            target_names=self.target_names,
            unit=self.unit,
            meta=self.meta,
            selected=known & self.selected[best],
            score_name=self.score_name,
            rule=self.rule,
            gap=self.gap,
            **parts,
        )
