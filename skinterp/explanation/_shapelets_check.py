"""Whether shapelets are pieces of their series, and match where it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skinterp.explanation._shapelets import ShapeletSet

Floats = NDArray[np.float64]
CLOSE = 1e-7
MAX_PAIRS = 400
# What counts as flat: a deviation below this share of the largest deviation, or below
# what rounding leaves of the largest value.
SHARE, ROUNDING = 1e-10, 4 * np.finfo(float).eps


def check_matches(told: ShapeletSet, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first shapelet of which a wrong thing is said."""
    _check_pieces(told)
    if told.distance is None or told.location is None:
        last, rows = _last_step(estimator, X)
        explained = last.explain(rows)
        if explained.n_shapelets == told.n_shapelets:
            _check_pairs(told, explained, None)
        return
    _check_pairs(told, told, _outputs(told, estimator, X))


def _outputs(told: ShapeletSet, estimator: Any, X: Any) -> tuple[str, Floats] | None:
    """What ``transform`` gives, where the explanation tells of all its columns."""
    if not hasattr(estimator, "transform"):
        return None
    output = np.asarray(estimator.transform(X), dtype=np.float64)
    if told.distance is None or output.shape != told.distance.shape:
        return None
    return str(getattr(_last_step(estimator)[0], "output", "distance")), output


def _last_step(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """Estimator at the end of a pipeline, and what the steps before make of X."""
    while hasattr(estimator, "steps"):
        if X is not None and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    return estimator, X


def _check_pieces(told: ShapeletSet) -> None:
    for k in range(told.n_shapelets):
        series, length = told.source_series(k), int(told.lengths[k])
        piece = series[told.start[k] : told.start[k] + length]
        expected = normalise(piece[None], flat_below(series))[0]
        if not np.allclose(told.shape(k), expected, atol=CLOSE, rtol=0):
            msg = (
                f"shapelet {k} is not the piece of series {told.case[k]} that is named"
            )
            raise AssertionError(msg)


def _check_pairs(
    told: ShapeletSet, matched: ShapeletSet, outputs: tuple[str, Floats] | None
) -> None:
    n = len(matched) * told.n_shapelets
    for at in np.unique(np.linspace(0, n - 1, min(n, MAX_PAIRS)).astype(int)):
        i, k = divmod(int(at), told.n_shapelets)
        series = matched.row_series(i)[told.channel[k]]
        expected, offset = nearest(series, told.shape(k))
        got = float(np.asarray(matched.distance)[i, k])
        place = int(np.asarray(matched.location)[i, k])
        where = f"row {i}, shapelet {k}"
        if abs(got - expected) > CLOSE:
            msg = f"{where}: the distance is {expected:.9g}, not {got:.9g}"
            raise AssertionError(msg)
        if (
            place != offset
            and abs(_at(series, told.shape(k), place) - expected) > CLOSE
        ):
            msg = f"{where}: the nearest window is at {offset}, not at {place}"
            raise AssertionError(msg)
        if outputs is not None:
            _check_output(told, outputs, i, k, got, place)


def _check_output(
    told: ShapeletSet,
    outputs: tuple[str, Floats],
    i: int,
    k: int,
    distance: float,
    place: int,
) -> None:
    name, output = outputs
    said = {
        "distance": distance,
        "predicate": float(distance <= told.threshold[k]),
        "location": float(place),
    }[name]
    if said != output[i, k]:
        msg = f"row {i}, shapelet {k}: transform gives {output[i, k]}, not {said}"
        raise AssertionError(msg)


def flat_below(series: Floats) -> float:
    """Deviation up to which a window of a series counts as flat."""
    unit = float(np.abs(series).max()) or 1.0
    largest = np.abs(series / unit - (series / unit).mean()).max() * unit
    return max(SHARE * float(largest), ROUNDING * unit)


def normalise(windows: Floats, flat: float) -> Floats:
    """Take windows, as rows, off their means and over their deviations; flat ones 0."""
    # the first point off first, so that values far from 0 are not rounded
    windows = windows - windows[:, :1]
    centred = windows - windows.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    flats = deviation <= flat
    return np.where(flats, 0.0, centred / np.where(flats, 1.0, deviation))


def distances(series: Floats, shape: Floats) -> Floats:
    """Distance of a shapelet to every window, or of its windows to a short series."""
    flat = flat_below(series)
    if len(series) < len(shape):
        windows = normalise(sliding_window_view(shape, len(series)), SHARE)
        whole = normalise(series[None], flat)
        short: Floats = np.sqrt(((windows - whole) ** 2).mean(axis=1))
        return short
    windows = normalise(sliding_window_view(series, len(shape)), flat)
    found: Floats = np.sqrt(((windows - shape) ** 2).mean(axis=1))
    return found


def nearest(series: Floats, shape: Floats) -> tuple[float, int]:
    """Least distance and its offset, as ``location`` counts it."""
    found = distances(series, shape)
    at = int(np.flatnonzero(found <= found.min() + 1e-9)[0])
    return float(found.min()), -at if len(series) < len(shape) else at


def _at(series: Floats, shape: Floats, place: int) -> float:
    return float(distances(series, shape)[abs(place)])
