"""From the columns of a table to tags: what a column's cells may be called."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skinterp.explanation._literals import Literal, read_column, read_feature
from skinterp.explanation._slices_check import SETS, labels_of
from skinterp.slices._search import pack

NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
# Columns of bits are packed in parts, so that masks never outgrow the table.
PART = 64
MAX_TAGS = 65_535


@dataclass(frozen=True)
class Column:
    """The tags of one column.

    ``dtype`` is how its cells are read; ``form`` is "bins" (``values`` are the inner
    edges), "values", "labels", "sets" (a cell is a collection of labels) or
    "presence" (the only tag is that the cell is not zero).
    """

    position: int
    dtype: str
    form: str
    values: tuple[Any, ...]
    kept: tuple[int, ...] = ()

    @property
    def several(self) -> bool:
        """Whether a row may carry several tags of the column."""
        return self.form == "sets"

    @property
    def ordinal(self) -> bool:
        """Whether the tags have an order."""
        return self.form in ("bins", "values")

    def codes(self, cells: Any, missing: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Tag of each cell, -1 for none; not for sets."""
        if self.form == "labels":
            index = pd.Index(np.array([*self.values, None], dtype=object)[:-1])
            codes = np.asarray(index.get_indexer(pd.Index(cells)), dtype=np.int64)
        elif self.form == "presence":
            codes = np.where(cells > 0, 0, -1)
        else:
            ends = np.array(self.values, dtype=np.float64)
            codes = np.searchsorted(ends, cells)
            if self.form == "values":
                near = ends[np.minimum(codes, len(ends) - 1)]
                codes = np.where(near == cells, codes, -1)
        return np.where(missing, -1, codes)

    def masks(self, table: Any, names: tuple[str, ...]) -> NDArray[np.uint64]:
        """Packed rows of each tag that is kept."""
        if self.form == "sets":
            return self._set_masks(read_column(table, names, self.position))
        codes = self.codes(*read_feature(table, names, self.position, self.dtype))
        parts = [
            pack(codes == np.array(self.kept[i : i + PART])[:, None])
            for i in range(0, len(self.kept), PART)
        ]
        return np.concatenate(parts)

    def _set_masks(self, column: Any) -> NDArray[np.uint64]:
        at = {self.values[code]: i for i, code in enumerate(self.kept)}
        mask = np.zeros((len(self.kept), len(column)), dtype=bool)
        for row, cell in enumerate(column):
            for label in labels_of(cell):
                if label in at:
                    mask[at[label], row] = True
        return pack(mask)

    def literal(self, code: int) -> Literal:
        """What a tag says of the cell."""
        j = self.position
        if self.form == "presence":
            return Literal(j, lower=0.0)
        if self.form == "values":
            value = float(self.values[code])
            return Literal(j, value, value, lower_closed=True)
        if self.form == "bins":
            ends = (-np.inf, *self.values, np.inf)
            return Literal(j, float(ends[code]), float(ends[code + 1]))
        return Literal(j, categories=(self.values[code],))


def learn_columns(
    table: Any,
    names: tuple[str, ...],
    *,
    n_bins: int,
    min_size: int,
    present: Collection[int],
) -> tuple[Column, ...]:
    """Columns with the tags that enough of the rows carry, and not all of them."""
    columns = []
    for j in range(len(names)):
        column = learn_column(table, names, j, n_bins, j in present)
        counts = count_tags(column, table, names)
        kept = np.flatnonzero((counts >= min_size) & (counts < len(table)))
        if len(kept) > MAX_TAGS:
            msg = (
                f"column {names[j]!r} has {len(kept)} tags of at least {min_size} rows;"
                f" at most {MAX_TAGS} are taken, raise min_size or leave it out"
            )
            raise ValueError(msg)
        if len(kept):
            parts = (column.position, column.dtype, column.form, column.values)
            columns.append(Column(*parts, tuple(kept.tolist())))
    return tuple(columns)


def positions(chosen: Collection[Any], names: tuple[str, ...]) -> set[int]:
    """Places of the columns that are named, or given by place."""
    places = set()
    for name in chosen:
        whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
        if whole and 0 <= name < len(names):
            places.add(int(name))
        elif name in names:
            places.add(names.index(name))
        else:
            msg = f"multi_hot names {name!r}, which is no column; they are {names}"
            raise ValueError(msg)
    return places


def learn_column(
    table: Any,
    names: tuple[str, ...],
    j: int,
    n_bins: int,
    present: bool,
) -> Column:
    """Column with all of its tags, none of them kept."""
    dtype = "float64" if present else _dtype_of(read_column(table, names, j), names[j])
    if dtype == "tags":
        cells = read_column(table, names, j)
        flat = [label for cell in cells for label in labels_of(cell)]
        return Column(j, dtype, "sets", _sorted(flat, names[j]))
    cells, missing = read_feature(table, names, j, dtype)
    known = cells[~missing]
    if present:
        return Column(j, dtype, "presence", (1,))
    if dtype == "category" or not len(known):
        return Column(j, dtype, "labels", _sorted(known, names[j]))
    distinct = np.sort(pd.unique(known))
    if dtype == "float64" and len(distinct) <= n_bins:
        return Column(j, dtype, "values", tuple(distinct.tolist()))
    shares = np.linspace(0, 1, n_bins + 1)[1:-1]
    # quantiles that are cells: none lies between infinite ones
    ends = np.unique(np.quantile(known, shares, method="lower"))
    ends = ends[ends < distinct[-1]] if ends[0] < distinct[-1] else distinct[-2:-1]
    return Column(j, dtype, "bins", tuple(ends.tolist()))


def _dtype_of(column: Any, name: str) -> str:
    """How the cells of a column are read."""
    series = column if isinstance(column, pd.Series) else pd.Series(np.asarray(column))
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "category"
    if series.dtype.kind == "M":
        return "date"
    if series.dtype.kind in "iuf":
        return "float64"
    if series.dtype.kind in "cm":
        msg = f"column {name!r} holds {series.dtype} cells, which have no tags"
        raise ValueError(msg)
    what = pd.api.types.infer_dtype(series, skipna=True)
    if what in NUMBERS:
        return "float64"
    known = series.dropna()
    if any(isinstance(cell, SETS) for cell in known):
        return "tags"
    return "category"


def _sorted(labels: Any, name: str) -> tuple[Any, ...]:
    """Distinct labels in an order that does not depend on the rows'."""
    plain = (x.item() if isinstance(x, np.generic) else x for x in labels)
    try:
        distinct = list(dict.fromkeys(plain))
    except TypeError as error:
        msg = (
            f"a cell of column {name!r} is no tag: argument must be a string, a number "
            f"or a collection of such ({error})"
        )
        raise TypeError(msg) from error
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda x: (type(x).__name__, str(x))))


def count_tags(column: Column, table: Any, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Count the rows that carry each tag."""
    n_tags = len(column.values) + (column.form == "bins")
    if column.form == "sets":
        at = {label: i for i, label in enumerate(column.values)}
        counts = np.zeros(n_tags, dtype=np.int64)
        for cell in read_column(table, names, column.position):
            counts[[at[label] for label in set(labels_of(cell))]] += 1
        return counts
    codes = column.codes(*read_feature(table, names, column.position, column.dtype))
    return np.bincount(codes[codes >= 0], minlength=n_tags)


def merge_labels(
    column: Column, tables: tuple[Any, ...], names: tuple[str, ...]
) -> Column:
    """Add the labels and sets of labels that other tables show."""
    if column.form not in ("labels", "sets"):
        return column
    labels: list[Any] = list(column.values)
    for table in tables:
        if column.form == "sets":
            cells = read_column(table, names, column.position)
            labels += [label for cell in cells for label in labels_of(cell)]
        else:
            read = read_feature(table, names, column.position, column.dtype)
            labels += read[0][~read[1]].tolist()
    return replace(column, values=_sorted(labels, names[column.position]))
