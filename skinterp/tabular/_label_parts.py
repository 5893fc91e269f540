"""What ``TableEncoder`` does to columns of labels and of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder

from skinterp.explanation import FeatureSource
from skinterp.tabular._encoders import one_hot, plain
from skinterp.tabular._table_parts import Floats, Mask, Part
from skinterp.tabular._trace import Trace, to_source

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.tabular._table_encoder import TableEncoder


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
