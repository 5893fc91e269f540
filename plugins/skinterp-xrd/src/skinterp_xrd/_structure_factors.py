"""Kernels of structure factors: tables of phases, blocks of atoms, form factors."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Atoms whose phases are tabulated at once.
BLOCK = 32
# Electrons per (angstrom squared): f(s) = Z - FORM s^2 sum a exp(-b s^2).
FORM = 41.78214
# log(2) in two parts, the first with zeros at its end; below LOWEST exp counts as 0.
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG2_E, LOWEST = 1.4426950408889634, -600.0


@njit(cache=True, nogil=True)
def _group(numbers: Ints, b_iso: Floats) -> Ints:  # pragma: no cover
    """Order the atoms so that those of one form factor lie together."""
    m = len(numbers)
    order = np.arange(m)
    for i in range(1, m):
        at, j = order[i], i - 1
        while j >= 0 and (
            numbers[order[j]] > numbers[at]
            or (numbers[order[j]] == numbers[at] and b_iso[order[j]] > b_iso[at])
        ):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = at
    return order


@njit(cache=True, nogil=True)
def _tabulate(
    coords: Floats, atoms: Ints, box: Ints, real: Floats, imag: Floats
) -> None:  # pragma: no cover
    """Write exp(2 pi i n x) for n in [-size, size], one axis below the other."""
    origin = 0
    for axis in range(3):
        size = box[axis]
        origin += size
        for j in range(len(atoms)):
            x = coords[atoms[j], axis]
            angle = 2.0 * math.pi * (x - math.floor(x))
            c, s = math.cos(angle), math.sin(angle)
            re, im = 1.0, 0.0
            real[origin, j], imag[origin, j] = 1.0, 0.0
            for n in range(1, size + 1):
                re, im = re * c - im * s, re * s + im * c
                real[origin + n, j], imag[origin + n, j] = re, im
                real[origin - n, j], imag[origin - n, j] = re, -im
        origin += size + 1


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_exponentials(
    x: Floats, amplitude: float, rate: float, bits: Ints, out: Floats
) -> None:  # pragma: no cover
    """Add ``amplitude * exp(-rate * x)``, rate * x >= 0, to 2e-16 of the amplitude.

    exp(y) = 2^n exp(r) with |r| <= log(2) / 2, by a polynomial; 2^n is written into
    the exponent's bits. Unlike a call per value, such loops work on vectors.
    """
    powers = bits.view(np.float64)
    for i in range(len(x)):
        n = np.floor(max(-rate * x[i], LOWEST) * LOG2_E + 0.5)
        bits[i] = (np.int64(n) + 1023) << 52
    for i in range(len(x)):
        y = max(-rate * x[i], LOWEST)
        n = np.floor(y * LOG2_E + 0.5)
        r = y - n * LOG_2_HIGH - n * LOG_2_LOW
        p = r / 39916800.0 + 1.0 / 3628800.0
        p = ((p * r + 1.0 / 362880.0) * r + 1.0 / 40320.0) * r + 1.0 / 5040.0
        p = ((p * r + 1.0 / 720.0) * r + 1.0 / 120.0) * r + 1.0 / 24.0
        p = (((p * r + 1.0 / 6.0) * r + 0.5) * r + 1.0) * r + 1.0
        out[i] += amplitude * p * powers[i]


@njit(cache=True, nogil=True)
def _form_factors(
    number: int, b_iso: float, s2: Floats, table: Floats, bits: Ints, out: Floats
) -> None:  # pragma: no cover
    """Write f(s) exp(-B s^2)."""
    for i in range(len(out)):
        out[i] = 0.0
    for k in range(4):
        rate = table[number - 1, k, 1]
        _add_exponentials(s2, table[number - 1, k, 0], rate, bits, out)
    for i in range(len(s2)):
        out[i] = number - FORM * s2[i] * out[i]
    if b_iso != 0.0:
        damped = np.zeros(len(s2))
        _add_exponentials(s2, 1.0, b_iso, bits, damped)
        for i in range(len(s2)):
            out[i] *= damped[i]


# The order in which a block's atoms are added is free: the last bit may change.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _add_block(
    hkl: NDArray[np.int32],
    form: Floats,
    box: Ints,
    occupancies: Floats,
    atoms: Ints,
    real: Floats,
    imag: Floats,
    factors: Floats,
) -> None:  # pragma: no cover
    """Add to F what a block of atoms of one form factor scatters."""
    n = len(atoms)
    xr, xi, filled = np.empty(n), np.empty(n), np.empty(n)
    for j in range(n):
        filled[j] = occupancies[atoms[j]]
    origin_h = box[0]
    origin_k = origin_h + box[0] + 1 + box[1]
    origin_l = origin_k + box[1] + 1 + box[2]
    last_h, last_k = -1, 0
    for i in range(len(hkl)):
        h, k = hkl[i, 0], hkl[i, 1]
        if h != last_h or k != last_k:
            last_h, last_k = h, k
            p, q = origin_h + h, origin_k + k
            for j in range(n):
                xr[j] = real[p, j] * real[q, j] - imag[p, j] * imag[q, j]
                xi[j] = real[p, j] * imag[q, j] + imag[p, j] * real[q, j]
                xr[j] *= filled[j]
                xi[j] *= filled[j]
        r = origin_l + hkl[i, 2]
        re, im = 0.0, 0.0
        for j in range(n):
            re += xr[j] * real[r, j] - xi[j] * imag[r, j]
            im += xr[j] * imag[r, j] + xi[j] * real[r, j]
        factors[i, 0] += form[i] * re
        factors[i, 1] += form[i] * im


@njit(cache=True, nogil=True)
def structure_factors(
    hkl: NDArray[np.int32],
    g2: Floats,
    box: Ints,
    atoms: tuple[Ints, Floats, Floats, Floats],
    table: Floats,
) -> Floats:  # pragma: no cover
    """Return F as (real, imaginary) of each reflection; hkl come in runs of (h, k).

    F = sum_j occ_j f_j(s) exp(-B_j s^2) exp(2 pi i h.x_j), with s = g / 2. Phases are
    products of tables along the axes, so that no sine is taken in the inner loop.
    """
    numbers, coords, occupancies, b_iso = atoms
    factors, form = np.zeros((len(hkl), 2)), np.empty(len(hkl))
    s2, bits = np.empty(len(hkl)), np.empty(len(hkl), np.int64)
    for i in range(len(hkl)):
        s2[i] = 0.25 * g2[i]
    grouped = _group(numbers, b_iso)
    m = len(grouped)
    rows = 2 * (box[0] + box[1] + box[2]) + 3
    real, imag = np.empty((rows, min(BLOCK, m))), np.empty((rows, min(BLOCK, m)))
    number, b = -1, 0.0
    start = 0
    while start < m:
        first = grouped[start]
        if numbers[first] != number or b_iso[first] != b:
            number, b = numbers[first], b_iso[first]
            _form_factors(number, b, s2, table, bits, form)
        stop = start + 1
        while (
            stop < min(m, start + BLOCK)
            and numbers[grouped[stop]] == number
            and b_iso[grouped[stop]] == b
        ):
            stop += 1
        block = grouped[start:stop]
        _tabulate(coords, block, box, real, imag)
        _add_block(hkl, form, box, occupancies, block, real, imag, factors)
        start = stop
    return factors
