"""Every container of series gives the same values, or an error that names the place."""

import numpy as np
import pandas as pd
import pytest

from skinterp.series._containers import as_series

X = np.arange(24.0).reshape(3, 2, 4)
FLAT = X[:, 0]


def assert_holds(series, expected, names=None):
    assert len(series) == len(expected)
    for got, wanted in zip(series, expected, strict=True):
        np.testing.assert_array_equal(got, np.atleast_2d(wanted))
        assert got.dtype == np.float64
    if names is not None:
        assert series.channel_names == names


@pytest.mark.parametrize(
    "given",
    [
        X,
        X.astype("float32"),
        X.astype(int),
        X.astype(object),
        X.tolist(),
        list(X),
        np.asfortranarray(X),
        [case.tolist() for case in X],
        pd.DataFrame({c: list(X[:, i]) for i, c in enumerate(["a", "b"])}),
        pd.DataFrame({c: [pd.Series(v) for v in X[:, i]] for i, c in enumerate("ab")}),
    ],
)
def test_channels(given):
    assert_holds(as_series(given), X)


@pytest.mark.parametrize(
    "given",
    [
        FLAT,
        FLAT[:, None, :],
        list(FLAT),
        FLAT.tolist(),
        pd.DataFrame(FLAT),
        pd.DataFrame(FLAT, columns=list("wxyz")).astype("Float64"),
        pd.DataFrame({"pulse": list(FLAT)}),
        pd.DataFrame({"pulse": FLAT.tolist()}),
    ],
)
def test_one_channel(given):
    assert_holds(as_series(given), FLAT)


def test_unequal_lengths():
    given = [X[0], X[1][:, :3], X[2][:, :1]]
    series = as_series(given)
    assert_holds(series, given, ("channel 0", "channel 1"))
    assert series.lengths.tolist() == [4, 3, 1]
    assert not series.is_rectangular
    ragged = np.empty(3, dtype=object)
    ragged[:] = given
    assert_holds(as_series(ragged), given)
    cells = pd.DataFrame({c: [case[i] for case in given] for i, c in enumerate("ab")})
    assert_holds(as_series(cells), given, ("a", "b"))


def test_polars_frames():
    polars = pytest.importorskip("polars")
    assert_holds(as_series(polars.DataFrame(FLAT)), FLAT)
    cells = polars.DataFrame({"a": X[:, 0].tolist(), "b": X[:, 1].tolist()})
    assert_holds(as_series(cells), X, ("a", "b"))


def test_repeated_names_of_time_points():
    frame = pd.DataFrame(FLAT, columns=["t", "t", "u", "t"])
    assert_holds(as_series(frame), FLAT)


def test_array_and_padding():
    series = as_series([[1.0, 2.0, 3.0], [4.0]])
    assert series.to_array(pad="edge").tolist() == [[[1, 2, 3]], [[4, 4, 4]]]
    assert series.to_array(pad="zero").tolist() == [[[1, 2, 3]], [[4, 0, 0]]]
    assert series.to_array(4, pad="edge")[0, 0].tolist() == [1, 2, 3, 3]
    with pytest.raises(ValueError, match="case 1 has the length 1"):
        series.to_array()
    with pytest.raises(
        ValueError, match="case 0 has the length 3, allowed is at most 2"
    ):
        series.to_array(2, pad="zero")
    with pytest.raises(ValueError, match="pad='both'"):
        series.to_array(pad="both")
    whole = as_series(X)
    np.testing.assert_array_equal(whole.to_array(), X)
    assert as_series(whole) is whole


def test_nothing_is_written_to():
    series = as_series(X)
    assert series.values is not X
    before = X.copy()
    series.to_array(6, pad="zero")[:] = 7
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.where(X == 13, np.nan, X), ["NaN", "case 1", "channel 1", "point 1"]),
        ([X[0], np.where(X[1] == 13, np.inf, X[1])], ["infinity", "case 1", "point 1"]),
        (pd.DataFrame({"ä": [[1.0, np.nan]]}), ["NaN", "case 0", "ä", "point 1"]),
        ([X[0], X[1][:1]], ["case 1", "1 channels", "case 0", "2 channels"]),
        ([[1.0, "b"]], ["case 0"]),
        ([[[1.0, 2.0], [3.0]]], ["case 0", "unequal lengths"]),
        (np.array([["a", "b"]]), ["expected numbers"]),
        (pd.DataFrame({"t": ["a", "b"]}), ["column 't'"]),
        (
            pd.DataFrame({"t": pd.Categorical(["a", "b"])}),
            ["column 't'", "categorical"],
        ),
        (pd.DataFrame({"a": [[1.0], 2.0]}), ["case 1", "'a'", "2.0"]),
        (pd.DataFrame({"a": [[1.0, 2.0]], "b": [[1.0]]}), ["case 0", "unequal"]),
        (np.arange(4.0), ["reshape", "shape (4,)"]),
        ([1.0, 2.0], ["reshape", "case 0"]),
        (np.zeros((2, 3, 4, 5)), ["shape (2, 3, 4, 5)"]),
        (np.zeros((2, 0, 5)), ["shape (2, 0, 5)"]),
        ([], ["no case"]),
        (pd.DataFrame(index=[0, 1]), ["no columns"]),
        (pd.DataFrame({"a": []}), ["no rows"]),
        ("text", ["str"]),
        (3.0, ["float"]),
        (X + 1j, ["complex"]),
        ([[1.0, 2.0], []], ["case 1", "shape (0,)"]),
    ],
)
def test_errors_name_the_place(given, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        as_series(given)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_short_series_are_named():
    with pytest.raises(ValueError, match="case 1 of X has the length 2; at least 3"):
        as_series([[1.0, 2.0, 3.0], [1.0, 2.0]], min_length=3)


def test_sparse_matrices_are_refused():
    from scipy import sparse

    with pytest.raises(TypeError, match="sparse"):
        as_series(sparse.csr_matrix(FLAT))
