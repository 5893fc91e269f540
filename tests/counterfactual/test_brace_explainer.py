"""The explainer on models and tables of many sorts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import skinterp
from skinterp.counterfactual import BraceExplainer


@pytest.fixture(scope="module")
def cancer() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_breast_cancer(as_frame=True)
    return found.data.iloc[:, :10], found.target_names[found.target]


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, np.ndarray]:
    """Text, numbers and a flag: job and age drive income, which drives the loan."""
    rng = np.random.default_rng(0)
    n = 300
    job = rng.choice(["boss", "clerk", "driver"], n)
    age = rng.integers(20, 70, n).astype(float)
    income = 1000 + 30 * age + 1500 * (job == "boss") + rng.normal(0, 300, n)
    loan = 0.5 * income + rng.normal(0, 300, n)
    X = pd.DataFrame(
        {"job": job, "age": age, "income": income, "loan": loan, "owner": 0}
    )
    X["owner"] = rng.integers(0, 2, n)
    lead = income - 1.2 * loan + 200 * X["owner"] + rng.normal(0, 100, n)
    return X, np.where(lead > np.median(lead), "good", "bad")


GRAPH = {"income": ["age", "job"], "loan": ["income"]}


def with_encoding(model: Any) -> Any:
    numeric = ["age", "income", "loan"]
    steps = make_column_transformer(
        (OneHotEncoder(), ["job"]), (StandardScaler(), numeric), remainder="passthrough"
    )
    return make_pipeline(steps, model)


def refused(explainer: BraceExplainer, people: Any) -> pd.DataFrame:
    X, _ = people
    return X[explainer.predict(X) == "bad"][:6]


# -- tables with texts, limits -------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (LogisticRegression(), "exact"),
        (RidgeClassifier(), "exact"),
        (RandomForestClassifier(20, random_state=0), "black-box"),
        (make_pipeline(PolynomialFeatures(2), LogisticRegression()), "gradient"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pipeline_with_texts(people: Any, model: Any, solver: str) -> None:
    """The graph and the answers are in the user's columns, whatever is inside."""
    explainer = BraceExplainer(with_encoding(model), graph=GRAPH, immutable=["age"])
    rows = refused(explainer.fit(*people), people)
    answer = explainer.explain(rows, target="good")
    assert explainer.solver_ == solver
    assert (answer.status == "found").all()
    assert answer.certified.all() == (solver == "exact")
    answer.check_faithful(explainer, rows)
    assert_array_equal(answer.rows[:, 0], rows["job"])
    assert_array_equal(answer.held, [True, True, False, False, True])
    assert not answer.changed[:, answer.held].any()
    shown = pd.DataFrame(answer.counterfactuals, columns=rows.columns)
    typed = shown.astype({c: float for c in rows.columns if c != "job"})
    assert (explainer.predict(typed) == "good").all()


def test_listed_values_are_searched(people: Any) -> None:
    """More freedom is never dearer; the values are among those that are allowed."""
    held = BraceExplainer(with_encoding(LogisticRegression()), graph=GRAPH)
    free = BraceExplainer(
        with_encoding(LogisticRegression()),
        graph=GRAPH,
        categories={"job": ["boss", "clerk"], "owner": "observed"},
    )
    rows = refused(held.fit(*people), people)
    before, after = held.explain(rows), free.fit(*people).explain(rows)
    assert (after.objective <= before.objective + 1e-9).all()
    assert after.certified.all()
    after.check_faithful(free, rows)
    moved = after.changed[:, 0]
    assert set(after.counterfactuals[moved, 0]) <= {"boss", "clerk"}


def test_listed_values_by_brute_force() -> None:
    """The best over all values, each tried as a model of its own."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 4, 200), rng.normal(size=200)]).astype(float)
    X[:, 1] += 0.5 * X[:, 0]
    y = (X @ [1.0, 1.0] + rng.normal(size=200) > 2).astype(int)
    explainer = BraceExplainer(graph={1: [0]}, categories={0: [0, 1, 2, 3]}).fit(X, y)
    rows = X[explainer.predict(X) == 0][:10]
    answer = explainer.explain(rows)
    model, (a, b) = explainer.estimator_, explainer.scale_
    slope = float(explainer.mechanisms_[1].coef_[0])
    for row, found in zip(rows, answer.objective, strict=True):
        costs = []
        for value in range(4):
            start = np.array([value, row[1]])
            lead = 1e-6 - model.decision_function([start])[0]
            step = max(lead, 0.0) / model.coef_[0, 1]
            first, second = (value - row[0]) / a, step / b
            own = (step - slope * (value - row[0])) / b
            costs.append(abs(first) + abs(second) + np.hypot(first, own))
            if lead <= 0:  # the second column may follow the first one
                follow = slope * (value - row[0])
                if model.decision_function([[value, row[1] + follow]])[0] > 1e-6:
                    costs.append(2 * abs(first) + abs(follow) / b)
        assert found <= min(costs) + 1e-7


def test_bounds_are_kept(people: Any) -> None:
    bounds = {"loan": (0, None), "income": (None, 2500.0)}
    explainer = BraceExplainer(with_encoding(LogisticRegression()), bounds=bounds)
    rows = refused(explainer.fit(*people), people)
    answer = explainer.explain(rows)
    found = answer.counterfactuals[answer.status == "found"]
    assert len(found)
    assert (found[:, 3] >= 0).all()
    assert (found[:, 2] <= 2500.0).all()
    observed = BraceExplainer(bounds="observed").fit(*load_iris(return_X_y=True))
    X = load_iris().data
    inside = observed.explain(X).counterfactuals
    assert (inside >= X.min(axis=0)).all()
    assert (inside <= X.max(axis=0)).all()


@pytest.mark.filterwarnings("ignore:the noise of")  # the graph is not the point
@pytest.mark.parametrize(
    "model",
    [None, DecisionTreeClassifier(max_depth=4), make_pipeline(StandardScaler(), SVC())],
    ids=["linear", "tree", "kernel"],
)
def test_bounds_that_leave_out_the_row_itself(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    low, high = np.array([6.0, 1.5]), np.array([8.0, 5.0])
    bounds = {0: (6.0, 8.0), 2: (1.5, 5.0)}
    explainer = BraceExplainer(model, bounds=bounds, graph={2: [0]}).fit(X, y)
    answer = explainer.explain(X[::15], lam=[0.0, 1.0, np.inf])
    found = answer.counterfactuals[answer.status == "found"][:, [0, 2]]
    assert len(found) > 20
    assert (found >= low).all()
    assert (found <= high).all()


@pytest.mark.filterwarnings("ignore:the noise of")  # the graph is not the point
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"solver": "gradient"},
        {"solver": "black-box"},
        {"mechanisms": KNeighborsRegressor(5)},
    ],
    ids=str,
)
def test_noise_stays_likely(params: dict[str, Any]) -> None:
    """Within its quantiles in training, or where it is; the limits are felt."""
    X, y = load_iris(return_X_y=True)
    free = BraceExplainer(graph={2: [0]}, **params).fit(X, y)
    quantiles = 0.1, 0.9
    held = BraceExplainer(graph={2: [0]}, noise_quantiles=quantiles, **params)
    held.fit(X, y)
    rows = X[::10]
    answer, before = held.explain(rows), free.explain(rows)
    answer.check_faithful(held, rows)
    assert answer.valid.mean() > 0.6
    low = np.quantile(held.noise_, 0.1, axis=0, method="inverted_cdf")
    high = np.quantile(held.noise_, 0.9, axis=0, method="inverted_cdf")
    low, high = np.minimum(low, answer.noise), np.maximum(high, answer.noise)
    inside = answer.counterfactual_noise >= low - 1e-5
    inside &= answer.counterfactual_noise <= high + 1e-5
    assert inside.all()
    outside = before.counterfactual_noise < low - 1e-5
    outside |= before.counterfactual_noise > high + 1e-5
    assert outside.any()
    if not params:
        assert answer.certified.all()
        known = answer.status == "found"
        felt = known & outside.any(axis=1)
        assert (answer.objective[known] >= before.objective[known] - 1e-9).all()
        assert (answer.objective[felt] > before.objective[felt]).all()


def test_unlikely_noise_of_the_row_itself_is_allowed() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] + 0.1 * X[:, 1] > 0).astype(int)
    explainer = BraceExplainer(noise_quantiles=(0.1, 0.9)).fit(X, y)
    answer = explainer.explain([[-1.0, 5.0]])
    assert answer.status[0] == "found"
    assert answer.steps[0, 1] == 0.0


def test_noise_that_is_only_rounding_has_room() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    X[:, 1] = 2 * X[:, 0] + 1
    y = (X[:, 0] > 0).astype(int)
    explainer = BraceExplainer(graph={1: [0]}, noise_quantiles=(0.05, 0.95))
    answer = explainer.fit(X, y).explain(X[:10])
    assert (answer.status == "found").all()
    off = answer.counterfactuals[:, 1] - 2 * answer.counterfactuals[:, 0] - 1
    assert (np.abs(off) < 1e-5).all()


def test_rare_label_of_encoded_column_is_held() -> None:
    X, y = load_iris(return_X_y=True)
    rare = np.zeros(len(X))
    rare[3] = 1.0
    explainer = BraceExplainer().fit(np.column_stack([X, rare]), y)
    assert explainer.held_.tolist() == [False] * 4 + [True]


# -- weights -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the noise of")  # the graph is not the point
@pytest.mark.parametrize("mechanism", ["linear", Ridge(1e-9)])
def test_weights_are_repeated_rows(mechanism: Any) -> None:
    """In the model, mechanisms, units, correlation and quantiles of the noise."""
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(X)) % 3
    params = {"graph": {2: [0]}, "mechanisms": mechanism, "noise_quantiles": (0.1, 0.9)}
    model = make_pipeline(StandardScaler(), RidgeClassifier())
    one = BraceExplainer(RidgeClassifier(), **params).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(X)), weight)
    two = BraceExplainer(RidgeClassifier(), **params).fit(X[rows], y[rows])
    assert_allclose(one.scale_, two.scale_)
    assert_allclose(one.noise_corr_, two.noise_corr_, atol=1e-9)
    answers = [explainer.explain(X[:9]) for explainer in (one, two)]
    assert_allclose(*(a.counterfactuals for a in answers), atol=1e-6)
    plain = BraceExplainer(RidgeClassifier(), **params).fit(X, y)
    assert not np.allclose(one.abduct(X), plain.abduct(X), atol=1e-3)
    inside = BraceExplainer(model).fit(X, y, sample_weight=weight).estimator_
    assert not np.allclose(inside[-1].coef_, clone(model).fit(X, y)[-1].coef_)


@pytest.mark.parametrize(
    ("params", "weight", "words"),
    [
        ({"estimator": KNeighborsClassifier()}, 1, "estimator=KNeighbors.* not take"),
        (
            {"graph": {1: [0]}, "mechanisms": KNeighborsRegressor()},
            1,
            "mechanisms=KNeighbors.* not take",
        ),
        ({}, 0, "(?i)sample.weight"),
        ({}, -1, "sample_weight"),
    ],
    ids=str,
)
def test_weights_that_cannot_be_used(params: Any, weight: float, words: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        BraceExplainer(**params).fit(X, y, sample_weight=np.full(len(X), weight))


def test_frozen_model_needs_no_weights() -> None:
    X, y = load_iris(return_X_y=True)
    frozen = FrozenEstimator(KNeighborsClassifier().fit(X, y))
    explainer = BraceExplainer(frozen).fit(X, y, sample_weight=np.ones(len(X)))
    assert_array_equal(explainer.predict(X), frozen.predict(X))


# -- statuses ------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, DecisionTreeClassifier(max_depth=2)])
def test_statuses(model: Any) -> None:
    """What is there already, and what cannot be, is said and raises nothing."""
    X, y = load_iris(return_X_y=True)
    explainer = BraceExplainer(model).fit(X, y)
    there = explainer.explain(X[:3], target=0)
    assert (there.status == "already").all()
    assert there.certified.all()
    assert_array_equal(there.counterfactuals, X[:3])
    assert (there.objective == 0).all()
    held = BraceExplainer(model, immutable=range(4)).fit(X, y).explain(X[:3])
    assert (held.status == "unreachable").all()
    assert held.certified.all()
    assert np.isnan(held.objective).all()
    assert not held.valid.any()
    assert "stays 0" in held.to_text()


def test_unreachable_is_proved() -> None:
    """Bounds that cut off the class are found out by a linear program."""
    X, y = load_iris(return_X_y=True)
    explainer = BraceExplainer(bounds={j: (None, X[0, j]) for j in range(4)}).fit(X, y)
    bounds = {j: (X[0, j] - 0.01, X[0, j] + 0.01) for j in range(4)}
    close = BraceExplainer(explainer.estimator, bounds=bounds).fit(X, y)
    answer = close.explain(X[:1], target=2)
    assert answer.status[0] == "unreachable"
    assert answer.certified[0]


def test_any_other_class_is_the_nearest_of_them() -> None:
    X, y = load_iris(return_X_y=True)
    explainer = BraceExplainer(LogisticRegression(max_iter=1000)).fit(X, y)
    rows = X[::10]
    open_, present = explainer.explain(rows), explainer.predict(rows)
    each = [explainer.explain(rows, target=c) for c in range(3)]
    costs = np.array([a.objective for a in each])
    costs[present, np.arange(len(rows))] = np.inf
    assert_allclose(open_.objective, costs.min(axis=0), rtol=1e-9)
    assert_array_equal(open_.target, costs.argmin(axis=0))
    assert open_.certified.all()


# -- other models --------------------------------------------------------------------


def test_tree_is_left_at_its_threshold() -> None:
    """Of a single split, the answer lies just beyond it."""
    X = np.linspace(0, 10, 101)[:, None] * [1.0, 0.0] + [[0.0, 1.0]]
    X[:, 1] += np.tile([0.0, 0.5, 1.0], 34)[:101]
    y = (X[:, 0] > 6).astype(int)
    explainer = BraceExplainer(DecisionTreeClassifier(max_depth=1)).fit(X, y)
    answer = explainer.explain(X[:50])
    edge = explainer.estimator_.tree_.threshold[0]
    assert (answer.steps[:, 1] == 0).all()
    moved = answer.counterfactuals[:, 0] - edge
    assert (moved > 0).all()
    assert (moved < 0.02 * (edge - X[:50, 0])).all()


class Shifted(LogisticRegression):
    """Linear scores that do not decide: its classes begin at another threshold."""

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[(self.decision_function(X) > 0.05).astype(int)]


def test_nothing_is_proved_where_scores_do_not_decide() -> None:
    """One row of hundred that the scores put elsewhere is enough."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    model = Shifted().fit(X, (X.sum(axis=1) > 0).astype(int))
    X[0] -= (model.decision_function(X[:1]) - 0.03) / model.coef_.sum()
    explainer = BraceExplainer(FrozenEstimator(model)).fit(X, model.predict(X))
    wrong = (explainer.decision_function(X) > 0) != model.predict(X)
    assert 0 < wrong.mean() < 0.02
    assert explainer.solver_ != "exact"
    answer = explainer.explain(X[::20])
    answer.check_faithful(explainer, X[::20])
    assert not answer.certified.any()


class Backwards(LogisticRegression):
    """Its classes are not sorted."""

    def fit(self, X: Any, y: Any) -> Backwards:
        super().fit(X, y)
        for name in ("classes_", "coef_", "intercept_"):
            setattr(self, name, getattr(self, name)[::-1])
        return self


def test_classes_in_any_order() -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    answers = []
    for model in (Backwards(max_iter=500), LogisticRegression(max_iter=500)):
        explainer = BraceExplainer(model).fit(X, labels)
        answers.append(explainer.explain(X[::15], target="b"))
        answers[-1].check_faithful(explainer, X[::15])
    assert_allclose(*(a.counterfactuals for a in answers), atol=1e-9)


def test_one_row_is_answered_as_in_a_batch(cancer: Any) -> None:
    """Though several columns are tried in one call of the model."""
    X, y = cancer
    model = RandomForestClassifier(5, random_state=0)
    graph = {"mean area": ["mean radius"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = BraceExplainer(model, graph=graph).fit(X, y)
    together = explainer.explain(X[::8]).counterfactuals[:5]
    alone = [explainer.explain(X.iloc[[i]]).counterfactuals[0] for i in range(0, 40, 8)]
    assert_array_equal(together, alone)


def test_each_weight_has_the_best_of_the_path() -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(10, random_state=0)
    explainer = BraceExplainer(model, n_starts=1).fit(X, y)
    answer = explainer.explain(X[::5], lam=[0.0, 1.0, 5.0])
    first, second = answer.distance_x, answer.distance_u
    for k, lam in enumerate((0.0, 1.0, 5.0)):
        others = first + lam * second
        assert (answer.objective[k] <= others.min(axis=0) + 1e-9).all()


def boosted(name: str) -> Any:
    module = pytest.importorskip(name)
    if name == "lightgbm":
        return module.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    return module.XGBClassifier(n_estimators=20, n_jobs=1)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_boosted_trees_of_others(name: str, cancer: Any) -> None:
    X, y = cancer
    model = boosted(name)
    explainer = BraceExplainer(model, graph={"mean area": ["mean radius"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer.fit(X, (y == "benign").astype(int))
        answer = explainer.explain(X[::12])
        answer.check_faithful(explainer, X[::12])
    assert explainer.solver_ == "black-box"
    assert answer.valid.all()


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=20, random_state=0),
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=2000, tol=1e-3)),
    ],
    ids=["boosting", "kernel", "network"],
)
def test_every_answer_is_what_the_model_says(model: Any, cancer: Any) -> None:
    X, y = cancer
    inner = FrozenEstimator(model.fit(X, y))
    explainer = BraceExplainer(inner, n_starts=2).fit(X, y)
    rows = X[::200]
    answer = explainer.explain(rows, lam=[0.0, 1.0, np.inf])
    assert answer.valid.all()
    assert (answer.status == "found").all()
    answer.check_faithful(explainer, rows)
    # the best of the path for each weight, so that it cannot run backwards
    assert (np.diff(answer.distance_x, axis=0) >= -1e-9).all()
    assert (np.diff(answer.distance_u, axis=0) <= 1e-9).all()


@pytest.mark.parametrize(("solver", "slack"), [("gradient", 1.02), ("black-box", 1.7)])
def test_other_solvers_come_near_the_exact_one(
    solver: str, slack: float, cancer: Any
) -> None:
    X, y = cancer
    model = make_pipeline(StandardScaler(), LogisticRegression())
    graph = {"mean area": ["mean radius"], "mean perimeter": ["mean radius"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the noise of a table of tumours correlates
        exact = BraceExplainer(model, graph=graph).fit(X, y)
        other = BraceExplainer(model, graph=graph, solver=solver).fit(X, y)
    rows = X[::20]
    best, found = exact.explain(rows).objective, other.explain(rows).objective
    assert (found >= best - 1e-9).all()
    assert np.median(found / best) < slack


@pytest.mark.parametrize("regressor", [KNeighborsRegressor(3), Ridge(1.0)])
def test_any_regressor_as_mechanism(regressor: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] += np.sin(2 * X[:, 0])
    X[:, 2] += X[:, 1] ** 2
    y = (X.sum(axis=1) > 1).astype(int)
    explainer = BraceExplainer(
        graph={1: [0], 2: [1]}, mechanisms={1: regressor, 2: "linear"}
    ).fit(X, y)
    assert_allclose(explainer.generate(explainer.abduct(X)), X, atol=1e-9)
    linear = isinstance(regressor, Ridge)
    assert explainer.solver_ == ("exact" if linear else "gradient")
    answer = explainer.explain(X[:3])
    answer.check_faithful(explainer, X[:3])
    assert answer.valid.all()
    assert answer.certified.all() == linear
    rebuilt = explainer.generate(answer.counterfactual_noise)
    assert_allclose(rebuilt, answer.counterfactuals, atol=1e-9)


def test_held_effect_is_cut_from_its_causes() -> None:
    """A column that is held stays, with its noise, though its cause moves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] += X[:, 0]
    y = (X[:, 0] + 0.1 * X[:, 2] > 0.5).astype(int)
    explainer = BraceExplainer(graph={1: [0]}, immutable=[1]).fit(X, y)
    answer = explainer.explain(X[:5])
    assert (answer.steps[:, 0] != 0).all()
    assert_array_equal(answer.counterfactuals[:, 1], X[:5, 1])
    assert_array_equal(answer.counterfactual_noise[:, 1], answer.noise[:, 1])


def test_noise_of_a_held_effect_costs_nothing() -> None:
    """In the searches as in the exact solver: its cause moves as freely."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] += 3 * X[:, 0]
    y = (X[:, 0] + 0.9 * X[:, 2] > 0.5).astype(int)
    params = {"graph": {1: [0]}, "immutable": [1], "lam": 3.0}
    best = BraceExplainer(**params).fit(X, y).explain(X[:10]).objective
    for solver, slack in (("gradient", 1.001), ("black-box", 1.3)):
        explainer = BraceExplainer(solver=solver, **params).fit(X, y)
        assert (explainer.explain(X[:10]).objective < slack * best).all()


@pytest.mark.parametrize(
    ("step", "affine"),
    [
        (SimpleImputer(), True),
        (SimpleImputer(missing_values=0), False),
        (MinMaxScaler(), True),
        (MinMaxScaler(clip=True), False),
        (PolynomialFeatures(2), False),
    ],
    ids=str,
)
def test_steps_that_keep_scores_linear(step: Any, affine: bool) -> None:
    model = make_pipeline(step, LogisticRegression(max_iter=1000))
    explainer = BraceExplainer(model).fit(*load_iris(return_X_y=True))
    assert (explainer.solver_ == "exact") == affine


def test_noise_that_correlates_is_told() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=300)
    X = rng.normal(size=(300, 3)) + hidden[:, None]
    y = (hidden > 0).astype(int)
    with pytest.warns(UserWarning, match=r"noise of 'x0' and 'x2' correlates"):
        explainer = BraceExplainer(graph={1: [0], 2: [1]}).fit(X, y)
    assert explainer.noise_corr_.shape == (3, 3)
    assert_allclose(np.diag(explainer.noise_corr_), 1.0)


# -- wrong input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"graph": {0: [1], 1: [0]}}, "cycle among the columns"),
        ({"graph": {0: [0]}}, "cycle"),
        ({"graph": {"income": [0]}}, "graph names the column 'income'"),
        ({"graph": np.zeros((3, 3))}, r"of shape \(4, 4\)"),
        ({"mechanisms": {0: DecisionTreeClassifier()}}, "mechanisms="),
        ({"graph": {0: None}}, "graph names the column None"),
        ({"graph": {0: 1.5}}, "graph names the column 1.5"),
        ({"graph": [[0, 1], [1]]}, r"of shape \(4, 4\), got \[\[0, 1"),
        ({"graph": np.full((4, 4), 2)}, r"got the values \[2\]"),
        ({"mechanisms": {0: "square"}}, "mechanisms='square'"),
        ({"categories": {0: []}}, "lists no value for column 'x0'"),
        ({"categories": {0: ["red"]}}, "gives 'red' for column 'x0'"),
        ({"categories": {0: [np.nan]}}, "gives nan for column 'x0'"),
        ({"scale": ["a"] * 4}, "scale must be"),
        ({"noise_quantiles": (0.9, 0.1)}, "noise_quantiles must be two shares"),
        ({"noise_quantiles": (0.1, 0.5, 0.9)}, "noise_quantiles must be two shares"),
        ({"noise_quantiles": ("a", 1)}, "noise_quantiles must be two shares"),
        ({"immutable": [7]}, "immutable names the column 7"),
        ({"immutable": [0], "categories": [0]}, "in immutable and in categories"),
        ({"bounds": {0: (2, 1)}}, "bounds of column 0"),
        ({"scale": [1.0, 2.0]}, "scale must be 'std' or 4 positive numbers"),
        ({"estimator": RandomForestClassifier(3), "solver": "exact"}, "solver='exact'"),
        ({"estimator": Ridge()}, "must be a classifier"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BraceExplainer(**params).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 9}, "target=9 is not one of the classes"),
        ({"target": [0, 1]}, "target must be one label, or 3"),
        ({"lam": -1.0}, "lam must be a number of at least 0"),
        ({"lam": []}, "lam must be"),
        ({"lam": "much"}, "lam must be"),
        ({"lam": [np.nan]}, "lam must be"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    X, y = load_iris(return_X_y=True)
    explainer = BraceExplainer().fit(X, y)
    with pytest.raises(ValueError, match=words):
        explainer.explain(X[:3], **options)


def test_texts_that_cannot_be_used(people: Any) -> None:
    X, y = people
    model = with_encoding(LogisticRegression())
    with pytest.raises(ValueError, match=r"causes to column 'job', which holds texts"):
        BraceExplainer(model, graph={"job": ["age"]}).fit(X, y)
    explainer = BraceExplainer(model).fit(X, y)
    with pytest.raises(ValueError, match="column 'job' holds 'pilot'"):
        explainer.explain(X.assign(job="pilot"))
    with pytest.raises(ValueError, match="column 'job' is missing"):
        explainer.explain(X.assign(job=None))
    with pytest.raises(ValueError, match="column 'age' holds nan"):
        explainer.explain(X.assign(age=np.nan))
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ValueError, match="fitted on a frame with texts"),
    ):
        explainer.explain(X.to_numpy())
    many = {c: list(range(101)) for c in ("age", "loan")}
    wide = BraceExplainer(model, categories=many).fit(X, y)
    with pytest.raises(ValueError, match="10201 combinations"):
        wide.explain(X[:1])


# -- around --------------------------------------------------------------------------


def test_steps_in_front_are_undone(people: Any) -> None:
    """With encoding and scaling in front, the answer still is in the user's cells."""
    X, y = people
    model = with_encoding(BraceExplainer(LogisticRegression())).fit(X, y)
    rows = X[model.predict(X) == "bad"][:6]
    answer = skinterp.explain(model, rows, target="good")
    assert answer.feature_names == tuple(X.columns)
    answer.check_faithful(model, rows)
    assert answer.valid.all()
    assert_array_equal(answer.rows[:, 0], rows["job"])
    same = ~answer.changed
    assert (answer.counterfactuals[same] == rows.to_numpy(object)[same]).all()


def test_jobs_and_bar_change_nothing(cancer: Any, capsys: Any) -> None:
    X, y = cancer
    model = RandomForestClassifier(5, random_state=0)
    explainer = BraceExplainer(model, n_starts=1).fit(X, y)
    rows = X[:260]  # more than one chunk
    one = explainer.explain(rows)
    two = explainer.set_params(n_jobs=2, verbose=True).explain(rows)
    assert_array_equal(one.counterfactuals, two.counterfactuals)
    assert "counterfactuals" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), 3.6),
        (RandomForestClassifier(30, random_state=0), 2.8),
    ],
    ids=["logistic", "forest"],
)
def test_breast_cancer(model: Any, most: float, cancer: Any) -> None:
    """All rows get an answer, at the distance that it may take at most."""
    X, y = cancer
    explainer = BraceExplainer(model).fit(X, y)
    rows = X[::8]
    answer = explainer.explain(rows)
    assert answer.valid.all()
    answer.check_faithful(explainer, rows)
    assert np.median(answer.distance_x) < most
    summary = answer.summary()
    assert summary["valid"].eq(1.0).all()
    assert list(summary["feature"]) == list(X.columns)
