"""What is global stays as it was; what is fitted is numpy and goes everywhere."""

import pickle
import pickletools
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from small_nets import (
    DropoutRegressor,
    PerceptronClassifier,
    PerceptronRegressor,
    table,
)

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")


def fitted(**params):
    X, y, _ = table()
    return PerceptronRegressor(max_epochs=2, random_state=0, **params).fit(X, y), X


def test_seed_decides_and_nothing_else():
    X, y, _ = table()
    first = DropoutRegressor(max_epochs=3, random_state=0).fit(X, y).predict(X)
    torch.manual_seed(1)
    torch.rand(5)
    again = DropoutRegressor(max_epochs=3, random_state=0).fit(X, y).predict(X)
    other = DropoutRegressor(max_epochs=3, random_state=1).fit(X, y).predict(X)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_settings_of_torch_are_left_alone_and_do_not_matter():
    X, y, _ = table()
    expected = DropoutRegressor(max_epochs=2, random_state=0).fit(X, y).predict(X)
    generator = torch.get_rng_state()
    threads = torch.get_num_threads()
    try:
        torch.set_default_dtype(torch.float64)
        with torch.inference_mode():
            model = DropoutRegressor(max_epochs=2, random_state=0).fit(X, y)
            got = model.predict(X)
            assert torch.is_inference_mode_enabled()
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_array_equal(got, expected)
    assert torch.equal(generator, torch.get_rng_state())
    assert torch.get_num_threads() == threads
    assert model.weights_["0.weight"].dtype == np.float32


def test_default_dtype_is_restored_after_an_error():
    class Fails(PerceptronRegressor):
        def _initialise(self, module, data):
            raise RuntimeError("no")

    X, y, _ = table()
    generator = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="no"):
        Fails().fit(X, y)
    assert torch.get_default_dtype() == torch.float32
    assert torch.equal(generator, torch.get_rng_state())


def test_fits_in_threads_are_as_if_alone():
    X, y, _ = table()
    models = [DropoutRegressor(max_epochs=3, random_state=i) for i in range(4)]
    expected = [clone(model).fit(X, y).predict(X) for model in models]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda model: model.fit(X, y).predict(X), models))
    np.testing.assert_array_equal(got, expected)


def test_nothing_of_torch_is_stored():
    model, X = fitted()
    model.predict(X)
    text = pickle.dumps(model)
    words = {arg for _, arg, _ in pickletools.genops(text) if isinstance(arg, str)}
    assert not {word for word in words if word.startswith(("torch", "skorch"))}
    for copy in (pickle.loads(text), deepcopy(model)):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_stored_models_predict_the_same(tmp_path):
    model, X = fitted()
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict(X), model.predict(X))
    stored = skops.io.dumps(model)
    own = "small_nets.PerceptronRegressor"
    assert skops.io.get_untrusted_types(data=stored) == [own]
    loaded = skops.io.loads(stored, trusted=[own])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_models_of_devices_that_are_not_here_predict():
    model, X = fitted()
    before = model.predict(X)
    if torch.cuda.is_available():
        pytest.skip("this machine has the device")
    model.set_params(device="cuda")
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), before)


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta", ""])
def test_fit_on_a_device_that_is_not_here_is_refused(device):
    X, y, _ = table()
    with pytest.raises(ValueError, match="device="):
        PerceptronRegressor(device=device).fit(X, y)


def test_refit_forgets_what_the_earlier_fit_knew():
    X, y, _ = table()
    model = PerceptronRegressor(max_epochs=2, random_state=0).fit(X, y)
    model.extra_ = 1
    model.partial_fit(X, y)
    assert model.extra_ == 1
    model.fit(X, y)
    assert not hasattr(model, "extra_")
    assert model.n_iter_ == 2


def test_warm_start_goes_on():
    X, y, _ = table(1000)
    params = {"max_epochs": 5, "lr": 0.01, "random_state": 0}
    model = PerceptronRegressor(warm_start=True, **params).fit(X, y)
    first = model.history_["train_loss"]
    model.fit(X, y)
    assert model.n_iter_ == 10
    assert model.history_["train_loss"][5] < first[-1] * 1.05
    np.testing.assert_array_equal(model.history_["train_loss"][:5], first)
    assert model.best_epoch_ > 5
    cold = PerceptronRegressor(**params).fit(X, y).fit(X, y)
    np.testing.assert_array_equal(cold.history_["train_loss"], first)


def test_warm_start_takes_the_same_data_only():
    X, y, labels = table()
    model = PerceptronClassifier(max_epochs=2, warm_start=True, random_state=0)
    model.fit(X, labels)
    with pytest.raises(ValueError, match="2 features"):
        model.fit(X[:, :2], labels)
    with pytest.raises(ValueError, match=r"'new'.*none of the classes"):
        model.fit(X, np.where(y > 0, "new", "low"))
    number = PerceptronRegressor(max_epochs=1, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 outputs"):
        number.fit(X, np.column_stack([y, y]))


def test_partial_fit_goes_on_where_it_was_also_from_a_file():
    X, _, labels = table()
    model = PerceptronClassifier(lr=0.01, random_state=0)
    model.partial_fit(X[:100], labels[:100], classes=["high", "low"])
    stored = pickle.loads(pickle.dumps(model))
    for estimator in (model, stored):
        estimator.partial_fit(X[100:], labels[100:])
        estimator.partial_fit(X, labels)
    np.testing.assert_array_equal(model.predict_proba(X), stored.predict_proba(X))
    assert model.n_iter_ == 3
    assert "valid_loss" not in model.history_
    for _ in range(60):
        model.partial_fit(X, labels)
    assert model.score(X, labels) > 0.8


def test_partial_fit_keeps_the_moments_of_the_optimiser():
    """Adam without its memory would take other steps."""
    X, y, _ = table()
    model = PerceptronRegressor(random_state=0).partial_fit(X, y).partial_fit(X, y)
    forgetful = PerceptronRegressor(random_state=0).partial_fit(X, y)
    del forgetful._optimizer_memory
    forgetful.partial_fit(X, y)
    assert not np.array_equal(model.predict(X), forgetful.predict(X))


def test_partial_fit_needs_the_classes_once():
    X, _, labels = table()
    model = PerceptronClassifier(random_state=0)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, labels)
    model.partial_fit(X, labels, classes=["high", "low", "never"])
    assert model.predict_proba(X).shape == (200, 3)
    with pytest.raises(ValueError, match=r"\['a', 'b'\] is not the same"):
        model.partial_fit(X, labels, classes=["a", "b"])
    with pytest.raises(ValueError, match="one class"):
        PerceptronClassifier().fit(X, np.zeros(200))


def test_partial_fit_learns_the_scales_once():
    X, y, _ = table()
    model = PerceptronRegressor(random_state=0).partial_fit(X, y)
    scale = model.target_scale_
    model.partial_fit(X, 100 * y)
    np.testing.assert_array_equal(model.target_scale_, scale)


def test_parameters_may_change_between_calls_of_partial_fit():
    X, y, _ = table()
    model = PerceptronRegressor(random_state=0)
    kinds = ["adam", "sgd", "lbfgs", "adam", torch.optim.NAdam, "rmsprop", "adagrad"]
    for i, optimizer in enumerate(kinds):
        model.set_params(optimizer=optimizer, lr=0.01 * (i + 1)).partial_fit(X, y)
    rates = np.array([0.01, 0.02, 1.0, 0.04, 0.05, 0.06, 0.07])
    np.testing.assert_allclose(model.history_["lr"], rates)


def test_optimiser_starts_anew_after_a_fit():
    X, y, _ = table()
    params = {"warm_start": True, "max_epochs": 1, "random_state": 0}
    model = PerceptronRegressor(**params).partial_fit(X, y).fit(X, y)
    assert not hasattr(model, "_optimizer_memory")
