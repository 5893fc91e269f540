"""Whether curves and surfaces add up to what a model says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skinterp.explanation._shape_functions import ShapeFunctions


def check_curves(shapes: ShapeFunctions, estimator: Any, X: Any) -> None:
    """Raise AssertionError naming the first made-up row whose sum is not the output."""
    places = _places(shapes, X)
    if places is None or len(X) == 0:
        return
    chosen = {}
    for j, place in places.items():
        points = _common_points(shapes, j)
        if points.dtype.kind != "f":
            # labels that stand for others, or for missing cells, are no cells
            cells = set(_column(X, place))
            points = points[[label in cells for label in points.tolist()]]
            if not len(points):
                return
        chosen[j] = _choose(points, j, len(X))
    expected = np.asarray(_sum_of_terms(shapes, chosen, len(X)))
    made = _with_cells(X, {places[j]: cells for j, cells in chosen.items()})
    got = np.asarray(getattr(estimator, shapes.output)(made), dtype=np.float64)
    if got.shape != expected.shape:
        msg = f"{shapes.output} gives shape {got.shape}, the terms {expected.shape}"
        raise AssertionError(msg)
    size = sum(float(np.abs(v).max(initial=0)) for v in shapes.values)
    wrong = np.abs(got - expected) > 1e-6 * (1 + size + np.abs(expected))
    if wrong.any():
        i = tuple(int(j) for j in np.argwhere(wrong)[0])
        cells = {shapes.feature_names[j]: chosen[j][i[0]] for j in chosen}
        msg = f"at {cells} the terms sum to {expected[i]}, the model: {got[i]}"
        raise AssertionError(msg)


def _places(shapes: ShapeFunctions, X: Any) -> dict[int, int] | None:
    """Where in X the features of the terms are; None where that cannot be tried."""
    used = sorted({j for term in shapes.terms for j in term})
    names = getattr(X, "columns", None)
    if names is None:
        at = {name: i for i, name in enumerate(shapes.feature_names)}
        width = np.shape(X)[1] if len(np.shape(X)) == 2 else 0
    else:
        at = {str(name): i for i, name in enumerate(names)}
        width = len(at)
    found = {j: at.get(shapes.feature_names[j], width) for j in used}
    simple = all(len(set(term)) == len(term) > 0 for term in shapes.terms)
    possible = shapes.complete and simple and all(p < width for p in found.values())
    return found if possible else None


def _common_points(shapes: ShapeFunctions, j: int) -> NDArray[Any]:
    """Points of a feature that all its terms have."""
    axes = [
        grid[term.index(j)]
        for term, grid in zip(shapes.terms, shapes.grids, strict=True)
        if j in term
    ]
    others = [set(axis.tolist()) for axis in axes[1:]]
    common = [all(x in other for other in others) for x in axes[0].tolist()]
    if not any(common):
        name = shapes.feature_names[j]
        msg = f"the terms of {name!r} have no point of their grids in common"
        raise AssertionError(msg)
    points: NDArray[Any] = axes[0][common]
    return points


def _choose(points: NDArray[Any], j: int, n: int) -> NDArray[Any]:
    """Take n of the points, in an order that makes features meet at many pairs."""
    order = np.random.RandomState(j).randint(len(points), size=n)
    return np.asarray(points[order])


def _column(X: Any, place: int) -> list[Any]:
    if not hasattr(X, "columns"):
        return list(np.asarray(X)[:, place])
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    return list(column)


def _sum_of_terms(
    shapes: ShapeFunctions, chosen: dict[int, NDArray[Any]], n: int
) -> NDArray[np.float64]:
    total = np.tile(shapes.intercept, (n, *[1] * shapes.intercept.ndim))
    for term, grid, values in zip(
        shapes.terms, shapes.grids, shapes.values, strict=True
    ):
        where = []
        for j, axis in zip(term, grid, strict=True):
            position = {x: i for i, x in enumerate(axis.tolist())}
            where.append(np.array([position[x] for x in chosen[j].tolist()]))
        total = total + values[tuple(where)]
    return total


def _with_cells(X: Any, cells: dict[int, NDArray[Any]]) -> Any:
    """X with other cells in some columns."""
    if not hasattr(X, "columns"):
        made = np.array(X)
        if any(c.dtype.kind == "f" for c in cells.values()) and made.dtype.kind != "O":
            made = made.astype(np.float64)
        for i, column in cells.items():
            made[:, i] = column
        return made
    if hasattr(X, "iloc"):
        made = X.copy()
        for i, column in cells.items():
            made.isetitem(i, column)
        return made
    import polars as pl

    names = list(X.columns)
    return X.with_columns([pl.Series(names[i], c.tolist()) for i, c in cells.items()])
