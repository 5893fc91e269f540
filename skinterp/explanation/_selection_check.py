"""Whether a model depends on the columns of a selection, and on no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skinterp.explanation._selection import Selection


def check_columns(selection: Selection, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first column of which something wrong is said."""
    transforms = hasattr(estimator, "transform")
    output = estimator.transform if transforms else estimator.predict
    expected = _as_array(output(X))
    columns = _positions(selection, X)
    dropped = [j for j in columns if not selection.selected[j]]
    if _changes(output, X, [columns[j] for j in dropped], expected):
        for j in dropped:
            if _changes(output, X, [columns[j]], expected):
                name = selection.feature_names[j]
                msg = f"column {name!r} is said to be dropped but changes the output"
                raise AssertionError(msg)
        msg = "columns that are said to be dropped change the output together"
        raise AssertionError(msg)
    if not transforms:
        return
    for j in columns:
        at = [columns[j]]
        if selection.selected[j] and not _changes(output, X, at, expected):
            if _same(_as_array(_moved(X, at)), _as_array(X)):
                continue  # nothing to see in a constant column
            name = selection.feature_names[j]
            msg = f"column {name!r} is said to be kept but does not change the output"
            raise AssertionError(msg)


def _positions(selection: Selection, X: Any) -> dict[int, int]:
    """Where in X the columns of the selection are; derived features are nowhere."""
    names = getattr(X, "columns", None)
    if names is None:
        width = np.shape(X)[1]
        if len(selection) == width:
            return {j: j for j in range(width)}
        names = [f"x{i}" for i in range(width)]  # a part of the columns of an array
    at = {str(name): i for i, name in enumerate(names)}
    places = enumerate(selection.feature_names)
    return {j: at[name] for j, name in places if name in at}


def _changes(
    output: Callable[[Any], Any], X: Any, at: Sequence[int], expected: NDArray[Any]
) -> bool:
    return not _same(_as_array(output(_moved(X, at))), expected)


def _moved(X: Any, at: Sequence[int]) -> Any:
    """X with the cells of some columns moved down by one row, in a circle."""
    n = len(X)
    order = np.roll(np.arange(n), 1)
    if not hasattr(X, "columns"):
        moved = np.array(X)
        moved[:, at] = moved[order][:, at]
        return moved
    if hasattr(X, "iloc"):
        moved = X.copy()
        for i in at:
            moved.isetitem(i, X.iloc[order, i].set_axis(X.index))
        return moved
    names = [X.columns[i] for i in at]
    return X.with_columns(**{name: X[name][order] for name in names})


def _as_array(output: Any) -> NDArray[Any]:
    if hasattr(output, "toarray"):
        output = output.toarray()
    return np.asarray(output)


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return bool(np.array_equal(a, b, equal_nan=True))
    both_missing = (a != a) & (b != b)
    return bool(((a == b) | both_missing).all())
