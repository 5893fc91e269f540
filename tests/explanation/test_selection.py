"""Selections: order, words, pictures, maps, and that they tell the truth."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skinterp.explanation import FeatureMap, FeatureSource, Selection, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = X[:, 1] - 2 * X[:, 3] + 0.01 * RNG.normal(size=40)


def selection(**changes):
    fields = {
        "scope": "global",
        "feature_names": [f"x{j}" for j in range(5)],
        "target_names": ["y"],
        "selected": [False, True, False, True, False],
        "rank": [4.0, 2.0, 3.5, 1.0, 4.5],
        "rank_sd": [0.5, 0.1, 0.5, 0.0, 0.5],
        "score": [0.02, 0.3, 0.05, 0.6, 0.03],
        "score_sd": [0.01, 0.1, 0.02, 0.1, 0.02],
        "score_name": "share",
        "rule": "best two",
        "gap": 0.5,
    }
    return Selection(**(fields | changes))


@pytest.fixture(scope="module")
def selector():
    return SelectKBest(f_regression, k=2).fit(X, Y)


def test_words_name_the_best_and_the_next():
    assert selection().to_text().splitlines() == [
        "2 of 5 columns kept by best two (gap 0.5)",
        "  - x3: rank 1 ± 0, share 0.6 ± 0.1",
        "  - x1: rank 2 ± 0.1, share 0.3 ± 0.1",
        "next: x2: rank 3.5 ± 0.5, share 0.05 ± 0.02",
    ]


def test_words_of_many_columns_are_cut():
    many = Selection(
        scope="global",
        feature_names=[f"x{j}" for j in range(80)],
        target_names=["y"],
        selected=np.ones(80, bool),
        rank=np.arange(80),
    )
    lines = many.to_text().splitlines()
    assert lines[0] == "80 of 80 columns kept"
    assert lines[-1].strip() == "... 30 more"


def test_top_takes_the_kept_ones_first():
    assert selection().top(3).feature_names == ("x3", "x1", "x2")
    kept_badly = selection(selected=[False, False, False, False, True])
    assert kept_badly.top(2).feature_names == ("x4", "x3")


def test_parts_and_size():
    one = selection()
    assert len(one) == 5
    assert one.complexity == 2
    assert one.selected_names == ("x1", "x3")
    assert one[3].feature_names == ("x3",)
    assert one[1:3].rank.tolist() == [2.0, 3.5]


def test_frame_has_what_is_known():
    frame = selection(rank_sd=None).to_frame()
    assert list(frame) == ["feature", "selected", "rank", "score", "score_sd"]
    assert frame.loc[frame["selected"], "feature"].tolist() == ["x1", "x3"]


def test_stored_and_read(tmp_path):
    one = selection(threshold=np.full(5, 0.1), gap=float("nan"))
    one.save(tmp_path / "s.json")
    assert load(tmp_path / "s.json") == one


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scope": "local"}, "whole model"),
        ({"selected": [True]}, "selected has shape"),
        ({"score": [1.0, 2.0]}, "score has shape"),
        ({"rank": [1, np.nan, 2, 3, 4]}, "needs a rank"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        selection(**changes)


# -- faithful ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "frame_of",
    [
        lambda X: X,
        lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]),
        lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(5)]),
    ],
)
def test_faithful_to_what_transform_keeps(frame_of, selector):
    data = frame_of(X)
    fitted = SelectKBest(f_regression, k=2).fit(data, Y)
    selection().check_faithful(fitted, data)
    with pytest.raises(AssertionError, match="'x3' is said to be dropped"):
        selection(selected=[False, True, False, False, False]).check_faithful(
            fitted, data
        )
    with pytest.raises(AssertionError, match="'x0' is said to be kept"):
        selection(selected=[True, True, False, True, False]).check_faithful(
            fitted, data
        )


def test_faithful_to_a_model_behind_the_selector():
    model = make_pipeline(SelectKBest(f_regression, k=2), LinearRegression()).fit(X, Y)
    selection().check_faithful(model, X)
    with pytest.raises(AssertionError, match="'x1' is said to be dropped"):
        selection(selected=[False, False, False, True, False]).check_faithful(model, X)


def test_a_part_of_a_selection_is_faithful(selector):
    selection().top(3).check_faithful(selector, X)
    with pytest.raises(AssertionError, match="'x2' is said to be kept"):
        selection(selected=[False, False, True, True, False]).top(2).check_faithful(
            selector, X
        )


def test_constant_columns_show_nothing(selector):
    flat = X.copy()
    flat[:, 1] = 3.0
    selection().check_faithful(selector, flat)


# -- maps -------------------------------------------------------------------------
def test_a_column_is_kept_if_any_of_its_features_is():
    sources = (
        FeatureSource(form="category", column=1, categories=("a",)),
        FeatureSource(form="category", column=1, categories=("b",)),
        FeatureSource(form="value", column=0),
        FeatureSource(form="opaque", name="pca0"),
        FeatureSource(form="missing", column=0),
    )
    mapped = selection().map_features(FeatureMap(("age", "city", "left out"), sources))
    assert mapped.feature_names == ("age", "city", "left out", "pca0")
    assert mapped.selected.tolist() == [False, True, False, True]
    assert mapped.rank[:2].tolist() == [3.5, 2.0]
    assert np.isnan(mapped.rank[2])
    assert np.isnan(mapped.score[2])
    assert mapped.score.tolist()[1] == 0.3
    assert mapped.rank[3] == 1.0
    assert "left out" not in mapped.to_text().split("next")[0]
    mapped.plot()
    plt.close("all")


# -- pictures ---------------------------------------------------------------------
def test_picture_shows_two_groups():
    ax = selection().plot()
    dropped, kept = (line for line in ax.lines if line.get_marker() == "o")
    assert sorted(kept.get_xdata()) == [1.0, 2.0]
    assert sorted(dropped.get_xdata()) == [3.5, 4.0, 4.5]
    assert kept.get_color() != dropped.get_color()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "3 dropped",
        "2 kept",
    ]
    assert {t.get_text() for t in ax.texts} == {"x1", "x3"}
    plt.close("all")


def test_pictures_without_scores_and_without_drops():
    bare = selection(rank_sd=None, score=None, score_sd=None, selected=np.ones(5, bool))
    bare.plot().figure.canvas.draw()
    none = selection(selected=np.zeros(5, bool))
    none.plot().figure.canvas.draw()
    assert none.complexity == 0
    plt.close("all")
