"""The simulator as an estimator: the battery, seeds, tables, wrong input."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skinterp.testing import parametrize_with_methods, register_data
from skinterp_xrd import (
    IDEAL_CONDITIONS,
    RANDOM_CONDITIONS,
    PowderXRDSimulator,
    Structure,
)


def cube(a, numbers, coords, **more):
    return Structure(a * np.eye(3), numbers, coords, **more)


IRON = cube(2.8665, [26, 26], [[0, 0, 0], [0.5, 0.5, 0.5]], label="iron")
CAESIUM_CHLORIDE = cube(4.209, [55, 17], [[0, 0, 0], [0.5, 0.5, 0.5]])
COPPER = cube(
    3.6149, [29] * 4, [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
)
CRYSTALS = [IRON, CAESIUM_CHLORIDE, COPPER]


def structures(task, *, n_rows=12, n_classes=2, seed=0):
    """Cubic crystals of one atom (class 0) or two, for the battery."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    places = [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0]]
    X = [
        cube(rng.uniform(3.0, 5.0), [26] * (label + 1), places[: label + 1])
        for label in np.minimum(y, 2)
    ]
    return X, rng.uniform(size=n_rows) if task == "regression" else y


register_data("structure", structures)


@parametrize_with_methods([PowderXRDSimulator])
def test_battery(estimator, check):
    check(estimator)


def simulator(**params):
    return PowderXRDSimulator(**({"random_state": 0, "step": 0.1} | params))


def test_one_pattern_per_crystal():
    patterns = simulator(step=0.02).transform(CRYSTALS)
    assert patterns.shape == (3, 3501)
    assert patterns.dtype == np.float32
    np.testing.assert_allclose(patterns.max(axis=1), 100, rtol=1e-6)
    assert (patterns >= 0).all()


@pytest.mark.parametrize("physics", ["strict", "paper"])
def test_threads_do_not_matter(physics):
    made = [
        simulator(physics=physics, n_jobs=n_jobs).simulate(CRYSTALS, 15)[0]
        for n_jobs in (None, 1, 2, 3, -1)
    ]
    for other in made[1:]:
        assert other.tobytes() == made[0].tobytes()


def test_the_number_of_patterns_and_crystals_does_not_matter():
    few, frame, groups = simulator().simulate(CRYSTALS, 2)
    more, wider, _ = simulator().simulate([*CRYSTALS, IRON], 5)
    assert groups.tolist() == [0, 0, 1, 1, 2, 2]
    at = [0, 1, 5, 6, 10, 11]
    np.testing.assert_array_equal(more[at], few)
    assert wider.iloc[at].reset_index(drop=True).equals(frame)
    np.testing.assert_array_equal(simulator().transform(CRYSTALS), few[::2])
    assert simulator().sample_conditions(3).equals(frame[::2].reset_index(drop=True))


def test_patterns_of_one_crystal_differ():
    patterns, frame, _ = simulator().simulate([IRON], 20)
    assert len(np.unique(patterns, axis=0)) == 20
    assert frame.seed.nunique() == 20


@pytest.mark.parametrize("physics", ["strict", "paper"])
def test_any_row_makes_its_pattern_again(physics):
    patterns, frame, groups = simulator(physics=physics).simulate(CRYSTALS, 4)
    read = pd.DataFrame(json.loads(json.dumps(frame.to_dict("list"))))
    again = simulator(physics=physics, random_state=7)
    for i in (0, 5, 11):
        alone = again.regenerate([CRYSTALS[groups[i]]], read.iloc[[i]])
        assert alone.tobytes() == patterns[i].tobytes()
    order = np.random.default_rng(0).permutation(12)
    whole = again.regenerate(CRYSTALS, read.iloc[order], groups[order])
    np.testing.assert_array_equal(whole, patterns[order])


def test_seeds():
    one, two = simulator(), simulator(random_state=1)
    assert (one.transform(CRYSTALS) == simulator().transform(CRYSTALS)).all()
    assert (one.transform(CRYSTALS) != two.transform(CRYSTALS)).any()
    # without a seed each call draws anew, until fit
    free = simulator(random_state=None)
    assert (free.transform(CRYSTALS) != free.transform(CRYSTALS)).any()
    free.fit()
    assert (free.transform(CRYSTALS) == free.transform(CRYSTALS)).all()


def test_conditions_are_drawn_where_they_are_said_to_be():
    frame = simulator().sample_conditions(300)
    for name, value in RANDOM_CONDITIONS.items():
        low, high = value if isinstance(value, tuple) else (value, value)
        column = frame[name]
        assert low <= column.min() <= column.max() <= high
        if high > low:
            assert column.min() < low + 0.05 * (high - low)
            assert column.max() > high - 0.05 * (high - low)
    drawn = frame[[n for n, v in RANDOM_CONDITIONS.items() if isinstance(v, tuple)]]
    correlation = np.corrcoef(drawn.to_numpy().T) - np.eye(drawn.shape[1])
    assert np.abs(correlation).max() < 0.3


def test_no_conditions_are_ideal_ones():
    ideal = simulator(conditions=None)
    frame = ideal.sample_conditions(2)
    for name, value in IDEAL_CONDITIONS.items():
        assert (frame[name] == value).all()
    first, second = ideal.transform([IRON]), ideal.transform([IRON])
    np.testing.assert_array_equal(first, second)
    other = simulator(conditions={}, random_state=5).transform([IRON])
    np.testing.assert_array_equal(other, first)
    peak = ideal.grid_[first[0].argmax()]
    assert peak == pytest.approx(ideal.peaks([IRON])[0].two_theta[0], abs=0.06)


@pytest.mark.parametrize("shift", [-1.5, 0.7])
def test_zero_shift_moves_the_maximum(shift):
    model = simulator(conditions={"zero_shift": shift}, step=0.02)
    pattern = model.transform([IRON])[0]
    expected = model.peaks([IRON])[0].two_theta[0] + shift
    assert model.grid_[pattern.argmax()] == pytest.approx(expected, abs=0.02)


def test_smaller_grains_are_wider():
    widths = []
    for size in (2.0, 5.0, 20.0):
        pattern = simulator(conditions={"grain_size_nm": size}).transform([IRON])[0]
        widths.append((pattern > 50).sum() * 0.1)
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


def test_distortion_splits_peaks():
    model = simulator(conditions={"stretch_c": 1.009, "grain_size_nm": 50.0}, step=0.02)
    split = model.transform([COPPER])[0]
    whole = model.set_params(conditions={"grain_size_nm": 50.0}).transform([COPPER])[0]

    def count(y):
        return ((y[1:-1] > 5) & (y[1:-1] > y[:-2]) & (y[1:-1] >= y[2:])).sum()

    # 111 stays one, 200 and 220 become two
    assert (count(whole), count(split)) == (3, 5)


def test_peaks_are_tables():
    first, second, third = simulator().peaks(CRYSTALS)
    assert list(first) == ["two_theta", "d", "intensity", "hkl", "multiplicity"]
    assert [len(one) for one in (first, second, third)] == [2, 11, 3]
    assert first.hkl.tolist() == [(1, 1, 0), (2, 0, 0)]
    assert first.intensity.max() == 100


def test_names_of_the_points():
    model = simulator(step=0.02)
    names = model.get_feature_names_out()
    assert names[[0, 1, -1]].tolist() == ["2theta=10", "2theta=10.02", "2theta=80"]
    frame = model.set_output(transform="pandas").fit_transform(CRYSTALS)
    assert list(frame.columns) == names.tolist()
    assert (frame.to_numpy() == simulator(step=0.02).transform(CRYSTALS)).all()


def test_in_a_pipeline():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(simulator(), KNeighborsClassifier(1))
    assert model.fit(CRYSTALS, ["b", "p", "f"]).predict(CRYSTALS).tolist() == [*"bpf"]


def test_any_form_of_structure():
    from ase import Atoms
    from pymatgen.core import Structure as Theirs

    a = 2.8665
    places = [[0, 0, 0], [0.5, 0.5, 0.5]]
    forms = [
        IRON,
        (a * np.eye(3), ["Fe", "Fe"], places),
        Theirs(a * np.eye(3), ["Fe", "Fe"], places),
        Atoms("Fe2", cell=[a] * 3, scaled_positions=places, pbc=True),
    ]
    patterns = simulator(conditions=None).transform(forms)
    for other in patterns[1:]:
        np.testing.assert_allclose(other, patterns[0], rtol=1e-6, atol=1e-6)


def test_a_large_cell_is_drawn_of_coarser_sticks():
    from skinterp_xrd import _patterns

    rng = np.random.default_rng(0)
    large = Structure(np.diag([9.0, 10.0, 11.0]), [14] * 8, rng.random((8, 3)))
    model = simulator(conditions=None, wavelength=0.5, step=0.02)
    exact = model.transform([large])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_patterns, "CROWD", 10)
        coarse = model.transform([large])
    assert (coarse != exact).any()
    np.testing.assert_allclose(coarse, exact, atol=0.2)


def test_kernels_are_compiled_once(monkeypatch):
    """Peaks and patterns call the kernel with arguments of the same types."""
    from numba import typeof

    from skinterp_xrd import _patterns, _sticks, find_peaks

    kinds = []

    def spied(*args, kernel=_sticks.stick_pattern):
        kinds.append(tuple(str(typeof(one)) for one in args))
        return kernel(*args)

    for module in (_patterns, _sticks):
        monkeypatch.setattr(module, "stick_pattern", spied)
    find_peaks(COPPER, 1, (10, 80))
    simulator(wavelength=1, conditions={"stretch_a": 1}).transform([COPPER])
    simulator(conditions={"grain_size_nm": 5}).explain([COPPER])
    assert len(kinds) == 3
    assert len(set(kinds)) == 1


def test_a_range_without_reflections_warns():
    model = simulator(two_theta=(11, 11.5), step=0.1, conditions=None)
    with pytest.warns(UserWarning, match=r"1 of 2 .* structure 0 \(Structure\(Fe2"):
        patterns = model.transform([IRON, cube(7.9, [26], [[0, 0, 0]])])
    assert not patterns[0].any()
    assert patterns[1].any()


def test_explanation_tells_the_peaks():
    told = simulator().explain(CRYSTALS)
    frame = told.to_frame()
    inside = frame[frame.in_range]
    for i, peaks in enumerate(simulator().peaks(CRYSTALS)):
        mine = inside[inside.structure == i]
        np.testing.assert_allclose(mine.two_theta, peaks.two_theta)
        np.testing.assert_allclose(mine.share, peaks.intensity / peaks.intensity.sum())
        assert mine.hkl.tolist() == peaks.hkl.tolist()
    assert told.labels == ("iron", "Cs1 Cl1", "Cu4")
    assert told.complexity == 6
    assert told.top(1).labels == ("Cs1 Cl1",)


def test_explanation_keeps_what_is_fixed():
    conditions = {"zero_shift": 0.5, "displacement": 0.2, "noise_ratio": 0.1}
    model = simulator(conditions=conditions | {"grain_size_nm": (2, 3)})
    told = model.explain([IRON])
    told.check_faithful(model, [IRON])
    with pytest.raises(AssertionError, match=r"structure 0 \(iron\) differs"):
        told.check_faithful(model, [cube(2.9, [26], [[0, 0, 0]])])
    still = simulator(conditions=None).explain([IRON])
    assert (told.intensity[:2] < still.intensity[:2]).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"step": 0}, "'step' parameter .* range \\(0.0, inf\\)"),
        ({"step": 100.0}, "step must be at most the range of two_theta, 70 degrees"),
        ({"step": np.inf}, "step"),
        ({"two_theta": (10, 190)}, "0 <= low < high < 180, got \\(10, 190\\)"),
        ({"two_theta": (80, 10)}, "0 <= low < high < 180"),
        ({"two_theta": (10, 95), "physics": "paper"}, "end at 90 degrees"),
        ({"wavelength": -1.0}, "'wavelength' parameter"),
        ({"physics": "quick"}, "'physics' parameter .* {'paper', 'strict'}|'strict'"),
        ({"normalise": "max1"}, "'normalise' parameter"),
        ({"conditions": "ideal"}, "'conditions' parameter"),
        ({"conditions": {"grain_size": 3}}, "no factor 'grain_size'; the factors are"),
        ({"conditions": {"seed": 3}}, "no factor 'seed'"),
        ({"conditions": {"grain_size_nm": 0}}, r"\['grain_size_nm'\] must be above 0"),
        ({"conditions": {"grain_size_nm": (5, 2)}}, "must be a number or a pair"),
        ({"conditions": {"grain_size_nm": "5"}}, "must be a number or a pair"),
        ({"conditions": {"stretch_a": 0.0}}, "must be above 0 below 2, got 0"),
        ({"conditions": {"orientation_low": 1.5}}, "must be from 0 to 1, got 1.5"),
        ({"conditions": {"noise_ratio": np.nan}}, "noise_ratio"),
        ({"conditions": {"background_degree": 2.5}}, "must be whole, got 2.5"),
        ({"step": 1e-9}, "at most 1,000,000 points .* which makes 70,000,000,001"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_wrong_parameters(params, message):
    model = simulator(**params)
    with pytest.raises(ValueError, match=message):
        model.transform([IRON])
    if "n_jobs" not in params:
        with pytest.raises(ValueError, match=message):
            model.fit([IRON])


def test_constants_can_be_copied_stored_and_changed():
    for given in (RANDOM_CONDITIONS, IDEAL_CONDITIONS):
        model = clone(simulator(conditions=given)).fit()
        again = pickle.loads(pickle.dumps(model))
        assert again.conditions == copy.deepcopy(given) == given
        assert (again.transform([IRON]) == model.transform([IRON])).all()
    random = simulator(conditions=RANDOM_CONDITIONS).transform([IRON])
    assert (random == simulator().transform([IRON])).all()
    changed = RANDOM_CONDITIONS | {"zero_shift": 0.0}
    assert changed["zero_shift"] == 0.0
    assert dict(RANDOM_CONDITIONS) == {"zero_shift": 0.0} | RANDOM_CONDITIONS
    with pytest.raises(TypeError, match="item assignment"):
        RANDOM_CONDITIONS["zero_shift"] = 0.0
    assert "'zero_shift': (-1.5, 1.5)" in repr(RANDOM_CONDITIONS)


def test_the_degree_of_the_background_is_whole_and_all_of_its_range_is_drawn():
    conditions = {"background_degree": (1, 3), "background_ratio": 0.1}
    model = simulator(conditions=conditions)
    patterns, frame, _ = model.simulate([IRON], 40)
    assert set(frame.background_degree) == {1, 2, 3}
    np.testing.assert_array_equal(model.regenerate([IRON], frame), patterns)


def test_cells_that_would_take_days_are_refused():
    """Lengths in picometres, say; the message tells the number of reflections."""
    large = cube(20_000.0, [26], [[0, 0, 0]])
    words = "about .*e.1[23] reflections .* Are all lengths in angstrom"
    for work in (simulator().transform, simulator().peaks, simulator().explain):
        with pytest.raises(ValueError, match=words):
            work([large])
    needle = Structure(np.diag([1.0, 1.0, 1e6]), [26], [[0, 0, 0]])
    with pytest.raises(ValueError, match=r"with indices up to 100,000"):
        simulator().peaks([needle])
    with pytest.raises(ValueError, match=r"at the wavelength 0\.0001 angstrom"):
        simulator(wavelength=1e-4).transform([IRON])


def test_what_is_no_list_of_structures_is_told():
    for wrong in (pd.DataFrame({"s": [IRON]}), {"s": IRON}):
        with pytest.raises(TypeError, match="pass the values of one of its columns"):
            simulator().transform(wrong)
    column = pd.Series([IRON, COPPER], index=[5, 3])
    assert simulator().transform(column).shape == (2, 701)
    with pytest.raises(FileNotFoundError, match=r"Structure 1: 'none.cif'"):
        simulator().transform([IRON, "none.cif"])


def test_wrong_structures_are_named():
    wrong = (np.zeros((3, 3)), ["Fe"], [[0, 0, 0]])
    for work in (simulator().transform, simulator().peaks, simulator().simulate):
        with pytest.raises(ValueError, match=r"Structure 1: .*singular cell"):
            work([IRON, wrong])


def test_wrong_conditions_are_named():
    model = simulator()
    frame = model.sample_conditions(2)
    for changed, message in [
        (frame.drop(columns="seed"), r"missing columns \['seed'\]"),
        (frame.assign(extra=1), r"unknown \['extra'\]"),
        (frame.assign(grain_size_nm=-1.0), "column 'grain_size_nm' of conditions must"),
        (frame.assign(seed=-1), "column 'seed' of conditions must be integers"),
        (frame.assign(zero_shift="a"), "conditions must be numbers"),
        (frame.assign(background_degree=2.5), "'background_degree' .* whole"),
        (frame.to_numpy(), "must be a table"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.regenerate([IRON], changed)
    with pytest.raises(ValueError, match="2 rows for 3 structures: pass groups"):
        model.regenerate(CRYSTALS, frame)
    for groups in ([0, 3], [0], [0, -1], [0.5, 1.0], ["a", "b"], [np.nan, 1]):
        with pytest.raises(ValueError, match="groups must name one of 2 structures"):
            model.regenerate([IRON, COPPER], frame, groups)
    for n in (0, 1.5, True):
        with pytest.raises(ValueError, match="n_patterns must be an integer"):
            model.simulate([IRON], n)
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            model.sample_conditions(n)
