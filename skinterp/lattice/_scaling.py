"""Conceptual scaling: from columns of any kind to what a cell has or has not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import validate_data
from skinterp.explanation import Literal

if TYPE_CHECKING:
    import pandas as pd

SCALES = ("auto", "boolean", "nominal", "ordinal", "interordinal")
INF = float("inf")
ALLOWED = "with scaling='boolean' a column holds 0, 1 or NaN"

Cells = NDArray[Any]


def read_columns(estimator: Any, X: Any, *, reset: bool) -> Sequence[Cells]:
    """Check a table, and give its columns: numbers (or NaN), or labels (or None)."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if 0 in X.shape:
            msg = f"Found a table of shape {X.shape}; at least one row and one column "
            raise ValueError(msg + "(sample and feature) are required.")
        names = [str(name) for name in X.columns]
        return [read_cells(_series(X, i), names[i]) for i in range(len(names))]
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind == "U":
        X = np.array(X, dtype=object)  # numpy makes texts of numbers beside texts
    array = validate_data(
        estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
    )
    if array.dtype.kind in "biuf":
        return array.astype(np.float64, copy=False).T
    import pandas as pd

    return [read_cells(pd.Series(c), f"x{i}") for i, c in enumerate(array.T)]


def _series(X: Any, i: int) -> pd.Series[Any]:
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X.iloc[:, i]
    column = X[:, i]
    kind = str(column.dtype)
    if kind.startswith(("Date", "Datetime")):
        return pd.Series(pd.to_datetime(column.to_list()))
    return pd.Series(column.to_list(), dtype=object)


def read_cells(column: pd.Series[Any], name: str) -> Cells:
    """Cells of one column: numbers as float64, dates as days, labels as objects."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype.kind == "M":
        moments = pd.to_datetime(column, utc=True).dt.tz_localize(None)
        return ((moments - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy()
    known = column[~column.isna()]
    if column.dtype.kind in "mc":
        msg = f"column {name!r} has dtype {column.dtype}; allowed are numbers, truth "
        raise ValueError(msg + "values, labels and dates")
    if column.dtype.kind in "biuf" or all(
        isinstance(cell, bool | int | float | np.number | np.bool_) for cell in known
    ):
        cells = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(cells).any():
            msg = f"column {name!r} holds inf; allowed are finite numbers and NaN"
            raise ValueError(msg)
        return cells
    wrong = [cell for cell in known if not isinstance(cell, str)]
    if wrong:
        msg = (
            f"column {name!r} holds {wrong[0]!r}, of type {type(wrong[0]).__name__}: "
            "a column has to hold numbers, truth values, dates (of a dtype of dates, "
            "as pandas.to_datetime gives), or labels that are all strings"
        )
        raise ValueError(msg)
    labels = column.to_numpy(dtype=object, copy=True)
    labels[column.isna().to_numpy()] = None
    return labels


def category_orders(X: Any, n: int) -> list[tuple[str, ...] | None]:
    """Labels in their order, of the columns that are ordered categoricals."""
    import sys

    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return [None] * n
    orders: list[tuple[str, ...] | None] = []
    for dtype in X.dtypes:
        ordered = isinstance(dtype, pandas.CategoricalDtype) and dtype.ordered
        labels = tuple(dtype.categories) if ordered else ()
        texts = ordered and all(isinstance(label, str) for label in labels)
        orders.append(labels if texts else None)
    return orders


def date_columns(X: Any, n: int) -> list[bool]:
    """Columns whose numbers are days."""
    if not hasattr(X, "columns"):
        return [getattr(getattr(X, "dtype", None), "kind", "") == "M"] * n
    dtypes = list(X.dtypes)
    return [str(d).lower().startswith(("date", "datetime")) for d in dtypes]


def all_binary(columns: Sequence[Cells]) -> bool:
    """Whether a table came as one array, of nothing but 0 and 1."""
    if not isinstance(columns, np.ndarray):
        return False
    return bool(((columns == 0) | (columns == 1)).all())


def choose_scales(scaling: str | Mapping[Any, str], names: Sequence[str]) -> list[str]:
    """Scale of each column, as the parameter says."""
    if isinstance(scaling, str):
        return [scaling] * len(names)
    unknown = [key for key in scaling if key not in names]
    wrong = [value for value in scaling.values() if value not in SCALES]
    if unknown:
        msg = f"scaling names the column {unknown[0]!r}; the columns are {list(names)}"
        raise ValueError(msg)
    if wrong:
        msg = f"scaling holds {wrong[0]!r}; a scale is one of {list(SCALES)}"
        raise ValueError(msg)
    return [scaling.get(name, "auto") for name in names]


def scale_column(
    j: int,
    cells: Cells,
    scale: str,
    name: str,
    order: tuple[str, ...] | None,
    n_thresholds: int,
) -> list[Literal]:
    """Attributes of one column."""
    if cells.dtype.kind == "O":
        return _scale_labels(j, cells, scale, name, order)
    known = cells[~np.isnan(cells)]
    binary = bool(((known == 0) | (known == 1)).all())
    if scale == "boolean" and not binary:
        bad = known[(known != 0) & (known != 1)][0]
        msg = f"column {name!r} holds {bad:g}; {ALLOWED}"
        raise ValueError(msg)
    if scale == "boolean" or (scale == "auto" and binary):
        return [Literal(j, lower=0.5)]
    values = np.unique(known)
    if scale == "nominal":
        return [Literal(j, v, v, True, True) for v in values.tolist()]
    if len(values) == 0:  # no cell is known: an attribute of no row, as with labels
        return [Literal(j, lower=0.5)]
    if len(values) == 1:  # what everything has; a column without any is worse
        return [Literal(j, float(values[0]), INF, True, False)]
    cuts = _cuts(known, values, n_thresholds)
    above = [Literal(j, lower=t) for t in cuts]
    return above if scale == "ordinal" else [Literal(j, upper=t) for t in cuts] + above


def _cuts(known: Cells, values: Cells, n: int) -> list[float]:
    """Thresholds at quantiles, halfway to the next value that occurs."""
    shares = np.arange(1, n + 1) / (n + 1)
    at = np.quantile(known, shares, method="inverted_cdf")
    below = np.unique(np.minimum(np.searchsorted(values, at), len(values) - 2))
    if len(values) <= n + 1:
        below = np.arange(len(values) - 1)
    low, high = values[below], values[below + 1]
    middle = low + (high - low) / 2
    cuts: list[float] = np.where(
        (low <= middle) & (middle < high), middle, low
    ).tolist()
    return cuts


def _scale_labels(
    j: int, cells: Cells, scale: str, name: str, order: tuple[str, ...] | None
) -> list[Literal]:
    found = sorted({cell for cell in cells if cell is not None})
    if scale in ("ordinal", "interordinal") and order is None:
        msg = (
            f"column {name!r} holds labels such as {found[0]!r} without an order; "
            f"scaling={scale!r} needs numbers or an ordered categorical"
        )
        raise ValueError(msg)
    if scale == "boolean":
        msg = f"column {name!r} holds {found[0]!r}; {ALLOWED}"
        raise ValueError(msg)
    if scale == "nominal" or order is None:
        return [Literal(j, categories=(label,)) for label in found]
    seen = [label for label in order if label in set(found)]
    up = [Literal(j, categories=tuple(seen[i:])) for i in range(1, len(seen))]
    down = [Literal(j, categories=tuple(seen[:i])) for i in range(1, len(seen))]
    if not up:
        return [Literal(j, categories=tuple(seen))]
    return up if scale == "ordinal" else down + up


def attribute_table(
    columns: Any,
    attributes: Mapping[str, Any],
    names: Sequence[str],
    dates: Sequence[bool],
) -> NDArray[np.bool_]:
    """Which row has which attribute; a missing cell has none of its column's.

    ``attributes`` holds the conditions as arrays, one entry per attribute; ``dates``
    says which columns hold days.
    """
    if attributes["flags"] and isinstance(columns, np.ndarray):
        return columns.T > 0.5
    features = attributes["attribute_feature"]
    _check_kinds(columns, attributes, names, dates)
    out = np.empty((len(columns[0]), len(features)), dtype=bool)
    for k, j in enumerate(features):
        literal = Literal(
            int(j),
            float(attributes["lower"][k]),
            float(attributes["upper"][k]),
            bool(attributes["lower_closed"][k]),
            bool(attributes["upper_closed"][k]),
            attributes["categories"][k],
        )
        out[:, k] = _hold(literal, columns[j])
    return out


def _check_kinds(
    columns: Any,
    attributes: Mapping[str, Any],
    names: Sequence[str],
    dates: Sequence[bool],
) -> None:
    """Raise ValueError where a column holds another kind of cells than in fit."""
    for j, labels in zip(
        attributes["attribute_feature"], attributes["categories"], strict=True
    ):
        was_date = attributes["feature_dtypes"][j] == "date"
        was = "labels" if labels is not None else "dates" if was_date else "numbers"
        cells = columns[j]
        if cells.dtype.kind == "O":
            known, now = any(cell is not None for cell in cells), "labels"
        else:
            known = not np.isnan(cells).all()
            now = "dates" if dates[j] else "numbers"
        if known and now != was:
            msg = (
                f"column {names[j]!r} holds {now}, but held {was} in fit (its dtype is "
                "another)"
            )
            raise ValueError(msg)


def _hold(literal: Literal, cells: Cells) -> NDArray[np.bool_]:
    labels = cells.dtype.kind == "O"
    if labels != (literal.categories is not None):  # no cell is known
        return np.zeros(len(cells), dtype=bool)
    missing = cells == None if labels else np.isnan(cells)  # noqa: E711
    return literal.mask(cells, missing)
