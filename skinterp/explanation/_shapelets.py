"""Shapelets: short pieces of time series, where they come from and where they match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import Explanation, check_k, check_shapes
from skinterp.explanation._ragged import check_offsets, check_range, offsets_of, ranges

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

INTEGERS = ("offsets", "case", "channel", "start", "target", "source", "source_offsets")
FLOATS = ("values", "quality", "threshold", "spread", "source_values")
ROWS = ("distance", "location", "row_values", "row_lengths")
PER_SHAPELET = (
    "case",
    "channel",
    "start",
    "target",
    "quality",
    "threshold",
    "spread",
    "source",
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShapeletSet(Explanation):
    """Short pieces of series, best first, and where rows come nearest to them.

    Parameters
    ----------
    scope : {"global", "local"}
        Local ones hold ``distance``, ``location`` and the rows themselves.
    feature_names : tuple of str
        Names of the channels.
    target_names : ndarray of shape (n_targets,)
        Labels of the classes; one name where the target is a number.
    values : ndarray of shape (n_values,)
        Values of all shapelets in turn, each with mean 0 and standard deviation 1; a
        flat one is 0.
    offsets : ndarray of shape (n_shapelets + 1,), int64
        Where each begins in ``values``, and the end of the last.
    case, channel, start : ndarray of shape (n_shapelets,), int64
        Training series, channel and time point that each starts at.
    target : ndarray of shape (n_shapelets,), int64
        Position in ``target_names`` of the class that each comes from.
    quality : ndarray of shape (n_shapelets,)
        How well its distances separate the targets; larger is better.
    threshold : ndarray of shape (n_shapelets,)
        Distance up to which a series counts as having it.
    quality_name : str
        What the quality is.
    spread : ndarray of shape (n_shapelets, n_groups, 5)
        Minimum, quartiles and maximum over the training series: of the distances in
        each class, or, with ``numeric``, of the targets of those that have the
        shapelet and of those that don't.
    numeric : bool, default=False
        Whether the target is a number.
    source : ndarray of shape (n_shapelets,), int64
        Position of its training series' channel among the sources.
    source_values : ndarray of shape (n_source_values,)
        Values of the channels that shapelets come from, in turn, in the user's units.
    source_offsets : ndarray of shape (n_sources + 1,), int64
        Where each of them begins.
    distance : ndarray of shape (n_rows, n_shapelets), default=None
        Root of the mean squared difference between a shapelet and the nearest window
        of a row, both normalised: 0 for the same shape, up to 2.
    location : ndarray of shape (n_rows, n_shapelets), int64, default=None
        Time point at which that window starts. Negative where a row is shorter than
        the shapelet: it matches so many points after the shapelet's start.
    row_values : ndarray, default=None
        Values of the rows: row by row, within a row channel by channel.
    row_lengths : ndarray of shape (n_rows,), int64, default=None
        Number of time points of each row.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of shapelets.
    n_shapelets : int
        Number of shapelets.

    See Also
    --------
    Attribution : A number per feature.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import ShapeletSet
    >>> peak = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> shapelets = ShapeletSet(
    ...     scope="global",
    ...     feature_names=("pulse",),
    ...     target_names=np.array(["ill", "well"]),
    ...     values=peak,
    ...     offsets=[0, 4],
    ...     case=[7],
    ...     channel=[0],
    ...     start=[2],
    ...     target=[0],
    ...     quality=[0.9],
    ...     threshold=[0.4],
    ...     quality_name="information gain",
    ...     spread=[[[0.0, 0.1, 0.2, 0.3, 0.5], [0.6, 0.7, 0.8, 0.9, 1.0]]],
    ...     source=[0],
    ...     source_values=[5.0, 5.0, 5.0, 5.0, 9.0, 9.0, 5.0],
    ...     source_offsets=[0, 7],
    ... )
    >>> print(shapelets.to_text())
    1 shapelet of class ill, best first by information gain
      s0: class ill, pulse, 4 points from time 2 of training series 7
          information gain 0.9; near up to distance 0.4; median ill 0.2, well 0.8
    """

    kind = "shapelets"

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    case: NDArray[np.int64]
    channel: NDArray[np.int64]
    start: NDArray[np.int64]
    target: NDArray[np.int64]
    quality: NDArray[np.float64]
    threshold: NDArray[np.float64]
    quality_name: str
    spread: NDArray[np.float64]
    source: NDArray[np.int64]
    source_values: NDArray[np.float64]
    source_offsets: NDArray[np.int64]
    numeric: bool = False
    distance: NDArray[np.float64] | None = None
    location: NDArray[np.int64] | None = None
    row_values: NDArray[np.float64] | None = None
    row_lengths: NDArray[np.int64] | None = None

    def _normalise(self) -> None:
        for name in FLOATS:
            self._set(name, np.asarray(getattr(self, name), dtype=np.float64))
        for name in INTEGERS:
            self._set(name, np.asarray(getattr(self, name), dtype=np.int64))
        for name, kind in zip(ROWS, (float, int, float, int), strict=True):
            given = getattr(self, name)
            if given is not None:
                dtype = np.float64 if kind is float else np.int64
                self._set(name, np.asarray(given, dtype=dtype))
        self._set("quality_name", str(self.quality_name))
        self._set("numeric", bool(self.numeric))

    def _check(self) -> None:
        n = self.n_shapelets
        flat = ("case", "channel", "start", "target", "quality", "threshold", "source")
        check_shapes({name: (getattr(self, name), (n,)) for name in flat})
        groups = 2 if self.numeric else len(self.target_names)
        check_shapes({"spread": (self.spread, (n, groups, 5))})
        check_offsets("offsets", self.offsets, n, len(self.values))
        n_sources = len(self.source_offsets) - 1
        check_offsets(
            "source_offsets", self.source_offsets, n_sources, len(self.source_values)
        )
        check_range("channel", self.channel, 0, len(self.feature_names))
        check_range("target", self.target, 0, len(self.target_names))
        check_range("source", self.source, 0, n_sources)
        ends = self.start + self.lengths
        if (self.start < 0).any() or (ends > self._source_sizes()).any():
            msg = "start: a shapelet does not lie within the series it comes from"
            raise ValueError(msg)
        self._check_rows()

    def _check_rows(self) -> None:
        given = [name for name in ROWS if getattr(self, name) is not None]
        wanted = list(ROWS) if self.scope == "local" else []
        if given != wanted:
            msg = f"scope={self.scope!r} goes with {wanted}, got {given}"
            raise ValueError(msg)
        if self.row_lengths is None or self.row_values is None:
            return
        shape = (len(self.row_lengths), self.n_shapelets)
        check_shapes(
            {
                "distance": (self.distance, shape),
                "location": (self.location, shape),
                "row_values": (self.row_values, (int(self._row_offsets()[-1]),)),
            }
        )

    def _source_sizes(self) -> NDArray[np.int64]:
        return np.diff(self.source_offsets)[self.source]

    def _row_offsets(self) -> NDArray[np.int64]:
        lengths = np.asarray(self.row_lengths, dtype=np.int64)
        return offsets_of(lengths * len(self.feature_names))

    def __len__(self) -> int:
        return self.n_shapelets if self.row_lengths is None else len(self.row_lengths)

    @property
    def n_shapelets(self) -> int:
        """Number of shapelets."""
        return len(self.case)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of time points of each shapelet."""
        return np.diff(self.offsets)

    @property
    def complexity(self) -> int:
        """Number of shapelets."""
        return self.n_shapelets

    def shape(self, k: int) -> NDArray[np.float64]:
        """Give the values of a shapelet.

        Parameters
        ----------
        k : int
            Which one.

        Returns
        -------
        ndarray of shape (n_points,)
            Normalised values.
        """
        return self.values[self.offsets[k] : self.offsets[k + 1]]

    def source_series(self, k: int) -> NDArray[np.float64]:
        """Give the channel of the training series that a shapelet comes from.

        Parameters
        ----------
        k : int
            Which shapelet.

        Returns
        -------
        ndarray of shape (n_timepoints,)
            In the user's units.
        """
        a, b = self.source_offsets[self.source[k] : self.source[k] + 2]
        return self.source_values[a:b]

    def row_series(self, i: int) -> NDArray[np.float64]:
        """Give a row that is explained.

        Parameters
        ----------
        i : int
            Which one.

        Returns
        -------
        ndarray of shape (n_channels, n_timepoints)
            In the user's units.

        Raises
        ------
        ValueError
            If the explanation is global.
        """
        if self.row_values is None:
            msg = "a global explanation holds no rows"
            raise ValueError(msg)
        a, b = self._row_offsets()[i : i + 2]
        return self.row_values[a:b].reshape(len(self.feature_names), -1)

    def order_of(self, i: int) -> NDArray[np.intp]:
        """Order the shapelets for a row: those that it has, best first, then the rest.

        Parameters
        ----------
        i : int
            Which row.

        Returns
        -------
        ndarray of shape (n_shapelets,)
            Positions: shapelets within their threshold, by quality, then the others,
            by how many times the threshold their distance is.
        """
        if self.distance is None:
            msg = "a global explanation holds no rows"
            raise ValueError(msg)
        share = self.distance[i] / np.maximum(self.threshold, 1e-12)
        return np.lexsort((-self.quality, np.maximum(share, 1.0)))

    def top(self, k: int) -> Self:
        """Keep the k shapelets of the best quality.

        Parameters
        ----------
        k : int
            Number of shapelets, at least 1.

        Returns
        -------
        ShapeletSet
            Of these; rows stay.
        """
        k = check_k(k)
        if k >= self.n_shapelets:
            return self
        return self._choose(np.sort(np.argsort(-self.quality, kind="stable")[:k]))

    def _choose(self, which: NDArray[np.intp]) -> Self:
        """Keep some shapelets, and the sources that they come from."""
        parts: dict[str, Any] = {n: getattr(self, n)[which] for n in PER_SHAPELET}
        counts = self.lengths[which]
        parts["values"] = self.values[ranges(self.offsets[which], counts)]
        parts["offsets"] = offsets_of(counts)
        used, parts["source"] = np.unique(parts["source"], return_inverse=True)
        sizes = np.diff(self.source_offsets)[used]
        taken = ranges(self.source_offsets[used], sizes)
        parts["source_values"] = self.source_values[taken]
        parts["source_offsets"] = offsets_of(sizes)
        if self.distance is not None and self.location is not None:
            parts["distance"] = self.distance[:, which]
            parts["location"] = self.location[:, which]
        return self._with(**parts)

    def _take(self, indices: NDArray[np.intp]) -> Self:
        if self.distance is None or self.location is None or self.row_lengths is None:
            return self._choose(indices)
        offsets, lengths = self._row_offsets(), self.row_lengths[indices]
        counts = lengths * len(self.feature_names)
        return self._with(
            distance=self.distance[indices],
            location=self.location[indices],
            row_values=np.asarray(self.row_values)[ranges(offsets[indices], counts)],
            row_lengths=lengths,
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the shapelets, or their matches, as a table.

        Returns
        -------
        pandas.DataFrame
            Global: a line per shapelet with ``shapelet``, ``class`` (unless the target
            is a number), ``channel``, ``case``, ``start``, ``length``, ``quality``,
            ``threshold``. Local: a line per row and shapelet with ``row``,
            ``shapelet``, ``class``, ``channel``, ``distance``, ``location``, ``near``.
        """
        from skinterp.explanation._shapelets_show import frame_of

        return frame_of(self)

    def to_text(self) -> str:
        """Say the shapelets, or the best matches of each row, in words.

        Returns
        -------
        str
            Two lines per shapelet; or for each row those it has and does not have.
        """
        from skinterp.explanation._shapelets_show import say_shapelets

        return say_shapelets(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shapelets on the series they come from, or matches on new rows.

        Global: for each of the best shapelets its training series, the shapelet marked,
        and beside it the distances in each class, the threshold as a line. Local: each
        row, and on it the shapelets that it has, with the one it misses most.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._shapelets_draw import draw_shapelets

        return draw_shapelets(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that matches are what is said, and what the model's outputs say.

        Shapelets have to be the normalised pieces of the series that they come from.
        The distance to the nearest window is found anew by trying every window, for a
        sample of rows and shapelets, and held against what is said and against
        ``transform``.

        Parameters
        ----------
        estimator : estimator
            The fitted transformer that was explained.
        X : array-like
            Series to try it on; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If they disagree; the message names the row and the shapelet.
        """
        from skinterp.explanation._shapelets_check import check_matches

        check_matches(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the same of the channels that the model's channels come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each channel is made from the user's.

        Returns
        -------
        ShapeletSet
            With the names of the channels as the user knows them; shapes have no unit,
            so that nothing else changes. A channel that mixes others keeps its name.
        """
        feature_map.check_size(len(self.feature_names))
        names = feature_map.names
        own = tuple(names[j] for j in feature_map.targets)
        return self._with(feature_names=own)
