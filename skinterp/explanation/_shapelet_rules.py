"""Rules that weigh how well shapelets are matched in time series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import Explanation, check_k, check_shapes
from skinterp.explanation._meta import FrozenDict
from skinterp.explanation._ragged import check_range, offsets_of
from skinterp.explanation._shapelet_rules_math import DISTANCES, spread_over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FLOATS = ("values", "weights", "base", "mean_predicate")
_LOCAL_FLOATS = ("series", "predicates", "share", "prediction")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShapeletRules(Explanation):
    """Shapelets as soft predicates, and what each weighs for each target.

    A predicate says how well the best window of a series matches a shapelet, from 0 to
    1. Weighted, they add up to what the interpretable part of a model says. A local
    explanation also holds the series, where each shapelet is matched best, and the
    share of the prediction that this part decides.

    Parameters
    ----------
    scope : {"global", "local"}
        Global: the rules. Local: also how they apply to each series.
    feature_names : tuple of str
        Names of the channels.
    target_names : ndarray of shape (n_targets,)
        Labels of the classes, or the name of the number that is predicted.
    values : ndarray of shape (n_values,)
        The shapelets one after the other, in deviations of the channel of a series.
    lengths : ndarray of int of shape (n_shapelets,)
        Their numbers of time points.
    channel : ndarray of int of shape (n_shapelets,)
        The channel that each is looked for in.
    stride : ndarray of int of shape (n_shapelets,)
        Offsets from window to window.
    weights : ndarray of shape (n_shapelets, n_targets)
        What a match weighs; negative ones speak against the target.
    base : ndarray of shape (n_targets,)
        What is added to the sum.
    mean_predicate : ndarray of shape (n_shapelets,)
        Mean over the training series.
    epsilon : float
        The predicate is ``exp(-(epsilon * distance)^2)``.
    distance : {"l1", "l2", "cosine", "pearson"}
        Mean absolute or mean squared difference, 1 - cosine, or 1 - correlation.
    quality : mapping of str to float, default={}
        Measures of the rules on the training series.
    series : ndarray of shape (n_rows, n_channels, n_timepoints), default=None
        Local: the series.
    predicates : ndarray of shape (n_rows, n_shapelets), default=None
        Local: how well each shapelet is matched.
    starts : ndarray of int of shape (n_rows, n_shapelets), default=None
        Local: first time point of the best window.
    share : ndarray of shape (n_rows,), default=None
        Local: share of the prediction that the shapelets decide.
    target : ndarray of int of shape (n_rows,), default=None
        Local: position of the target that is explained: the class predicted.
    prediction : ndarray of shape (n_rows, n_targets), default=None
        Local: probabilities by the whole model, or the number that it predicts.
    shown : ndarray of int of shape (n_shown,), default=None
        The shapelets to speak of; None for all. The others stay part of the sum.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of shapelets shown.

    See Also
    --------
    Attribution : A number per feature instead of shapelets.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import ShapeletRules
    >>> rules = ShapeletRules(
    ...     scope="global",
    ...     feature_names=("heart",),
    ...     target_names=np.array(["healthy", "ill"]),
    ...     values=np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0]),
    ...     lengths=np.array([3, 3]),
    ...     channel=np.array([0, 0]),
    ...     stride=np.array([1, 1]),
    ...     weights=np.array([[1.5, -1.0], [-0.2, 0.5]]),
    ...     base=np.zeros(2),
    ...     mean_predicate=np.array([0.5, 0.8]),
    ...     epsilon=1.0,
    ...     distance="l1",
    ... )
    >>> print(rules.to_text())
    2 shapelets of 3 points
    healthy:
      +1.5 if like shapelet 0 of heart (3 points, mean match 0.5)
      -0.2 if like shapelet 1 of heart (3 points, mean match 0.8)
    ill:
      -1 if like shapelet 0 of heart (3 points, mean match 0.5)
      +0.5 if like shapelet 1 of heart (3 points, mean match 0.8)
    """

    kind = "shapelet-rules"

    values: Floats
    lengths: Ints
    channel: Ints
    stride: Ints
    weights: Floats
    base: Floats
    mean_predicate: Floats
    epsilon: float
    distance: str
    quality: Mapping[str, float] = field(default_factory=FrozenDict)
    series: Floats | None = None
    predicates: Floats | None = None
    starts: Ints | None = None
    share: Floats | None = None
    target: Ints | None = None
    prediction: Floats | None = None
    shown: Ints | None = None

    def _normalise(self) -> None:
        for name in (*_FLOATS, *_LOCAL_FLOATS):
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=np.float64))
        if self.shown is None:
            self._set("shown", np.arange(len(self.lengths)))
        for name in ("lengths", "channel", "stride", "starts", "target", "shown"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=np.int64))
        self._set("epsilon", float(self.epsilon))
        pairs = {str(name): float(v) for name, v in self.quality.items()}
        self._set("quality", FrozenDict(pairs))

    def _check(self) -> None:
        n, n_targets = len(self.lengths), len(self.target_names)
        if self.distance not in DISTANCES:
            msg = f"distance={self.distance!r} is not one of {list(DISTANCES)}"
            raise ValueError(msg)
        check_shapes(
            {
                "lengths": (self.lengths, (n,)),
                "values": (self.values, (int(self.lengths.sum()),)),
                "channel": (self.channel, (n,)),
                "stride": (self.stride, (n,)),
                "weights": (self.weights, (n, n_targets)),
                "base": (self.base, (n_targets,)),
                "mean_predicate": (self.mean_predicate, (n,)),
            }
        )
        if n and (self.lengths.min() < 1 or self.stride.min() < 1):
            msg = "lengths and stride must be at least 1"
            raise ValueError(msg)
        check_range("channel", self.channel, 0, len(self.feature_names))
        if self.shown is None or self.shown.ndim != 1:
            msg = f"shown={self.shown!r} must be a list of shapelets"
            raise ValueError(msg)
        check_range("shown", self.shown, 0, n)
        self._check_rows()

    def _check_rows(self) -> None:
        names = (*_LOCAL_FLOATS, "starts", "target")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != (0 if self.scope == "global" else len(names)):
            msg = (
                f"a local explanation has {list(names)}, a global one none; got {given}"
            )
            raise ValueError(msg)
        if self.series is None:
            return
        if self.series.ndim != 3:
            msg = f"series has shape {self.series.shape}, expected three dimensions"
            raise ValueError(msg)
        n_rows, _, n_points = self.series.shape
        n, n_targets = len(self.lengths), len(self.target_names)
        check_shapes(
            {
                "series": (self.series, (n_rows, len(self.feature_names), n_points)),
                "predicates": (self.predicates, (n_rows, n)),
                "starts": (self.starts, (n_rows, n)),
                "share": (self.share, (n_rows,)),
                "target": (self.target, (n_rows,)),
                "prediction": (self.prediction, (n_rows, n_targets)),
            }
        )
        assert self.starts is not None
        assert self.target is not None
        check_range("target", self.target, 0, n_targets)
        check_range("starts", self.starts, 0, n_points)
        check_range("starts + lengths", self.starts + self.lengths, 0, n_points + 1)

    # -- what is held -----------------------------------------------------------------
    def shapelet(self, index: int) -> Floats:
        """Give the values of a shapelet.

        Parameters
        ----------
        index : int
            Its number.

        Returns
        -------
        ndarray of shape (length,)
            In deviations of the channel of a series.
        """
        offsets = offsets_of(self.lengths)
        return self.values[offsets[index] : offsets[index + 1]]

    def contributions(self) -> Floats:
        """Give what each match adds for the explained target.

        Returns
        -------
        ndarray of shape (n_rows, n_shapelets)
            Weight times predicate. With ``base`` they sum to what the shapelets say.

        Raises
        ------
        ValueError
            For a global explanation, which knows no series.
        """
        _, predicates, _, target = self._rows()
        return np.asarray(self.weights.T[target] * predicates)

    def evidence(self) -> Floats:
        """Spread the contributions over the windows that are matched.

        Returns
        -------
        ndarray of shape (n_rows, n_channels, n_timepoints)
            What each time point adds; the sum of a row is that of its contributions.

        Raises
        ------
        ValueError
            For a global explanation, which knows no series.
        """
        series, _, starts, _ = self._rows()
        shape = series.shape[1:]
        amounts = self.contributions()
        return spread_over(amounts, starts, self.lengths, self.channel, shape)

    def _rows(self) -> tuple[Floats, Floats, Ints, Ints]:
        if self.series is None:
            msg = "a global explanation has no rows; explain(X) tells what is matched"
            raise ValueError(msg)
        assert self.predicates is not None
        assert self.starts is not None
        assert self.target is not None
        return self.series, self.predicates, self.starts, self.target

    def scores(self) -> Floats:
        """Add up what the shapelets say for each target.

        Returns
        -------
        ndarray of shape (n_rows, n_targets)
            Logits of the classes, or the number predicted by the shapelets alone.

        Raises
        ------
        ValueError
            For a global explanation, which knows no series.
        """
        # unlike BLAS, to the last digit the same whatever rows stand beside
        total = np.einsum("nj,jt->nt", self._rows()[1], self.weights)
        return np.asarray(total + self.base)

    def by_weight(self, target: int) -> NDArray[np.intp]:
        """Order the shapelets that are shown by the size of their weight.

        Parameters
        ----------
        target : int
            Position of the target.

        Returns
        -------
        ndarray of shape (n_shown,)
            Numbers of shapelets, the heaviest first.
        """
        assert self.shown is not None
        size = np.abs(self.weights[self.shown, target])
        return np.asarray(self.shown[np.argsort(-size, kind="stable")])

    # -- as any explanation -----------------------------------------------------------
    def __len__(self) -> int:
        assert self.shown is not None
        return len(self.shown if self.series is None else self.series)

    @property
    def complexity(self) -> int:
        """Number of shapelets shown."""
        assert self.shown is not None
        return len(self.shown)

    def top(self, k: int) -> Self:
        """Show the k shapelets that matter most.

        Parameters
        ----------
        k : int
            Number of shapelets, at least 1.

        Returns
        -------
        ShapeletRules
            The same rules; those with the largest weight for any target are shown,
            of a local explanation those with the largest mean contribution.
        """
        k = check_k(k)
        assert self.shown is not None
        if k >= len(self.shown):
            return self
        if self.series is None:
            size = np.abs(self.weights).max(axis=1)
        else:
            size = np.abs(self.contributions()).mean(axis=0)
        order = np.argsort(-size[self.shown], kind="stable")
        return self._with(shown=self.shown[order[:k]])

    def _take(self, indices: NDArray[np.intp]) -> Self:
        assert self.shown is not None
        if self.series is None:
            return self._with(shown=self.shown[indices])
        names = (*_LOCAL_FLOATS, "starts", "target")
        return self._with(**{name: getattr(self, name)[indices] for name in names})

    def to_frame(self) -> pd.DataFrame:
        """Give the rules as a table.

        Returns
        -------
        pandas.DataFrame
            Global: a line per target and shapelet shown, with ``target``,
            ``shapelet``, ``channel``, ``length``, ``weight`` and ``mean_predicate``.
            Local: a line per row and shapelet shown, with ``row``, ``target``,
            ``share``, ``shapelet``, ``channel``, ``start``, ``end``, ``predicate``,
            ``weight`` and ``contribution``.
        """
        from skinterp.explanation._shapelet_rules_show import rules_table

        return rules_table(self)

    def to_text(self) -> str:
        """Say the rules in words.

        Returns
        -------
        str
            Global: per target the heaviest shapelets. Local: per row what is predicted,
            the share that the shapelets decide, and what matched where.
        """
        from skinterp.explanation._shapelet_rules_show import say_rules

        return say_rules(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the heaviest shapelets of each target, or a series with what matched.

        Of a local explanation the first row is drawn: its channels with the most
        evidence, coloured by what each time point adds, and on them the shapelets that
        add the most where they are matched.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation import _shapelet_rules_draw as draw

        if self.series is None:
            return draw.draw_rules(self, ax)
        return draw.draw_series(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that shapelets, matched and added up by hand, give what the model says.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like of shape (n_rows, n_channels, n_timepoints)
            Series; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If predicates, windows, sums, the share or the prediction differ.
        """
        from skinterp.explanation._shapelet_rules_check import check_rules

        check_rules(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Name the channels by the columns that they come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each channel is made from the user's columns.

        Returns
        -------
        ShapeletRules
            The same rules, in the model's units. Channels that come from one column
            keep apart by their number.
        """
        feature_map.check_size(len(self.feature_names))
        names = [feature_map.names[j] for j in feature_map.targets]
        twice = {name for name in names if names.count(name) > 1}
        named = [f"{n}, channel {i}" if n in twice else n for i, n in enumerate(names)]
        return self._with(feature_names=tuple(named))
