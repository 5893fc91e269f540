"""One pattern of one crystal: sticks, conditions, profile, background, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skinterp_xrd._conditions import PLACE
from skinterp_xrd._paper_profiles import paper_profile
from skinterp_xrd._profiles import scherrer_width, strict_profile
from skinterp_xrd._sticks import FORM_FACTORS, Peaks, check_size
from skinterp_xrd._sticks_kernels import SHELL, TOLERANCE, stick_pattern
from skinterp_xrd._structures import Structure

Floats = NDArray[np.float64]

# Spread of the factors that an orientation of the grains puts on the peaks.
TEXTURE = 0.2
# Peaks up to so many widths beyond the range still show in it, at 1 % of their height.
MARGIN_WIDTHS = 5.0
# Up to here the released generator knows an axial divergence.
PAPER_HIGHEST = 90.0
HIGHEST = 179.0
# Of more reflections than this, those within a fraction of the step are drawn as one.
CROWD, FINE = 500_000, 50.0


@dataclass(frozen=True)
class Beam:
    """What is measured: wavelength, angles, in which physics, how scaled.

    Parameters
    ----------
    wavelength : float
        In angstrom.
    low, high, step : float
        Angles in degrees of two-theta.
    physics : {"strict", "paper"}
        Which profiles.
    normalise : {"max100", "area"} or None
        What is made of the intensities.
    """

    wavelength: float
    low: float
    high: float
    step: float
    physics: str
    normalise: str | None

    @property
    def n_points(self) -> int:
        """Number of angles."""
        return math.floor((self.high - self.low) / self.step + 1e-6) + 1

    def grid(self) -> Floats:
        """Angles in degrees."""
        # ten digits: 10.02, where a multiple of the step has a tail of rounding
        grid = np.round(self.low + self.step * np.arange(self.n_points), 10)
        return np.asarray(grid, dtype=np.float64)


class Draws(NamedTuple):
    """What a row's own seed decides.

    Parameters
    ----------
    coefficients : ndarray of float64 of shape (degree + 1,)
        Of the background's polynomial, the highest power first.
    noise : ndarray of float64 of shape (n_points,)
        Between 0 and 1.
    rng : numpy.random.Generator
        From which the factors of the peaks come next.
    """

    coefficients: Floats
    noise: Floats
    rng: np.random.Generator


def draws_of(row: Floats, n_points: int) -> Draws:
    """Draw what does not depend on the crystal: background and noise.

    Parameters
    ----------
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    n_points : int
        Number of angles.

    Returns
    -------
    Draws
        The same for the same seed in the row.
    """
    rng = np.random.Generator(np.random.PCG64(int(row[PLACE["seed"]])))
    coefficients = rng.standard_normal(int(row[PLACE["background_degree"]]) + 1)
    return Draws(coefficients, rng.random(n_points), rng)


def distorted(lattice: Floats, row: Floats, physics: str) -> Floats:
    """Stretch and shear a cell; fractional coordinates stay.

    Parameters
    ----------
    lattice : ndarray of float64 of shape (3, 3)
        Edges as rows, in angstrom.
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    physics : {"strict", "paper"}
        In "paper", an edge takes a share of another edge; in "strict" a share of its
        own length in the direction of the other, so that the strain does not depend
        on how long the other is. Neither depends on how the crystal is turned.

    Returns
    -------
    ndarray of float64 of shape (3, 3)
        The new edges.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd._conditions import draw_conditions, ranges_of
    >>> from skinterp_xrd._patterns import distorted
    >>> seeds = np.random.SeedSequence(0).spawn(1)
    >>> row = draw_conditions(ranges_of({"stretch_c": 1.01}), seeds)[0]
    >>> np.diag(distorted(4.0 * np.eye(3), row, "strict"))
    array([4.  , 4.  , 4.04])
    """
    a, b, c = row[:3]
    ab, ac, ba, bc, ca, cb = row[3:9]
    matrix = np.array([[1.0, ab, ac], [ba, 1.0, bc], [ca, cb, 1.0]]) * (a, b, c)
    if physics == "strict":
        lengths = np.sqrt((lattice * lattice).sum(axis=1))
        matrix *= lengths[:, None] / lengths
    return np.asarray(matrix @ lattice)


def stick_range(row: Floats, beam: Beam) -> tuple[float, float]:
    """Angles whose reflections are drawn, before the zero shift.

    Parameters
    ----------
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    beam : Beam
        What is measured.

    Returns
    -------
    low, high : float
        In degrees. In strict physics, peaks just outside of the range are taken in,
        whose tails lie within it.
    """
    if beam.physics == "paper":
        return beam.low, beam.high
    shift = row[PLACE["zero_shift"]]
    low, high = beam.low - shift, min(beam.high - shift, HIGHEST)
    size = row[PLACE["grain_size_nm"]]
    above = scherrer_width(math.radians(high / 2), beam.wavelength, size)
    below = scherrer_width(math.radians(max(low, 0.0) / 2), beam.wavelength, size)
    high = min(high + max(1.0, MARGIN_WIDTHS * above), HIGHEST)
    # far below the range rays do not come from the sample
    return max(low - max(1.0, MARGIN_WIDTHS * below), 0.75 * low, 0.0), high


def peaks_under(
    structure: Structure, row: Floats, beam: Beam, rng: np.random.Generator
) -> Peaks:
    """Compute the sticks of a crystal under conditions, where they are drawn.

    Parameters
    ----------
    structure : Structure
        The crystal.
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    beam : Beam
        What is measured.
    rng : numpy.random.Generator
        For the factors of the peaks.

    Returns
    -------
    Peaks
        At the angles of Bragg's law, with raw intensities under texture and thermal
        motion; the zero shift is not in them.
    """
    low, high = stick_range(row, beam)
    lattice = distorted(structure.lattice, row, beam.physics)
    # as those of a structure: kernels are compiled anew for arrays of another kind
    lattice.flags.writeable = False
    table = stick_pattern(
        lattice,
        structure.numbers,
        structure.coords,
        structure.occupancies,
        structure.b_iso,
        FORM_FACTORS,
        beam.wavelength,
        low,
        high,
        SHELL,
        _tolerance(lattice, high, beam),
    )
    below, above = row[PLACE["orientation_low"]], row[PLACE["orientation_high"]]
    # the released code draws the second bound, and uses the first twice
    above = below if beam.physics == "paper" else above
    if below > 0 or above > 0:
        factors = 1.0 + TEXTURE * rng.standard_normal(len(table))
        table[:, 2] *= np.clip(factors, 1.0 - below, 1.0 + above)
    u = row[PLACE["displacement"]]
    if u > 0:
        table[:, 2] *= thermal_factor(table[:, 1], u)
    return Peaks(table)


def _tolerance(lattice: Floats, high: float, beam: Beam) -> float:
    """Degrees within which reflections are one stick: more where they are a crowd."""
    reflections = check_size(lattice, beam.wavelength, high)
    return TOLERANCE if reflections < CROWD else max(TOLERANCE, beam.step / FINE)


def thermal_factor(d: Floats, displacement: float) -> Floats:
    r"""Compute by how much thermal motion weakens peaks.

    Parameters
    ----------
    d : ndarray of float64 of shape (n,)
        Distances of the planes in angstrom; :math:`\sin\theta / \lambda = 1 / 2d`.
    displacement : float
        Root mean square displacement u of the atoms in space, in angstrom.

    Returns
    -------
    ndarray of float64 of shape (n,)
        :math:`e^{-2M}`, :math:`M = \frac{8}{3} \pi^2 u^2 \sin^2\theta / \lambda^2`:
        the factor on the intensity.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd._patterns import thermal_factor
    >>> d = 1.54184 / (2 * np.sin(np.radians(75.3621 / 2)))
    >>> thermal_factor(np.array([d]), 0.1).round(6)
    array([0.920597])
    """
    return np.asarray(np.exp(-4.0 / 3.0 * np.pi**2 * (displacement / d) ** 2))


def profile_of(peaks: Peaks, row: Floats, beam: Beam) -> Floats:
    """Draw sticks as a profile, without background and noise.

    Parameters
    ----------
    peaks : Peaks
        As of `peaks_under`.
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    beam : Beam
        What is measured.

    Returns
    -------
    ndarray of float64 of shape (n_points,)
        Raw intensities per degree.
    """
    two_theta, intensity = peaks.two_theta.copy(), peaks.intensity.copy()
    sample = (beam.wavelength, row[PLACE["grain_size_nm"]])
    variance = row[PLACE["residual_variance"]]
    heights = (
        row[PLACE["goniometer_radius_mm"]],
        row[PLACE["slit_height_mm"]],
        row[PLACE["sample_height_mm"]],
        row[PLACE["slit_width"]],
    )
    if beam.physics == "paper":
        # numpy.arange adds up this step, and where a point goes hangs on its rounding
        step = (beam.low + beam.step) - beam.low
        grid = beam.low + step * np.arange(beam.n_points, dtype=np.float64)
        return np.asarray(
            paper_profile(
                two_theta, intensity, grid, beam.step, *sample, variance, *heights
            )
        )
    return np.asarray(
        strict_profile(
            two_theta,
            intensity,
            beam.low,
            beam.step,
            beam.n_points,
            *sample,
            variance,
            row[PLACE["zero_shift"]],
            *heights,
        )
    )


def background_of(coefficients: Floats, beam: Beam) -> Floats:
    """Shape of the background, from 0 to 1.

    Parameters
    ----------
    coefficients : ndarray of float64 of shape (degree + 1,)
        The highest power first.
    beam : Beam
        What is measured. In strict physics the angles become -1 to 1, so that all
        powers count; in the paper's they stay degrees, and the highest one decides.

    Returns
    -------
    ndarray of float64 of shape (n_points,)
        Reversed in two-theta.
    """
    if beam.physics == "paper":
        x = beam.grid()
    else:
        x = np.linspace(-1.0, 1.0, beam.n_points)
    values = np.polyval(coefficients, x)
    values -= values.min()
    highest = values.max()
    return np.asarray(values[::-1] / highest if highest > 0 else values)


def finish(profile: Floats, row: Floats, beam: Beam, draws: Draws) -> Floats:
    """Add background and noise to a profile, and scale it.

    Parameters
    ----------
    profile : ndarray of float64 of shape (n_points,)
        As of `profile_of`.
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    beam : Beam
        What is measured.
    draws : Draws
        Background and noise.

    Returns
    -------
    ndarray of float64 of shape (n_points,)
        The pattern; zeros where there is no peak.
    """
    if not profile.max() > 0:
        return profile
    pattern = profile
    if beam.normalise is not None and beam.n_points > 1:
        inner = profile.sum() - 0.5 * (profile[0] + profile[-1])
        pattern = profile / (inner * beam.step)
    highest = pattern.max()
    if row[PLACE["background_ratio"]] > 0:
        shape = background_of(draws.coefficients, beam)
        pattern = pattern + row[PLACE["background_ratio"]] * highest * shape
    if row[PLACE["noise_ratio"]] > 0:
        pattern = pattern + row[PLACE["noise_ratio"]] * highest * draws.noise
    if beam.normalise == "max100":
        pattern = pattern * (100.0 / pattern.max())
    return pattern


def pattern_of(structure: Structure, row: Floats, beam: Beam) -> Floats:
    """Simulate one pattern.

    Parameters
    ----------
    structure : Structure
        The crystal.
    row : ndarray of float64 of shape (n_columns,)
        Conditions.
    beam : Beam
        What is measured.

    Returns
    -------
    ndarray of float64 of shape (n_points,)
        The pattern.
    """
    draws = draws_of(row, beam.n_points)
    peaks = peaks_under(structure, row, beam, draws.rng)
    return finish(profile_of(peaks, row, beam), row, beam, draws)
