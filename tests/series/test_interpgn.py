"""The estimators of InterpGN: what they learn, mix, refuse and say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skinterp.neural import Batch  # noqa: E402
from skinterp.series import (  # noqa: E402
    InterpGNClassifier,
    ShapeletBottleneckClassifier,
)
from skinterp.testing import parametrize_with_methods  # noqa: E402
from skinterp.testing._check import CHECKS  # noqa: E402

RNG = np.random.default_rng(0)
QUICK = {"n_shapelets": 3, "lengths": (0.2,), "lr": 0.02, "random_state": 0}


def small_net(n_channels: int, n_timepoints: int, n_outputs: int):
    """A deep expert that takes no time."""
    layers = [torch.nn.Flatten(), torch.nn.Linear(n_channels * n_timepoints, n_outputs)]
    return torch.nn.Sequential(*layers)


def bumps(n: int = 80, n_points: int = 40, seed: int = 0):
    """Noise with a bump upwards or downwards anywhere."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(scale=0.3, size=(n, 1, n_points))
    for row, label, start in zip(X, y, rng.integers(0, n_points - 8, n), strict=True):
        row[0, start : start + 8] += np.hanning(8) * (3 if label else -3)
    return X, np.array(["down", "up"])[y]


X, Y = bumps()
NEW, TRUTH = bumps(seed=1)


@pytest.fixture(scope="module")
def mixed():
    return InterpGNClassifier(**QUICK, deep=small_net, max_epochs=60).fit(X, Y)


@pytest.fixture(scope="module")
def bottleneck():
    return ShapeletBottleneckClassifier(**QUICK, max_epochs=60).fit(X, Y)


# -- what is learnt --------------------------------------------------------------------
def test_shapelets_are_found_anywhere(bottleneck):
    assert bottleneck.score(NEW, TRUTH) > 0.95
    assert (bottleneck.gate(NEW) == 1).all()
    np.testing.assert_array_equal(
        bottleneck.predict(NEW), bottleneck.predict_interpretable(NEW)
    )


def test_rules_stay_good_beside_a_deep_expert(mixed, bottleneck):
    alone = (mixed.predict_interpretable(NEW) == TRUTH).mean()
    assert alone >= bottleneck.score(NEW, TRUTH) - 0.05
    starved = InterpGNClassifier(**QUICK, max_epochs=20, beta=0.0).fit(X, Y)
    assert starved.gate(NEW).mean() < mixed.gate(NEW).mean()


def test_series_of_handwritten_digits():
    digits, labels = load_digits(n_class=4, return_X_y=True)
    images = digits.reshape(-1, 8, 8)
    model = InterpGNClassifier(
        n_shapelets=3, lengths=(0.5, 0.8), max_epochs=12, random_state=0
    )
    model.fit(images[:300], labels[:300])
    assert model.score(images[300:600], labels[300:600]) > 0.95


def test_shares_come_from_the_rules(mixed):
    s = mixed.interpretable_function(NEW)
    q = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mixed.gate(NEW), 2 * (q**2).sum(axis=1) - 1, atol=1e-9)
    np.testing.assert_allclose(s, mixed.predicates(NEW) @ mixed.rules_.T, atol=1e-9)


def test_the_threshold_hands_over_to_the_rules(mixed):
    given = {"deep": small_net, "max_epochs": 60, "gate_threshold": 0.0}
    model = InterpGNClassifier(**QUICK, **given).fit(X, Y)
    assert model.best_epoch_ == mixed.best_epoch_  # no part of the training
    np.testing.assert_array_equal(model.predict(NEW), model.predict_interpretable(NEW))
    assert (model.gate(NEW) == 1).all()


def test_without_a_deep_expert_it_is_the_bottleneck(bottleneck):
    model = InterpGNClassifier(**QUICK, deep=None, max_epochs=60).fit(X, Y)
    np.testing.assert_array_equal(model.rules_, bottleneck.rules_)
    np.testing.assert_array_equal(
        model.predict_proba(NEW), bottleneck.predict_proba(NEW)
    )


def test_epochs_are_compared_by_both_losses(mixed):
    code = (TRUTH == "up").astype(float)
    inputs = tuple(torch.tensor(part) for part in mixed._transform_inputs(NEW))
    batch = Batch(inputs, torch.tensor(code[:, None]))
    module = mixed.module_
    with torch.no_grad():
        found = float(mixed._validation_loss(module, batch))
    s = mixed.interpretable_function(NEW)
    own = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
    expected = log_loss(TRUTH, mixed.predict_proba(NEW)) + log_loss(TRUTH, own)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("schedule", "halfway", "end"),
    [("constant", 2.0, 2.0), ("cosine", 1.0, 0.0), ("linear", 1.0, 0.0)],
)
def test_weight_of_the_rules_own_loss(schedule, halfway, end):
    model = InterpGNClassifier(beta=2.0, beta_schedule=schedule)
    assert model._beta_at(0, 10) == 2
    assert model._beta_at(5, 10) == pytest.approx(halfway)
    assert model._beta_at(10, 10) == pytest.approx(end)


def test_rules_that_only_speak_for_a_class():
    model = ShapeletBottleneckClassifier(
        **QUICK, max_epochs=10, nonnegative_rules=True
    ).fit(X, Y)
    assert model.rules_.min() == 0


def test_larger_penalties_give_smaller_rules_and_other_shapelets():
    def fitted(**options):
        model = ShapeletBottleneckClassifier(**QUICK, max_epochs=60, patience=None)
        return model.set_params(validation_fraction=None, **options).fit(X, Y)

    def nearest(model):
        values = np.stack([shape["values"] for shape in model.shapelets_])
        gaps = np.linalg.norm(values[:, None] - values[None], axis=2)
        return np.exp(-gaps[~np.eye(3, dtype=bool)]).mean()

    plain = fitted(lambda_reg=0.0, lambda_div=0.0)
    assert np.abs(fitted(lambda_reg=1.0).rules_).sum() < np.abs(plain.rules_).sum()
    assert nearest(fitted(lambda_div=30.0)) < nearest(plain)


@pytest.mark.parametrize("distance", ["l1", "l2", "cosine", "pearson"])
@pytest.mark.parametrize("deep", ["resnet", small_net])
def test_all_distances_and_deep_experts_explain_themselves(distance, deep):
    model = InterpGNClassifier(**QUICK, deep=deep, distance=distance, max_epochs=2)
    model.fit(X[:20], Y[:20])
    for rows in (None, NEW[:5]):
        model.explain(rows).check_faithful(model, NEW[:5])


@pytest.mark.parametrize("n_points", [3, 4, 6, 11, 13, 14])
def test_short_series(n_points):
    short = RNG.normal(size=(12, 2, n_points))
    model = InterpGNClassifier(n_shapelets=1, max_epochs=1, batch_size=4)
    model.fit(short, np.arange(12) % 3)
    assert np.isfinite(model.predict_proba(short)).all()


def test_too_short_series_are_refused():
    with pytest.raises(ValueError, match=r"length 2; at least 3 time points"):
        InterpGNClassifier().fit(RNG.normal(size=(12, 1, 2)), np.arange(12) % 2)


# -- containers ------------------------------------------------------------------------
def test_the_same_series_in_any_container(bottleneck):
    expected = bottleneck.predict_proba(NEW)
    cells = pd.DataFrame({"pulse": [pd.Series(case[0]) for case in NEW]})
    for given in (NEW[:, 0], list(NEW), pd.DataFrame(NEW[:, 0]), cells):
        np.testing.assert_array_equal(bottleneck.predict_proba(given), expected)


def test_names_of_channels_are_those_of_the_frame():
    cells = pd.DataFrame({"pulse": list(X[:20, 0]), "breath": list(X[20:40, 0])})
    model = ShapeletBottleneckClassifier(**QUICK, max_epochs=1).fit(cells, Y[:20])
    assert model.explain().feature_names == ("pulse", "breath")


def test_shorter_series_are_padded_by_choice():
    ragged = [case[:, : 40 - i % 3] for i, case in enumerate(X)]
    model = ShapeletBottleneckClassifier(**QUICK, max_epochs=1)
    with pytest.raises(ValueError, match="pad='edge' or 'zero'"):
        model.fit(ragged, Y)
    model.set_params(pad="edge").fit(ragged, Y)
    assert model.n_timepoints_in_ == 40
    padded = np.stack(
        [np.pad(c, ((0, 0), (0, 40 - c.shape[1])), "edge") for c in ragged]
    )
    np.testing.assert_array_equal(model.predicates(ragged), model.predicates(padded))
    with pytest.raises(ValueError, match="case 0 has the length 41"):
        model.predict(np.zeros((2, 1, 41)))


def test_searches_and_scores_of_scikit_learn():
    model = ShapeletBottleneckClassifier(**QUICK, max_epochs=25, batch_size=8)
    search = GridSearchCV(model, {"n_shapelets": [1, 3]}, cv=2).fit(X, Y)
    assert search.best_estimator_.explain(NEW[:1]).kind == "shapelet-rules"
    assert cross_val_score(model, list(X), Y, cv=2).mean() > 0.8


# -- explanation -----------------------------------------------------------------------
def test_what_is_said_of_a_series(mixed):
    one = mixed.explain(NEW[:1])
    label, share = mixed.predict(NEW[:1])[0], mixed.gate(NEW[:1])[0]
    chance = mixed.predict_proba(NEW[:1]).max()
    said = one.to_text().splitlines()[0]
    only = "only " if share < 0.5 else ""
    decide = f"shapelets decide {only}{100 * share:.0f} %"
    assert said.startswith(f"row 0: {label} (probability {chance:.2f}), {decide}")
    heaviest = np.abs(one.contributions()[0]).argmax()
    assert f"shapelet {heaviest} in channel 0" in one.to_text().splitlines()[1]


def test_contributions_sum_to_what_the_shapelets_say(mixed):
    said = mixed.explain(NEW)
    total = said.contributions().sum(axis=1)
    alone = mixed.interpretable_function(NEW)
    np.testing.assert_allclose(total, alone[np.arange(len(NEW)), said.target])
    spread = said.evidence().sum(axis=(1, 2))
    np.testing.assert_allclose(spread, total, atol=1e-9)


def test_measures_of_the_rules(bottleneck):
    found = bottleneck.quality(NEW, TRUTH)
    right = bottleneck.predict(NEW) == TRUTH
    code = (TRUTH == "up").astype(int)
    distance = np.sqrt(-np.log(bottleneck.predicates(NEW)))
    votes = np.maximum(bottleneck.rules_, 0)[code]
    expected = (distance * votes).mean(axis=1)[right].mean()
    assert found["shapelet_error"] == pytest.approx(expected)
    assert found["largest_weight"] == np.abs(bottleneck.rules_).max()
    assert found["weights_above_0.1"] == (np.abs(bottleneck.rules_) > 0.1).mean()
    assert (found["mean_share"], found["sd_share"]) == (1, 0)


def test_a_lie_is_found_out(mixed):
    said = mixed.explain(NEW[:4])
    said.check_faithful(mixed, NEW[:4])
    moved = np.where(said.starts > 0, said.starts - 1, said.starts + 1)
    for changes in (
        {"starts": moved},
        {"share": 1 - said.share},
        {"predicates": said.predicates * 0.9},
        {"weights": said.weights * 1.1},
        {"prediction": said.prediction[:, ::-1]},
        {"values": said.values + 0.1},
        {"epsilon": 2 * said.epsilon},
    ):
        with pytest.raises(AssertionError, match="row 0"):
            said._with(**changes).check_faithful(mixed, NEW[:4])


def test_a_fitted_model_does_not_follow_its_parameters(mixed):
    expected = mixed.predict_proba(NEW)
    deep = mixed.deep
    mixed.set_params(deep=None)
    np.testing.assert_array_equal(mixed.predict_proba(NEW), expected)
    mixed.set_params(deep=deep)


def test_large_sets_are_evaluated_in_parts(mixed, monkeypatch):
    whole = mixed.predict_proba(NEW)
    monkeypatch.setattr("skinterp.series._interpgn_core._BUDGET", 40 * 256 * 7)
    assert mixed._rows_at_once() == 7
    np.testing.assert_allclose(mixed.predict_proba(NEW), whole, atol=1e-12)


# -- the battery for the class that has no row of its own -----------------------------
@parametrize_with_methods([ShapeletBottleneckClassifier])
def test_bottleneck(estimator, check, request):
    # what needs pictures or a fresh process is done for its sibling
    slow = check.name in CHECKS and CHECKS[check.name].topic in (
        "displays",
        "processes",
    )
    if (slow or "fresh" in check.name) and not request.config.option.runslow:
        pytest.skip("with --runslow")
    check(estimator)
