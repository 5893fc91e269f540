"""Random numbers inside kernels, from a state that each chain owns.

The generator is xoshiro256++; its state is an array of four 64-bit words. numba's own
generator is global per thread, so that a chain's draws would depend on what ran before
in its thread.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_11, _17, _19, _23, _41, _45 = (np.uint64(k) for k in (11, 17, 19, 23, 41, 45))
_UNIT = 2.0**-53


def seeded_state(seed: np.random.SeedSequence) -> Words:
    """State of a generator for a seed; never all zero, which would stay so."""
    state: Words = np.array(seed.generate_state(4, np.uint64), np.uint64)
    return state if state.any() else np.ones(4, np.uint64)


@njit(cache=True, nogil=True)
def next_word(state: Words) -> np.uint64:
    """Next 64 random bits."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    mixed = s0 + s3
    word = ((mixed << _23) | (mixed >> _41)) + s0
    s2 ^= s0
    s3 ^= s1
    state[1] = s1 ^ s2
    state[0] = s0 ^ s3
    state[2] = s2 ^ (s1 << _17)
    state[3] = (s3 << _45) | (s3 >> _19)
    return word


@njit(cache=True, nogil=True)
def uniform(state: Words) -> float:
    """Draw from the 2**53 evenly spaced numbers of [0, 1)."""
    return np.int64(next_word(state) >> _11) * _UNIT


@njit(cache=True, nogil=True)
def integer_below(state: Words, bound: int) -> int:
    """Draw from 0, ..., bound - 1, each as likely up to a part in 2**53 / bound."""
    return int(uniform(state) * bound)


@njit(cache=True, nogil=True)
def normal(state: Words) -> float:
    """Draw from the standard normal distribution, by Marsaglia's polar method."""
    while True:
        u = 2.0 * uniform(state) - 1.0
        v = 2.0 * uniform(state) - 1.0
        square = u * u + v * v
        if 0.0 < square < 1.0:
            return u * math.sqrt(-2.0 * math.log(square) / square)


@njit(cache=True, nogil=True)
def chi_square(state: Words, freedom: float) -> float:
    """Draw from a chi-square distribution, by Marsaglia and Tsang's method.

    Needs at least two degrees of freedom.
    """
    d = 0.5 * freedom - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(state)
        if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return 2.0 * d * v
