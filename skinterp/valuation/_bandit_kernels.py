"""Kernels of the bandit: one posterior update, and the gap index, in compiled code."""

from __future__ import annotations

import numpy as np
from numba import njit

SMALLEST_VARIANCE = 1e-12  # relative to the noise; below, rounding decides


@njit(cache=True, nogil=True)
def shrink(cov, arm, noise, gain):
    """Take the information of one pull off a covariance, in place; write the gain.

    The outer product of one vector with itself is symmetric to the last bit, so that
    the matrix stays so without being symmetrised.
    """
    n = cov.shape[0]
    total = noise + cov[arm, arm]
    root = 1.0 / np.sqrt(total)
    step = np.empty(n)
    for i in range(n):
        gain[i] = cov[arm, i] / total
        step[i] = cov[arm, i] * root
    for i in range(n):
        s = step[i]
        for j in range(n):
            cov[i, j] -= s * step[j]
        if cov[i, i] < SMALLEST_VARIANCE * noise:
            cov[i, i] = SMALLEST_VARIANCE * noise


@njit(cache=True, nogil=True)
def gap_index(mean, cov, member, beta, paired):
    """Most doubtful member, its challenger, and the bound on what is lost by them.

    A challenger i gains at most ``mean_i - mean_j + W(i, j)`` on a member j. The
    paired width W is beta deviations of the difference; an unpaired one adds the
    deviations of both.
    """
    n = mean.shape[0]
    worst, doubtful, challenger = -np.inf, -1, -1
    for j in range(n):
        if not member[j]:
            continue
        for i in range(n):
            if member[i]:
                continue
            if paired:
                variance = cov[i, i] + cov[j, j] - 2.0 * cov[j, i]
                width = np.sqrt(max(variance, 0.0))
            else:
                width = np.sqrt(cov[i, i]) + np.sqrt(cov[j, j])
            bound = mean[i] - mean[j] + beta * width
            if bound > worst:
                worst, doubtful, challenger = bound, j, i
    return doubtful, challenger, worst


@njit(cache=True, nogil=True)
def most_telling(cov, noise, b, c):
    """Arm whose pull shrinks the variance of the difference of two arms the most."""
    best, arm = -1.0, b
    for a in range(cov.shape[0]):
        difference = cov[b, a] - cov[c, a]
        gain = difference * difference / (noise + cov[a, a])
        if gain > best:
            best, arm = gain, a
    return arm
