"""Between the user's table and the matrix of numbers that the search works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """What the columns hold: numbers, or texts that become codes.

    Parameters
    ----------
    names : tuple of str
        Names of the columns.
    named : bool
        Whether the estimator is given frames.
    texts : mapping of int to ndarray
        Sorted labels of the columns that hold texts.
    categorical : tuple of int
        Which of them came as pandas categories.
    """

    names: tuple[str, ...]
    named: bool
    texts: Mapping[int, NDArray[Any]]
    categorical: tuple[int, ...]

    @classmethod
    def of_numbers(cls, names: Sequence[str], named: bool) -> Table:
        """Table without texts."""
        return cls(tuple(names), named, {}, ())

    @classmethod
    def of_frame(cls, X: Any) -> Table:
        """Learn the labels of a frame."""
        names = tuple(str(name) for name in X.columns)
        texts, categorical = {}, []
        for j, name in enumerate(X.columns):
            if holds_text(X[name]):
                texts[j] = np.unique(_cells(X[name], name))
                if str(X[name].dtype) == "category":
                    categorical.append(j)
        return cls(names, True, texts, tuple(categorical))

    def matrix(self, X: Any) -> Floats:
        """Turn a frame into numbers; texts become the positions of their labels."""
        out = np.empty((len(X), len(self.names)))
        for j, name in enumerate(X.columns):
            if j not in self.texts:
                out[:, j] = _numbers(X[name], name)
                continue
            cells, labels = _cells(X[name], name), self.texts[j]
            at = np.searchsorted(labels, cells)
            known = labels[np.minimum(at, len(labels) - 1)] == cells
            if not known.all():
                msg = (
                    f"column {name!r} holds {cells[~known][0]!r}, which was not seen "
                    f"in fit; allowed are {labels.tolist()}"
                )
                raise ValueError(msg)
            out[:, j] = at
        return out

    def for_estimator(self, Z: Floats) -> Any:
        """Turn numbers back into what the estimator was fitted on."""
        if not self.named:
            return Z
        import pandas as pd

        if not self.texts:
            return pd.DataFrame(Z, columns=list(self.names))
        columns = {}
        for j, name in enumerate(self.names):
            labels = self.texts.get(j)
            cells: Any = Z[:, j] if labels is None else labels[Z[:, j].astype(int)]
            if j in self.categorical:
                cells = pd.Categorical(cells, categories=labels)
            columns[name] = cells
        return pd.DataFrame(columns)

    def cells(self, Z: Floats) -> NDArray[Any]:
        """Turn numbers back into cells to show, of any leading shape."""
        if not self.texts:
            return Z.copy()
        out = Z.astype(object)
        for j, labels in self.texts.items():
            out[..., j] = labels[Z[..., j].astype(int)]
        return out

    def position(self, column: Any, parameter: str) -> int:
        """Find a column by name or number."""
        is_number = isinstance(column, int | np.integer)
        if is_number and not isinstance(column, bool):
            if 0 <= column < len(self.names):
                return int(column)
        elif str(column) in self.names:
            return self.names.index(str(column))
        msg = (
            f"{parameter} names the column {column!r}, which is not one of "
            f"{list(self.names)} or their positions"
        )
        raise ValueError(msg)

    def code(self, j: int, value: Any, parameter: str) -> float:
        """Turn one cell into its number."""
        if j not in self.texts:
            return self._number(j, value, parameter)
        labels = self.texts[j].tolist()
        if value not in labels:
            msg = (
                f"{parameter} allows {value!r} in column {self.names[j]!r}, which "
                f"holds {labels}"
            )
            raise ValueError(msg)
        return float(labels.index(value))

    def _number(self, j: int, value: Any, parameter: str) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            msg = (
                f"{parameter} gives {value!r} for column {self.names[j]!r}, which "
                "holds numbers; a finite one is needed"
            )
            raise ValueError(msg)
        return number


def holds_text(column: Any) -> bool:
    """Say whether a column of a frame holds labels rather than numbers."""
    dtype = str(column.dtype)
    if dtype == "category" or dtype.lower().startswith(("str", "cat", "enum")):
        return True
    if dtype.lower() == "object":
        return any(isinstance(cell, str) for cell in np.asarray(column, dtype=object))
    return False


def has_texts(X: Any) -> bool:
    """Say whether X is a frame with a column of texts."""
    if not hasattr(X, "columns") or len(set(map(str, X.columns))) != len(X.columns):
        return False
    return any(holds_text(X[name]) for name in X.columns)


def _cells(column: Any, name: Any) -> NDArray[Any]:
    cells = np.asarray(column, dtype=object)
    missing = np.array([cell is None or cell != cell for cell in cells], dtype=bool)
    if missing.any():
        msg = f"column {name!r} is missing (NaN) in row {int(missing.argmax())}"
        raise ValueError(msg)
    kinds = {str if isinstance(cell, str) else type(cell) for cell in cells}
    if kinds == {str}:
        return np.array([str(cell) for cell in cells], dtype=object)
    if str in kinds:
        msg = f"column {name!r} mixes texts with other cells: {cells[:3].tolist()}"
        raise ValueError(msg)
    return cells


def _numbers(column: Any, name: Any) -> Floats:
    numbers = np.asarray(column, dtype=np.float64)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        msg = f"column {name!r} holds {numbers[row]} in row {row}; NaN and inf are not"
        raise ValueError(f"{msg} allowed")
    return numbers
