"""Whether shape functions are well formed, and add up to what a model says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._attribution import OUTPUTS
from skinterp.explanation._base import check_shapes

if TYPE_CHECKING:
    from skinterp.explanation._shape_functions import ShapeFunctions


def check_content(shapes: ShapeFunctions) -> None:
    """Raise ValueError where the arrays do not fit together."""
    n, labels = len(shapes.feature_names), len(shapes.target_names)
    for term in shapes.terms:
        if any(not 0 <= j < n for j in term):
            msg = f"terms has {term}, but there are {n} features"
            raise ValueError(msg)
    if shapes.output not in OUTPUTS:
        msg = f"output={shapes.output!r} is not one of {list(OUTPUTS)}"
        raise ValueError(msg)
    outputs = shapes.intercept.shape
    if outputs not in ((), (labels,)):
        msg = f"intercept has shape {outputs}, expected () or ({labels},)"
        raise ValueError(msg)
    if not outputs and labels not in (1, 2):
        msg = f"one output for {labels} target_names"
        raise ValueError(msg)
    if shapes.scope == "global":
        _check_functions(shapes)
        _check_density(shapes)
    else:
        _check_rows(shapes)


def _check_functions(shapes: ShapeFunctions) -> None:
    n, outputs = len(shapes.terms), shapes.intercept.shape
    if shapes.contributions is not None:
        msg = "global shape functions have no contributions; scope='local' has"
        raise ValueError(msg)
    if not len(shapes.grids) == len(shapes.values) == n:
        msg = f"{len(shapes.grids)} grids and {len(shapes.values)} values, {n} terms"
        raise ValueError(msg)
    if shapes.importance is None:
        msg = "global shape functions need the importance of each term"
        raise ValueError(msg)
    sizes: dict[str, Any] = {"importance": (shapes.importance, (n, *outputs))}
    for t, (grid, values) in enumerate(zip(shapes.grids, shapes.values, strict=True)):
        if len(grid) != len(shapes.terms[t]):
            msg = f"grids[{t}] has {len(grid)} axes for the term {shapes.terms[t]}"
            raise ValueError(msg)
        for axis in grid:
            if axis.dtype.kind == "f" and not (np.diff(axis) > 0).all():
                msg = f"grids[{t}] must rise, got {axis}"
                raise ValueError(msg)
        sizes[f"values[{t}]"] = (values, (*map(len, grid), *outputs))
    check_shapes(sizes)


def _check_density(shapes: ShapeFunctions) -> None:
    n = len(shapes.feature_names)
    for name in ("density_at", "density"):
        if len(getattr(shapes, name)) not in (0, n):
            msg = f"{name} must have 0 or {n} members, one per feature"
            raise ValueError(msg)
    if len(shapes.density_at) != len(shapes.density):
        msg = "density_at and density must be given together"
        raise ValueError(msg)
    for at, share in zip(shapes.density_at, shapes.density, strict=True):
        if len(at) - len(share) not in (0, 1):
            msg = f"{len(share)} densities at {len(at)} places of one feature"
            raise ValueError(msg)


def _check_rows(shapes: ShapeFunctions) -> None:
    for name in ("grids", "values", "density_at", "density"):
        if getattr(shapes, name):
            msg = f"local shape functions have no {name}; scope='global' has"
            raise ValueError(msg)
    if shapes.contributions is None or not shapes.contributions.ndim:
        msg = "local shape functions need contributions, one row per case"
        raise ValueError(msg)
    n = len(shapes.contributions)
    expected = (n, len(shapes.terms), *shapes.intercept.shape)
    check_shapes({"contributions": (shapes.contributions, expected)})


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
            known = set(_column(X, place))
            points = points[[label in known for label in points.tolist()]]
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
