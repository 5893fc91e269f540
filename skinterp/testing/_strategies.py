"""hypothesis strategies for small tables, labels, trees and series."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["labels", "series", "tables", "trees"]


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    n_rows: tuple[int, int] = (1, 30),
    n_columns: tuple[int, int] = (1, 5),
    missing: bool = False,
    binary: bool = False,
) -> NDArray[np.float64]:
    """Draw small tables of numbers with ties, constant columns and odd sizes.

    Parameters
    ----------
    n_rows, n_columns : tuple of int, default=(1, 30) and (1, 5)
        Least and largest number of rows and columns.
    missing : bool, default=False
        Whether some cells may be NaN.
    binary : bool, default=False
        Whether all cells are 0 or 1.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Whole and half numbers, so that float32 holds them exactly and equal cells
        are common.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from skinterp.testing import tables
    >>> @given(tables(n_columns=(2, 2)))
    ... def test_width(X):
    ...     assert X.shape[1] == 2
    >>> test_width()
    """
    shape = draw(st.integers(*n_rows)), draw(st.integers(*n_columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if binary:
        X = rng.integers(0, 2, size=shape).astype(np.float64)
    else:
        # few different values in some tables, many in others
        spread = draw(st.sampled_from([1, 2, 4, 40, 2000]))
        X = rng.integers(-spread, spread + 1, size=shape) / 2.0
    if draw(st.booleans()):
        X[:, draw(st.integers(0, shape[1] - 1))] = X[0, 0]
    if missing:
        X[rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = np.nan
    return X


@st.composite
def labels(
    draw: st.DrawFn, n_rows: int, *, n_classes: tuple[int, int] = (2, 4)
) -> NDArray[Any]:
    """Draw labels of any usual type, every class occurring where the rows suffice.

    Parameters
    ----------
    n_rows : int
        Number of labels.
    n_classes : tuple of int, default=(2, 4)
        Least and largest number of classes.

    Returns
    -------
    ndarray of shape (n_rows,)
        Integers, spread integers, floats, strings, objects or, of two classes,
        booleans.

    Examples
    --------
    >>> from hypothesis import given
    >>> from skinterp.testing import labels
    >>> @given(labels(6, n_classes=(2, 3)))
    ... def test_classes(y):
    ...     assert len(set(y.tolist())) in (2, 3)
    >>> test_classes()
    """
    n = draw(st.integers(*n_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.concatenate([np.arange(n), rng.integers(0, n, size=max(n_rows - n, 0))])
    codes = rng.permutation(codes[:n_rows])
    kinds: list[NDArray[Any]] = [
        np.arange(n),
        10 * np.arange(1, n + 1) - 20,
        np.arange(n) + 1.0,
        np.array([f"class {i}" for i in range(n)]),
        np.array([f"c{i}" for i in range(n)], dtype=object),
    ]
    if n == 2:
        kinds.append(np.array([False, True]))
    drawn: NDArray[Any] = draw(st.sampled_from(kinds))[codes]
    return drawn


@st.composite
def trees(
    draw: st.DrawFn,
    *,
    task: str = "classifier",
    max_depth: int = 4,
    n_columns: tuple[int, int] = (1, 5),
    n_classes: tuple[int, int] = (2, 3),
    binary: bool = False,
) -> tuple[Any, NDArray[np.float64]]:
    """Draw fitted scikit-learn decision trees, with the table they were grown on.

    Parameters
    ----------
    task : {"classifier", "regressor"}, default="classifier"
        Which tree.
    max_depth : int, default=4
        Largest depth; a single leaf is drawn as well.
    n_columns, n_classes : tuple of int, default=(1, 5) and (2, 3)
        Least and largest number of columns and of classes.
    binary : bool, default=False
        Whether all cells are 0 or 1.

    Returns
    -------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted.
    X : ndarray of shape (n_rows, n_columns)
        The table.

    Examples
    --------
    >>> from hypothesis import given
    >>> from skinterp.testing import trees
    >>> @given(trees(max_depth=2))
    ... def test_depth(tree_and_table):
    ...     tree, X = tree_and_table
    ...     assert tree.get_depth() <= 2
    >>> test_depth()
    """
    if task not in ("classifier", "regressor"):
        msg = f"task={task!r} is not one of ['classifier', 'regressor']"
        raise ValueError(msg)
    X = draw(tables(n_rows=(4, 40), n_columns=n_columns, binary=binary))
    depth, seed = draw(st.integers(1, max_depth)), draw(st.integers(0, 2**31 - 1))
    if task == "regressor":
        y: NDArray[Any] = np.random.default_rng(seed).integers(-4, 5, size=len(X)) / 2.0
        tree = DecisionTreeRegressor(max_depth=depth, random_state=seed)
    else:
        y = draw(labels(len(X), n_classes=n_classes))
        # random splits give odder trees than the best ones
        splitter = draw(st.sampled_from(["best", "random"]))
        tree = DecisionTreeClassifier(
            max_depth=depth, splitter=splitter, random_state=seed
        )
    return tree.fit(X, y), X


@st.composite
def series(
    draw: st.DrawFn,
    *,
    n_cases: tuple[int, int] = (1, 8),
    n_channels: tuple[int, int] = (1, 3),
    n_timepoints: tuple[int, int] = (3, 30),
    unequal: bool = False,
) -> Any:
    """Draw small sets of time series: waves, steps, noise, flat ones.

    Parameters
    ----------
    n_cases, n_channels, n_timepoints : tuple of int
        Least and largest number of series, channels and time points.
    unequal : bool, default=False
        Whether to draw a list of series of unequal lengths.

    Returns
    -------
    ndarray of shape (n_cases, n_channels, n_timepoints) or list of ndarray
        The series.

    Examples
    --------
    >>> from hypothesis import given
    >>> from skinterp.testing import series
    >>> @given(series(n_channels=(2, 2)))
    ... def test_channels(X):
    ...     assert X.shape[1] == 2
    >>> test_channels()
    """
    n, channels = draw(st.integers(*n_cases)), draw(st.integers(*n_channels))
    length = draw(st.integers(*n_timepoints))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    time = np.arange(length)
    forms = [
        np.sin(2 * np.pi * time / 7.0),
        (time > length // 2).astype(float),
        np.zeros(length),
        rng.normal(size=length).cumsum(),
    ]
    chosen = rng.integers(0, len(forms), size=(n, channels))
    X = np.array(forms)[chosen]
    X = X * draw(st.sampled_from([1.0, 1e-6, 1e6]))
    X += draw(st.sampled_from([0.0, -3.0, 1e4]))
    if not unequal:
        return X
    least = n_timepoints[0]
    return [case[:, : draw(st.integers(least, length))] for case in X]
