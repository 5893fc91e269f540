"""What ``TableEncoder`` does to one column, by the kind of its cells."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import FeatureSource
from skinterp.explanation._literals import read_cells
from skinterp.tabular._trace import is_missing

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.tabular._table_encoder import TableEncoder

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
NUMBERS = (int, float, np.integer, np.floating, decimal.Decimal)
MOMENTS = (dt.date, np.datetime64)


class Part(ABC):
    """One column of a ``TableEncoder``, fitted.

    Attributes
    ----------
    name : str
        Name of the column.
    keep : bool
        Whether missing cells stay missing.
    flagged : bool
        Whether a feature tells the missing cells.
    fill : float or None
        What a missing cell becomes.
    """

    allowed = ""

    def __init__(
        self, name: str, encoder: TableEncoder, column: pd.Series[Any]
    ) -> None:
        self.name = name
        self.keep = encoder.missing == "keep"
        self.flagged = encoder.add_indicator and bool(column.isna().any())
        self.fill: float | None = None

    @abstractmethod
    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """Cells as they are encoded, and which are missing."""

    @abstractmethod
    def learn(self, cells: NDArray[Any], missing: Mask) -> None:
        """Fit to the cells."""

    @abstractmethod
    def encode(self, cells: NDArray[Any], missing: Mask) -> Floats:
        """Features of the cells, without the indicator."""

    @abstractmethod
    def labels(self) -> list[str]:
        """Names of the features, without the indicator's."""

    @abstractmethod
    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """Where the features come from, without the indicator's."""

    def transform(self, column: pd.Series[Any]) -> Floats:
        """Features of a column."""
        cells, missing = self.read(column)
        features = self.encode(cells, missing)
        if self.flagged:
            features = np.column_stack([features, missing.astype(np.float64)])
        return features

    def names(self) -> list[str]:
        """Names of the features."""
        return self.labels() + [f"{self.name}_missing"] * self.flagged

    def all_sources(self, name: str, column: int) -> list[FeatureSource]:
        """Where the features come from."""
        flag = FeatureSource(form="missing", column=column)
        return self.sources(name, column) + [flag] * self.flagged

    def refuse(self, row: int, cell: Any) -> ValueError:
        """Error for a cell that the column does not take."""
        msg = f"column {self.name!r}, row {row}: {cell!r} is not {self.allowed}"
        return ValueError(msg)


class NumberPart(Part):
    """A column of numbers."""

    allowed = "a finite number, and the column held numbers in fit"

    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """Numbers, NaN where missing."""
        missing = np.asarray(column.isna(), dtype=bool)
        if not missing.all():
            self._check_cells(column, missing)
        try:
            cells = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError, OverflowError):
            raise self._first_wrong(column) from None
        wrong = np.isinf(cells)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.refuse(row, cells[row])
        return cells, missing

    def _check_cells(self, column: pd.Series[Any], missing: Mask) -> None:
        """Refuse what numpy would make numbers of: texts, moments, complex numbers."""
        if column.dtype.kind in "buif":
            return
        cells = column.to_numpy(dtype=object)
        for row in np.flatnonzero(~missing):
            if not isinstance(cells[row], (*NUMBERS, np.bool_)):
                raise self.refuse(int(row), cells[row])

    def _first_wrong(self, column: pd.Series[Any]) -> ValueError:
        for row, cell in enumerate(column):
            try:
                float(cell)
            except (TypeError, ValueError, OverflowError):
                if not is_missing(cell):
                    return self.refuse(row, cell)
        return self.refuse(0, column.iloc[0])

    def learn(self, cells: NDArray[Any], missing: Mask) -> None:
        """Take the median for missing cells."""
        if not self.keep:
            self.fill = 0.0 if missing.all() else float(np.median(cells[~missing]))

    def encode(self, cells: NDArray[Any], missing: Mask) -> Floats:
        """The number itself."""
        fill = np.nan if self.fill is None else self.fill
        return np.where(missing, fill, cells)[:, None]

    def labels(self) -> list[str]:
        """Name of the column."""
        return [self.name]

    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """The cell itself."""
        return [FeatureSource(form="value", column=column, fill=self.fill)]


class DatePart(NumberPart):
    """A column of dates, as days since 1970-01-01."""

    allowed = "a date, and the column held dates in fit"

    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """Days, NaN where missing."""
        missing = np.asarray(column.isna(), dtype=bool)
        if column.dtype.kind != "M" and not missing.all():
            self._check_cells(column, missing)
        return read_cells(column, "date")

    def _check_cells(self, column: pd.Series[Any], missing: Mask) -> None:
        """Refuse what pandas would make dates of: 20200101, a year, a truth value."""
        cells = column.to_numpy(dtype=object)
        for row in np.flatnonzero(~missing):
            if not is_moment(cells[row]):
                raise self.refuse(int(row), cells[row])

    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """The day of the cell."""
        return [
            FeatureSource(
                form="value", column=column, invert=float, dtype="date", fill=self.fill
            )
        ]


class BoolPart(NumberPart):
    """A column of truth values."""

    allowed = "True or False, and the column held only these in fit"

    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """1 for True and 0 for False, NaN where missing."""
        missing = np.asarray(column.isna(), dtype=bool)
        if str(column.dtype) in ("bool", "boolean"):
            return column.to_numpy(dtype=np.float64, na_value=np.nan), missing
        cells = np.full(len(column), np.nan)
        for row, cell in enumerate(column.to_numpy(dtype=object)):
            if missing[row]:
                continue
            if isinstance(cell, str) or cell not in (True, False):
                raise self.refuse(row, cell)
            cells[row] = float(cell)
        return cells, missing

    def learn(self, cells: NDArray[Any], missing: Mask) -> None:
        """Take the more frequent value for missing cells."""
        if not self.keep:
            known = cells[~missing]
            self.fill = float(len(known) > 0 and known.mean() > 0.5)

    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """Whether the cell is True."""
        return [
            FeatureSource(
                form="category",
                column=column,
                categories=(True,),
                fill=self.fill,
                unknown=0.0,
            )
        ]


def is_moment(cell: Any) -> bool:
    """Whether a cell is a date, or a text that says one in the ISO form."""
    if isinstance(cell, MOMENTS):
        return True
    if not (isinstance(cell, str) and _ISO_DATE.fullmatch(cell)):
        return False
    try:
        dt.datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True
