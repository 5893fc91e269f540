from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.metrics import f1_score, precision_score, recall_score

from skinterp.base import SkinterpTags
from skinterp.testing import method_checks, parametrize_with_methods, register_data
from skinterp_xrd import XRDSymmetryClassifier
from skinterp_xrd._report import make_report

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

GRID = np.linspace(10, 80, 351)
PEAKS = {"cubic": (28.0, 43.0, 61.0), "hexagonal": (31.0, 34.0, 55.0)}


def pattern(angles, shift=0.0, width=1.0):
    """Peaks of equal height and width on the grid."""
    return sum(
        100 * np.exp(-4 * np.log(2) * ((GRID - a - shift) / width) ** 2) for a in angles
    )


def simple_data(n=48, seed=0, noise=1.0):
    """Patterns of two crystals, each shifted at random."""
    rng = np.random.default_rng(seed)
    y = np.array(list(PEAKS))[np.arange(n) % 2]
    shift = rng.uniform(-0.5, 0.5, size=n)
    X = np.array([pattern(PEAKS[c], s) for c, s in zip(y, shift, strict=True)])
    return X + noise * rng.uniform(size=X.shape), y


def small(**params):
    settings = {"n_filters": 4, "max_epochs": 12, "batch_size": 16, "lr": 3e-3}
    return XRDSymmetryClassifier(**(settings | {"random_state": 0} | params))


@pytest.fixture(scope="module")
def fitted():
    X, y = simple_data()
    return small().fit(X, y)


# -- the kit --------------------------------------------------------------------------
def patterns(task, *, n_rows=24, n_classes=3, seed=0):
    """Patterns of 40 points for the test kit."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    x = np.arange(40)
    X = rng.uniform(size=(n_rows, 40))
    X += [20 * np.exp(-(((x - 8 - 11 * k) / 2) ** 2)) for k in y]
    return X, y


register_data("pattern", patterns)


@parametrize_with_methods([XRDSymmetryClassifier])
def test_battery(estimator, check):
    check(estimator)


class AsTable(XRDSymmetryClassifier):
    """The classifier as one of tables, for what the kit checks of these alone."""

    def __skinterp_tags__(self):
        tags = super().__skinterp_tags__()
        return SkinterpTags(unit=tags.unit, stochastic=True, requires=tags.requires)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # three columns are no pattern
        return tags


NOT_FOR_PATTERNS = {
    "check_explain_in_pipeline": "scaled columns are negative: no patterns",
    "check_decision_proba_consistency": "its numbers are negative: no patterns",
    "check_names_in_explanation": "texts speak of angles, not of columns",
    "check_sample_weight_equivalence_on_dense_data": "rows are drawn in steps",
}


def of_tables_alone():
    """Checks of tables that are none of patterns."""
    seen = {name for name, _ in method_checks(XRDSymmetryClassifier)}
    for name, check in method_checks(AsTable):
        reason = NOT_FOR_PATTERNS.get(name)
        marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
        if name not in seen:
            yield pytest.param(check, id=name, marks=marks)


@pytest.mark.parametrize("check", list(of_tables_alone()))
def test_battery_of_tables(check):
    try:
        check()
    except SkipTest as reason:
        pytest.skip(str(reason))


# -- unequal classes ------------------------------------------------------------------
def with_counts(counts, **params):
    model = XRDSymmetryClassifier(**params)
    model.class_counts_ = np.array(counts, dtype=float)
    return model


@pytest.mark.parametrize("tau", [0.0, 1.0, 2.5])
def test_logit_adjustment_adds_the_log_prior(tau):
    model = with_counts([60, 30, 10], imbalance="logit_adjust", tau=tau)
    logits = np.random.default_rng(0).normal(size=(7, 3))
    target = np.arange(7) % 3
    got = model._loss(torch.tensor(logits), torch.tensor(target))
    shifted = log_softmax(logits + tau * np.log([0.6, 0.3, 0.1]), axis=1)
    np.testing.assert_allclose(got, -shifted[np.arange(7), target])


def test_logit_adjustment_of_two_classes_is_that_of_two_logits():
    model = with_counts([90, 10], imbalance="logit_adjust")
    odds = np.random.default_rng(0).normal(size=(6, 1))
    target = np.arange(6) % 2
    got = model._loss(torch.tensor(odds), torch.tensor(target[:, None] * 1.0))
    both = np.column_stack([np.zeros(6), odds[:, 0]]) + np.log([0.9, 0.1])
    expected = -log_softmax(both, axis=1)[np.arange(6), target]
    np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize(
    ("imbalance", "expected"),
    [
        (None, [0.75, 0.25]),
        ("logit_adjust", [0.5, 0.5]),
        ("balanced", [0.5, 0.5]),
        ("sampling", [0.5, 0.5]),
    ],
)
def test_patterns_that_say_nothing_get_the_shares_trained_for(imbalance, expected):
    X, y = np.zeros((64, 8)), np.arange(64) % 4 == 0
    model = small(
        imbalance=imbalance,
        max_epochs=60,
        lr=0.1,
        n_filters=1,
        dropout=0.0,
        batch_size=64,
        validation_fraction=None,
        optimizer="lbfgs" if imbalance != "sampling" else "adam",
    )
    got = model.fit(X, y).predict_proba(X[:1])[0]
    atol = 0.06 if imbalance == "sampling" else 0.02
    np.testing.assert_allclose(got, expected, atol=atol)


def test_balanced_weights_give_each_class_the_same_sum():
    model = with_counts([60, 30, 10], imbalance="balanced")
    target = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)
    weight = model._row_weights(target).numpy()
    np.testing.assert_allclose(np.bincount(target, weight), [100 / 3] * 3)
    logits = torch.zeros(100, 3, dtype=torch.float64)
    np.testing.assert_allclose(model._loss(logits, target), weight * np.log(3))


@pytest.mark.parametrize("counts", [[800, 150, 50], [970, 30]])
def test_balanced_sampling_draws_classes_equally(counts):
    from skinterp.neural import TrainingData

    codes = np.repeat(np.arange(len(counts)), counts)
    two = len(counts) == 2
    target = torch.tensor(codes[:, None] * 1.0 if two else codes)
    model = XRDSymmetryClassifier(imbalance="sampling")
    model._drawn_from_ = TrainingData(
        inputs=(torch.arange(1000.0)[:, None],),
        target=target,
        n_features=1,
        n_outputs=1 if two else len(counts),
        n_classes=len(counts),
        generator=torch.Generator(),
    )
    batch = model._draw_batch(6000, torch.Generator().manual_seed(0))
    drawn = batch.target.numpy().ravel().astype(int)
    shares = np.bincount(drawn) / 6000
    np.testing.assert_allclose(shares, 1 / len(counts), atol=0.02)
    rows = batch.inputs[0].numpy().ravel().astype(int)
    np.testing.assert_array_equal(codes[rows], drawn)
    rarest = rows[drawn == len(counts) - 1]
    assert len(set(rarest)) == counts[-1]  # each row of it is drawn


def test_classes_count_the_same_where_sampling_is_judged():
    """The loss that training stops by weighs rows as the drawn ones are."""
    from skinterp.neural import Batch

    logits = torch.tensor(np.random.default_rng(0).normal(size=(10, 3)))
    target = torch.tensor([0] * 6 + [1] * 3 + [2])
    batch = Batch((logits,), target, None, None)
    each = -log_softmax(logits.numpy(), axis=1)[np.arange(10), target]
    means = [each[target == k].mean() for k in range(3)]
    for imbalance, expected in (("sampling", np.mean(means)), (None, each.mean())):
        model = with_counts([60, 30, 10], imbalance=imbalance)
        got = model._validation_loss(torch.nn.Identity(), batch)
        assert float(got) == pytest.approx(expected)


def test_nothing_drawn_from_stays_with_the_model():
    X, y = simple_data(24)
    model = small(imbalance="sampling", max_epochs=2).fit(X, y)
    assert not hasattr(model, "_drawn_from_")


def test_class_counts_add_up_over_partial_fits():
    X, y = simple_data(24)
    model = small().partial_fit(X[:12], y[:12], classes=["cubic", "hexagonal", "none"])
    model.partial_fit(X[12:], y[12:])
    assert model.class_counts_.tolist() == [12, 12, 0]
    assert np.isfinite(model.predict_proba(X)).all()
    np.testing.assert_allclose(model.prior_, [0.5, 0.5, 0])


# -- network and input ----------------------------------------------------------------
def test_layers_of_the_wide_network_are_those_published():
    from skinterp_xrd._classifier_module import NoPoolNet

    with torch.device("meta"):
        module = NoPoolNet(3501, 7, 80, 0.3)
    sizes = [m.in_features for m in module.modules() if hasattr(m, "in_features")]
    assert sizes == [12160, 2300, 1150]


@pytest.mark.parametrize("n_points", [1, 2, 3, 50, 874, 1751, 3501])
def test_any_number_of_points_is_taken(n_points):
    X = np.random.default_rng(0).uniform(size=(8, n_points))
    y = np.arange(8) % 2
    model = small(max_epochs=1, n_filters=1).fit(X, y)
    assert model.predict(X).shape == (8,)
    assert model.two_theta_.shape == (n_points,)


def test_the_scale_of_a_pattern_does_not_matter(fitted):
    X, _ = simple_data(6)
    factor = np.array([1e-6, 1, 7, 1e6, 3, 2])[:, None]
    np.testing.assert_allclose(
        fitted.predict_proba(factor * X), fitted.predict_proba(X), atol=1e-12
    )


def test_angles_come_from_the_names_of_columns():
    X, y = simple_data(24)
    names = [f"2theta={angle:.2f}" for angle in GRID + 5]
    model = small(max_epochs=1).fit(pd.DataFrame(X, columns=names), y)
    np.testing.assert_allclose(model.two_theta_, GRID + 5)
    model = small(max_epochs=1, two_theta=(20, 90)).fit(X, y)
    np.testing.assert_allclose(model.two_theta_, np.linspace(20, 90, 351))
    model = small(max_epochs=1, two_theta=GRID + 1).fit(X, y)
    np.testing.assert_allclose(model.two_theta_, GRID + 1)


@pytest.mark.parametrize(
    ("params", "change", "words"),
    [
        ({}, {3: -0.5}, "Negative values.*-0.5 in row 2, column 'x3'"),
        ({}, {3: np.nan}, "NaN"),
        ({}, {3: np.inf}, "infinity"),
        ({"two_theta": (80, 10)}, {}, "two_theta=.80, 10. is no grid of 351"),
        ({"two_theta": (0, 80)}, {}, "between 0 and 180"),
        ({"two_theta": (10, 180)}, {}, "between 0 and 180"),
        ({"two_theta": np.arange(1, 11)}, {}, "no grid of 351 points"),
        ({"two_theta": ["a", "b"]}, {}, "two_theta must be angles"),
        ({"wavelength": 0.0}, {}, "wavelength"),
        ({"arch": "resnet"}, {}, "arch.*cnn.*resnet|arch.*no-pool.*resnet"),
        ({"imbalance": "smote"}, {}, "imbalance.*logit_adjust"),
        ({"target": "colour"}, {}, "target.*crystal_system"),
    ],
)
def test_wrong_input_is_told(params, change, words):
    X, y = simple_data(12)
    for column, value in change.items():
        X[2, column] = value
    with pytest.raises(ValueError, match=words):
        small(max_epochs=1, **params).fit(X, y)


def test_negative_intensities_are_refused_after_fit(fitted):
    X, _ = simple_data(4)
    X[1, 0] = -3
    for work in (fitted.predict, fitted.explain, fitted.decision_function):
        with pytest.raises(ValueError, match="row 1, column 'x0'"):
            work(X)


# -- figures --------------------------------------------------------------------------
def test_figures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, told = rng.integers(4, size=(2, 200))
    report = make_report(np.array(list("abcd")), [9, 5, 3, 1], truth, told)
    options = {"average": "macro", "zero_division": 0}
    assert report.macro_f1 == pytest.approx(f1_score(truth, told, **options))
    assert report.macro_recall == pytest.approx(recall_score(truth, told, **options))
    assert report.macro_precision == pytest.approx(
        precision_score(truth, told, **options)
    )
    assert report.accuracy == pytest.approx((truth == told).mean())
    each = f1_score(truth, told, average=None)
    np.testing.assert_allclose(report.by_class["f1"], each)


def test_accuracy_by_frequency_is_that_counted_by_hand():
    truth = [0] * 10 + [1] * 4 + [2] * 2 + [3] * 2
    told = [0] * 9 + [1] + [1] * 2 + [0] * 2 + [2, 0] + [0, 0]
    report = make_report(np.array(list("abcd")), [100, 50, 7, 7], truth, told)
    table = report.by_frequency.set_index("frequency")
    assert table["classes"].tolist() == [2, 1, 1]
    assert table["training_rows"].tolist() == ["7 to 7", "50 to 50", "100 to 100"]
    np.testing.assert_allclose(table["accuracy"], [0.25, 0.5, 0.9])
    assert "rare" in str(report)


def test_classes_that_do_not_occur_have_no_part_in_the_means(fitted):
    X, y = simple_data(12, seed=5)
    only = y == "cubic"
    report = fitted.report(X[only], y[only])
    assert report.macro_recall == report.accuracy
    with pytest.raises(ValueError, match="tetragonal"):
        fitted.report(X, ["tetragonal"] * 12)
    with pytest.raises(ValueError, match="3 labels for 12"):
        fitted.report(X, y[:3])


def test_patterns_are_told_apart(fitted):
    X, y = simple_data(40, seed=9)
    assert fitted.report(X, y).macro_f1 > 0.95
