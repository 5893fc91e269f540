"""What a masked additive model says: its terms, its players, its rows."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.base import feature_names_of
from skinterp.explanation import Attribution, Explanation, ShapeFunctions

Float = NDArray[np.float64]

# Columns of at most so few values are drawn at these alone.
_FEW = 32
_FINE, _COARSE, _ROUGH = 97, 25, 7
# Points of one term, at most: beyond, a term is not drawn.
_MOST_POINTS = 20_000


def describe_columns(X: Float) -> list[tuple[tuple[Float, ...], Float, Float]]:
    """Points to draw each column at, and where its cells lie."""
    return [_describe(X[:, j][~np.isnan(X[:, j])]) for j in range(X.shape[1])]


def _describe(cells: Float) -> tuple[tuple[Float, ...], Float, Float]:
    if len(cells) == 0:
        nothing = np.zeros(1)
        return (nothing, nothing, nothing), nothing, np.ones(1)
    values, counts = np.unique(cells, return_counts=True)
    if len(values) <= _FEW:
        return (values, values, values), values, counts / len(cells)
    even = np.linspace(values[0], values[-1], _FINE)
    ranks = np.quantile(cells, np.linspace(0, 1, _FINE))
    # fewer points are among the more, and reach from end to end
    points = tuple(
        np.unique(np.concatenate([even[::step], ranks[::step]]))
        for step in (1, (_FINE - 1) // (_COARSE - 1), (_FINE - 1) // (_ROUGH - 1))
    )
    counts, borders = np.histogram(cells, bins=30)
    return points, borders, counts / len(cells)


def explain_model(model: Any, kind: str) -> Explanation:
    """Curves and surfaces, or mean absolute Shapley values."""
    head = _head(model)
    if kind == "attribution":
        return Attribution(
            scope="global",
            feature_names=model.players_,
            target_names=head["target_names"],
            values=model.feature_importances_,
            members=_members(model),
        )
    terms, grids = [], []
    for t, term in enumerate(model._term_columns()):
        grid = tuple(model._drawn_[j][0][min(len(term), 3) - 1] for j in term)
        if prod(map(len, grid)) <= _MOST_POINTS:
            terms.append(t)
            grids.append(grid)
    columns = model._term_columns()
    return ShapeFunctions(
        scope="global",
        feature_names=feature_names_of(model),
        terms=tuple(columns[t] for t in terms),
        grids=tuple(grids),
        values=tuple(
            _on_grid(model, t, grid) for t, grid in zip(terms, grids, strict=True)
        ),
        importance=model.term_importances_[terms],
        density_at=tuple(at for _, at, _ in model._drawn_),
        density=tuple(share for _, _, share in model._drawn_),
        complete=len(terms) == len(columns),
        **head,
    )


def _on_grid(model: Any, t: int, grid: tuple[Float, ...]) -> Float:
    """Values of one term at all combinations of points."""
    columns = model._term_columns()[t]
    mesh = np.meshgrid(*grid, indexing="ij")
    rows = np.full((mesh[0].size, model.n_features_in_), np.nan)
    for j, axis in zip(columns, mesh, strict=True):
        rows[:, j] = axis.ravel()
    one = np.zeros((len(model.terms_), 1))
    one[t] = 1.0
    values = model._shares(rows, one)[:, 0]
    return np.asarray(values.reshape(*mesh[0].shape, *values.shape[1:]))


def explain_rows(model: Any, X: Float, kind: str) -> Explanation:
    """What each player, or each term, adds for each row."""
    head = _head(model)
    if kind == "shape-functions":
        return ShapeFunctions(
            scope="local",
            feature_names=feature_names_of(model),
            terms=tuple(model._term_columns()),
            contributions=model._components(X),
            **head,
        )
    intercept = head.pop("intercept")
    return Attribution(
        scope="local",
        feature_names=model.players_,
        values=model._shapley_values(X),
        base_values=np.broadcast_to(intercept, (len(X), *np.shape(intercept))),
        data=_cells(model, X),
        members=_members(model),
        **head,
    )


def _members(model: Any) -> tuple[tuple[int, ...], ...]:
    """Columns of the players, where one has several."""
    grouped = any(len(columns) > 1 for columns in model._columns_)
    return tuple(model._columns_) if grouped else ()


def _cells(model: Any, X: Float) -> NDArray[Any]:
    """Cells of the players; a group has none of its own."""
    if not _members(model):
        return X
    cells = np.full((len(X), len(model.players_)), None, dtype=object)
    for player, columns in enumerate(model._columns_):
        if len(columns) == 1:
            cells[:, player] = X[:, columns[0]]
    return cells


def _head(model: Any) -> dict[str, Any]:
    names = getattr(model, "classes_", None)
    classifies = names is not None
    if names is None:
        n = model.n_outputs_
        names = np.array(["y"] if n == 1 else [f"y{c}" for c in range(n)])
    return {
        "target_names": names,
        "intercept": np.asarray(model.intercept_) + model._decision_offset(),
        "output": "decision_function" if classifies else "predict",
    }
