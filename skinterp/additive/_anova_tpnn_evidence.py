"""How large each term is by the evidence: variances of highest marginal likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Float = NDArray[np.float64]

# Shares of the variance that curves and surfaces have at first, and the noise.
_CURVES, _SURFACES, _NOISE = 0.5, 0.2, 0.4
# A term below this share of all terms' variance is dropped.
NEGLIGIBLE = 1e-5
# Least noise, in variances of the target: less is lost in rounding.
_QUIET = 1e-8
# Largest change of a variance in one step, and change of the evidence that ends.
_FACTOR, _SETTLED = 5.0, 0.1


@dataclass(frozen=True)
class Sample:
    """Rows from which variances are learnt.

    ``codes`` (n, d) name points of the grid; ``target`` (n, c) is standardised, or
    holds one column per logit of zeros and ones; ``weight`` (n,). Where rows are means,
    ``spread`` is the weighted square sum within them, of ``freedom`` degrees.
    """

    codes: NDArray[np.int64]
    target: Float
    weight: Float
    n_classes: int
    spread: float = 0.0
    freedom: float = 0.0


class Evidence:
    """Kernels of all terms at the rows of a sample."""

    def __init__(
        self, sample: Sample, terms: Sequence[tuple[int, ...]], kernels: Float
    ) -> None:
        self.sample, self.terms = sample, terms
        codes = sample.codes
        used = sorted({j for term in terms for j in term})
        self.single = {
            j: kernels[j][codes[:, j]].take(codes[:, j], axis=1) for j in used
        }
        n = len(codes)
        single = [len(term) == 1 for term in terms]
        self.variance = np.where(
            single,
            _CURVES / max(1, sum(single)),
            _SURFACES / max(1, len(terms) - sum(single)),
        )
        self.noise = _NOISE if sample.n_classes == 0 else 1.0
        self.fitted = np.zeros_like(sample.target) + self._base()
        self.value = -np.inf
        self.n = n

    def _base(self) -> Float:
        y, w = self.sample.target, self.sample.weight
        mean: Float = np.average(y, axis=0, weights=w)
        if self.sample.n_classes == 0:
            return mean
        mean = mean.clip(0.01, 0.99)
        return np.log(mean) if self.sample.n_classes > 2 else np.log(mean / (1 - mean))

    def kernel(self, term: tuple[int, ...]) -> Float:
        """Covariance of one term between the rows."""
        made = self.single[term[0]]
        for j in term[1:]:
            made = made * self.single[j]
        return made

    def improve(self, steps: int) -> None:
        """Take steps of the fixed point of the marginal likelihood's gradient."""
        for _ in range(steps):
            before = self.value
            self._step()
            if abs(self.value - before) < _SETTLED:
                break

    def _step(self) -> None:
        covariance = np.ones((self.n, self.n))  # of a constant
        alive = np.flatnonzero(
            self.variance > NEGLIGIBLE * self.variance.sum()
        ).tolist()
        for t in alive:
            covariance += self.variance[t] * self.kernel(self.terms[t])
        inverse, outer, misfit = self._solved(covariance)
        ratio = np.zeros_like(self.variance)
        for t in alive:
            kernel = self.kernel(self.terms[t])
            expected = max(float(np.vdot(kernel, inverse)), 1e-300)
            ratio[t] = float(np.vdot(kernel, outer)) / expected
        self.variance = self.variance * np.clip(ratio, 0, _FACTOR)
        self.noise = max(self.noise * misfit, _QUIET)

    def _solved(self, covariance: Float) -> tuple[Float, Float, float]:
        """Sums over outputs: inverse covariance, outer product of its solutions."""
        sample = self.sample
        inverse, outer = np.zeros_like(covariance), np.zeros_like(covariance)
        self.value = 0.0
        # within rows that are means, noise alone
        up, down = sample.spread / self.noise, sample.freedom
        self.value -= 0.5 * (up + down * float(np.log(self.noise)))
        slope, curvature = self._slopes()
        for c in range(sample.target.shape[1]):
            noise = self.noise / (sample.weight * curvature[:, c])
            target = self.fitted[:, c] + slope[:, c] / curvature[:, c]
            # numbers have the same matrix for all outputs
            if sample.n_classes or c == 0:
                part, logdet = _inverse(covariance, noise)
            solution = part @ target
            inverse += part
            outer += np.multiply.outer(solution, solution)
            self.value -= 0.5 * float(target @ solution + logdet)
            up += float(solution**2 @ noise)
            down += float(np.diag(part) @ noise)
            self.fitted[:, c] = target - noise * solution
        return inverse, outer, 1.0 if sample.n_classes else up / down

    def _slopes(self) -> tuple[Float, Float]:
        """Downward gradient of the loss per row, and its curvature."""
        y = self.sample.target
        if self.sample.n_classes == 0:
            return y - self.fitted, np.ones_like(y)
        if y.shape[1] == 1:
            p = 1 / (1 + np.exp(-self.fitted))
        else:
            p = np.exp(self.fitted - self.fitted.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
        return y - p, np.maximum(p * (1 - p), 1e-3)


def _inverse(covariance: Float, noise: Float) -> tuple[Float, float]:
    """Inverse and logarithm of the determinant, with the noise on the diagonal."""
    full = covariance.copy()
    full[np.diag_indices(len(full))] += noise
    factor, wrong = lapack.dpotrf(full, lower=1, overwrite_a=1)
    if wrong:  # noise that is lost in rounding beside the terms
        noise = np.maximum(100 * noise, 1e-12 * np.trace(covariance))
        return _inverse(covariance, noise)
    logdet = 2 * float(np.log(np.diag(factor)).sum())
    made, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(made)
    return lower + np.tril(lower, -1).T, logdet


def draw_rows(
    codes: NDArray[np.int64], limit: int, rng: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Draw different rows; each with the positions of all that are equal to it.

    Copies, as bootstrap samples hold them, would pass for rows without any noise.
    """
    _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    chosen = np.arange(len(first))
    if len(first) > limit:
        chosen = np.sort(rng.choice(len(first), limit, replace=False))
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(len(first) + 1))
    return [order[starts[k] : starts[k + 1]] for k in chosen]
