"""Tables with known slices, and a search that looks at every row."""

import itertools

import numpy as np
import pytest

from skinterp.slices import ErrorSliceFinder


def _make_finder(**params):
    """Finder that searches all rows and keeps all slices."""
    settings = {"holdout": 0.0, "max_slices": None, "gap": 0.2, "random_state": 0}
    return ErrorSliceFinder(**(settings | params))


def _as_sets(finder):
    """Slices as sets of (column, value), with (size, performance), in their order."""
    found = finder.explain()
    return {
        frozenset((x.feature, int(x.lower)) for x in found.literals(s)): (
            int(found.size[s]),
            float(found.performance[s]),
        )
        for s in range(found.n_slices)
    }


def _brute_force(T, p, min_size, order):
    """Every conjunction of enough rows, by scanning them all."""
    found = {}
    for k in range(1, order + 1):
        for columns in itertools.combinations(range(T.shape[1]), k):
            for values in itertools.product(*(np.unique(T[:, j]) for j in columns)):
                inside = (T[:, columns] == values).all(axis=1)
                if inside.sum() >= min_size:
                    items = frozenset(zip(columns, map(int, values), strict=True))
                    found[items] = (int(inside.sum()), float(p[inside].mean()))
    return found


@pytest.fixture(scope="session")
def small():
    """Six rows: errors where the first column is 0 and the second is 0."""
    T = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    return T, np.array([0, 0, 1, 1, 1, 1])


@pytest.fixture(scope="session")
def planted():
    """Two hundred rows, all wrong where the first column is 0 and the second is 1."""
    rng = np.random.default_rng(0)
    T = rng.integers(0, 3, (200, 5))
    error = rng.random(200) < 0.2
    error[(T[:, 0] == 0) & (T[:, 1] == 1)] = True
    return T, ~error


@pytest.fixture(scope="session")
def make_finder():
    """Make a finder that searches all rows and keeps all slices."""
    return _make_finder


@pytest.fixture(scope="session")
def as_sets():
    """Turn what was found into sets of (column, value)."""
    return _as_sets


@pytest.fixture(scope="session")
def brute_force():
    """Scan the rows for every conjunction."""
    return _brute_force
