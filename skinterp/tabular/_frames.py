"""Read the cells of pandas and polars frames and of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.tabular._trace import is_missing

if TYPE_CHECKING:
    import pandas as pd


def column_names(estimator: Any) -> tuple[str, ...] | None:
    """Names of the columns that an estimator was fitted on; None if it knows none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return tuple(str(name) for name in names)
    width = getattr(estimator, "n_features_in_", None)
    return None if width is None else tuple(f"x{i}" for i in range(width))


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns, of pandas or of polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def split_columns(X: Any) -> list[pd.Series[Any]]:
    """Columns of a frame or 2-D array as pandas series with a fresh index."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return [X.iloc[:, i].reset_index(drop=True) for i in range(X.shape[1])]
    if is_frame(X):
        return [_from_polars(X[:, i]) for i in range(X.shape[1])]
    return [pd.Series(column) for column in np.asarray(X).T]


def _from_polars(column: Any) -> pd.Series[Any]:
    """Series of a polars column, without the packages that ``to_pandas`` needs."""
    import pandas as pd

    kind = str(column.dtype).partition("(")[0]
    cells = column.to_list()
    if kind in ("Categorical", "Enum"):
        return pd.Series(cells, dtype="category")
    if kind in ("Date", "Datetime"):
        return pd.to_datetime(pd.Series(cells, dtype=object))
    if kind.startswith(("Int", "UInt", "Float", "Decimal")):
        return pd.Series(cells, dtype=float)
    return pd.Series(cells, dtype=object)


def cells_of(X: Any, width: int) -> NDArray[Any]:
    """Cells of a table as plain numbers and texts, for showing them.

    Parameters
    ----------
    X : frame or array-like
        The table.
    width : int
        Number of its columns; 0 where X is a list of texts.
    """
    if width == 0:
        return np.empty((len(X), 0), dtype=object)
    table = X if is_frame(X) else X.toarray() if hasattr(X, "toarray") else X
    columns = split_columns(table)
    out = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = [_show(cell) for cell in column.to_numpy(dtype=object)]
    return out


def _show(cell: Any) -> Any:
    if is_missing(cell):
        return float("nan")
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, bool | int | float | str):
        return cell
    return str(cell)
