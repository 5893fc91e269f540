"""InstaSHAP: right answers, the exact game, masks, groups, teachers, refusals."""

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import skinterp
from skinterp.additive import InstaSHAPClassifier, InstaSHAPRegressor
from skinterp.additive._insta_shap_masks import (
    ExpectedLoss,
    draw_masks,
    inclusion,
    size_law,
)
from skinterp.additive._insta_shap_players import (
    make_players,
    make_terms,
    shapley_shares,
    taylor_shares,
)
from skinterp.compat import FrozenEstimator
from skinterp.explanation import Explanation

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

# that learn easy functions in a second
QUICK = {
    "device": "cpu",
    "hidden_layer_sizes": (16, 8),
    "max_epochs": 15,
    "batch_size": 64,
    "lr": 0.01,
    "random_state": 0,
}
TINY = {"device": "cpu", "hidden_layer_sizes": (6, 4), "max_epochs": 2}


def gaussian_pair(n, rho, seed=0):
    z = np.random.default_rng(seed).normal(size=(n, 2))
    z[:, 1] = rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]
    return z


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def tiny(n_features=4, *, seed=0, kind=InstaSHAPRegressor, classes=0, **options):
    """A model that has hardly learnt, for what holds whatever was learnt."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, n_features))
    y = rng.integers(classes, size=60) if classes else X.sum(axis=1) + X[:, 0] ** 2
    model = kind(**{**TINY, "interactions": "all", "random_state": seed, **options})
    return model.fit(X, y), X


def brute_force(model, X):
    """Shapley values of predict_masked, by their definition."""
    n = len(model.players_)
    values = {}
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            mask = np.isin(np.arange(n), chosen)
            values[chosen] = model.predict_masked(X, mask)
    phi = []
    for i in range(n):
        total = 0.0
        for chosen, value in values.items():
            if i not in chosen:
                s = len(chosen)
                weight = factorial(s) * factorial(n - s - 1) / factorial(n)
                more = values[tuple(sorted((*chosen, i)))]
                total = total + weight * (more - value)
        phi.append(total)
    return np.stack(phi, axis=1)


# -- masks ------------------------------------------------------------------------
def test_law_of_uniform_sizes():
    law = size_law("uniform_size", 4, 1.0)
    per_set = law / [comb(4, s) for s in range(5)]
    assert per_set == pytest.approx([1 / 5, 1 / 20, 1 / 30, 1 / 20, 1 / 5])


@pytest.mark.parametrize("end", [1.0, 3.0])
def test_law_of_the_shapley_kernel(end):
    law = size_law("shapley", 4, end)
    per_set = law / [comb(4, s) for s in range(5)] * (2.75 + 2 * end)
    assert per_set == pytest.approx([end, 1 / 4, 1 / 8, 1 / 4, end])


def test_few_players_have_laws():
    assert size_law("shapley", 1, 1.0) == pytest.approx([0.5, 0.5])
    assert size_law("uniform_size", 1, 1.0) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("name", ["uniform_size", "shapley"])
def test_drawn_masks_follow_the_law(name):
    law = size_law(name, 5, 1.0)
    masks = draw_masks(law, 40_000, generator()).numpy()
    counts = np.bincount(masks.sum(axis=1), minlength=6)
    assert counts / len(masks) == pytest.approx(law, abs=2e-3)
    chance = inclusion(law, 2)
    assert masks.mean(axis=0) == pytest.approx(chance[1], abs=0.012)
    for i, j in combinations(range(5), 2):
        both = (masks[:, i] & masks[:, j]).mean()
        assert both == pytest.approx(chance[2], abs=0.012)


def test_chance_that_players_are_present():
    # the integral of q^u
    law = size_law("uniform_size", 6, 1.0)
    assert inclusion(law, 6) == pytest.approx(1 / np.arange(1, 8))
    many = inclusion(size_law("uniform_size", 3000, 1.0), 4)
    assert many == pytest.approx(1 / np.arange(1, 6))


@pytest.mark.parametrize("name", ["uniform_size", "shapley"])
@pytest.mark.parametrize("full", [0.0, 0.3])
def test_expected_loss_is_the_mean_over_all_masks(name, full):
    n = 4
    terms = [t for k in (1, 2, 3) for t in combinations(range(n), k)]
    law = size_law(name, n, 1.0)
    parts = torch.randn(len(terms), 2, 5, generator=generator(), dtype=torch.double)
    rest = torch.randn(2, 5, generator=generator(1), dtype=torch.double)
    got = ExpectedLoss(terms, law, rest)(rest, parts, full)
    expected = full * (rest - parts.sum(dim=0)).square().mean(dim=0)
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            on = torch.tensor([float(set(t) <= set(chosen)) for t in terms])
            error = (rest - torch.tensordot(on.double(), parts, dims=1)).square()
            chance = (1 - full) * law[size] / comb(n, size)
            expected = expected + chance * error.mean(dim=0)
    assert torch.allclose(got, expected)


# -- closed forms: least squares on masked columns, with the drawn masks -----------
def masked_fit(columns, y, masks):
    """Coefficients of columns that are on where all their players are present."""
    table = np.stack([v * masks[:, list(t)].all(axis=1) for t, v in columns], axis=1)
    return np.linalg.lstsq(table, y, rcond=None)[0]


def pair_and_masks(seed=0):
    X = gaussian_pair(400_000, 0.5, seed)
    masks = draw_masks(size_law("uniform_size", 2, 1.0), len(X), generator(seed))
    return X, masks.numpy()


def test_correlated_pair_has_three_pure_terms():
    X, masks = pair_and_masks()
    a, b = X.T
    found = masked_fit([((0,), a), ((1,), b), ((0, 1), b)], a, masks)
    assert found == pytest.approx([1, 0.5, -0.5], abs=0.015)


def test_product_of_a_correlated_pair():
    X, masks = pair_and_masks(1)
    a, b = X.T
    one = np.ones(len(X))
    columns = [
        ((), one),
        ((0,), a**2),
        ((0,), one),
        ((1,), b**2),
        ((1,), one),
        ((0, 1), a * b),
        ((0, 1), a**2),
        ((0, 1), b**2),
        ((0, 1), one),
    ]
    expected = [0.5, 0.5, -0.5, 0.5, -0.5, 1, -0.5, -0.5, 0.5]
    assert masked_fit(columns, a * b, masks) == pytest.approx(expected, abs=0.02)


def test_curves_alone_share_what_a_pair_would_hold():
    X, masks = pair_and_masks(2)
    a, b = X.T
    found = masked_fit([((0,), a), ((1,), b)], a, masks)
    assert found == pytest.approx([0.9375, 0.1875], abs=0.01)


# -- right answers of trained models ------------------------------------------------
def test_independent_features():
    X = np.random.default_rng(0).normal(size=(2500, 2))
    y = 2 * X[:, 0] - X[:, 1] + 3 * X[:, 0] * X[:, 1]
    model = InstaSHAPRegressor(max_epochs=50, device="cpu", random_state=0)
    model.fit(X[:2000], y[:2000])
    rows = X[2000:]
    a, b = rows.T
    truth = np.stack([2 * a + 1.5 * a * b, -b + 1.5 * a * b], axis=1)
    error = ((model.shapley_values(rows) - truth) ** 2).mean()
    assert error < 0.02 * truth.var()
    assert model.terms_ == [(0,), (1,), (0, 1)]
    pure = np.stack([2 * a, -b, 3 * a * b], axis=1)
    assert ((model.components(rows) - pure) ** 2).mean() < 0.06 * pure.var()
    assert model.intercept_ == pytest.approx(y.mean(), abs=0.3)


def test_correlated_features_share_what_only_one_carries():
    X = gaussian_pair(3000, 0.5)
    model = InstaSHAPRegressor(max_epochs=40, device="cpu", random_state=0)
    model.fit(X[:2000], X[:2000, 0])
    rows = X[2000:]
    truth = np.stack([rows[:, 0] - rows[:, 1] / 4, rows[:, 1] / 4], axis=1)
    phi = model.shapley_values(rows)
    assert ((phi - truth) ** 2).mean() < 0.01
    # a plain additive model would give the second feature nothing
    slope = np.polyfit(rows[:, 1], phi[:, 1], 1)[0]
    assert slope == pytest.approx(0.25, abs=0.05)
    assert model.masked_r2_[2] > 0.97
    assert model.masked_r2_[1] == pytest.approx((1 + 0.25) / 2, abs=0.08)
    assert model.masked_r2_[0] == pytest.approx(0, abs=0.02)


def test_unused_independent_column_gets_little():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 4))
    y = 2 * X[:, 0] - X[:, 1] + 3 * X[:, 0] * X[:, 1] + X[:, 2]
    y += 0.1 * rng.normal(size=len(y))
    model = InstaSHAPRegressor(max_epochs=25, device="cpu", random_state=0).fit(X, y)
    used, unused = model.feature_importances_[:3], model.feature_importances_[3]
    assert unused < 0.03 * y.std()
    assert used.min() > 5 * unused


# -- exact whatever was learnt ------------------------------------------------------
@pytest.mark.parametrize("order", [1, 2, 3])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 5))
def test_values_are_those_of_the_game(order, seed, n):
    order = min(order, n)
    model, X = tiny(n, seed=seed, order=order)
    rows = X[:5]
    phi = model.shapley_values(rows)
    assert np.abs(phi - brute_force(model, rows)).max() < 1e-5
    total = model.intercept_ + phi.sum(axis=1)
    assert total == pytest.approx(model.predict(rows))
    full = np.ones(n, dtype=bool)
    assert model.predict_masked(rows, full) == pytest.approx(model.predict(rows))
    none = model.predict_masked(rows, ~full)
    assert np.all(none == model.intercept_)


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
@pytest.mark.parametrize("classes", [2, 3])
def test_values_of_classes_are_those_of_the_game(classes, loss):
    model, X = tiny(3, kind=InstaSHAPClassifier, classes=classes, loss=loss)
    phi = model.shapley_values(X)
    assert np.abs(phi - brute_force(model, X)).max() < 1e-5
    outputs = model.decision_function(X)
    half = 0.5 if loss == "brier" and classes == 2 else 0.0
    assert model.intercept_ + phi.sum(axis=1) - half == pytest.approx(outputs)
    local = model.explain(X)
    local.check_faithful(model, X)
    assert local.total() == pytest.approx(outputs)
    proba = model.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(1)
    with np.errstate(divide="ignore"):
        assert np.log(proba) == pytest.approx(model.predict_log_proba(X))


@pytest.mark.parametrize("losses", [("brier", "log_loss"), ("log_loss", "brier")])
def test_another_loss_leaves_a_fitted_classifier_alone(losses):
    model, X = tiny(2, kind=InstaSHAPClassifier, classes=2, loss=losses[0])
    before = model.predict_proba(X), model.decision_function(X), model.explain(X)
    model.set_params(loss=losses[1])
    assert np.array_equal(model.predict_proba(X), before[0])
    assert np.array_equal(model.decision_function(X), before[1])
    assert np.array_equal(model.explain(X).base_values, before[2].base_values)


def test_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.stack([X[:, 0], 100 * X[:, 1]], axis=1)
    model = InstaSHAPRegressor(**TINY, random_state=0).fit(X, y)
    phi = model.shapley_values(X)
    assert phi.shape == (80, 3, 2)
    assert model.intercept_ + phi.sum(axis=1) == pytest.approx(model.predict(X))
    assert np.abs(phi - brute_force(model, X)).max() < 1e-4


def test_columns_of_a_group_may_change_places():
    model, X = tiny(4, feature_groups=[[0, 2]])
    assert model.players_ == ("x0 + x2", "x1", "x3")
    phi = model.shapley_values(X)
    assert phi.shape == (60, 3)
    assert np.abs(phi - brute_force(model, X)).max() < 1e-5
    moved = clone(model)
    moved.__dict__.update(model.__dict__)
    moved.weights_ = dict(model.weights_)
    first = model.weights_["weights.0"].copy()
    for t, columns in enumerate(model._term_columns()):
        if 0 in columns:
            at, other = columns.index(0), columns.index(2)
            first[t][:, [at, other]] = first[t][:, [other, at]]
    moved.weights_["weights.0"] = first
    moved._mean_, moved._scale_ = (
        model._mean_[[2, 1, 0, 3]],
        model._scale_[[2, 1, 0, 3]],
    )
    assert np.abs(moved.shapley_values(X[:, [2, 1, 0, 3]]) - phi).max() < 1e-6


def test_batched_networks_are_one_network_per_term():
    model, X = tiny(3, order=2)
    module = model.module_
    z = torch.as_tensor(model._transform_inputs(X)[0])
    together = module.parts(z)
    for t, columns in enumerate(model._term_columns()):
        h = z[:, list(columns)]
        for i, (w, b) in enumerate(zip(module.weights, module.biases, strict=True)):
            h = h @ w[t, :, : h.shape[1]].T + b[t, :, 0]
            h = h.relu() if i + 1 < len(module.weights) else h
        assert torch.allclose(together[t], h.T)


# -- interactions -----------------------------------------------------------------
def test_taylor_index_by_its_definition():
    """The index of a pair is its mean gain over orders in which players come."""
    n = 3
    model, X = tiny(n, order=3)
    values, sets = model.interaction_values(X[:4], 2)
    assert values.sum(axis=1) == pytest.approx(model.predict(X[:4]) - model.intercept_)

    def game(players):
        return model.predict_masked(X[:4], np.isin(np.arange(n), players))

    for i, j in combinations(range(n), 2):
        gains = []
        for order in permutations(range(n)):
            before = []
            for player in order:
                if player in (i, j):
                    break
                before.append(player)
            gain = game([*before, i, j]) - game([*before, i]) - game([*before, j])
            gains.append(gain + game(before))
        assert values[:, sets.index((i, j))] == pytest.approx(np.mean(gains, axis=0))
    # a player alone: what it adds to nothing
    alone = game([1]) - game([])
    assert values[:, sets.index((1,))] == pytest.approx(alone)


def test_interaction_values_of_low_and_high_order():
    model, X = tiny(4, order=2)
    one, sets = model.interaction_values(X, 1)
    assert sets == [(0,), (1,), (2,), (3,)]
    assert one == pytest.approx(model.shapley_values(X))
    two, sets = model.interaction_values(X, 5)
    assert sets == model.terms_
    assert two == pytest.approx(model.components(X))
    with pytest.raises(ValueError, match="order=0"):
        model.interaction_values(X, 0)


@given(n=st.integers(1, 5), order=st.integers(1, 3))
def test_shares_of_terms_sum_to_one(n, order):
    terms = [t for k in range(1, n + 1) for t in combinations(range(n), k)]
    assert shapley_shares(terms, n).sum(axis=1) == pytest.approx(1)
    assert taylor_shares(terms, order)[1].sum(axis=1) == pytest.approx(1)


def test_interactions_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = X[:, 0] + X[:, 1] * X[:, 4] + np.abs(X[:, 2]) * X[:, 3]
    options = {**TINY, "max_epochs": 16, "max_interactions": 2, "random_state": 0}
    model = InstaSHAPRegressor(**options).fit(X, y)
    assert model.terms_ == [*((i,) for i in range(6)), (1, 4), (2, 3)]


def test_no_interactions_of_two_columns_either():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for most, terms in ((0, [(0,), (1,)]), (1, [(0,), (1,), (0, 1)])):
        model = InstaSHAPRegressor(**TINY, max_interactions=most)
        assert model.fit(X, X[:, 0]).terms_ == terms


def test_triples_are_tried_where_their_pairs_are_in():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1] * X[:, 2]
    options = {**TINY, "random_state": 0, "order": 3}
    model = InstaSHAPRegressor(**options, max_interactions=6).fit(X, y)
    assert len(model.terms_) == 4 + 6 + 4
    model = InstaSHAPRegressor(**options, max_interactions=0).fit(X, y)
    assert model.terms_ == [(0,), (1,), (2,), (3,)]


# -- missing cells ------------------------------------------------------------------
def test_missing_cells_are_absent_players():
    model, X = tiny(3)
    mask = np.random.default_rng(0).random(X.shape) < 0.5
    holes = np.where(mask, X, np.nan)
    assert model.predict(holes) == pytest.approx(model.predict_masked(X, mask))
    phi = model.shapley_values(holes)
    assert np.all(phi[~mask] == 0)
    nothing = np.full((2, 3), np.nan)
    assert np.all(model.predict(nothing) == model.intercept_)


def test_a_model_learns_from_rows_with_missing_cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = X[:, 0] + X[:, 1]
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = InstaSHAPRegressor(max_epochs=30, device="cpu", random_state=0)
    model.fit(holes, y)
    assert np.abs(model.shapley_values(X) - X).mean() < 0.15


def test_a_column_without_cells_is_always_absent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 1] = np.nan
    model = InstaSHAPRegressor(**TINY, random_state=0).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()
    assert model.feature_importances_[1] == 0
    model.explain().check_faithful(model, X)


def test_constant_columns_make_no_terms():
    model = InstaSHAPRegressor(**TINY).fit(np.ones((20, 2)), np.arange(20.0))
    assert model.terms_ == []
    assert model.predict([[1.0, 1.0]]) == pytest.approx(model.intercept_)
    assert model.shapley_values([[1.0, 1.0]]).tolist() == [[0.0, 0.0]]
    assert len(model.explain()) == 0


def test_game_refuses_other_masks():
    model, X = tiny(3)
    with pytest.raises(ValueError, match=r"mask must be boolean of shape \(3,\)"):
        model.predict_masked(X, np.ones(2, dtype=bool))
    with pytest.raises(ValueError, match="float64"):
        model.predict_masked(X, np.ones(3))


# -- teachers -----------------------------------------------------------------------
def test_teacher_takes_the_place_of_y():
    X = gaussian_pair(1000, 0.5)
    linear = LinearRegression().fit(X, X[:, 0])
    model = InstaSHAPRegressor(teacher=FrozenEstimator(linear), **QUICK)
    assert clone(model).fit(X, None).score(X, X[:, 0]) > 0.97
    phi = clone(model).fit(X, -5 * X[:, 1]).shapley_values(X)
    assert np.abs(phi[:, 1] - X[:, 1] / 4).mean() < 0.1


def test_marginal_background_credits_used_features_only():
    X = gaussian_pair(2000, 0.8)
    linear = LinearRegression().fit(X, X[:, 0])
    options = {"max_epochs": 6, "device": "cpu", "random_state": 0}
    model = InstaSHAPRegressor(teacher=linear, background="marginal", **options)
    phi = model.fit(X, None).shapley_values(X)
    assert np.abs(phi[:, 0] - X[:, 0]).mean() < 0.12
    assert np.abs(phi[:, 1]).mean() < 0.08  # conditionally it would be 0.3
    assert model.players_ == ("x0", "x1")


def test_marginal_background_keeps_groups_and_weights():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
    teacher = LinearRegression().fit(frame, frame["a"])
    model = InstaSHAPRegressor(
        **TINY,
        teacher=teacher,
        background="marginal",
        feature_groups={"ab": ["a", "b"]},
        masks_per_row=2,
        random_state=0,
    )
    model.fit(frame, None, sample_weight=np.arange(50.0))
    assert model.players_ == ("ab", "c")
    assert np.isfinite(model.predict(frame)).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("background", ["conditional", "marginal"])
def test_classifier_learns_probabilities(classes, background):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0, 0.6][: classes - 1])]
    teacher = LogisticRegression().fit(X, y)
    model = InstaSHAPClassifier(
        teacher=teacher,
        background=background,
        max_epochs=30 if background == "conditional" else 4,
        device="cpu",
        random_state=0,
    ).fit(X, None)
    assert list(model.classes_) == list(teacher.classes_)
    gap = np.abs(model.predict_proba(X) - teacher.predict_proba(X))
    assert gap.mean() < 0.08


def test_scores_of_a_marginal_background_are_of_rows_that_are_masked_already():
    """Half of the variance is told where one of two equal columns is present."""
    X = np.random.default_rng(0).normal(size=(1000, 2))
    teacher = LinearRegression().fit(X, X.sum(axis=1))
    options = {"background": "marginal", "max_epochs": 5, "random_state": 0}
    model = InstaSHAPRegressor(teacher=teacher, device="cpu", **options).fit(X, None)
    assert model.masked_r2_[0] == pytest.approx(0, abs=0.03)
    assert model.masked_r2_[1] == pytest.approx(0.5, abs=0.08)
    assert model.masked_r2_[2] > 0.95


@pytest.mark.parametrize("background", ["conditional", "marginal"])
def test_teachers_bring_the_classes_of_parts(background):
    X = np.random.default_rng(0).normal(size=(60, 2))
    teacher = LogisticRegression().fit(X, np.where(X[:, 0] > 0, "b", "a"))
    model = InstaSHAPClassifier(**TINY, teacher=teacher, background=background)
    for _ in range(2):
        model.partial_fit(X, None)
    assert list(model.classes_) == ["a", "b"]
    assert model.n_iter_ == 2


def test_teachers_that_cannot_be_followed():
    X = np.zeros((5, 2))
    with pytest.raises(ValueError, match="needs a teacher"):
        InstaSHAPRegressor(background="marginal").fit(X, np.arange(5))
    with pytest.raises(ValueError, match="target y is None"):
        InstaSHAPRegressor().fit(X, None)
    teacher = LinearRegression().fit(X, np.arange(5))
    with pytest.raises(ValueError, match=r"predict_proba|teacher"):
        InstaSHAPClassifier(teacher=teacher).fit(X, [0, 1, 0, 1, 0])
    with pytest.raises(Exception, match="not fitted"):
        InstaSHAPRegressor(teacher=LinearRegression()).fit(X, None)
    with pytest.raises(ValueError, match=r"inconsistent .* \[5, 3\]"):
        InstaSHAPRegressor(teacher=teacher).fit(X, [1, 2, 3])
    with pytest.raises(ValueError, match="inconsistent"):
        InstaSHAPRegressor(teacher=teacher, background="marginal").fit(
            X, None, sample_weight=[1, 2]
        )
    wrong = LogisticRegression().fit([[0, 0], [1, 1]], ["a", "b"])
    with pytest.raises(ValueError, match="LogisticRegression is a classifier"):
        InstaSHAPRegressor(teacher=wrong).fit(X, None)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"column 'x1' \(row 3\)"):
        InstaSHAPRegressor(teacher=teacher, background="marginal").fit(X, None)


# -- explanations -------------------------------------------------------------------
def test_global_explanations():
    model, X = tiny(3)
    shapes = model.explain()
    shapes.check_faithful(model, X)
    assert shapes.complete
    assert shapes.importance == pytest.approx(model.components(X).std(axis=0))
    importance = model.explain(kind="attribution")
    assert importance.values == pytest.approx(
        np.abs(model.shapley_values(X)).mean(axis=0)
    )


def test_local_shape_functions_are_the_components():
    model, X = tiny(3)
    local = model.explain(X, kind="shape-functions")
    assert local.contributions == pytest.approx(model.components(X))
    local.check_faithful(model, X)


def table(n=120):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n),
            "city": rng.choice(["Rome", "Oslo", "Bern"], n),
            "dose": rng.normal(size=n),
        }
    )


def encoded(groups=None, **options):
    frame = table()
    y = frame["age"] / 10 + (frame["city"] == "Oslo")
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city"]),
        (StandardScaler(), ["age", "dose"]),
        verbose_feature_names_out=False,
    )
    model = InstaSHAPRegressor(**TINY, feature_groups=groups, random_state=0, **options)
    pipe = make_pipeline(columns, model).fit(frame, y)
    return pipe, frame


def test_groups_that_come_from_one_column_are_that_column():
    pipe, frame = encoded({"town": [0, 1, 2]})
    local = skinterp.explain(pipe, frame)
    assert local.feature_names == ("city", "age", "dose")
    assert list(local.data[0]) == [frame.iloc[0][c] for c in local.feature_names]
    assert local.total() == pytest.approx(pipe.predict(frame))
    inner = pipe[-1].explain(pipe[:-1].transform(frame))
    assert inner.feature_names == ("town", "x3", "x4")
    assert inner.values == pytest.approx(local.values)
    assert inner.data[0, 0] is None
    total = skinterp.explain(pipe, kind="attribution")
    assert total.feature_names == ("city", "age", "dose")
    skinterp.explain(pipe).check_faithful(pipe, frame)


def test_groups_of_several_columns_keep_their_name():
    pipe, frame = encoded({"who": [0, 1, 2, 3]})
    local = skinterp.explain(pipe, frame)
    assert local.feature_names == ("who", "dose")
    assert local.members == ((0, 1), (2,))
    assert local.data[0, 0] is None
    local.check_faithful(pipe, frame)


def test_groups_named_like_another_column_are_told_apart():
    pipe, frame = encoded({"dose": [0, 1, 2, 3]})
    local = skinterp.explain(pipe, frame)
    assert local.feature_names == ("age + city", "dose")


def test_attributions_of_groups_are_cut_and_stored(tmp_path):
    model, X = tiny(4, feature_groups=[[1, 2]])
    local = model.explain(X)
    assert local.members == ((0,), (1, 2), (3,))
    local.save(tmp_path / "local.json")
    assert Explanation.load(tmp_path / "local.json") == local
    top = local.top(1)
    assert sorted(c for m in top.members for c in m) == [0, 1, 2, 3]
    assert model.explain(kind="attribution")[1:].members == ((1, 2), (3,))
    assert len(model.explain(kind="attribution").top(2).members) == 2
    with pytest.raises(ValueError, match="members has 1 entries"):
        local._with(members=((0,),))


def test_wide_groups_are_not_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    groups = {"all of them": [0, 1, 2, 3, 4]}
    model = InstaSHAPRegressor(**TINY, feature_groups=groups, random_state=0)
    model.fit(X, X[:, 0])
    shapes = model.explain()
    assert not shapes.complete
    assert shapes.terms == ((5,),)
    assert model.explain(kind="attribution").feature_names == ("all of them", "x5")


def test_plots_of_shap_take_the_values():
    shap = pytest.importorskip("shap")
    import matplotlib.pyplot as plt

    for groups in (None, [[1, 2]]):
        model, X = tiny(4, feature_groups=groups)
        values = model.explain(X).to_shap()
        assert values.values.sum(axis=1) + values.base_values == pytest.approx(
            model.predict(X)
        )
        shap.plots.waterfall(values[0], show=False)
        shap.plots.bar(values, show=False)
        if groups is None:  # a group has no cells to color by
            shap.plots.beeswarm(values, show=False)
            shap.plots.scatter(values[:, 0], show=False)
        plt.close("all")
    model, X = tiny(3, kind=InstaSHAPClassifier, classes=3)
    values = model.explain(X).to_shap()
    shap.plots.waterfall(values[0, :, 1], show=False)
    plt.close("all")


def test_frames_are_explained_without_warnings():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = InstaSHAPRegressor(**TINY, interactions=[], random_state=0).fit(X, y)
    assert model.explain(X).feature_names == tuple(X.columns)
    assert model.predict_masked(X, np.ones(10, dtype=bool)) == pytest.approx(
        model.predict(X)
    )


# -- parameters ---------------------------------------------------------------------
def test_masks_can_be_drawn_instead_of_averaged():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    y = X[:, 0] - X[:, 1]
    for law in ("uniform_size", "shapley"):
        model = InstaSHAPRegressor(masks_per_row=2, mask_distribution=law, **QUICK)
        phi = model.fit(X, y).shapley_values(X)
        assert np.abs(phi - X * [1, -1]).mean() < 0.15


def test_unmasked_rows_come_as_scheduled():
    model = InstaSHAPRegressor(max_unmasked=0.6, unmask_schedule=(0.25, 0.75))
    shares = [model._full_share(epoch, 8) for epoch in range(8)]
    assert shares == pytest.approx([0, 0, 0, 0.15, 0.3, 0.45, 0.6, 0.6])
    sudden = InstaSHAPRegressor(max_unmasked=1.0, unmask_schedule=(0.5, 0.5))
    assert [sudden._full_share(e, 4) for e in range(4)] == [0, 0, 1, 1]


def test_unmasked_training_makes_terms_impure():
    """Without masks a correlated feature gets no part of what the other carries."""
    X = gaussian_pair(2000, 0.7)
    slopes = []
    for full in (0.0, 1.0):
        model = InstaSHAPRegressor(
            interactions=[],
            max_unmasked=full,
            unmask_schedule=(0, 0),
            max_epochs=25,
            device="cpu",
            random_state=0,
        )
        phi = model.fit(X, X[:, 0]).shapley_values(X)
        slopes.append(np.polyfit(X[:, 1], phi[:, 1], 1)[0])
    assert slopes[0] > 0.15
    assert abs(slopes[1]) < 0.08


def test_penalty_shrinks_the_weights():
    sizes = [
        sum(np.abs(w).sum() for k, w in model.weights_.items() if "weights" in k)
        for model in (tiny(3, l1=l1, max_epochs=20)[0] for l1 in (0.0, 0.01))
    ]
    assert sizes[1] < 0.98 * sizes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 4}, "order=4 is more than the 3 players"),
        ({"interactions": [(0, 7)]}, r"interactions \(0, 7\) names the player 7"),
        ({"interactions": [("x0", "y")]}, "names the player 'y'"),
        ({"interactions": [(1, 1)]}, "names a player twice"),
        ({"interactions": [3]}, "no tuple of players"),
        ({"feature_groups": [[0, 1, 2]]}, "all columns in one group"),
        ({"feature_groups": [[0, 1], [1, 2]]}, "in both 0 and 1"),
        ({"feature_groups": {"g": "x0"}}, "must be a list of columns"),
        ({"feature_groups": {"g": []}}, "must be a list of columns"),
        ({"feature_groups": {"x0": [1, 2]}}, "names players alike"),
        ({"feature_groups": [[0, 9]]}, "names the column 9"),
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (4, 0)}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (True, 4)}, "hidden_layer_sizes"),
        ({"unmask_schedule": ("a", "b")}, "unmask_schedule"),
        ({"unmask_schedule": (0.7, 0.3)}, "unmask_schedule"),
        ({"unmask_schedule": (0.5,)}, "unmask_schedule"),
        ({"max_unmasked": 1.5}, "max_unmasked"),
        ({"mask_distribution": "normal"}, "mask_distribution"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=message):
        InstaSHAPRegressor(**{**TINY, **options}).fit(X, X[:, 0])


def test_too_many_terms_are_refused():
    names = [f"x{i}" for i in range(120)]
    with pytest.raises(ValueError, match="more than 5000 terms"):
        make_terms(2, "all", names)
    assert make_terms(2, "auto", names) is None
    assert make_terms(1, "auto", names) == [(i,) for i in range(120)]
    assert make_terms(1, "all", names) == [(i,) for i in range(120)]


def test_terms_by_name_of_any_size():
    listed = [("c", "a"), (0, 1, 2), ("a", "c"), ("b",)]
    assert make_terms(2, listed, "abc") == [(0,), (1,), (2,), (0, 2), (0, 1, 2)]


@given(st.data())
def test_players_partition_the_columns(data):
    n = data.draw(st.integers(2, 8))
    owner = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    groups = [[j for j in range(n) if owner[j] == g] for g in range(1, 4)]
    groups = [g for g in groups if 0 < len(g) < n]
    players, labels = make_players(groups, [f"c{j}" for j in range(n)])
    assert sorted(j for p in players for j in p) == list(range(n))
    assert len(players) == len(labels)
    assert all(tuple(g) in players for g in groups)


# -- real data ----------------------------------------------------------------------
@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_breast_cancer(loss):
    X, y = load_breast_cancer(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), random_state=0, stratify=y)
    model = InstaSHAPClassifier(
        interactions=[], loss=loss, max_epochs=40, device="cpu", random_state=0
    ).fit(X[train], y[train])
    assert roc_auc_score(y[test], model.decision_function(X[test])) > 0.98
    assert model.masked_r2_[30] > 0.7
    assert model.masked_r2_[15] > 0.3


def test_diabetes_and_a_forest_as_teacher():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    train, test = train_test_split(np.arange(len(y)), random_state=0)
    options = {"max_interactions": 5, "max_epochs": 20, "batch_size": 32, "lr": 0.01}
    model = InstaSHAPRegressor(**options, device="cpu", random_state=0)
    model.fit(X.iloc[train], y.iloc[train])
    assert model.score(X.iloc[test], y.iloc[test]) > 0.3
    assert {"bmi", "s5"} <= set(model.explain(kind="attribution").top(3).feature_names)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y > 140)
    taught = InstaSHAPClassifier(
        **{**TINY, "max_epochs": 10},
        batch_size=32,
        lr=0.02,
        order=1,
        teacher=forest,
        random_state=0,
    ).fit(X, None)
    assert np.mean(taught.predict(X) == forest.predict(X)) > 0.7
