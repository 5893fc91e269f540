"""Stick patterns: known answers, pymatgen, a plain twin, and what may not matter."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Lattice
from pymatgen.core import Structure as Theirs

from skinterp_xrd import Structure, as_structure, find_peaks
from skinterp_xrd._elements import form_factor_coefficients
from skinterp_xrd._sticks_kernels import lorentz_polarisation, reciprocal_metric

WAVELENGTH = 1.54184
BCC = [[0, 0, 0], [0.5, 0.5, 0.5]]
FCC = [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]


def shifted(coords, by):
    return [[x + y for x, y in zip(c, by, strict=True)] for c in coords]


def cubic(a, species, coords, occupancies=None):
    parts = (a * np.eye(3), species, coords)
    return as_structure(parts if occupancies is None else (*parts, occupancies))


SALT = cubic(5.6402, ["Na"] * 4 + ["Cl"] * 4, FCC + shifted(FCC, [0.5] * 3))
CAESIUM_CHLORIDE = cubic(4.209, ["Cs", "Cl"], BCC)
SILICON = cubic(5.4309, ["Si"] * 8, FCC + shifted(FCC, [0.25] * 3))
IRON = cubic(2.8665, ["Fe"] * 2, BCC)
COPPER = cubic(3.6149, ["Cu"] * 4, FCC)
_U = 0.305
RUTILE = as_structure(
    (
        np.diag([4.594, 4.594, 2.959]),
        ["Ti"] * 2 + ["O"] * 4,
        [
            *BCC,
            [_U, _U, 0],
            [-_U, -_U, 0],
            [0.5 + _U, 0.5 - _U, 0.5],
            [0.5 - _U, 0.5 + _U, 0.5],
        ],
    )
)
MAGNESIUM = as_structure(
    (
        Lattice.hexagonal(3.2094, 5.2108).matrix,
        ["Mg"] * 2,
        [[1 / 3, 2 / 3, 1 / 4], [2 / 3, 1 / 3, 3 / 4]],
    )
)

# two-theta and intensity by pymatgen 2026.10.24, at 1.54184 angstrom
KNOWN = [
    (
        "NaCl",
        SALT,
        8,
        [
            (27.3887, 8.0775, (1, 1, 1)),
            (31.7293, 100, (2, 0, 0)),
            (45.4860, 65.6283, (2, 2, 0)),
            (53.9146, 1.9459, (3, 1, 1)),
            (56.5214, 21.2236, (2, 2, 2)),
            (66.2863, 9.3182, (4, 0, 0)),
            (73.1376, 0.9080, (3, 3, 1)),
            (75.3621, 24.7482, (4, 2, 0)),
        ],
    ),
    (
        "CsCl",
        CAESIUM_CHLORIDE,
        11,
        [
            (21.1077, 36.4832, (1, 0, 0)),
            (30.0247, 100, (1, 1, 0)),
            (36.9925, 12.1280, (1, 1, 1)),
        ],
    ),
    (
        "Si",
        SILICON,
        5,
        [
            (28.4660, 100, (1, 1, 1)),
            (47.3436, 66.6488, (2, 2, 0)),
            (56.1721, 39.5854, (3, 1, 1)),
            (69.1943, 10.7127, (4, 0, 0)),
            (76.4496, 16.3410, (3, 3, 1)),
        ],
    ),
    ("Fe", IRON, 2, [(44.7095, 100, (1, 1, 0)), (65.0792, 14.6912, (2, 0, 0))]),
    (
        "Cu",
        COPPER,
        3,
        [
            (43.3548, 100, (1, 1, 1)),
            (50.4943, 46.6401, (2, 0, 0)),
            (74.1982, 26.7188, (2, 2, 0)),
        ],
    ),
    (
        "rutile",
        RUTILE,
        16,
        [
            (27.4568, 100, (1, 1, 0)),
            (36.1064, 45.8072, (1, 0, 1)),
            (54.3635, 58.3305, (2, 1, 1)),
        ],
    ),
    (
        "Mg",
        MAGNESIUM,
        11,
        [
            (32.2062, 23.9022, (1, 0, 0)),
            (34.4222, 26.5052, (0, 0, 2)),
            (36.6441, 100, (1, 0, 1)),
        ],
    ),
]


@pytest.mark.parametrize(
    ("structure", "n_peaks", "expected"),
    [row[1:] for row in KNOWN],
    ids=[row[0] for row in KNOWN],
)
def test_known_patterns(structure, n_peaks, expected):
    frame = find_peaks(structure).to_frame()
    assert len(frame) == n_peaks
    for two_theta, intensity, hkl in expected:
        row = frame.iloc[(frame.two_theta - two_theta).abs().argmin()]
        assert row.two_theta == pytest.approx(two_theta, abs=6e-5)
        assert row.intensity == pytest.approx(intensity, abs=6e-5)
        # equal by symmetry: the same indices in another order or with other signs
        assert sorted(map(abs, row.hkl)) == sorted(map(abs, hkl))


def test_raw_intensity_of_salt():
    peaks = find_peaks(SALT)
    assert peaks.intensity[1] == pytest.approx(1048791.9173, abs=6e-5)
    assert peaks.multiplicity.tolist() == [8, 6, 12, 24, 8, 6, 24, 24]


def test_overlapping_reflections_are_one_peak():
    frame = find_peaks(CAESIUM_CHLORIDE).to_frame()
    row = frame.iloc[(frame.two_theta - 66.6626).abs().argmin()]
    assert row.two_theta == pytest.approx(66.6626, abs=6e-5)
    assert (row.hkl, row.multiplicity) == ((3, 0, 0), 30)


def test_peaks_are_named_without_signs_where_that_can_be():
    frame = find_peaks(MAGNESIUM).to_frame()
    assert frame.hkl.tolist()[3:7] == [(1, 0, 2), (1, 1, 0), (1, 0, 3), (2, 0, 0)]
    slanted = Structure(
        Lattice.from_parameters(5, 6, 7, 90, 100, 90).matrix, [26], [[0, 0, 0]]
    )
    assert (1, 0, -1) in [tuple(one) for one in find_peaks(slanted).hkl]
    assert (1, 0, 1) in [tuple(one) for one in find_peaks(slanted).hkl]


@pytest.mark.parametrize(
    ("two_theta", "expected"), [(30, 27.045923), (60, 10 / math.sqrt(3)), (90, 8**0.5)]
)
def test_lorentz_polarisation(two_theta, expected):
    sine2 = math.sin(math.radians(two_theta / 2)) ** 2
    assert lorentz_polarisation(sine2) == pytest.approx(expected, abs=6e-7)


def test_braggs_law():
    assert find_peaks(SALT).two_theta[1] == pytest.approx(31.729347, abs=6e-7)
    expected = 2 * np.degrees(np.arcsin(WAVELENGTH / 2 / 2.8201))
    assert find_peaks(SALT).two_theta[1] == pytest.approx(expected, abs=1e-12)


def test_disorder_removes_the_superstructure():
    ordered = find_peaks(cubic(2.95, ["Cu", "Zn"], BCC))
    assert ordered.two_theta[0] == pytest.approx(30.2978, abs=6e-5)
    assert ordered.scaled[0] == pytest.approx(0.0297, abs=6e-5)
    mixed = cubic(2.95, ["Cu", "Zn"] * 2, [*BCC, *BCC[::-1]], [0.5] * 4)
    assert next(tuple(one) for one in find_peaks(mixed).hkl) == (1, 1, 0)
    assert len(find_peaks(mixed)) == len(ordered) - np.sum(ordered.hkl.sum(1) % 2)


def theirs_of(structure, *, two_theta=(10, 80), wavelength=WAVELENGTH):
    species = [
        {symbol: occupancy}
        for symbol, occupancy in zip(
            structure.species, structure.occupancies.tolist(), strict=True
        )
    ]
    made = Theirs(structure.lattice, species, structure.coords)
    calculator = XRDCalculator(wavelength=wavelength)
    return calculator.get_pattern(made, scaled=False, two_theta_range=two_theta)


def random_crystal(rng, system):
    a, b, c = rng.uniform(3, 8, 3)
    angles = {
        "triclinic": rng.uniform(75, 105, 3),
        "monoclinic": (90, rng.uniform(80, 110), 90),
        "orthorhombic": (90, 90, 90),
        "tetragonal": (90, 90, 90),
        "hexagonal": (90, 90, 120),
        "cubic": (90, 90, 90),
    }[system]
    if system in ("tetragonal", "hexagonal", "cubic"):
        b = a
    if system == "cubic":
        c = a
    m = int(rng.integers(1, 8))
    return Structure(
        Lattice.from_parameters(a, b, c, *angles).matrix,
        rng.integers(1, 93, m),
        rng.random((m, 3)),
        rng.uniform(0.2, 1, m),
    )


SYSTEMS = ["triclinic", "monoclinic", "orthorhombic", "tetragonal", "hexagonal"]


@pytest.mark.parametrize("system", [*SYSTEMS, "cubic"])
def test_same_as_pymatgen(system):
    rng = np.random.default_rng(len(system))
    for _ in range(8):
        structure = random_crystal(rng, system)
        wavelength = float(rng.choice([0.71073, 1.54184, 2.2897]))
        ours = find_peaks(structure, wavelength, (5, 90))
        theirs = theirs_of(structure, two_theta=(5, 90), wavelength=wavelength)
        assert len(ours) == len(theirs.x)
        np.testing.assert_allclose(ours.two_theta, theirs.x, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.intensity, theirs.y, rtol=1e-9)
        np.testing.assert_allclose(ours.d, theirs.d_hkls, rtol=1e-12)
        counts = [sum(one["multiplicity"] for one in peak) for peak in theirs.hkls]
        assert ours.multiplicity.tolist() == counts


@pytest.mark.parametrize("known", KNOWN, ids=[row[0] for row in KNOWN])
def test_known_crystals_are_the_same_in_pymatgen_now(known):
    ours, theirs = find_peaks(known[1]), theirs_of(known[1])
    np.testing.assert_allclose(ours.two_theta, theirs.x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.intensity, theirs.y, rtol=1e-9)


def test_displacements_are_those_of_pymatgen():
    b = {"Cs": 1.8, "Cl": 0.7}
    structure = CAESIUM_CHLORIDE.with_b_iso([1.8, 0.7])
    made = Theirs(CAESIUM_CHLORIDE.lattice, ["Cs", "Cl"], BCC)
    calculator = XRDCalculator(WAVELENGTH, debye_waller_factors=b)
    theirs = calculator.get_pattern(made, scaled=False, two_theta_range=(10, 80))
    np.testing.assert_allclose(find_peaks(structure).intensity, theirs.y, rtol=1e-9)


def twin(structure, wavelength, low, high):
    """Every reflection of a box, one by one; peaks by angle as a dictionary."""
    inverse = np.linalg.inv(structure.lattice).T
    g_max = 2 * math.sin(math.radians(high / 2)) / wavelength
    box = [int(g_max * np.linalg.norm(edge)) + 1 for edge in structure.lattice]
    peaks = {}
    for hkl in itertools.product(*(range(-n, n + 1) for n in box)):
        g = np.linalg.norm(np.array(hkl) @ inverse)
        if g == 0 or wavelength * g >= 2:
            continue
        theta = math.asin(wavelength * g / 2)
        if not low <= math.degrees(2 * theta) <= high:
            continue
        s2, total = (g / 2) ** 2, 0
        for z, x, filled, b in zip(
            structure.numbers,
            structure.coords,
            structure.occupancies,
            structure.b_iso,
            strict=True,
        ):
            a, rate = form_factor_coefficients([z])[0].T
            f = z - 41.78214 * s2 * np.sum(a * np.exp(-rate * s2))
            phase = np.exp(2j * np.pi * np.dot(hkl, x))
            total += filled * f * math.exp(-b * s2) * phase
        factor = (1 + math.cos(2 * theta) ** 2) / (
            math.sin(theta) ** 2 * math.cos(theta)
        )
        key = round(math.degrees(2 * theta) / 1e-5)
        peaks.setdefault(key, []).append(abs(total) ** 2 * factor)
    return {key: (sum(v), len(v)) for key, v in peaks.items()}


crystals = st.builds(
    lambda seed, system: random_crystal(np.random.default_rng(seed), system),
    st.integers(0, 2**31),
    st.sampled_from([*SYSTEMS, "cubic"]),
)


@settings(max_examples=10)
@given(crystals, st.floats(0.3, 4), st.floats(0, 3))
def test_twin(structure, b_iso, low):
    structure = structure.with_b_iso(b_iso)
    ours = find_peaks(structure, 2.0, (low, 75))
    expected = twin(structure, 2.0, low, 75)
    strongest = max(v for v, _ in expected.values())
    kept = {k: v for k, v in expected.items() if v[0] > 1e-5 * strongest}
    assert np.rint(ours.two_theta / 1e-5).tolist() == sorted(kept)
    values = [kept[k][0] for k in sorted(kept)]
    np.testing.assert_allclose(ours.intensity, values, rtol=1e-9)
    assert ours.multiplicity.tolist() == [kept[k][1] for k in sorted(kept)]


def clusters(peaks, floor=3e-5):
    """Peaks nearer than 1e-4 degrees taken together, as far as they count.

    Rounding may put two reflections that are nearly one, or a peak at the edge of being
    left out, on either side.
    """
    at, size = peaks.two_theta, peaks.scaled
    group = np.cumsum(np.diff(at, prepend=-1) > 1e-4) - 1
    total = np.bincount(group, size)
    centre = np.bincount(group, at * size) / total
    counts = total > 100 * floor
    return centre[counts], total[counts]


def assert_same_pattern(one, other):
    (at, size), (other_at, other_size) = clusters(one), clusters(other)
    np.testing.assert_allclose(other_at, at, rtol=0, atol=1e-5)
    np.testing.assert_allclose(other_size, size, rtol=2e-4, atol=1e-8)


def changed(structure, lattice, coords=None, times=1):
    return Structure(
        lattice,
        np.tile(structure.numbers, times),
        structure.coords if coords is None else coords,
        np.tile(structure.occupancies, times),
    )


@settings(max_examples=15)
@given(crystals, st.tuples(*[st.integers(1, 2)] * 3))
def test_supercell(structure, n):
    shifts = list(itertools.product(*map(range, n)))
    coords = np.concatenate([(structure.coords + s) / n for s in shifts])
    lattice = structure.lattice * np.array(n)[:, None]
    larger = find_peaks(changed(structure, lattice, coords, len(shifts)))
    small = find_peaks(structure)
    assert_same_pattern(small, larger)
    # raw intensities are per cell: squares of its content
    ratio = larger.intensity.max() / small.intensity.max()
    assert ratio == pytest.approx(len(shifts) ** 2, rel=1e-4)


def test_supercell_of_salt_to_ten_digits():
    coords = np.concatenate(
        [(SALT.coords + s) / 2 for s in itertools.product(range(2), repeat=3)]
    )
    larger = find_peaks(Structure(2 * SALT.lattice, np.tile(SALT.numbers, 8), coords))
    small = find_peaks(SALT)
    np.testing.assert_allclose(larger.scaled, small.scaled, rtol=1e-10)
    np.testing.assert_allclose(larger.intensity, 64 * small.intensity, rtol=1e-10)


@settings(max_examples=15)
@given(
    crystals,
    st.sampled_from([(0, 1), (1, 2), (2, 0), (1, 0)]),
    st.integers(-2, 2).filter(bool),
)
def test_another_basis_of_the_lattice(structure, axes, times):
    i, j = axes
    lattice, coords = structure.lattice.copy(), structure.coords.copy()
    lattice[i] += times * lattice[j]
    coords[:, j] -= times * coords[:, i]
    other = find_peaks(changed(structure, lattice, coords))
    assert_same_pattern(find_peaks(structure), other)


@pytest.mark.parametrize(
    ("conventional", "transform", "species"),
    [
        (COPPER, [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], [29]),
        (IRON, [[-0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.5, 0.5, -0.5]], [26]),
    ],
)
def test_primitive_cell(conventional, transform, species):
    primitive = Structure(transform @ conventional.lattice, species, [[0, 0, 0]])
    large, small = find_peaks(conventional), find_peaks(primitive)
    np.testing.assert_allclose(small.two_theta, large.two_theta, rtol=0, atol=1e-10)
    np.testing.assert_allclose(small.scaled, large.scaled, rtol=1e-10)
    assert small.multiplicity.tolist() == large.multiplicity.tolist()


@settings(max_examples=15)
@given(crystals, st.tuples(*[st.floats(-3, 3)] * 3))
def test_origin(structure, by):
    moved = find_peaks(changed(structure, structure.lattice, structure.coords + by))
    assert_same_pattern(find_peaks(structure), moved)


@settings(max_examples=15)
@given(crystals, st.integers(0, 2**31))
def test_how_the_crystal_is_turned(structure, seed):
    matrix = np.random.default_rng(seed).normal(size=(3, 3))
    turn = np.linalg.qr(matrix)[0]
    turned = find_peaks(changed(structure, structure.lattice @ turn))
    assert_same_pattern(find_peaks(structure), turned)


@settings(max_examples=15)
@given(crystals, st.floats(1.01, 1.4))
def test_scaling_the_cell_moves_the_sine(structure, q):
    larger = find_peaks(changed(structure, q * structure.lattice), WAVELENGTH, (2, 170))
    small = find_peaks(structure, WAVELENGTH, (2, 170))
    place = {
        tuple(hkl): at
        for hkl, at in zip(small.hkl.tolist(), small.two_theta, strict=True)
    }
    sines = [
        [math.sin(math.radians(at / 2)) for at in (place[tuple(hkl)], two_theta)]
        for hkl, two_theta in zip(larger.hkl.tolist(), larger.two_theta, strict=True)
        if tuple(hkl) in place
    ]
    assert sines
    for before, after in sines:
        assert after == pytest.approx(before / q, rel=1e-9)


@settings(max_examples=15)
@given(crystals, st.integers(5, 400))
def test_shells_do_not_matter(structure, shell):
    whole = find_peaks(structure, 0.8, (3, 120)).table
    parts = find_peaks(structure, 0.8, (3, 120), shell=shell).table
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-12)


def test_many_atoms_of_one_element_go_in_blocks():
    rng = np.random.default_rng(5)
    structure = Structure(np.diag([7.0, 8.0, 9.0]), [14] * 70, rng.random((70, 3)))
    theirs = theirs_of(structure)
    np.testing.assert_allclose(find_peaks(structure).intensity, theirs.y, rtol=1e-9)


def test_metric_is_the_inverse():
    lattice = Lattice.from_parameters(4, 5, 6, 70, 95, 110).matrix
    inverse = np.linalg.inv(lattice @ lattice.T)
    expected = inverse[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    np.testing.assert_allclose(reciprocal_metric(lattice), expected, rtol=1e-12)


def test_a_range_without_peaks():
    nothing = find_peaks(IRON, two_theta_range=(10, 20))
    assert len(nothing) == 0
    assert nothing.hkl.shape == (0, 3)
    assert nothing.to_frame().empty
    assert repr(nothing) == "Peaks(none)"
    assert repr(find_peaks(IRON)) == "Peaks(2 from 44.7095 to 65.0792 degrees)"


def test_absent_reflections_are_no_peaks_where_nothing_else_is():
    # 111 of a body-centred cell lies at 55.5 degrees: rounding leaves 1e-30 of it
    assert len(find_peaks(IRON, two_theta_range=(46, 60))) == 0
    assert len(find_peaks(SILICON, two_theta_range=(30, 40))) == 0


def test_peaks_at_the_ends_of_the_range_are_in_it():
    first, last = find_peaks(IRON).two_theta
    for inside, n in ((1e-9, 2), (-1e-9, 0)):
        ends = (first - inside, last + inside)
        assert len(find_peaks(IRON, two_theta_range=ends)) == n


def test_range_up_to_the_end():
    peaks = find_peaks(IRON, WAVELENGTH, (0, 179.99))
    assert np.isfinite(peaks.table).all()
    theirs = theirs_of(IRON, two_theta=(0, 179.99))
    np.testing.assert_allclose(peaks.two_theta, theirs.x, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("wavelength", "two_theta", "message"),
    [
        (0, (10, 80), "wavelength must be a finite number above 0 angstrom, got 0"),
        (np.nan, (10, 80), "wavelength must be .* got nan"),
        ("CuKa", (10, 80), "wavelength must be .* got 'CuKa'"),
        (1.5, (10, 180), "0 <= low < high < 180, got \\(10, 180\\)"),
        (1.5, (80, 10), "0 <= low < high < 180"),
        (1.5, (-1, 10), "0 <= low < high < 180"),
        (1.5, (10,), "two_theta must be two angles"),
        (1.5, 80, "two_theta must be two angles"),
        (1.5, ("a", "b"), "two_theta must be two angles"),
    ],
)
def test_wrong_beam(wavelength, two_theta, message):
    with pytest.raises(ValueError, match=message):
        find_peaks(IRON, wavelength, two_theta)
