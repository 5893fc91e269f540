"""Data values: order, intervals, words, pictures, maps; that they tell the truth."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from skinterp.explanation import DataValues, FeatureMap, FeatureSource, load
from skinterp.valuation import TopDataValues


def values(**changes):
    fields = {
        "scope": "global",
        "feature_names": ["age", "dose"],
        "target_names": ["no", "yes"],
        "unit": "training row",
        "row": [0, 1, 2, 3],
        "value": [0.3, -0.2, 0.1, -0.1],
        "std": [0.1, 0.05, 0.1, 0.0],
        "selected": [False, True, False, True],
        "probability": [0.0, 1.0, np.nan, 1.0],
        "pulls": [2, 5, 0, 1],
        "data": [[20.0, 1.0], [30.0, 2.0], [40.0, 3.0], [50.0, 4.0]],
        "target": ["no", "yes", "no", "yes"],
        "lowest": True,
    }
    return DataValues(**(fields | changes))


@pytest.fixture(scope="module")
def search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    search = TopDataValues(GaussianNB(), m=5, max_evaluations=100, random_state=0)
    return search.fit(X, y)


def test_intervals_are_those_of_the_normal():
    lower, upper = values().interval()
    np.testing.assert_allclose(upper - lower, 2 * 1.959964 * values().std, rtol=1e-6)
    wide = values(level=0.6827).interval()
    np.testing.assert_allclose(wide[1], values().value + values().std, rtol=1e-4)


def test_order_is_from_the_sought_end():
    assert values().by_value().tolist() == [1, 3, 2, 0]
    top = values(lowest=False, selected=[True, False, True, False])
    assert top.by_value().tolist() == [0, 2, 3, 1]
    assert values().top(1).row.tolist() == [1]
    assert values()[1:3].row.tolist() == [1, 2]
    assert values().complexity == 2


def test_words():
    lines = values(marked=[False, True, True, False]).to_text().splitlines()
    assert lines == [
        "2 of 4 rows of lowest value (1 is no candidate)",
        "  - row 1: value -0.2 (-0.298 to -0.102), 5 draws, among the lowest with "
        "probability 1 [age=30, dose=2; yes]",
        "  - row 3: value -0.1, 1 draw [age=50, dose=4; yes]",
        "1 of 2 marked rows are found",
    ]


def test_words_of_many_rows_and_columns_are_cut():
    n, d = 60, 9
    many = DataValues(
        scope="global",
        feature_names=[f"x{j}" for j in range(d)],
        target_names=["y"],
        row=np.arange(n),
        value=np.arange(n),
        std=np.ones(n),
        selected=np.ones(n, bool),
        probability=np.ones(n),
        pulls=np.ones(n),
        data=np.ones((n, d)),
    )
    text = many.to_text()
    assert "4 more]" in text
    assert text.splitlines()[-1].strip() == "... 30 more"
    assert many.plot().get_xlabel() == "training rows, by value"
    plt.close("all")


def test_frame_holds_cells_under_names_of_their_own():
    frame = values(feature_names=["value", "age"]).to_frame()
    assert list(frame)[-2:] == ["value_", "age"]
    assert frame["lower"].lt(frame["value"]).sum() == 3
    assert "weight" not in frame


def test_stored_and_read(tmp_path):
    one = values(marked=[True, False, False, True], weight=[1, 2, 3, 4], of=2)
    one.save(tmp_path / "v.json")
    assert load(tmp_path / "v.json") == one


@pytest.mark.parametrize("n", [4, 300])
def test_marked_rows_are_ringed(n):
    rng = np.random.default_rng(0)
    many = DataValues(
        scope="global",
        feature_names=["x"],
        target_names=["y"],
        row=np.arange(n),
        value=rng.normal(size=n),
        std=np.ones(n),
        selected=np.arange(n) < 2,
        probability=np.where(np.arange(n) == 3, np.nan, 0.5),
        pulls=np.ones(n),
        marked=np.arange(n) < 3,
    )
    ax = many.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "3 marked, 2 found" in labels
    assert "highest 2" in labels
    assert "1 no candidates, predicted" in labels
    rings = ax.lines[[line.get_label() for line in ax.lines].index("3 marked, 2 found")]
    assert sorted(rings.get_ydata()) == sorted(many.value[:3])
    plt.close("all")


def test_sources_are_bars(search):
    row = int(search.top_indices_[0])
    sources = search.explain(row=row)
    ax = sources.plot()
    assert ax.get_xlabel().startswith(f"part of the value of row {row}")
    assert (np.diff(np.abs(sources.part)) <= 0).all()
    assert sources.to_text().startswith(f"value of row {row}: mean value")
    assert sources.top(2).row.tolist() == sources.row[:2].tolist()
    plt.close("all")


def test_found_values_are_faithful(search):
    search.explain().check_faithful(search, None)
    search.explain(row=int(search.top_indices_[0])).check_faithful(search, None)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda v: {"selected": ~v.selected}, "more extreme"),
        (lambda v: {"value": v.value + 0.5}, "value of row"),
        (lambda v: {"std": v.std * 2}, "deviation of row"),
        (lambda v: {"probability": v.probability / 2}, "probabilities sum"),
        (lambda v: {"selected": np.zeros(len(v), bool)}, "no candidate"),
    ],
)
def test_lies_are_found(search, change, word):
    told = search.explain()
    with pytest.raises(AssertionError, match=word):
        told._with(**change(told)).check_faithful(search, None)


def test_columns_of_the_user():
    same = values().map_features(FeatureMap.identity(("a", "b")))
    assert same.feature_names == ("a", "b")
    assert same.data is not None
    sources = (
        FeatureSource(form="value", column=0, invert=lambda t: 2 * t),
        FeatureSource(form="value", column=1),
    )
    scaled = values().map_features(FeatureMap(("a", "b"), sources))
    assert scaled.data is None
    assert scaled.value.tolist() == values().value.tolist()
    assert "a" not in scaled.to_frame()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"scope": "local"}, "scope"),
        ({"level": 1.0}, "level"),
        ({"level": "wide"}, "level"),
        ({"value": [0.0, 1.0, np.nan, 2.0]}, "finite"),
        ({"std": [0.0, 1.0, -1.0, 2.0]}, "at least 0"),
        ({"pulls": [1, 2]}, "pulls"),
        ({"data": [[1.0]] * 4}, "data"),
    ],
)
def test_refused(change, word):
    with pytest.raises(ValueError, match=word):
        values(**change)
