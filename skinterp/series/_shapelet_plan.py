"""Shapelets and series laid out for the kernels, and the work divided among threads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numba import njit
from numpy.typing import NDArray

from skinterp.explanation._ragged import ranges
from skinterp.series._containers import SeriesSet
from skinterp.series._shapelet_kernels import match_cases
from skinterp.series._shapelet_windows import BEYOND, N_SEGMENTS, TAPS

#: A window is flat if its deviation is below this share of the largest deviation of its
#: series from its mean, or below what rounding leaves of the series' largest value.
FLAT = 1e-10


@dataclass(frozen=True)
class Candidates:
    """Where shapelets are cut out: arrays of one length.

    Parameters
    ----------
    case, channel, start, length : ndarray of shape (n_shapelets,), int64
        Series, channel, first time point and number of time points.
    """

    case: NDArray[np.int64]
    channel: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.case)

    def take(self, indices: NDArray[Any]) -> Candidates:
        """Keep some."""
        return Candidates(
            self.case[indices],
            self.channel[indices],
            self.start[indices],
            self.length[indices],
        )


def pack_series(series: SeriesSet) -> tuple[Any, ...]:
    """Lay series out for the kernels: off their mean, and at most 1 in size.

    Neither changes a distance, and values far from 0, huge or tiny ones lose nothing.
    """
    offsets, lengths = series.offsets, series.lengths
    values = np.empty(len(series.values))
    flat = np.empty((len(series), series.n_channels))
    _centre(series.values, offsets, lengths, values, flat)
    coarse = np.zeros(len(values) + BEYOND, dtype=np.float32)
    coarse[: len(values)] = values
    return values, coarse, offsets, lengths, flat


@njit(cache=True, nogil=True)
def _centre(raw: Any, offsets: Any, lengths: Any, values: Any, flat: Any) -> None:
    for i in range(len(lengths)):
        n = lengths[i]
        for c in range(flat.shape[1]):
            a = offsets[i] + c * n
            largest = 0.0
            for t in range(a, a + n):
                largest = max(largest, abs(raw[t]))
            unit = largest if largest > 0.0 else 1.0
            mean = 0.0
            for t in range(a, a + n):
                mean += raw[t] / unit / n
            spread = 0.0
            for t in range(a, a + n):
                # against the raw value first: the difference of near numbers is exact
                values[t] = (
                    raw[t] - mean * unit if unit < 1e300 else raw[t] / unit - mean
                )
                spread = max(spread, abs(values[t]))
            shrink = spread if spread > 0.0 else 1.0
            for t in range(a, a + n):
                values[t] /= shrink
            size = largest / shrink if unit < 1e300 else 1.0 / shrink
            flat[i, c] = max(FLAT, 4.0 * 2.220446049250313e-16 * size)


def some_series(packed: tuple[Any, ...], which: NDArray[np.intp]) -> tuple[Any, ...]:
    """Keep some of the series; values are not copied."""
    values, coarse, offsets, lengths, flat = packed
    return values, coarse, offsets[which], lengths[which], flat[which]


def normalised(packed: tuple[Any, ...], where: Candidates) -> tuple[Any, Any]:
    """Cut out shapelets and normalise them: flat values, and where each begins."""
    begins = np.concatenate([[0], np.cumsum(where.length)]).astype(np.int64)
    shapes = np.empty(int(begins[-1]))
    values, _, offsets, lengths, flat = packed
    _cut(
        values, offsets, lengths, flat, where.case, where.channel, where.start, begins,
        shapes,
    )  # fmt: skip
    return shapes, begins


@njit(cache=True, nogil=True)
def _cut(
    values: Any, offsets: Any, lengths: Any, flat: Any, case: Any, channel: Any,
    start: Any, begins: Any, shapes: Any,
) -> None:  # fmt: skip
    for k in range(len(case)):
        i, n = case[k], begins[k + 1] - begins[k]
        a = offsets[i] + channel[k] * lengths[i] + start[k]
        mean = 0.0
        for j in range(n):
            mean += values[a + j]
        mean /= n
        rest = spread = 0.0
        for j in range(n):
            rest += values[a + j] - mean
        mean += rest / n
        for j in range(n):
            spread += (values[a + j] - mean) ** 2
        own = flat[i, channel[k]]
        scale = 0.0 if spread <= own * own * n else (n / spread) ** 0.5
        for j in range(n):
            shapes[begins[k] + j] = (values[a + j] - mean) * scale


def pack_shapelets(
    shapes: Any, begins: NDArray[np.int64], channel: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Group shapelets by channel and length, with their coarse coordinates.

    Returns
    -------
    order : ndarray of shape (n_shapelets,)
        The shapelets in the order of the groups.
    packed : tuple
        What the kernels take.
    """
    length = np.diff(begins)
    order = np.lexsort((length, channel))
    sizes = length[order]
    chosen = channel[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(sizes) != 0) | (np.diff(chosen) != 0)
    starts = np.append(np.flatnonzero(new), len(order)).astype(np.int64)
    firsts = starts[:-1]
    group_sizes, group_channels = sizes[firsts], chosen[firsts]
    share = np.arange(N_SEGMENTS + 1) / N_SEGMENTS
    edges = np.round(group_sizes[:, None] * share).astype(np.int64)
    laid = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    out = np.empty(int(laid[-1]))
    parts = np.zeros((len(order), N_SEGMENTS + 1), dtype=np.float32)
    is_flat = np.zeros(len(order), dtype=bool)
    group = np.cumsum(new) - 1
    _lay_out(shapes, begins, order, laid, edges[group], out, parts, is_flat)
    # in float32 each is filled up with zeros to whole steps of the products
    steps = -(-sizes // TAPS) * TAPS
    filled = np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)
    fine = np.zeros(int(filled[-1]), dtype=np.float32)
    fine[ranges(filled[:-1], sizes)] = out
    packed = (
        group_sizes, group_channels, starts, edges, out, laid, fine, filled, is_flat,
        parts,
    )  # fmt: skip
    return order, packed


@njit(cache=True, nogil=True)
def _lay_out(
    shapes: Any, begins: Any, order: Any, laid: Any, edges: Any, out: Any, parts: Any,
    is_flat: Any,
) -> None:  # fmt: skip
    n_segments = parts.shape[1] - 1
    for k in range(len(order)):
        a, n = begins[order[k]], laid[k + 1] - laid[k]
        square = 0.0
        for j in range(n):
            out[laid[k] + j] = shapes[a + j]
            square += shapes[a + j] ** 2
        is_flat[k] = square == 0.0
        rest = float(n)
        for s in range(n_segments):
            b, e = edges[k, s], edges[k, s + 1]
            total = 0.0
            for j in range(b, e):
                total += shapes[a + j]
            if e > b:
                total /= (e - b) ** 0.5
            parts[k, s] = total
            rest -= total * total
        parts[k, n_segments] = (max(rest, 0.0) + 2e-6 * n) ** 0.5


def least_distances(
    series: tuple[Any, ...],
    shapelets: tuple[NDArray[np.int64], tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    locate: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distance of each series to each shapelet, and the offset where it is least.

    Parameters
    ----------
    series, shapelets : tuple
        As ``pack_series`` and ``pack_shapelets`` give them.
    n_jobs : int, default=None
        Number of threads, by joblib; the result does not depend on it.
    locate : bool, default=False
        Whether to find the offsets as well.

    Returns
    -------
    distance : ndarray of shape (n_cases, n_shapelets)
        In the order in which the shapelets were given.
    location : ndarray of shape (n_cases, n_shapelets), int64
        Offsets; of shape (0, n_shapelets) unless asked for.
    """
    order, packed = shapelets
    # several parts for each thread, since some take longer
    n_threads = effective_n_jobs(n_jobs)
    cuts = _divide(series[3], 1 if n_threads == 1 else 8 * n_threads)
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_match_part)(a, b, series, packed, order, locate)
        for a, b in pairwise(cuts)
    )
    if len(parts) == 1:
        return parts[0]
    distance = np.concatenate([part[0] for part in parts])
    return distance, np.concatenate([part[1] for part in parts])


def _match_part(
    first: int, last: int, series: Any, packed: Any, order: Any, locate: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    n, width = last - first, len(packed[-1])
    distance = np.empty((n, width))
    location = np.zeros((n if locate else 0, width), dtype=np.int64)
    match_cases(first, last, series, packed, order, distance, location)
    return distance, location


def _divide(lengths: NDArray[np.int64], n_parts: int) -> list[int]:
    """Cut the cases into runs of about the same work."""
    if not len(lengths):
        return [0, 0]
    total = np.cumsum(lengths.astype(np.float64) ** 2)
    wanted = total[-1] * np.arange(1, n_parts) / n_parts
    cuts = np.searchsorted(total, wanted) + 1
    return sorted({0, len(lengths), *(int(c) for c in cuts if c < len(lengths))})
