"""Data sets, binarised as the authors of predictive equivalence do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

from benchmarks._harness import table


def datasets() -> dict[str, tuple[NDArray, NDArray, list[str]]]:
    """X, y and the names of the raw columns behind those of X."""
    found = {}
    for name, file in [
        ("COMPAS", "gosdt_compas_binary"),
        ("FICO", "gosdt_fico_binary"),
    ]:
        frame = table(file).dropna()
        raw = [c.split(":")[0].split("<")[0] for c in frame.columns[:-1]]
        values = frame.to_numpy(float)
        found[name] = values[:, :-1], values[:, -1].astype(int), raw
    frame = table("wine_quality_white").dropna()
    good = (frame["quality"] >= 6).to_numpy(int)
    features = frame.drop(columns="quality")
    found["Wine (white, quality >= 6)"] = (
        features.to_numpy(float),
        good,
        list(features.columns),
    )
    X, y = load_breast_cancer(return_X_y=True)
    found["Wisconsin"] = X, y, [f"x{j}" for j in range(X.shape[1])]
    return found


def thresholds(X: NDArray, y: NDArray) -> list[tuple[int, float]]:
    """Guess thresholds by boosted stumps.

    The distinct tests of 40 stumps; then the least important one is dropped as long
    as the training accuracy of boosting on the binary columns does not fall.
    """
    tests = sorted(set(_stump_tests(_boosted(X, y))))
    columns = binarised(X, tests)
    model = _boosted(columns, y)
    accuracy = model.score(columns, y)
    while len(tests) > 1:
        fewer = np.delete(np.arange(len(tests)), model.feature_importances_.argmin())
        model = _boosted(columns[:, fewer], y)
        if model.score(columns[:, fewer], y) < accuracy:
            break
        tests, columns = [tests[i] for i in fewer], columns[:, fewer]
    return tests


def binarised(X: NDArray, tests: list[tuple[int, float]]) -> NDArray:
    """One 0/1 column per test."""
    columns = [X[:, j].astype(np.float32) <= t for j, t in tests]
    return np.column_stack(columns).astype(float)


def _boosted(X: NDArray, y: NDArray) -> GradientBoostingClassifier:
    model = GradientBoostingClassifier(n_estimators=40, max_depth=1, random_state=42)
    return model.fit(X, y)


def _stump_tests(model: GradientBoostingClassifier) -> list[tuple[int, float]]:
    trees = [stump.tree_ for stump in model.estimators_.ravel()]
    return [
        (int(t.feature[0]), float(t.threshold[0])) for t in trees if t.feature[0] >= 0
    ]
