"""From an engine's formulas to those in the user's columns: unscaled, tidy, a front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import optional_import
from skinterp.explanation._formula import (
    Formula,
    affine,
    columns_of,
    evaluate,
    size,
    substitute,
)
from skinterp.explanation._formula_sympy import from_sympy, to_sympy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaling:
    """Lines by which columns and target are made comparable, and the way back."""

    columns: NDArray[np.intp]
    center: Floats
    spread: Floats
    target_center: float
    target_spread: float

    @classmethod
    def of(
        cls, X: Floats, y: Floats, columns: NDArray[np.intp], how: str | None
    ) -> Scaling:
        """Scaling of the chosen columns: "standard", "spread" or None."""
        p = len(columns)
        if how is None:
            return cls(columns, np.zeros(p), np.ones(p), 0.0, 1.0)
        kept = X[:, columns]
        center, target_center = kept.mean(axis=0), float(y.mean())
        if how == "spread":
            center, target_center = np.zeros(p), 0.0
        spread = kept.std(axis=0)
        spread[~(spread > 1e-12 * np.abs(kept).max(axis=0, initial=0.0))] = 1.0
        return cls(columns, center, spread, target_center, float(y.std()) or 1.0)

    def transform(self, X: Floats) -> Floats:
        """Scaled cells of the chosen columns."""
        return (X[:, self.columns] - self.center) / self.spread

    def transform_target(self, y: Floats) -> Floats:
        """Scaled target."""
        return (y - self.target_center) / self.target_spread

    def restore_target(self, scaled: Floats) -> Floats:
        """Target in the user's units."""
        return scaled * self.target_spread + self.target_center

    def restore(self, formula: Formula) -> Formula:
        """Formula in the user's columns and units."""
        inner = [
            affine(affine(("column", int(j)), 1.0, -float(c)), 1.0 / float(s), 0.0)
            for j, c, s in zip(self.columns, self.center, self.spread, strict=True)
        ]
        outer = substitute(formula, inner)
        return affine(outer, self.target_spread, self.target_center)


def compute(formula: Formula, X: Floats) -> Floats:
    """Value of a formula for each row of an array."""
    return evaluate(formula, lambda j: X[:, j], len(X))


def tidy(formula: Formula, X: Floats, dust: float) -> Formula:
    """Gather numbers and like terms, and drop terms that are but rounding.

    Only as far as the values on X stay the same, up to ten times ``dust``.
    """
    short = _gathered(formula)
    clean = _gathered(_without_dust(short, X, dust))
    for better in (clean, short):
        if (
            size(better) <= size(formula)
            and differ(compute(better, X), compute(formula, X)) <= 10 * dust
        ):
            return better
    return formula


def _gathered(formula: Formula) -> Formula:
    """Formula as sympy writes it down, which gathers numbers and like terms."""
    sympy = optional_import("sympy", extra="symbolic", who="PANSymbolicRegressor")
    places = columns_of(formula)
    # by position: names play no part, and may be anything
    symbols = {j: sympy.Symbol(f"x{j:09d}") for j in places}
    by_position = [symbols.get(j) for j in range(max(places, default=-1) + 1)]
    try:
        expression = to_sympy(formula, by_position, who="PANSymbolicRegressor")
        return from_sympy(expression, {s: j for j, s in symbols.items()})
    except (ValueError, OverflowError, TypeError):
        # a constant part is not a real number, such as the root of -1
        return formula


def _without_dust(formula: Formula, X: Floats, dust: float) -> Formula:
    """Drop the terms of sums that are nowhere more than a speck of the largest."""
    if not isinstance(formula, tuple) or formula[0] in ("column", "rational"):
        return formula
    parts = [_without_dust(part, X, dust) for part in formula[1:]]
    if formula[0] == "add":
        sizes = [np.abs(compute(part, X)).max(initial=0.0) for part in parts]
        least = dust * max(sizes)
        # NaN is not small
        parts = [p for p, s in zip(parts, sizes, strict=True) if not s < least]
        if len(parts) == 1:
            return parts[0]
    return (formula[0], *parts)


def differ(got: Floats, expected: Floats) -> float:
    """Largest difference, relative to the largest value; inf where one is undefined."""
    defined = np.isfinite(expected)
    if (np.isfinite(got) != defined).any():
        return np.inf
    largest = np.abs(expected[defined]).max(initial=0.0)
    gap = np.abs(got[defined] - expected[defined]).max(initial=0.0)
    return float(gap / largest) if largest > 0 else float(gap)


def mean_squared_errors(formulas: Sequence[Formula], X: Floats, y: Floats) -> Floats:
    """Error of each formula; NaN or inf where one is not defined on all rows."""
    with np.errstate(all="ignore"):
        return np.array([float(np.mean((compute(f, X) - y) ** 2)) for f in formulas])


def simplest(
    formulas: Sequence[Formula], errors: Floats, y: Floats, dust: float
) -> int:
    """Position of the formula of least ``n log(error) + size log(n)``.

    An error that rounding alone may leave is as good as any below it.
    """
    n = len(y)
    least = max(dust**2 * float(np.var(y)), np.finfo(np.float64).tiny)
    sizes = np.array([size(formula) for formula in formulas])
    badness = n * np.log(np.maximum(errors, least)) + sizes * np.log(n)
    return int(np.argmin(np.where(np.isfinite(errors), badness, np.inf)))


def front(
    formulas: Sequence[Formula], errors: Floats, chosen: int
) -> tuple[tuple[Formula, ...], Floats, int]:
    """Formulas that none beats in both size and error; the chosen one always stays.

    Returns them from simple to complex, their errors, and the new position of the
    chosen one.
    """
    sizes = np.array([size(formula) for formula in formulas])
    order = np.lexsort((np.arange(len(formulas)), errors, sizes))
    kept, best = [], np.inf
    for i in order:
        if i == chosen or errors[i] < best:  # NaN is never smaller
            kept.append(int(i))
            best = min(best, errors[i]) if np.isfinite(errors[i]) else best
    return tuple(formulas[i] for i in kept), errors[kept], kept.index(chosen)
