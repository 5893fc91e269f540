"""Literals: single conditions on one column, read, merged and put into words."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._feature_map import FeatureSource, widen_float32

INF = math.inf
EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Literal:
    """A condition on one column: an interval, or membership in a set of labels.

    Parameters
    ----------
    feature : int
        The column.
    lower, upper : float, default=-inf and inf
        Ends of the interval.
    lower_closed, upper_closed : bool, default=False and True
        Whether the ends belong to it.
    categories : tuple, default=None
        The labels, instead of an interval.
    negated : bool, default=False
        Whether the cell is to be none of the labels.
    missing : bool, default=False
        Whether a missing cell satisfies the condition.

    See Also
    --------
    RuleSet.literals : The conditions of a rule.

    Examples
    --------
    >>> Literal(0, upper=2.5).holds(2.5)
    True
    """

    feature: int
    lower: float = -INF
    upper: float = INF
    lower_closed: bool = False
    upper_closed: bool = True
    categories: tuple[Any, ...] | None = None
    negated: bool = False
    missing: bool = False

    @property
    def is_trivial(self) -> bool:
        """Whether every cell satisfies it, missing ones too."""
        return self.missing and self.admits_all

    @property
    def admits_all(self) -> bool:
        """Whether every known cell satisfies it."""
        if self.categories is not None:
            return self.negated and not self.categories
        return self.lower == -INF and self.upper == INF

    @property
    def admits_none(self) -> bool:
        """Whether no known cell satisfies it."""
        if self.categories is not None:
            return not self.negated and not self.categories
        if self.lower == self.upper and abs(self.lower) != INF:
            return not (self.lower_closed and self.upper_closed)
        return self.lower > self.upper or self.upper == -INF or self.lower == INF

    def holds(self, value: float) -> bool:
        """Say whether an interval contains a number.

        Parameters
        ----------
        value : float
            A known cell, as it is read for the comparison.

        Returns
        -------
        bool
            Whether it lies between the ends.
        """
        above = value >= self.lower if self.lower_closed else value > self.lower
        below = value <= self.upper if self.upper_closed else value < self.upper
        return (above or self.lower == -INF) and (below or self.upper == INF)

    def mask(
        self, cells: NDArray[Any], missing: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Say which cells satisfy the condition.

        Parameters
        ----------
        cells : ndarray of shape (n_cells,)
            The column, as it is read for the comparison.
        missing : ndarray of shape (n_cells,), bool
            Which cells are missing.

        Returns
        -------
        ndarray of shape (n_cells,), bool
            Whether each cell satisfies it.
        """
        if self.categories is not None:
            labels = set(self.categories)
            inside = np.array([cell in labels for cell in cells], dtype=bool)
            known = inside != self.negated
        else:
            above = cells >= self.lower if self.lower_closed else cells > self.lower
            below = cells <= self.upper if self.upper_closed else cells < self.upper
            known = (above | (self.lower == -INF)) & (below | (self.upper == INF))
        return np.where(missing, self.missing, known)


def merge(a: Literal, b: Literal) -> tuple[Literal, ...]:
    """Literals of one column that hold where both hold, one if one can say it."""
    missing = a.missing and b.missing
    if a.categories == () or b.categories == ():
        return (_merge_presence(*((a, b) if a.categories == () else (b, a))),)
    if (a.categories is None) != (b.categories is None):
        return a, b
    return (_merge_same(a, b, missing),)


def _merge_presence(presence: Literal, other: Literal) -> Literal:
    """Merge "is known" or "is missing" into any literal."""
    missing = presence.missing and other.missing
    if presence.admits_all:
        return replace(other, missing=missing)
    return replace(presence, missing=missing)


def _merge_same(a: Literal, b: Literal, missing: bool) -> Literal:
    if a.categories is not None and b.categories is not None:
        categories, negated = _merge_categories(a, b)
        return replace(a, categories=categories, negated=negated, missing=missing)
    low = max(a, b, key=lambda x: (x.lower, not x.lower_closed))
    high = min(a, b, key=lambda x: (x.upper, x.upper_closed))
    return Literal(
        a.feature,
        low.lower,
        high.upper,
        low.lower_closed,
        high.upper_closed,
        missing=missing,
    )


def _merge_categories(a: Literal, b: Literal) -> tuple[tuple[Any, ...], bool]:
    first, second = a.categories or (), b.categories or ()
    if a.negated and b.negated:
        return first + tuple(x for x in second if x not in first), True
    if a.negated:
        a, first, second = b, second, first
        return tuple(x for x in first if x not in second), False
    if b.negated:
        return tuple(x for x in first if x not in second), False
    return tuple(x for x in first if x in second), False


def translate(
    literal: Literal, source: FeatureSource, *, dtype: str, widen: bool
) -> Literal:
    """Say a literal on a model's feature in terms of the column it comes from.

    ``dtype`` is what the model compares in; ``widen`` says that a comparison in
    float32 is to be said in float64.
    """
    cast = np.float32 if dtype == "float32" else np.float64
    missing = literal.missing
    if source.fill is not None:
        missing = literal.holds(float(cast(source.fill)))
    if source.form == "value":
        return replace(
            _translate_interval(literal, source, widen=widen), missing=missing
        )
    if source.form == "missing":
        known = literal.holds(0.0)
        return Literal(
            source.column, categories=(), negated=known, missing=literal.holds(1.0)
        )
    return replace(_translate_categories(literal, source, cast), missing=missing)


def _translate_interval(
    literal: Literal, source: FeatureSource, *, widen: bool
) -> Literal:
    if source.invert is None:
        step = widen_float32 if widen else float
        if widen and (literal.lower_closed or not literal.upper_closed):
            literal = _half_open(literal, np.float32)
        return replace(
            literal,
            feature=source.column,
            lower=step(literal.lower),
            upper=step(literal.upper),
        )
    literal = _half_open(literal, np.float64)
    low, high = literal.lower, literal.upper
    low = low if low == -INF else source.invert(low)
    high = high if high == INF else source.invert(high)
    if source.increasing:
        return Literal(source.column, low, high)
    # cells down to c have values of at most t: (low, high] becomes [c_high, c_low)
    lower = -INF if literal.upper == INF else high
    upper = INF if literal.lower == -INF else low
    return Literal(
        source.column, lower, upper, lower_closed=True, upper_closed=upper == INF
    )


def _half_open(literal: Literal, dtype: type[np.floating[Any]]) -> Literal:
    """Write [a, b) as the (a', b'] that holds for the same numbers of a dtype."""
    low, high = literal.lower, literal.upper
    if literal.lower_closed and low != -INF:
        low = float(np.nextafter(dtype(low), dtype(-INF)))
    if not literal.upper_closed and high != INF:
        high = float(np.nextafter(dtype(high), dtype(-INF)))
    return replace(
        literal, lower=low, upper=high, lower_closed=False, upper_closed=True
    )


def _translate_categories(
    literal: Literal, source: FeatureSource, cast: type[np.floating[Any]]
) -> Literal:
    holds = [_holds(literal, value, cast) for value in source.values()]
    inside = tuple(c for c, h in zip(source.categories, holds, strict=True) if h)
    outside = tuple(c for c, h in zip(source.categories, holds, strict=True) if not h)
    unknown = 0.0 if source.form == "category" else source.unknown
    if unknown is not None:
        negated = _holds(literal, unknown, cast)
    else:
        negated = len(outside) < len(inside)
    return Literal(
        source.column, categories=outside if negated else inside, negated=negated
    )


def _holds(literal: Literal, value: float, cast: type[np.floating[Any]]) -> bool:
    """Whether a code satisfies a literal; a code of NaN is a missing cell."""
    return literal.missing if math.isnan(value) else literal.holds(float(cast(value)))


# -- reading cells ---------------------------------------------------------------------


def read_table(X: Any, names: Sequence[str], dtypes: Sequence[str]) -> Any:
    """Frame as it is, anything else as an array that has the columns of the rules."""
    if hasattr(X, "columns"):
        return X
    if hasattr(X, "toarray"):
        msg = "X is sparse; rules are evaluated on frames and dense arrays"
        raise TypeError(msg)
    array = np.asarray(X)
    if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        # numpy would make texts of the numbers beside texts
        array = np.array(X, dtype=object)
    width = sum(dtype != "derived" for dtype in dtypes)
    # a model of texts alone has no columns, and its X one dimension
    if array.ndim == 0 or (width and array.shape[1:] != (width,)):
        msg = f"X must have the shape (n_rows, {width}), as in fit; got {array.shape}"
        raise ValueError(msg)
    return array


def read_feature(
    X: Any, names: Sequence[str], feature: int, dtype: str
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Cells of a feature's column as they are compared, and which are missing."""
    column = read_column(X, names, feature)
    try:
        return read_cells(column, dtype)
    except (TypeError, ValueError) as error:
        msg = f"column {names[feature]!r} cannot be read as {dtype}: {error}"
        raise ValueError(msg) from error


def read_column(X: Any, names: Sequence[str], feature: int) -> Any:
    """Column of a frame by name, or of an array by position."""
    if not hasattr(X, "columns"):
        return X[:, feature]
    columns, name = list(X.columns), names[feature]
    if not all(isinstance(own, str) for own in columns):
        return X.iloc[:, feature]
    if name not in columns:
        msg = f"column {name!r} is not in X; its columns: {columns}"
        raise ValueError(msg)
    if columns.count(name) == 1 == list(names).count(name):
        return X[name]
    if columns == list(names[: len(columns)]):
        return X.iloc[:, feature]
    msg = (
        f"column {name!r} is ambiguous: the rules have the columns {list(names)}, X "
        f"has {columns}"
    )
    raise ValueError(msg)


def read_cells(column: Any, dtype: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Cells of a column in the form they are compared in, and which are missing.

    ``dtype`` is "float32", "float64", "date" (days since 1970-01-01) or "category".
    """
    import pandas as pd

    series = column if isinstance(column, pd.Series) else pd.Series(np.asarray(column))
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    missing = np.asarray(series.isna(), dtype=bool)
    if dtype == "category":
        return series.to_numpy(dtype=object), missing
    if dtype == "date":
        if series.dtype.kind in "buifc" and not missing.all():
            msg = f"numbers such as {series[~missing].iloc[0]} are no dates"
            raise ValueError(msg)
        moments = pd.to_datetime(series, utc=True, format="ISO8601").dt.tz_localize(
            None
        )
        return np.asarray((moments - EPOCH) / pd.Timedelta(days=1)), missing
    if dtype not in ("float32", "float64"):
        msg = f"a derived feature ({dtype!r}) cannot be read from the user's columns"
        raise ValueError(msg)
    if series.dtype.kind in "mMc" and not missing.all():
        msg = f"{series[~missing].iloc[0]!r} is not a number to compare"
        raise ValueError(msg)
    cells = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    return cells.astype(dtype).astype(np.float64), missing


# -- words -----------------------------------------------------------------------------


def say(literal: Literal, name: str, dtype: str) -> str:
    """Put a literal into words, such as "2 < age <= 5"."""
    if literal.admits_none and literal.missing:
        return f"{name} is missing"
    if literal.admits_all:
        return f"{name} is known"
    if literal.categories is not None:
        text = f"{name} {_say_categories(literal)}"
    else:
        text = _say_interval(literal, name, dtype)
    return f"({text} or missing)" if literal.missing else text


def say_short(literal: Literal, dtype: str) -> str:
    """Put a literal into words where its column is named already."""
    finite = abs(literal.lower) < INF and abs(literal.upper) < INF
    if not finite or literal.categories is not None or literal.lower == literal.upper:
        return say(literal, "", dtype).replace("( ", "(").strip()
    left, right = "[" if literal.lower_closed else "(", "])"[not literal.upper_closed]
    low, high = _say_number(literal.lower, dtype), _say_number(literal.upper, dtype)
    return f"{left}{low}, {high}{right}{' or missing' if literal.missing else ''}"


def _say_categories(literal: Literal) -> str:
    labels = [repr(_plain(label)) for label in literal.categories or ()]
    if labels in (["True"], ["False"]) and literal.negated:
        return f"is {labels == ['False']}"  # a truth value has but one other
    if len(labels) == 1:
        return f"{'is not' if literal.negated else 'is'} {labels[0]}"
    return f"{'none' if literal.negated else 'one'} of {', '.join(labels)}"


def _say_interval(literal: Literal, name: str, dtype: str) -> str:
    low, high = _say_number(literal.lower, dtype), _say_number(literal.upper, dtype)
    if literal.lower == literal.upper:
        return f"{name} = {low}"
    if literal.upper == INF:
        return f"{name} {'>=' if literal.lower_closed else '>'} {low}"
    below = "<=" if literal.upper_closed else "<"
    if literal.lower == -INF:
        return f"{name} {below} {high}"
    return f"{low} {'<=' if literal.lower_closed else '<'} {name} {below} {high}"


def _say_number(value: float, dtype: str) -> str:
    if dtype == "date" and math.isfinite(value):
        # float32 tells today's days to a minute and a half; words snap to midnight
        days = round(value) if abs(value - round(value)) < 0.001 else value
        moment = EPOCH + dt.timedelta(days=days)
        midnight = moment.time() == dt.time()
        return moment.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M")
    # six digits, or as many as tell 123457.5 from the whole numbers beside it
    whole = len(f"{abs(value):.0f}") if abs(value) < 1e16 else 0
    return f"{value:.{max(6, whole + 1)}g}"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
