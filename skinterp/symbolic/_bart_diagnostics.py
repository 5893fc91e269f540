"""How well chains agree, and how many independent draws they are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def split_r_hat(draws: Floats) -> float:
    """Gelman and Rubin's potential scale reduction of half chains.

    ``draws`` has the shape (n_chains, n_draws). Near 1 where the halves look alike;
    NaN for fewer than four draws.
    """
    halves = _halves(draws)
    n = halves.shape[1]
    if n < 2:
        return float("nan")
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def effective_size(draws: Floats) -> float:
    """Effective number of independent draws, by Geyer's initial monotone sequence.

    From the autocorrelations of all half chains together, as in Stan; NaN for fewer
    than eight draws.
    """
    halves = _halves(draws)
    m, n = halves.shape
    if n < 4:
        return float("nan")
    covariance = _autocovariance(halves)
    within = covariance[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + halves.mean(axis=1).var(ddof=1)
    if total == 0.0:
        return float(m * n)
    rho = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    if len(negative):
        pairs = pairs[: negative[0]]
    time = 2.0 * np.minimum.accumulate(pairs).sum() - 1.0
    # more than this many is noise of the estimate
    return float(min(m * n / max(time, 1e-12), m * n * np.log10(m * n)))


def _halves(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _autocovariance(draws: Floats) -> Floats:
    """Autocovariance of each row, with n in the denominator."""
    n = draws.shape[1]
    centered = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * n, axis=1)
    power = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n]
    covariance: Floats = power / n
    return covariance
