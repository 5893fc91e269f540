"""Structural causal models with additive noise: from columns to noise and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from skinterp.compat import FrozenEstimator
from skinterp.counterfactual._table import Floats, Table
from skinterp.counterfactual._weights import fit_weighted, weighted_mean

Parents = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class LinearMechanism:
    """Least squares with intercept."""

    coef_: Floats
    intercept_: float

    @classmethod
    def of(
        cls, design: Floats, target: Floats, weight: Floats | None = None
    ) -> LinearMechanism:
        """Fit, by the solution of least norm where there are many."""
        mean = weighted_mean(design, weight)
        middle = float(weighted_mean(target, weight))
        root = np.ones(len(target)) if weight is None else np.sqrt(weight)
        left, right = root[:, None] * (design - mean), root * (target - middle)
        coef: Floats = np.linalg.lstsq(left, right, rcond=None)[0].astype(np.float64)
        return cls(coef, middle - float(mean @ coef))

    def predict(self, design: Floats) -> Floats:
        """Sum the parts, each row by itself so that it is the same in any batch."""
        out: Floats = (design * self.coef_).sum(1) + self.intercept_
        return out


@dataclass(frozen=True)
class CausalModel:
    """Equations ``x_i = g_i(parents) + u_i``; columns without causes are noise.

    Parameters
    ----------
    parents : tuple of tuple of int
        Causes of each column.
    order : tuple of int
        Columns, causes first.
    mechanisms : tuple
        The regressor of each column, None where it has no causes.
    n_labels : mapping of int to int
        Number of labels of the columns that hold codes.
    """

    parents: Parents
    order: tuple[int, ...]
    mechanisms: tuple[Any, ...]
    n_labels: Mapping[int, int]

    def expected(self, i: int, Z: Floats) -> Floats:
        """What the causes of a column make of it, without noise."""
        out: Floats = np.asarray(
            self.mechanisms[i].predict(design(Z, self.parents[i], self.n_labels)),
            dtype=np.float64,
        ).reshape(len(Z))
        return out

    def abduct(self, Z: Floats) -> Floats:
        """Find the noise of each cell."""
        U = Z.copy()
        for i in self.order:
            if self.parents[i] and len(Z):
                U[:, i] -= self.expected(i, Z)
        return U

    def generate(
        self, U: Floats, fixed: Mapping[int, float | Floats] | None = None
    ) -> Floats:
        """Find the cells of each noise, with some columns set from outside."""
        Z = U.copy()
        for i in self.order:
            if fixed and i in fixed:
                Z[:, i] = fixed[i]
            elif self.parents[i] and len(U):
                Z[:, i] += self.expected(i, Z)
        return Z

    def slopes(self, Z: Floats) -> Floats | None:
        """Matrix of direct effects, from column j to column i; None if not linear.

        ``Z`` holds rows on which the claim of linearity is tried.
        """
        d = len(self.parents)
        out = np.zeros((d, d))
        for i in self.order:
            if self.parents[i]:
                coef = _linear_part(self.mechanisms[i], self._design(i, Z))
                if coef is None:
                    return None
                at = 0
                for j in self.parents[i]:
                    width = self.n_labels.get(j, 1)
                    if j not in self.n_labels:
                        out[i, j] = coef[at]
                    at += width
        return out

    def _design(self, i: int, Z: Floats) -> Floats:
        return design(Z, self.parents[i], self.n_labels)


def _linear_part(mechanism: Any, rows: Floats) -> Floats | None:
    inner = mechanism.estimator if isinstance(mechanism, FrozenEstimator) else mechanism
    coef = np.ravel(getattr(inner, "coef_", ()))
    if coef.shape != (rows.shape[1],) or not hasattr(inner, "intercept_"):
        return None
    claimed = rows @ coef + np.ravel(inner.intercept_)[0]
    said = np.ravel(inner.predict(rows))
    size = 1.0 + np.abs(rows) @ np.abs(coef)
    return coef if (np.abs(claimed - said) <= 1e-9 * size).all() else None


def design(Z: Floats, columns: Sequence[int], n_labels: Mapping[int, int]) -> Floats:
    """Columns as a regressor takes them: codes become one column per label."""
    parts = []
    for j in columns:
        column = Z[:, [j]]
        parts.append(
            (column == np.arange(n_labels[j])).astype(np.float64)
            if j in n_labels
            else column
        )
    return np.hstack(parts)


def fit_causal_model(
    table: Table,
    Z: Floats,
    parents: Parents,
    mechanisms: Any,
    weight: Floats | None = None,
) -> CausalModel:
    """Fit every mechanism.

    Parameters
    ----------
    table : Table
        The columns.
    Z : ndarray of shape (n, d)
        Training rows.
    parents : tuple of tuple of int
        Causes of each column.
    mechanisms : "linear", regressor or mapping
        What to fit, for all columns or by column.
    weight : ndarray of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    CausalModel
        The fitted equations.
    """
    order = _causes_first(parents, table)
    n_labels = {j: len(labels) for j, labels in table.texts.items()}
    chosen = _by_column(table, mechanisms, parents)
    fitted: list[Any] = [None] * len(parents)
    for i in order:
        if not parents[i]:
            continue
        if i in n_labels:
            msg = (
                f"graph gives causes to column {table.names[i]!r}, which holds texts: "
                "additive noise is for numbers. Draw the arrows away from it only."
            )
            raise ValueError(msg)
        rows = design(Z, parents[i], n_labels)
        if isinstance(chosen[i], str):
            fitted[i] = LinearMechanism.of(rows, Z[:, i], weight)
        else:
            fitted[i] = fit_weighted(chosen[i], rows, Z[:, i], weight, "mechanisms")
    return CausalModel(parents, order, tuple(fitted), n_labels)


def _by_column(table: Table, mechanisms: Any, parents: Parents) -> list[Any]:
    chosen = [mechanisms] * len(parents)
    if isinstance(mechanisms, Mapping):
        chosen = ["linear"] * len(parents)
        for column, mechanism in mechanisms.items():
            chosen[table.position(column, "mechanisms")] = mechanism
    for mechanism in chosen:
        if not (isinstance(mechanism, str) and mechanism == "linear") and not (
            _is_regressor(mechanism)
        ):
            msg = (
                f"mechanisms={mechanism!r} is not allowed: it must be 'linear', a "
                "regressor, or a mapping from columns to these"
            )
            raise ValueError(msg)
    return chosen


def _is_regressor(mechanism: Any) -> bool:
    if not (hasattr(mechanism, "fit") and hasattr(mechanism, "predict")):
        return False
    return is_regressor(getattr(mechanism, "estimator", mechanism)) or is_regressor(
        mechanism
    )


def read_graph(table: Table, graph: Any) -> Parents:
    """Read the causes of each column off what the user gave.

    Parameters
    ----------
    table : Table
        The columns.
    graph : None, mapping or array-like of shape (d, d)
        Nothing, causes by column, or a matrix with a 1 at [j, i] for "j causes i".

    Returns
    -------
    tuple of tuple of int
        Causes of each column, in ascending order.
    """
    d = len(table.names)
    causes: list[set[int]] = [set() for _ in range(d)]
    if isinstance(graph, Mapping):
        for child, names in graph.items():
            if isinstance(names, str) or not isinstance(names, Iterable):
                names = [names]
            i = table.position(child, "graph")
            causes[i] |= {table.position(name, "graph") for name in names}
    elif graph is not None:
        matrix = _matrix_of(graph, d)
        causes = [set(np.flatnonzero(matrix[:, i]).tolist()) for i in range(d)]
    return tuple(tuple(sorted(found)) for found in causes)


def _matrix_of(graph: Any, d: int) -> NDArray[Any]:
    try:
        matrix = np.asarray(graph)
    except ValueError:  # rows of unlike length
        matrix = np.zeros(0)
    good = matrix.shape == (d, d)
    if not good or not np.isin(matrix, (0, 1)).all():
        got = f"the values {np.unique(matrix)[:5]}" if good else f"{graph!r:.200}"
        msg = (
            f"graph must be a mapping from columns to their causes, or a matrix of "
            f"0 and 1 of shape {(d, d)}, got {got}"
        )
        raise ValueError(msg)
    return matrix


def _causes_first(parents: Parents, table: Table) -> tuple[int, ...]:
    order: list[int] = []
    left = set(range(len(parents)))
    while left:
        ready = sorted(i for i in left if not left & set(parents[i]))
        if not ready:
            names = [table.names[i] for i in sorted(left)]
            msg = f"graph has a cycle among the columns {names}; it must have none"
            raise ValueError(msg)
        order += ready
        left -= set(ready)
    return tuple(order)


def noise_correlation(
    model: CausalModel, U: Floats, weight: Floats | None = None
) -> NDArray[np.float64]:
    """Correlation of the noise of any two columns; NaN for texts, 0 for constants."""
    d = U.shape[1]
    centered = U - weighted_mean(U, weight)
    if weight is not None:
        centered *= np.sqrt(weight / weight.mean())[:, None]
    size = np.sqrt((centered**2).sum(0))
    tiny = size <= 1e-12 * (1.0 + np.abs(U).max(0, initial=0.0)) * np.sqrt(len(U))
    safe = np.where(tiny, 1.0, size)
    out = (centered.T @ centered) / np.outer(safe, safe)
    out[tiny, :] = out[:, tiny] = 0.0
    out[np.arange(d), np.arange(d)] = 1.0
    codes = list(model.n_labels)
    out[codes, :] = out[:, codes] = np.nan
    return out
