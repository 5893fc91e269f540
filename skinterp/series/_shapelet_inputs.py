"""What the parameters and the target of a transform by shapelets mean together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from skinterp.compat import Integral

if TYPE_CHECKING:
    from skinterp.series._containers import SeriesSet

MIN_TIMEPOINTS = 3
QUALITIES = ("information_gain", "multiclass_information_gain", "f_statistic")


def read_target(
    estimator: Any, y: Any, n_cases: int
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read y as codes of classes and the classes, or as numbers and None."""
    if y is None:
        msg = f"{type(estimator).__name__} requires y to be passed, but y is None"
        raise ValueError(msg)
    y = column_or_1d(y, warn=True)
    if len(y) != n_cases:
        msg = f"X holds {n_cases} cases, y {len(y)}: they must have equal length"
        raise ValueError(msg)
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        msg = "y holds NaN or infinity"
        raise ValueError(msg)
    if _holds_numbers(estimator, y):
        return _numbers(y), None
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        msg = f"y holds one class only, {classes[0]!r}: at least two are needed"
        raise ValueError(msg)
    return codes.astype(np.int64), classes


def _holds_numbers(estimator: Any, y: NDArray[Any]) -> bool:
    if estimator.target == "auto":
        numbers = type_of_target(y) == "continuous"
        return bool(numbers or estimator.quality == "variance_reduction")
    return bool(estimator.target == "numbers")


def _numbers(y: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError) as error:
        msg = f"y must hold numbers for target='numbers', got {y.dtype} data: {error}"
        raise ValueError(msg) from error


def longest_shapelet(estimator: Any, series: SeriesSet) -> int:
    """Largest number of time points of a shapelet."""
    longest = int(series.lengths.max())
    limit = longest if estimator.max_length is None else estimator.max_length
    if not isinstance(limit, Integral):
        limit = int(limit * longest)
    if limit < estimator.min_length:
        msg = (
            f"max_length={estimator.max_length!r} allows {limit} time points, which is "
            f"less than min_length={estimator.min_length}"
        )
        raise ValueError(msg)
    return min(int(limit), max(longest, estimator.min_length))


def measure(estimator: Any, classes: NDArray[Any] | None) -> str:
    """Quality by which candidates are rated."""
    allowed = ("variance_reduction",) if classes is None else QUALITIES
    if estimator.quality == "auto":
        return allowed[0]
    if estimator.quality not in allowed:
        kind = "numbers" if classes is None else "classes"
        msg = (
            f"quality={estimator.quality!r} does not go with a target of {kind}: "
            f"allowed are {['auto', *allowed]}"
        )
        raise ValueError(msg)
    return str(estimator.quality)
