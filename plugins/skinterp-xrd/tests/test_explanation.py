import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skinterp.explanation import Explanation, FeatureMap, FeatureSource, load
from skinterp_xrd import Diffraction, Structure, XRDSymmetryClassifier

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skinterp_xrd._background import background_of  # noqa: E402
from skinterp_xrd._gradients import (  # noqa: E402
    contrast,
    integrated_gradients,
    refined,
)

GRID = np.linspace(10, 80, 351)
# (111), (200), (220) of two cubic crystals: what tells them apart is where they are.
PEAKS = {"wide": (28.0, 32.5, 46.5), "narrow": (38.0, 44.3, 64.4)}


def data(n=48, seed=0, marker=0.0):
    """Patterns of two crystals, with a bump per class that is no peak, if asked for."""
    rng = np.random.default_rng(seed)
    y = np.array(list(PEAKS))[np.arange(n) % 2]
    shift = rng.uniform(-0.5, 0.5, size=n)
    X = rng.uniform(0, 1, size=(n, len(GRID)))
    for i, label in enumerate(y):
        for angle in PEAKS[label]:
            X[i] += 100 * np.exp(-2.77 * ((GRID - angle - shift[i]) / 0.8) ** 2)
        place = 15.0 if label == "wide" else 20.0
        X[i] += marker * np.exp(-2.77 * ((GRID - place) / 0.8) ** 2)
    return X, y


def crossed(n=48, seed=0, marker=0.0):
    """Peaks that say nothing of the class, and a marker that tells it."""
    X, y = data(n, seed)
    y = y[np.random.default_rng(seed).permutation(n)]
    for i, label in enumerate(y):
        place = 15.0 if label == "wide" else 20.0
        X[i] += marker * np.exp(-2.77 * ((GRID - place) / 0.8) ** 2)
    return X, y


def small(**params):
    settings = {"n_filters": 4, "max_epochs": 12, "batch_size": 16, "lr": 3e-3}
    return XRDSymmetryClassifier(**(settings | {"random_state": 0} | params))


def angles_of(y):
    return [np.array(PEAKS[label]) for label in y]


@pytest.fixture(scope="module")
def fitted():
    return small().fit(*data())


@pytest.fixture(scope="module")
def three():
    X, y = data()
    y = np.where(np.arange(len(y)) % 6 == 5, "third", y)
    return small(max_epochs=4).fit(X, y)


@pytest.fixture(scope="module")
def told(fitted):
    X, y = data(6, seed=1)
    return fitted.explain(X, structure=angles_of(y))


# -- right answers --------------------------------------------------------------------
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("steps", [1, 7])
def test_of_a_linear_network_it_is_gradient_times_difference(n_classes, steps):
    n_outputs = 1 if n_classes == 2 else n_classes
    module = torch.nn.Linear(9, n_outputs).double()
    x, start = torch.rand(2, 9, dtype=torch.float64)
    for k in range(n_classes):
        values = integrated_gradients(module, x, start, k, steps=steps)
        weight = module.weight.detach()
        gradient = weight[0] * (2 * k - 1)
        if n_outputs > 1:
            gradient = weight[k] - weight.mean(dim=0)
        torch.testing.assert_close(values, gradient * (x - start))


def test_of_a_square_it_is_known():
    """The gradient along the line is integrated, not taken at its end."""

    class Square(torch.nn.Module):
        def forward(self, x):
            return (x**2).sum(dim=1, keepdim=True)

    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    values = integrated_gradients(Square(), x, torch.zeros_like(x), 1, steps=4)
    torch.testing.assert_close(values, x**2)


def test_the_line_is_divided_until_the_parts_sum():
    class Wave(torch.nn.Module):
        def forward(self, x):
            return torch.sin(90 * x).sum(dim=1, keepdim=True)

    x = torch.tensor([0.9, 0.4, 0.7], dtype=torch.float64)
    start = torch.zeros_like(x)
    change = float(torch.sin(90 * x).sum())
    coarse = integrated_gradients(Wave(), x, start, 1, steps=32)
    assert abs(float(coarse.sum()) - change) > 0.1
    limits = {"tolerance": 0.01, "steps": 32}
    values = refined(Wave(), x, start, 1, change, max_steps=1024, **limits)
    assert abs(float(values.sum()) - change) <= 0.01 * (1 + abs(change))
    stopped = refined(Wave(), x, start, 1, change, max_steps=32, **limits)
    torch.testing.assert_close(stopped, coarse)


def test_the_line_begins_at_the_background(fitted):
    X, _ = data(3)
    slope = np.linspace(30, 60, len(GRID))
    explained = fitted.explain(X + slope)
    scaled = fitted._transform_inputs(X + slope)
    top = (X + slope).max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        explained.background, background_of(scaled, 0.2) * top, rtol=1e-5
    )
    assert np.abs(explained.background - slope).max() < 5
    # what is background has no part in what the peaks say
    away = np.abs(GRID - 75) < 3
    size = np.abs(explained.values)
    assert size[:, away].sum() < 0.05 * size.sum()


def test_attribution_moves_with_the_pattern():
    """A network that does not care where peaks are explains a moved pattern alike."""

    class Anywhere(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolve = torch.nn.Conv1d(1, 3, 9, padding=4, padding_mode="circular")

        def forward(self, x):
            return torch.relu(self.convolve(x[:, None])).mean(dim=2)

    torch.manual_seed(0)
    module = Anywhere().double()
    x = torch.tensor(data(1)[0][0] / 100)
    start = torch.full_like(x, 0.01)
    still = integrated_gradients(module, x, start, 2, steps=32)
    for points in (1, 8, 40):
        moved = integrated_gradients(module, x.roll(points), start, 2, steps=32)
        torch.testing.assert_close(moved, still.roll(points))


@pytest.mark.parametrize("model", ["fitted", "three"])
def test_parts_sum_to_the_difference_of_the_logits(model, request):
    model = request.getfixturevalue(model)
    X, _ = data(20, seed=3)
    explained = model.explain(X)
    explained.check_faithful(model, X)
    scaled = model._transform_inputs(X)
    start = explained.background / X.max(axis=1, keepdims=True)
    module, classes = model.module_.double(), torch.tensor(explained.targets)
    with torch.no_grad():
        top = contrast(module(torch.tensor(scaled)), classes).numpy()
        base = contrast(module(torch.tensor(start)), classes).numpy()
    change = top - base
    np.testing.assert_allclose(explained.base_values, base, atol=1e-9)
    gap = np.abs(explained.values.sum(axis=1) - change)
    assert (gap <= 0.01 * (1 + np.abs(change))).all()
    predicted = model.predict(X)
    assert (explained.target_names[explained.targets] == predicted).all()


def test_any_class_can_be_asked_for(three):
    X, _ = data(3)
    for k, label in enumerate(three.classes_):
        explained = three.explain(X, target=label)
        assert (explained.targets == k).all()
        explained.check_faithful(three, X)
    both = [three.explain(X, target=label).total() for label in three.classes_]
    # the logits less their mean sum to zero
    np.testing.assert_allclose(np.sum(both, axis=0), 0, atol=0.1)


def test_a_wrong_sum_is_found(fitted):
    X, _ = data(3)
    explained = fitted.explain(X)
    wrong = explained._with(values=explained.values * 3.0)
    with pytest.raises(AssertionError, match="pattern 0: background and parts"):
        wrong.check_faithful(fitted, X)


def test_shares_belong_to_peaks(told):
    table = told.peaks()
    assert table.groupby("pattern").size().tolist() == [3] * 6
    total = table.groupby("pattern")["share"].sum() + told.outside
    np.testing.assert_allclose(total, 1)
    assert (told.outside < 0.1).all()
    assert (np.abs(told.zero_shift) < 0.6).all()
    d = 1.54184 / 2 / np.sin(np.radians(14.0))
    assert table["d"].iloc[0] == pytest.approx(d)


def test_a_marker_that_is_no_peak_raises_the_share_outside():
    """Where a bump tells the class and peaks do not, the alarm goes off."""
    X, y = crossed(marker=30.0)
    model = small(max_epochs=30).fit(X, y)
    assert model.score(X, y) > 0.9
    truth = [np.array(PEAKS[list(PEAKS)[i % 2]]) for i in range(8)]
    planted = model.explain(X[:8], structure=truth)
    clean_X, clean_y = data()
    clean = (
        small()
        .fit(clean_X, clean_y)
        .explain(clean_X[:8], structure=angles_of(clean_y[:8]))
    )
    assert np.median(planted.outside) > 0.3
    assert np.median(planted.outside) > 5 * np.median(clean.outside)
    assert np.median(clean.outside) < 0.1
    assert "ALARM" in planted.to_text()
    assert "ALARM" not in clean.to_text()


def test_peaks_of_a_structure_are_found():
    """Rock salt, its structure given in each form that the package reads."""
    pytest.importorskip("skinterp_xrd._simulator")
    a = 5.6402
    half = [[0.5, 0.5, 0.5]]
    cell = [[0, a / 2, a / 2], [a / 2, 0, a / 2], [a / 2, a / 2, 0]]
    salt = Structure(cell, [11, 17], [[0, 0, 0], *half])
    X, y = data(24)
    X[0] = 1.0
    for angle, size in ((27.39, 8), (31.73, 100), (45.49, 66)):
        X[0] += size * np.exp(-2.77 * ((GRID - angle - 0.4) / 0.5) ** 2)
    model = small(max_epochs=1).fit(X, y)
    explained = model.explain(X[:1], structure=salt)
    table = explained.peaks()
    assert explained.zero_shift[0] == pytest.approx(
        0.4, abs=0.1
    )  # the grid has steps of 0.2
    near = np.abs(table["two_theta"] - 0.4 - 31.7293).idxmin()
    assert table["two_theta"][near] == pytest.approx(32.13, abs=0.1)
    assert table["d"][near] == pytest.approx(2.8201, abs=1e-3)
    assert (table["hkl"].str.len() >= 3).all()
    same = model.explain(X[:1], structure=(cell, ["Na", "Cl"], [[0, 0, 0], *half]))
    np.testing.assert_allclose(same.peak_share, explained.peak_share)


def test_options_place_the_windows(fitted):
    X, y = data(2)
    fixed = fitted.explain(X, structure=angles_of(y), zero_shift=0.25, window=1.0)
    np.testing.assert_allclose(fixed.zero_shift, 0.25)
    np.testing.assert_allclose(fixed.coverage, 3 * 10 / 351, atol=0.01)
    everything = fitted.explain(X, structure=angles_of(y), window=90.0)
    np.testing.assert_allclose(everything.outside, 0, atol=1e-12)


# -- global ---------------------------------------------------------------------------
def test_the_whole_model_is_told(three):
    whole = three.explain()
    whole.check_faithful(three, data()[0])
    text = whole.to_text()
    for words in ("wide: ", "training patterns", "looks at", "how frequent", "rare"):
        assert words in text
    np.testing.assert_allclose(whole.values.sum(axis=1), 1)
    assert whole.confusion.sum() == 5  # the tenth part kept to validate on
    assert whole.evaluated_on == "validation"
    X, y = data()
    y = np.where(np.arange(len(y)) % 6 == 5, "third", y)
    scaled = 100 * X / X.max(axis=1, keepdims=True)
    np.testing.assert_allclose(whole.patterns[0], scaled[y == "narrow"].mean(axis=0))


def test_space_groups_are_gathered_by_system():
    X, y = data(24)
    numbers = np.where(y == "wide", 225, np.where(np.arange(24) % 4 == 1, 221, 194))
    model = small(target="space_group", max_epochs=1, validation_fraction=None).fit(
        X, numbers
    )
    whole = model.explain()
    assert whole.confusion_names == ("hexagonal", "cubic")
    assert whole.confusion.sum(axis=1).tolist() == [6, 18]
    assert whole.evaluated_on == "training"
    assert whole.target_names.tolist() == [194, 221, 225]
    names = small(target="space_group", max_epochs=1).fit(X, y).explain()
    assert names.confusion_names == ("narrow", "wide")


# -- as an object ---------------------------------------------------------------------
def test_it_is_stored_and_read(told, three, tmp_path):
    for one in (told, three.explain()):
        json.dumps(one.to_dict(), allow_nan=False)
        assert Explanation.from_dict(one.to_dict()) == one
        one.save(tmp_path / "one.json")
        assert load(tmp_path / "one.json") == one


def test_patterns_are_taken_out_with_their_peaks(told):
    last = told[-1]
    np.testing.assert_array_equal(last.peak_share, told.peak_share[-3:])
    assert last.peak_offsets.tolist() == [0, 3]
    turned = told[::-1][::-1]
    assert turned == told
    worst = told.top(1)
    assert worst.outside[0] == told.outside.max()
    assert len(told.top(99)) == 6
    with pytest.raises(ValueError, match="k=0"):
        told.top(0)


def test_tables_speak_of_angles_and_distances(told, fitted):
    ranges = told.ranges()
    assert ranges.groupby("pattern")["share"].sum().to_numpy() == pytest.approx(1)
    assert (ranges["d_high"] >= ranges["d_low"]).all()
    assert told.to_frame().equals(told.peaks())
    plain = fitted.explain(data(2)[0])
    assert plain.to_frame().equals(plain.ranges())
    with pytest.raises(ValueError, match="pass structure="):
        plain.peaks()
    assert 1 <= told.complexity <= 35


def test_texts_name_peaks(told, fitted):
    assert "outside any peak" in told.to_text()
    assert "deg (d " in told.to_text()
    X, _ = data(30)
    assert "... 10 more" in fitted.explain(X).to_text()


def test_pictures_show_patterns_and_peaks(told, three):
    ax = told.plot()
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert len(labels) == 6
    assert "outside peaks" in labels[0]
    assert len(ax.collections) >= 12  # a coloured line and ticks for each
    whole = three.explain().plot()
    assert len(whole.child_axes) == 2  # distances above, confusion beside
    plt.close("all")


def test_more_patterns_than_fit_are_counted(fitted):
    X, _ = data(10)
    ax = fitted.explain(X).plot()
    assert "(2 more patterns)" in ax.get_xlabel()
    plt.close("all")


def test_points_take_the_names_of_their_columns(told):
    sources = tuple(FeatureSource(form="value", column=350 - i) for i in range(351))
    names = tuple(f"c{i}" for i in range(351))
    mapped = told.map_features(FeatureMap(names, sources))
    assert mapped.feature_names == names[::-1]
    np.testing.assert_array_equal(mapped.values, told.values)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"structure": [np.array([30.0])] * 3}, "list of 3 for 2 patterns"),
        ({"target": "green"}, "target='green' is none of the classes"),
        ({"target": 0}, "target=0 is none"),
        ({"window": 0.0, "structure": [30.0]}, "window.*above 0.*0.0"),
        ({"window": "wide"}, "window"),
        ({"zero_shift": np.nan}, "zero_shift.*nan"),
        ({"zero_shift": True}, "zero_shift.*True"),
    ],
)
def test_wrong_options_are_told(fitted, options, words):
    with pytest.raises(ValueError, match=words):
        fitted.explain(data(2)[0], **options)


def test_options_of_patterns_need_patterns(fitted):
    with pytest.raises(ValueError, match="structure is an option for single patterns"):
        fitted.explain(structure=[30.0])
    with pytest.raises(TypeError, match="no option 'steps'"):
        fitted.explain(data(2)[0], steps=3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": np.zeros((1, 2))}, r"values has shape \(1, 2\), expected \(1, 3\)"),
        ({"two_theta": np.zeros(2)}, "two_theta has shape"),
        ({"base_values": np.zeros(2)}, "base_values has shape"),
        ({"targets": np.array([2])}, "targets holds 2"),
        ({"peak_offsets": np.array([0, 1])}, "peak_two_theta has shape"),
        ({"scope": "global"}, "has shape"),
    ],
)
def test_arrays_have_to_fit_together(change, words):
    fields = {
        "scope": "local",
        "feature_names": ("a", "b", "c"),
        "target_names": np.array(["x", "y"]),
        "two_theta": np.array([20.0, 30.0, 40.0]),
        "wavelength": 1.5,
        "values": np.zeros((1, 3)),
        "patterns": np.ones((1, 3)),
        "targets": np.array([0]),
        "base_values": np.zeros(1),
        "background": np.zeros((1, 3)),
    }
    assert len(Diffraction(**fields)) == 1
    with pytest.raises(ValueError, match=words):
        Diffraction(**(fields | change))
