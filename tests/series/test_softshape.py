"""SoftShapeClassifier: phases of the training, inputs, explanations, real data."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skinterp
from skinterp.series import SoftShapeClassifier
from skinterp.testing import make_data

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skorch.callbacks import Callback  # noqa: E402

SMALL = {
    "embed_dim": 8,
    "shape_length": 8,
    "warmup_epochs": 2,
    "max_epochs": 4,
    "batch_size": 10,
    "lr": 0.02,
    "random_state": 0,
}


def small(**changes):
    return SoftShapeClassifier(**(SMALL | changes))


@pytest.fixture(scope="module")
def data():
    return make_data("series", "classification", n_rows=30, n_classes=3)


@pytest.fixture(scope="module")
def fitted(data):
    return small(max_epochs=6).fit(*data)


# -- phases ----------------------------------------------------------------------------


class Watched(SoftShapeClassifier):
    """Notes the mode in which each step and each validation is made."""

    def _training_loss(self, module, batch):
        loss = super()._training_loss(module, batch)
        self.seen_[("train", batch.epoch)] = bool(module.sparse)
        return loss

    def _validation_loss(self, module, batch):
        self.seen_[("valid", batch.epoch)] = bool(module.sparse)
        return super()._validation_loss(module, batch)

    def _module_config(self, data):
        self.seen_ = {}
        return super()._module_config(data)


def test_each_epoch_is_validated_in_the_mode_it_was_trained_in(data):
    model = Watched(**SMALL).fit(*data)
    expected = {(p, e): e >= 2 for p in ("train", "valid") for e in range(4)}
    assert model.seen_ == expected
    assert model.weights_["sparse"]


def test_the_best_epoch_of_the_warmup_is_forgotten(data):
    class BestAtFirst(SoftShapeClassifier):
        def _validation_loss(self, module, batch):
            return torch.tensor(float(batch.epoch))

    model = BestAtFirst(**SMALL | {"warmup_epochs": 5, "max_epochs": 30, "patience": 3})
    model.fit(*data)
    assert (model.best_epoch_, model.n_iter_) == (6, 9)
    assert model.weights_["sparse"]


class Stop(Callback):
    def on_epoch_end(self, net, **_):
        raise KeyboardInterrupt


def test_a_model_stopped_in_the_warmup_predicts_without_leaving_out(data):
    X, y = data
    model = small(callbacks=[Stop()], warm_start=True).fit(X, y)
    assert not model.weights_["sparse"]
    assert model.n_tokens_kept_ == model.n_tokens_ == 9
    assert model.explain(X).kept.all()
    model.set_params(callbacks=None).fit(X, y)  # goes on: one epoch of warm-up is left
    assert model.n_iter_ == 5
    assert model.best_epoch_ > 2
    assert model.n_tokens_kept_ == 6


def test_partial_fit_counts_its_passes(data):
    X, y = data
    model = small().partial_fit(X, y, classes=[0, 1, 2])
    assert not model.partial_fit(X, y).weights_["sparse"]
    assert model.partial_fit(X, y).weights_["sparse"]


def test_each_fit_starts_from_fresh_weights(data):
    X, y = data
    model = small().fit(X, y)
    first = model.decision_function(X)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), first)
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), first)
    other = small(random_state=1).fit(X, y).decision_function(X)
    assert not np.allclose(other, first)


def test_without_sparse_rate_there_is_one_phase(data):
    model = small(sparse_rate=0, warmup_epochs=50, depth=1).fit(*data)
    assert model.n_tokens_kept_ == model.n_tokens_
    assert model.explain(data[0]).kept.all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"warmup_epochs": 4}, "warmup_epochs=4 must be less than max_epochs=4"),
        ({"depth": 1}, "depth=1 does not go with sparse_rate=0.5"),
        ({"embed_dim": 10}, "embed_dim=10 must be a multiple of 4"),
        ({"shape_length": 40}, "windows of 40 time points.* room for 1"),
        ({"shape_length": 41}, "series of 40 time points have room for 0"),
        ({"shape_length": 1.0}, "shape_length"),
        ({"sparse_rate": 1.0}, "sparse_rate"),
    ],
)
def test_parameters_that_cannot_be(data, changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes).fit(*data)


# -- inputs ----------------------------------------------------------------------------


def test_scale_and_place_of_a_series_do_not_matter(data, fitted):
    X, _ = data
    expected = fitted.decision_function(X)
    moved = fitted.decision_function(0.01 * X + 5.0)  # 500 to 1,000 deviations away
    np.testing.assert_allclose(moved, expected, atol=1e-5)
    plain = small(znormalize=False).fit(*data)
    assert not np.allclose(plain.decision_function(3 * X), plain.decision_function(X))


def test_missing_values_become_the_mean_of_the_training_series(data):
    X, y = data
    holed = X.copy()
    holed[::3, 0, 7] = np.nan
    with pytest.raises(ValueError, match="case 0, channel 0, time point 7"):
        small().fit(holed, y)
    model = small(impute=True, validation_fraction=None).fit(holed, y)
    z = model._transform_inputs(holed)
    seen = np.delete(np.arange(30), np.arange(0, 30, 3))
    np.testing.assert_allclose(z[::3, 0, 7], z[seen, 0, 7].mean())
    assert np.isfinite(model.predict_proba(holed)).all()
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.where(np.isnan(holed), np.inf, holed))


def test_a_time_point_that_is_always_missing(data):
    X, y = data
    X = X.copy()
    X[:, :, 3] = np.nan
    model = small(impute=True).fit(X, y)
    assert not model._transform_inputs(X)[:, :, 3].any()


def test_shorter_series_are_padded_by_choice(data):
    X, y = data
    cases = [x[:, : 40 - i % 3] for i, x in enumerate(X)]
    with pytest.raises(ValueError, match="pad="):
        small().fit(cases, y)
    model = small(pad="edge").fit(cases, y)
    assert model.n_timepoints_in_ == 40
    assert model.predict(cases).shape == (30,)


def test_several_channels_make_one_window(data):
    X, y = data
    rng = np.random.default_rng(0)
    both = np.concatenate([rng.normal(size=X.shape), X], axis=1)
    model = small(max_epochs=15, warmup_epochs=5).fit(both, y)
    assert model.score(both, y) > 0.8
    tokens = model.explain(both)
    assert tokens.values.shape == (30, 9, 3)
    assert tokens.feature_names == ("channel 0", "channel 1")
    assert tokens.plot().figure is not None
    points = model.explain(both[:1], kind="attribution")
    assert points.feature_names[0] == "t0"
    cells = pd.DataFrame({"pulse": list(both[:, 0]), "breath": list(both[:, 1])})
    points = small().fit(cells, y).explain(kind="attribution")
    assert points.feature_names[39] == "pulse + breath, t39"


def test_rows_of_weight_zero_are_as_if_not_there(data):
    X, y = data
    weight = np.ones(30)
    weight[20:] = 0
    by_weight = small().fit(X, y, weight)
    without = small().fit(X[:20], y[:20])
    assert by_weight.explain() == without.explain()


# -- explanations ----------------------------------------------------------------------


def test_windows_and_time_points_add_up(data, fitted):
    X, _ = data
    logits = fitted.decision_function(X)
    tokens = fitted.explain(X)
    np.testing.assert_allclose(tokens.values.sum(axis=1), logits, atol=1e-9)
    points = fitted.explain(X, kind="attribution")
    np.testing.assert_allclose(points.values.sum(axis=1), logits, atol=1e-9)
    best = logits.argmax(axis=1)
    own = tokens.contributions()
    np.testing.assert_allclose(own.sum(axis=1), logits[np.arange(30), best])
    assert (tokens.kept.sum(axis=1) == 5).all()
    assert fitted.n_tokens_kept_ == 6


def test_of_two_classes_windows_speak_for_the_predicted_one():
    X, y = make_data("series", "classification", n_rows=30, n_classes=2)
    y = np.array(["no", "yes"])[y]
    model = small(max_epochs=6).fit(X, y)
    tokens = model.explain(X)
    assert tokens.values.shape == (30, 9)
    total = model.decision_function(X)
    np.testing.assert_allclose(tokens.values.sum(axis=1), total, atol=1e-9)
    np.testing.assert_allclose(tokens.contributions().sum(axis=1), np.abs(total))
    assert (tokens.target_names[tokens.prediction] == model.predict(X)).all()


def test_windows_that_are_summed_score_less_and_add_less():
    X, y = make_data("series", "classification", n_rows=60, n_classes=3)
    model = small(max_epochs=25, warmup_epochs=10, lr=0.01).fit(X, y)
    assert model.score(X, y) > 0.9
    tokens = model.explain(X)
    size, kept = np.abs(tokens.contributions()), tokens.kept
    assert tokens.scores[kept].mean() > 2 * tokens.scores[~kept].mean()
    assert size[kept].mean() > 2 * size[~kept].mean()


def test_the_whole_model_tells_means_and_training_windows(data, fitted):
    X, y = data
    told, tokens = fitted.explain(), fitted.explain(X)
    for c in range(3):
        own = tokens.scores[y == c]
        np.testing.assert_allclose(told.mean_scores[c], own.mean(axis=0))
        np.testing.assert_allclose(told.kept_share[c], tokens.kept[y == c].mean(axis=0))
        best = np.sort(own.max(axis=1))[::-1][:10]
        chosen = told.example_target == c
        np.testing.assert_allclose(told.example_score[chosen], best)
        assert (y[told.example_source[chosen]] == c).all()
    for i, start, window in zip(
        told.example_source, told.example_start, told.example_values, strict=True
    ):
        np.testing.assert_array_equal(window, X[i, :, start : start + 8])
        assert tokens.scores[i].argmax() == start // 4
    sizes = np.abs(fitted.explain(X, kind="attribution").values)
    points = sizes[np.arange(30), :, tokens.prediction].mean(axis=0)
    importances = fitted.explain(kind="attribution").values
    np.testing.assert_allclose(importances, points, atol=1e-12)


# -- in company ------------------------------------------------------------------------


def test_in_searches_and_pipelines_with_labels_of_text(data):
    X, y = data
    labels = np.array(["low", "mid", "high"])[y]
    search = GridSearchCV(small(), {"shape_length": [6, 0.2]}, cv=2)
    search.fit(X, labels)
    assert skinterp.explain(search, X[:2]).kind == "token-scores"
    frame = pd.DataFrame(X[:, 0], columns=[f"{h}h" for h in range(40)])
    pipe = make_pipeline(StandardScaler(), small())
    assert len(cross_val_score(pipe, frame, labels, cv=2)) == 2
    told = skinterp.explain(pipe.fit(frame, labels), frame[:2])
    assert len(told) == 2
    own = small().fit(frame, labels).explain(frame[:2])
    assert own.timepoint_names[:2] == ("0h", "1h")
    assert "h to " in own.to_text()


def test_digits_read_line_by_line():
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:400], y[:400]
    model = SoftShapeClassifier(
        shape_length=16,
        embed_dim=32,
        warmup_epochs=4,
        max_epochs=10,
        lr=0.005,
        random_state=0,
    ).fit(X[:250], y[:250])
    assert model.score(X[250:], y[250:]) > 0.93
    with torch.no_grad():
        experts = model.module_.experts
        tokens = torch.randn(400, 32, dtype=torch.float64)
        loads = torch.bincount(experts.route(tokens)[0], minlength=4) / 400
    assert loads.max() < 0.9  # not all tokens go to one expert
