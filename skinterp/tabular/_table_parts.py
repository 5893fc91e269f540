"""What ``TableEncoder`` does to one column, by the kind of its cells."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder

from skinterp.explanation import FeatureSource
from skinterp.explanation._literals import read_cells
from skinterp.tabular._encoders import one_hot, plain
from skinterp.tabular._trace import Trace, is_missing, to_source

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


class CategoryPart(Part):
    """A column of labels, one feature per label; rare ones share a feature."""

    allowed = "a category seen in fit"

    def __init__(
        self, name: str, encoder: TableEncoder, column: pd.Series[Any]
    ) -> None:
        super().__init__(name, encoder, column)
        # a missing cell is a label of its own, which needs no indicator
        self.flagged = self.flagged and self.keep
        self.refuses = encoder.handle_unknown == "error"
        self.one_hot = OneHotEncoder(
            max_categories=encoder.max_categories,
            min_frequency=encoder.min_frequency,
            handle_unknown="ignore" if self.refuses else encoder.handle_unknown,
            sparse_output=False,
        )
        self.empty = False

    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """Labels, NaN where missing."""
        return read_labels(column)

    def learn(self, cells: NDArray[Any], missing: Mask) -> None:
        """Learn the labels."""
        known = cells[~missing] if self.keep else cells
        self.empty = len(known) == 0
        if self.empty:
            return
        try:
            self.one_hot.fit(known[:, None])
        except TypeError as error:
            msg = f"column {self.name!r} mixes labels of types that do not sort"
            raise ValueError(msg) from error

    def encode(self, cells: NDArray[Any], missing: Mask) -> Floats:
        """1 in the feature of the label."""
        features = np.full((len(cells), len(self.labels())), np.nan)
        if self.refuses:
            self._check_known(cells, missing)
        rows = ~missing if self.keep else np.ones(len(cells), dtype=bool)
        if rows.any() and not self.empty:
            features[rows] = self.one_hot.transform(cells[rows][:, None])
        return features

    def _check_known(self, cells: NDArray[Any], missing: Mask) -> None:
        known = [] if self.empty else list(self.one_hot.categories_[0])
        labels = set(known)
        for row in np.flatnonzero(~missing):
            if cells[row] not in labels:
                some = known[:10]
                raise ValueError(
                    f"{self.refuse(int(row), cells[row])}: {some}"
                    f"{' ...' if len(known) > len(some) else ''}; or set "
                    "handle_unknown='ignore'"
                )

    def labels(self) -> list[str]:
        """Column and label."""
        if self.empty:
            return []
        return [str(n) for n in self.one_hot.get_feature_names_out([self.name])]

    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """Which labels each feature stands for."""
        if self.empty:
            return []
        traces = one_hot(self.one_hot, [Trace(name=name, column=column)])
        told = [to_source(trace, "float64") for trace in traces]
        return [replace(source, fill=None) for source in told] if self.keep else told


class OrderedPart(Part):
    """A column of ordered labels: the position of the label in their order."""

    allowed = "one of the ordered categories of fit"

    def __init__(
        self, name: str, encoder: TableEncoder, column: pd.Series[Any]
    ) -> None:
        super().__init__(name, encoder, column)
        self.order = [plain(label) for label in column.cat.categories]
        self.refuses = encoder.handle_unknown == "error"

    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """Labels, NaN where missing."""
        return read_labels(column)

    def learn(self, cells: NDArray[Any], missing: Mask) -> None:
        """Take the lower median for missing cells."""
        if not self.keep:
            known = np.sort(self._positions(cells[~missing]))
            self.fill = float(known[(len(known) - 1) // 2]) if len(known) else 0.0

    def encode(self, cells: NDArray[Any], missing: Mask) -> Floats:
        """Position of the label; an unknown label is as good as missing."""
        positions = self._positions(cells)
        unknown = np.isnan(positions) & ~missing
        if self.refuses and unknown.any():
            row = int(np.argmax(unknown))
            raise ValueError(f"{self.refuse(row, cells[row])}: {self.order}")
        fill = np.nan if self.fill is None else self.fill
        return np.where(np.isnan(positions), fill, positions)[:, None]

    def _positions(self, cells: NDArray[Any]) -> Floats:
        place = {label: float(i) for i, label in enumerate(self.order)}
        return np.array([place.get(cell, np.nan) for cell in cells])

    def labels(self) -> list[str]:
        """Name of the column."""
        return [self.name]

    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """A number for each of the labels."""
        unknown = np.nan if self.fill is None else self.fill
        return [
            FeatureSource(
                form="code",
                column=column,
                categories=tuple(self.order),
                fill=self.fill,
                unknown=unknown,
            )
        ]


class TextPart(Part):
    """A column of free text: which of the most frequent words a cell contains."""

    allowed = "a text, and the column held texts in fit"

    def __init__(
        self, name: str, encoder: TableEncoder, column: pd.Series[Any]
    ) -> None:
        super().__init__(name, encoder, column)
        self.counter = CountVectorizer(binary=True, max_features=encoder.max_tokens)
        self.empty = False

    def read(self, column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
        """Texts, empty where missing."""
        missing = np.asarray(column.isna(), dtype=bool)
        cells = column.to_numpy(dtype=object).copy()
        cells[missing] = ""
        for row, cell in enumerate(cells):
            if not isinstance(cell, str):
                raise self.refuse(row, cell)
        return cells, missing

    def learn(self, cells: NDArray[Any], missing: Mask) -> None:
        """Learn the words."""
        try:
            self.counter.fit(cells)
        except ValueError:
            # no cell holds a word of two letters
            self.empty = True

    def encode(self, cells: NDArray[Any], missing: Mask) -> Floats:
        """1 where the text contains the word."""
        features = np.zeros((len(cells), len(self._words())))
        if not self.empty:
            features[:] = self.counter.transform(cells).toarray()
        if self.keep:
            features[missing] = np.nan
        return features

    def _words(self) -> Sequence[str]:
        return [] if self.empty else list(self.counter.get_feature_names_out())

    def labels(self) -> list[str]:
        """Column and word."""
        return [f"{self.name}_{word}" for word in self._words()]

    def sources(self, name: str, column: int) -> list[FeatureSource]:
        """Features that are named, but are no function of an interval or a label."""
        return [
            FeatureSource(form="opaque", name=f"{name} contains {word!r}")
            for word in self._words()
        ]


def read_labels(column: pd.Series[Any]) -> tuple[NDArray[Any], Mask]:
    """Labels as plain objects, NaN where missing."""
    missing = np.asarray(column.isna(), dtype=bool)
    cells = np.empty(len(column), dtype=object)
    cells[:] = [plain(cell) for cell in column.astype(object)]
    cells[missing] = np.nan
    return cells, missing


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
