"""The search with the models and the tables that people have."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import skinterp
from skinterp.explanation import load
from skinterp.valuation import (
    KNNUtility,
    SelectedDataClassifier,
    SelectedDataRegressor,
    TopDataValues,
)
from skinterp.valuation._data_kernel import column_scales
from skinterp.valuation._tables import encode, groups_of, learn_encoding
from skinterp.valuation._utility import ModelUtility

CHEAP = {"max_evaluations": 24, "beta": 1.0, "random_state": 0}


def rows(n=60, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    edges = np.linspace(-0.5, 0.5, n_classes - 1) if n_classes > 2 else [0.0]
    return X, np.digitize(X[:, 0], edges)


def frame(n=60):
    X, y = rows(n)
    table = pd.DataFrame(
        {
            "age": X[:, 0],
            "town": np.where(X[:, 1] > 0, "Bonn", "Köln"),
            "kind": pd.Categorical(np.where(X[:, 2] > 0, "p", "q")),
        }
    )
    return table, y


def encoded():
    coder = OneHotEncoder(handle_unknown="ignore")
    parts = make_column_transformer(
        (StandardScaler(), ["age"]), (coder, ["town", "kind"])
    )
    return make_pipeline(parts, LogisticRegression())


# -- models ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(7), CalibratedClassifierCV(GaussianNB(), cv=3)]
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_sets_too_small_for_a_model_are_constants(estimator):
    X, y = rows()
    search = TopDataValues(estimator, **CHEAP).fit(X, y)
    assert search.n_refused_ > 0
    # the mean value costs two; one more makes sure that all rows do
    assert search.n_evaluations_ == 2 + 2 * search.pulls_.sum() + 1
    assert np.isfinite(search.value_mean_).all()
    few = ModelUtility(estimator, (X, y), (X, y), classification=True)
    small = np.append(np.flatnonzero(y)[:2], np.flatnonzero(y == 0)[:1])
    share = np.bincount(y[small])
    assert few.attempt(small) == (np.mean(y == share.argmax()), True)


def test_a_model_that_never_learns_says_why():
    X, y = rows()
    for lowest in (True, False):
        search = TopDataValues(KNeighborsClassifier(99), lowest=lowest, **CHEAP)
        with pytest.raises(ValueError, match="n_neighbors"):
            search.fit(X, y)


def test_a_frozen_model_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="frozen"):
        TopDataValues(FrozenEstimator(GaussianNB().fit(X, y)), **CHEAP).fit(X, y)


class FromZero(ClassifierMixin, BaseEstimator):
    """Wants labels from 0 on without gaps, and gives a column of floats."""

    def fit(self, X, y):
        if not np.array_equal(np.unique(y), np.arange(len(np.unique(y)))):
            msg = "labels must run from 0 on"
            raise ValueError(msg)
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)[:, None].astype(float)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


@pytest.mark.parametrize("labels", [[0, 1, 2], [-1, 5, 7], ["a", "b", "c"]])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_labels_are_given_as_a_model_wants_them(labels, scoring):
    X, y = rows(n_classes=3)
    y = np.array(labels)[y]
    strict = TopDataValues(FromZero(), scoring=scoring, **CHEAP).fit(X, y)
    plain = TopDataValues(GaussianNB(), scoring=scoring, **CHEAP).fit(X, y)
    assert strict.n_refused_ == 0
    assert_allclose(strict.value_mean_, plain.value_mean_, atol=1e-12)


class Column(LinearRegression):
    def predict(self, X):
        return super().predict(X)[:, None]


def test_a_column_of_predictions_is_no_table():
    X, _ = rows()
    y = X[:, 0] + X[:, 1] ** 2
    column = TopDataValues(Column(), **CHEAP).fit(X, y)
    plain = TopDataValues(LinearRegression(), **CHEAP).fit(X, y)
    assert_array_equal(column.value_mean_, plain.value_mean_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_of_xgboost(n_classes):
    xgboost = pytest.importorskip("xgboost")
    X, y = rows(n_classes=n_classes)
    model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1)
    words = np.array(["a", "b", "c"])[y]
    first = TopDataValues(model, **CHEAP).fit(X, y)
    second = TopDataValues(model, **CHEAP).fit(X, words)
    assert_array_equal(first.value_mean_, second.value_mean_)
    inner = TopDataValues(**CHEAP)
    fitted = SelectedDataClassifier(model, inner).fit(X, y)
    assert fitted.predict(X).dtype == y.dtype


def test_boosted_trees_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rows(90)
    few = {"n_estimators": 3, "min_child_samples": 2, "verbose": -1, "n_jobs": 1}
    search = TopDataValues(lightgbm.LGBMClassifier(**few), **CHEAP).fit(X, y)
    assert search.value_mean_.any()
    model = lightgbm.LGBMRegressor(**few)
    fitted = SelectedDataRegressor(model, TopDataValues(**CHEAP)).fit(X, X[:, 0])
    assert np.isfinite(fitted.predict(X)).all()


# -- variances ---------------------------------------------------------------------


def test_initial_draws_that_hide_the_noise_are_not_believed():
    """Most contributions are 0, few are large: no row is settled by three zeros."""
    X, y = rows(60)

    def rare(indices):
        return float(sum(indices) % 29 == 0)

    search = TopDataValues(utility=rare, m=5, prior_mean=0.0, random_state=1)
    search.set_params(max_evaluations=400).fit(X, y)
    assert search.noise_variance_ > 1e-3  # of about 0.07
    assert search.calibration_ < 3
    assert not search.certified_
    assert search.gap_bound_ > 0.01


def test_draws_that_contradict_the_mean_value_are_not_believed():
    """All rows have no value alone; together they have one."""
    X, y = rows(60)
    search = TopDataValues(utility=lambda at: float(len(at) == 60), random_state=0)
    search.set_params(max_evaluations=60, max_coalition=None).fit(X, y)
    assert search.signal_variance_ > 1e-6
    assert not search.certified_


def test_nothing_is_certified_by_a_kernel_that_does_not_fit():
    X, y = rows(40)
    w = np.random.default_rng(0).normal(size=40)
    narrow = {"signal_variance": 1e-8, "noise_variance": 1e-8, "random_state": 0}
    search = TopDataValues(utility=lambda at: w[at].sum(), **narrow).fit(X, y)
    assert search.calibration_ > 3
    assert not search.certified_


# -- frames ------------------------------------------------------------------------


def test_frames_with_texts_reach_the_model():
    table, y = frame()
    search = TopDataValues(encoded(), **CHEAP).fit(table, y)
    assert search.n_refused_ < 10
    assert_array_equal(search.feature_names_in_, ["age", "town", "kind"])
    values = search.explain()
    values.check_faithful(search, None)
    assert list(values.to_frame()["town"]) == list(table["town"])
    assert "town=" in values.to_text()
    at = search.top_indices_[:3]
    mean = search.predict_value(table.iloc[at], y[at])
    assert_allclose(mean, search.value_mean_[at], atol=1e-6)


def test_texts_in_the_explanation_are_stored(tmp_path):
    table, y = frame()
    values = TopDataValues(None, **CHEAP).fit(table, y).explain()
    values.save(tmp_path / "v.json")
    assert load(tmp_path / "v.json") == values


@pytest.mark.parametrize("utility", [None, "knn"])
def test_texts_and_missing_cells_need_no_pipeline_of_ones_own(utility):
    table, y = frame()
    table.loc[3, "age"] = np.nan
    table.loc[4, "town"] = None
    search = TopDataValues(None, utility=utility, **CHEAP).fit(table, y)
    assert np.isfinite(search.value_mean_).all()
    unseen = table.iloc[:2].assign(town="Rom")
    assert np.isfinite(search.predict_value(unseen, y[:2])).all()
    model = SelectedDataClassifier(None, search).fit(table, y)
    assert set(model.predict(unseen)) <= {0, 1}


def test_columns_are_found_by_their_names():
    X, y = rows()
    table = pd.DataFrame(X, columns=list("abc"))
    by_name = make_column_transformer((StandardScaler(), ["a", "b"]))
    model = make_pipeline(by_name, GaussianNB())
    search = TopDataValues(model, **CHEAP).fit(table, y, table[:20], y[:20])
    assert np.isfinite(search.value_mean_).all()
    selected = SelectedDataClassifier(model, TopDataValues(**CHEAP)).fit(table, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        from_array = selected.predict(X)
    assert_array_equal(from_array, selected.predict(table))
    pipeline = make_pipeline(StandardScaler(), selected)
    pipeline[0].set_output(transform="pandas")
    assert skinterp.explain(pipeline.fit(table, y)).feature_names == ("a", "b", "c")


def test_numbers_in_a_frame_give_what_an_array_gives():
    X, y = rows()
    table = pd.DataFrame(X, columns=list("abc"))
    first = TopDataValues(GaussianNB(), **CHEAP).fit(X, y)
    second = TopDataValues(GaussianNB(), **CHEAP).fit(table, y)
    assert_array_equal(first.value_mean_, second.value_mean_)


def test_a_column_of_labels_counts_as_one_of_numbers():
    table, _ = frame(200)
    parts = learn_encoding(table)
    numbers = encode(parts, table)
    groups = groups_of(parts, numbers.shape[1])
    assert groups.tolist() == [0, 1, 1, 2, 2]
    scaled = numbers / column_scales(numbers, groups)
    shares = np.bincount(groups, scaled.var(axis=0))
    assert_allclose(shares, 1.0)


def test_models_that_take_no_texts_name_the_column():
    table, y = frame()
    for lowest in (True, False):
        with pytest.raises(ValueError, match=r"GaussianNB does not learn.*'town'"):
            TopDataValues(GaussianNB(), lowest=lowest, **CHEAP).fit(table, y)
    with pytest.raises(ValueError, match=r"'age' holds inf in row 2"):
        TopDataValues(encoded(), **CHEAP).fit(table.replace(table.age[2], np.inf), y)


# -- wrong input -------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [lambda X: X * np.nan, lambda X: X[:, 0], lambda X: X[:3]],
    ids=["missing", "one-dimensional", "short"],
)
def test_features_of_a_wrong_shape_are_refused(function):
    X, y = rows()
    with pytest.raises(ValueError, match="features must give"):
        TopDataValues(features=FunctionTransformer(function), **CHEAP).fit(X, y)


def test_an_indefinite_kernel_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="positive semidefinite"):
        TopDataValues(kernel=lambda X, y: np.eye(len(X)) - 0.9, **CHEAP).fit(X, y)


@pytest.mark.parametrize("indices", [[-1], [60], np.ones(60, bool), [0.5], [[1, 2]]])
def test_positions_that_are_none_are_refused(indices):
    X, y = rows()
    with pytest.raises(ValueError, match="positions from 0 to 59"):
        KNNUtility(X, y, X, y)(indices)


@pytest.mark.parametrize("n_neighbors", ["a", None, float("nan"), True, 2.0])
def test_numbers_of_neighbours_that_are_none_are_refused(n_neighbors):
    X, y = rows()
    with pytest.raises(ValueError, match="n_neighbors"):
        KNNUtility(X, y, X, y, n_neighbors)


def test_labels_of_two_types_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="no such labels"):
        KNNUtility(X, y, X, y.astype(str))


@pytest.mark.parametrize("stage", ["estimator", "utility"])
def test_an_interrupt_leaves_no_half_of_a_fit(stage):
    X, y = rows()
    search = TopDataValues(GaussianNB(), **CHEAP).fit(X, y)

    def stop(indices):
        raise KeyboardInterrupt

    class Stops(GaussianNB):
        def fit(self, X, y):
            raise KeyboardInterrupt

    change = {"estimator": Stops()} if stage == "estimator" else {"utility": stop}
    with pytest.raises(KeyboardInterrupt):
        search.set_params(**change).fit(X, y)
    with pytest.raises(Exception, match="not fitted"):
        search.explain()
