"""Short pieces of time series whose presence tells classes apart."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import (
    Integral,
    Interval,
    Real,
    RealNotInt,
    StrOptions,
    check_is_fitted,
    check_parameter,
    fit_context,
)
from skinterp.explanation import ShapeletSet
from skinterp.series import _shapelet_explain
from skinterp.series._containers import SeriesSet, as_series, check_channels
from skinterp.series._shapelet_inputs import (
    MIN_TIMEPOINTS,
    QUALITIES,
    longest_shapelet,
    measure,
    read_target,
)
from skinterp.series._shapelet_plan import (
    least_distances,
    normalised,
    pack_series,
    pack_shapelets,
)
from skinterp.series._shapelet_search import Found, sample_candidates, search

OUTPUTS = ("distance", "predicate", "location")


class ShapeletTransformer(ExplainableMixin, TransformerMixin, BaseEstimator):
    """Distances of time series to shapelets: short pieces that tell classes apart.

    Draws pieces of the training series at random, measures how near each series comes
    to each of them anywhere in time, whatever their level and scale, and keeps those
    whose distances separate the classes (or order a numeric target) best. Each output
    reads as "the series has a piece like this one", so that a linear model or a tree
    behind it can be read as well.

    Parameters
    ----------
    n_candidates : int, default=1000
        Number of pieces to try.
    n_shapelets : int, default=100
        Number of shapelets to keep for each class; of all where the target is a
        number. None keeps all that separate anything.
    min_length : int, default=3
        Least number of time points of a shapelet, at least 3.
    max_length : int or float, default=None
        Largest number of time points, or, as a float, the share of the longest
        training series. None allows whole series.
    quality : {"auto", "information_gain", "multiclass_information_gain", \
"f_statistic", "variance_reduction"}, default="auto"
        How a candidate is rated by its distances to the training series:

        - "information_gain": best split between the class of its series and the rest;
        - "multiclass_information_gain": best split between all classes;
        - "f_statistic": variance between classes over variance within, no split;
        - "variance_reduction": share of the variance of a number that the best split
          explains.

        "auto" takes the first for classes and the last for numbers.
    target : {"auto", "classes", "numbers"}, default="auto"
        How y is read; "auto" takes floats with a fraction for numbers.
    output : {"distance", "predicate", "location"}, default="distance"
        What ``transform`` gives for each shapelet: the distance; 1 where it is at most
        the threshold of the best split, else 0; or the offset of the nearest window.
    max_time : float, default=None
        Seconds after which no more candidates are tried. The candidates that are then
        left out depend on the machine; None tries all.
    n_jobs : int, default=None
        Number of threads, by joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the candidates, all of which are drawn before any is measured.
    verbose : int, default=0
        Above 0, show how many candidates are done and the time left.

    Attributes
    ----------
    shapelets_ : list of ndarray
        The shapelets, best first, each with mean 0 and standard deviation 1; a flat
        one is 0 everywhere.
    case_ : ndarray of shape (n_shapelets_,), int64
        Training series that each comes from.
    channel_ : ndarray of shape (n_shapelets_,), int64
        Channel that it comes from, and is looked for in.
    start_ : ndarray of shape (n_shapelets_,), int64
        Time point at which it starts there.
    quality_ : ndarray of shape (n_shapelets_,)
        Its quality: bits, an F statistic, or a share of the variance.
    threshold_ : ndarray of shape (n_shapelets_,)
        Distance up to which a series counts as having the shapelet.
    class_ : ndarray of shape (n_shapelets_,), int64
        Position in ``classes_`` of the class of its series; 0 for numbers.
    classes_ : ndarray of shape (n_classes,)
        The classes; not there for numbers.
    n_shapelets_ : int
        Number of shapelets that are kept.
    n_candidates_ : int
        Number of candidates that were tried.
    n_channels_ : int
        Number of channels.
    n_timepoints_in_ : int
        Number of time points of the longest training series.

    See Also
    --------
    skinterp.trees.BooleanTreeClassifier : Reads rules off ``output="predicate"``.

    Notes
    -----
    The distance of a shapelet s of L points to a series is ::

        min over t of sqrt( mean over j of (s_j - z_tj)^2 )

    with z_t the window of L points from t on, less its mean and over its standard
    deviation. It lies between 0 (the same shape) and 2 (its mirror image), and is the
    Euclidean distance over sqrt(L), so that shapelets of different lengths compare.
    Flat windows normalise to 0, and are at the distance 1 from any shapelet that is
    not flat: a window is flat if its deviation is below 1e-10 of the largest deviation
    of its series from its mean, or below what rounding leaves of the series' values. A
    series shorter than the shapelet slides over the shapelet instead, and its offset is
    negative; series of less than three points are refused. Distances that differ by
    less than 1e-9 count as equal: of equal windows the first one counts, and no split
    lies between equal distances.

    Candidates have one of few lengths, drawn evenly from the range, about 32 candidates
    for each. Mean, deviation and 16 means of segments of the windows of a series are
    found once for each length, by cumulative sums, in O(n_timepoints). A scalar product
    of these bounds the distance of each window to a candidate (the rest by the
    inequality of Cauchy and Schwarz); only blocks of windows whose bound allows it are
    measured, in float32 with a bound on its rounding, and only those that may be the
    nearest in float64. With n series of m points and C channels, C K candidates of L
    points cost O(n K C m) for smooth series, and at most O(n K C (m - L) L) with some
    30 products in a nanosecond. Memory is O(n n_candidates).

    With "information_gain", candidates that cannot be among the ``n_shapelets`` best of
    their class any more, by what the best so far reach, are given up after half of the
    series, where that has given up a fifth of the candidates before.

    Of shapelets of one series and channel that overlap, the best is kept, and of
    shapelets of the same values as well. Of equal qualities the one with the wider gap
    between near and far comes first, then the shorter, then that of the earlier series.

    References
    ----------
    .. [1] Hills, J., Lines, J., Baranauskas, E., Mapp, J., Bagnall, A. (2014).
       "Classification of time series by shapelet transformation". Data Mining and
       Knowledge Discovery 28, 851-881. doi:10.1007/s10618-013-0322-1.
    .. [2] Bostrom, A., Bagnall, A. (2017). "Binary shapelet transform for multiclass
       time series classification". Transactions on Large-Scale Data- and
       Knowledge-Centered Systems 32. doi:10.1007/978-3-662-55608-5_2.
    .. [3] Ye, L., Keogh, E. (2009). "Time series shapelets: a new primitive for data
       mining". KDD. doi:10.1145/1557019.1557122.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from skinterp.series import ShapeletTransformer
    >>> from skinterp.testing import make_data
    >>> X, y = make_data("series", n_classes=2)
    >>> X.shape
    (20, 1, 40)
    >>> shapelets = ShapeletTransformer(n_candidates=200, random_state=0)
    >>> model = make_pipeline(shapelets, RidgeClassifier()).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    explains: ClassVar = {"global": ("shapelets",), "local": ("shapelets",)}

    _parameter_constraints: ClassVar[dict] = {
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_shapelets": [Interval(Integral, 1, None, closed="left"), None],
        "min_length": [Interval(Integral, MIN_TIMEPOINTS, None, closed="left")],
        "max_length": [
            Interval(Integral, MIN_TIMEPOINTS, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        "quality": [StrOptions({"auto", *QUALITIES, "variance_reduction"})],
        "target": [StrOptions({"auto", "classes", "numbers"})],
        "output": [StrOptions(set(OUTPUTS))],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_candidates: int = 1000,
        *,
        n_shapelets: int | None = 100,
        min_length: int = 3,
        max_length: int | float | None = None,
        quality: str = "auto",
        target: str = "auto",
        output: str = "distance",
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_candidates = n_candidates
        self.n_shapelets = n_shapelets
        self.min_length = min_length
        self.max_length = max_length
        self.quality = quality
        self.target = target
        self.output = output
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find shapelets.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints) or list
            Training series; two dimensions are taken as one channel. A list holds
            arrays of shape (n_channels, n_timepoints) or (n_timepoints,), which may
            differ in length. A frame holds one series per row, or one per cell with a
            column for each channel.
        y : array-like of shape (n_cases,)
            Classes or numbers.

        Returns
        -------
        ShapeletTransformer
            The fitted transformer.

        Raises
        ------
        ValueError
            If series are too short, hold missing values, or there is one class only.
        """
        self._find(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Find shapelets and transform the training series, without measuring twice.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints) or list
            Training series, as ``fit`` takes them.
        y : array-like of shape (n_cases,)
            Classes or numbers.

        Returns
        -------
        ndarray of shape (n_cases, n_shapelets_)
            What ``transform`` gives for these series, bit by bit.
        """
        series, found = self._find(X, y)
        if self.output == "location":
            return self._output(series)
        return self._as_output(np.ascontiguousarray(found.distance.T))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Compare series with the shapelets.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints) or list
            Series of as many channels as in fit, of any length of at least 3.

        Returns
        -------
        ndarray of shape (n_cases, n_shapelets_)
            Distances, predicates (0.0 or 1.0), or offsets of the nearest windows, as
            ``output`` says.
        """
        check_is_fitted(self)
        check_parameter(self, "output")
        return self._output(self._validate_X(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the outputs.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n_shapelets_,)
            Such as "shapelet0_distance"; shapelet 0 is the best.
        """
        check_is_fitted(self)
        names = [f"shapelet{k}_{self.output}" for k in range(self.n_shapelets_)]
        return np.array(names, dtype=object)

    # -- fitting ----------------------------------------------------------------------
    def _find(self, X: Any, y: Any) -> tuple[SeriesSet, Found]:
        # an interrupted or refused fit leaves no half of an older one behind
        for name in ("shapelets_", "classes_"):
            self.__dict__.pop(name, None)
        series = as_series(X, min_length=MIN_TIMEPOINTS)
        target, classes = read_target(self, y, len(series))
        rng = check_random_state(self.random_state)
        longest = longest_shapelet(self, series)
        where = sample_candidates(
            series, self.n_candidates, self.min_length, longest, rng
        )
        found = search(
            series,
            target,
            0 if classes is None else len(classes),
            where,
            quality=measure(self, classes),
            n_shapelets=self.n_shapelets,
            max_time=self.max_time,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        if found.quality[0] <= 0.0:
            warnings.warn(
                f"no candidate of {found.n_tried} separates the targets; try more "
                "with n_candidates",
                UserWarning,
                stacklevel=3,
            )
        self._note(series, target, classes, found)
        return series, found

    def _note(self, series: SeriesSet, target: Any, classes: Any, found: Found) -> None:
        shapes, begins = normalised(pack_series(series), found.where)
        self.n_channels_ = series.n_channels
        self.n_timepoints_in_ = int(series.lengths.max())
        self.case_, self.channel_ = found.where.case, found.where.channel
        self.start_ = found.where.start
        self.quality_, self.threshold_ = found.quality, found.threshold
        self.class_ = found.own
        self.n_candidates_ = found.n_tried
        self.n_shapelets_ = len(found.where)
        if classes is not None:
            self.classes_ = classes
        self._channel_names = series.channel_names
        self._spread = _shapelet_explain.spread_of(found, target, classes)
        self._sources = _shapelet_explain.sources_of(series, found.where)
        # what check_is_fitted looks for comes last
        self.shapelets_ = np.split(shapes, begins[1:-1])

    # -- using ------------------------------------------------------------------------
    def _match(
        self, series: SeriesSet, locate: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Distances and offsets of the nearest windows."""
        sizes = [len(shape) for shape in self.shapelets_]
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        plan = pack_shapelets(np.concatenate(self.shapelets_), begins, self.channel_)
        return least_distances(
            pack_series(series), plan, n_jobs=self.n_jobs, locate=locate
        )

    def _output(self, series: SeriesSet) -> NDArray[np.float64]:
        distance, location = self._match(series, self.output == "location")
        if self.output == "location":
            return location.astype(np.float64)
        return self._as_output(distance)

    def _as_output(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.output == "predicate":
            return (distance <= self.threshold_).astype(np.float64)
        return distance

    def _validate_X(self, X: Any) -> Any:
        series = as_series(X, min_length=MIN_TIMEPOINTS)
        check_channels(series, self.n_channels_)
        return series

    def _explain(self, X: SeriesSet | None, *, kind: str) -> ShapeletSet:
        return _shapelet_explain.describe(self, X)

    # -- what is told of the class ----------------------------------------------------
    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        return [
            {"n_candidates": 60, "n_shapelets": 1},
            {"n_candidates": 20, "n_shapelets": None, "output": "predicate"},
        ]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "shapelets_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        return SkinterpTags(input="series", stochastic=True)
