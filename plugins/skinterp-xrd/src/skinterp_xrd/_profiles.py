"""Profiles in strict physics: what a powder diffractometer draws of a stick pattern."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Scherrer's constant, and the ratio of FWHM to standard deviation of a Gaussian.
SCHERRER = 0.888
FWHM = math.sqrt(8.0 * math.log(2.0))
LN2 = math.log(2.0)
# A peak is drawn up to WINDOW degrees or WINDOW_WIDTHS Scherrer widths away.
WINDOW, WINDOW_WIDTHS = 6.0, 20.0
# exp(-4 log(2) x^2) is below 1e-10 from here on.
GAUSS_REACH = 2.9
# Nodes and weights of Gauss-Legendre quadrature of 2, 4, 8, 16 and 32 nodes.
_RULES = [np.polynomial.legendre.leggauss(n) for n in (2, 4, 8, 16, 32)]
NODES = np.concatenate([rule[0] for rule in _RULES])
WEIGHTS = np.concatenate([rule[1] for rule in _RULES])


@njit(cache=True, nogil=True)
def scherrer_width(
    theta: float, wavelength: float, grain_size_nm: float
) -> float:  # pragma: no cover
    """FWHM in degrees of two-theta, by grains of a size; theta in radians."""
    return math.degrees(
        SCHERRER * wavelength / (10.0 * grain_size_nm * math.cos(theta))
    )


@njit(cache=True, nogil=True)
def pseudo_voigt(gauss: float, lorentz: float) -> tuple[float, float]:
    """Width and Lorentzian share of Thompson, Cox and Hastings."""
    f = (
        gauss**5
        + 2.69269 * gauss**4 * lorentz
        + 2.42843 * gauss**3 * lorentz**2
        + 4.47163 * gauss**2 * lorentz**3
        + 0.07842 * gauss * lorentz**4
        + lorentz**5
    ) ** 0.2
    q = lorentz / f
    return f, ((0.11116 * q - 0.47719) * q + 1.36603) * q


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_pseudo_voigt(
    y: Floats,
    start: float,
    step: float,
    centre: float,
    area: float,
    width: float,
    share: float,
    reach: float,
) -> None:  # pragma: no cover
    """Add a peak to the grid ``start + i * step``, as far as ``reach`` degrees."""
    first = max(0, math.ceil((centre - reach - start) / step))
    last = min(len(y) - 1, math.floor((centre + reach - start) / step))
    height = 2.0 * area * share / (math.pi * width)
    scale = 2.0 * step / width
    offset = 2.0 * (start - centre) / width
    # a view counted from 0, so that the loop works on vectors
    near_by = y[first : max(first, last + 1)]
    for i in range(len(near_by)):
        u = offset + scale * (first + i)
        near_by[i] += height / (1.0 + u * u)
    height = 2.0 * area * (1.0 - share) * math.sqrt(LN2 / math.pi) / width
    if height == 0.0:
        return
    near = min(reach, GAUSS_REACH * width)
    first = max(0, math.ceil((centre - near - start) / step))
    last = min(len(y) - 1, math.floor((centre + near - start) / step))
    middle = min(max(first, int((centre - start) / step)), last)
    # exp of a square along a grid, by two products a point, outwards from the middle
    twice = math.exp(-2.0 * LN2 * scale * scale)
    for direction in (-1, 1):
        at = middle if direction < 0 else middle + 1
        u = offset + scale * at
        value = height * math.exp(-LN2 * u * u)
        ratio = math.exp(-LN2 * scale * (scale + 2.0 * direction * u))
        for i in range(at, first - 1 if direction < 0 else last + 1, direction):
            y[i] += value
            value *= ratio
            ratio *= twice


@njit(cache=True, nogil=True)
def axial_nodes(
    centre: float,
    width: float,
    radius: float,
    slit: float,
    sample: float,
    where: Floats,
    weight: Floats,
) -> int:  # pragma: no cover
    """Write places and weights whose sum is a peak under axial divergence.

    The function of van Laar and Yelon is singular at the peak, but smooth over the
    height h at which a ray meets the detector: D(x) dx = W(h) / (cos^2 x sin x) dh, up
    to a constant. ``slit`` and ``sample`` are half heights; the number of nodes follows
    from how far the peak is drawn out, in units of its width.
    """
    low, high = abs(slit - sample), slit + sample
    cosine = math.cos(math.radians(centre))
    if abs(cosine) < 1e-9 or high <= 0.0:
        where[0], weight[0] = centre, 1.0
        return 1
    # beyond this height a ray would have to leave at a negative angle
    limit = 0.999 * radius * abs(math.tan(math.radians(centre)))
    low, high = min(low, limit), min(high, limit)
    ratio = high / radius
    end = math.degrees(math.acos(cosine * math.sqrt(1.0 + ratio * ratio)))
    spread = abs(end - centre) / width
    level = 0
    for bound in (0.3, 1.0, 2.0, 5.0):
        level += spread > bound
    size = 2 << level
    begin = size - 2
    n, total, mean = 0, 0.0, 0.0
    for piece in range(2):
        a, b = (0.0, low) if piece == 0 else (low, high)
        if b <= a:
            continue
        for i in range(begin, begin + size):
            h = 0.5 * (a + b) + 0.5 * (b - a) * NODES[i]
            shape = 0.5 * (b - a) * WEIGHTS[i]
            if piece == 1:
                shape *= (slit + sample - h) / (2.0 * min(slit, sample))
            x = math.acos(cosine * math.sqrt(1.0 + h * h / (radius * radius)))
            where[n] = math.degrees(x)
            weight[n] = shape / (math.cos(x) ** 2 * math.sin(x))
            total += weight[n]
            mean += weight[n] * where[n]
            n += 1
    if spread < 0.02:
        where[0], weight[0] = mean / total, 1.0
        return 1
    for i in range(n):
        weight[i] /= total
    return n


@njit(cache=True, nogil=True)
def box_weights(width: float, step: float) -> Floats:  # pragma: no cover
    """Weights of grid points that average a smooth curve over a box.

    Each point stands for its cell as far as the box covers it; a second difference then
    brings the weights' variance to that of the box, width^2 / 12.
    """
    half = math.ceil(0.5 * width / step + 0.5) + 1
    weights, variance = np.zeros(2 * half + 1), 0.0
    for i in range(1, 2 * half):
        low = max(-0.5 * width, (i - half - 0.5) * step)
        high = min(0.5 * width, (i - half + 0.5) * step)
        weights[i] = max(0.0, high - low) / width
        variance += weights[i] * ((i - half) * step) ** 2
    change = 0.5 * (width * width / 12.0 - variance) / (step * step)
    out = weights.copy()
    for i in range(1, 2 * half):
        out[i - 1] += change * weights[i]
        out[i] -= 2.0 * change * weights[i]
        out[i + 1] += change * weights[i]
    return out


@njit(cache=True, nogil=True)
def strict_profile(
    two_theta: Floats,
    intensity: Floats,
    start: float,
    step: float,
    n_points: int,
    wavelength: float,
    grain_size_nm: float,
    residual_variance: float,
    zero_shift: float,
    radius: float,
    slit_height: float,
    sample_height: float,
    slit_width: float,
) -> Floats:  # pragma: no cover
    """Draw sticks as peaks on the grid ``start + i * step``.

    A peak is the pseudo-Voigt function of Thompson, Cox and Hastings of a Lorentzian of
    Scherrer's width and a Gaussian of the residual distortion, drawn out by axial
    divergence, shifted, and averaged over the slit. The slit is one and the same for
    all peaks, so that it is dealt with once, on the sum.
    """
    weights = box_weights(slit_width, step) if slit_width > 0.0 else np.ones(1)
    pad = len(weights) // 2
    y = np.zeros(n_points + 2 * pad)
    origin = start - pad * step - zero_shift
    gauss = FWHM * math.sqrt(residual_variance)
    where, weight = np.empty(64), np.empty(64)
    for i in range(len(two_theta)):
        centre = two_theta[i]
        lorentz = scherrer_width(math.radians(0.5 * centre), wavelength, grain_size_nm)
        width, share = pseudo_voigt(gauss, lorentz)
        reach = max(WINDOW, WINDOW_WIDTHS * lorentz)
        n = axial_nodes(
            centre,
            width,
            radius,
            0.5 * slit_height,
            0.5 * sample_height,
            where,
            weight,
        )
        for j in range(n):
            area = intensity[i] * weight[j]
            add_pseudo_voigt(y, origin, step, where[j], area, width, share, reach)
    if pad == 0:
        return y
    out = np.zeros(n_points)
    for j in range(len(weights)):
        source = y[j : j + n_points]
        for i in range(len(source)):
            out[i] += weights[j] * source[i]
    return out
