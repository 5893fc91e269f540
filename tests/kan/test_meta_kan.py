"""Networks of curves as estimators: what they say is what they do."""

from __future__ import annotations

import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

pytest.importorskip("torch")
pytest.importorskip("skorch")

import skinterp
from skinterp.kan import (
    KANClassifier,
    KANRegressor,
    MetaKANClassifier,
    MetaKANRegressor,
)
from skinterp.kan._importance import input_shares
from skinterp.kan._meta_kan import share_learners

FAST: dict[str, Any] = {"max_epochs": 3, "grid_size": 3, "random_state": 0}
SMALL: dict[str, Any] = {**FAST, "meta_hidden": 2, "share": "all"}


def product(n: int = 300, d: int = 2) -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(-1, 1, (n, d))
    return X, X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def fitted() -> Any:
    X, y = product(200, 3)
    return MetaKANRegressor((4,), **SMALL).fit(X, y), X


# -- accuracy --------------------------------------------------------------------------


def test_learns_a_product() -> None:
    """Error of at most 5e-3 on new rows."""
    X, y = product(2000)
    model = MetaKANRegressor(
        (5,), grid_size=3, meta_hidden=16, share="all", max_epochs=25, random_state=1
    )
    with pytest.warns(UserWarning, match="too small for a meta-learner"):
        model.fit(X[:1000], y[:1000])
    error = np.sqrt(np.mean((model.predict(X[1000:]) - y[1000:]) ** 2))
    assert error <= 5e-3
    assert (model.n_parameters_, model.n_parameters_kan_) == (166, 105)


@pytest.mark.filterwarnings("ignore:X holds cells beyond")
def test_digits() -> None:
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    model = MetaKANClassifier((32,), max_epochs=25, random_state=0).fit(X, y)
    assert model.score(X_new, y_new) >= 0.955
    assert (model.n_parameters_, model.n_parameters_kan_) == (3090, 21_312)
    for layer, codes in enumerate(model.codes_):
        made = model.coefficients(layer).reshape(-1, 9)
        values = np.linalg.svd(made - made.mean(axis=0), compute_uv=False)
        assert (values > 1e-4 * values[0]).sum() >= 3  # no single curve, rescaled
        assert codes.shape == (*model.coefficients(layer).shape[:2], 1)


# -- parameters ------------------------------------------------------------------------


def test_who_shares_a_meta_learner() -> None:
    widths = (64, 32, 32, 32, 10)
    assert share_learners(widths, "layer") == (0, 1, 2, 3)
    assert share_learners(widths, "all") == (0, 0, 0, 0)
    groups = share_learners(widths, 3)
    assert groups[1] == groups[2]
    assert len({groups[0], groups[1], groups[3]}) == 3
    assert share_learners((8, 8, 8), 2) == (0, 0)  # equal layers cannot be told apart
    with pytest.raises(ValueError, match="share=5"):
        share_learners(widths, 5)


def test_clusters_train() -> None:
    X, y = product(60)
    model = MetaKANRegressor((3, 3), **{**SMALL, "share": 2}).fit(X, y)
    assert len(set(model.module_config_["groups"])) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("code_dim", 0),
        ("grid_size", 0),
        ("spline_order", -1),
        ("hidden_layer_sizes", (0,)),
        ("hidden_layer_sizes", (4, 2.5)),
        ("input_range", (1, -1)),
        ("input_range", (0, np.inf)),
        ("input_range", ("a", "b")),
        ("share", "some"),
        ("l1", -1.0),
    ],
)
def test_impossible_parameters(name: str, value: Any) -> None:
    X, y = product(30)
    with pytest.raises(ValueError, match=name):
        MetaKANRegressor(**{**SMALL, name: value}).fit(X, y)


@pytest.mark.parametrize(
    "changes",
    [
        {"spline_order": 0},
        {"spline_order": 1, "base_activation": None},
        {"code_dim": 2},
        {"meta_activation": None},
        {"squash": True, "hidden_layer_sizes": (3, 3)},
        {"input_range": (0, 2)},
        {"checkpoint": True},
        {"hidden_layer_sizes": 3},
        {"hidden_layer_sizes": ()},
        {"l1": 0.01, "entropy": 0.01},
    ],
)
@pytest.mark.filterwarnings("ignore:This network is too small")
def test_possible_parameters_explain_themselves(changes: dict[str, Any]) -> None:
    X, y = product(40)
    model = MetaKANRegressor(**{"hidden_layer_sizes": (3,), **SMALL, **changes})
    model.fit(X, y)
    for kind in ("edge-curves", "attribution"):
        model.explain(X, kind=kind).check_faithful(model, X)
    model.explain().check_faithful(model, X)


def test_auto_is_lbfgs_for_smooth_functions() -> None:
    """The parameters stay as they were, and the schedule has no part in it."""
    X, _ = product(80)
    few = {**SMALL, "max_epochs": 10}
    y = X[:, 0] + X[:, 1]
    model = MetaKANRegressor((3,), **few).fit(X, y)
    assert (model.optimizer, model.scheduler) == ("auto", "cosine")
    assert model.optimizer_ == "lbfgs"
    same = MetaKANRegressor((3,), **few, optimizer="lbfgs").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_auto_is_adamw_for_noise() -> None:
    """L-BFGS follows noise; it is kept where it is clearly better."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + rng.normal(size=80)
    model = KANRegressor((4,), random_state=0, max_epochs=12).fit(X, y)
    assert model.optimizer_ == "adamw"
    same = KANRegressor((4,), random_state=0, max_epochs=12, optimizer="adamw")
    np.testing.assert_array_equal(model.predict(X), same.fit(X, y).predict(X))
    assert len(model.history_["train_loss"]) == model.n_iter_ == same.n_iter_
    for blind in (0.0, None):
        model.set_params(validation_fraction=blind, max_epochs=1).fit(X, y)
        assert model.optimizer_ == "adamw"


@pytest.mark.parametrize(
    ("losses", "next_one"),
    [
        ([], {"optimizer": "lbfgs", "scheduler": None}),
        ([0.009], 0),
        ([0.3], {"optimizer": "adamw"}),
        ([0.3, 0.7], 0),
        ([0.3, 0.5], 1),
        ([np.inf, 0.5], 1),
    ],
)
def test_what_is_tried_and_kept(losses: list[float], next_one: Any) -> None:
    data = SimpleNamespace(target=np.zeros(5000), valid_inputs=())
    assert KANRegressor()._next_attempt(data, losses) == next_one
    data.target = np.zeros(5001)
    adamw = 0 if losses else {"optimizer": "adamw"}
    assert KANRegressor()._next_attempt(data, losses) == adamw


def test_any_optimizer_has_a_name() -> None:
    torch = pytest.importorskip("torch")
    X, y = product(30)
    for made in (torch.optim.NAdam, partial(torch.optim.NAdam, eps=1e-7)):
        model = KANRegressor((2,), **FAST, optimizer=made).fit(X, y)
        assert model.optimizer_ == "NAdam"


def test_parameters_set_after_the_fit_change_nothing() -> None:
    X, y = product(40)
    model = MetaKANRegressor((3,), **SMALL).fit(X, y)
    before, parts = model.predict(X), model.explain(X).values
    model.set_params(
        input_range=(0, 5), grid_size=9, spline_order=1, squash=True, code_dim=2
    )
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(model.explain(X).values, parts)
    np.testing.assert_allclose(model.freeze().predict(X), before, atol=1e-6)


@pytest.mark.filterwarnings("ignore:This network is too small")
def test_two_learning_rates() -> None:
    """Codes of a rate near zero stay where they were drawn."""
    X, y = product(60)
    still = {
        **SMALL,
        "meta_hidden": 8,
        "optimizer": "adamw",
        "weight_decay": 0.0,
        "patience": None,
    }
    drawn = [
        MetaKANRegressor((3,), **still, lr=1e-9, lr_code=rate).fit(X, y).codes_[0]
        for rate in (1e-9, 0.1)
    ]
    first = MetaKANRegressor((3,), **still, lr=0.1, lr_code=1e-9).fit(X, y)
    np.testing.assert_allclose(first.codes_[0], drawn[0], atol=1e-7)
    assert np.abs(drawn[1] - drawn[0]).max() > 0.01


def test_penalties_make_edges_vanish() -> None:
    X, y = product(150, 4)
    few = {"max_epochs": 12, "random_state": 0, "grid_size": 3}
    plain = KANRegressor((4,), **few).fit(X, y)
    sparse = KANRegressor((4,), **few, l1=0.02, entropy=0.02).fit(X, y)
    spread = [sum(s.sum() for s in m.edge_importances_[:1]) for m in (plain, sparse)]
    assert spread[1] < 0.7 * spread[0]
    assert sparse.feature_importances_[:2].sum() > 0.9


# -- the frozen network ----------------------------------------------------------------


def test_frozen_network_predicts_the_same(fitted: Any) -> None:
    model, X = fitted
    frozen = model.freeze()
    assert type(frozen) is KANRegressor
    np.testing.assert_allclose(frozen.predict(X), model.predict(X), atol=1e-6)
    assert frozen.n_parameters_ == model.n_parameters_kan_
    frozen.explain(X).check_faithful(frozen, X)
    a, b = model.explain(), frozen.explain()
    np.testing.assert_allclose(a.coefficients, b.coefficients, atol=1e-6)
    assert a.codes is not None
    assert b.codes is None


def test_frozen_classifier_and_training_on() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = MetaKANClassifier((16,), max_epochs=5, random_state=0).fit(X, y)
    frozen = model.freeze()
    assert type(frozen) is KANClassifier
    np.testing.assert_allclose(
        frozen.predict_proba(X), model.predict_proba(X), atol=1e-6
    )
    before = frozen.history_["train_loss"][-1]
    frozen.set_params(warm_start=True, max_epochs=5).fit(X, y)
    assert frozen.history_["train_loss"][-1] < before


# -- explanations ----------------------------------------------------------------------


def test_one_layer_is_additive() -> None:
    """Replacing a cell changes the output by the change of its own curve alone."""
    X, y = product(80, 3)
    model = KANRegressor((), **FAST).fit(X, y)
    a, b = X[:20], X[20:40]
    for j in range(3):
        mixed, other = a.copy(), b.copy()
        mixed[:, j], other[:, j] = b[:, j], a[:, j]
        change = model.predict(mixed) - model.predict(a)
        np.testing.assert_allclose(
            change, model.predict(b) - model.predict(other), atol=1e-10
        )
        parts = model.explain(mixed).values - model.explain(a).values
        np.testing.assert_allclose(parts[:, j], change, atol=1e-10)
        np.testing.assert_allclose(np.delete(parts, j, axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("squash", [False, True])
def test_attributions_of_deep_networks_add_up(squash: bool) -> None:
    X, _ = product(60, 3)
    Y = np.column_stack([X[:, 0] * X[:, 1], np.sin(X[:, 2])])
    model = KANRegressor((3, 3), **FAST, squash=squash).fit(X, Y)
    parts = model.explain(X)
    np.testing.assert_allclose(parts.total(), model.predict(X), atol=1e-9)
    base = model.predict(model.references_[:: max(1, 60 // 32)][:32]).mean(axis=0)
    np.testing.assert_allclose(parts.base_values[0], base, atol=1e-9)


def test_a_baseline_itself_is_given_its_slopes() -> None:
    """Where row and baseline agree in a node, nothing is divided by zero."""
    X, y = product(20)
    model = KANRegressor((3,), **FAST).fit(X, y)
    parts = model.explain(model.references_)
    assert np.isfinite(parts.values).all()
    parts.check_faithful(model, model.references_)


def test_importances_find_what_matters() -> None:
    X, y = product(400, 5)
    model = KANRegressor((3,), grid_size=3, max_epochs=20, random_state=0).fit(X, y)
    share = model.feature_importances_
    assert share[:2].min() > 5 * share[2:].max()
    assert share.sum() == pytest.approx(1)


def test_constant_columns_have_no_importance() -> None:
    X, y = product(60, 3)
    X[:, 2] = 4.0
    model = MetaKANRegressor((3,), **SMALL).fit(X, y)
    assert model.feature_importances_[2] == 0


def test_shares_are_passed_back() -> None:
    sizes = [np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([[3.0, 1.0]])]
    inputs, hidden, outputs = input_shares(sizes)
    assert outputs.tolist() == [1.0]
    assert hidden.tolist() == [0.75, 0.25]
    assert inputs.tolist() == [0.1875, 0.5625]  # what reaches a node at rest is lost


def test_edge_importance_is_the_deviation_of_the_edge(fitted: Any) -> None:
    model, X = fitted
    curves = model.explain(X, kind="edge-curves")
    for layer, sizes in enumerate(model.edge_importances_):
        values = curves.contributions(layer)
        np.testing.assert_allclose(sizes, values.std(axis=0), atol=1e-9)
        nodes = curves.activations[:, curves._nodes_of(layer)]
        ranges = model.node_ranges_[layer]
        np.testing.assert_allclose(ranges[:, 0], nodes.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(ranges[:, 1], nodes.max(axis=0), atol=1e-12)


def test_sizes_are_weighted() -> None:
    X, y = product(40)
    weight = np.random.default_rng(1).integers(1, 4, 40)
    model = KANRegressor((), **FAST).fit(X, y, sample_weight=weight)
    values = model.explain(X, kind="edge-curves").contributions(0)[:, 0]
    mean = np.average(values, axis=0, weights=weight)
    variance = np.average((values - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(model.edge_importances_[0][0] ** 2, variance, atol=1e-9)


def test_cells_beyond_the_training_range_are_clipped(fitted: Any) -> None:
    """And it is said: once per call, with the column."""
    model, X = fitted
    low, high = X.min(axis=0), X.max(axis=0)
    far = high + 0.1 * (high - low)
    with pytest.warns(UserWarning, match="training range in x0, x1, x2;") as told:
        values = model.predict([far, far + 5])
    assert len(told) == 1
    np.testing.assert_allclose(values[0], values[1], atol=1e-9)
    with pytest.warns(UserWarning, match="training range in x1;") as told:
        model.explain([[0.0, 7.0, 0.0]])
    assert len(told) == 1


def test_cells_that_fit_has_seen_are_not_warned_of() -> None:
    """Also those of validation rows; later passes bring the grid no wider."""
    X, y = product(20)
    X[:, 0] = 3.0 ** np.arange(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            KANRegressor((), **{**FAST, "random_state": seed}).fit(X, y).predict(X)
    model = KANRegressor((), **FAST).partial_fit(X, y)
    with pytest.warns(UserWarning, match="training range in x0, x1;"):
        model.partial_fit(X * 2, y)


def test_unknown_layers_are_refused(fitted: Any) -> None:
    model, _ = fitted
    for layer in (2, -1, True, "first"):
        with pytest.raises(ValueError, match="layer="):
            model.coefficients(layer)


def test_curves_in_the_units_of_the_table() -> None:
    """Through steps in front, curves are drawn over the user's own columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 60, 80), "dose": rng.gamma(2.0, 3.0, 80)})
    y = X["age"] / 10 + np.sqrt(X["dose"])
    pipe = make_pipeline(StandardScaler(), MetaKANRegressor((3,), **SMALL)).fit(X, y)
    curves = skinterp.explain(pipe)
    grid, _ = curves.curves(0)
    assert curves.feature_names == ("age", "dose")
    np.testing.assert_allclose(grid[:, 0], X.min(), rtol=1e-6)
    np.testing.assert_allclose(grid[:, -1], X.max(), rtol=1e-6)
    curves.check_faithful(pipe, X)
    bent = make_pipeline(PowerTransformer(), MetaKANRegressor((3,), **SMALL)).fit(X, y)
    names = skinterp.explain(bent).feature_names
    assert names == ("[transformed age]", "[transformed dose]")
    skinterp.explain(bent, X, kind="edge-curves").check_faithful(bent, X)


def test_no_warning_where_codes_pay() -> None:
    X, y = product(40, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MetaKANRegressor((8,), **SMALL).fit(X, y)
