"""Bring shape functions back from a model's features to the user's columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._feature_map import FeatureMap, FeatureSource

if TYPE_CHECKING:
    from skinterp.explanation._shape_functions import ShapeFunctions

OTHER = "other"
PRESENT, MISSING = "present", "missing"
Arrays = tuple[NDArray[Any], ...]


@dataclass
class _Term:
    """A term on its way back."""

    features: tuple[int, ...]
    grid: Arrays
    values: NDArray[np.float64]
    importance: NDArray[np.float64]
    parts: int = 1


def map_terms(shapes: ShapeFunctions, feature_map: FeatureMap) -> dict[str, Any]:
    """Fields of shape functions that say the same in the user's columns."""
    feature_map.check_size(len(shapes.feature_names))
    if shapes.contributions is not None:
        return {"feature_names": feature_map.names, **_map_rows(shapes, feature_map)}
    way = _WayBack(shapes, feature_map)
    made: list[_Term] = []
    for t, term in enumerate(shapes.terms):
        _add(made, way.bring_back(t, term))
    at, density = way.densities()
    for one in made:
        way.weigh(one, at, density)
    return {
        "feature_names": feature_map.names,
        "terms": tuple(term.features for term in made),
        "grids": tuple(term.grid for term in made),
        "values": tuple(term.values for term in made),
        "importance": np.array([term.importance for term in made]).reshape(
            len(made), *shapes.intercept.shape
        ),
        "density_at": at,
        "density": density,
    }


def _map_rows(shapes: ShapeFunctions, feature_map: FeatureMap) -> dict[str, Any]:
    """Sum what is added by terms of the same columns."""
    assert shapes.contributions is not None
    targets = feature_map.targets
    summed: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for t, term in enumerate(shapes.terms):
        columns = tuple(dict.fromkeys(targets[j] for j in term))
        key = next((k for k in summed if set(k) == set(columns)), columns)
        summed[key] = summed.get(key, 0.0) + shapes.contributions[:, t]
    parts = list(summed.values())
    empty = np.zeros((len(shapes), 0, *shapes.intercept.shape))
    return {
        "terms": tuple(summed),
        "contributions": np.stack(parts, axis=1) if parts else empty,
    }


def _add(made: list[_Term], new: _Term) -> None:
    """Add a term to the one of the same columns and points, if there is one."""
    for old in made:
        if old.features == new.features and all(map(_same, old.grid, new.grid)):
            old.values = old.values + new.values
            old.importance = np.sqrt(old.importance**2 + new.importance**2)
            old.parts += 1
            return
    made.append(new)


class _WayBack:
    """What the axes of terms become, worked out once per feature."""

    def __init__(self, shapes: ShapeFunctions, feature_map: FeatureMap) -> None:
        self.shapes, self.map = shapes, feature_map
        self.targets = feature_map.targets
        self.labels: dict[int, tuple[Any, ...]] = {}
        for source in feature_map.sources:
            if source.form in ("category", "code"):
                known = self.labels.get(source.column, ())
                new = [c for c in source.categories if c not in known]
                self.labels[source.column] = (*known, *new)
        for column in self.labels:
            if self._has_other(column):
                self.labels[column] += (self._other(column),)
        self.inverses = [_inverse(source) for source in feature_map.sources]

    def _has_other(self, column: int) -> bool:
        """Whether some cell of a one-hot block may be none of its categories."""
        indicators = self._indicators(column)
        if not indicators or not self.shapes.density:
            return False
        shares = [_share_of_one(self.shapes, j) for j in indicators]
        return sum(shares) < 1 - 1e-6

    def _indicators(self, column: int) -> list[int]:
        sources = enumerate(self.map.sources)
        return [j for j, s in sources if s.column == column and s.form == "category"]

    def _other(self, column: int) -> str:
        name = OTHER
        while name in self.labels[column]:
            name = f"({name})"
        return name

    def bring_back(self, t: int, term: Sequence[int]) -> _Term:
        """Term t with the axes of the user's columns."""
        values, grid = self.shapes.values[t], list(self.shapes.grids[t])
        for axis, j in enumerate(term):
            grid[axis], values = self._map_axis(j, grid[axis], values, axis)
        features = [self.targets[j] for j in term]
        one_column = len(term) == 2 and features[0] == features[1]
        if one_column and grid[0].dtype.kind != "f" and _same(*grid):
            # two indicators of one column: only their joint states occur
            both = np.arange(len(grid[0]))
            values, grid, features = values[both, both], grid[:1], features[:1]
        assert self.shapes.importance is not None
        return _Term(tuple(features), tuple(grid), values, self.shapes.importance[t])

    def _map_axis(
        self, j: int, points: NDArray[Any], values: NDArray[np.float64], axis: int
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        source = self.map.sources[j]
        if source.form == "opaque" or points.dtype.kind != "f":
            return points, values
        if source.form == "value":
            return _sorted(self.inverses[j](points), values, axis)
        if source.form == "missing":
            labels, at = _as_labels((PRESENT, MISSING)), np.array([0.0, 1.0])
        else:
            labels, at = self._states(source)
        return labels, _at_points(points, values, at, axis)

    def _states(
        self, source: FeatureSource
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels of a column, and the value of one of its features at each."""
        number = dict(zip(source.categories, source.values(), strict=True))
        unknown = 0.0 if source.unknown is None else source.unknown
        labels = self.labels[source.column]
        at = np.array([number.get(label, unknown) for label in labels])
        return _as_labels(labels), at

    def densities(self) -> tuple[Arrays, Arrays]:
        """Where the data of each column lie, as far as its features tell it."""
        if not self.shapes.density:
            return (), ()
        n = len(self.map.names)
        at: list[NDArray[Any]] = [np.zeros(0)] * n
        share: list[NDArray[Any]] = [np.zeros(0)] * n
        for j, source in enumerate(self.map.sources):
            to = self.targets[j]
            if source.form == "opaque":
                at[to], share[to] = self.shapes.density_at[j], self.shapes.density[j]
            elif source.form == "value" and not len(share[to]):
                at[to], share[to] = self._density_of_value(j)
            elif source.form in ("category", "code") and not len(share[to]):
                at[to], share[to] = self._density_of_labels(source)
        return tuple(at), tuple(share)

    def _density_of_value(self, j: int) -> tuple[NDArray[Any], NDArray[Any]]:
        at, share = self.shapes.density_at[j], self.shapes.density[j]
        if at.dtype.kind != "f" or not len(at):
            return at, share
        there = self.inverses[j](at)
        if not np.isfinite(there).all() or len(np.unique(there)) < len(there):
            return np.zeros(0), np.zeros(0)
        down = len(there) > 1 and there[0] > there[-1]
        return (there[::-1], share[::-1]) if down else (there, share)

    def _density_of_labels(
        self, source: FeatureSource
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        labels = self.labels[source.column]
        share = dict.fromkeys(labels, 0.0)
        for j, other in enumerate(self.map.sources):
            if other.column != source.column or other.form not in ("category", "code"):
                continue
            for label, number in zip(other.categories, other.values(), strict=True):
                part = _share_of(self.shapes, j, number)
                share[label] = part / other.values().count(number)
        shares = np.array(list(share.values()))
        indicators = self._indicators(source.column)
        if indicators and self._has_other(source.column):
            shares[-1] = max(0.0, 1 - shares[:-1].sum())
        total = shares.sum()
        if total <= 0:
            return np.zeros(0), np.zeros(0)
        return _as_labels(labels), shares / total

    def weigh(self, term: _Term, at: Arrays, density: Arrays) -> None:
        """Work out anew how a term over categories that was summed up spreads."""
        if term.parts == 1 or len(term.features) != 1 or not density:
            return
        j = term.features[0]
        if len(density[j]) and _same(term.grid[0], at[j]):
            mean = np.tensordot(density[j], term.values, axes=1)
            square = np.tensordot(density[j], (term.values - mean) ** 2, axes=1)
            term.importance = np.sqrt(square)


def _share_of_one(shapes: ShapeFunctions, j: int) -> float:
    return _share_of(shapes, j, 1.0)


def _share_of(shapes: ShapeFunctions, j: int, number: float) -> float:
    """Share of the data at which a feature has a value."""
    at, share = shapes.density_at[j], shapes.density[j]
    if not len(share) or at.dtype.kind != "f":
        return 0.0
    if len(at) == len(share):
        return float(share[at == number].sum())
    where = int(np.clip(np.searchsorted(at, number, "right") - 1, 0, len(share) - 1))
    return float(share[where]) if at[0] <= number <= at[-1] else 0.0


def _inverse(
    source: FeatureSource,
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """From values of a feature to cells of its column.

    The exact inverse asks the steps of a pipeline some hundred times per point. Where
    three probes lie on a line, the line is taken.
    """
    invert = source.invert
    if invert is None:
        return lambda points: points
    known: dict[float, float] = {}

    def exact(point: float) -> float:
        if point not in known:
            known[point] = float(invert(point))
        return known[point]

    def inverse(points: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(points) > 4:
            probes = points[np.linspace(0, len(points) - 1, 5).astype(int)]
            cells = np.array([exact(p) for p in probes])
            if np.isfinite(cells).all() and np.ptp(probes) > 0:
                slope = (cells[-1] - cells[0]) / (probes[-1] - probes[0])
                line = cells[0] + slope * (probes - probes[0])
                if np.abs(line - cells).max() <= 1e-12 * np.abs(cells).max():
                    return np.asarray(cells[0] + slope * (points - probes[0]))
        return np.array([exact(p) for p in points.tolist()])

    return inverse


def _sorted(
    cells: NDArray[np.float64], values: NDArray[np.float64], axis: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rising, finite, and each cell once."""
    finite = np.flatnonzero(np.isfinite(cells))
    points, first = np.unique(cells[finite], return_index=True)
    return points, np.take(values, finite[first], axis=axis)


def _at_points(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    at: NDArray[np.float64],
    axis: int,
) -> NDArray[np.float64]:
    """Values along one axis at other points, by straight lines between the known."""
    if len(points) == 1:
        return np.repeat(values, len(at), axis=axis)
    right = np.clip(np.searchsorted(points, at), 1, len(points) - 1)
    weight = (at - points[right - 1]) / (points[right] - points[right - 1])
    weight = np.clip(weight, 0, 1).reshape(-1, *[1] * (values.ndim - axis - 1))
    low = np.take(values, right - 1, axis=axis)
    high = np.take(values, right, axis=axis)
    return np.asarray(low * (1 - weight) + high * weight)


def _as_labels(labels: Sequence[Any]) -> NDArray[Any]:
    """Labels as an array that is not read as numbers."""
    made = np.empty(len(labels), dtype=object)
    made[:] = labels
    return made


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return len(a) == len(b) and a.tolist() == b.tolist()
