"""Shapelet sets: what they hold, say and draw, and what their check finds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skinterp.explanation import FeatureMap, FeatureSource, ShapeletSet
from skinterp.explanation._shapelets_check import nearest, normalise
from skinterp.series import ShapeletTransformer

WAVE = np.array([0.0, 2.0, 0.0, -2.0, 0.0, 5.0, 5.0, 5.0])


def z(piece):
    return normalise(np.asarray(piece, dtype=float)[None], 1e-10)[0]


def make(**changes):
    """Two shapelets of two classes, from one series of two channels."""
    shapes = [z(WAVE[:4]), z(WAVE[3:6])]
    content = {
        "scope": "global",
        "feature_names": ("heart", "breath"),
        "target_names": np.array(["ill", "well"]),
        "values": np.concatenate(shapes),
        "offsets": [0, 4, 7],
        "case": [3, 3],
        "channel": [1, 1],
        "start": [0, 3],
        "target": [0, 1],
        "quality": [0.9, 0.5],
        "threshold": [0.4, 0.3],
        "quality_name": "information gain",
        "spread": np.linspace(0, 1, 20).reshape(2, 2, 5),
        "source": [0, 0],
        "source_values": WAVE,
        "source_offsets": [0, 8],
    }
    return ShapeletSet(**(content | changes))


def make_local(**changes):
    """Three rows, the last one shorter than the first shapelet."""
    rows = [np.stack([WAVE * 0, WAVE]), np.stack([WAVE, -WAVE]), np.ones((2, 3))]
    whole = make()
    found = [
        [nearest(row[1], whole.shape(k)) for k in range(whole.n_shapelets)]
        for row in rows
    ]
    content = {
        "scope": "local",
        "distance": [[d for d, _ in row] for row in found],
        "location": [[at for _, at in row] for row in found],
        "row_values": np.concatenate([row.ravel() for row in rows]),
        "row_lengths": [8, 8, 3],
    }
    return make(**(content | changes))


def test_text_of_the_whole():
    assert make().to_text() == (
        "2 shapelets, best first by information gain\n"
        "  s0: class ill, breath, 4 points from time 0 of training series 3\n"
        "      information gain 0.9; near up to distance 0.4; "
        "median ill 0.105, well 0.368\n"
        "  s1: class well, breath, 3 points from time 3 of training series 3\n"
        "      information gain 0.5; near up to distance 0.3; "
        "median ill 0.632, well 0.895"
    )


def test_text_of_rows():
    told = make_local()
    assert told[0].to_text() == (
        "row 0 has 2 of 2 shapelets (1 of ill, 1 of well)\n"
        "  has s0 (class ill, breath) at times 0 to 3: distance 0, near up to 0.4\n"
        "  has s1 (class well, breath) at times 3 to 5: distance 0, near up to 0.3"
    )
    assert "row 0 has 0 of 2 shapelets\n  comes nearest to" in told[2].to_text()
    assert "as a whole, 0 points after its start" in told[2].to_text()
    assert told[:0].to_text() == "no rows"


def test_long_texts_say_what_is_left_out():
    many = make()[np.zeros(30, dtype=int)]
    assert many.to_text().endswith("10 more")
    rows = make_local()[np.zeros(25, dtype=int)]
    assert rows.to_text().endswith("5 more rows")


def test_numbers_as_target():
    told = make(numeric=True, target_names=["price"], target=[0, 0])
    assert "median price 0.105 where near, 0.368 where far" in told.to_text()
    assert "class" not in told.to_frame()
    far = told._with(spread=np.where(np.arange(2)[:, None] == 1, np.nan, told.spread))
    assert "no series is far" in far.to_text()
    told.plot()
    plt.close("all")


def test_frames():
    frame = make().to_frame()
    assert frame["class"].tolist() == ["ill", "well"]
    assert frame["length"].tolist() == [4, 3]
    local = make_local().to_frame()
    assert local["row"].tolist() == [0, 0, 1, 1, 2, 2]
    assert local["near"].tolist()[:2] == [True, True]


def test_parts_keep_what_they_say():
    told = make_local()
    best = told.top(1)
    assert best.n_shapelets == 1
    assert len(best) == 3
    np.testing.assert_array_equal(best.shape(0), told.shape(0))
    np.testing.assert_array_equal(told[2].row_series(0), np.ones((2, 3)))
    second = make()[1]
    np.testing.assert_array_equal(second.shape(0), make().shape(1))
    np.testing.assert_array_equal(second.source_series(0), WAVE)
    with pytest.raises(ValueError, match="holds no rows"):
        make().row_series(0)


def test_order_of_a_row_puts_what_it_has_first():
    told = make_local(threshold=[0.0, 0.3])
    assert told.order_of(1).tolist()[0] in (0, 1)
    far = make_local()._with(distance=np.array([[0.5, 0.1]] * 3))
    assert far.order_of(0).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"offsets": [0, 4, 6]}, "offsets"),
        ({"channel": [0, 2]}, "channel"),
        ({"start": [0, 6]}, "start"),
        ({"start": [-1, 3]}, "start"),
        ({"target": [0, 5]}, "target"),
        ({"spread": np.zeros((2, 3, 5))}, "spread"),
        ({"distance": [[0.0, 0.0]]}, "distance"),
        ({"scope": "local"}, "row_values"),
    ],
)
def test_what_does_not_fit_is_refused(changes, word):
    with pytest.raises(ValueError, match=word):
        make(**changes)


def test_names_of_channels_are_mapped():
    sources = (
        FeatureSource(form="value", column=1),
        FeatureSource(form="opaque", name="sum"),
    )
    mapped = make().map_features(FeatureMap(("a", "b"), sources))
    assert mapped.feature_names == ("b", "sum")
    with pytest.raises(ValueError, match="1 sources for 2"):
        make().map_features(FeatureMap(("a",), sources[1:]))


def test_pictures_show_shapelets_and_rows():
    ax = make().plot()
    lines = ax.child_axes[0].lines
    np.testing.assert_array_equal(lines[0].get_ydata(), WAVE)
    np.testing.assert_array_equal(lines[1].get_ydata(), WAVE[:4])
    assert len(ax.child_axes) == 4
    ax = make_local().plot()
    assert len(ax.child_axes) == 3
    names = [text.get_text() for text in ax.child_axes[0].texts]
    assert any(name.startswith("s0 ill") for name in names)
    ax = make_local()[:0].plot()
    assert ax.get_title(loc="left") == "no rows"
    ax = make_local()[np.zeros(9, dtype=int)].plot()
    assert "4 more rows" in ax.get_title(loc="left")
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2, 30))
    y = np.arange(12) % 2
    X[y == 1, 0, 5:15] += 4 * np.sin(np.linspace(0, 6, 10))
    return ShapeletTransformer(60, n_shapelets=3, random_state=0).fit(X, y), X


def test_check_passes_what_is_true(fitted):
    model, X = fitted
    for output in ("distance", "predicate", "location"):
        model.set_params(output=output)
        model.explain().check_faithful(model, X)
        model.explain(X).check_faithful(model, X)
    model.set_params(output="distance")


def test_check_finds_what_is_wrong(fitted):
    model, X = fitted
    told = model.explain(X)
    wrong = {
        "not the piece": {"values": told.values * 1.01},
        "the distance is": {"distance": told.distance + 1e-3},
        "nearest window is at": {"location": (told.location + 3) % 5},
    }
    for word, changes in wrong.items():
        with pytest.raises(AssertionError, match=word):
            told._with(**changes).check_faithful(model, X)
    other = ShapeletTransformer(60, n_shapelets=3, random_state=0)
    other.__dict__.update(vars(model))
    other.transform = lambda X: model.transform(X) + 1
    with pytest.raises(AssertionError, match="transform gives"):
        told.check_faithful(other, X)
