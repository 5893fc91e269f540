"""Which shapelets are tried, and which of them are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp.series._containers import SeriesSet
from skinterp.series._shapelet_plan import (
    Candidates,
    least_distances,
    normalised,
    pack_series,
    pack_shapelets,
    some_series,
)
from skinterp.series._shapelet_pruning import Pruning
from skinterp.series._shapelet_quality import rate_candidates

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Candidates that are measured at once. Statistics of windows are shared within one
#: length, so that a part holds about as many of a length.
AT_ONCE = 512
PER_LENGTH = 32
#: Shapelets whose values differ by less are one.
SAME = 1e-9


@dataclass(frozen=True)
class Found:
    """Shapelets with what is known of them; a row of distances for each."""

    where: Candidates
    quality: Floats
    threshold: Floats
    gap: Floats
    own: Integers
    distance: Floats
    n_tried: int

    def take(self, indices: NDArray[Any]) -> Found:
        """Keep some."""
        return Found(
            self.where.take(indices),
            self.quality[indices],
            self.threshold[indices],
            self.gap[indices],
            self.own[indices],
            self.distance[indices],
            self.n_tried,
        )


def sample_candidates(
    series: SeriesSet, n_candidates: int, shortest: int, longest: int, rng: Any
) -> Candidates:
    """Draw pieces of series, as many of each series as of any other.

    Lengths come from a few that are spread evenly over the range, one drawn at random
    in each stratum, since pieces of one length share most of the work.
    """
    long_enough = np.flatnonzero(series.lengths >= shortest)
    if not len(long_enough):
        msg = (
            f"no series has {shortest} time points, the least length of a shapelet; "
            f"the longest has {series.lengths.max()}: lower min_length"
        )
        raise ValueError(msg)
    lengths = _draw_lengths(n_candidates, shortest, longest, rng)
    rounds = -(-n_candidates // len(long_enough))
    case = np.concatenate([rng.permutation(long_enough) for _ in range(rounds)])
    case = case[:n_candidates]
    sizes = series.lengths[case]
    # the lengths that fit into each series; one too short for any gives itself
    fitting = np.searchsorted(lengths, sizes, side="right")
    share = rng.uniform(size=(2, n_candidates))
    drawn = lengths[(share[0] * fitting).astype(np.int64)]
    length = np.where(fitting > 0, drawn, sizes)
    start = (share[1] * (sizes - length + 1)).astype(np.int64)
    channel = rng.randint(0, series.n_channels, size=n_candidates)
    return Candidates(case.astype(np.int64), channel.astype(np.int64), start, length)


def _draw_lengths(n_candidates: int, shortest: int, longest: int, rng: Any) -> Integers:
    n_lengths = min(longest - shortest + 1, max(8, n_candidates // PER_LENGTH), 64)
    place = (np.arange(n_lengths) + rng.uniform(size=n_lengths)) / n_lengths
    return np.unique(shortest + (place * (longest - shortest + 1)).astype(np.int64))


def search(
    series: SeriesSet,
    y: Any,
    n_classes: int,
    candidates: Candidates,
    *,
    quality: str,
    n_shapelets: int | None,
    max_time: float | None,
    n_jobs: int | None,
    verbose: int,
) -> Found:
    """Measure and rate candidates, and keep the best that are not alike."""
    packed = pack_series(series)
    own = y[candidates.case] if n_classes else np.zeros(len(candidates), np.int64)
    # the bound is one of this quality
    pruning = None
    if quality == "information_gain" and n_shapelets is not None:
        pruning = Pruning(y, n_classes, n_shapelets)
    kept: list[Found] = []
    n_tried, start = 0, time.perf_counter()
    for part in _parts(len(candidates), max_time, verbose):
        where = candidates.take(part)
        n_tried += len(part)
        distance, hopeful = _measure(packed, where, own[part], pruning, n_jobs)
        part, where = part[hopeful], where.take(hopeful)
        rated = rate_candidates(distance, y, own[part], n_classes, quality)
        found = Found(where, *rated, own[part], distance, n_tried)
        # what is alike is looked for over all parts; what separates nothing can go
        some = np.flatnonzero(found.quality > 0.0)
        if len(some) < len(part):
            found = found.take(some if len(some) else np.arange(min(1, len(part))))
        kept.append(found)
        if pruning is not None:
            pruning.learn(kept)
        if max_time is not None and time.perf_counter() - start >= max_time:
            break
    return _keep_best(_join(kept, n_tried), packed, n_shapelets)


def _measure(
    packed: Any,
    where: Candidates,
    own: Integers,
    pruning: Pruning | None,
    n_jobs: int | None,
) -> tuple[Floats, NDArray[np.intp]]:
    """Distances of the candidates that may be among the best, and which these are."""
    plan = _plan_of(packed, where)
    if pruning is None or not pruning.is_worth_it:
        matched, _ = least_distances(packed, plan, n_jobs=n_jobs)
        return np.ascontiguousarray(matched.T), np.arange(len(own))
    first, rest = pruning.first, pruning.rest
    seen, _ = least_distances(some_series(packed, first), plan, n_jobs=n_jobs)
    seen = np.ascontiguousarray(seen.T)
    hopeful = pruning.hopeful(seen, own)
    distance = np.empty((len(hopeful), len(first) + len(rest)))
    distance[:, first] = seen[hopeful]
    if len(hopeful) and len(rest):
        fewer = _plan_of(packed, where.take(hopeful))
        others, _ = least_distances(some_series(packed, rest), fewer, n_jobs=n_jobs)
        distance[:, rest] = others.T
    return distance, hopeful


def _plan_of(packed: Any, where: Candidates) -> Any:
    shapes, begins = normalised(packed, where)
    return pack_shapelets(shapes, begins, where.channel)


def _parts(n: int, max_time: float | None, verbose: int) -> Iterator[NDArray[Any]]:
    """Divide the candidates; under a limit of time into many small parts."""
    size = AT_ONCE if max_time is None else 128
    parts: Any = np.array_split(np.arange(n), max(1, round(n / size)))
    if verbose:
        from tqdm import tqdm

        parts = tqdm(parts, desc="shapelets", unit="part")
    yield from parts


def _join(found: list[Found], n_tried: int) -> Found:
    if len(found) == 1:
        return found[0]
    where = [one.where for one in found]
    return Found(
        Candidates(
            np.concatenate([w.case for w in where]),
            np.concatenate([w.channel for w in where]),
            np.concatenate([w.start for w in where]),
            np.concatenate([w.length for w in where]),
        ),
        np.concatenate([one.quality for one in found]),
        np.concatenate([one.threshold for one in found]),
        np.concatenate([one.gap for one in found]),
        np.concatenate([one.own for one in found]),
        np.concatenate([one.distance for one in found]),
        n_tried,
    )


def _keep_best(found: Found, packed: Any, n_shapelets: int | None) -> Found:
    """The best of each class that neither overlap nor have the same values."""
    where = found.where
    # one order of ties: the wider gap, then the shorter, then the earlier
    order = np.lexsort(
        (
            where.start,
            where.channel,
            where.case,
            where.length,
            -np.round(found.gap, 8),
            -_rounded(found.quality),
        )
    )
    shapes, begins = normalised(packed, where)
    most = len(where) if n_shapelets is None else n_shapelets
    chosen = _choose(
        order, where.case, where.channel, where.start, begins, shapes, found.own, most
    )
    return found.take(chosen)


@njit(cache=True, nogil=True)
def _choose(
    order: Any, case: Any, channel: Any, start: Any, begins: Any, shapes: Any, own: Any,
    most: int,
) -> Any:  # fmt: skip
    """Go down the order; leave out what overlaps, or is equal to, what was taken."""
    n = len(order)
    n_channels = channel.max() + 1
    # chains of what was taken: of one series and channel, and of one channel and length
    last_of_source = np.full((case.max() + 1) * n_channels, -1)
    last_of_length = np.full((np.diff(begins).max() + 1) * n_channels, -1)
    before, before_of_length = np.full(n, -1), np.full(n, -1)
    counts = np.zeros(own.max() + 1, np.int64)
    chosen, n_chosen = np.empty(n, np.int64), 0
    for k in order:
        size = begins[k + 1] - begins[k]
        source = case[k] * n_channels + channel[k]
        shared = size * n_channels + channel[k]
        if counts[own[k]] >= most:
            continue
        other = last_of_source[source]
        while other >= 0:
            end = start[other] + begins[other + 1] - begins[other]
            if start[other] < start[k] + size and start[k] < end:
                break
            other = before[other]
        if other >= 0:
            continue
        other = last_of_length[shared]
        while other >= 0:
            off = 0.0
            for j in range(size):
                off = max(off, abs(shapes[begins[other] + j] - shapes[begins[k] + j]))
                if off > SAME:
                    break
            if off <= SAME:
                break
            other = before_of_length[other]
        if other >= 0:
            continue
        before[k], last_of_source[source] = last_of_source[source], k
        before_of_length[k], last_of_length[shared] = last_of_length[shared], k
        counts[own[k]] += 1
        chosen[n_chosen] = k
        n_chosen += 1
    return chosen[:n_chosen]


def _rounded(quality: Floats) -> Floats:
    """Qualities to ten digits: rounding decides no order."""
    finite = np.where(np.isfinite(quality), quality, 0.0)
    size = 10.0 ** np.ceil(np.log10(np.maximum(np.abs(finite), 1.0)))
    return np.where(np.isfinite(quality), np.round(finite / size, 10) * size, quality)
