"""Shape functions: words, parts, pictures, maps, and that they tell the truth."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skinterp
from skinterp.base import ExplainableMixin
from skinterp.compat import validate_data
from skinterp.explanation import FeatureMap, FeatureSource, ShapeFunctions, load

EVIL = "<script>alert('$1$')</script>"
AGE = np.linspace(20.0, 60.0, 9)
DOSE = np.array([0.0, 1.0, 2.0])


def bend(x):
    return np.sin(x / 10)


def shapes(**changes):
    fields = {
        "scope": "global",
        "feature_names": ("age", "dose"),
        "target_names": np.array(["y"]),
        "terms": ((0,), (1,), (0, 1)),
        "intercept": 3.0,
        "output": "predict",
        "grids": ((AGE,), (DOSE,), (AGE[::2], DOSE)),
        "values": (bend(AGE), DOSE - 1, np.outer(AGE[::2] - 40, DOSE - 1) / 20),
        "importance": [0.5, 1.0, 2.0],
        "density_at": (np.linspace(20, 60, 5), DOSE),
        "density": ([0.1, 0.2, 0.3, 0.4], [0.5, 0.25, 0.25]),
    }
    return ShapeFunctions(**(fields | changes))


def classes():
    """Three outputs."""
    return shapes(
        target_names=np.array(["a", EVIL, "c"]),
        intercept=[1.0, 2.0, 3.0],
        output="decision_function",
        values=tuple(np.stack([v, -v, 0 * v], axis=-1) for v in shapes().values),
        importance=np.tile([[0.5], [1.0], [2.0]], 3),
    )


def rows(n=2):
    return ShapeFunctions(
        scope="local",
        feature_names=("age", "dose"),
        target_names=np.array(["y"]),
        terms=((0,), (1,), (0, 1)),
        intercept=3.0,
        output="predict",
        contributions=np.tile([0.5, -1.0, 0.25], (n, 1)),
    )


class Additive(ExplainableMixin, RegressorMixin, BaseEstimator):
    """A known sum of a curve, a line and a product, of columns 0 and 1."""

    explains = {"global": ("shape-functions",), "local": ("shape-functions",)}
    slip = 0.0

    def fit(self, X, y=None):
        validate_data(self, X)
        self.fitted_ = True
        return self

    def parts(self, X):
        X = np.asarray(X, dtype=float)
        both = (X[:, 0] - 40) * (X[:, 1] - 1) / 20
        return np.column_stack([bend(X[:, 0]), X[:, 1] - 1, both])

    def predict(self, X):
        return 3 + self.parts(X).sum(axis=1) + self.slip


X = np.column_stack([np.linspace(18, 66, 30), np.arange(30) % 3])


# -- content ----------------------------------------------------------------------
def test_words_name_terms_by_importance():
    assert shapes().to_text().splitlines() == [
        "predict = 3 + 3 terms",
        "  - age × dose: spread 2 (76 %), from -1 at (20, 2) to 1 at (20, 0)",
        "  - dose: spread 1 (19 %), from -1 at 0 to 1 at 2",
        "  - age: spread 0.5 (5 %), from -0.978 at 45 to 0.909 at 20",
    ]
    assert rows(1).to_text() == (
        "row 0: 2.75 = 3 (base) - 1 (dose) + 0.5 (age) + 0.25 (age × dose)"
    )


def test_words_of_many_terms_are_cut():
    many = shapes(
        terms=((0,),) * 70,
        grids=((AGE,),) * 70,
        values=(bend(AGE),) * 70,
        importance=np.ones(70),
    )
    assert many.to_text().splitlines()[-1].strip() == "... 20 more"


def test_shares_are_those_of_variance():
    np.testing.assert_allclose(shapes().shares(), np.array([0.25, 1, 4]) / 5.25)
    np.testing.assert_allclose(classes().sizes(), [0.5, 1.0, 2.0])
    assert shapes(importance=np.zeros(3)).shares().tolist() == [0, 0, 0]
    assert shapes(importance=[0, 1, 0]).complexity == 1
    assert rows(0).sizes().tolist() == [0, 0, 0]


def test_stored_and_read(tmp_path):
    for one in (shapes(), classes(), rows(), rows(0)):
        one.save(tmp_path / "s.json")
        again = load(tmp_path / "s.json")
        assert again == one
    labelled = shapes(
        terms=((0,),),
        grids=((np.array(["a", None], dtype=object),),),
        values=([1.0, 2.0],),
        importance=[0.5],
    )
    labelled.save(tmp_path / "s.json")
    assert load(tmp_path / "s.json") == labelled


def test_arrays_inside_are_frozen():
    for array in (shapes().values[0], shapes().grids[2][1], shapes().density[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_parts():
    assert shapes().top(1).term_names == ("age × dose",)
    assert shapes()[1].term_names == ("dose",)
    assert not shapes().top(2).complete
    assert shapes()[[2, 1, 0]].complete
    assert shapes().top(3) == shapes()
    assert len(rows(5)[1:3]) == 2
    few = rows().top(1)
    assert few.term_names == ("dose", "others")
    assert few.contributions[0].tolist() == [-1.0, 0.75]


def test_frames():
    assert list(shapes().to_frame()) == [
        "term",
        "importance",
        "share",
        "lowest",
        "highest",
    ]
    curve = shapes().curve(2)
    assert list(curve) == ["age", "dose", "value"]
    assert len(curve) == 15
    at = curve[(curve["age"] == 60) & (curve["dose"] == 2)]
    assert at["value"].item() == 1.0
    assert list(classes().curve(0)) == ["age", "a", EVIL, "c"]
    assert rows(2).to_frame()["value"].tolist() == [0.5, -1.0, 0.25] * 2
    with pytest.raises(ValueError, match="no curves"):
        rows().curve(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terms": ((0,), (1,), (0, 2))}, "but there are 2 features"),
        ({"output": "transform"}, "output='transform'"),
        ({"intercept": [1.0, 2.0]}, "intercept has shape"),
        ({"importance": None}, "need the importance"),
        ({"importance": [1.0]}, "importance has shape"),
        ({"grids": ((AGE,), (DOSE,))}, "2 grids and 3 values"),
        ({"grids": ((AGE,), (DOSE,), (AGE,))}, r"grids\[2\] has 1 axes"),
        ({"grids": ((AGE,), (DOSE[::-1],), (AGE[::2], DOSE))}, "must rise"),
        ({"values": (AGE, DOSE, DOSE)}, r"values\[2\] has shape"),
        ({"density": ()}, "together"),
        ({"density": ([1.0],) * 3}, "0 or 2 members"),
        ({"density": ([1.0], [1.0])}, "1 densities at 5 places"),
        ({"contributions": np.zeros((1, 3))}, "no contributions"),
        ({"target_names": list("abc")}, "one output for 3"),
        ({"scope": "local"}, "no grids"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        shapes(**changes)


# -- faithful ---------------------------------------------------------------------
@pytest.mark.parametrize("frame", [None, pd.DataFrame, pl.DataFrame])
def test_faithful_to_a_sum(frame):
    data = X
    if frame is not None:
        data = frame(dict(zip(["dose", "age"], X.T[::-1], strict=True)))[
            ["age", "dose"]
        ]
    else:
        data = X
    model = Additive()
    names = ("x0", "x1") if frame is None else ("age", "dose")
    shapes(feature_names=names).check_faithful(model, data)
    model.slip = 0.01
    with pytest.raises(AssertionError, match="the terms sum to"):
        shapes(feature_names=names).check_faithful(model, data)


def test_a_wrong_surface_is_found_at_any_point():
    wrong = [v.copy() for v in shapes().values]
    wrong[2][1, 2] += 0.01
    data = pd.DataFrame(np.tile(X, (10, 1)), columns=["age", "dose"])
    with pytest.raises(AssertionError, match="the terms sum to"):
        shapes(values=tuple(wrong)).check_faithful(Additive(), data)


def test_grids_without_a_common_point_are_no_explanation():
    apart = shapes(grids=((AGE + 1,), (DOSE,), (AGE[::2], DOSE)))
    data = pd.DataFrame(X, columns=["age", "dose"])
    with pytest.raises(AssertionError, match="no point of their grids"):
        apart.check_faithful(Additive(), data)


def test_rows_have_to_add_up():
    model = Additive().fit(X)
    told = rows()._with(contributions=model.parts(X))
    told.check_faithful(model, X)
    with pytest.raises(AssertionError, match="row 4"):
        told._with(
            contributions=model.parts(X) + (np.arange(30) == 4)[:, None]
        ).check_faithful(model, X)


# -- maps -------------------------------------------------------------------------
def test_scaled_columns_get_their_units_back():
    sources = (
        FeatureSource(form="value", column=1, invert=lambda t: 10 * t + 20),
        FeatureSource(form="value", column=0, invert=lambda t: 5 - t, increasing=False),
    )
    told = shapes().map_features(FeatureMap(("dose", "age", "left out"), sources))
    assert told.feature_names == ("dose", "age", "left out")
    assert told.terms == ((1,), (0,), (1, 0))
    np.testing.assert_allclose(told.grids[0][0], 10 * AGE + 20)
    assert told.grids[1][0].tolist() == [3, 4, 5]
    assert told.values[1].tolist() == [1, 0, -1]
    np.testing.assert_allclose(told.values[2], shapes().values[2][:, ::-1])
    assert told.density_at[0].tolist() == [3, 4, 5]
    assert told.density[0].tolist() == [0.25, 0.25, 0.5]
    assert len(told.density[2]) == 0


def test_a_curved_scale_is_inverted_point_by_point():
    asked = []

    def invert(t):
        asked.append(t)
        return t**3

    sources = (
        FeatureSource(form="value", column=0, invert=invert),
        FeatureSource(form="value", column=1),
    )
    told = shapes().map_features(FeatureMap(("age", "dose"), sources))
    np.testing.assert_allclose(told.grids[0][0], AGE**3)
    assert len(asked) == len(set(asked))


def one_hot():
    indicator = np.array([0.0, 1.0])
    return ShapeFunctions(
        scope="global",
        feature_names=("city_a", "city_b", "size"),
        target_names=np.array(["y"]),
        terms=((0,), (1,), (0, 2), (1, 2), (0, 1)),
        intercept=0.0,
        output="predict",
        grids=(
            (indicator,),
            (indicator,),
            (indicator, DOSE),
            (indicator, DOSE),
            (indicator, indicator),
        ),
        values=(
            [-1.0, 3.0],
            [-2.0, 2.0],
            np.outer([-1, 1], DOSE),
            np.outer([-2, 2], DOSE),
            [[0.5, -0.5], [-0.25, 9.0]],
        ),
        importance=[1.0, 1.0, 1.0, 1.0, 0.0],
        density_at=(indicator, indicator, DOSE),
        density=([0.75, 0.25], [0.5, 0.5], [0.2, 0.3, 0.5]),
    )


CITY = (
    FeatureSource(form="category", column=0, categories=("a",)),
    FeatureSource(form="category", column=0, categories=("b",)),
    FeatureSource(form="value", column=1),
)


def test_indicators_of_one_column_become_bars():
    told = one_hot().map_features(FeatureMap(("city", "size"), CITY))
    assert told.terms == ((0,), (0, 1))
    assert told.grids[0][0].tolist() == ["a", "b", "other"]
    # a: city_a on, city_b off, and the joint term at (1, 0); the others likewise
    np.testing.assert_allclose(
        told.values[0], [3 - 2 - 0.25, -1 + 2 - 0.5, -1 - 2 + 0.5]
    )
    np.testing.assert_allclose(told.values[1], np.outer([1 - 2, -1 + 2, -1 - 2], DOSE))
    np.testing.assert_allclose(told.density[0], [0.25, 0.5, 0.25])
    mean = told.density[0] @ told.values[0]
    spread = np.sqrt(told.density[0] @ (told.values[0] - mean) ** 2)
    assert told.importance[0] == pytest.approx(spread)
    assert told.importance[1] == pytest.approx(np.sqrt(2))
    ax = told.plot()
    assert len(ax.child_axes[-1].patches) == 3
    plt.close("all")


def test_other_is_left_out_where_the_categories_are_all():
    full = one_hot()
    full = full._with(density=([0.75, 0.25], [0.25, 0.75], full.density[2]))
    told = full.map_features(FeatureMap(("city", "size"), CITY))
    assert told.grids[0][0].tolist() == ["a", "b"]


def test_codes_flags_and_derived_features():
    code = FeatureSource(form="code", column=0, categories=("x", "y", "z"))
    flag = FeatureSource(form="missing", column=0)
    made = shapes().map_features(
        FeatureMap(("city",), (FeatureSource(form="opaque", name="pca0"), code))
    )
    assert made.feature_names == ("city", "pca0")
    assert made.terms == ((1,), (0,), (1, 0))
    assert made.grids[1][0].tolist() == ["x", "y", "z"]
    assert made.values[1].tolist() == [-1, 0, 1]
    assert made.density[0].tolist() == [0.5, 0.25, 0.25]
    flagged = one_hot().map_features(
        FeatureMap(("city", "size"), (CITY[0], flag, CITY[2]))
    )
    assert [g[0].tolist() for g in flagged.grids[:2]] == [
        ["a", "other"],
        ["present", "missing"],
    ]


def test_rows_are_summed_by_columns():
    told = ShapeFunctions(
        scope="local",
        feature_names=("city_a", "city_b", "size"),
        target_names=np.array(["y"]),
        terms=((0,), (1,), (2, 0), (1, 2), (0, 1)),
        intercept=0.0,
        output="predict",
        contributions=np.array([[1.0, 2.0, 4.0, 8.0, 16.0]]),
    ).map_features(FeatureMap(("city", "size"), CITY))
    assert told.terms == ((0,), (1, 0))
    assert told.contributions.tolist() == [[19.0, 12.0]]


class Linear(Additive):
    """Adds up all its columns."""

    def predict(self, X):
        return np.asarray(X, dtype=float).sum(axis=1)

    def _explain(self, X, *, kind):
        head = {
            "feature_names": tuple(f"f{j}" for j in range(self.n_features_in_)),
            "target_names": np.array(["y"]),
            "terms": tuple((j,) for j in range(self.n_features_in_)),
            "intercept": 0.0,
            "output": "predict",
        }
        if X is not None:
            return ShapeFunctions(scope="local", contributions=X, **head)
        points = np.linspace(-1, 1, 5)
        n = self.n_features_in_
        return ShapeFunctions(
            scope="global",
            grids=((points,),) * n,
            values=(points,) * n,
            importance=np.ones(n),
            **head,
        )


def test_through_a_pipeline_in_the_users_columns():
    table = pd.DataFrame(
        {"age": np.linspace(20, 60, 12), "city": list("abc") * 4, "dose": range(12)}
    )
    front = make_column_transformer(
        (StandardScaler(), ["age", "dose"]),
        (OneHotEncoder(sparse_output=False), ["city"]),
    )
    model = make_pipeline(front, Linear()).fit(table)
    told = skinterp.explain(model)
    assert told.feature_names == ("age", "city", "dose")
    assert sorted(told.term_names) == ["age", "city", "dose"]
    told.check_faithful(model, table)
    local = skinterp.explain(model, table)
    local.check_faithful(model, table)
    mean, scale = table["age"].mean(), table["age"].std(ddof=0)
    np.testing.assert_allclose(told.grids[0][0][[0, -1]], [mean - scale, mean + scale])


# -- pictures ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "explanation",
    [
        shapes(),
        classes(),
        shapes(density_at=(), density=()),
        shapes(terms=(), grids=(), values=(), importance=np.zeros(0)),
        rows(),
        rows(0),
        shapes(feature_names=(EVIL, EVIL + "2")),
    ],
)
def test_pictures_and_pages(explanation):
    figure, ax = plt.subplots()
    before = plt.get_fignums()
    assert explanation.plot(ax) is ax
    figure.canvas.draw()
    page = explanation.to_html()
    assert "<script" not in page
    assert plt.get_fignums() == before
    plt.close("all")


def test_picture_has_a_panel_per_term():
    ax = shapes().plot()
    surface, line, curve = ax.child_axes
    assert surface.get_title() == "age × dose (76 %)"
    assert surface.collections[0].get_clim() == (-1.0, 1.0)
    np.testing.assert_allclose(curve.lines[-1].get_ydata(), bend(AGE))
    assert line.get_ylim() == curve.get_ylim()
    many = shapes(
        terms=((0,),) * 15,
        grids=((AGE,),) * 15,
        values=(bend(AGE),) * 15,
        importance=np.ones(15),
    ).plot()
    assert len(many.child_axes) == 12
    assert many.get_title(loc="right") == "3 more terms"
    plt.close("all")


def test_small_axes_hold_fewer_panels():
    _, ax = plt.subplots(figsize=(6, 3))
    shapes().plot(ax)
    assert len(ax.child_axes) == 2
    assert ax.get_title(loc="right") == "1 more term"
    plt.close("all")


def test_picture_of_three_features_shows_a_slice():
    solid = shapes(
        feature_names=("age", "dose", "c"),
        terms=((0, 1, 2),),
        grids=((AGE, DOSE, DOSE),),
        values=(np.ones((9, 3, 3)),),
        importance=[1.0],
        density_at=(),
        density=(),
    )
    (panel,) = solid.plot().child_axes
    assert panel.texts[0].get_text() == "c = 1"
    plt.close("all")
