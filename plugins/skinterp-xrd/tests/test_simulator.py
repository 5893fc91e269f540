"""The simulator as an estimator: the battery, seeds, tables, wrong input."""

import warnings

import numpy as np
import pytest
from skinterp.testing import parametrize_with_methods, register_data

from skinterp_xrd import (
    IDEAL_CONDITIONS,
    RANDOM_CONDITIONS,
    PowderXRDSimulator,
    Structure,
)


def cube(a, numbers, coords, **more):
    return Structure(a * np.eye(3), numbers, coords, **more)


IRON = cube(2.8665, [26, 26], [[0, 0, 0], [0.5, 0.5, 0.5]], label="iron")
CAESIUM_CHLORIDE = cube(4.209, [55, 17], [[0, 0, 0], [0.5, 0.5, 0.5]])
COPPER = cube(
    3.6149, [29] * 4, [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
)
CRYSTALS = [IRON, CAESIUM_CHLORIDE, COPPER]


def structures(task, *, n_rows=12, n_classes=2, seed=0):
    """Cubic crystals of one atom (class 0) or two, for the battery."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    places = [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0]]
    X = [
        cube(rng.uniform(3.0, 5.0), [26] * (label + 1), places[: label + 1])
        for label in np.minimum(y, 2)
    ]
    return X, rng.uniform(size=n_rows) if task == "regression" else y


register_data("structure", structures)


@parametrize_with_methods([PowderXRDSimulator])
def test_battery(estimator, check):
    check(estimator)
