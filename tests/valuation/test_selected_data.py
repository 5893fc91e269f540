"""Models on selected rows: what is kept, what is passed on, what is searched."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import skinterp
from skinterp.valuation import (
    SelectedDataClassifier,
    SelectedDataRegressor,
    TopDataValues,
)

CHEAP = {"max_evaluations": 40, "beta": 1.0, "random_state": 0}


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.parametrize(("lowest", "kept"), [(True, 70), (False, 10)])
def test_the_model_is_fitted_on_the_rows_that_are_kept(lowest, kept):
    X, y = rows()
    selector = TopDataValues(utility="knn", m=10, lowest=lowest, random_state=0)
    model = SelectedDataClassifier(GaussianNB(), selector).fit(X, y)
    found = model.selector_
    at = found.support_ if not lowest else ~found.support_
    assert model.n_kept_ == at.sum() == kept
    alone = GaussianNB().fit(X[at], y[at])
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert_array_equal(model.predict(X), alone.predict(X))


def test_rows_are_valued_for_the_model_inside():
    X, y = rows()
    model = SelectedDataClassifier(GaussianNB(), TopDataValues(**CHEAP)).fit(X, y)
    assert isinstance(model.selector_.estimator, GaussianNB)
    other = TopDataValues(LogisticRegression(), **CHEAP)
    model = SelectedDataClassifier(GaussianNB(), other).fit(X, y)
    assert isinstance(model.selector_.estimator, LogisticRegression)


def test_whole_numbers_are_no_classes_of_a_regressor():
    X, _ = rows()
    y = np.round(3 * X[:, 0]).astype(int)
    model = SelectedDataRegressor(Ridge(), TopDataValues(**CHEAP)).fit(X, y)
    assert not hasattr(model.selector_, "classes_")


def test_methods_are_those_of_the_model():
    X, y = rows()
    knn = TopDataValues(utility="knn", random_state=0)
    scored = SelectedDataClassifier(LinearSVC(), knn).fit(X, y)
    assert hasattr(scored, "decision_function")
    assert not hasattr(scored, "predict_proba")
    assert scored.decision_function(X).shape == (80,)
    assert hasattr(SelectedDataClassifier(GaussianNB()), "predict_proba")


def test_a_search_over_the_number_of_rows():
    X, y = rows()
    selector = TopDataValues(utility="knn", lowest=True, random_state=0)
    pipeline = make_pipeline(
        StandardScaler(), SelectedDataClassifier(GaussianNB(), selector)
    )
    name = "selecteddataclassifier__selector__m"
    search = GridSearchCV(pipeline, {name: [4, 12]}, cv=2).fit(X, y)
    values = skinterp.explain(search)
    assert values.complexity == search.best_params_[name]
    assert values.data is None  # cells of the scaled columns are not the user's
    assert values.feature_names == ("x0", "x1", "x2")


class Half(BaseEstimator):
    """A sampler of another library."""

    def fit_resample(self, X, y):
        return X[::2], y[::2]


class First(BaseEstimator):
    def fit_resample(self, X, y):
        return X[y == y[0]], y[y == y[0]]


def test_other_samplers_select_as_well():
    X, y = rows()
    model = SelectedDataClassifier(GaussianNB(), Half()).fit(X, y)
    assert model.n_kept_ == 40
    with pytest.raises(ValueError, match="TopDataValues"):
        model.explain()
    with pytest.raises(ValueError, match="keeps no row of class"):
        SelectedDataClassifier(GaussianNB(), First()).fit(X, y)


def test_seeds_come_from_the_outer_one():
    X, y = rows()
    selector = TopDataValues(max_evaluations=40)
    model = SelectedDataClassifier(GaussianNB(), selector, random_state=3)
    first, second = model.fit(X, y).explain(), model.fit(X, y).explain()
    assert first == second
    assert selector.random_state is None


def test_wrong_labels_cost_less_accuracy():
    """Dropping the rows of lowest value undoes part of the harm of flips."""
    plain, selected = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 2))
        y = (X[:, 0] + X[:, 1] > 0).astype(int)
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
        wrong = rng.permutation(150)[:30]
        y[wrong] = 1 - y[wrong]
        inner = KNeighborsClassifier(1)
        selector = TopDataValues(utility="knn", m=36, lowest=True, random_state=0)
        model = SelectedDataClassifier(inner, selector).fit(X, y)
        plain.append(accuracy_score(y_test, inner.fit(X, y).predict(X_test)))
        selected.append(accuracy_score(y_test, model.predict(X_test)))
    assert np.mean(selected) > np.mean(plain) + 0.03
