"""What a pattern's symmetry was told from: angles, distances, Bragg peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import Explanation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation import FeatureMap

__all__ = ["ALARM", "Diffraction"]

# More of the attribution than this outside any peak is called an alarm.
ALARM = 0.3
# Ranges of the axis that tables and texts speak of.
N_RANGES = 35
# By how much parts may miss the difference of the logits, of (1 + its size): a
# hundredth, if the line from the background was divided finely enough.
TOLERANCE = 0.02

PER_ROW = ("values", "patterns", "targets", "base_values", "background")
PER_PEAK = ("peak_two_theta", "peak_d", "peak_share", "peak_value")
PER_SHARE = ("outside", "coverage", "zero_shift")
PER_CLASS = ("counts", "accuracy")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Diffraction(Explanation):
    """Which angles, distances of planes and Bragg peaks speak for a symmetry.

    Parameters
    ----------
    scope : {"global", "local"}
        Local: of each pattern. Global: of each class.
    feature_names : tuple of str
        Names of the points.
    target_names : ndarray of shape (n_classes,)
        Labels of the classes.
    two_theta : ndarray of shape (n_points,)
        Angles of the points, in degrees.
    wavelength : float
        In angstrom.
    values : ndarray of shape (n, n_points)
        Local: part of each point in the logit of the explained class, above the
        mean of all logits (of two classes: in its log-odds). Global: mean share of
        each point in the sizes of such parts.
    patterns : ndarray of shape (n, n_points)
        Local: intensities as given. Global: mean patterns of the classes.
    targets : ndarray of int of shape (n,)
        The class that each line speaks of, by its position in ``target_names``.
    base_values : ndarray of shape (n,), default=None
        Local: what is explained, of the background alone.
    background : ndarray of shape (n, n_points), default=None
        Local: the background, from where the parts count.
    peak_offsets : ndarray of int of shape (n + 1,), default=None
        Local, with a structure: where the peaks of each pattern begin and end.
    peak_two_theta, peak_d, peak_share, peak_value : ndarray of shape (n_peaks,), \
default=None
        Angle as shifted, distance of planes, share in the sum of absolute parts, and
        sum of the parts of each peak's window.
    peak_hkl : tuple of str, default=()
        Indices of the peaks.
    outside, coverage, zero_shift : ndarray of shape (n,), default=None
        Share of the parts in no peak's window; share of the points in one; shift of
        the pattern against the peaks, in degrees.
    counts : ndarray of shape (n_classes,), default=None
        Global: training rows of each class.
    accuracy : ndarray of shape (n_classes,), default=None
        Global: share of each class that is told right, NaN where none was tried.
    confusion : ndarray of shape (n_names, n_names), default=None
        Global: patterns by class (rows) and prediction (columns).
    confusion_names : tuple of str, default=()
        Names of its rows: classes, or the systems of space groups.
    evaluated_on : str, default=""
        Global: the rows of accuracy and confusion, "validation" or "training".
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of ranges of the axis that hold 80 per cent of the attribution.

    See Also
    --------
    XRDSymmetryClassifier : Gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd import Diffraction
    >>> told = Diffraction(
    ...     scope="local",
    ...     feature_names=("a", "b", "c"),
    ...     target_names=np.array(["cubic", "other"]),
    ...     two_theta=np.array([20.0, 30.0, 40.0]),
    ...     wavelength=1.54184,
    ...     values=np.array([[0.0, 1.5, 0.5]]),
    ...     patterns=np.array([[1.0, 100.0, 40.0]]),
    ...     targets=np.array([0]),
    ...     base_values=np.array([0.1]),
    ...     background=np.ones((1, 3)),
    ...     unit="pattern",
    ... )
    >>> print(told.to_text())
    pattern 0: cubic by 2.1 = 0.1 (background alone) + 2 (the rest)
      30 deg (d 2.979): 75.0%, in favour by 1.5
      40 deg (d 2.254): 25.0%, in favour by 0.5
    """

    kind = "diffraction"

    two_theta: NDArray[np.float64]
    wavelength: float
    values: NDArray[np.float64]
    patterns: NDArray[np.float64]
    targets: NDArray[np.int64]
    base_values: NDArray[np.float64] | None = None
    background: NDArray[np.float64] | None = None
    peak_offsets: NDArray[np.int64] | None = None
    peak_two_theta: NDArray[np.float64] | None = None
    peak_d: NDArray[np.float64] | None = None
    peak_hkl: tuple[str, ...] = ()
    peak_share: NDArray[np.float64] | None = None
    peak_value: NDArray[np.float64] | None = None
    outside: NDArray[np.float64] | None = None
    coverage: NDArray[np.float64] | None = None
    zero_shift: NDArray[np.float64] | None = None
    counts: NDArray[np.float64] | None = None
    accuracy: NDArray[np.float64] | None = None
    confusion: NDArray[np.float64] | None = None
    confusion_names: tuple[str, ...] = ()
    evaluated_on: str = ""

    def _normalise(self) -> None:
        numbers = (*PER_ROW, *PER_PEAK, *PER_SHARE, *PER_CLASS, "two_theta")
        for name in (*numbers, "confusion"):
            value = getattr(self, name)
            kind = np.int64 if name == "targets" else np.float64
            if value is not None:
                self._set(name, np.asarray(value, dtype=kind))
        if self.peak_offsets is not None:
            offsets = np.asarray(self.peak_offsets, dtype=np.int64)
            self._set("peak_offsets", offsets)
        self._set("wavelength", float(self.wavelength))
        for name in ("peak_hkl", "confusion_names"):
            self._set(name, tuple(str(one) for one in getattr(self, name)))

    def _check(self) -> None:
        n, points = len(self.targets), len(self.feature_names)
        local = self.scope == "local"
        shapes: dict[str, tuple[int, ...]] = {
            "two_theta": (points,),
            "values": (n, points),
            "patterns": (n, points),
        }
        if local:
            shapes |= {"base_values": (n,), "background": (n, points)}
        else:
            classes, names = len(self.target_names), len(self.confusion_names)
            shapes |= dict.fromkeys(PER_CLASS, (classes,))
            shapes |= {"confusion": (names, names)}
        if self.peak_offsets is not None:
            n_peaks = len(self.peak_hkl)
            shapes |= dict.fromkeys(PER_PEAK, (n_peaks,))
            shapes |= dict.fromkeys(PER_SHARE, (n,)) | {"peak_offsets": (n + 1,)}
        for name, expected in shapes.items():
            got = np.shape(getattr(self, name))
            if getattr(self, name) is None or got != expected:
                msg = f"{name} has shape {got}, expected {expected}"
                raise ValueError(msg)
        known = (self.targets >= 0) & (self.targets < len(self.target_names))
        if not known.all():
            msg = (
                f"targets holds {self.targets[~known][0]}, which is no position in "
                f"{len(self.target_names)} target_names"
            )
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.targets)

    def _take(self, indices: NDArray[np.intp]) -> Self:
        rows = {
            name: getattr(self, name)[indices]
            for name in (*PER_ROW, *PER_SHARE)
            if getattr(self, name) is not None
        }
        if self.peak_offsets is None:
            return self._with(**rows)
        starts = self.peak_offsets
        chosen = [np.arange(starts[i], starts[i + 1]) for i in indices]
        peaks = np.concatenate([np.zeros(0, int), *chosen])
        rows |= {name: getattr(self, name)[peaks] for name in PER_PEAK}
        sizes = [len(one) for one in chosen]
        return self._with(
            peak_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            peak_hkl=tuple(self.peak_hkl[i] for i in peaks),
            **rows,
        )

    def top(self, k: int) -> Self:
        """Keep the cases that most need to be looked at.

        Parameters
        ----------
        k : int
            Number of cases, at least 1.

        Returns
        -------
        Diffraction
            Local: the patterns with the largest share outside any peak or, without
            peaks, those whose parts are largest. Global: the most frequent classes.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            msg = f"k={k!r} is not allowed: it must be an integer of at least 1"
            raise ValueError(msg)
        if k >= len(self):
            return self
        size = np.abs(self.values).sum(axis=1)
        if self.counts is not None:
            size = self.counts[self.targets]
        elif self.outside is not None:
            size = self.outside
        return self._take(np.argsort(-size, kind="stable")[:k])

    @property
    def complexity(self) -> int:
        """Number of ranges of the axis that hold 80 per cent of the attribution."""
        size = np.abs(self.values).sum(axis=0)
        per_range = np.sort(np.bincount(self.range_of_points(), size))[::-1]
        if not per_range.sum():
            return 0
        held = np.cumsum(per_range) / per_range.sum()
        return int(np.searchsorted(held, 0.8 - 1e-9) + 1)

    @property
    def d(self) -> NDArray[np.float64]:
        """Distance of lattice planes at each point, in angstrom."""
        sine = np.sin(np.radians(self.two_theta) / 2)
        return np.asarray(self.wavelength / (2 * sine))

    def total(self) -> NDArray[np.float64]:
        """Sum of background and parts: what raises the class above the others.

        Returns
        -------
        ndarray of shape (n,)
            The class's logit less the mean of all; of two classes its log-odds.

        Raises
        ------
        ValueError
            For a global explanation, whose shares add up to one.
        """
        if self.base_values is None:
            msg = "a global explanation has no total; explain patterns for parts"
            raise ValueError(msg)
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def range_of_points(self) -> NDArray[np.intp]:
        """Give the number of the range of the axis that each point lies in.

        Returns
        -------
        ndarray of int of shape (n_points,)
            0 to 34, of equal width in angle; no more ranges than points.
        """
        n = len(self.two_theta)
        low, high = self.two_theta[0], self.two_theta[-1]
        share = (self.two_theta - low) / max(high - low, 1e-12)
        count = min(N_RANGES, n)
        return np.minimum((share * count).astype(np.intp), count - 1)

    def ranges(self) -> pd.DataFrame:
        """Give the attribution in ranges of the axis.

        Returns
        -------
        pandas.DataFrame
            A line per case and range: the case, ``target``, ``first`` and ``last``
            (points), ``two_theta_low``, ``two_theta_high``, ``d_high``, ``d_low``,
            ``share`` of the absolute parts, and their sum, ``value``.
        """
        from skinterp_xrd._explanation_show import range_table

        return range_table(self)

    def peaks(self) -> pd.DataFrame:
        """Give the share of each Bragg peak.

        Returns
        -------
        pandas.DataFrame
            A line per pattern and peak, by angle: the pattern, ``target``, ``hkl``,
            ``d``, ``two_theta``, ``share``, ``value``.

        Raises
        ------
        ValueError
            If it was made without a structure.
        """
        from skinterp_xrd._explanation_show import peak_table

        return peak_table(self)

    def to_frame(self) -> pd.DataFrame:
        """Give the content as a table.

        Returns
        -------
        pandas.DataFrame
            Of the peaks where there are any, else of the ranges of the axis.
        """
        return self.ranges() if self.peak_offsets is None else self.peaks()

    def to_text(self) -> str:
        """Say the explanation in words.

        Returns
        -------
        str
            Local: the sum, the strongest peaks (ranges), and what falls outside.
            Global: per class its rows, accuracy and ranges; the confusion.
        """
        from skinterp_xrd._explanation_show import say_classes, say_patterns

        return say_classes(self) if self.scope == "global" else say_patterns(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the patterns, coloured by what speaks for and against.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on; the first patterns (classes), one above the other, with
            ticks at the peaks. Global: the confusion beside it.
        """
        from skinterp_xrd._explanation_plot import draw

        return draw(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that parts sum to the model's logits, and shares to one.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like
            The explained patterns.

        Raises
        ------
        AssertionError
            If a sum differs from what the model says by more than 2 per cent of
            (1 + the change from background to pattern), or shares do not sum to 1.
        """
        from skinterp_xrd._explanation_check import check_shares, check_sums

        check_shares(self)
        if self.scope == "local":
            check_sums(self, estimator, X, TOLERANCE)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Name the points as the columns that they come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each point is made from the user's columns.

        Returns
        -------
        Diffraction
            The same; a point stays a point.
        """
        feature_map.check_size(len(self.feature_names))
        names = tuple(feature_map.names[i] for i in feature_map.targets)
        return self._with(feature_names=names)
