"""Answers that are known: by hand, by theorems, from the paper."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from skinterp.counterfactual import BraceExplainer
from skinterp.explanation import Counterfactuals

Toy = Callable[..., BraceExplainer]
SEEDS = range(100)
LAMS = (0.0, 0.5, 2.0, np.inf)


def linear_classifier(coef: Any, intercept: float) -> FrozenEstimator:
    """A classifier with a given score, for the classes "no" and "yes"."""
    model = LogisticRegression()
    model.coef_ = np.atleast_2d(np.asarray(coef, dtype=float))
    model.intercept_ = np.array([intercept], dtype=float)
    model.classes_ = np.array(["no", "yes"])
    model.n_features_in_ = model.coef_.shape[1]
    return FrozenEstimator(model)


def linear_mechanism(coef: Any, intercept: float = 0.0) -> FrozenEstimator:
    """A regressor with a given formula."""
    model = LinearRegression()
    model.coef_ = np.asarray(coef, dtype=float)
    model.intercept_ = float(intercept)
    model.n_features_in_ = len(model.coef_)
    return FrozenEstimator(model)


def known_explainer(
    weights: Any, coef: Any, intercept: float, scale: Any = None, **params: Any
) -> BraceExplainer:
    """An explainer of which everything is given: effects [j, i] of j on i, score."""
    weights = np.asarray(weights, dtype=float)
    d = len(weights)
    mechanisms = {
        i: linear_mechanism(weights[weights[:, i] != 0, i])
        for i in range(d)
        if weights[:, i].any()
    }
    explainer = BraceExplainer(
        linear_classifier(coef, intercept),
        graph=(weights != 0).astype(int),
        mechanisms=mechanisms or "linear",
        scale=np.ones(d) if scale is None else scale,
        **{"margin": 1e-12, **params},
    )
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, d))
    X = np.linalg.solve(np.eye(d) - weights.T, noise.T).T
    y = np.where(np.arange(60) % 2, "yes", "no")
    return explainer.fit(X, y)


def random_model(seed: int, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Effects of a random graph, edges with probability 0.6, and a score."""
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.uniform(size=(d, d)) < 0.6, 1)
    order = rng.permutation(d)
    weights = np.where(edges, rng.normal(size=(d, d)), 0.0)[np.ix_(order, order)]
    return weights, rng.normal(size=d)


@pytest.fixture
def toy() -> Callable[..., BraceExplainer]:
    """x1 = u1, x2 = 2 x1 + u2; accepted where the score is positive."""

    def make(
        coef: Any = (1.0, 2.0), intercept: float = -7.0, **params: Any
    ) -> BraceExplainer:
        return known_explainer([[0.0, 2.0], [0.0, 0.0]], coef, intercept, **params)

    return make


@pytest.mark.parametrize(
    ("lam", "row", "objective"),
    [
        (0.0, (1.0, 3.0), 2.0),
        (0.5, (1.5793, 2.7103), 2.689655),
        (1.0, (1.6375, 2.6812), 3.074690),
        (2.0, (1.6639, 2.6680), 3.823973),
        (5.0, (1.6794, 2.6603), 6.056172),
        (np.inf, (1.68966, 2.65517), 0.742781),
    ],
)
def test_toy(toy: Toy, lam: float, row: tuple[float, float], objective: float) -> None:
    answer = toy().explain([[1.0, 1.0]], lam=lam)
    assert_allclose(answer.counterfactuals[0], row, atol=1e-4)
    assert_allclose(answer.objective, objective, atol=1e-5)
    assert answer.certified.all()
    assert answer.gap[0] < 1e-9


def test_without_a_margin_rounding_is_outdone(toy: Toy) -> None:
    """The answer is valid, and is not called certified at the price of a longer way."""
    rows = np.random.default_rng(0).normal(size=(20, 2))
    explainer = toy(margin=0.0)
    answer, above = explainer.explain(rows), toy(margin=1e-6).explain(rows)
    answer.check_faithful(explainer, rows)
    assert answer.certified.all()
    assert (answer.objective < above.objective).all()


class Rounded(LogisticRegression):
    """A model that sees its score too coarsely to know the margin asked for."""

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 1e-3).astype(int)]


def test_a_margin_that_is_not_enough_is_no_proof() -> None:
    """Pushed further inside, an answer is compared with the margin asked for."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = linear_classifier([1.0, 2.0], 0.0).estimator
    coarse = Rounded()
    coarse.__dict__.update(model.__dict__)
    X = X[np.abs(model.decision_function(X)) > 0.01]
    explainer = BraceExplainer(FrozenEstimator(coarse), solver="exact")
    explainer.fit(X, model.predict(X))
    rows = X[model.predict(X) == "no"]
    answer = explainer.explain(rows)
    assert (answer.status == "found").all()
    assert not answer.certified.any()
    assert (answer.gap < 0.02).all()


def test_toy_in_closed_form(toy: Toy) -> None:
    """The weight 0.5 gives fractions; the limit gives need over the norm."""
    answer = toy().explain([[1.0, 1.0]], lam=[0.5, np.inf])
    assert_allclose(answer.counterfactuals[0, 0, 0] - 1.0, 16.8 / 29.0, atol=1e-8)
    assert_allclose(answer.distance_u[0], 0.8, atol=1e-8)
    assert_allclose(answer.distance_x[0], 2.289655, atol=1e-5)
    assert_allclose(answer.distance_u[1], 4.0 / np.sqrt(29.0), atol=1e-8)
    assert_allclose(answer.counterfactual_noise[1, 0], [1.68966, -0.72414], atol=1e-5)


def test_distances_along_the_path(toy: Toy) -> None:
    answer = toy().explain([[1.0, 1.0]], lam=[0, 0.5, 1, 2, 5])
    first, second = answer.distance_x[:, 0], answer.distance_u[:, 0]
    assert_allclose(first, [2.0, 2.2897, 2.3188, 2.3320, 2.3397], atol=1e-4)
    assert_allclose(second, [2.0, 0.8, 0.7559, 0.7460, 0.7433], atol=1e-4)


@pytest.mark.parametrize("lam", [0.1, 1.0, 7.0, np.inf])
def test_where_the_columns_tie(toy: Toy, lam: float) -> None:
    """All points with no step back are as near in the columns."""
    answer = toy((1.0, 1.0), -5.0).explain([[1.0, 1.0]], lam=lam)
    assert_allclose(answer.counterfactuals[0], [1.9, 3.1], atol=1e-7)
    assert_allclose(answer.distance_u, 0.948683, atol=1e-6)
    nearest = toy((1.0, 1.0), -5.0).explain([[1.0, 1.0]], lam=0)
    assert_allclose(nearest.distance_x, 3.0, atol=1e-9)


def test_interventions(toy: Toy) -> None:
    explainer, row = toy(), [[1.0, 1.0]]
    for values, after, noise in (
        ({0: 2.0}, [2.0, 3.0], [2.0, -1.0]),
        ({1: 4.0}, [1.0, 4.0], [1.0, 2.0]),
    ):
        moved = explainer.intervene(row, values)
        assert_allclose(moved[0], after, atol=1e-12)
        assert_allclose(explainer.abduct(moved)[0], noise, atol=1e-12)
        assert_allclose(explainer.generate(explainer.abduct(moved)), moved, atol=1e-12)


def test_round_trip_of_noise() -> None:
    for seed in range(20):
        weights, _ = random_model(seed, d=10)
        explainer = known_explainer(weights, np.ones(10), 0.0)
        X = np.random.default_rng(seed).normal(size=(200, 10))
        assert_allclose(explainer.generate(explainer.abduct(X)), X, atol=1e-10)


@pytest.mark.parametrize("lam", [0.0, 1.0, np.inf])
def test_without_a_graph_both_norms_agree(lam: float) -> None:
    """Then the step is along the score's gradient, whatever the weight."""
    coef = np.array([1.0, -2.0, 0.5])
    explainer = known_explainer(np.zeros((3, 3)), coef, -6.0, distance="l2")
    answer = explainer.explain(np.zeros((1, 3)), lam=lam)
    expected = 6.0 * coef / (coef @ coef)
    assert_allclose(answer.counterfactuals[0], expected, atol=1e-6)
    assert answer.certified.all()


# -- German credit: coefficients and answers as published and recomputed --------------

UNIT = np.array([1.0, 11.36977942, 2821.3251545, 12.05278354])
PEOPLE = np.array([[1.0, 24.0, 4308.0, 48.0], [0.0, 27.0, 14027.0, 60.0]])


@pytest.fixture(scope="module")
def german() -> BraceExplainer:
    """Sex and age drive the amount, the amount the months; the first is held."""
    weights = np.zeros((4, 4))
    weights[0, 2], weights[1, 2], weights[2, 3] = -0.19581, 0.01807, 0.62498
    weights *= UNIT[None, :] / UNIT[:, None]
    coef = np.array([-0.40399, 0.17858, -0.0915, -0.41334]) / UNIT
    return known_explainer(weights, coef, 1.28772, scale=UNIT, immutable=[0])


def test_german_credit(german: BraceExplainer) -> None:
    expected = np.array(
        [
            [[24, 4308, 32.687], [27, 14027, 36.649]],
            [[24, 4083.81, 32.899], [27, 13685.13, 36.973]],
            [[24, 3731.06, 33.233], [27, 13147.24, 37.481]],
            [[27.185, 2717.1, 35.650], [31.857, 11601.1, 41.168]],
        ]
    )
    answer = german.explain(PEOPLE, lam=[0, 1, 1.2, np.inf])
    off = np.abs(answer.counterfactuals[..., 1:] - expected).max(axis=(0, 1))
    assert (off < [0.01, 0.5, 0.01]).all()
    assert (answer.counterfactuals[..., 0] == PEOPLE[:, 0]).all()
    # age stays exactly where it is, unless only the noise counts
    assert (answer.steps[:3, :, 1] == 0).all()
    objectives = [1.270495, 2.538228, 2.769290, 0.924148]
    assert_allclose(answer.objective[:, 0], objectives, atol=5e-5)
    assert answer.certified.all()


def test_german_credit_of_the_paper(german: BraceExplainer) -> None:
    """The regularisation behind the printed table is not known."""
    paper = np.array(
        [
            [[24, 4087, 33.0], [27, 13686, 36.9]],
            [[24, 3736, 33.3], [27, 13149, 37.4]],
            [[24, 4308, 32.8], [27, 14027, 36.6]],
            [[27.2, 2727, 35.7], [31.9, 11599, 41.1]],
        ]
    )
    answer = german.explain(PEOPLE, lam=[1, 1.2, 0, np.inf])
    off = np.abs(answer.counterfactuals[..., 1:] - paper).max(axis=(0, 1))
    assert (off <= [0.1, 15.0, 0.2]).all()


# -- theorems, on random causal models -------------------------------------------------


def test_interventions_are_backtracking() -> None:
    """What an intervention makes is what some noise makes (theorem 5.1)."""
    for seed in SEEDS:
        weights, coef = random_model(seed)
        explainer = known_explainer(weights, coef, 0.0)
        row = np.random.default_rng(seed).normal(size=(1, 4))
        moved = explainer.intervene(row, {seed % 4: 2.5, (seed + 1) % 4: -1.0})
        assert_allclose(explainer.generate(explainer.abduct(moved)), moved, atol=1e-10)


def recourse(weights: np.ndarray, coef: np.ndarray, need: float) -> tuple[float, float]:
    """Distances of the cheapest intervention, over all sets of columns."""
    d = len(coef)
    best, distances = np.inf, (np.inf, np.inf)
    for chosen in itertools.product([False, True], repeat=d):
        cut = weights.copy()
        cut[:, list(chosen)] = 0.0
        reach = np.linalg.inv(np.eye(d) - cut.T)
        for i in np.flatnonzero(chosen):
            slope = coef @ reach[:, i]
            if abs(slope) > 1e-9 and abs(need / slope) < best:
                best = abs(need / slope)
                step = reach[:, i] * need / slope
                noise = step - weights.T @ step
                distances = np.abs(step).sum(), np.linalg.norm(noise)
    return distances


@pytest.fixture(scope="module")
def paths() -> list[tuple[np.ndarray, np.ndarray, Counterfactuals]]:
    """Effects, score and answers of 100 random models, for a path of weights."""
    models = [random_model(seed) for seed in SEEDS]
    row = np.zeros((1, 4))
    return [
        (w, c, known_explainer(w, c, -2.0).explain(row, lam=LAMS)) for w, c in models
    ]


def test_random_models_are_certified(paths: list) -> None:
    assert all(answer.certified.all() and answer.valid.all() for *_, answer in paths)


def test_never_behind_causal_recourse(paths: list) -> None:
    """Of no weight is the sum of both distances larger (theorem 6.1)."""
    ahead = 0
    for weights, coef, answer in paths:
        first, second = recourse(weights, coef, 2.0)
        for k, lam in enumerate(LAMS):
            theirs = second if np.isinf(lam) else first + lam * second
            assert answer.objective[k, 0] <= theirs + 1e-6
        ahead += answer.objective[2, 0] < first + 2.0 * second - 1e-3
    assert ahead > 50


def test_limits_in_closed_form(paths: list) -> None:
    """Weight 0 moves the cheapest column; weight infinity is a projection."""
    for weights, coef, answer in paths:
        assert_allclose(answer.distance_x[0], 2.0 / np.abs(coef).max(), rtol=1e-9)
        assert (answer.steps[0] != 0).sum() == 1
        reach = np.linalg.inv(np.eye(4) - weights.T)
        slope = reach.T @ coef
        noise = 2.0 * slope / (slope @ slope)
        assert_allclose(answer.counterfactual_noise[-1, 0], noise, atol=1e-8)


@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_extreme_weights_are_near_the_limits(distance: str) -> None:
    """And are certified as well."""
    lams = [0.0, 1e-10, 1e6, 1e10, 1e300, np.inf]
    for seed in range(4):
        explainer = known_explainer(*random_model(seed), -2.0, distance=distance)
        answer = explainer.explain(np.zeros((1, 4)), lam=lams)
        assert_allclose(answer.distance_x[1], answer.distance_x[0], rtol=1e-6)
        for k in (2, 3, 4):
            assert_allclose(answer.distance_u[k], answer.distance_u[-1], rtol=1e-5)
        assert answer.certified.all()


def test_path_is_monotone(paths: list) -> None:
    for _, coef, answer in paths:
        assert (np.diff(answer.distance_x[:, 0]) >= -1e-6).all()
        assert (np.diff(answer.distance_u[:, 0]) <= 1e-6).all()
        # on the boundary, not well inside of the class
        scores = answer.counterfactuals[:, 0] @ coef - 2.0
        assert (np.abs(scores) < 1e-4).all()


def test_units_do_not_matter() -> None:
    """Other units of a column give the same answer in these units."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    X[:, 1] += X[:, 0]
    y = (X @ [1.0, 0.5, -1.0] + rng.logistic(size=300) > 0).astype(int)
    factor = np.array([1.0, 100.0, 1.0])
    answers = []
    for unit in (np.ones(3), factor):
        model = LinearRegressionClassifier()
        explainer = BraceExplainer(model, graph={1: [0]}).fit(X * unit, y)
        answers.append(explainer.explain(X[:20] * unit).counterfactuals / unit)
    assert_allclose(answers[0], answers[1], atol=1e-5)


class LinearRegressionClassifier(LinearRegression):
    """Least squares as a classifier, which no unit changes; a stranger with coef_."""

    def fit(self, X, y):
        super().fit(X, 2.0 * y - 1.0)
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return super().predict(X)

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


def test_noise_is_what_a_regression_with_intercept_leaves() -> None:
    rng = np.random.default_rng(3)
    cause = 5 + rng.normal(size=(80, 1))
    effect = 40 - 2 * cause + rng.normal(size=(80, 1))
    X, y = np.hstack([cause, effect]), (cause[:, 0] > 5).astype(int)
    explainer = BraceExplainer(graph=[[0, 1], [0, 0]]).fit(X, y)
    line = LinearRegression().fit(cause, effect[:, 0])
    expected = np.column_stack([X[:, 0], X[:, 1] - line.predict(cause)])
    assert_allclose(explainer.abduct(X), expected, atol=1e-9)
