"""From an engine's formulas to those in the user's columns: unscaled, tidy, a front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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

FAR = 1e4  # spreads from zero


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
        center, spread = _middle_and_spread(X[:, columns])
        target_center, target_spread = _middle_and_spread(y)
        if how == "spread":
            center = _where_far(center, spread)
            target_center = _where_far(target_center, target_spread)
        return cls(columns, center, spread, float(target_center), float(target_spread))

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

    def restore_tidy(self, formula: Formula, X: Floats, dust: float) -> Formula:
        """Formula in the user's columns and units, tidied.

        A target far from zero is tidied without its center, beside which all else
        would be dust.
        """
        center = float(_where_far(self.target_center, self.target_spread))
        if center == 0:
            return tidy(self.restore(formula), X, dust)
        near = replace(self, target_center=self.target_center - center)
        short = tidy(near.restore(formula), X, dust)
        is_sum = isinstance(short, tuple) and short[0] == "add"
        parts = short[1:] if is_sum else (short,)
        terms = [part for part in parts if isinstance(part, tuple)]
        total = center + sum(part for part in parts if not isinstance(part, tuple))
        return ("add", *terms, total) if terms else total


def _middle_and_spread(values: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation along the first axis; 1 for one that is rounding.

    Of values divided by a power of two that brings them to about 1, as squares of huge
    ones overflow, and of tiny ones vanish.
    """
    size = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)
    small = values / size
    middle, spread = small.mean(axis=0), small.std(axis=0)
    spread = np.where(spread > 1e-12, spread * size, 1.0)
    # the inverse has to be finite as well
    return middle * size, np.maximum(spread, np.finfo(np.float64).tiny)


def _where_far(center: Any, spread: Any) -> Floats:
    """Center of what lies so far from zero that float32 cannot tell it apart."""
    return np.where(np.abs(center) > FAR * spread, center, 0.0)


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


def magnitude(formula: Formula, X: Floats) -> float:
    """How large the terms of a sum are, which says how much rounding it carries."""
    if isinstance(formula, tuple) and formula[0] == "add":
        return sum(magnitude(part, X) for part in formula[1:])
    if isinstance(formula, tuple) and formula[0] == "mul":
        rest = [part for part in formula[1:] if isinstance(part, tuple)]
        if len(rest) == 1:
            numbers = [x for x in formula[1:] if not isinstance(x, tuple)]
            return abs(math.prod(numbers)) * magnitude(rest[0], X)
    value = np.abs(compute(formula, X))
    return float(value[np.isfinite(value)].max(initial=0.0))


def relative_errors(formulas: Sequence[Formula], X: Floats, y: Floats) -> Floats:
    """Mean squared error of each formula, in units of the target's variance.

    NaN or inf where a formula is not defined on all rows. Multiplied by the variance
    they may overflow or vanish, which must not decide between formulas.
    """
    spread = _middle_and_spread(y)[1]
    with np.errstate(all="ignore"):
        gaps = [(compute(formula, X) - y) / spread for formula in formulas]
        return np.array([float(np.mean(gap**2)) for gap in gaps])


def squared_errors(relative: Floats, y: Floats) -> Floats:
    """Errors in the target's own unit; inf or 0 where that is beyond float64."""
    with np.errstate(all="ignore"):
        return np.square(np.sqrt(relative) * _middle_and_spread(y)[1])


def simplest(formulas: Sequence[Formula], errors: Floats, n: int, dust: float) -> int:
    """Position of the formula of least ``n log(error) + size log(n)``.

    Of errors in units of the target's variance. One that rounding alone may leave is
    as good as any below it.
    """
    sizes = np.array([size(formula) for formula in formulas])
    badness = n * np.log(np.maximum(errors, dust**2)) + sizes * np.log(n)
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
