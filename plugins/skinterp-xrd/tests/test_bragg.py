import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp_xrd import Structure, find_peaks
from skinterp_xrd._background import background_of
from skinterp_xrd._bragg import (
    PeakList,
    find_zero_shift,
    index_text,
    peak_lists,
    peak_owners,
    share_out,
    typical_width,
)

GRID = np.round(np.arange(10, 80.01, 0.05), 2)
ANGLES = np.array([25.0, 40.0, 60.0])


def bump(at, width=0.4, height=100.0):
    """A peak of a given width at half its height."""
    return height * np.exp(-4 * np.log(2) * ((GRID - at) / width) ** 2)


def peaks_at(angles, intensity=None):
    n = len(angles)
    size = np.ones(n) if intensity is None else np.asarray(intensity)
    return PeakList(np.asarray(angles, float), np.ones(n), size, ("",) * n)


# -- background -----------------------------------------------------------------------
def snip_by_hand(row, wide):
    """Clip a pattern point by point, as the definition says."""
    level = row.copy()
    for distance in range(wide, 0, -1):
        before = level.copy()
        for i in range(len(row)):
            left = before[max(i - distance, 0)]
            right = before[min(i + distance, len(row) - 1)]
            level[i] = min(before[i], (left + right) / 2)
    return level


@given(
    row=st.lists(st.floats(0, 100), min_size=3, max_size=25),
    wide=st.integers(1, 5),
)
def test_background_is_that_of_its_definition(row, wide):
    row = np.array(row)
    got = background_of(row[None], step=1.0, half_width=wide, smooth=1.0)[0]
    by_hand = snip_by_hand(row, min(wide, (len(row) - 1) // 2))
    inside = slice(wide, len(row) - wide)
    assert (got <= row + 1e-12).all()
    np.testing.assert_allclose(got[inside], by_hand[inside], atol=1e-12)


def test_background_lies_under_peaks_and_runs_through_noise():
    slope = 20 + 0.3 * (GRID - 10)
    noise = np.random.default_rng(0).uniform(-1, 1, len(GRID))
    pattern = slope + sum(bump(a, 0.8) for a in ANGLES) + noise
    found = background_of(pattern[None], step=0.05)[0]
    assert np.abs(found - slope).max() < 2.0
    np.testing.assert_allclose(
        background_of(7 * pattern[None], step=0.05)[0], 7 * found
    )


@pytest.mark.parametrize("n_points", [1, 2, 3, 4])
def test_background_of_few_points_is_finite(n_points):
    found = background_of(np.ones((2, n_points)), step=1.0)
    assert found.shape == (2, n_points)
    assert np.isfinite(found).all()


# -- where the peaks are --------------------------------------------------------------
@pytest.mark.parametrize("shift", [-1.5, -0.3, 0.0, 0.7, 2.0])
def test_zero_shift_is_found(shift):
    net = sum(
        bump(a + shift, height=h) for a, h in zip(ANGLES, (100, 40, 60), strict=True)
    )
    found = find_zero_shift(net, GRID, peaks_at(ANGLES, [100, 40, 60]))
    assert found == pytest.approx(shift, abs=0.03)


def test_a_flat_pattern_is_not_shifted():
    assert find_zero_shift(np.zeros(len(GRID)), GRID, peaks_at(ANGLES)) == 0.0


@pytest.mark.parametrize("width", [0.2, 0.6, 1.5])
def test_width_at_half_the_height_is_measured(width):
    net = sum(bump(a, width / np.cos(np.radians(a) / 2)) for a in ANGLES)
    measured = typical_width(net, GRID, peaks_at(ANGLES))
    assert measured == pytest.approx(width, abs=0.1)


def test_points_go_to_the_nearest_peak_in_reach():
    grid = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 9.0])
    owner = peak_owners(grid, peaks_at([2.0, 4.5]), np.array([1.0, 2.0]))
    assert owner.tolist() == [0, 0, 0, 1, 1, -1]
    # where windows overlap, the first one has no right of its own
    owner = peak_owners(grid, peaks_at([2.0, 3.5, 3.9]), 2.5)
    assert owner.tolist() == [0, 0, 1, 2, 2, -1]


# -- shares ---------------------------------------------------------------------------
def test_shares_are_those_counted_by_hand():
    values = np.zeros(len(GRID))
    for angle, size in ((25.0, 3.0), (40.0, -1.0), (70.0, 1.0)):
        values[np.abs(GRID - angle).argmin()] = size
    told = share_out(
        values, np.zeros(len(GRID)), GRID, peaks_at(ANGLES), window=1.0, zero_shift=0.0
    )
    np.testing.assert_allclose(told.share, [0.6, 0.2, 0.0])
    np.testing.assert_allclose(told.value, [3.0, -1.0, 0.0])
    assert told.outside == pytest.approx(0.2)
    assert told.coverage == pytest.approx(3 * 41 / len(GRID))


def test_windows_grow_with_the_angle_as_widths_do():
    angles = np.array([20.0, 74.0])
    cosine = np.cos(np.radians(angles) / 2)
    net = sum(bump(a, 1 / c) for a, c in zip(angles, cosine, strict=True))
    values = np.ones(len(GRID))
    told = share_out(values, net, GRID, peaks_at(angles), zero_shift=0.0)
    # twice the width at half the height, on both sides
    expected = 4 / cosine / np.ptp(GRID)
    np.testing.assert_allclose(told.share, expected, rtol=0.1)
    assert told.share[1] / told.share[0] == pytest.approx(
        cosine[0] / cosine[1], rel=0.03
    )


@given(
    seed=st.integers(0, 99),
    angles=st.lists(st.floats(5, 90), min_size=1, max_size=12),
    window=st.one_of(st.none(), st.floats(0.05, 5)),
)
def test_shares_sum_to_one(seed, angles, window):
    rng = np.random.default_rng(seed)
    values, net = rng.normal(size=(2, len(GRID)))
    told = share_out(values, net, GRID, peaks_at(np.sort(angles)), window=window)
    assert told.share.sum() + told.outside == pytest.approx(1)
    assert 0 <= told.coverage <= 1


@given(points=st.integers(-30, 30))
def test_shares_move_with_the_pattern(points):
    """Shifting pattern and attribution along the axis changes no peak's share."""
    net = sum(bump(a, height=h) for a, h in zip(ANGLES, (100, 40, 60), strict=True))
    values = np.gradient(net) + 0.1 * net
    still = share_out(values, net, GRID, peaks_at(ANGLES, [100, 40, 60]), window=1.5)
    moved = share_out(
        np.roll(values, points),
        np.roll(net, points),
        GRID,
        peaks_at(ANGLES, [100, 40, 60]),
        window=1.5,
    )
    # the shift is found in steps of 0.02 degrees, on a grid of 0.05
    assert moved.zero_shift == pytest.approx(points * 0.05, abs=0.021)
    np.testing.assert_allclose(moved.share, still.share, atol=1e-3)
    assert moved.outside == pytest.approx(still.outside, abs=1e-3)


# -- lists of peaks -------------------------------------------------------------------
def test_frames_and_angles_are_lists_of_peaks():
    frame = pd.DataFrame(
        {
            "two_theta": [60.0, 25.0],
            "intensity": [40.0, 100.0],
            "hkl": [(3, 1, -1), "111"],
        }
    )
    (one,) = peak_lists(frame, 1, GRID, 1.54184)
    assert one.hkl == ("111", "3 1 -1")
    assert one.two_theta.tolist() == [25.0, 60.0]
    assert one.intensity.tolist() == [100.0, 40.0]
    # Bragg's law
    np.testing.assert_allclose(one.d, 1.54184 / 2 / np.sin(np.radians([12.5, 30.0])))
    same = peak_lists([60.0, 25.0], 3, GRID, 1.54184)
    assert len(same) == 3
    assert same[0].two_theta.tolist() == [25.0, 60.0]
    many = peak_lists([frame, np.array([30.0])], 2, GRID, 1.54184)
    assert [len(m.two_theta) for m in many] == [2, 1]


SALT = Structure(
    [[0, 2.82, 2.82], [2.82, 0, 2.82], [2.82, 2.82, 0]],
    [11, 17],
    [[0, 0, 0], [0.5, 0.5, 0.5]],
)


@pytest.mark.parametrize(
    "many",
    [
        [SALT, [30.0]],
        (SALT, np.array([30.0])),
        pd.Series([SALT, [30.0]], index=[5, 3]),
        np.array([SALT, pd.Series([30.0])], dtype=object),
        [find_peaks(SALT), (30.0,)],
    ],
)
def test_what_holds_several_gives_one_to_each_pattern(many):
    first, second = peak_lists(many, 2, GRID, 1.54184)
    assert first.two_theta.min() == pytest.approx(find_peaks(SALT).two_theta.min())
    assert first.hkl[0] == "111"
    assert second.two_theta.tolist() == [30.0]


def test_angles_and_peaks_hold_for_all_patterns():
    for angles in ((60.0, 25.0), pd.Series([25, 60]), np.array([60, 25])):
        for one in peak_lists(angles, 2, GRID, 1.54184):
            assert one.two_theta.tolist() == [25.0, 60.0]
    rows = np.array([[20.0, 30.0], [40.0, 50.0]])
    assert peak_lists(rows, 2, GRID, 1.54184)[1].two_theta.tolist() == [40.0, 50.0]
    parts = (SALT.lattice, ["Na", "Cl"], SALT.coords)
    for one in peak_lists(parts, 3, GRID, 1.54184):
        assert len(one.two_theta) == 8
    with pytest.raises(TypeError, match=r"got dict\. A list of peaks may be given"):
        peak_lists({"two_theta": [30.0]}, 1, GRID, 1.54184)


def test_indices_are_written():
    assert index_text((1, 1, 0)) == "110"
    assert index_text(np.array([1, 0, 12])) == "1 0 12"
    assert index_text("(111)") == "(111)"


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        ([np.array([30.0])] * 3, "list of 3 for 2 patterns"),
        (pd.DataFrame({"angle": [1.0]}), "two_theta.*angle"),
        (pd.DataFrame({"two_theta": [200.0]}), "0 to 180.0, got 200"),
        (pd.DataFrame({"two_theta": ["x"]}), "must be numbers"),
        (pd.DataFrame({"two_theta": [20.0], "intensity": [-1.0]}), "intensity.*-1"),
        (np.array([np.nan]), "got nan"),
        (np.array([]), "got nothing"),
    ],
)
def test_wrong_lists_of_peaks_are_told(structure, words):
    with pytest.raises(ValueError, match=words):
        peak_lists(structure, 2, GRID, 1.54184)
