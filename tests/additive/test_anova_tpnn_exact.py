"""ANOVA-TPNN with coefficients that are solved for at once."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_iris

from skinterp.additive import ANOVATPNNClassifier, ANOVATPNNRegressor

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

EXACT = {"solver": "exact", "max_epochs": 1, "device": "cpu", "random_state": 0}


def small_problem(n_classes, n=60):
    """A module of few bases, its rows, and its design as a matrix."""
    from skinterp.additive._anova_tpnn_module import TensorProductNet
    from skinterp.additive._anova_tpnn_solve import Design, Rows
    from skinterp.additive._anova_tpnn_terms import make_grid

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3))
    outputs = n_classes if n_classes > 2 else 1
    config = {
        "terms": ((0,), (1,), (2,), (0, 2)),
        "n_bases": 3,
        "n_members": 2,
        "n_outputs": outputs,
        "fine": make_grid(X, None, 256),
        "coarse": make_grid(X, None, 64),
        "shared_basis": False,
        "signs": np.zeros(3),
    }
    module = TensorProductNet(config).double()
    rows = torch.as_tensor(X)
    module.start(rows, torch.Generator().manual_seed(0), 1.0)
    weight = torch.as_tensor(rng.uniform(0.5, 1.5, size=n))
    noise = rng.normal(size=n)
    if n_classes == 0:
        target = torch.as_tensor((X[:, 0] * X[:, 2] + 0.1 * noise)[:, None])
    elif n_classes == 2:
        target = torch.as_tensor((X[:, :1] + noise[:, None] > 0.5).astype(float))
    else:
        target = torch.as_tensor((X[:, 0] * 3 + 0.2 * noise).clip(0, 2.9).astype(int))
    return module, Rows(rows, target, weight), Design(module, rows)


def as_matrix(design, like):
    """Columns of the linear map, one per coefficient."""
    columns = []
    for i, part in enumerate(like):
        for at in np.ndindex(*part.shape):
            unit = [torch.zeros_like(p) for p in like]
            unit[i][at] = 1.0
            columns.append(design.outputs(unit).flatten())
    return torch.stack(columns, dim=1).detach().numpy()


def start_of(module):
    parts = [torch.zeros_like(block.beta) for block in module.blocks()]
    return [*parts, torch.zeros_like(module.intercept)]


def flat(vector):
    return torch.cat([part.flatten() for part in vector]).detach().numpy()


@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_map_and_its_transpose_agree(n_classes):
    module, _, design = small_problem(n_classes)
    A = as_matrix(design, start_of(module))
    v = torch.as_tensor(np.random.default_rng(1).normal(size=(60, A.shape[0] // 60)))
    with torch.no_grad():
        back = flat(design.transposed(v))
    np.testing.assert_allclose(back, A.T @ v.flatten().numpy(), atol=1e-9)


def test_numbers_by_the_normal_equations():
    from skinterp.additive._anova_tpnn_solve import solve

    module, rows, design = small_problem(0)
    with torch.no_grad():
        made = flat(solve(design, rows, 0.5, 0, start_of(module)))
    A = as_matrix(design, start_of(module))
    w, y = rows.weight.numpy(), rows.target[:, 0].numpy()
    pull = np.diag([0.5] * (A.shape[1] - 1) + [0.0])
    expected = np.linalg.solve(A.T * w @ A + pull, A.T @ (w * y))
    np.testing.assert_allclose(A @ made, A @ expected, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_reach_the_minimum(n_classes):
    from skinterp.additive._anova_tpnn_solve import solve

    module, rows, design = small_problem(n_classes)
    with torch.no_grad():
        made = flat(solve(design, rows, 0.5, n_classes, start_of(module)))
    A = as_matrix(design, start_of(module))
    output = (A @ made).reshape(60, -1)
    if n_classes == 2:
        rest = expit(output) - rows.target.numpy()
    else:
        rest = softmax(output, axis=1) - np.eye(3)[rows.target.numpy()]
    gradient = A.T @ (rows.weight.numpy()[:, None] * rest).ravel()
    gradient += 0.5 * made
    n_intercepts = output.shape[1]
    # without a pull on the intercepts
    gradient[-n_intercepts:] -= 0.5 * made[-n_intercepts:]
    assert np.abs(gradient).max() < 0.05


def test_a_product_is_taken_apart():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 3))
    y = X[:, 0] * X[:, 1] + 0.02 * rng.normal(size=1000)
    model = ANOVATPNNRegressor(n_members=4, **EXACT).fit(X, y)
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


def test_classes_are_told_apart():
    X, y = load_iris(return_X_y=True)
    model = ANOVATPNNClassifier(n_members=2, **EXACT).fit(X, y)
    assert model.score(X, y) >= 0.95
    two = ANOVATPNNClassifier(n_members=2, **EXACT).fit(X, y > 0)
    assert two.score(X, y > 0) == 1.0


def test_without_validation_rows():
    X = np.random.default_rng(0).uniform(size=(80, 2))
    model = ANOVATPNNRegressor(n_members=2, validation_fraction=None, **EXACT)
    assert model.fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.98


@pytest.mark.parametrize(
    "options",
    [
        {"monotone": {0: 1}},
        {"component_penalty": 0.1},
        {"interactions": [(0, 1, 2)]},
    ],
)
def test_what_an_exact_solution_does_not_go_with(options):
    X = np.random.default_rng(0).uniform(size=(30, 3))
    with pytest.raises(ValueError, match="solver='exact' does not go with"):
        ANOVATPNNRegressor(**options, **EXACT).fit(X, X[:, 0])
    model = ANOVATPNNRegressor(n_members=1, **EXACT).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="partial_fit"):
        model.partial_fit(X, X[:, 0])
