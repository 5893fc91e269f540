"""Bayesian additive regression trees: the model, its prior, and its chains.

The model of Chipman, George and McCulloch (2010): a target scaled to [-0.5, 0.5] is a
sum of small trees and normal noise. One sweep updates each tree by a move and a draw
of its leaves, then sigma. A tree update costs O(n_rows), whatever the number of
columns: rows are kept sorted by node, and a column to split on is drawn by rejection.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.stats import chi2

from skinterp.symbolic import _bart_kernels as kernels
from skinterp.symbolic import _bart_moves as moves
from skinterp.symbolic._bart_kernels import Forest, Prior, Scratch, Table
from skinterp.symbolic._bart_random import seeded_state

Floats = NDArray[np.float64]

MAX_LEAVES = 1024  # of one tree; far beyond what the prior gives weight to
MIN_SIGMA = 1e-3  # of the target's deviation, where a linear model fits without error
STEPS_PER_CALL = 3e7  # rows times trees, about a tenth of a second
BLOCK = 256


@dataclass(frozen=True, kw_only=True)
class BartSettings:
    """Settings of the model and of a chain, with the customary prior.

    A node at depth d splits with probability ``alpha * (1 + d) ** -beta``. Leaf
    values have the standard deviation ``0.5 / (k * sqrt(n_trees))``. The prior of
    sigma squared has ``freedom`` degrees of freedom and puts ``quantile`` of its weight
    below an estimate from the data; with ``sigma``, it is fixed instead (in units of
    the scaled target).
    """

    n_trees: int = 20
    n_burn: int = 1000
    n_draws: int = 1000
    alpha: float = 0.95
    beta: float = 2.0
    k: float = 2.0
    freedom: float = 3.0
    quantile: float = 0.9
    min_leaf: int = 5
    sigma: float | None = None

    @property
    def leaf_variance(self) -> float:
        """Prior variance of a leaf's value."""
        return (0.5 / self.k) ** 2 / self.n_trees


@dataclass(frozen=True)
class ChainResult:
    """What one chain leaves behind, in units of the target it was given."""

    sigma: Floats  # (n_draws,)
    shares: Floats  # (n_columns,), mean share of the splits
    counts: NDArray[np.int64]  # (3, 2), proposed and accepted: grow, prune, change
    fitted: Floats  # (n_rows,), posterior mean
    predictions: Floats  # (n_new,)


class StopFlag:
    """Tells the chains of this process to stop; on its way to another one it is new."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __reduce__(self) -> tuple[type[StopFlag], tuple[()]]:
        return StopFlag, ()

    def set(self) -> None:
        """Stop the chains."""
        self._event.set()

    def check(self) -> None:
        """Raise KeyboardInterrupt where the chains are to stop."""
        if self._event.is_set():
            raise KeyboardInterrupt


def rank_table(X: Floats) -> Table:
    """Replace the values of each column by their ranks among its distinct values."""
    n, p = X.shape
    ranks = np.empty((p, n), np.uint16 if n <= 2**16 else np.uint32)
    for first in range(0, p, BLOCK):
        block = np.ascontiguousarray(X[:, first : first + BLOCK].T)
        order = np.argsort(block, axis=1, kind="stable")
        values = np.take_along_axis(block, order, axis=1)
        steps = np.zeros(block.shape, ranks.dtype)
        np.cumsum(values[:, 1:] != values[:, :-1], axis=1, out=steps[:, 1:])
        np.put_along_axis(ranks[first : first + BLOCK], order, steps, axis=1)
    n_distinct = ranks.max(axis=1).astype(np.int32) + np.int32(1)
    usable = np.flatnonzero(n_distinct > 1).astype(np.int32)
    return Table(ranks, n_distinct, usable)


def rank_rows(X_new: Floats, X: Floats) -> NDArray[np.uint32]:
    """Ranks of new rows among the values of the training table.

    A value up to a training value has at most its rank, so that tests decide alike.
    """
    ranks = np.empty(X_new.T.shape, np.uint32)
    for j in range(X.shape[1]):
        ranks[j] = np.searchsorted(np.unique(X[:, j]), X_new[:, j], side="left")
    return ranks


def sigma_estimates(X: Floats, targets: Floats) -> Floats:
    """Estimate the noise of each target, a column of ``targets``, for sigma's prior.

    Residual deviation of a linear model where there are fewer columns than rows, else
    the deviation of the target.
    """
    n, p = X.shape
    spread = targets.std(axis=0, ddof=1)
    if p + 1 >= n:
        return spread
    # twice, so that neither huge nor tiny cells overflow or vanish
    centered = X / _largest(X)
    centered -= centered.mean(axis=0)
    centered /= _largest(centered)
    rest = targets - targets.mean(axis=0)
    coef, _, rank, _ = lstsq(centered, rest, lapack_driver="gelsy")
    squares = ((rest - centered @ coef) ** 2).sum(axis=0)
    sigma: Floats = np.sqrt(squares / max(n - 1 - rank, 1))
    return np.maximum(sigma, MIN_SIGMA * spread)


def _largest(X: Floats) -> Floats:
    """Largest size of a cell of each column; 1 for a column of zeros."""
    size = np.abs(X).max(axis=0)
    return np.where(size > 0, size, 1.0)


def log_grow_ratios(settings: BartSettings, n_depths: int) -> Floats:
    """Log prior odds of a split with two leaves against a leaf, at each depth."""
    depth = np.arange(n_depths, dtype=np.float64)
    here = settings.alpha * (1.0 + depth) ** -settings.beta
    below = settings.alpha * (2.0 + depth) ** -settings.beta
    return np.log(here) + 2.0 * np.log1p(-below) - np.log1p(-here)


def make_prior(settings: BartSettings, sigma_hat: float, n_rows: int) -> Prior:
    """Constants of the model for a target with an estimate of its noise."""
    leaves = max_leaves(settings, n_rows)
    tail = chi2.ppf(1.0 - settings.quantile, settings.freedom) / settings.freedom
    return Prior(
        log_grow=log_grow_ratios(settings, leaves + 1),
        leaf_variance=settings.leaf_variance,
        freedom=float(settings.freedom),
        scale=float(sigma_hat**2 * tail),
        min_leaf=settings.min_leaf,
        draw_sigma=settings.sigma is None,
    )


def max_leaves(settings: BartSettings, n_rows: int) -> int:
    """Largest number of leaves of a tree."""
    return min(max(n_rows // settings.min_leaf, 1), MAX_LEAVES)


def start_forest(target: Floats, settings: BartSettings, sigma: float) -> Forest:
    """Trees without a split, which say zero."""
    n, m = len(target), settings.n_trees
    slots = 2 * max_leaves(settings, n) - 1
    nodes = np.zeros((m, slots, kernels.N_FIELDS), np.int32)
    nodes[:, :, kernels.COLUMN] = kernels.FREE
    nodes[:, 0, kernels.COLUMN] = kernels.LEAF
    nodes[:, 0, kernels.PARENT] = -1
    nodes[:, 0, kernels.STOP] = n
    return Forest(
        nodes=nodes,
        values=np.zeros((m, slots)),
        order=np.tile(np.arange(n, dtype=np.uint32), (m, 1)),
        leaf_of=np.zeros((m, n), np.uint16),
        top=np.ones(m, np.int32),
        residual=np.array(target, np.float64),
        sigma2=np.array([sigma**2]),
        counts=np.zeros((3, 2), np.int64),
    )


def make_scratch(forest: Forest) -> Scratch:
    """Memory that the moves on a forest work in."""
    slots, n = forest.values.shape[1], len(forest.residual)
    return Scratch(
        sums=np.zeros((slots, kernels.LANES)),
        total=np.zeros(slots),
        shift=np.zeros(slots),
        rows=np.empty(n, np.uint32),
        seen=np.zeros(n, np.uint8),
        distinct=np.empty(n, np.uint32),
    )


def run_chain(
    table: Table,
    y: Floats,
    settings: BartSettings,
    sigma_hat: float,
    seed: np.random.SeedSequence,
    *,
    new_ranks: NDArray[np.uint32] | None = None,
    stop: StopFlag | None = None,
) -> ChainResult:
    """Run one chain on a target that varies."""
    stop = StopFlag() if stop is None else stop
    stop.check()
    low, width = float(y.min()), float(np.ptp(y))
    target = (y - low) / width - 0.5
    # far beyond what can matter, and squares still are numbers
    estimate = min(max(sigma_hat / width, 1e-100), 1e100)
    prior = make_prior(settings, estimate, len(y))
    start = estimate if settings.sigma is None else settings.sigma
    forest = start_forest(target, settings, start)
    state = seeded_state(seed)
    fixed = (table, forest, make_scratch(forest), prior, state)
    if new_ranks is None:
        new_ranks = np.empty((len(table.ranks), 0), np.uint32)
    sigma = np.empty(settings.n_draws)
    shares, left_over = np.zeros(len(table.ranks)), np.zeros(len(y))
    predictions = np.zeros(new_ranks.shape[1])
    step = max(1, int(STEPS_PER_CALL / (len(y) * settings.n_trees)))
    for done in range(0, settings.n_burn, step):
        stop.check()
        moves.run_sweeps(*fixed, min(step, settings.n_burn - done))
    for done in range(0, settings.n_draws, step):
        stop.check()
        part = sigma[done : done + step]
        moves.run_draws(*fixed, part, shares, left_over, new_ranks, predictions)
    n_draws = max(settings.n_draws, 1)
    return ChainResult(
        sigma=sigma * width,
        shares=shares / n_draws,
        counts=forest.counts,
        fitted=y - left_over / n_draws * width,
        predictions=(predictions / n_draws + 0.5) * width + low,
    )


def run_chains(
    table: Table,
    targets: Sequence[Floats],
    settings: BartSettings,
    sigma_hats: Floats,
    seeds: Sequence[np.random.SeedSequence],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    what: str = "BART chains",
) -> list[ChainResult]:
    """Run one chain per target, in parallel, each from its own seed."""
    stop = StopFlag()
    tasks = (
        delayed(run_chain)(table, y, settings, float(sigma), seed, stop=stop)
        for y, sigma, seed in zip(targets, sigma_hats, seeds, strict=True)
    )
    # the bar needs results one by one, which not every back end gives
    return_as = "generator" if verbose else "list"
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)
    try:
        return list(_progress(parallel(tasks), len(seeds), verbose, what))
    except BaseException:
        stop.set()
        raise


def _progress(results: Any, total: int, verbose: int, what: str) -> Any:
    """Show how many chains are done, and the time left."""
    if not verbose:
        return results
    from tqdm import tqdm

    return tqdm(results, total=total, desc=what, unit="chain")
