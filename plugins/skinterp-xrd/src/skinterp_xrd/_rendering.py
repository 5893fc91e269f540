"""Many patterns at once: chunks in threads, in an order that does not matter."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from skinterp_xrd._conditions import PLACE
from skinterp_xrd._patterns import Beam, pattern_of
from skinterp_xrd._structures import Structure

# Patterns that a thread makes before it comes back for more.
CHUNK = 16

Patterns = NDArray[np.float32]


def render(
    structures: Sequence[Structure],
    groups: NDArray[np.int64],
    rows: NDArray[np.float64],
    beam: Beam,
    n_jobs: int | None,
    verbose: int,
) -> Patterns:
    """Simulate patterns.

    Parameters
    ----------
    structures : sequence of Structure
        The crystals.
    groups : ndarray of int64 of shape (n,)
        Position of each pattern's crystal.
    rows : ndarray of float64 of shape (n, n_columns)
        Conditions of each pattern.
    beam : Beam
        What is measured.
    n_jobs : int or None
        Number of threads.
    verbose : int
        Whether to show a bar.

    Returns
    -------
    ndarray of float32 of shape (n, n_points)
        The patterns. Where no reflection is in the range, zeros and a warning.
    """
    starts = range(0, len(rows), CHUNK)
    work = (
        delayed(_chunk)(
            [structures[i] for i in groups[s : s + CHUNK]], rows[s : s + CHUNK], beam
        )
        for s in starts
    )
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    patterns = np.empty((len(rows), beam.n_points), dtype=np.float32)
    results = _bar(parallel(work), len(starts), verbose)
    for start, chunk in zip(starts, results, strict=True):
        patterns[start : start + CHUNK] = chunk
    _warn_of_empty(patterns, structures, groups, rows, beam)
    return patterns


def _chunk(
    structures: Sequence[Structure], rows: NDArray[np.float64], beam: Beam
) -> Patterns:
    made = [pattern_of(s, row, beam) for s, row in zip(structures, rows, strict=True)]
    return np.array(made, dtype=np.float32)


def _bar(results: Iterable[Patterns], total: int, verbose: int) -> Iterator[Patterns]:
    if not verbose:
        return iter(results)
    from tqdm import tqdm

    return iter(tqdm(results, total=total, desc="patterns", unit="chunk"))


def _warn_of_empty(
    patterns: Patterns,
    structures: Sequence[Structure],
    groups: NDArray[np.int64],
    rows: NDArray[np.float64],
    beam: Beam,
) -> None:
    empty = np.flatnonzero(~patterns.any(axis=1))
    if not len(empty):
        return
    first = empty[0]
    shift = rows[first, PLACE["zero_shift"]]
    warnings.warn(
        f"{len(empty)} of {len(patterns)} patterns are zero, first that of structure "
        f"{groups[first]} ({structures[groups[first]]!r}): no reflection is drawn "
        f"between {beam.low:g} and {beam.high:g} degrees (zero shift {shift:.3g}).",
        stacklevel=5,
    )
