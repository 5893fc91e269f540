"""Shapelet transform: distances by brute force, qualities by hand, real data."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import skinterp
from skinterp.series import ShapeletTransformer, _shapelet_search
from skinterp.series._containers import as_series
from skinterp.series._shapelet_plan import (
    Candidates,
    least_distances,
    normalised,
    pack_series,
    pack_shapelets,
)
from skinterp.series._shapelet_pruning import Pruning
from skinterp.series._shapelet_quality import rate_candidates
from skinterp.testing import make_data, series
from skinterp.trees import BooleanTreeClassifier


# -- the twin ----------------------------------------------------------------------
def normal_form(window, flat):
    window = window - window[0]
    window = window - window.mean()
    deviation = np.sqrt(np.mean(window**2))
    return window * 0 if deviation <= flat else window / deviation


def flat_below(x):
    largest = np.abs(x).max()
    return max(1e-10 * np.abs(x - x.mean()).max(), 4 * np.finfo(float).eps * largest)


def by_hand(x, shape):
    """Least distance and offset, window by window."""
    n, flat = len(shape), flat_below(x)
    if len(x) < n:
        whole, m = normal_form(x, flat), len(x)
        windows = [normal_form(shape[d : d + m], 1e-10) for d in range(n - m + 1)]
        found = [np.sqrt(np.mean((whole - w) ** 2)) for w in windows]
    else:
        windows = [normal_form(x[d : d + n], flat) for d in range(len(x) - n + 1)]
        found = [np.sqrt(np.mean((shape - w) ** 2)) for w in windows]
    at = int(np.argmax(np.array(found) <= min(found) + 1e-9))
    return min(found), -at if len(x) < n else at


def matches(X, candidates, X_new=None):
    """Distances and offsets of candidates by the kernels, and the shapes."""
    packed = pack_series(as_series(X))
    where = Candidates(*(np.array(c, dtype=np.int64) for c in candidates))
    shapes, begins = normalised(packed, where)
    new = packed if X_new is None else pack_series(as_series(X_new))
    plan = pack_shapelets(shapes, begins, where.channel)
    distance, location = least_distances(new, plan, locate=True)
    return distance, location, np.split(shapes, begins[1:-1])


def draw_candidates(X, n, rng):
    case = rng.integers(0, len(X), n)
    length = [rng.integers(3, X[i].shape[1] + 1) for i in case]
    start = [
        rng.integers(0, X[i].shape[1] - m + 1)
        for i, m in zip(case, length, strict=True)
    ]
    return case, rng.integers(0, len(X[0]), n), start, length


def assert_as_by_hand(X, candidates, X_new=None):
    distance, location, shapes = matches(X, candidates, X_new)
    for i, rows in enumerate(X if X_new is None else X_new):
        for k, (shape, channel) in enumerate(zip(shapes, candidates[1], strict=True)):
            expected, at = by_hand(rows[channel], shape)
            assert distance[i, k] == pytest.approx(expected, abs=1e-8), (i, k)
            if at != location[i, k]:  # rounding decides between equal windows only
                n = len(shape)
                assert n <= rows.shape[1]
                window = rows[channel, location[i, k] : location[i, k] + n]
                other = normal_form(window, flat_below(rows[channel]))
                off = np.sqrt(np.mean((shape - other) ** 2))
                assert off == pytest.approx(expected, abs=3e-9), (i, k)


@given(
    X=series(n_cases=(1, 4), n_timepoints=(3, 40), unequal=True),
    seed=st.integers(0, 99),
)
def test_distances_equal_the_twin(X, seed):
    assert_as_by_hand(X, draw_candidates(X, 5, np.random.default_rng(seed)))


def odd(kind, m, rng):
    """Series that are hard on sums, bounds and ties."""
    if kind == "noise":
        return rng.normal(size=m)
    if kind == "walk":
        return rng.normal(size=m).cumsum()
    if kind == "step":
        return (np.arange(m) > m // 2) * 1.0
    if kind == "few values":
        return np.round(rng.normal(size=m) * 0.6)
    if kind == "wild":
        return rng.normal(size=m) * np.exp(3 * rng.normal(size=m))
    x = np.zeros(m)
    x[m // 3 : m // 3 + 5] = rng.normal(size=5) * 1e-4
    x[-9:] = rng.normal(size=9)
    return x


ODD = ("noise", "walk", "step", "few values", "wild", "nearly flat")


@pytest.mark.parametrize("kind", ODD)
def test_long_series_equal_the_twin(kind):
    """Long enough for bounds by segments and for several blocks of windows."""
    rng = np.random.default_rng(0)
    X = [np.stack([odd(kind, m, rng), odd("walk", m, rng)]) for m in (150, 400, 170)]
    case, channel, start, length = draw_candidates(X, 12, rng)
    length[:3], start[:3], case[:3] = [129, 140, 300], [7, 3, 50], [0, 2, 1]
    assert_as_by_hand(X, (case, channel, start, length))


def test_shorter_series_slide_over_the_shapelet():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(1, 30)), np.zeros((1, 30))]
    short = [X[0][:, 11:16], rng.normal(size=(1, 4)), np.full((1, 7), 2.0)]
    candidates = [0, 1], [0, 0], [4, 0], [20, 10]
    assert_as_by_hand(X, candidates, short)
    distance, location, _ = matches(X, candidates, short)
    assert distance[0, 0] == pytest.approx(0, abs=1e-9)
    assert location[0, 0] == -7


def test_flat_windows_normalise_to_zero():
    """A flat window is 1 from a shape, 0 from a flat one, whatever its level."""
    wave = np.array([0.0, 1.0, 0.0, -1.0] * 3)
    X = [wave[None], np.full((1, 12), 0.1), np.full((1, 12), 1e9)]
    distance, _, shapes = matches(X, ([0, 1], [0, 0], [0, 2], [8, 5]))
    assert (shapes[1] == 0).all()
    np.testing.assert_array_equal(distance[1:, 0], [1.0, 1.0])
    np.testing.assert_array_equal(distance[:, 1], [1.0, 0.0, 0.0])


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e150])
def test_level_and_scale_change_nothing(factor):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 2, 50))
    candidates = draw_candidates(X, 20, rng)
    distance, location, _ = matches(X, candidates)
    far, at, _ = matches(X + 1e8, candidates)
    np.testing.assert_allclose(far, distance, atol=1e-6)
    np.testing.assert_array_equal(at, location)
    scaled, at, _ = matches(X * factor, candidates)
    np.testing.assert_allclose(scaled, distance, atol=1e-12)
    np.testing.assert_array_equal(at, location)


def test_of_equal_windows_the_first_counts():
    x = np.tile([0.0, 2.0, 1.0, 5.0, -3.0], 60)[None]
    _, location, _ = matches([x], ([0, 0, 0], [0, 0, 0], [45, 7, 120], [10, 200, 140]))
    np.testing.assert_array_equal(location, [[0, 2, 0]])


# -- qualities ---------------------------------------------------------------------
def entropy(y):
    p = np.bincount(y) / len(y)
    return -sum(q * np.log2(q) for q in p if q > 0)


def gain_by_hand(distance, y):
    gains = [0.0]
    for at in np.unique(distance)[:-1]:
        near = distance <= at
        parts = [y[near], y[~near]]
        gains.append(entropy(y) - sum(len(p) / len(y) * entropy(p) for p in parts))
    return max(gains)


@given(seed=st.integers(0, 2**31), n=st.integers(3, 30), classes=st.integers(2, 4))
def test_qualities_equal_their_definitions(seed, n, classes):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n)])
    distance = np.round(rng.uniform(0, 2, size=(len(y), 3)), 1)
    own = rng.integers(0, classes, 3)
    columns = np.ascontiguousarray(distance.T)
    rate = lambda name, y=y: rate_candidates(columns, y, own, classes, name)[0]  # noqa: E731
    one = [gain_by_hand(distance[:, k], (y == own[k]).astype(int)) for k in range(3)]
    np.testing.assert_allclose(rate("information_gain"), one, atol=1e-9)
    several = [gain_by_hand(distance[:, k], y) for k in range(3)]
    np.testing.assert_allclose(rate("multiclass_information_gain"), several, atol=1e-9)
    numbers = rng.normal(size=len(y))
    best = []
    for d in distance.T:
        sides = [(numbers[d <= a], numbers[d > a]) for a in np.unique(d)[:-1]]
        left = [sum(((s - s.mean()) ** 2).sum() for s in pair) for pair in sides]
        best.append(1 - min([1.0, *(v / (len(y) * numbers.var()) for v in left)]))
    np.testing.assert_allclose(rate("variance_reduction", numbers), best, atol=1e-9)


def test_f_statistic_is_that_of_scikit_learn():
    from sklearn.feature_selection import f_classif

    rng = np.random.default_rng(0)
    y, distance = np.arange(30) % 3, rng.uniform(size=(30, 4))
    got = rate_candidates(distance.T, y, np.zeros(4, int), 3, "f_statistic")[0]
    np.testing.assert_allclose(got, f_classif(distance, y)[0])
    clear = rate_candidates(y[None] * 1.0, y, np.zeros(1, int), 3, "f_statistic")[0]
    assert clear == np.inf


def test_threshold_lies_between_near_and_far():
    distance = np.array([[0.0, 0.2, 0.6, 0.9]])
    found = rate_candidates(
        distance, np.array([0, 0, 1, 1]), np.array([0]), 2, "information_gain"
    )
    assert [float(part[0]) for part in found] == pytest.approx([1.0, 0.4, 0.4])


def test_equal_distances_are_not_split():
    distance = 0.5 + np.array([[0.0, 1e-12, 2e-12, 3e-12]])
    for name in ("information_gain", "multiclass_information_gain"):
        found = rate_candidates(
            distance, np.array([0, 0, 1, 1]), np.array([0]), 2, name
        )
        assert found[0] == 0.0


# -- what is kept ------------------------------------------------------------------
def planted(n=40, m=60, seed=0):
    """Noise, with one wave anywhere in class 1, in the second channel."""
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=0.2, size=(n, 2, m))
    y = np.arange(n) % 2
    for i in np.flatnonzero(y):
        at = rng.integers(0, m - 16)
        X[i, 1, at : at + 16] += 3 * np.sin(np.linspace(0, 2 * np.pi, 16))
    return X, y


def test_a_planted_shape_is_found():
    X, y = planted()
    model = ShapeletTransformer(400, n_shapelets=3, random_state=0).fit(X, y)
    assert model.quality_[0] == pytest.approx(1.0)
    assert model.channel_[0] == 1
    X_new, y_new = planted(seed=1)
    model.set_params(output="predicate")
    near = model.transform(X_new)[:, 0]
    assert (near == (y_new == model.class_[0])).mean() > 0.85


def test_overlapping_and_equal_shapelets_are_left_out():
    X, y = planted()
    X[4], X[6] = X[2], X[2]
    model = ShapeletTransformer(600, n_shapelets=None, random_state=0).fit(X, y)
    spans = {}
    for k, shape in enumerate(model.shapelets_):
        place = (model.case_[k], model.channel_[k])
        spans.setdefault(place, []).append((model.start_[k], len(shape)))
    for taken in spans.values():
        taken.sort()
        assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(taken))
    values = {
        (c, s.round(8).tobytes())
        for c, s in zip(model.channel_, model.shapelets_, strict=True)
    }
    assert len(values) == model.n_shapelets_
    assert (np.diff(model.quality_) <= 1e-9).all()


def test_number_per_class_and_lengths_are_kept_to():
    X, y = planted()
    model = ShapeletTransformer(
        300, n_shapelets=4, min_length=10, max_length=20, random_state=0
    ).fit(X, y)
    assert np.bincount(model.class_).max() == 4
    sizes = [len(shape) for shape in model.shapelets_]
    assert min(sizes) >= 10
    assert max(sizes) <= 20
    share = ShapeletTransformer(100, max_length=0.25, random_state=0).fit(X, y)
    assert max(len(shape) for shape in share.shapelets_) <= 15


def test_more_candidates_do_no_harm():
    X, y = planted()
    few, many = (
        ShapeletTransformer(n, n_shapelets=1, random_state=0).fit(X, y).quality_.max()
        for n in (20, 500)
    )
    assert many >= few


@pytest.mark.parametrize("n_shapelets", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_giving_up_early_changes_nothing(n_shapelets, n_classes, monkeypatch):
    X, y = planted(n=45)
    if n_classes == 3:
        y[::4] = 2
        X[::4, 0, 30:] += 5
    monkeypatch.setattr(_shapelet_search, "AT_ONCE", 100)
    model = ShapeletTransformer(700, n_shapelets=n_shapelets, random_state=0)
    given_up = []
    hopeful = Pruning.hopeful

    def count(self, distance, own):
        kept = hopeful(self, distance, own)
        given_up.append(len(own) - len(kept))
        return kept

    monkeypatch.setattr(Pruning, "hopeful", count)
    pruned = model.fit_transform(X, y)
    assert sum(given_up) > 20
    monkeypatch.setattr(Pruning, "is_worth_it", property(lambda self: False))
    whole = ShapeletTransformer(700, n_shapelets=n_shapelets, random_state=0)
    assert whole.fit_transform(X, y).tobytes() == pruned.tobytes()
    np.testing.assert_array_equal(whole.quality_, model.quality_)
    np.testing.assert_array_equal(whole.start_, model.start_)


@given(seed=st.integers(0, 2**31), n=st.integers(4, 20))
def test_bound_of_the_gain_holds(seed, n):
    """No way to place the other series gives a larger gain than the bound."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(0, 2, n)])
    distance = np.round(rng.uniform(0, 1, len(y)), 1)
    pruning = Pruning(y, 2, 1)
    pruning.least[:] = gain_by_hand(distance, (y == 0).astype(int))
    kept = pruning.hopeful(distance[None, pruning.first], np.array([0]))
    assert kept.tolist() == [0]


def test_outputs_belong_together():
    X, y = planted()
    model = ShapeletTransformer(200, n_shapelets=5, random_state=0)
    distance = model.fit_transform(X, y)
    assert distance.tobytes() == model.transform(X).tobytes()
    predicate = model.set_params(output="predicate").transform(X)
    np.testing.assert_array_equal(predicate, distance <= model.threshold_)
    location = model.set_params(output="location").transform(X)
    for k, shape in enumerate(model.shapelets_):
        expected = [by_hand(case[model.channel_[k]], shape) for case in X[:5]]
        np.testing.assert_allclose(distance[:5, k], [d for d, _ in expected], atol=1e-9)
        np.testing.assert_array_equal(location[:5, k], [at for _, at in expected])
    again = ShapeletTransformer(
        200, n_shapelets=5, output="location", random_state=0
    ).fit_transform(X, y)
    np.testing.assert_array_equal(again, location)


def test_numbers_are_a_target():
    rng = np.random.default_rng(0)
    X, y = planted()
    target = np.where(y == 1, 5.0, 1.0) + 0.1 * rng.normal(size=len(y))
    model = ShapeletTransformer(300, n_shapelets=3, random_state=0).fit(X, target)
    assert model.n_shapelets_ == 3
    assert model.quality_[0] > 0.9
    assert not hasattr(model, "classes_")
    whole = ShapeletTransformer(100, target="numbers", random_state=0).fit(X, y)
    assert whole.quality_.max() <= 1.0


def test_time_is_kept_to():
    X, y = planted(60, 300)
    model = ShapeletTransformer(100_000, max_time=0.2, random_state=0).fit(X, y)
    assert 0 < model.n_candidates_ < 100_000


def test_labels_have_no_order():
    X, y = planted()
    plain = ShapeletTransformer(100, random_state=0).fit(X, y)
    words = ShapeletTransformer(100, random_state=0).fit(X, np.array(["b", "a"])[y])
    assert words.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(
        words.classes_[words.class_] == "a", plain.class_ == 1
    )


# -- refusals ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"quality": "variance_reduction", "target": "classes"}, "variance_reduction"),
        ({"quality": "f_statistic", "target": "numbers"}, "f_statistic"),
        ({"max_length": 5, "min_length": 9}, "max_length=5"),
        ({"min_length": 100}, "min_length"),
    ],
)
def test_what_does_not_go_together_is_refused(params, word):
    X, y = planted()
    with pytest.raises(ValueError, match=word):
        ShapeletTransformer(**params).fit(X, y)


def test_one_class_missing_targets_and_other_counts_are_refused():
    X, y = planted()
    with pytest.raises(ValueError, match="one class only"):
        ShapeletTransformer().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="y is None"):
        ShapeletTransformer().fit(X, None)
    with pytest.raises(ValueError, match="40 cases, y 3"):
        ShapeletTransformer().fit(X, y[:3])
    with pytest.raises(ValueError, match="NaN"):
        ShapeletTransformer().fit(X, np.full(len(y), np.nan))
    with pytest.raises(ValueError, match="must hold numbers"):
        ShapeletTransformer(target="numbers").fit(X, np.array(["a", "b"])[y])
    model = ShapeletTransformer(50, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="case 0 of X has the length 2"):
        model.transform(X[:, :, :2])


def test_targets_that_nothing_separates_warn():
    X = np.zeros((6, 1, 20))
    with pytest.warns(UserWarning, match="separates"):
        model = ShapeletTransformer(20, random_state=0).fit(X, np.arange(6) % 2)
    assert model.n_shapelets_ == 1


# -- together with others ----------------------------------------------------------
def test_real_data_read_row_by_row():
    """Digits as series: ink per row and per column, where the shapes are strokes."""
    images, y = load_digits(return_X_y=True)
    images, y = images[y < 4].reshape(-1, 8, 8), y[y < 4]
    X = np.stack([images.reshape(-1, 64), images.transpose(0, 2, 1).reshape(-1, 64)], 1)
    a, b, ya, yb = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    names = np.array(["zero", "one", "two", "three"])
    shapelets = ShapeletTransformer(500, n_shapelets=40, random_state=0)
    model = make_pipeline(shapelets, RidgeClassifier()).fit(a, names[ya])
    assert model.score(b, names[yb]) > 0.95


def test_searches_and_pipelines():
    X, y = planted()
    labels = np.array(["no", "yes"])[y]
    model = make_pipeline(
        ShapeletTransformer(150, n_shapelets=5, random_state=0), RidgeClassifier()
    )
    grid = {"shapelettransformer__max_length": [0.3, None]}
    search = GridSearchCV(model, grid, cv=2).fit(X, labels)
    assert search.best_score_ > 0.8
    assert cross_val_score(model, list(X), labels, cv=2).mean() > 0.8


def test_a_tree_behind_speaks_of_shapelets():
    X, y = planted()
    model = make_pipeline(
        ShapeletTransformer(300, n_shapelets=3, output="predicate", random_state=0),
        BooleanTreeClassifier(),
    ).fit(X, np.array(["no", "yes"])[y])
    rules = skinterp.explain(model, X[:4])
    assert len(rules) == 4
    assert all("shapelet" in text for text in rules.conditions())


def test_steps_in_front_keep_the_names_of_channels():
    import pandas as pd
    from sklearn.preprocessing import FunctionTransformer

    X, y = planted()
    frame = pd.DataFrame({"heart": list(X[:, 0]), "breath": list(X[:, 1])})
    model = make_pipeline(
        FunctionTransformer(), ShapeletTransformer(50, n_shapelets=1, random_state=0)
    ).fit(frame, y)
    told = skinterp.explain(model, frame[:2])
    assert told.feature_names == ("heart", "breath")
    assert told.meta["steps"] == ("functiontransformer: FunctionTransformer",)
    doubled = make_pipeline(
        FunctionTransformer(lambda X: X * 2),
        ShapeletTransformer(50, n_shapelets=1, random_state=0),
    ).fit(X, y)
    assert len(skinterp.explain(doubled, X[:3])) == 3
    assert skinterp.explain(doubled).n_shapelets == 2


def test_no_warning_on_usual_data():
    X, y = make_data("series")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ShapeletTransformer(60, random_state=0).fit(X, y).transform(X[:0])
