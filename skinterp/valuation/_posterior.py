"""Gaussian process over arms: its variances, its posterior, what it says of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular

from skinterp.valuation._bandit_kernels import shrink

Floats = NDArray[np.float64]

LEAST_RATIO = 0.1  # of signal to noise; few draws can hide a signal of this size
LEAST_NOISE = 1e-10  # of the rewards' mean square, where a game has no noise
RATIOS = np.logspace(-4, 4, 161)  # signal over noise, for the likelihood


@dataclass
class Pulls:
    """Rewards so far: their number, sum and sum of squares, per arm."""

    count: NDArray[np.int64]
    total: Floats
    square: Floats

    @classmethod
    def none(cls, n: int) -> Pulls:
        """Start without any."""
        return cls(np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n))

    def add(self, arm: int, reward: float) -> None:
        """Note one reward."""
        self.count[arm] += 1
        self.total[arm] += reward
        self.square[arm] += reward * reward

    @property
    def pulled(self) -> NDArray[np.intp]:
        """Arms with a reward."""
        return np.flatnonzero(self.count)

    def means(self) -> Floats:
        """Mean reward of the arms that have one."""
        at = self.pulled
        return self.total[at] / self.count[at]

    def within(self) -> tuple[float, int]:
        """Sum of squares within arms, and its degrees of freedom."""
        at = self.pulled
        rest = self.square[at] - self.total[at] ** 2 / self.count[at]
        return float(np.maximum(rest, 0.0).sum()), int(self.count[at].sum() - len(at))

    def scale(self) -> float:
        """Mean square of the rewards; 1 if there are none but zeros."""
        total = float(self.square.sum())
        return total / int(self.count.sum()) if total > 0 else 1.0


@dataclass(frozen=True)
class Variances:
    """Variance of the values of arms, and of one reward about its arm's value."""

    signal: float
    noise: float

    @classmethod
    def of_design(cls, pulls: Pulls) -> Variances:
        """Estimate by an analysis of variance of arms pulled equally often."""
        means = pulls.means()
        squares, freedom = pulls.within()
        floor = LEAST_NOISE * pulls.scale()
        noise = max(squares / freedom if freedom else 0.0, floor)
        each = float(pulls.count[pulls.pulled].mean())
        between = float(means.var(ddof=1)) if len(means) > 1 else 0.0
        return cls(max(between - noise / each, LEAST_RATIO * noise), noise)

    @classmethod
    def of_likelihood(cls, pulls: Pulls, K: Floats, prior: float) -> Variances:
        """Maximise the marginal likelihood of all rewards, over a grid of ratios.

        ``K`` holds the correlations of the arms that were pulled. In the eigenbasis
        of ``sqrt(N) K sqrt(N)`` every ratio costs one pass over the eigenvalues, and
        the best noise of a ratio is known.
        """
        root = np.sqrt(pulls.count[pulls.pulled])
        eigenvalues, basis = eigh(root[:, None] * K * root)
        parts = (basis.T @ (root * (pulls.means() - prior))) ** 2
        squares, _ = pulls.within()
        n = int(pulls.count.sum())
        spread = 1.0 + RATIOS[:, None] * np.maximum(eigenvalues, 0.0)
        noise = ((parts / spread).sum(axis=1) + squares) / n
        noise = np.maximum(noise, LEAST_NOISE * pulls.scale())
        best = int(np.argmin(n * np.log(noise) + np.log(spread).sum(axis=1)))
        return cls(float(RATIOS[best] * noise[best]), float(noise[best]))


class Posterior:
    """Mean and covariance of the values of all arms, updated pull by pull."""

    def __init__(self, mean: Floats, cov: Floats, noise: float) -> None:
        self.mean, self.cov, self.noise = mean, cov, noise

    @classmethod
    def given(
        cls, kernel: Any, variances: Variances, prior: float, pulls: Pulls
    ) -> Posterior:
        """Posterior of all pulls at once, by one Cholesky factor."""
        cov = kernel.matrix()
        cov *= variances.signal
        mean = np.full(len(cov), float(prior))
        at = pulls.pulled
        if len(at):
            block = cov[at]
            factor = np.linalg.cholesky(
                block[:, at] + np.diag(variances.noise / pulls.count[at])
            )
            half = solve_triangular(factor, block, lower=True)
            mean += half.T @ solve_triangular(factor, pulls.means() - prior, lower=True)
            cov -= half.T @ half
            _tidy(cov, variances.noise)
        return cls(mean, cov, variances.noise)

    def pull(self, arm: int, reward: float) -> None:
        """Condition on one reward of an arm."""
        self.learn(arm, reward, self.plan(arm))

    def plan(self, arm: int) -> Floats:
        """Update the covariance by a pull, whose reward need not be known yet."""
        gain = np.empty(len(self.mean))
        shrink(self.cov, arm, self.noise, gain)
        return gain

    def learn(self, arm: int, reward: float, gain: Floats) -> None:
        """Update the mean by the reward of a planned pull."""
        self.mean += gain * (reward - self.mean[arm])

    def std(self) -> Floats:
        """Deviations of the values."""
        return np.sqrt(np.maximum(np.diag(self.cov), 0.0))


def _tidy(cov: Floats, noise: float) -> None:
    """Symmetric, with a positive diagonal, in place and in blocks."""
    n, step = len(cov), 512
    for start in range(0, n, step):
        part = slice(start, start + step)
        cov[part] = (cov[part] + cov[:, part].T) / 2
        cov[:, part] = cov[part].T
    diagonal = cov.flat[:: n + 1]
    cov.flat[:: n + 1] = np.maximum(diagonal, 1e-12 * noise)


@dataclass(frozen=True)
class Regression:
    """The same posterior as weights of the pulled arms, for rows of any kind.

    It is what stays of a fit: small, and enough for the mean and the deviation of
    each arm and of new rows.
    """

    kernel: Any
    variances: Variances
    prior: float
    pulls: Pulls

    def _system(self) -> tuple[Any, NDArray[np.intp]]:
        at = self.pulls.pulled
        block = self.variances.signal * self.kernel.rows(at)[:, at]
        noise = self.variances.noise / self.pulls.count[at]
        return cho_factor(block + np.diag(noise), lower=True), at

    def of_arms(self, arms: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Mean and deviation of some arms."""
        rows = self.kernel.rows(arms)
        return self._of(rows, rows[np.arange(len(arms)), arms])

    def of_rows(self, features: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        """Mean and deviation of other rows."""
        if not len(features):
            return np.zeros(0), np.zeros(0)
        return self._of(*self.kernel.cross(features, y))

    def _of(self, rows: Floats, own: Floats) -> tuple[Floats, Floats]:
        signal = self.variances.signal
        at = self.pulls.pulled
        if not len(at):
            return np.full(len(rows), self.prior), np.sqrt(signal * own)
        factor, at = self._system()
        cross = signal * rows[:, at]
        mean = self.prior + cross @ cho_solve(factor, self.pulls.means() - self.prior)
        half = solve_triangular(factor[0], cross.T, lower=True)
        variance = signal * own - (half * half).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 1e-12 * self.variances.noise))

    def weights(self, arm: int) -> tuple[NDArray[np.intp], Floats]:
        """Pulled arms, and the weight of the mean reward of each in a value."""
        factor, at = self._system()
        cross = self.variances.signal * self.kernel.rows(np.array([arm]))[0, at]
        return at, cho_solve(factor, cross)

    def calibration(self) -> float:
        """Root mean square of the rewards' z-scores, each left out once.

        About 1 where kernel and variances fit; far above, intervals are too short.
        """
        factor, at = self._system()
        inverse = cho_solve(factor, np.eye(len(at)))
        left_out = inverse @ (self.pulls.means() - self.prior)
        return float(np.sqrt(np.mean(left_out**2 / np.diag(inverse))))


def top_probability(
    posterior: Posterior, m: int, n_draws: int, seed: np.random.SeedSequence
) -> Floats:
    """Share of joint draws of all values in which an arm is among the m largest."""
    n = len(posterior.mean)
    jitter = 1e-10 * float(np.diag(posterior.cov).max())
    while True:  # rounding makes a posterior of near-certain arms slightly indefinite
        try:
            root = np.linalg.cholesky(posterior.cov + jitter * np.eye(n))
            break
        except np.linalg.LinAlgError:
            jitter *= 10.0
    normal = np.random.default_rng(seed).standard_normal((n_draws, n))
    draws = posterior.mean + normal @ root.T
    best = np.argpartition(-draws, m - 1, axis=1)[:, :m]
    return np.bincount(best.ravel(), minlength=n) / n_draws
