"""ANOVA-TPNN with coefficients that are solved for at once."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_iris

from skinterp.additive import ANOVATPNNClassifier, ANOVATPNNRegressor
from skinterp.additive._anova_tpnn_design import Design, Preconditioner
from skinterp.additive._anova_tpnn_evidence import Evidence, Sample, draw_rows
from skinterp.additive._anova_tpnn_kernels import (
    codes_of,
    make_dictionary,
    make_functions,
)
from skinterp.additive._anova_tpnn_solve import Rows, solve
from skinterp.additive._anova_tpnn_terms import make_grid

pytest.importorskip("torch")
pytest.importorskip("skorch")

EXACT = {"solver": "exact", "device": "cpu", "random_state": 0}
TERMS = [(0,), (1,), (2,), (0, 2)]


def small_problem(n_classes, n=60):
    """Rows, and the map from coefficients to outputs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3))
    X[:, 1] = np.round(3 * X[:, 1])
    noise = rng.normal(size=n)
    if n_classes == 0:
        target = (X[:, 0] * X[:, 2] + 0.1 * noise)[:, None]
    elif n_classes == 2:
        target = (X[:, :1] + noise[:, None] > 0.5).astype(float)
    else:
        target = np.eye(3)[(X[:, 0] * 3 + 0.2 * noise).clip(0, 2.9).astype(int)]
    grid = make_grid(X, None, 256)
    functions = make_functions(make_dictionary(grid, 5), grid)
    variances = np.array([0.5, 0.2, 0.4, 0.3])
    codes = codes_of(X, grid)
    rows = Rows(X, target, rng.uniform(0.5, 1.5, size=n), n_classes)
    return rows, functions, codes, Design(functions, TERMS, variances, codes)


def as_matrix(design):
    """Columns of the linear map, one per coefficient."""
    return np.column_stack([design.outputs(e[:, None]) for e in np.eye(design.size)])


# -- the functions ----------------------------------------------------------------
def test_functions_are_uncorrelated_and_made_of_logistic_ones():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.lognormal(size=400), rng.integers(0, 4, 400), np.ones(400)]
    )
    grid = make_grid(X, None, 64)
    dictionary = make_dictionary(grid, 9)
    assert dictionary.used.tolist() == [9, 3, 0]
    functions = make_functions(dictionary, grid)
    for j in (0, 1):
        w, at = grid["weights"][j], grid["points"][j]
        phi = expit((at[:, None] - dictionary.t[j]) / dictionary.tau[j])
        made = (w @ phi - phi) @ functions.mix[j]
        np.testing.assert_allclose(made, functions.values[j], atol=1e-8)
        r = dictionary.used[j]
        gram = (functions.values[j] * w[:, None]).T @ functions.values[j]
        np.testing.assert_allclose(gram[:r, :r], np.eye(r), atol=1e-8)
        np.testing.assert_allclose(w @ functions.values[j], 0, atol=1e-10)
        assert functions.sizes[j].sum() == pytest.approx(1)
    # steps between four levels leave nothing out: the kernel itself, centred
    at, w = grid["points"][1][:4], grid["weights"][1][:4]
    kernel = np.exp(-np.abs(at[:, None] - at) / 3 / 0.3)
    kernel = kernel - w @ kernel
    kernel = kernel - (kernel @ w)[:, None]
    kernel /= w @ np.diag(kernel)
    np.testing.assert_allclose(functions.kernels()[1][:4, :4], kernel, atol=1e-6)


# -- the variances ----------------------------------------------------------------
def test_evidence_is_that_of_a_normal_distribution():
    from scipy.stats import multivariate_normal

    rows, functions, codes, design = small_problem(0)
    sample = Sample(codes, rows.target, rows.weight, 0)
    evidence = Evidence(sample, TERMS, functions.kernels())
    evidence.variance, evidence.noise = design.root**2, 0.3
    A = as_matrix(design)  # the column of the intercept is one of ones
    covariance = A @ A.T + np.diag(0.3 / rows.weight)
    y = rows.target[:, 0]
    truth = multivariate_normal(np.zeros(60), covariance).logpdf(y)
    evidence.improve(1)
    assert evidence.value == pytest.approx(truth + 30 * np.log(2 * np.pi))
    fitted = A @ A.T @ np.linalg.solve(covariance, y)
    np.testing.assert_allclose(evidence.fitted[:, 0], fitted, atol=1e-8)


def test_the_fixed_point_is_a_maximum():
    rows, functions, codes, _ = small_problem(0)

    def made(variance=None, noise=None):
        evidence = Evidence(
            Sample(codes, rows.target, rows.weight, 0), TERMS, functions.kernels()
        )
        if variance is not None:
            evidence.variance, evidence.noise = variance, noise
        return evidence

    found = made()
    first = made()
    first.improve(1)
    for _ in range(300):
        found._step()
    assert found.value > first.value
    for t, factor in ((0, 1.3), (0, 0.7), (2, 1.3), (2, 0.7), (3, 1.3), (3, 0.7)):
        other = made(found.variance.copy(), found.noise)
        other.variance[t] *= factor
        other.improve(1)
        assert other.value <= found.value + 1e-3


def test_terms_of_noise_vanish():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 5))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=300)
    model = ANOVATPNNRegressor(interactions="all", **EXACT).fit(X, y)
    sizes = dict(zip(model.terms_, model.term_importances_, strict=True))
    assert max(sizes[t] for t in ((3,), (4,), (3, 4))) < 0.03 < 0.5 < sizes[0,]
    labels = rng.uniform(size=300) < expit(4 * X[:, 0] - 2)
    two = ANOVATPNNClassifier(interactions="all", **EXACT).fit(X, labels)
    sizes = dict(zip(two.terms_, two.term_importances_, strict=True))
    assert max(v for t, v in sizes.items() if t != (0,)) < sizes[0,] / 3


def test_copies_of_a_row_are_drawn_as_one():
    codes = np.array([[0, 1], [2, 2], [0, 1], [1, 0], [2, 2], [0, 1]])
    groups = draw_rows(codes, 9, np.random.RandomState(0))
    assert [g.tolist() for g in groups] == [[0, 2, 5], [3], [1, 4]]
    few = draw_rows(codes, 2, np.random.RandomState(0))
    assert len(few) == 2
    assert all(g.tolist() in [[0, 2, 5], [3], [1, 4]] for g in few)


# -- the coefficients -------------------------------------------------------------
def test_the_map_its_transpose_and_its_columns_agree():
    _, _, _, design = small_problem(0)
    A = as_matrix(design)
    v = np.random.default_rng(1).normal(size=(60, 2))
    np.testing.assert_allclose(design.transposed(v), A.T @ v, atol=1e-10)
    some = np.array([0, 7, 12, 16, 30])
    np.testing.assert_allclose(design.columns(some)[:, :-1], A[:, some], atol=1e-12)
    # all coefficients are among the strongest here, so the inverse is exact
    weight = np.linspace(0.5, 2, 60)
    matrix = (A * weight[:, None]).T @ A + 0.7 * np.eye(design.size)
    alive = np.append(design.prior > 0, True)
    given = np.where(alive, 1.0, 0.0)[:, None]
    prepared = Preconditioner(design, weight, 0.7)(given)
    np.testing.assert_allclose((matrix @ prepared)[alive], given[alive], atol=1e-8)


def test_numbers_by_the_normal_equations():
    rows, _, _, design = small_problem(0)
    made = solve(design, rows, 0.5)
    A, w, y = as_matrix(design), rows.weight, rows.target[:, 0]
    pull = np.diag([0.5] * (design.size - 1) + [0.0])
    expected = np.linalg.solve(A.T * w @ A + pull, A.T @ (w * y))
    np.testing.assert_allclose(A @ made[:, 0], A @ expected, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_reach_the_minimum(n_classes):
    rows, _, _, design = small_problem(n_classes)
    made = solve(design, rows, 1.0)
    A = as_matrix(design)
    output = A @ made
    rest = (expit(output) if n_classes == 2 else softmax(output, axis=1)) - rows.target
    gradient = A.T @ (rows.weight[:, None] * rest)
    gradient[:-1] += made[:-1]  # no pull on the intercepts
    assert np.abs(gradient).max() < 0.05


# -- the estimators ---------------------------------------------------------------
def test_a_product_is_taken_apart():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 3))
    y = X[:, 0] * X[:, 1] + 0.02 * rng.normal(size=1000)
    model = ANOVATPNNRegressor(validation_fraction=None, **EXACT).fit(X, y)
    a, b = X[:, :2].mean(axis=0)
    truth = {
        (0,): (X[:, 0] - a) * b,
        (1,): (X[:, 1] - b) * a,
        (0, 1): (X[:, 0] - a) * (X[:, 1] - b),
    }
    parts = dict(zip(model.terms_, model.components(X).T, strict=True))
    for term, values in parts.items():
        expected = truth.get(term, 0.0)
        assert np.sqrt(np.mean((values - expected) ** 2)) <= 0.01, term
    np.testing.assert_allclose(
        model.intercept_ + model.components(X).sum(axis=1), model.predict(X), atol=1e-9
    )
    np.testing.assert_allclose(model.predict(X[:1]), model.predict(X)[:1], rtol=1e-12)
    # each term averages to zero over each of its features, over the rows themselves
    for value in (0.1, 0.9):
        fixed = X.copy()
        fixed[:, 1] = value
        pair = model.terms_.index((0, 1))
        assert abs(model.components(fixed)[:, pair].mean()) < 1e-6
    told = model.explain()
    told.check_faithful(model, X)


def test_classes_are_told_apart():
    X, y = load_iris(return_X_y=True)
    model = ANOVATPNNClassifier(n_bases=8, **EXACT).fit(X, y)
    assert model.score(X, y) >= 0.95
    assert model.components(X).shape == (150, len(model.terms_), 3)
    model.explain().check_faithful(model, X)
    two = ANOVATPNNClassifier(n_bases=8, **EXACT).fit(X, y > 0)
    assert two.score(X, y > 0) == 1.0


def test_several_outputs_and_weights():
    X = np.random.default_rng(0).uniform(size=(90, 2))
    Y = np.column_stack([X[:, 0] ** 2, 100 * X[:, 1]])
    weight = np.repeat([1.0, 3.0], 45)
    options = {"validation_fraction": None, "n_bases": 8, **EXACT}
    model = ANOVATPNNRegressor(**options).fit(X, Y, sample_weight=weight)
    assert model.score(X, Y) > 0.98
    model.explain().check_faithful(model, X)


@pytest.mark.parametrize(
    "options",
    [
        {"monotone": {0: 1}},
        {"component_penalty": 0.1},
        {"shared_basis": True},
        {"interactions": [(0, 1, 2)]},
    ],
)
def test_what_an_exact_solution_does_not_go_with(options):
    X = np.random.default_rng(0).uniform(size=(30, 3))
    with pytest.raises(ValueError, match="solver='exact' does not go with"):
        ANOVATPNNRegressor(**options, **EXACT).fit(X, X[:, 0])
    auto = ANOVATPNNRegressor(**options, max_epochs=1, n_members=1, device="cpu")
    assert "terms_1.t" in auto.fit(X, X[:, 0]).weights_


def test_training_goes_on_from_gradients_alone():
    X = np.random.default_rng(0).uniform(size=(30, 2))
    model = ANOVATPNNRegressor(device="cpu", n_members=1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="fitted by solver='exact'"):
        model.partial_fit(X, X[:, 0])
    fresh = ANOVATPNNRegressor(device="cpu", n_members=1).partial_fit(X, X[:, 0])
    fresh.partial_fit(X[:5], X[:5, 0])
    assert fresh.n_iter_ == 2


def test_few_rows_are_warned_of():
    X = np.random.default_rng(0).uniform(size=(19, 2))
    for solver in ("exact", "gradient"):
        model = ANOVATPNNRegressor(solver=solver, max_epochs=1, n_members=1)
        with pytest.warns(
            UserWarning, match="got 19 rows; curves fitted to fewer than"
        ):
            model.fit(X, X[:, 0])


def test_targets_without_noise_and_rows_without_weight():
    X = np.random.default_rng(0).integers(0, 5, size=(60, 2)) / 5.0
    weight = np.where(np.arange(60) < 30, 1.0, 1e-300)
    for y, given in ((np.ones(60), None), (X[:, 0], None), (X[:, 0], weight)):
        model = ANOVATPNNRegressor(**EXACT).fit(X, y, sample_weight=given)
        np.testing.assert_allclose(model.predict(X), y, atol=0.02)
