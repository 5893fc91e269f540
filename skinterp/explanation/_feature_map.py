"""How the features of a model come from the columns of the user's table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

FORMS = ("value", "category", "code", "missing", "opaque")


@dataclass(frozen=True, kw_only=True)
class FeatureSource:
    """Where one feature of a model comes from.

    Parameters
    ----------
    form : {"value", "category", "code", "missing", "opaque"}
        - "value": a monotone function of one column;
        - "category": 1 where the cell is one of ``categories``, else 0;
        - "code": a number for each of ``categories``;
        - "missing": 1 where the cell is missing, else 0;
        - "opaque": anything else; it keeps ``name`` and stands after the columns.
    column : int, default=-1
        Position of the user's column; -1 for an opaque feature.
    name : str, default=""
        What to call an opaque feature.
    invert : callable, default=None
        For "value": takes a threshold t of the feature and returns the number c such
        that exactly the cells up to c (down to c, if not ``increasing``) have a value
        of at most t. None stands for the identity.
    increasing : bool, default=True
        For "value": whether the function grows.
    categories : tuple, default=()
        For "category" and "code": labels as they stand in the column.
    codes : tuple of float, default=None
        For "code": the number of each category; None counts from 0.
    fill : float, default=None
        Value of the feature where the cell is missing; None leaves it missing.
    unknown : float, default=None
        For "category" and "code": value of the feature at a cell that is none of the
        categories; None where such cells are refused.
    dtype : {"float32", "float64", "date"}, default="float64"
        How the column's cells are read before they are compared, for "value" with an
        ``invert``.

    Examples
    --------
    >>> source = FeatureSource(form="value", column=0, invert=lambda t: 2 * t + 1)
    >>> source.invert(1.5)
    4.0
    """

    form: str
    column: int = -1
    name: str = ""
    invert: Callable[[float], float] | None = None
    increasing: bool = True
    categories: tuple[Any, ...] = ()
    codes: tuple[float, ...] | None = None
    fill: float | None = None
    unknown: float | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            msg = f"form={self.form!r} is not one of {list(FORMS)}"
            raise ValueError(msg)
        if (self.form == "opaque") != (self.column < 0):
            msg = f"form={self.form!r} does not go with column={self.column}"
            raise ValueError(msg)
        if self.codes is not None and len(self.codes) != len(self.categories):
            msg = f"{len(self.codes)} codes for {len(self.categories)} categories"
            raise ValueError(msg)

    def values(self) -> tuple[float, ...]:
        """Value of the feature for each of the categories.

        Returns
        -------
        tuple of float
            As long as ``categories``.
        """
        if self.form == "category":
            return (1.0,) * len(self.categories)
        if self.codes is not None:
            return self.codes
        return tuple(float(i) for i in range(len(self.categories)))


@dataclass(frozen=True)
class FeatureMap:
    """How all features of a model come from the columns of the user's table.

    Parameters
    ----------
    columns : tuple of str
        Names of the user's columns.
    sources : tuple of FeatureSource
        One per feature of the model, in its order.

    See Also
    --------
    Explanation.map_features : Uses it.

    Examples
    --------
    >>> identity = FeatureMap.identity(("age", "dose"))
    >>> identity.names
    ('age', 'dose')
    """

    columns: tuple[str, ...]
    sources: tuple[FeatureSource, ...]

    def __post_init__(self) -> None:
        for i, source in enumerate(self.sources):
            if source.column >= len(self.columns):
                msg = (
                    f"source {i} names column {source.column}, but there are "
                    f"{len(self.columns)} columns"
                )
                raise ValueError(msg)

    @classmethod
    def identity(cls, columns: tuple[str, ...]) -> FeatureMap:
        """Map of a model that takes the user's columns as they are.

        Parameters
        ----------
        columns : tuple of str
            Names of the columns.

        Returns
        -------
        FeatureMap
            With one source per column.
        """
        sources = tuple(
            FeatureSource(form="value", column=i) for i in range(len(columns))
        )
        return cls(tuple(columns), sources)

    @property
    def opaque(self) -> tuple[int, ...]:
        """Positions of the features that come from no single column."""
        return tuple(i for i, s in enumerate(self.sources) if s.form == "opaque")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, then those of the opaque features."""
        return self.columns + tuple(self.sources[i].name for i in self.opaque)

    @property
    def targets(self) -> tuple[int, ...]:
        """For each feature the position in ``names`` of what it comes from."""
        position = {j: len(self.columns) + k for k, j in enumerate(self.opaque)}
        return tuple(
            position[j] if s.form == "opaque" else s.column
            for j, s in enumerate(self.sources)
        )

    def check_size(self, n_features: int) -> None:
        """Raise ValueError unless there is one source per feature.

        Parameters
        ----------
        n_features : int
            Number of features of the model.
        """
        if len(self.sources) != n_features:
            msg = f"the map has {len(self.sources)} sources for {n_features} features"
            raise ValueError(msg)


def widen_float32(threshold: float) -> float:
    """Largest float64 number that, rounded to float32, is at most a threshold.

    With it, comparing cells in float64 gives exactly what comparing them in float32
    gives.
    """
    if not math.isfinite(threshold):
        return threshold
    low = np.float32(threshold)
    if float(low) > threshold:
        low = np.nextafter(low, np.float32(-np.inf))
    high = np.nextafter(low, np.float32(np.inf))
    middle = float(low) + (float(high) - float(low)) / 2
    if np.float32(middle) <= low:
        return middle
    return float(np.nextafter(middle, -np.inf))
