"""Kernels of stick patterns: reflections in shells, merged into peaks."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp_xrd._structure_factors import structure_factors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Degrees of two-theta within which reflections are one peak, and the share of the
# strongest below which a peak is dropped: both as in pymatgen.
TOLERANCE = 1e-5
CUT = 1e-5
# Reflections held at once.
SHELL = 131_072
# A shell is searched a little beyond its edges; what belongs to it, its keys say.
SLACK = 1e-9
# |F| below this share of all electrons is rounding: the reflection is absent.
ABSENT = 1e-12


# Loops stand where numpy has an expression: each of those takes longer to compile.


@njit(cache=True, nogil=True)
def cell_volume(lattice: Floats) -> float:  # pragma: no cover
    """Volume in cubic angstrom, of either hand."""
    a, b, c = lattice[0], lattice[1], lattice[2]
    return abs(
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


@njit(cache=True, nogil=True)
def reciprocal_metric(lattice: Floats) -> Floats:  # pragma: no cover
    """Return G* as (11, 22, 33, 12, 13, 23), without 2 pi."""
    rows = np.empty((3, 3))
    volume = cell_volume(lattice)
    for i in range(3):
        a, b = lattice[(i + 1) % 3], lattice[(i + 2) % 3]
        for j in range(3):
            p, q = (j + 1) % 3, (j + 2) % 3
            rows[i, j] = (a[p] * b[q] - a[q] * b[p]) / volume
    metric = np.zeros(6)
    for j in range(3):
        metric[0] += rows[0, j] * rows[0, j]
        metric[1] += rows[1, j] * rows[1, j]
        metric[2] += rows[2, j] * rows[2, j]
        metric[3] += rows[0, j] * rows[1, j]
        metric[4] += rows[0, j] * rows[2, j]
        metric[5] += rows[1, j] * rows[2, j]
    return metric


@njit(cache=True, nogil=True)
def _box(lattice: Floats, g_max: float) -> Ints:  # pragma: no cover
    """Largest indices that a reflection up to g_max can have."""
    box = np.empty(3, np.int64)
    for i in range(3):
        x, y, z = lattice[i, 0], lattice[i, 1], lattice[i, 2]
        box[i] = int(g_max * math.sqrt(x * x + y * y + z * z)) + 1
    return box


@njit(cache=True, nogil=True)
def _collect(
    metric: Floats, box: Ints, g_low: float, g_high: float, out: NDArray[np.int32]
) -> int:  # pragma: no cover
    """Write the half-space's reflections with g in the range, return their number.

    With an empty ``out`` they are only counted.
    """
    g11, g22, g33, g12, g13, g23 = metric
    low, high = g_low * g_low, g_high * g_high
    n = 0
    for h in range(box[0] + 1):
        for k in range(0 if h == 0 else -box[1], box[1] + 1):
            plane = g11 * h * h + g22 * k * k + 2.0 * g12 * h * k
            slope = g13 * h + g23 * k
            reach = slope * slope - g33 * (plane - high)
            if reach < 0.0:
                continue
            centre, reach = -slope / g33, math.sqrt(reach) / g33
            inner = slope * slope - g33 * (plane - low)
            hole = math.sqrt(inner) / g33 if inner > 0.0 else 0.0
            first = math.ceil(centre - reach)
            if h == 0 and k == 0:
                first = max(first, 1)
            last = math.floor(centre + reach)
            entry = math.ceil(centre - hole)
            after = math.ceil(centre + hole)
            l = first  # noqa: E741
            while l <= last:
                # jump over what lies inside the shell
                if inner > 0.0 and entry <= l < after:
                    l = after  # noqa: E741
                    continue
                if n < len(out):
                    out[n, 0], out[n, 1], out[n, 2] = h, k, l
                n += 1
                l += 1  # noqa: E741
    return n


@njit(cache=True, nogil=True)
def lorentz_polarisation(sine2: float) -> float:  # pragma: no cover
    """(1 + cos^2 2theta) / (sin^2 theta cos theta), of sin^2 theta."""
    double = 1.0 - 2.0 * sine2
    return (1.0 + double * double) / (sine2 * math.sqrt(1.0 - sine2))


@njit(cache=True, nogil=True)
def _key(g: float, wavelength: float, tolerance: float) -> int:  # pragma: no cover
    return int(np.rint(math.degrees(2.0 * math.asin(0.5 * wavelength * g)) / tolerance))


@njit(cache=True, nogil=True)
def _by_key(g2: Floats, keys: Ints) -> Ints:  # pragma: no cover
    """Order reflections by their keys, in linear time.

    They are evenly spread over g^3, by which they are dealt into buckets; equal keys
    keep their order within a bucket, which is all that is left to sort.
    """
    n = len(g2)
    low, high = np.inf, 0.0
    for i in range(n):
        low, high = min(low, g2[i]), max(high, g2[i])
    low, high = low * math.sqrt(low), high * math.sqrt(high)
    scale = (n - 1) / (high - low) if high > low else 0.0
    bucket, start = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    for i in range(n):
        bucket[i] = min(int((g2[i] * math.sqrt(g2[i]) - low) * scale), n - 1)
        start[bucket[i] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[start[bucket[i]]] = i
        start[bucket[i]] += 1
    for i in range(1, n):
        at, j = order[i], i - 1
        while j >= 0 and keys[order[j]] > keys[at]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = at
    return order


@njit(cache=True, nogil=True)
def _comes_before(
    h: float, k: float, m: float, p: float, q: float, r: float
) -> bool:  # pragma: no cover
    """Whether hkm names a peak better than pqr: fewer signs, then larger indices."""
    signs = int(k < 0.0) + int(m < 0.0) - int(q < 0.0) - int(r < 0.0)
    if signs != 0:
        return signs < 0
    if h != p:
        return h > p
    return k > q or (k == q and m > r)


@njit(cache=True, nogil=True)
def _merge(
    hkl: NDArray[np.int32],
    g2: Floats,
    keys: Ints,
    order: Ints,
    factors: Floats,
    wavelength: float,
    absent: float,
) -> Floats:  # pragma: no cover
    """Return the peaks of one shell as rows.

    A row is (two-theta, d, intensity, h, k, l, multiplicity); the place is that of the
    reflection with the smallest g, the indices are those that read best.
    """
    n_peaks, last = 0, -1
    for i in order:
        n_peaks += keys[i] != last
        last = keys[i]
    out = np.empty((n_peaks, 7))
    n, last = -1, -1
    quarter = 0.25 * wavelength * wavelength
    for i in order:
        size = 2.0 * (factors[i, 0] * factors[i, 0] + factors[i, 1] * factors[i, 1])
        if size < absent:
            size = 0.0
        strength = size * lorentz_polarisation(quarter * g2[i])
        h, k, l = float(hkl[i, 0]), float(hkl[i, 1]), float(hkl[i, 2])  # noqa: E741
        if keys[i] != last:
            last = keys[i]
            n += 1
            out[n, 1], out[n, 2], out[n, 6] = g2[i], strength, 2.0
            out[n, 3], out[n, 4], out[n, 5] = h, k, l
            continue
        out[n, 1] = min(out[n, 1], g2[i])
        out[n, 2] += strength
        out[n, 6] += 2.0
        if _comes_before(h, k, l, out[n, 3], out[n, 4], out[n, 5]):
            out[n, 3], out[n, 4], out[n, 5] = h, k, l
    for i in range(n_peaks):
        g = math.sqrt(out[i, 1])
        out[i, 0] = math.degrees(2.0 * math.asin(min(0.5 * wavelength * g, 1.0)))
        out[i, 1] = 1.0 / g
    return out


@njit(cache=True, nogil=True)
def _shell(
    atoms: tuple[Ints, Floats, Floats, Floats],
    table: Floats,
    metric: Floats,
    box: Ints,
    wavelength: float,
    limits: tuple[float, float],
    search: tuple[float, float],
    between: tuple[int, int],
    expected: float,
    tolerance: float,
) -> Floats:  # pragma: no cover
    """Return the peaks within the limits of g whose keys are in between."""
    hkl = np.empty((int(1.1 * expected) + 30, 3), np.int32)
    n = _collect(metric, box, search[0], search[1], hkl)
    if n > len(hkl):
        hkl = np.empty((n, 3), np.int32)
        _collect(metric, box, search[0], search[1], hkl)
    g2, keys = np.empty(n), np.empty(n, np.int64)
    found, n = n, 0
    for i in range(found):
        h, k, l = float(hkl[i, 0]), float(hkl[i, 1]), float(hkl[i, 2])  # noqa: E741
        square = metric[0] * h * h + metric[1] * k * k + metric[2] * l * l
        square += 2.0 * (metric[3] * h * k + metric[4] * h * l + metric[5] * k * l)
        g = math.sqrt(square)
        if g < limits[0] or g > limits[1]:
            continue
        key = _key(g, wavelength, tolerance)
        if between[0] <= key < between[1]:
            g2[n], keys[n] = square, key
            hkl[n, 0], hkl[n, 1], hkl[n, 2] = hkl[i, 0], hkl[i, 1], hkl[i, 2]
            n += 1
    hkl, g2, keys = hkl[:n], g2[:n], keys[:n]
    order = _by_key(g2, keys)
    factors = structure_factors(hkl, g2, box, atoms, table)
    numbers, _, occupancies, _ = atoms
    electrons = 0.0
    for j in range(len(numbers)):
        electrons += occupancies[j] * numbers[j]
    absent = 2.0 * (ABSENT * electrons) ** 2
    return _merge(hkl, g2, keys, order, factors, wavelength, absent)


@njit(cache=True, nogil=True)
def _keep_strong(
    peaks: Floats, n: int, threshold: float, out: Floats, start: int
) -> int:  # pragma: no cover
    """Write those of the first n peaks above the threshold from a row on; the end."""
    for i in range(n):
        if peaks[i, 2] > threshold:
            for j in range(7):
                out[start, j] = peaks[i, j]
            start += 1
    return start


@njit(cache=True, nogil=True)
def stick_pattern(
    lattice: Floats,
    numbers: Ints,
    coords: Floats,
    occupancies: Floats,
    b_iso: Floats,
    table: Floats,
    wavelength: float,
    low: float,
    high: float,
    shell: int,
    tolerance: float,
) -> Floats:  # pragma: no cover
    """Return the peaks between two angles, as rows ordered by two-theta.

    A row is (two-theta, d, intensity, h, k, l, multiplicity). Reflections whose angles
    agree when rounded to ``tolerance`` are one peak. They are taken in shells of about
    ``shell``, so that memory follows the peaks, not the reflections.
    """
    metric = reciprocal_metric(lattice)
    g_min = 2.0 * math.sin(math.radians(0.5 * low)) / wavelength
    g_max = 2.0 * math.sin(math.radians(0.5 * high)) / wavelength
    box = _box(lattice, g_max * (1.0 + SLACK))
    atoms = (numbers, coords, occupancies, b_iso)
    limits = (g_min, g_max)
    cubes = g_max**3 - g_min**3
    expected = 2.0 * math.pi / 3.0 * cell_volume(lattice) * cubes
    parts = 1 + int(expected / shell)
    made = np.empty((0, 7))
    filled, strongest, edge = 0, 0.0, -1
    for part in range(parts):
        # shells of equal volume, cut where no peak is: between two keys
        outer = min((g_min**3 + cubes * (part + 1) / parts) ** (1.0 / 3.0), g_max)
        after = _key(outer, wavelength, tolerance) + (2 if part == parts - 1 else 0)
        start = math.sin(math.radians(0.5 * (edge - 0.5) * tolerance))
        stop = math.sin(math.radians(0.5 * min(180.0, (after - 0.5) * tolerance)))
        inner_g = max(g_min, 2.0 * start / wavelength) * (1.0 - SLACK)
        outer_g = min(g_max, 2.0 * stop / wavelength) * (1.0 + SLACK)
        peaks = _shell(
            atoms,
            table,
            metric,
            box,
            wavelength,
            limits,
            (inner_g, outer_g),
            (edge, after),
            expected / parts,
            tolerance,
        )
        edge = after
        for i in range(len(peaks)):
            strongest = max(strongest, peaks[i, 2])
        if filled + len(peaks) > len(made):
            # first what the strongest so far has made negligible, then room
            filled = _keep_strong(made, filled, CUT * strongest, made, 0)
            grown = np.empty((2 * filled + len(peaks), 7))
            _keep_strong(made, filled, 0.0, grown, 0)
            made = grown
        filled = _keep_strong(peaks, len(peaks), CUT * strongest, made, filled)
    return made[: _keep_strong(made, filled, CUT * strongest, made, 0)]
