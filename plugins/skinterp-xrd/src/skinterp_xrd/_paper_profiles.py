"""Profiles as the released generator draws them, its slips of units included."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skinterp_xrd._profiles import FWHM, SCHERRER, add_pseudo_voigt, pseudo_voigt

Floats = NDArray[np.float64]

# The generator adds this to both variances, so that none is zero.
_TINY = 1e-10
# The released code divides the distance to the detector by this, and no other length.
RADIUS_DIVISOR = 10.0
# A Gaussian is left out beyond so many standard deviations.
_GAUSS_REACH = 6.0


@njit(cache=True, nogil=True)
def paper_width(
    theta: float, wavelength: float, grain_size_nm: float
) -> float:  # pragma: no cover
    """Scherrer's width with nm taken for angstrom and radians for degrees."""
    return SCHERRER * wavelength / (grain_size_nm * math.cos(theta))


@njit(cache=True, nogil=True)
def _gap(centre: float) -> float:  # pragma: no cover
    """How far the local grid of a peak reaches, in degrees."""
    if centre <= 10.0:
        return 7.8
    if centre <= 15.0:
        return 10.0
    if centre <= 20.0:
        return 15.0
    return 20.0 if centre <= 30.0 else 30.0


@njit(cache=True, nogil=True)
def _points(x: Floats, low: float, high: float) -> tuple[int, int]:  # pragma: no cover
    """First and last point of an even grid within [low, high]; last < first if none."""
    step = x[1] - x[0]
    first = max(0, int((low - x[0]) / step) - 1)
    while first < len(x) and x[first] < low:
        first += 1
    last = min(len(x) - 1, int((high - x[0]) / step) + 1)
    while last >= 0 and x[last] > high:
        last -= 1
    return first, last


@njit(cache=True, nogil=True)
def _axial(
    x: Floats, centre: float, radius: float, slit: float, sample: float, out: Floats
) -> tuple[int, int]:  # pragma: no cover
    """Running sum of the falling part of van Laar and Yelon's function, up to centre.

    The flat part, h < slit - sample, is not there. Returns first and last point.
    """
    cosine = math.cos(math.radians(centre))
    ratio = (slit + sample) / radius
    lowest = math.acos(min(1.0, cosine * math.sqrt(1.0 + ratio * ratio)))
    first, last = _points(x, math.degrees(lowest), centre)
    if last >= 0 and x[last] >= centre:
        last -= 1
    total = 0.0
    for i in range(first, last + 1):
        c = math.cos(math.radians(x[i]))
        h = radius * math.sqrt(max((c / cosine) ** 2 - 1.0, 0.0))
        if slit - sample <= h <= slit + sample and h > 0.0:
            total += (slit + sample - h) / (h * c)
        out[i] = total
    # a sum of nothing does not draw the peak out
    return (first, last) if total > 0.0 else (0, -1)


@njit(cache=True, nogil=True)
def _convolve_same(
    a: Floats, b: Floats, first: int, last: int
) -> Floats:  # pragma: no cover
    """Middle N values of the convolution of N and N, b zero outside of first..last.

    The middle starts at (N - 1) // 2, which moves what is centred by half a step for
    even N.
    """
    n = len(a)
    middle = (n - 1) // 2
    out = np.zeros(n)
    for j in range(first, last + 1):
        weight, shift = b[j], middle - j
        low, high = max(0, -shift), min(n, n - shift)
        # views counted from 0, so that the loop works on vectors
        target, source = out[low:high], a[low + shift : high + shift]
        for i in range(len(target)):
            target[i] += weight * source[i]
    return out


@njit(cache=True, nogil=True)
def _local_peak(
    x: Floats,
    step: float,
    centre: float,
    width: float,
    radius: float,
    slit: float,
    sample: float,
    slit_width: float,
    residual_variance: float,
) -> Floats:  # pragma: no cover
    """Draw one peak on its local grid: Voigt, axial, slit, distortion, area 1."""
    n = len(x)
    gauss = FWHM * math.sqrt(width * width / (8.0 * math.sqrt(2.0)) + _TINY)
    total, share = pseudo_voigt(gauss, width + 2.0 * _TINY)
    peak, other = np.zeros(n), np.empty(n)
    add_pseudo_voigt(peak, x[0], step, centre, 1.0, total, share, 1e9)
    if min(slit, sample) > 0.0:
        first, last = _axial(x, centre, radius, slit, sample, other)
        if first <= last:
            peak = _convolve_same(peak, other, first, last)
    if slit_width > 0.0:
        first, last = _points(x, centre - slit_width / 2, centre + slit_width / 2)
        if first <= last:
            other[first : last + 1] = 1.0
            peak = _convolve_same(peak, other, first, last)
    if residual_variance > 0.0:
        reach = _GAUSS_REACH * math.sqrt(residual_variance)
        first, last = _points(x, centre - reach, centre + reach)
        for i in range(first, last + 1):
            u = x[i] - centre
            other[i] = math.exp(-0.5 * u * u / residual_variance)
        if first <= last:
            peak = _convolve_same(peak, other, first, last)
    return peak / (peak.sum() * step)


@njit(cache=True, nogil=True)
def paper_profile(
    two_theta: Floats,
    intensity: Floats,
    grid: Floats,
    step: float,
    wavelength: float,
    grain_size_nm: float,
    residual_variance: float,
    radius: float,
    slit_height: float,
    sample_height: float,
    slit_width: float,
) -> Floats:  # pragma: no cover
    """Draw sticks on a grid, each on a local grid first that is then copied over.

    Both grids are those of ``numpy.arange``, rounding included: it decides to which of
    two points a value in the middle goes.
    """
    y = np.zeros(len(grid))
    line = np.empty(len(grid))
    slit, sample = 0.5 * slit_height, 0.5 * sample_height
    for i in range(len(two_theta)):
        centre = two_theta[i]
        gap = _gap(centre)
        start = np.rint((centre - gap) * 100.0) / 100.0
        stop = np.rint((centre + gap) * 100.0) / 100.0
        delta = (start + step) - start
        x = np.empty(math.ceil((stop - start) / step))
        for j in range(len(x)):
            x[j] = start + j * delta
        width = paper_width(math.radians(0.5 * centre), wavelength, grain_size_nm)
        peak = _local_peak(
            x,
            step,
            centre,
            width,
            radius / RADIUS_DIVISOR,
            slit,
            sample,
            slit_width,
            residual_variance,
        )
        line[:] = 0.0
        first, last = _points(x, grid[0], grid[-1])
        for j in range(first, last + 1):
            best = min(int((x[j] - grid[0]) / step), len(grid) - 1)
            if best + 1 < len(grid) and grid[best + 1] - x[j] < abs(grid[best] - x[j]):
                best += 1
            elif best > 0 and x[j] - grid[best - 1] <= abs(grid[best] - x[j]):
                best -= 1
            line[best] = peak[j]
        for j in range(len(grid)):
            y[j] += intensity[i] * line[j]
    return y
