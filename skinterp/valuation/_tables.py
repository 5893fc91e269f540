"""Tables of rows: numbers for the kernel, and what the model inside is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_X_y

from skinterp.compat import validate_data

Floats = NDArray[np.float64]


def read_table(owner: Any, X: Any, reset: bool) -> Any:
    """Rows as the model inside is given them: a frame, or an array of floats.

    A frame with texts or missing cells is the model's to judge; all others have to be
    finite numbers.
    """
    if is_frame(X) and any(map(_needs_a_model, columns_of(X))):
        validate_data(owner, X, reset=reset, skip_check_array=True)
        for name, column in zip(X.columns, columns_of(X), strict=True):
            if not holds_labels(column):
                _numbers_of(name, column)  # refuses infinite cells
        return X
    rows = validate_data(owner, X, reset=reset, dtype=np.float64, order="C")
    if not hasattr(owner, "feature_names_in_"):
        return rows
    if is_frame(X):
        return X
    import pandas as pd

    return pd.DataFrame(rows, columns=owner.feature_names_in_)


def read_target(table: Any, y: ArrayLike, numeric: bool = False) -> NDArray[Any]:
    """Labels or numbers, one for each row."""
    rows = np.zeros((len(table), 1))
    return np.asarray(check_X_y(rows, y, y_numeric=numeric)[1])


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns, of pandas or of polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def columns_of(X: Any) -> list[Any]:
    """Columns of a frame; two may have one name."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    return [X[:, j] for j in range(X.shape[1])]


def cells_of(table: Any) -> NDArray[Any]:
    """Cells to show: floats, or objects where there are labels."""
    if not is_frame(table):
        return np.asarray(table)
    columns = columns_of(table)
    if not any(map(holds_labels, columns)):
        names = table.columns
        numbers = [_numbers_of(n, c) for n, c in zip(names, columns, strict=True)]
        return np.column_stack(numbers)
    cells = np.empty((len(table), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        cells[:, j] = _labels_of(column)
    return cells


def holds_labels(column: Any) -> bool:
    """Whether the cells of a column are labels rather than numbers."""
    dtype = str(column.dtype).lower()
    if dtype.startswith(("category", "categorical", "str", "enum", "date")):
        return True
    if dtype == "object":
        return any(isinstance(cell, str) for cell in np.asarray(column, dtype=object))
    return False


def _needs_a_model(column: Any) -> bool:
    return holds_labels(column) or bool(np.isnan(_numbers_of("", column, False)).any())


def _labels_of(column: Any) -> list[Any]:
    """Cells as plain objects; a missing one is None."""
    cells = column.to_list()
    return [None if _is_missing(cell) else cell for cell in cells]


def _is_missing(cell: Any) -> bool:
    # of all cells only NaN, NaT and pandas' NA do not equal themselves
    return cell is None or str(cell) in ("<NA>", "NaT") or cell != cell


def _numbers_of(name: Any, column: Any, finite: bool = True) -> Floats:
    cells = column.to_list()
    cells = [np.nan if cell is None or str(cell) == "<NA>" else cell for cell in cells]
    try:
        numbers = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"column {name!r} holds {cells[0]!r}, which is no number and no text"
        raise ValueError(msg) from error
    if finite and np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        msg = f"column {name!r} holds {numbers[row]} in row {row}; inf is not allowed"
        raise ValueError(msg)
    return numbers


def learn_encoding(table: Any) -> list[dict[str, Any]]:
    """How each column becomes numbers: its labels, or what missing cells become."""
    if not is_frame(table):
        return []
    parts: list[dict[str, Any]] = []
    for name, column in zip(table.columns, columns_of(table), strict=True):
        if holds_labels(column):
            seen = dict.fromkeys(str(cell) for cell in _labels_of(column))
            parts.append({"labels": sorted(seen)})
            continue
        numbers = _numbers_of(name, column)
        known = numbers[~np.isnan(numbers)]
        parts.append({"fill": float(known.mean()) if len(known) else 0.0})
    return parts


def encode(parts: list[dict[str, Any]], table: Any) -> Floats:
    """Numbers of a table: a column each, or one for each label."""
    if not parts:
        return np.asarray(table, dtype=np.float64)
    blocks = []
    for part, column in zip(parts, columns_of(table), strict=True):
        if "labels" in part:  # one that was not seen is none of them
            cells = np.array([str(cell) for cell in _labels_of(column)], dtype=object)
            block = cells[:, None] == np.array(part["labels"], dtype=object)
            blocks.append(block.astype(np.float64))
        else:
            numbers = _numbers_of("", column)
            filled = np.where(np.isnan(numbers), part["fill"], numbers)
            blocks.append(filled[:, None])
    return np.hstack(blocks)


def groups_of(parts: list[dict[str, Any]], n_columns: int) -> NDArray[np.intp]:
    """Column of the table that each column of numbers comes from."""
    if not parts:
        return np.arange(n_columns)
    sizes = [len(part.get("labels", [0])) for part in parts]
    return np.repeat(np.arange(len(parts)), sizes)


def checked_features(made: Any, n: int) -> Floats:
    """Output of a user's transformer: a finite number of each row and feature."""
    made = made.toarray() if hasattr(made, "toarray") else made
    array = np.ascontiguousarray(made, dtype=np.float64)
    if array.ndim != 2 or len(array) != n or not np.isfinite(array).all():
        msg = (
            f"features must give a finite array of {n} rows and some columns, got one "
            f"of shape {array.shape}."
        )
        raise ValueError(msg)
    return array
