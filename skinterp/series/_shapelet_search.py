"""Which shapelets are tried, and which of them are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.series._containers import SeriesSet
from skinterp.series._shapelet_plan import (
    Candidates,
    least_distances,
    normalised,
    pack_series,
    pack_shapelets,
)
from skinterp.series._shapelet_quality import rate_candidates

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Candidates that are measured at once. Statistics of windows are shared within one
#: length, so that a part holds about as many of a length.
AT_ONCE = 1024
PER_LENGTH = 32


@dataclass(frozen=True)
class Found:
    """Shapelets with what is known of them, best first."""

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
            self.distance[:, indices],
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
    n_lengths = min(longest - shortest + 1, max(8, n_candidates // PER_LENGTH))
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
    kept: list[Found] = []
    n_tried, start = 0, time.perf_counter()
    for part in _parts(len(candidates), max_time, verbose):
        where = candidates.take(part)
        shapes, begins = normalised(packed, where)
        plan = pack_shapelets(shapes, begins, where.channel)
        distance, _ = least_distances(packed, plan, n_jobs=n_jobs)
        rated = rate_candidates(distance, y, own[part], n_classes, quality)
        n_tried += len(part)
        found = Found(where, *rated, own[part], distance, n_tried)
        # what is alike is looked for over all parts; what separates nothing can go
        some = np.flatnonzero(found.quality > 0.0)
        kept.append(found.take(some if len(some) else np.arange(min(1, len(part)))))
        if max_time is not None and time.perf_counter() - start >= max_time:
            break
    return _keep_best(_join(kept, n_tried), packed, n_shapelets)


def _parts(n: int, max_time: float | None, verbose: int) -> Iterator[NDArray[Any]]:
    """Divide the candidates; under a limit of time into many small parts."""
    size = AT_ONCE if max_time is None else 128
    parts: Any = np.array_split(np.arange(n), max(1, round(n / size)))
    if verbose:
        from tqdm import tqdm

        parts = tqdm(parts, desc="shapelets", unit="part")
    yield from parts


def _join(found: list[Found], n_tried: int) -> Found:
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
        np.concatenate([one.distance for one in found], axis=1),
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
    taken: dict[tuple[int, int], list[tuple[int, int]]] = {}
    seen: set[tuple[int, bytes]] = set()
    counts: dict[int, int] = {}
    chosen = []
    for k in order:
        label = int(found.own[k])
        if n_shapelets is not None and counts.get(label, 0) >= n_shapelets:
            continue
        channel = int(where.channel[k])
        values = np.round(shapes[begins[k] : begins[k + 1]], 9) + 0.0
        look = (channel, values.tobytes())
        spans = taken.setdefault((int(where.case[k]), channel), [])
        first = int(where.start[k])
        last = first + int(where.length[k])
        if look in seen or any(a < last and first < b for a, b in spans):
            continue
        seen.add(look)
        spans.append((first, last))
        counts[label] = counts.get(label, 0) + 1
        chosen.append(k)
    return found.take(np.array(chosen, dtype=np.int64))


def _rounded(quality: Floats) -> Floats:
    """Qualities to ten digits: rounding decides no order."""
    finite = np.where(np.isfinite(quality), quality, 0.0)
    size = 10.0 ** np.ceil(np.log10(np.maximum(np.abs(finite), 1.0)))
    return np.where(np.isfinite(quality), np.round(finite / size, 10) * size, quality)
