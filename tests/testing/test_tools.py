"""Comparing, refusing, data, strategies, and imports of the kit."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

from skinterp.testing import (
    assert_same,
    assert_soft_failure,
    labels,
    make_data,
    series,
    softly,
    tables,
    trees,
)


def raises(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    "error",
    [
        IndexError("X has too few columns"),
        KeyError("X"),
        AttributeError("X"),
        np.linalg.LinAlgError("X is singular"),
        ValueError("operands could not be broadcast together with shapes (3,) (4,)"),
        ValueError("zero-size array to reduction operation maximum"),
        TypeError("'NoneType' object is not subscriptable"),
    ],
)
def test_accident_is_no_soft_failure(error):
    for ask in (softly, assert_soft_failure):
        with pytest.raises(AssertionError, match="fails hard"):
            ask(raises(error), "fitting")


def test_a_package_to_install_is_a_soft_reason():
    missing = ImportError("Thing needs 'torch': pip install 'skinterp[torch]'")
    assert softly(raises(missing), "fitting", ["nan"]) == (False, missing)
    with pytest.raises(AssertionError, match="fails hard, with ModuleNotFoundError"):
        softly(raises(ModuleNotFoundError("No module named 'torch'")), "fitting")


def test_soft_failure_must_name_the_thing():
    error = ValueError("X contains NaN")
    assert assert_soft_failure(raises(error), "fitting", ["nan"]) is error
    assert softly(raises(error), "fitting", ["missing", "NaN"]) == (False, error)
    with pytest.raises(AssertionError, match="without naming 'inf'"):
        assert_soft_failure(raises(error), "fitting", ["inf"])


def test_what_goes_through_is_no_failure():
    with pytest.raises(AssertionError, match="fitting should be refused"):
        assert_soft_failure(lambda: None, "fitting", ["X"])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
        (np.array([1, 2]), np.array([1, 2, 3])),
        (np.array(["a"], dtype=object), np.array(["b"], dtype=object)),
        ({"a": 1}, {"b": 1}),
        ([1.0, [2.0]], [1.0, [3.0]]),
        (1e-12, 0.0),
        ("a", "b"),
        (None, 0),
    ],
)
def test_differences_are_found(a, b):
    assert_same(a, a, "itself")
    assert_same(b, b, "itself")
    with pytest.raises(AssertionError, match="the answer"):
        assert_same(a, b, "the answer")


def test_tolerance_is_absolute_and_relative():
    assert_same(np.array([1e6]), np.array([1e6 + 0.01]), "large", atol=1e-7)
    with pytest.raises(AssertionError, match=r"1 of 2 values differ, first .* at"):
        assert_same(np.array([0.0, 1.0]), np.array([0.0, 1.1]), "x", atol=1e-3)


@pytest.mark.parametrize("kind", ["tabular", "series"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_data_are_the_same_each_time(kind, task):
    X, y = make_data(kind, task, seed=1)
    again = make_data(kind, task, seed=1)
    assert_same(again, (X, y), "made again")
    assert len(X) == len(y)
    assert make_data(kind, task, n_rows=7)[0].shape[0] == 7


def test_unknown_input_says_which_there_are():
    with pytest.raises(ValueError, match=r"No data for input 'smell'; .*'series'"):
        make_data("smell")


@given(tables(n_rows=(2, 9), n_columns=(3, 3), missing=True))
def test_tables(X):
    assert 2 <= len(X) <= 9
    assert X.shape[1] == 3
    assert_same(X.astype(np.float32).astype(float), X, "float32 holds the table")


@given(tables(binary=True))
def test_binary_tables(X):
    assert set(np.unique(X)) <= {0.0, 1.0}


@given(labels(8, n_classes=(3, 4)))
def test_labels(y):
    assert y.shape == (8,)
    assert len(np.unique(y)) in (3, 4)


@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_trees(task):
    @given(trees(task=task, max_depth=3))
    def test(tree_and_table):
        tree, X = tree_and_table
        assert tree.get_depth() <= 3
        assert len(tree.predict(X)) == len(X)

    test()


@given(series(n_cases=(1, 4), n_timepoints=(5, 9), unequal=True))
def test_series(X):
    assert all(np.ndim(case) == 2 and 5 <= case.shape[1] <= 9 for case in X)


def test_kit_needs_pytest_and_hypothesis_only_where_used():
    code = (
        "import sys\n"
        "sys.modules['pytest'] = sys.modules['hypothesis'] = None\n"
        "from skinterp.testing import check_method\n"
        "from skinterp.testing.mocks import CenterTransformer\n"
        "check_method(CenterTransformer, only='check_json*')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    import skinterp.testing as kit

    assert all(getattr(kit, name) is not None for name in kit.__all__)
    assert set(kit.__all__) <= set(dir(kit))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        kit.no_such_name  # noqa: B018
