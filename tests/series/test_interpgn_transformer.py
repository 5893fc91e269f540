"""Predicates as columns for other models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skinterp.series import ShapeletBottleneckClassifier, ShapeletPredicateTransformer  # noqa: E402

QUICK = {"n_shapelets": 3, "lengths": (0.2,), "lr": 0.02, "random_state": 0}


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


def test_predicates_as_columns():
    taken = {**QUICK, "max_epochs": 60}
    columns = ShapeletPredicateTransformer(**taken).fit(X, Y)
    bottleneck = ShapeletBottleneckClassifier(**taken).fit(X, Y)
    np.testing.assert_array_equal(columns.transform(NEW), bottleneck.predicates(NEW))
    pipeline = make_pipeline(columns, LogisticRegression(C=100)).fit(X, Y)
    assert pipeline.score(NEW, TRUTH) > 0.95


def test_predicates_for_numbers():
    rng = np.random.default_rng(0)
    y = rng.uniform(-3, 3, 80)
    series = rng.normal(scale=0.3, size=(80, 1, 40))
    series[:, 0, 10:18] += np.hanning(8) * y[:, None]
    columns = ShapeletPredicateTransformer(target="numbers", **QUICK, max_epochs=60)
    model = make_pipeline(columns, Ridge(0.01)).fit(series, y)
    assert model.score(series, y) > 0.7
    said = model[0].explain(series[:2])
    assert said.target_names.tolist() == ["y"]


def test_names_of_columns_are_unique():
    columns = ShapeletPredicateTransformer(n_shapelets=2, max_epochs=1)
    columns.fit(np.repeat(X[:20, :, :10], 2, axis=1), Y[:20])
    assert columns.estimator_.module_config_["lengths"] == (3, 3, 3, 3, 5, 8)
    names = columns.get_feature_names_out()
    assert len(set(names)) == len(names) == len(columns.shapelets_) == 24
