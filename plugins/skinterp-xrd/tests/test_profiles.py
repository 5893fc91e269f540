"""Profiles of peaks: known widths and areas, and exact convolutions done slowly."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import wofz

from skinterp_xrd import IDEAL_CONDITIONS, Structure, find_peaks
from skinterp_xrd._conditions import FACTORS, PLACE, draw_conditions, ranges_of
from skinterp_xrd._paper_profiles import paper_profile, paper_width
from skinterp_xrd._patterns import (
    Beam,
    background_of,
    distorted,
    draws_of,
    finish,
    pattern_of,
    peaks_under,
    profile_of,
    stick_range,
    thermal_factor,
)
from skinterp_xrd._profiles import (
    axial_nodes,
    box_weights,
    pseudo_voigt,
    scherrer_width,
    strict_profile,
)

WAVELENGTH = 1.54184
IRON = Structure(2.8665 * np.eye(3), [26, 26], [[0, 0, 0], [0.5, 0.5, 0.5]])
BEAM = Beam(WAVELENGTH, 10.0, 80.0, 0.02, "strict", None)
PAPER = Beam(WAVELENGTH, 10.0, 80.0, 0.02, "paper", None)


def row_of(**factors):
    seeds = np.random.SeedSequence(0).spawn(1)
    return draw_conditions(ranges_of(factors), seeds)[0]


def one_peak(mu, *, grid=(10.0, 0.02, 3501), **changes):
    """Draw a peak of area 1, by default by grains and residual distortion alone."""
    settings_ = {
        "grain_size_nm": 10.0,
        "residual_variance": 0.001,
        "zero_shift": 0.0,
        "goniometer_radius_mm": 500.0,
        "slit_height_mm": 0.0,
        "sample_height_mm": 0.0,
        "slit_width": 0.0,
    } | changes
    start, step, n = grid
    return strict_profile(
        np.array([mu]), np.ones(1), start, step, n, WAVELENGTH, *settings_.values()
    )


@pytest.mark.parametrize(
    ("size", "expected"), [(2, 4.0607), (10, 0.81214), (100, 0.08121)]
)
def test_scherrer(size, expected):
    got = scherrer_width(math.radians(15), WAVELENGTH, size)
    assert got == pytest.approx(expected, abs=6e-5)


def test_scherrer_in_the_paper():
    theta = math.radians(15)
    assert paper_width(theta, WAVELENGTH, 20) == pytest.approx(0.07087, abs=6e-6)
    strict = scherrer_width(theta, WAVELENGTH, 20)
    assert strict == pytest.approx(0.40607, abs=6e-6)
    assert strict / paper_width(theta, WAVELENGTH, 20) == pytest.approx(
        5.7296, abs=1e-4
    )


@pytest.mark.parametrize(
    ("u", "two_theta", "expected"),
    [
        (0.1, 27.3887, 0.987667),
        (0.1, 75.3621, 0.920597),
        (0.3, 27.3887, 0.894321),
        (0.3, 75.3621, 0.474925),
    ],
)
def test_thermal_motion(u, two_theta, expected):
    d = WAVELENGTH / (2 * math.sin(math.radians(two_theta / 2)))
    assert thermal_factor(np.array([d]), u)[0] == pytest.approx(expected, abs=6e-7)
    # the same as an isotropic displacement parameter of all atoms, B = 8 pi^2 u^2 / 3
    b = 8 * np.pi**2 * u**2 / 3
    moving, still = find_peaks(IRON.with_b_iso(b)), find_peaks(IRON)
    np.testing.assert_allclose(
        moving.intensity, still.intensity * thermal_factor(still.d, u), rtol=1e-12
    )


def test_pseudo_voigt():
    width, share = pseudo_voigt(1.0, 1.0)
    assert width == pytest.approx(1.6346, abs=6e-5)
    assert share == pytest.approx(0.6825, abs=6e-5)
    assert pseudo_voigt(0.7, 0.0) == pytest.approx((0.7, 0.0))
    assert pseudo_voigt(0.0, 0.7) == pytest.approx((0.7, 1.0))


@pytest.mark.parametrize(
    ("size", "expected"), [(2, 0.9614), (10, 0.9841), (20, 0.9840), (100, 0.9950)]
)
def test_area_of_a_peak(size, expected):
    mu = 45.486
    y = one_peak(mu, grain_size_nm=size)
    area = 0.02 * (y.sum() - 0.5 * (y[0] + y[-1]))
    lorentz = scherrer_width(math.radians(mu / 2), WAVELENGTH, size)
    width, share = pseudo_voigt(math.sqrt(8 * math.log(2) * 0.001), lorentz)
    reach = max(6, 20 * lorentz)
    tails = [min(80, mu + reach) - mu, mu - max(10, mu - reach)]
    closed = 1 - share + share / np.pi * sum(math.atan(2 * t / width) for t in tails)
    assert area == pytest.approx(closed, abs=1e-4)
    assert area == pytest.approx(expected, abs=1e-4)


def exact_voigt(x, centre, width, variance):
    sigma = math.sqrt(variance)
    z = (x - centre + 0.5j * width) / (sigma * math.sqrt(2))
    return wofz(z).real / (sigma * math.sqrt(2 * np.pi))


def exact_peak(x, mu, size, radius, slit, sample, slit_width, variance):
    """Convolve an exact Voigt function, by sums over many heights and places."""
    width = scherrer_width(math.radians(mu / 2), WAVELENGTH, size)
    slit, sample = slit / 2, sample / 2
    h = (np.arange(1000) + 0.5) / 1000 * (slit + sample)
    weight = np.where(h <= abs(slit - sample), 2 * min(slit, sample), slit + sample - h)
    cosine = math.cos(math.radians(mu)) * np.sqrt(1 + (h / radius) ** 2)
    centre = np.arccos(cosine)
    weight = weight / (np.cos(centre) ** 2 * np.sin(centre))
    weight, centre = weight / weight.sum(), np.degrees(centre)
    # ten neighbours at a time lie as good as together
    sums = weight.reshape(-1, 10).sum(axis=1)
    centre = (weight * centre).reshape(-1, 10).sum(axis=1) / sums
    places = (np.arange(20) + 0.5) / 20 * slit_width - slit_width / 2
    total = np.zeros(len(x))
    for place in places:
        total += exact_voigt(x[:, None], centre + place, width, variance) @ sums
    return total / len(places)


@pytest.mark.parametrize("size", [2, 5, 20, 100])
@pytest.mark.parametrize("mu", [12, 30, 60])
@pytest.mark.parametrize("radius", [500, 50])
def test_against_exact_convolutions(size, mu, radius):
    x = mu + 0.02 * np.arange(-60, 41)
    y = one_peak(
        mu,
        grid=(x[0], 0.02, len(x)),
        grain_size_nm=size,
        goniometer_radius_mm=radius,
        slit_height_mm=10.0,
        sample_height_mm=5.0,
        slit_width=0.1,
    )
    expected = exact_peak(x, mu, size, radius, 10.0, 5.0, 0.1, 0.001)
    # the pseudo-Voigt function is the worse, the more it is a Gaussian
    limit = 0.002 if size <= 20 else 0.012
    assert np.abs(y - expected).max() < limit * expected.max()


@pytest.mark.parametrize(
    ("mu", "radius", "lowest", "shift"),
    [
        (10, 500, 9.9634, -0.0068),
        (30, 500, 29.9888, -0.0021),
        (60, 500, 59.9963, -0.0007),
        (10, 50, 5.237, -0.828),
        (30, 50, 28.870, -0.208),
        (60, 50, 59.629, -0.069),
    ],
)
def test_axial_divergence(mu, radius, lowest, shift):
    where, weight = np.empty(64), np.empty(64)
    # of a peak without width, all nodes are used
    n = axial_nodes(mu, 1e-6, radius, 5.0, 2.5, where, weight)
    assert n == 64
    digits = 5e-4 if radius == 50 else 6e-5
    assert weight[:n].sum() == pytest.approx(1)
    assert weight[:n] @ where[:n] - mu == pytest.approx(shift, abs=digits)
    limit = math.cos(math.radians(mu)) * math.sqrt(1 + (7.5 / radius) ** 2)
    assert math.degrees(math.acos(limit)) == pytest.approx(lowest, abs=digits)
    assert where[:n].min() == pytest.approx(lowest, abs=0.01 * (mu - lowest) + digits)
    # few nodes keep the mean
    for width in (0.01, 0.1, 1.0, 10.0, 1000.0):
        few = axial_nodes(mu, width, radius, 5.0, 2.5, where, weight)
        mean = weight[:few] @ where[:few] - mu
        assert mean == pytest.approx(shift, abs=min(2e-3 * width, 0.03) + digits)
    assert few == 1


def test_axial_divergence_turns_round_beyond_90_degrees():
    where, weight = np.empty(64), np.empty(64)
    shifts = []
    for mu in (60.0, 90.0, 120.0):
        n = axial_nodes(mu, 0.01, 50.0, 5.0, 2.5, where, weight)
        shifts.append(weight[:n] @ where[:n] - mu)
    assert shifts[0] == pytest.approx(-shifts[2])
    assert shifts[1] == 0
    assert axial_nodes(30.0, 0.1, 50.0, 0.0, 0.0, where, weight) == 1
    assert (where[0], weight[0]) == (30.0, 1.0)


def test_axial_divergence_with_a_point_of_a_sample():
    # then each height of the slit counts the same
    where, weight = np.empty(64), np.empty(64)
    n = axial_nodes(40.0, 1e-3, 50.0, 5.0, 0.0, where, weight)
    h = np.linspace(0, 5, 10001)
    x = np.arccos(math.cos(math.radians(40)) * np.sqrt(1 + (h / 50) ** 2))
    density = 1 / (np.cos(x) ** 2 * np.sin(x))
    mean = np.degrees((x * density).sum() / density.sum())
    assert weight[:n] @ where[:n] == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("width", [0.1, 0.07, 0.02, 0.005, 0.333])
def test_box(width):
    weights = box_weights(width, 0.02)
    at = 0.02 * (np.arange(len(weights)) - len(weights) // 2)
    assert weights.sum() == pytest.approx(1)
    assert weights @ at == pytest.approx(0, abs=1e-15)
    assert weights @ at**2 == pytest.approx(width**2 / 12)


@settings(max_examples=10)
@given(st.floats(-1.5, 1.5), st.floats(20, 70))
def test_zero_shift_moves_the_pattern(shift, mu):
    moved = one_peak(mu, zero_shift=shift)
    there = one_peak(mu, grid=(10.0 - shift, 0.02, 3501))
    np.testing.assert_allclose(moved, there, rtol=1e-9, atol=1e-12)


@settings(max_examples=10)
@given(
    st.lists(st.floats(15, 75), min_size=1, max_size=5, unique=True),
    st.floats(2, 30),
)
def test_profiles_add_up(places, size):
    args = (10.0, 0.02, 3501, WAVELENGTH, size, 0.001, 0.1, 500.0, 10.0, 5.0, 0.1)
    places = np.sort(places)
    weights = np.arange(1.0, len(places) + 1)
    whole = strict_profile(places, weights, *args)
    parts = [
        strict_profile(places[i : i + 1], weights[i : i + 1], *args)
        for i in range(len(places))
    ]
    np.testing.assert_allclose(whole, np.sum(parts, axis=0), rtol=1e-9, atol=1e-12)
    assert (whole >= 0).all()


def slow_paper(mu, size, grid, radius=500.0):
    """Draw a peak by the recipe, with dense arrays and numpy's own convolution."""
    gap = next(
        g
        for top, g in ((10, 7.8), (15, 10), (20, 15), (30, 20), (180, 30))
        if mu <= top
    )
    x = np.arange(np.round(mu - gap, 2), np.round(mu + gap, 2), 0.02)
    width = paper_width(math.radians(mu / 2), WAVELENGTH, size)
    peak = exact_voigt(x, mu, width, width**2 / (8 * math.sqrt(2)) + 1e-10)
    radius, h_slit, h_sample = radius / 10, 5.0, 2.5
    axial, below = np.zeros(len(x)), x < mu
    c = np.cos(np.radians(x[below]))
    h = radius * np.sqrt((c / math.cos(math.radians(mu))) ** 2 - 1)
    inside = (h >= h_slit - h_sample) & (h <= h_slit + h_sample)
    axial[below] = np.cumsum(np.where(inside, (h_slit + h_sample - h) / (h * c), 0))
    box = (np.abs(x - mu) <= 0.05).astype(float)
    gauss = np.exp(-0.5 * (x - mu) ** 2 / 0.001)
    for kernel in (axial, box, gauss):
        peak = np.convolve(peak, kernel, mode="same")
    peak /= peak.sum() * 0.02
    y = np.zeros(len(grid))
    for at, value in zip(x, peak, strict=True):
        if grid[0] <= at <= grid[-1]:
            y[np.abs(grid - at).argmin()] = value
    return y


@pytest.mark.parametrize("mu", [10.42, 14.317, 27.3887, 45.4861, 75.3622])
@pytest.mark.parametrize("size", [5.0, 20.0])
def test_paper_recipe(mu, size):
    grid = np.arange(10, 80, 0.02)
    y = paper_profile(
        np.array([mu]), np.ones(1), grid, 0.02, WAVELENGTH, size, 0.001, 500.0, 10.0,
        5.0, 0.1,
    )  # fmt: skip
    expected = slow_paper(mu, size, grid)
    assert np.abs(y - expected).max() < 0.02 * expected.max()
    cosine = y @ expected / np.sqrt((y @ y) * (expected @ expected))
    assert cosine > 0.9999
    if 30 < mu < 60:  # the area is one, edges of the range aside
        assert y.sum() * 0.02 == pytest.approx(1, abs=0.01)


def test_paper_knows_no_zero_shift_and_one_bound_of_texture():
    row = row_of(zero_shift=1.0, orientation_high=0.3)
    plain = pattern_of(IRON, row_of(), PAPER)
    np.testing.assert_array_equal(pattern_of(IRON, row, PAPER), plain)
    strict = pattern_of(IRON, row_of(), BEAM)
    assert (pattern_of(IRON, row, BEAM) != strict).any()


def test_distortion_of_a_cube_is_the_matrix():
    row = row_of(stretch_a=1.01, stretch_b=0.99, shear_ab=0.01, shear_cb=0.005)
    expected = [[1.01, 0.0099, 0], [0, 0.99, 0], [0, 0.00495, 1]]
    for physics in ("strict", "paper"):
        np.testing.assert_allclose(distorted(np.eye(3), row, physics), expected)


def test_strict_distortion_does_not_grow_with_the_other_edge():
    lattice = np.diag([3.0, 3.0, 30.0])
    row = row_of(shear_ac=0.01)
    strict, paper = (distorted(lattice, row, p) for p in ("strict", "paper"))
    assert strict[0].tolist() == pytest.approx([3, 0, 0.03])
    assert paper[0].tolist() == pytest.approx([3, 0, 0.3])


@settings(max_examples=10)
@given(st.integers(0, 2**31))
def test_distortion_does_not_depend_on_how_the_crystal_is_turned(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    lattice = rng.normal(size=(3, 3))
    row = row_of(stretch_b=1.01, shear_ab=0.01, shear_ca=0.003)
    for physics in ("strict", "paper"):
        expected = distorted(lattice, row, physics) @ turn
        got = distorted(lattice @ turn, row, physics)
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_texture_is_clipped():
    row = row_of(orientation_low=0.1, orientation_high=0.3)
    plain = find_peaks(IRON, WAVELENGTH, stick_range(row, BEAM)).intensity
    factors = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        factors.append(peaks_under(IRON, row, BEAM, rng).intensity / plain)
    factors = np.concatenate(factors)
    assert factors.min() == pytest.approx(0.9)
    assert factors.max() == pytest.approx(1.3)
    # a normal of spread 0.2 goes below -0.1 in 31 % of the cases
    assert np.mean(factors < 0.9 + 1e-9) == pytest.approx(0.31, abs=0.06)
    rng = np.random.default_rng(0)
    paper = peaks_under(IRON, row, PAPER, rng).intensity / find_peaks(IRON).intensity
    assert paper.max() <= 1.1 + 1e-9


def test_peaks_outside_show_by_their_tails():
    beam = Beam(WAVELENGTH, 46.0, 60.0, 0.02, "strict", None)  # between two of iron
    assert not len(find_peaks(IRON, WAVELENGTH, (46, 60)))
    row = row_of(grain_size_nm=4.0)
    y, wide = pattern_of(IRON, row, beam), pattern_of(IRON, row, BEAM)
    there = np.isin(np.round(BEAM.grid(), 6), np.round(beam.grid(), 6))
    # the next ones, far above, are left out
    np.testing.assert_allclose(y, wide[there], rtol=0, atol=1e-3 * wide.max())
    assert y[0] > 0.3 * wide.max()


def test_a_peak_that_the_shift_brings_into_the_range_is_drawn():
    # iron reflects at 44.7 degrees, far below this range
    beam = Beam(WAVELENGTH, 50.0, 56.0, 0.02, "strict", None)
    row = row_of(zero_shift=8.0)
    y, wide = pattern_of(IRON, row, beam), pattern_of(IRON, row, BEAM)
    assert beam.grid()[y.argmax()] == pytest.approx(52.71, abs=0.03)
    there = np.isin(np.round(BEAM.grid(), 6), np.round(beam.grid(), 6))
    np.testing.assert_allclose(y, wide[there], rtol=0, atol=1e-3 * wide.max())


@pytest.mark.parametrize("beam", [BEAM, PAPER])
def test_a_pattern_under_thermal_motion_is_that_of_moving_atoms(beam):
    u = 0.3
    moving = IRON.with_b_iso(8 * np.pi**2 * u**2 / 3)
    expected = pattern_of(moving, row_of(), beam)
    got = pattern_of(IRON, row_of(displacement=u), beam)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * got.max())


def test_background_and_noise():
    row = row_of(background_ratio=0.05, noise_ratio=0.02)
    draws = draws_of(row, BEAM.n_points)
    shape = background_of(draws.coefficients, BEAM)
    assert (shape.min(), shape.max()) == (0, 1)
    x = np.linspace(-1, 1, BEAM.n_points)
    expected = sum(c * x ** (6 - i) for i, c in enumerate(draws.coefficients))
    expected = (expected - expected.min()) / np.ptp(expected)
    np.testing.assert_allclose(shape, expected[::-1], atol=1e-12)
    profile = profile_of(find_peaks(IRON), row, BEAM)
    pattern = finish(profile, row, BEAM, draws)
    rest = (pattern - profile) / profile.max() - 0.05 * shape
    assert rest.min() >= 0
    assert rest.max() <= 0.02
    assert rest.mean() == pytest.approx(0.01, abs=5e-4)
    np.testing.assert_allclose(rest, 0.02 * draws.noise, atol=1e-12)


def test_in_degrees_the_highest_power_decides():
    coefficients = np.array([1.0, -3.0, 2.0, -1.0, 0.5, 2.0, -1.0])
    x = PAPER.grid()
    shape = background_of(coefficients, PAPER)
    expected = (x**6 - x[0] ** 6) / (x[-1] ** 6 - x[0] ** 6)
    np.testing.assert_allclose(shape[::-1], expected, atol=0.03)
    assert background_of(np.array([2.0]), BEAM).max() == 0


@pytest.mark.parametrize("physics", ["strict", "paper"])
def test_scaling(physics):
    row = row_of(noise_ratio=0.02, background_ratio=0.05)
    made = {
        n: pattern_of(IRON, row, Beam(WAVELENGTH, 10.0, 80.0, 0.02, physics, n))
        for n in ("max100", "area", None)
    }
    assert made["max100"].max() == pytest.approx(100)
    for pattern in made.values():
        np.testing.assert_allclose(pattern * (100 / pattern.max()), made["max100"])
    clean = pattern_of(IRON, row_of(), Beam(WAVELENGTH, 10, 80, 0.02, physics, "area"))
    assert np.trapezoid(clean, dx=0.02) == pytest.approx(1)


def test_grid():
    assert BEAM.n_points == 3501
    assert BEAM.grid()[[0, 1, -1]].tolist() == [10.0, 10.02, 80.0]
    assert Beam(WAVELENGTH, 5.0, 6.0, 0.3, "strict", None).grid().tolist() == [
        5.0,
        5.3,
        5.6,
        5.9,
    ]


def test_conditions_have_a_place_each():
    assert [PLACE[name] for name in FACTORS] == list(range(len(FACTORS)))
    assert row_of()[:-1].tolist() == list(IDEAL_CONDITIONS.values())
