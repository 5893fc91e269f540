"""ANOVA-TPNN: right answers, identifiable terms, choices, and what is refused."""

from itertools import combinations, product
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from skinterp.additive import (
    ANOVATPNNClassifier,
    ANOVATPNNRegressor,
    stability_score,
)
from skinterp.additive._anova_tpnn_explain import shapley_values, term_stability
from skinterp.additive._anova_tpnn_inputs import apply_scaler, fit_scaler
from skinterp.additive._anova_tpnn_terms import make_grid, rank_pairs

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

# Few members: what is tested here does not need the many of the defaults.
CPU = {"device": "cpu", "n_members": 2, "solver": "gradient"}


def net(X, terms, *, n_bases=3, n_members=1, n_outputs=1, shared=False, seed=0):
    """A module as the estimator builds it, with random parameters."""
    from skinterp.additive._anova_tpnn_module import TensorProductNet

    config = {
        "terms": tuple(terms),
        "n_bases": n_bases,
        "n_members": n_members,
        "n_outputs": n_outputs,
        "fine": make_grid(X, None, 256),
        "coarse": make_grid(X, None, 64),
        "shared_basis": shared,
        "signs": np.zeros(X.shape[1]),
    }
    module = TensorProductNet(config).double()
    generator = torch.Generator().manual_seed(seed)
    rows = torch.as_tensor(X)
    module.start(rows, generator, 1.0)
    with torch.no_grad():
        for block in module.blocks():
            block.beta.copy_(torch.randn(block.beta.shape, generator=generator))
    module.set_constants(rows, None)
    return module.eval().requires_grad_(False)


def uniform(n=300, d=3, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d))


# -- the basis --------------------------------------------------------------------
def test_one_basis_by_hand():
    X = np.array([[-1.0], [0.0], [1.0]])
    module = net(X, [(0,)], n_bases=1)
    (block,) = module.blocks()
    with torch.no_grad():
        block.t.zero_()
        block.log_tau.zero_()
        block.beta.fill_(1.0)
    rows = torch.as_tensor(X)
    module.set_constants(rows, None)
    phi = 1 - block.sigmoids(rows) / block.mean
    assert block.mean.item() == pytest.approx(0.5)
    np.testing.assert_allclose(
        phi.ravel().numpy(), [0.46211716, 0, -0.46211716], atol=1e-8
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60))
def test_bases_average_to_zero_over_the_rows(seed, n):
    X = np.random.default_rng(seed).normal(size=(n, 2)) * [1.0, 1e3]
    module = net(X, [(0,), (1,), (0, 1)], seed=seed)
    for block in module.blocks():
        phi = 1 - block.sigmoids(torch.as_tensor(X)) / block.mean
        size = phi.abs().max().item()
        assert phi.mean(0).abs().max().item() < 1e-12 * max(1.0, size)


def test_product_is_the_sum_over_corners():
    X = uniform(50, 2)
    module = net(X, [(0, 1)], n_bases=1)
    (block,) = module.blocks()
    s = block.sigmoids(torch.as_tensor(X))[:, 0, :, 0].numpy()
    c = -(1 - block.mean[0, :, 0].numpy()) / block.mean[0, :, 0].numpy()
    total = np.zeros(50)
    for corner in product((0, 1), repeat=2):
        part = np.ones(50)
        for j, high in enumerate(corner):
            part *= c[j] * s[:, j] if high else 1 - s[:, j]
        total += part
    m = block.mean[0, :, 0].numpy()
    np.testing.assert_allclose(total, np.prod(1 - s / m, axis=1), atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_each_term_averages_to_zero_over_each_of_its_features(shared):
    X = uniform(80, 3)
    terms = [(0,), (2,), (0, 1), (2, 1), (0, 1, 2)]
    module = net(X, terms, n_members=2, shared=shared)
    for term in terms[2:]:
        axes = [torch.as_tensor(X[:, j]) for j in term]
        values = module.surface(term, axes).numpy()[..., 0]
        for axis in range(len(term)):
            assert np.abs(values.mean(axis=axis)).max() < 1e-10


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_all_ways_to_evaluate_a_term_agree(n_outputs):
    # few values, so that the grids of the training hold every cell
    X = np.random.default_rng(0).integers(0, 9, size=(60, 3)).astype(float)
    terms = [(0,), (1,), (1, 0), (0, 2), (2, 0, 1)]
    module = net(X, terms, n_members=2, n_outputs=n_outputs)
    rows = torch.as_tensor(X)
    parts = module.components(rows)
    np.testing.assert_allclose(module(rows), parts.sum(1) + module.intercept)
    trained = module.binned(rows).mean(1)
    np.testing.assert_allclose(trained, module(rows), rtol=1e-4, atol=1e-4)
    for t, term in enumerate(terms):
        axes = [torch.as_tensor(np.unique(X[:, j])) for j in term]
        where = [np.searchsorted(np.unique(X[:, j]), X[:, j]) for j in term]
        np.testing.assert_allclose(
            module.surface(term, axes).numpy()[tuple(where)], parts[:, t], atol=1e-9
        )


def test_gradient_of_the_bases_is_exact():
    from skinterp.additive._anova_tpnn_operations import LookUp, Sigmoids

    draw = torch.Generator().manual_seed(0)
    points = torch.rand((3, 2, 1, 7), generator=draw, dtype=torch.float64)[:, :, 0]
    weights = torch.rand((3, 2, 7), generator=draw, dtype=torch.float64)
    weights /= weights.sum(-1, keepdim=True)
    for n in (3, 1):  # one set of bases per term, or one for all
        t = torch.rand((n, 2, 4), generator=draw, dtype=torch.float64)
        inputs = (t.requires_grad_(), (-t.detach()).requires_grad_())

        def bases(*pair):
            return Sigmoids.apply(points, weights, *pair)[0]

        assert torch.autograd.gradcheck(bases, inputs)
    table = torch.rand((6, 2), generator=draw, dtype=torch.float64).requires_grad_()
    codes = torch.tensor([[0, 3], [0, 5], [3, 3]])
    assert torch.autograd.gradcheck(lambda x: LookUp.apply(x, codes), (table,))


def test_columns_in_another_order_give_the_same_terms():
    X = uniform(60, 3)
    turned = [2, 0, 1]  # column j of X is column turned.index(j) of the other
    terms = [(0,), (1,), (2,), (0, 1), (2, 1)]
    other = [tuple(turned.index(j) for j in term) for term in terms]
    a = net(X, terms).components(torch.as_tensor(X))
    b = net(X[:, turned], other).components(torch.as_tensor(X[:, turned]))
    np.testing.assert_allclose(a, b, atol=1e-12)


# -- known decompositions ---------------------------------------------------------
@pytest.fixture(scope="module")
def product_fits():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 3))
    y = X[:, 0] * X[:, 1] + 0.02 * rng.normal(size=1000)
    options = {"interactions": "all", **CPU}
    fits = [ANOVATPNNRegressor(random_state=s, **options).fit(X, y) for s in (0, 1)]
    return X, fits


def test_product_is_taken_apart(product_fits):
    X, fits = product_fits
    a, b = X[:, :2].mean(axis=0)
    truth = {
        (0,): (X[:, 0] - a) * b,
        (1,): (X[:, 1] - b) * a,
        (0, 1): (X[:, 0] - a) * (X[:, 1] - b),
    }
    for model in fits:
        parts = model.components(X)
        assert model.intercept_ == pytest.approx(a * b, abs=0.005)
        for t, term in enumerate(model.terms_):
            if term in truth:
                error = np.sqrt(np.mean((parts[:, t] - truth[term]) ** 2))
                assert error <= 0.01, term
            else:
                assert model.term_importances_[t] <= 0.01, term
        variances = dict(zip(model.terms_, model.term_importances_**2, strict=True))
        assert variances[0,] == pytest.approx(1 / 48, rel=0.15)
        assert variances[0, 1] == pytest.approx(1 / 144, rel=0.15)


def test_terms_hardly_differ_between_seeds(product_fits):
    X, fits = product_fits
    scores, _ = term_stability(fits, X)
    assert max(scores[t] for t in ((0,), (1,), (0, 1))) <= 0.05
    assert stability_score(fits, X) <= 0.05


def test_pairs_of_a_fitted_model_average_to_zero(product_fits):
    X, fits = product_fits
    model = fits[0]
    fitted_on = model.explain()
    surface = fitted_on.values[model.terms_.index((0, 1))]
    assert surface.shape == tuple(map(len, fitted_on.grids[3]))
    # all training rows at one value of the other feature
    train = ANOVATPNNRegressor(
        interactions=[(0, 1)], max_epochs=2, validation_fraction=0.0, **CPU
    ).fit(X, X[:, 0] * X[:, 1])
    for value in (0.1, 0.9):
        fixed = X.copy()
        fixed[:, 1] = value
        assert abs(train.components(fixed)[:, 3].mean()) < 1e-6
    assert np.abs(train.components(X)[:, :3].mean(axis=0)).max() < 1e-6


def test_a_sum_has_no_interaction():
    X = np.random.default_rng(0).uniform(size=(800, 2))
    y = 3 * X[:, 0] - 2 * X[:, 1]
    model = ANOVATPNNRegressor(random_state=0, **CPU).fit(X, y)
    pair = model.terms_.index((0, 1))
    assert model.term_importances_[pair] < 0.02 * y.std()


@pytest.mark.slow
def test_bumps_are_learnt_by_the_defaults():
    rng = np.random.default_rng(0)
    X = rng.uniform(-np.pi, np.pi, size=(6000, 3))
    y = np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2
    y += 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    model = ANOVATPNNRegressor(max_epochs=40, random_state=0, **CPU)
    model.fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.97
    share = dict(zip(model.terms_, model.sobol_, strict=True))
    expected = {(0,): 0.3139, (1,): 0.4424, (2,): 0.0, (0, 2): 0.2437}
    for term, value in expected.items():
        assert share[term] == pytest.approx(value, abs=0.03)


# -- the estimators ---------------------------------------------------------------
@pytest.fixture(scope="module")
def regression():
    X = uniform(60, 4)
    y = 100 + 10 * (X[:, 0] + X[:, 1] * X[:, 2])
    model = ANOVATPNNRegressor(
        interactions=[(2, 1), (0, 3, 1)],
        max_epochs=8,
        validation_fraction=None,
        random_state=0,
        **CPU,
    )
    return X, y, model.fit(X, y)


def test_terms_sum_to_the_prediction(regression):
    X, _, model = regression
    parts = model.components(X)
    assert model.terms_[4:] == [(2, 1), (0, 3, 1)]
    np.testing.assert_allclose(
        model.intercept_ + parts.sum(axis=1), model.predict(X), rtol=1e-12
    )
    np.testing.assert_allclose(model.sobol_.sum(), 1)
    np.testing.assert_allclose(model.term_importances_, parts.std(axis=0))


def test_a_row_alone_is_predicted_as_among_others(regression):
    X, _, model = regression
    np.testing.assert_allclose(model.predict(X[:1]), model.predict(X)[:1], rtol=1e-12)


def test_explanations_say_what_the_model_does(regression):
    X, _, model = regression
    told = model.explain()
    told.check_faithful(model, X)
    assert told.terms == tuple(model.terms_)
    model.explain(X[:9]).check_faithful(model, X[:9])
    parts = model.explain(X[:9], kind="attribution")
    parts.check_faithful(model, X[:9])
    assert parts.data.shape == (9, 4)


def test_attribution_holds_the_shapley_values(regression):
    """Against all orders of features, absent ones drawn from their own columns."""
    X, _, model = regression
    d = 4
    module, Z = model.module_, torch.as_tensor(model._transform_inputs(X))

    def worth(present):
        total = 0.0
        for term in model.terms_:
            axes = [Z[3:4, j] if j in present else Z[:, j] for j in term]
            total += float(module.surface(term, axes).mean())
        return total * model.target_scale_[0]

    values = np.zeros(d)
    for j in range(d):
        rest = [k for k in range(d) if k != j]
        for size in range(d):
            weight = factorial(size) * factorial(d - size - 1) / factorial(d)
            for group in combinations(rest, size):
                values[j] += weight * (worth({*group, j}) - worth(set(group)))
    got = model.explain(X[3:4], kind="attribution").values[0]
    np.testing.assert_allclose(got, values, atol=1e-6)


def test_shapley_values_split_terms():
    parts = np.array([[1.0, 2.0, 6.0]])
    terms = [(0,), (0, 1), (0, 1, 2)]
    assert shapley_values(parts, terms, 4).tolist() == [[4.0, 3.0, 2.0, 0.0]]
    both = np.stack([parts, 2 * parts], axis=-1)
    got = shapley_values(both, terms, 4)
    assert got.shape == (1, 4, 2)
    assert got[0, :, 1].tolist() == [8.0, 6.0, 4.0, 0.0]


def test_classes_share_bases():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ANOVATPNNClassifier(max_epochs=15, random_state=0, **CPU).fit(X, names)
    assert model.score(X, names) > 0.93
    parts = model.components(X)
    assert parts.shape == (150, len(model.terms_), 3)
    np.testing.assert_allclose(
        model.intercept_ + parts.sum(axis=1), model.decision_function(X), atol=1e-9
    )
    assert model.weights_["terms_1.t"].ndim == 3
    told = model.explain()
    told.check_faithful(model, X)
    assert told.intercept.shape == (3,)


@pytest.mark.slow
def test_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    # single splits go down to 0.98, the mean of ten is steady
    for seed in range(10):
        a, b, ya, yb = train_test_split(
            X, y, test_size=0.3, stratify=y, random_state=seed
        )
        model = ANOVATPNNClassifier(
            order=1, max_epochs=10, random_state=seed, **CPU
        ).fit(a, ya)
        scores.append(roc_auc_score(yb, model.predict_proba(b)[:, 1]))
    assert np.mean(scores) >= 0.99


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_curves(sign):
    X = uniform(150, 3)
    y = np.sin(9 * X[:, 0]) + X[:, 1]
    model = ANOVATPNNRegressor(
        monotone={0: sign}, max_epochs=3, interactions="all", random_state=0, **CPU
    ).fit(X, y)
    assert (sign * np.diff(model.explain().values[0]) >= -1e-9).all()
    assert all(0 not in term for term in model.terms_[3:])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = ANOVATPNNRegressor(monotone={"a": sign}, max_epochs=1, order=1, **CPU).fit(
        frame, y
    )
    assert (sign * np.diff(named.explain().values[0]) >= -1e-9).all()


def test_shared_bases_have_fewer_parameters():
    X = uniform(100, 4)
    y = X[:, 0] * X[:, 1]
    options = {"interactions": "all", "max_epochs": 2, "random_state": 0, **CPU}
    own = ANOVATPNNRegressor(**options).fit(X, y)
    shared = ANOVATPNNRegressor(shared_basis=True, **options).fit(X, y)
    assert own.weights_["terms_2.t"].shape[0] == 6
    assert shared.weights_["terms_2.t"].shape[0] == 1
    shared.explain().check_faithful(shared, X)
    assert len(shared.terms_) == len(own.terms_)


def test_several_outputs():
    X = uniform(120, 3)
    Y = np.column_stack([X[:, 0], 100 * X[:, 1]])
    model = ANOVATPNNRegressor(max_epochs=40, lr=0.1, random_state=0, **CPU).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert model.explain().values[0].shape[-1] == 2
    model.explain().check_faithful(model, X)


def test_penalties_shrink_terms():
    X = uniform(150, 3)
    y = X[:, 0] + np.random.default_rng(1).normal(size=150)
    sizes = [
        ANOVATPNNRegressor(
            max_epochs=15, random_state=0, patience=None, **options, **CPU
        )
        .fit(X, y)
        .term_importances_.sum()
        for options in (
            {"term_penalty": 0.0},
            {"term_penalty": 3000.0},
            {"term_penalty": 0.0, "component_penalty": 20.0},
        )
    ]
    assert sizes[1] < 0.8 * sizes[0]
    assert sizes[2] < 0.9 * sizes[0]


# -- the choice of terms ----------------------------------------------------------
def test_pairs_are_ranked_by_what_curves_leave():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 6))
    y = 5 * X[:, 0] + X[:, 1] * X[:, 2] + 2 * (X[:, 3] > 0) * (X[:, 4] > 0.3)
    y += 0.3 * rng.normal(size=2000)
    pairs = rank_pairs(X, y, None, 0, range(6))
    assert set(pairs[:2]) == {(1, 2), (3, 4)}
    assert len(pairs) == 15
    # an additive logit has no interaction, though probabilities have
    p = 1 / (1 + np.exp(-3 * X[:, 0] - 3 * X[:, 1] - 8 * X[:, 2] * X[:, 3]))
    labels = (rng.uniform(size=2000) < p).astype(int)
    assert rank_pairs(X, labels, None, 2, range(6))[0] == (2, 3)
    # the same with three classes, one of them rare
    labels[:40] = 2
    assert rank_pairs(X, labels, None, 3, range(6))[0] == (2, 3)


def test_number_of_pairs():
    X = uniform(60, 5)
    y = X[:, 0]
    for limit, count in ((0, 0), (3, 3), (99, 10)):
        model = ANOVATPNNRegressor(max_interactions=limit, max_epochs=1, **CPU)
        assert len(model.fit(X, y).terms_) == 5 + count
    assert len(ANOVATPNNRegressor(order=1, max_epochs=1, **CPU).fit(X, y).terms_) == 5


def test_constant_columns_get_no_term():
    X = uniform(60, 3)
    X[:, 1] = 5.0
    model = ANOVATPNNRegressor(interactions=[(0, 1), (0, 2)], max_epochs=1, **CPU)
    with pytest.warns(UserWarning, match="'x1'"):
        model.fit(X, X[:, 0])
    assert model.terms_ == [(0,), (2,), (0, 2)]
    model.explain().check_faithful(model, X)
    flat = np.ones((30, 2))
    for solver in ("gradient", "exact"):
        empty = ANOVATPNNRegressor(max_epochs=1, device="cpu", solver=solver)
        with pytest.warns(UserWarning, match="constant"):
            empty.fit(flat, np.arange(30.0))
        assert empty.terms_ == []
        assert np.isfinite(empty.predict(flat)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interactions": [(0, 9)]}, r"interactions has \(0, 9\).*from 0 to 2"),
        ({"interactions": [(0, 0)]}, "different features"),
        ({"interactions": [0]}, "interactions has 0"),
        ({"interactions": [(0, 1), (1, 0)]}, "twice"),
        ({"monotone": {7: 1}}, "feature 7"),
        ({"monotone": {0: 2}}, "allowed are -1 and 1"),
        ({"monotone": {0: 1}, "interactions": [(0, 1)]}, "leave it out"),
        ({"n_bases": 0}, "n_bases"),
        ({"init_tau_scale": -1.0}, "init_tau_scale"),
        ({"input_transform": "log"}, "input_transform"),
    ],
)
def test_what_is_not_allowed_is_refused(options, message):
    X = uniform(30, 3)
    with pytest.raises(ValueError, match=message):
        ANOVATPNNRegressor(**options, **CPU).fit(X, X[:, 0])


def test_monotone_is_for_two_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes"):
        ANOVATPNNClassifier(monotone={0: 1}, **CPU).fit(X, y)


def test_stability_needs_two_models(regression):
    X, _, model = regression
    assert stability_score([model, model], X) == 0.0
    with pytest.raises(ValueError, match="at least 2"):
        stability_score([model], X)


# -- grids and scales -------------------------------------------------------------
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(-5, 5) | st.floats(-1e6, 1e6), min_size=2, max_size=80),
    st.integers(2, 20),
    st.booleans(),
)
def test_grids_keep_mean_and_order(cells, n_points, weighted):
    X = np.array(cells, dtype=float)[:, None]
    weight = np.arange(1.0, len(X) + 1) if weighted else None
    grid = make_grid(X, weight, n_points)
    points, shares = grid["points"][0], grid["weights"][0]
    assert shares.sum() == pytest.approx(1)
    assert (np.diff(points) >= 0).all()
    size = np.abs(X).max() + 1
    mean = np.average(X[:, 0], weights=weight)
    assert points @ shares == pytest.approx(mean, abs=1e-9 * size)
    assert X.min() - 1e-9 * size <= grid["lowest"][0, 0]
    assert grid["lowest"][0, 0] <= grid["highest"][0, 0] <= X.max() + 1e-9 * size


@pytest.mark.parametrize("method", ["quantile", "standard", None])
def test_scales_rise_and_stay_finite(method):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.lognormal(sigma=3, size=5000), rng.integers(0, 3, 5000), np.ones(5000)]
    )
    scaler = fit_scaler(method, X, None)
    beyond = np.vstack([X, X.max(axis=0) * 10, -X.max(axis=0)])
    Z = apply_scaler(method, scaler, beyond)
    assert np.isfinite(Z).all()
    for j in (0, 1):
        order = np.argsort(beyond[:, j])
        assert (np.diff(Z[order, j]) >= 0).all()
    if method == "quantile":
        assert np.abs(Z).max() <= 1
        share = np.mean(X[:, 1] < 1) + np.mean(X[:, 1] == 1) / 2
        assert Z[np.flatnonzero(X[:, 1] == 1)[0], 1] == pytest.approx(2 * share - 1)
