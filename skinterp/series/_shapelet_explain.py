"""What a fitted transform by shapelets says of itself and of series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import ShapeletSet
from skinterp.series._containers import SeriesSet
from skinterp.series._shapelet_inputs import measure
from skinterp.series._shapelet_plan import Candidates

if TYPE_CHECKING:
    from skinterp.series._shapelet_search import Found

Floats = NDArray[np.float64]
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


def spread_of(found: Found, target: Any, classes: NDArray[Any] | None) -> Floats:
    """Five quantiles per shapelet: of the distances of each class, or of the target.

    For numbers: of the targets of the series that have the shapelet, then of the rest.
    """
    if classes is not None:
        parts = [_levels(found.distance[:, target == c]) for c in range(len(classes))]
        return np.stack(parts, axis=1)
    spread = np.full((len(found.where), 2, len(LEVELS)), np.nan)
    for k, near in enumerate(found.distance <= found.threshold[:, None]):
        for side, rows in enumerate((near, ~near)):
            if rows.any():
                spread[k, side] = _levels(target[rows][None])[0]
    return spread


def _levels(values: Floats) -> Floats:
    """Quantiles along the last axis, by sorting, which is quicker than parting."""
    ordered = np.sort(values, axis=1)
    place = np.array(LEVELS) * (values.shape[1] - 1)
    low = place.astype(np.int64)
    high = np.minimum(low + 1, values.shape[1] - 1)
    below = ordered[:, low]
    return below + (place - low) * (ordered[:, high] - below)


def sources_of(
    series: SeriesSet, where: Candidates
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Copy the channels that shapelets come from: which, their values and offsets."""
    pairs = np.column_stack([where.case, where.channel])
    unique, index = np.unique(pairs, axis=0, return_inverse=True)
    parts = [series[int(i)][c] for i, c in unique]
    sizes = [len(part) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return index.ravel().astype(np.int64), np.concatenate(parts), offsets


def describe(estimator: Any, series: SeriesSet | None) -> ShapeletSet:
    """Explain a fitted transformer, or where the shapelets are nearest in series."""
    index, values, offsets = estimator._sources
    sizes = [len(shape) for shape in estimator.shapelets_]
    local: dict[str, Any] = {}
    if series is not None:
        distance, location = estimator._match(series, locate=True)
        local = {
            "distance": distance,
            "location": location,
            "row_values": series.values,
            "row_lengths": series.lengths,
        }
    classes = getattr(estimator, "classes_", None)
    return ShapeletSet(
        scope="global" if series is None else "local",
        feature_names=estimator._channel_names,
        target_names=np.array(["y"]) if classes is None else classes,
        values=np.concatenate(estimator.shapelets_),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        case=estimator.case_,
        channel=estimator.channel_,
        start=estimator.start_,
        target=estimator.class_,
        quality=estimator.quality_,
        threshold=estimator.threshold_,
        quality_name=measure(estimator, classes).replace("_", " "),
        numeric=classes is None,
        spread=estimator._spread,
        source=index,
        source_values=values,
        source_offsets=offsets,
        **local,
    )
