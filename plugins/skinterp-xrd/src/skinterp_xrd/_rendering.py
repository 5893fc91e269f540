"""Many patterns at once: chunks in threads, in an order that does not matter."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from skinterp_xrd._conditions import PLACE
from skinterp_xrd._patterns import PAPER_HIGHEST, Beam, pattern_of
from skinterp_xrd._sticks import check_beam
from skinterp_xrd._structures import Structure

# Patterns that a thread makes before it comes back for more.
CHUNK = 16
# Points of a pattern: steps finer than this are slips of the pen.
MOST_POINTS = 1_000_000

Patterns = NDArray[np.float32]


def beam_of(
    wavelength: float,
    two_theta: tuple[float, float],
    step: float,
    physics: str,
    normalise: str | None,
) -> Beam:
    """Check that parameters go together, and make a beam of them.

    Parameters
    ----------
    wavelength : float
        In angstrom.
    two_theta : tuple of float
        First and last angle in degrees.
    step : float
        Above 0, in degrees.
    physics : {"strict", "paper"}
        Which profiles.
    normalise : {"max100", "area"} or None
        What is made of the intensities.

    Returns
    -------
    Beam
        What is measured.

    Raises
    ------
    ValueError
        Naming the parameter, the value and what is allowed.
    """
    check_beam(wavelength, two_theta)
    low, high = map(float, two_theta)
    if physics == "paper" and high > PAPER_HIGHEST:
        raise ValueError(
            f"two_theta must end at {PAPER_HIGHEST:g} degrees at most with "
            f"physics='paper', got {two_theta!r}."
        )
    if not step <= high - low:
        raise ValueError(
            f"step must be at most the range of two_theta, {high - low:g} degrees, "
            f"got {step!r}."
        )
    beam = Beam(float(wavelength), low, high, float(step), physics, normalise)
    if beam.n_points > MOST_POINTS:
        raise ValueError(
            f"step must leave at most {MOST_POINTS:,} points from {low:g} to {high:g} "
            f"degrees, got {step!r}, which makes {beam.n_points:,}."
        )
    return beam


def positions_of(
    groups: ArrayLike | None, n_rows: int, n_structures: int
) -> NDArray[np.int64]:
    """Tell which crystal each row of conditions is for.

    Parameters
    ----------
    groups : array-like of int of shape (n_rows,) or None
        Position of each row's crystal. None takes the crystals one by one, or one
        crystal for all rows.
    n_rows, n_structures : int
        How many there are.

    Returns
    -------
    ndarray of int64 of shape (n_rows,)
        The positions.

    Raises
    ------
    ValueError
        If they are no positions, or not as many as rows.
    """
    if groups is None:
        if n_structures not in (1, n_rows):
            raise ValueError(
                f"conditions has {n_rows} rows for {n_structures} structures: pass "
                "groups, the position of each row's structure."
            )
        return np.arange(n_rows, dtype=np.int64) * (n_structures > 1)
    which = np.asarray(groups)
    whole = which.dtype.kind in "iu" or not which.size
    if (
        which.shape != (n_rows,)
        or not whole
        or (n_rows and not 0 <= which.min() <= which.max() < n_structures)
    ):
        raise ValueError(
            f"groups must name one of {n_structures} structures, by an integer from 0, "
            f"for each of {n_rows} rows of conditions, got {which.tolist()[:10]}."
        )
    return which.astype(np.int64)


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
