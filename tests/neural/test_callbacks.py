"""Callbacks of skorch among the parameters, and the ways in which a fit can end."""

import io
from contextlib import redirect_stderr

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from small_nets import PerceptronClassifier, PerceptronRegressor, table

torch = pytest.importorskip("torch")
callbacks = pytest.importorskip("skorch.callbacks")


class Interrupts(callbacks.Callback):
    """A user who presses Ctrl-C in some epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, net, **kwargs):
        """Press it, deep in some function."""
        if len(net.history) == self.epoch:
            press()


def press():
    """Interrupt from elsewhere than a callback's own frame."""
    raise KeyboardInterrupt


class Stops(callbacks.Callback):
    """The way in which skorch's callbacks end a training."""

    def __init__(self, epoch=2):
        self.epoch = epoch

    def on_epoch_end(self, net, **kwargs):
        """Stop."""
        if len(net.history) == self.epoch:
            raise KeyboardInterrupt


class Counts(callbacks.Callback):
    """Looks at every batch, and records how many rows it has seen."""

    def on_epoch_begin(self, net, **kwargs):
        """Count anew."""
        self.rows_ = {True: 0, False: 0}

    def on_batch_end(self, net, batch, training, loss, y_pred, **kwargs):
        """Count the rows."""
        assert len(batch[0]) == len(batch[1]) == len(y_pred)
        assert np.isfinite(float(loss.detach()))
        self.rows_[training] += len(y_pred)

    def on_epoch_end(self, net, **kwargs):
        """Record them, for the history."""
        net.history.record("rows", float(self.rows_[True]))
        net.history.record("valid_rows", float(self.rows_[False]))


def test_early_stopping_of_skorch_stops():
    X, y, _ = table()
    stopper = callbacks.EarlyStopping(patience=2, sink=lambda text: None)
    model = PerceptronRegressor(
        lr=0.5, max_epochs=50, patience=None, callbacks=[stopper], random_state=0
    ).fit(X, y)
    assert model.n_iter_ < 50
    assert stopper.misses_ == 0  # a copy was used


def test_callback_that_stops_is_no_interrupt():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=9, callbacks=[Stops()], random_state=0)
    assert model.fit(X, y).n_iter_ == 2


def test_interrupt_keeps_the_best_weights_so_far():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=9, callbacks=[Interrupts(3)], random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 3
    two = PerceptronRegressor(max_epochs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), two.predict(X))


def test_interrupt_in_the_first_epoch_leaves_the_estimator_as_it_was():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=9, callbacks=[Interrupts(1)], random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "weights_")
    model.set_params(callbacks=None).fit(X, y)
    before = model.predict(X)
    model.set_params(callbacks=[Interrupts(1)])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_failed_fit_leaves_the_estimator_as_it_was():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=2, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X[:, :2], np.full(len(y), np.nan))
    np.testing.assert_array_equal(model.predict(X), before)


def test_scores_of_callbacks_stand_in_the_history():
    X, _, labels = table()
    scores = [
        callbacks.EpochScoring("roc_auc", lower_is_better=False, name="auc"),
        callbacks.EpochScoring("accuracy", lower_is_better=False, use_caching=False),
        callbacks.EpochScoring(
            "accuracy", lower_is_better=False, on_train=True, name="train_accuracy"
        ),
    ]
    model = PerceptronClassifier(
        lr=0.05, max_epochs=20, patience=None, callbacks=scores, random_state=0
    ).fit(X, labels)
    for name in ("auc", "accuracy", "train_accuracy"):
        assert len(model.history_[name]) == 20
        assert model.history_[name][-1] > 0.8
    plain = clone(model).set_params(callbacks=None).fit(X, labels)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_batches_are_told_when_somebody_listens():
    X, y, _ = table()
    model = PerceptronRegressor(
        max_epochs=2, batch_size=50, callbacks=[Counts], random_state=0
    ).fit(X, y)
    assert model.history_["rows"].tolist() == [180, 180]
    assert model.history_["valid_rows"].tolist() == [20, 20]
    quiet = clone(model).set_params(callbacks=None).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), quiet.predict(X))


def test_clipped_gradients_change_the_training():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=3, optimizer="sgd", lr=0.5, random_state=0)
    plain = clone(model).fit(X, y).predict(X)
    clip = callbacks.GradientNormClipping(1e-6)
    clipped = clone(model).set_params(callbacks=[clip]).fit(X, y).predict(X)
    assert np.ptp(plain) > np.ptp(clipped)


def test_schedule_of_skorch_is_taken():
    X, y, _ = table()
    schedule = callbacks.LRScheduler("StepLR", step_size=1, gamma=0.5)
    for params in ({"scheduler": schedule}, {"callbacks": [schedule]}):
        model = PerceptronRegressor(max_epochs=3, lr=0.1, random_state=0, **params)
        np.testing.assert_allclose(model.fit(X, y).history_["lr"], [0.1, 0.05, 0.025])


def test_parameters_of_callbacks_are_searched():
    X, y, _ = table()
    model = PerceptronRegressor(
        max_epochs=6, callbacks=[("stop", Stops(2)), ("gone", Stops(1))], random_state=0
    )
    model.set_params(callbacks__gone=None)
    search = GridSearchCV(model, {"callbacks__stop__epoch": [3, 5]}, cv=2).fit(X, y)
    assert (
        search.best_estimator_.n_iter_ == search.best_params_["callbacks__stop__epoch"]
    )
    assert model.get_params()["callbacks__stop__epoch"] == 2  # searches work on clones


def test_set_params_is_always_legal():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=2, random_state=0).fit(X, y)
    before = model.predict(X)
    model.set_params(max_epochs=7, batch_size=1, device="cuda", callbacks=[Stops()])
    np.testing.assert_array_equal(model.predict(X), before)
    model.set_params(callbacks__Stops__epoch=4)
    assert model.callbacks[0][1].epoch == 4
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([3], "no skorch callback"),
        ([("a", Stops()), ("a", Stops())], "'a' twice"),
        ([("a", Stops(), 1)], r"\(name, callback\)"),
        ("early", "callbacks"),
    ],
)
def test_wrong_callbacks_are_refused_by_fit(value, message):
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=1).set_params(callbacks=value)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_unknown_name_of_a_callback_is_refused():
    model = PerceptronRegressor(callbacks=[Stops(), Stops(3)])
    assert model.get_params()["callbacks__Stops_2__epoch"] == 3
    with pytest.raises(ValueError, match=r"no callback 'other'.*Stops_1"):
        model.set_params(callbacks__other__epoch=1)


def test_bar_shows_the_losses():
    X, y, _ = table()
    stream = io.StringIO()
    with redirect_stderr(stream):
        PerceptronRegressor(max_epochs=2, verbose=1, random_state=0).fit(X, y)
    assert "PerceptronRegressor" in stream.getvalue()
    assert "valid_loss" in stream.getvalue()


@pytest.mark.parametrize("fraction", [0.1, None])
def test_checkpoints_are_written(tmp_path, fraction):
    X, y, _ = table()
    monitor = "valid_loss_best" if fraction else "train_loss_best"
    kept = callbacks.Checkpoint(monitor=monitor, dirname=tmp_path, f_pickle="net.pkl")
    last = callbacks.TrainEndCheckpoint(dirname=tmp_path)
    model = PerceptronRegressor(
        max_epochs=3,
        validation_fraction=fraction,
        callbacks=[kept, last],
        random_state=0,
    ).fit(X, y)
    written = torch.load(tmp_path / "params.pt")
    np.testing.assert_array_equal(written["0.weight"], model.weights_["0.weight"])
    names = {path.name for path in tmp_path.iterdir()}
    assert {"params.pt", "optimizer.pt", "history.json", "net.pkl"} < names
    assert "train_end_params.pt" in names


EVENTS = [name for name in dir(callbacks.Callback) if name.startswith("on_")]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("fraction", [0.1, None])
def test_callback_stops_at_any_event(event, fraction):
    def stop(self, net, *args, **kwargs):
        raise KeyboardInterrupt

    X, y, _ = table()
    stopper = type("Stopper", (callbacks.Callback,), {event: stop})
    model = PerceptronRegressor(
        max_epochs=3,
        verbose=1,
        validation_fraction=fraction,
        callbacks=[stopper],
        random_state=0,
    )
    with redirect_stderr(io.StringIO()):
        model.fit(X, y)
    epochs = {"on_train_begin": 0, "on_train_end": 3}.get(event, 1)
    assert model.n_iter_ == len(model.history_["epoch"]) == epochs
    assert model.best_epoch_ == {
        "on_epoch_end": 1,
        "on_train_end": model.best_epoch_,
    }.get(event, 0)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("event", [*EVENTS, "initialize"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_error_at_any_event_comes_out_as_itself(event, error):
    def fail(*args, **kwargs):
        raise error("here")

    X, y, _ = table()
    failing = type(
        "Failing",
        (callbacks.Callback,),
        {event: lambda self, *args, **kwargs: fail()},
    )
    model = PerceptronRegressor(
        max_epochs=2, verbose=1, callbacks=[failing], random_state=0
    )
    with redirect_stderr(io.StringIO()), pytest.raises(error, match="here"):
        model.fit(X, y)
    done = event in ("on_epoch_end", "on_train_end") and error is KeyboardInterrupt
    assert hasattr(model, "weights_") == (done and event == "on_train_end")


def test_table_of_skorch_is_printed_when_verbose(capsys):
    X, y, _ = table()
    log = ("print_log", callbacks.PrintLog())
    for verbose in (0, 1):
        PerceptronRegressor(
            max_epochs=2, verbose=verbose, callbacks=[log], random_state=0
        ).fit(X, y)
        assert ("valid_loss" in capsys.readouterr().out) == bool(verbose)


@pytest.mark.parametrize("name", ["_monitor", "a__b"])
def test_names_that_could_not_be_told_apart_are_refused(name):
    X, y, _ = table()
    with pytest.raises(ValueError, match=f"name '{name}'"):
        PerceptronRegressor(callbacks=[(name, Stops())]).fit(X, y)


@pytest.mark.parametrize("callback", [None, Stops])
def test_parameters_of_what_is_no_instance_cannot_be_set(callback):
    model = PerceptronRegressor(callbacks=[("stop", callback)])
    with pytest.raises(ValueError, match="callbacks__stop__epoch"):
        model.set_params(callbacks__stop__epoch=3)
    model.set_params(callbacks__stop__epoch=3, callbacks__stop=Stops())
    assert model.callbacks[0][1].epoch == 3


def test_schedule_may_be_a_class_and_is_copied():
    X, y, _ = table()
    given = callbacks.LRScheduler("StepLR", step_size=1)
    for schedule in (callbacks.LRScheduler, given):
        model = PerceptronRegressor(max_epochs=2, scheduler=schedule, random_state=0)
        assert len(model.fit(X, y).history_["lr"]) == 2
    assert not hasattr(given, "lr_scheduler_")


def test_several_outputs_of_a_module_are_told():
    class Pair(PerceptronRegressor):
        @staticmethod
        def _build_module(config):
            class Net(torch.nn.Linear):
                def forward(self, x):
                    return super().forward(x), x

            return Net(config["n_in"], config["n_out"])

        def _training_loss(self, module, batch):
            output, _ = module(*batch.inputs)
            return batch.mean(self._loss(output, batch.target))

        _validation_loss = _training_loss

    class Looks(callbacks.Callback):
        def on_batch_end(self, net, batch, training, loss, y_pred, **kwargs):
            assert not any(part.requires_grad for part in y_pred)
            net.history.record("seen", float(len(y_pred)))

    X, y, _ = table()
    model = Pair(max_epochs=1, callbacks=[Looks], random_state=0).fit(X, y)
    assert model.history_["seen"].tolist() == [2.0]


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3)])
def test_numbers_that_callbacks_record_stand_in_the_history(value):
    class Records(callbacks.Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 2:
                net.history.record("mine", value)
            net.history.record("text", "none")
            net.history.record("mark", True)

    X, y, _ = table()
    model = PerceptronRegressor(
        max_epochs=3, warm_start=True, callbacks=[Records], random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.history_["mine"], [np.nan, 3, np.nan])
    expected = ["epoch", "train_loss", "valid_loss", "lr", "mine"]
    assert list(model.history_) == expected
    model.set_params(callbacks=None, max_epochs=1).fit(X, y)
    np.testing.assert_array_equal(model.history_["mine"], [np.nan, 3] + [np.nan] * 2)
