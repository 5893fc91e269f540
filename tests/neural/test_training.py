"""The training itself: losses, weights kept, hooks, weights of rows, numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from small_nets import (
    LineRegressor,
    PerceptronClassifier,
    PerceptronRegressor,
    table,
)

from skinterp.neural._data import split_rows

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")


def test_line_is_found_to_machine_precision_by_lbfgs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    coef = np.array([[2.0, 0.0], [-1.0, 3.0], [0.5, 1.0]])
    y = 100 * (X @ coef) + [7.0, -900.0]
    model = LineRegressor(
        optimizer="lbfgs", max_epochs=20, validation_fraction=None, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=2e-3)
    assert model.predict(X).shape == (50, 2)
    assert len(model.history_["train_loss"]) == 20
    assert "valid_loss" not in model.history_


def test_perceptron_learns_what_no_line_can():
    X, y, labels = table(1000)
    model = PerceptronRegressor(lr=0.02, max_epochs=60, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    judge = PerceptronClassifier(lr=0.02, max_epochs=60, random_state=0)
    assert judge.fit(X, labels).score(X, labels) > 0.93
    three = np.digitize(y, [-0.5, 0.5])
    assert judge.fit(X, three).predict_proba(X).shape == (1000, 3)
    assert judge.score(X, three) > 0.85


class Recorder(PerceptronRegressor):
    """Keeps the weights before each validation, and what hooks are called with."""

    def _module_config(self, data):
        self.calls_ = []
        self.states_ = []
        return super()._module_config(data)

    def _initialise(self, module, data):
        assert not torch.is_grad_enabled()
        self.calls_.append("initialise")

    def _end_of_epoch(self, module, data, epoch):
        self.calls_.append(epoch)
        self.states_.append({k: v.clone() for k, v in module.state_dict().items()})

    def _after_training(self, module, data):
        self.calls_.append("after")

    def _finish_fit(self, X, y, sample_weight):
        self.calls_.append("finish")
        assert self.predict(X).shape == y.shape


def test_best_weights_are_restored_and_patience_counts_from_them():
    X, y, _ = table()
    model = Recorder(lr=0.5, max_epochs=40, patience=4, random_state=1).fit(X, y)
    losses = model.history_["valid_loss"]
    best = int(np.argmin(losses))
    assert model.best_epoch_ == best + 1
    assert model.n_iter_ == len(losses) == best + 1 + 4 < 40
    for name, kept in model.weights_.items():
        np.testing.assert_array_equal(kept, model.states_[best][name].numpy())
    assert model.calls_ == [
        "initialise",
        *range(model.n_iter_),
        "after",
        "finish",
    ]


class TwoPhases(Recorder):
    """Has a validation loss near zero up to an epoch, and a growing one from there."""

    def _first_judged_epoch(self):
        return 6

    def _validation_loss(self, module, batch):
        late = batch.epoch >= 6
        return torch.tensor(10.0 * late + batch.epoch)


def test_epochs_before_the_first_judged_one_are_forgotten():
    """Neither is their loss compared with later ones, nor does patience count there."""
    X, y, _ = table()
    model = TwoPhases(max_epochs=40, patience=4, random_state=1).fit(X, y)
    assert (model.best_epoch_, model.n_iter_) == (7, 7 + 4)
    kept = model.states_[6]["0.weight"].numpy()
    np.testing.assert_array_equal(model.weights_["0.weight"], kept)


def test_a_phase_that_never_was_finite_leaves_the_one_before():
    class SecondPhaseBreaks(TwoPhases):
        def _validation_loss(self, module, batch):
            loss = super()._validation_loss(module, batch)
            return loss * float("nan") if batch.epoch >= 6 else loss

    X, y, _ = table()
    model = SecondPhaseBreaks(max_epochs=40, patience=4, random_state=1)
    with pytest.warns(ConvergenceWarning, match=r"epoch 7 .*epoch 1 are kept"):
        model.fit(X, y)
    assert model.best_epoch_ == 1


def test_without_patience_all_epochs_are_run():
    X, y, _ = table()
    model = PerceptronRegressor(lr=0.5, max_epochs=30, patience=None, random_state=1)
    assert model.fit(X, y).n_iter_ == 30


def test_without_validation_the_last_weights_are_kept():
    X, y, _ = table()
    for fraction in (0, None):
        model = Recorder(
            lr=0.5, max_epochs=12, validation_fraction=fraction, random_state=1
        ).fit(X, y)
        assert model.n_iter_ == model.best_epoch_ == 12
        last = model.states_[-1]["0.weight"].numpy()
        np.testing.assert_array_equal(model.weights_["0.weight"], last)


class BreaksDown(PerceptronRegressor):
    """Has no loss any more from the third epoch on."""

    broken = float("nan")

    def _training_loss(self, module, batch):
        loss = super()._training_loss(module, batch)
        return loss * self.broken if batch.epoch >= 2 else loss


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("fraction", [0.1, None])
def test_lost_loss_stops_with_the_last_good_weights(fraction, value):
    X, y, _ = table()
    params = {"validation_fraction": fraction, "random_state": 0, "lr": 0.01}
    model = BreaksDown(max_epochs=9, **params)
    model.broken = value
    with pytest.warns(ConvergenceWarning, match=r"finite numbers in epoch 3 .*epoch 2"):
        model.fit(X, y)
    assert (model.n_iter_, model.best_epoch_) == (3, 2)
    expected = PerceptronRegressor(max_epochs=2, **params).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_gradients_that_are_lost_in_the_last_step_are_not_kept():
    class LosesGradients(PerceptronRegressor):
        def _training_loss(self, module, batch):
            loss = super()._training_loss(module, batch)
            # finite, but with an infinite slope
            return loss + torch.sqrt(loss * 0.0) if batch.epoch == 1 else loss

    X, y, _ = table()
    model = LosesGradients(max_epochs=5, validation_fraction=None, random_state=0)
    with pytest.warns(ConvergenceWarning, match="epoch 2"):
        model.fit(X, y)
    assert model.best_epoch_ == 1
    assert np.isfinite(model.predict(X)).all()


def test_loss_lost_from_the_start_keeps_the_first_weights():
    X, y, _ = table()
    with pytest.warns(ConvergenceWarning, match="weights of epoch 0"):
        model = PerceptronRegressor(lr=1e30, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("net", [PerceptronRegressor, PerceptronClassifier])
def test_rows_of_weight_zero_are_as_if_they_were_not_there(net):
    X, y, labels = table()
    target = labels if net is PerceptronClassifier else y
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    model = net(max_epochs=3, random_state=0)
    there = weight > 0
    whole = clone(model).fit(X, target, sample_weight=weight)
    part = clone(model).fit(X[there], target[there], sample_weight=weight[there])
    np.testing.assert_array_equal(whole.weights_["0.weight"], part.weights_["0.weight"])
    equal = clone(model).fit(X, target, sample_weight=np.full(len(y), 0.3))
    none = clone(model).fit(X, target)
    np.testing.assert_array_equal(equal.weights_["0.weight"], none.weights_["0.weight"])
    huge = clone(model).fit(X, target, sample_weight=weight * 1e300)
    np.testing.assert_allclose(huge.weights_["0.weight"], whole.weights_["0.weight"])


def test_weights_of_rows_weigh():
    """With one feature that is constant, the answer is the weighted mean."""
    X = np.ones((40, 1))
    y = np.repeat([0.0, 10.0], 20)
    weight = np.repeat([1.0, 3.0], 20)
    model = LineRegressor(
        optimizer="lbfgs", max_epochs=5, validation_fraction=None, random_state=0
    ).fit(X, y, sample_weight=weight)
    assert model.predict([[1.0]])[0] == pytest.approx(7.5, abs=1e-4)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(200), "zero"),
        (np.full(200, -1.0), "sample_weight"),
        (np.ones(7), "sample_weight"),
        (np.full(200, np.nan), "sample_weight|NaN"),
    ],
)
def test_wrong_weights_are_refused(weight, message):
    X, y, _ = table()
    with pytest.raises(ValueError, match=message):
        PerceptronRegressor(max_epochs=1).fit(X, y, sample_weight=weight)


class OneFrozenLayer(PerceptronRegressor):
    """The first layer has a learning rate of its own, zero."""

    def _parameter_groups(self, module):
        first, last = module[0], module[3]
        return [
            {"params": first.parameters(), "lr": 0.0},
            {"params": last.parameters()},
        ]


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "adagrad", "rmsprop"])
def test_parameter_groups_have_rates_of_their_own(optimizer):
    X, y, _ = table()
    models = [
        OneFrozenLayer(
            max_epochs=n, optimizer=optimizer, validation_fraction=None, random_state=0
        ).fit(X, y)
        for n in (1, 4)
    ]
    first, later = (model.weights_ for model in models)
    np.testing.assert_array_equal(first["0.weight"], later["0.weight"])
    assert not np.array_equal(first["3.weight"], later["3.weight"])


def test_optimizer_may_be_a_class_and_gets_the_options_of_the_method():
    class Momentum(PerceptronRegressor):
        def _optimizer_options(self):
            return {"momentum": 0.9}

    X, y, _ = table()
    named = Momentum(max_epochs=3, optimizer="sgd", random_state=0).fit(X, y)
    given = Momentum(max_epochs=3, optimizer=torch.optim.SGD, random_state=0).fit(X, y)
    plain = PerceptronRegressor(max_epochs=3, optimizer="sgd", random_state=0)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert not np.array_equal(named.predict(X), plain.fit(X, y).predict(X))


def test_the_attempt_that_a_method_asks_for_is_kept():
    """All start alike; the estimator is that of one training, its parameters as set."""
    X, y, _ = table()

    class Trier(PerceptronRegressor):
        def _next_attempt(self, data, losses):
            plans = [{"lr": 1e-9}, {"lr": 0.02}, {"lr": 1e-4}]
            return plans[len(losses)] if len(losses) < 3 else 1

    model = Trier(max_epochs=5, random_state=0).fit(X, y)
    plain = PerceptronRegressor(lr=0.02, max_epochs=5, random_state=0).fit(X, y)
    assert model.get_params() == Trier(max_epochs=5, random_state=0).get_params()
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(
        model.history_["valid_loss"], plain.history_["valid_loss"]
    )


def test_an_interrupt_keeps_the_best_attempt_so_far():
    X, y, _ = table()

    class Cut(PerceptronRegressor):
        def _next_attempt(self, data, losses):
            return {"lr": 0.02 if not losses else 1e-6}

        def _initialise(self, module, data):
            if self.lr < 1e-3:
                raise KeyboardInterrupt

    model = Cut(max_epochs=5, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    plain = PerceptronRegressor(lr=0.02, max_epochs=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_penalty_belongs_to_the_training_alone():
    class Penalised(PerceptronRegressor):
        def _penalty(self, module, output):
            return output.sum() * 0 + 1000.0

    X, y, _ = table()
    model = Penalised(max_epochs=1, random_state=0).fit(X, y)
    plain = PerceptronRegressor(max_epochs=1, random_state=0).fit(X, y)
    assert model.history_["train_loss"][0] > 1000
    np.testing.assert_allclose(
        model.history_["valid_loss"], plain.history_["valid_loss"]
    )


def test_validation_draws_the_same_in_each_epoch():
    class Draws(PerceptronRegressor):
        drawn: list = []

        def _validation_loss(self, module, batch):
            noise = torch.rand(3, generator=batch.generator)
            self.drawn.append(noise.tolist())
            return super()._validation_loss(module, batch)

    X, y, _ = table()
    Draws(max_epochs=3, random_state=0).fit(X, y)
    assert Draws.drawn[0] == Draws.drawn[1] == Draws.drawn[2]


def test_schedules():
    X, y, _ = table()
    rates = {
        name: PerceptronRegressor(
            max_epochs=4, scheduler=name, lr=0.1, random_state=0, patience=None
        )
        .fit(X, y)
        .history_["lr"]
        for name in (None, "cosine", "exponential")
    }
    np.testing.assert_allclose(rates[None], 0.1)
    cosine = 0.05 * (1 + np.cos(np.pi * np.arange(4) / 4))
    np.testing.assert_allclose(rates["cosine"], cosine)
    np.testing.assert_allclose(rates["exponential"], 0.1 * 0.01 ** (np.arange(4) / 4))
    plateau = PerceptronRegressor(
        max_epochs=30, scheduler="plateau", lr=0.3, random_state=0, patience=None
    ).fit(X, y)
    assert plateau.history_["lr"][-1] < 0.05


def test_predictions_do_not_depend_on_the_rows_beside():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=3, random_state=0).fit(X, y)
    alone = np.concatenate([model.predict(row[None]) for row in X])
    np.testing.assert_allclose(model.predict(X), alone, rtol=1e-13)
    small = model._evaluate(X, batch_size=7)[:, 0]
    np.testing.assert_allclose(small, model._raw_outputs(X)[:, 0], rtol=1e-13)
    assert model.predict(X).dtype == np.float64


def test_module_is_the_torch_module_of_the_fit():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=2, random_state=0)
    assert not hasattr(model, "module_")
    model.fit(X, y)
    assert not model.module_.training
    assert model.module_ is model.module_
    outputs = model.module_(torch.as_tensor(X)).numpy()[:, 0]
    expected = outputs * model.target_scale_[0] + model.target_mean_[0]
    np.testing.assert_allclose(model.predict(X), expected)
    before = model.module_
    model.fit(X, y + 1)
    assert model.module_ is not before


def test_numbers_beyond_the_network_are_named():
    X, y, _ = table()
    X[7, 2] = 1e200
    with pytest.raises(ValueError, match=r"1e\+200 in column 'x2'"):
        PerceptronRegressor(max_epochs=1).fit(X, y)


def test_extreme_targets_are_standardised():
    X, y, _ = table()
    plain = PerceptronRegressor(max_epochs=3, random_state=0).fit(X, y)
    for scale, shift in ((1e300, 0.0), (1e-300, 0.0), (1.0, 1e6)):
        model = PerceptronRegressor(max_epochs=3, random_state=0)
        model.fit(X, y * scale + shift)
        got = (model.predict(X) - shift) / scale
        np.testing.assert_allclose(got, plain.predict(X), atol=1e-5)
    constant = PerceptronRegressor(max_epochs=3, random_state=0).fit(X, y * 0 + 5)
    np.testing.assert_allclose(constant.predict(X), 5, atol=1.0)


@given(
    st.integers(1, 60), st.floats(0, 0.95), st.integers(1, 4), st.integers(0, 2**31 - 1)
)
def test_split_is_a_partition(n_rows, fraction, n_classes, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(n_classes, size=n_rows)
    train, valid = split_rows(n_rows, fraction, labels, rng)
    rest = [] if valid is None else valid
    assert sorted([*train, *rest]) == list(range(n_rows))
    assert len(train) > 0
    if valid is not None:
        assert len(valid) == max(1, round(fraction * n_rows))


def test_split_is_by_class():
    labels = np.repeat([0, 1], [90, 10])
    _, valid = split_rows(100, 0.2, labels, np.random.RandomState(0))
    assert np.bincount(labels[valid]).tolist() == [18, 2]


def test_steps_of_an_epoch_are_of_equal_size():
    class Sizes(PerceptronRegressor):
        sizes: list = []

        def _training_loss(self, module, batch):
            self.sizes.append(len(batch.target))
            return super()._training_loss(module, batch)

    X, y, _ = table(201)
    params = {"max_epochs": 1, "validation_fraction": None, "random_state": 0}
    for size, expected in (
        (100, [67, 67, 67]),
        (200, [101, 100]),
        (201, [201]),
        (9999, [201]),
        (1, [1] * 201),
    ):
        Sizes.sizes.clear()
        Sizes(batch_size=size, **params).fit(X, y)
        assert Sizes.sizes == expected


@pytest.mark.parametrize("shape", [(-1,), (-1, 2)])
def test_output_that_torch_would_broadcast_is_refused(shape):
    class Wrong(LineRegressor):
        @staticmethod
        def _build_module(config):
            n_out = 2 if len(shape) == 2 else 1
            return torch.nn.Sequential(
                torch.nn.Linear(config["n_in"], n_out),
                torch.nn.Flatten(0) if len(shape) == 1 else torch.nn.Identity(),
            )

    X, y, _ = table()
    with pytest.raises(ValueError, match="one column per output"):
        Wrong(max_epochs=1).fit(X, y)


def test_no_rows_are_evaluated_to_none():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=1, random_state=0).fit(X, y)
    assert model._raw_outputs(X[:0]).shape == (0, 1)


def test_layout_of_the_inputs_does_not_matter():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=2, random_state=0)
    plain = clone(model).fit(X, y)
    fortran = clone(model).fit(np.asfortranarray(X), y)
    np.testing.assert_array_equal(
        plain.weights_["0.weight"], fortran.weights_["0.weight"]
    )
    np.testing.assert_array_equal(plain.predict(X), plain.predict(np.asfortranarray(X)))
