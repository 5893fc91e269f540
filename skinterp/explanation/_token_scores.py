"""Windows of series with a score each, and what each adds to the output."""

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

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LOCAL = ("scores", "kept", "values", "prediction", "series")
_GLOBAL = ("mean_scores", "kept_share")
_EXAMPLES = (
    *("example_values", "example_target", "example_source"),
    *("example_start", "example_score"),
)
_INTS = (
    *("starts", "shown", "prediction"),
    *("example_target", "example_source", "example_start"),
)
_FLOATS = (
    *("scores", "values", "series", "mean_scores", "kept_share"),
    *("example_values", "example_score"),
)
TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenScores(Explanation):
    """Windows of a series, how much each counts, and what it adds to the output.

    A window has a score between 0 and 1, by which the model weighs it. A model may keep
    some windows on their own and sum the others; what the sum adds is divided among
    them.

    Parameters
    ----------
    scope : {"global", "local"}
        Global: mean scores by class and place. Local: the windows of each series.
    feature_names : tuple of str
        Names of the channels; a window takes all of them.
    target_names : ndarray of shape (n_targets,)
        Labels of the classes.
    starts : ndarray of int of shape (n_tokens,)
        First time point of each window.
    length : int
        Number of time points of a window.
    timepoint_names : tuple of str
        Names of the time points.
    scores : ndarray of shape (n_rows, n_tokens), default=None
        Local: score of each window.
    kept : ndarray of bool of shape (n_rows, n_tokens), default=None
        Local: whether a window was kept on its own.
    values : ndarray of shape (n_rows, n_tokens) or (n_rows, n_tokens, n_targets), \
default=None
        Local: what each window adds to the decision function: of two classes to the
        log-odds of the second.
    prediction : ndarray of int of shape (n_rows,), default=None
        Local: position of the class that is predicted.
    series : ndarray of shape (n_rows, n_channels, n_timepoints), default=None
        Local: the series.
    mean_scores : ndarray of shape (n_targets, n_tokens), default=None
        Global: mean score over the training series of a class.
    kept_share : ndarray of shape (n_targets, n_tokens), default=None
        Global: share of the training series of a class in which a window is kept.
    example_values : ndarray of shape (n_examples, n_channels, length), default=None
        Global: windows of training series with the highest scores, by class.
    example_target : ndarray of int of shape (n_examples,), default=None
        Global: position of their class.
    example_source : ndarray of int of shape (n_examples,), default=None
        Global: position of their series in the training set.
    example_start : ndarray of int of shape (n_examples,), default=None
        Global: their first time point.
    example_score : ndarray of shape (n_examples,), default=None
        Global: their score.
    shown : ndarray of int of shape (n_shown,), default=None
        The windows to speak of; None for all. The others stay part of the sum.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of windows shown.

    See Also
    --------
    Attribution : A number per time point instead of windows.
    ShapeletRules : Learnt shapes that are looked for, instead of places.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import TokenScores
    >>> tokens = TokenScores(
    ...     scope="local",
    ...     feature_names=("heart",),
    ...     timepoint_names=("t0", "t1", "t2", "t3"),
    ...     target_names=np.array(["calm", "peak"]),
    ...     starts=np.array([0, 2]),
    ...     length=2,
    ...     scores=np.array([[0.1, 0.9]]),
    ...     kept=np.array([[False, True]]),
    ...     values=np.array([[-0.2, 1.4]]),
    ...     prediction=np.array([1]),
    ...     series=np.array([[[0.0, 0.1, 2.0, 1.0]]]),
    ... )
    >>> print(tokens.to_text())
    row 0: peak, 1.2 = +1.4 (t2 to t3, score 0.9) -0.2 (t0 to t1, score 0.1)
      1 of 2 windows kept on its own
    >>> tokens.saliency()
    array([[-0.2, -0.2,  1.4,  1.4]])
    """

    kind = "token-scores"

    starts: Ints
    length: int
    timepoint_names: tuple[str, ...]
    scores: Floats | None = None
    kept: NDArray[np.bool_] | None = None
    values: Floats | None = None
    prediction: Ints | None = None
    series: Floats | None = None
    mean_scores: Floats | None = None
    kept_share: Floats | None = None
    example_values: Floats | None = None
    example_target: Ints | None = None
    example_source: Ints | None = None
    example_start: Ints | None = None
    example_score: Floats | None = None
    shown: Ints | None = None

    def _normalise(self) -> None:
        self._set("length", int(self.length))
        self._set("timepoint_names", tuple(map(str, self.timepoint_names)))
        if self.shown is None:
            self._set("shown", np.arange(len(self.starts)))
        pairs: list[tuple[tuple[str, ...], Any]]
        pairs = [(_INTS, np.int64), (_FLOATS, np.float64), (("kept",), np.bool_)]
        for names, dtype in pairs:
            for name in names:
                value = getattr(self, name)
                if value is not None:
                    self._set(name, np.asarray(value, dtype=dtype))

    def _check(self) -> None:
        n_points, n = len(self.timepoint_names), len(self.starts)
        check_shapes({"starts": (self.starts, (n,))})
        if self.length < 1:
            msg = f"length={self.length} must be at least 1"
            raise ValueError(msg)
        _check_range("starts", self.starts, n_points - self.length + 1)
        if self.shown is None or self.shown.ndim != 1:
            msg = f"shown={self.shown!r} must be a list of windows"
            raise ValueError(msg)
        _check_range("shown", self.shown, n)
        of_model = (*_GLOBAL, *_EXAMPLES)
        local = self.scope == "local"
        needed: tuple[str, ...] = _LOCAL if local else of_model
        other: tuple[str, ...] = of_model if local else _LOCAL
        missing = [name for name in needed if getattr(self, name) is None]
        extra = [name for name in other if getattr(self, name) is not None]
        if missing or extra:
            msg = (
                f"a {self.scope} one has {list(needed)}; got not {missing}, but {extra}"
            )
            raise ValueError(msg)
        (self._check_rows if local else self._check_global)()

    def _check_rows(self) -> None:
        scores, _, values, prediction, _ = self._rows()
        n_rows, n, n_targets = len(scores), len(self.starts), len(self.target_names)
        outputs = () if values.ndim == 2 else (n_targets,)
        if values.ndim == 2 and n_targets != 2:
            msg = f"values has shape {values.shape}, which is for two classes only"
            raise ValueError(msg)
        shape = (n_rows, len(self.feature_names), len(self.timepoint_names))
        check_shapes(
            {
                "scores": (scores, (n_rows, n)),
                "kept": (self.kept, (n_rows, n)),
                "values": (values, (n_rows, n, *outputs)),
                "prediction": (prediction, (n_rows,)),
                "series": (self.series, shape),
            }
        )
        _check_range("prediction", prediction, n_targets)
        _check_scores("scores", scores)

    def _check_global(self) -> None:
        assert self.mean_scores is not None
        assert self.example_target is not None
        assert self.example_start is not None
        shape = (len(self.target_names), len(self.starts))
        n_examples = len(self.example_target)
        window = (n_examples, len(self.feature_names), self.length)
        check_shapes(
            {
                "mean_scores": (self.mean_scores, shape),
                "kept_share": (self.kept_share, shape),
                "example_values": (self.example_values, window),
                **{
                    name: (getattr(self, name), (n_examples,)) for name in _EXAMPLES[1:]
                },
            }
        )
        _check_range("example_target", self.example_target, shape[0])
        last = len(self.timepoint_names) - self.length + 1
        _check_range("example_start", self.example_start, last)
        _check_scores("mean_scores", self.mean_scores)

    # -- what is held -----------------------------------------------------------------
    def _rows(
        self,
    ) -> tuple[Floats, NDArray[np.bool_], Floats, Ints, Floats]:
        if self.scores is None:
            msg = "a global explanation has no rows; explain(X) tells of windows of X"
            raise ValueError(msg)
        assert self.kept is not None
        assert self.values is not None
        assert self.prediction is not None
        assert self.series is not None
        return self.scores, self.kept, self.values, self.prediction, self.series

    def contributions(self) -> Floats:
        """Give what each window adds in favour of the class that is predicted.

        Returns
        -------
        ndarray of shape (n_rows, n_tokens)
            Of two classes, parts of the log-odds of the predicted one; else of its
            logit.

        Raises
        ------
        ValueError
            For a global explanation, which knows no series.
        """
        _, _, values, prediction, _ = self._rows()
        if values.ndim == 2:
            return np.where(prediction == 1, 1.0, -1.0)[:, None] * values
        return values[np.arange(len(values)), :, prediction]

    def saliency(self) -> Floats:
        """Average the contributions of the windows over each time point.

        Returns
        -------
        ndarray of shape (n_rows, n_timepoints)
            Mean over the windows that cover a time point; 0 where none does.

        Raises
        ------
        ValueError
            For a global explanation, which knows no series.
        """
        n_points = len(self.timepoint_names)
        every = np.ones((1, len(self.starts)))
        count = spread(every, self.starts, self.length, n_points)
        total = spread(self.contributions(), self.starts, self.length, n_points)
        return np.asarray(total / np.maximum(count, 1.0))

    def name_of(self, token: int) -> str:
        """Name the time points of a window.

        Parameters
        ----------
        token : int
            Number of the window.

        Returns
        -------
        str
            First and last time point.
        """
        return self._name_from(int(self.starts[token]))

    def _name_from(self, start: int) -> str:
        last = start + self.length - 1
        return f"{self.timepoint_names[start]} to {self.timepoint_names[last]}"

    # -- as any explanation -----------------------------------------------------------
    def __len__(self) -> int:
        assert self.shown is not None
        return len(self.shown if self.scores is None else self.scores)

    @property
    def complexity(self) -> int:
        """Number of windows shown."""
        assert self.shown is not None
        return len(self.shown)

    def top(self, k: int) -> Self:
        """Show the k windows that matter most.

        Parameters
        ----------
        k : int
            Number of windows, at least 1.

        Returns
        -------
        TokenScores
            Global: those of highest mean score for any class. Local: those of largest
            mean contribution, whatever its sign.
        """
        k = check_k(k)
        assert self.shown is not None
        if k >= len(self.shown):
            return self
        if self.mean_scores is not None:
            size = self.mean_scores.max(axis=0, initial=0.0)
        else:
            size = np.abs(self.contributions()).sum(axis=0)
        order = np.argsort(-size[self.shown], kind="stable")
        return self._with(shown=self.shown[order[:k]])

    def _take(self, indices: NDArray[np.intp]) -> Self:
        assert self.shown is not None
        if self.scores is None:
            return self._with(shown=self.shown[indices])
        return self._with(**{name: getattr(self, name)[indices] for name in _LOCAL})

    def to_frame(self) -> pd.DataFrame:
        """Give the windows as a table.

        Returns
        -------
        pandas.DataFrame
            Global: a line per class and window, with ``target``, ``token``, ``start``,
            ``end``, ``mean_score`` and ``kept_share``. Local: a line per row and window
            with ``row``, ``prediction``, ``token``, ``start``, ``end``, ``score``,
            ``kept`` and ``contribution`` to the class predicted. ``end`` is the time
            point after the last.
        """
        from skinterp.explanation._token_scores_show import window_table

        return window_table(self)

    def examples_to_frame(self) -> pd.DataFrame:
        """Give the windows of training series with the highest scores as a table.

        Returns
        -------
        pandas.DataFrame
            A line per example: ``target``, ``series``, ``start``, ``end``, ``score``.

        Raises
        ------
        ValueError
            For a local explanation, which has no examples.
        """
        from skinterp.explanation._token_scores_show import example_table

        return example_table(self)

    def to_text(self) -> str:
        """Say in words which windows count.

        Returns
        -------
        str
            Global: per class the windows of highest mean score. Local: per row what
            the windows add up to.
        """
        from skinterp.explanation._token_scores_show import say_windows

        return say_windows(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean scores over time, or a series with its windows.

        Of a local explanation the first row is drawn, coloured by what each time point
        adds. Below it stands a bar per window, at its middle and as high as its score;
        windows that were summed are hatched.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation import _token_scores_draw as draw

        if self.scores is None:
            return draw.draw_means(self, ax)
        return draw.draw_series(self, ax)

    def plot_examples(self, ax: Axes | None = None) -> Axes:
        """Draw the training windows of highest score, at their place in time.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on; a band per class, windows of a class on one scale.

        Raises
        ------
        ValueError
            For a local explanation, which has no examples.
        """
        from skinterp.explanation._token_scores_draw import draw_examples

        return draw_examples(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that the windows add up to what the model says.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like of shape (n_rows, n_channels, n_timepoints)
            Series; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If a sum is not the decision function, the class is not the one predicted,
            or numbers of windows kept differ.
        """
        if self.scores is None:
            return
        _, kept, values, prediction, _ = self._rows()
        expected = np.asarray(estimator.decision_function(X), dtype=np.float64)
        got = values.sum(axis=1)
        assert got.shape == expected.shape, f"{got.shape} sums, not {expected.shape}"
        scale = 1 + np.abs(values).sum(axis=1) + np.abs(expected)
        wrong = np.argwhere(np.abs(got - expected) > TOLERANCE * scale)
        if len(wrong):
            at = tuple(int(j) for j in wrong[0])
            msg = (
                f"row {at[0]}: windows sum to {got[at]}, the model says {expected[at]}"
            )
            raise AssertionError(msg)
        labels = self.target_names[prediction]
        other = np.flatnonzero(labels != np.asarray(estimator.predict(X)))
        assert not len(other), f"row {other[:1]}: another class is predicted"
        counts = np.unique(kept.sum(axis=1))
        assert len(counts) <= 1, f"rows keep different numbers of windows: {counts}"

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Name the channels by the columns that they come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each channel is made from the user's columns.

        Returns
        -------
        TokenScores
            The same windows, in the model's units. Channels that come from one column
            keep apart by their number.
        """
        feature_map.check_size(len(self.feature_names))
        names = [feature_map.names[j] for j in feature_map.targets]
        twice = {name for name in names if names.count(name) > 1}
        named = [f"{n}, channel {i}" if n in twice else n for i, n in enumerate(names)]
        return self._with(feature_names=tuple(named))


def spread(amounts: Floats, starts: Ints, length: int, n_points: int) -> Floats:
    """Add up at each time point the amounts of the windows that cover it.

    Parameters
    ----------
    amounts : ndarray of shape (n_rows, n_tokens)
        One number per window.
    starts : ndarray of int of shape (n_tokens,)
        First time points, all different.
    length : int
        Number of time points of a window.
    n_points : int
        Number of time points.

    Returns
    -------
    ndarray of shape (n_rows, n_points)
        Sums, exactly 0 where no window lies.
    """
    steps = np.zeros((len(amounts), n_points + 1))
    covered = np.zeros(n_points + 1)
    steps[:, starts] += amounts
    steps[:, starts + length] -= amounts
    covered[starts] += 1
    covered[starts + length] -= 1
    sums = np.cumsum(steps[:, :-1], axis=1)
    return np.where(np.cumsum(covered[:-1]) > 0, sums, 0.0)


def _check_range(name: str, values: Ints, end: int) -> None:
    if len(values) and not (values.min() >= 0 and values.max() < end):
        msg = (
            f"{name} holds {values.min()} to {values.max()}, allowed is 0 to {end - 1}"
        )
        raise ValueError(msg)


def _check_scores(name: str, values: Floats) -> None:
    if values.size and not (np.nanmin(values) >= 0 and np.nanmax(values) <= 1):
        msg = f"{name} holds numbers beyond 0 and 1"
        raise ValueError(msg)
