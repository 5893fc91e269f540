"""Attributions: sums, order, maps and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

from skinterp.explanation import Attribution, FeatureMap, FeatureSource, load

RNG = np.random.default_rng(0)


def parts_of(model, X, output, target_names):
    """Exact parts of a linear model."""
    coef = np.atleast_2d(model.coef_)
    values = X[:, :, None] * coef.T[None]
    base = np.broadcast_to(np.atleast_1d(model.intercept_), (len(X), len(coef)))
    if len(coef) == 1:
        values, base = values[..., 0], base[:, 0]
    return Attribution(
        scope="local",
        feature_names=[f"x{i}" for i in range(X.shape[1])],
        target_names=target_names,
        values=values,
        base_values=base,
        output=output,
        data=X,
    )


@pytest.fixture
def regression():
    X = RNG.normal(size=(40, 5))
    model = LinearRegression().fit(X, X @ [3, 0, -2, 1, 0.5] + 4)
    return model, X, parts_of(model, X, "predict", ["y"])


def test_parts_of_a_linear_model_add_up(regression):
    model, X, parts = regression
    parts.check_faithful(model, X)
    assert np.allclose(parts.total(), model.predict(X))


def test_parts_of_several_classes_add_up():
    X = RNG.normal(size=(60, 3))
    model = LogisticRegression().fit(X, RNG.integers(0, 3, 60))
    parts = parts_of(model, X, "decision_function", model.classes_)
    parts.check_faithful(model, X)
    frame = parts.to_frame()
    assert len(frame) == 60 * 3 * 3
    sums = (
        frame.groupby(["row", "target"])["value"].sum()
        + frame.groupby(["row", "target"])["base"].first()
    )
    assert np.allclose(sums, model.decision_function(X).ravel())


def test_parts_that_do_not_add_up_are_caught(regression):
    model, X, parts = regression
    values = parts.values.copy()
    values[7, 2] += 0.1
    with pytest.raises(AssertionError, match="row 7: base and parts sum to"):
        parts._with(values=values).check_faithful(model, X)
    with pytest.raises(AssertionError, match="gives shape"):
        parts.check_faithful(model, X[:3])


@given(st.integers(1, 6))
def test_top_still_adds_up(k):
    parts = Attribution(
        scope="local",
        feature_names="abcde",
        target_names=["y"],
        values=RNG.normal(size=(3, 5)),
        base_values=np.zeros(3),
        output="predict",
        data=RNG.normal(size=(3, 5)),
    )
    top = parts.top(k)
    assert np.allclose(top.total(), parts.total())
    assert len(top.feature_names) == min(k + 1, 5)


def test_top_keeps_the_largest(regression):
    _, _, parts = regression
    assert parts.top(2).feature_names == ("x0", "x2", "3 others")


def test_maps_sum_the_columns_of_a_feature(regression):
    model, X, parts = regression
    sources = (
        FeatureSource(form="value", column=1),
        FeatureSource(form="category", column=0, categories=("a",)),
        FeatureSource(form="category", column=0, categories=("b",)),
        FeatureSource(form="opaque", name="pca0"),
        FeatureSource(form="missing", column=0),
    )
    mapped = parts.map_features(FeatureMap(("city", "age"), sources))
    assert mapped.feature_names == ("city", "age", "pca0")
    assert np.allclose(mapped.values[:, 0], parts.values[:, [1, 2, 4]].sum(axis=1))
    mapped.check_faithful(model, X)


def test_global_importances(tmp_path):
    importance = Attribution(
        scope="global",
        feature_names="abc",
        target_names=["y"],
        values=[0.1, 0.0, 0.7],
    )
    assert importance.top(1).feature_names == ("c",)
    assert importance.complexity == 2
    assert importance.to_text().splitlines()[0] == "c: 0.7"
    assert importance[1].feature_names == ("b",)
    importance.save(tmp_path / "a.json")
    assert load(tmp_path / "a.json") == importance
    with pytest.raises(ValueError, match="no total"):
        importance.total()
    with pytest.raises(ValueError, match="only a local attribution"):
        importance.to_shap()


def test_words_name_the_largest_parts_first(regression):
    _, _, parts = regression
    line = parts[:1]._with(values=np.array([[1.0, 0, -2, 0, 0.5]])).to_text()
    assert line == "row 0: 3.5 = 4 (base) - 2 (x2) + 1 (x0) + 0.5 (x4)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": np.zeros((2, 4))}, r"expected \(n_rows, 3\)"),
        ({"values": np.zeros((2, 3, 2))}, "2 outputs for 1"),
        ({"base_values": None}, "needs base_values"),
        ({"output": "score"}, "output='score'"),
        ({"base_values": np.zeros(3)}, "base_values has shape"),
        ({"data": np.zeros((2, 2))}, "data has shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    fields = {
        "scope": "local",
        "feature_names": "abc",
        "target_names": ["y"],
        "values": np.zeros((2, 3)),
        "base_values": np.zeros(2),
        "output": "predict",
    }
    with pytest.raises(ValueError, match=message):
        Attribution(**(fields | changes))


def test_no_rows():
    empty = Attribution(
        scope="local",
        feature_names="ab",
        target_names=["y"],
        values=np.zeros((0, 2)),
        base_values=np.zeros(0),
        output="predict",
    )
    assert len(empty) == 0
    assert empty.to_text() == ""
    assert empty.to_frame().empty


@pytest.mark.parametrize("scope", ["global", "local"])
@pytest.mark.parametrize("outputs", [(), (2,)])
def test_no_features_at_all(scope, outputs):
    local = scope == "local"
    empty = Attribution(
        scope=scope,
        feature_names=(),
        target_names=["a", "b"],
        values=np.zeros(((3, 0) if local else (0,)) + outputs),
        base_values=np.ones((3, *outputs)) if local else None,
        output="predict_proba" if local else "",
    )
    assert (empty.complexity, len(empty)) == (0, 3 if local else 0)
    assert empty.top(1) == empty
    assert len(empty.to_frame()) == 0
    assert "0 features" in repr(empty)
    assert empty.to_html()


@pytest.mark.parametrize(
    "changes", [{"base_values": [0.0]}, {"data": [[1.0]]}, {"data": [1.0]}]
)
def test_global_ones_have_no_rows(changes):
    (name,) = changes
    with pytest.raises(ValueError, match=f"global attribution has no {name}"):
        Attribution(
            scope="global",
            feature_names=("a",),
            target_names=["y"],
            values=[1.0],
            **changes,
        )


@pytest.mark.parametrize("labels", [[], ["a", "b", "c"]])
def test_one_output_has_one_name_or_two_classes(labels):
    with pytest.raises(ValueError, match=f"for {len(labels)} target_names"):
        Attribution(
            scope="local",
            feature_names=("a",),
            target_names=labels,
            values=[[1.0]],
            base_values=[0.0],
            output="predict",
        )


@pytest.mark.parametrize("several", [False, True])
def test_importances_of_one_column_do_not_cancel(several):
    values = np.array([-2.0, 3.0, -3.0])
    importance = Attribution(
        scope="global",
        feature_names=("size", "town_A", "town_B"),
        target_names=["a", "b"],
        values=np.column_stack([values, -values]) if several else values,
    )
    town = [
        FeatureSource(form="category", column=1, categories=(label,)) for label in "AB"
    ]
    sources = (FeatureSource(form="value", column=0), *town)
    mapped = importance.map_features(FeatureMap(("size", "town"), sources))
    assert mapped.importances().tolist() == [2.0, 6.0]
    # a column of one feature keeps its sign
    assert mapped.values[0].ravel()[0] == -2.0
