"""Numbers predicted from shapelets and a deep network."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skinterp.series import InterpGNRegressor  # noqa: E402

QUICK = {"n_shapelets": 3, "lengths": (0.2,), "lr": 0.02, "random_state": 0}


def small_net(n_channels: int, n_timepoints: int, n_outputs: int):
    """A deep expert that takes no time."""
    layers = [torch.nn.Flatten(), torch.nn.Linear(n_channels * n_timepoints, n_outputs)]
    return torch.nn.Sequential(*layers)


@pytest.fixture(scope="module")
def heights():
    rng = np.random.default_rng(0)
    y = rng.uniform(-3, 3, 80)
    series = rng.normal(scale=0.3, size=(80, 1, 40))
    series[:, 0, 10:18] += np.hanning(8) * y[:, None]
    return series, 100 + 10 * y


@pytest.fixture(scope="module")
def regressor(heights):
    return InterpGNRegressor(**QUICK, deep=small_net, max_epochs=60).fit(*heights)


def test_numbers_are_predicted_in_their_units(regressor, heights):
    series, y = heights
    assert regressor.score(series, y) > 0.9
    p = regressor.predicates(series)
    alone = p @ regressor.rules_[0] + regressor.base_
    np.testing.assert_allclose(regressor.predict_interpretable(series), alone)
    assert np.corrcoef(alone, y)[0, 1] > 0.9


def test_ranges_hold_about_equally_many_series(regressor, heights):
    _, y = heights
    counts = np.histogram(y, [-np.inf, *regressor.bin_edges_, np.inf])[0]
    assert len(counts) == 5
    assert counts.min() >= 10


@pytest.mark.parametrize(
    ("y", "n"), [([1.0] * 20, 1), ([0, 1] * 10, 2), ([0] * 19 + [1], 2)]
)
def test_numbers_with_few_values_have_fewer_ranges(y, n):
    model = InterpGNRegressor(**QUICK, deep=small_net, max_epochs=2)
    X = np.random.default_rng(0).normal(size=(20, 1, 40))
    model.set_params(validation_fraction=None).fit(X, y)
    assert len(model.bin_edges_) == n - 1
    assert np.isfinite(model.predict(X)).all()


def test_several_outputs_are_refused():
    with pytest.raises(ValueError, match="y should be a 1d array"):
        InterpGNRegressor().fit(np.ones((8, 1, 40)), np.ones((8, 2)))


def test_contributions_sum_to_what_the_shapelets_say(regressor, heights):
    series, _ = heights
    said = regressor.explain(series)
    total = said.contributions().sum(axis=1) + said.base
    np.testing.assert_allclose(total, regressor.predict_interpretable(series))
    assert said.to_text().startswith("row 0: y = ")


def test_the_prediction_is_mixed_by_the_gate(regressor, heights):
    series, _ = heights
    eta, alone = regressor.gate(series), regressor.predict_interpretable(series)
    inputs = regressor._transform_inputs(series)
    with torch.no_grad():
        deep = regressor.module_.deep(torch.tensor(inputs[1])).numpy()[:, 0]
    other = deep * regressor.target_scale_ + regressor.target_mean_
    expected = eta * alone + (1 - eta) * other
    np.testing.assert_allclose(regressor.predict(series), expected)


def test_ranges_are_learnt_for_the_gate(regressor, heights):
    series, y = heights
    scores = torch.tensor(regressor._answer(series).scores).argmax(dim=1).numpy()
    right = np.abs(scores - np.searchsorted(regressor.bin_edges_, y)) <= 1
    assert right.mean() > 0.7
