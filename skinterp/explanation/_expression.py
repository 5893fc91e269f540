"""Formulas: what a symbolic regressor found, and what else it considered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import _formula as formulas_of
from skinterp.explanation._base import Explanation, check_k, check_shapes
from skinterp.explanation._formula_text import say
from skinterp.explanation._literals import read_column

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Expression(Explanation):
    """A formula that computes the prediction, and the others on its front.

    The formulas are data, not code: they are evaluated by numpy's functions of the
    operations that they name, and shown as text, LaTeX or sympy expressions.

    Parameters
    ----------
    scope : {"global"}
        A formula speaks about the whole model.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (1,)
        What the formula computes.
    formulas : tuple
        Each a number or a nested tuple: an operation, then its arguments, as
        ``("mul", 0.5, ("pow", ("column", 2), 2))``. From simple to complex, where
        there is a front.
    errors : ndarray of shape (n_formulas,), default=None
        Mean squared error of each on the training rows; None if it isn't known.
    chosen : int, default=0
        Position of the formula that the model predicts with; -1 if it was left out.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of numbers, columns and operations in the chosen formula.

    See Also
    --------
    RuleSet : Conditions instead of a formula.
    Attribution : A number per feature.

    Notes
    -----
    Operations are ``column``, ``rational``, ``pi``, ``e``, ``true``, ``add``, ``mul``,
    ``min``, ``max``, ``pow``, ``piecewise`` (value, condition, value, condition, ...),
    comparisons (``lt``, ``le``, ``gt``, ``ge``, ``eq``, ``ne``), ``and``, ``or``,
    ``not``, and functions of one argument such as ``exp`` and ``abs``. Anything else
    is refused, and so are more than 200 operations in one another, a condition where a
    number belongs, and integers beyond float64: a stored formula can be read from
    others safely.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import Expression
    >>> energy = Expression(
    ...     scope="global",
    ...     feature_names=("m", "my speed"),
    ...     target_names=np.array(["E"]),
    ...     formulas=(("mul", 0.5, ("column", 0), ("pow", ("column", 1), 2)),),
    ... )
    >>> print(energy.to_text())
    E = 0.5*m*`my speed`**2
    >>> energy.evaluate([[2.0, 3.0]])
    array([9.])
    """

    kind = "expression"

    formulas: tuple[Any, ...]
    errors: NDArray[np.float64] | None = None
    chosen: int = 0

    def _normalise(self) -> None:
        self._set("formulas", tuple(self.formulas))
        self._set("chosen", int(self.chosen))
        if self.errors is not None:
            self._set("errors", np.asarray(self.errors, dtype=np.float64))

    def _check(self) -> None:
        if self.scope != "global":
            msg = (
                "an expression has the scope 'global': it speaks about the whole model"
            )
            raise ValueError(msg)
        if not self.formulas:
            msg = "formulas is empty; an expression needs at least one"
            raise ValueError(msg)
        if not -1 <= self.chosen < len(self.formulas):
            msg = (
                f"chosen={self.chosen} is no position in {len(self.formulas)} formulas"
            )
            raise ValueError(msg)
        for formula in self.formulas:
            formulas_of.check(formula, len(self.feature_names))
        check_shapes({"errors": (self.errors, (len(self.formulas),))})

    def __len__(self) -> int:
        return len(self.formulas)

    @property
    def complexity(self) -> int:
        """Number of numbers, columns and operations in the chosen formula."""
        return formulas_of.size(self._formula(None))

    @property
    def complexities(self) -> NDArray[np.int64]:
        """Number of numbers, columns and operations in each formula."""
        return np.array([formulas_of.size(f) for f in self.formulas], dtype=np.int64)

    @property
    def used_features(self) -> tuple[int, ...]:
        """Positions of the columns in the chosen formula."""
        return formulas_of.columns_of(self._formula(None))

    def _formula(self, i: int | None) -> Any:
        """Formula at a position; None stands for the chosen, else the best."""
        if i is not None:
            if isinstance(i, bool) or i not in range(-len(self), len(self)):
                msg = f"i={i!r} is no position in {len(self)} formulas"
                raise ValueError(msg)
            return self.formulas[i]
        if self.chosen >= 0:
            return self.formulas[self.chosen]
        if self.errors is None:
            return self.formulas[0]
        known = np.where(np.isnan(self.errors), np.inf, self.errors)
        return self.formulas[int(np.argmin(known))]

    def evaluate(self, X: Any, *, i: int | None = None) -> NDArray[np.float64]:
        """Compute a formula for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows; the columns of a frame are found by name.
        i : int, default=None
            Position of the formula; None takes the chosen one.

        Returns
        -------
        ndarray of shape (n_rows,)
            Its value, NaN where it has none.

        Raises
        ------
        ValueError
            If X lacks a column of the formula.
        """
        X = _as_rows(X)

        def column(j: int) -> NDArray[np.float64]:
            if not hasattr(X, "columns") and j >= X.shape[1]:
                msg = (
                    f"X has {X.shape[1]} columns: {self.feature_names[j]!r}, in place "
                    f"{j}, is missing or derived"
                )
                raise ValueError(msg)
            return np.asarray(read_column(X, self.feature_names, j), dtype=np.float64)

        return formulas_of.evaluate(self._formula(i), column, len(X))

    def to_sympy(self, *, i: int | None = None) -> Any:
        """Give a formula as a sympy expression.

        Parameters
        ----------
        i : int, default=None
            Position of the formula; None takes the chosen one.

        Returns
        -------
        sympy.Expr
            With the symbol ``sympy.Symbol(name)`` for each column, whatever its name.

        Raises
        ------
        ImportError
            If sympy is not installed.
        """
        from skinterp.compat import optional_import
        from skinterp.explanation._formula_sympy import to_sympy

        who = "Expression.to_sympy"
        sympy = optional_import("sympy", extra="symbolic", who=who)
        symbols = [sympy.Symbol(name) for name in self.feature_names]
        return to_sympy(self._formula(i), symbols, who=who)

    def to_latex(self, *, i: int | None = None, digits: int = 6) -> str:
        """Write a formula in LaTeX.

        Parameters
        ----------
        i : int, default=None
            Position of the formula; None takes the chosen one.
        digits : int, default=6
            Digits of numbers.

        Returns
        -------
        str
            Mathematics without dollar signs. Names that are no words stand upright.

        Raises
        ------
        ImportError
            If sympy is not installed.
        """
        from skinterp.explanation._expression_show import write_latex

        return write_latex(self, i, digits)

    def top(self, k: int) -> Self:
        """Keep the chosen formula and those of smallest error.

        Parameters
        ----------
        k : int
            Number of formulas, at least 1.

        Returns
        -------
        Expression
            With the formulas in the order in which they were.
        """
        k = check_k(k)
        errors = np.zeros(len(self)) if self.errors is None else self.errors.copy()
        if self.chosen >= 0:
            errors[self.chosen] = -np.inf
        keep = np.sort(np.argsort(errors, kind="stable")[:k])
        return self._take(keep)

    def _take(self, indices: NDArray[np.intp]) -> Self:
        places = np.flatnonzero(indices == self.chosen)
        return self._with(
            formulas=tuple(self.formulas[i] for i in indices),
            errors=None if self.errors is None else self.errors[indices],
            chosen=int(places[0]) if len(places) else -1,
        )

    def to_frame(self) -> pd.DataFrame:
        """Give the formulas as a table.

        Returns
        -------
        pandas.DataFrame
            A line per formula: ``formula`` (text), ``complexity``, ``chosen``, and
            ``error`` where it is known.
        """
        import pandas as pd

        table: dict[str, Any] = {
            "formula": [say(f, self.feature_names) for f in self.formulas],
            "complexity": self.complexities,
            "chosen": np.arange(len(self)) == self.chosen,
        }
        if self.errors is not None:
            table["error"] = self.errors
        return pd.DataFrame(table)

    def to_text(self) -> str:
        """Write the chosen formula, and what else lies on the front.

        Returns
        -------
        str
            Numbers to six digits; names that are no words in backticks.
        """
        from skinterp.explanation._expression_show import say_expression

        return say_expression(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the front of error against complexity, or a single formula as a tree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._expression_show import draw_front, draw_tree

        if len(self) > 1 and self.errors is not None:
            return draw_front(self, ax)
        return draw_tree(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that the chosen formula computes what the model predicts.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            Rows to try it on. Rows that lack a cell of the formula are passed over.

        Raises
        ------
        AssertionError
            If the two differ by more than 1e-6 of the size of the predictions.
        """
        got = self.evaluate(X)
        expected = np.asarray(estimator.predict(X), dtype=np.float64)
        if got.shape != expected.shape:
            msg = f"predict gives shape {expected.shape}, the formula {got.shape}"
            raise AssertionError(msg)
        finite = expected[np.isfinite(expected)]
        atol = TOLERANCE * np.abs(finite).max(initial=0.0)
        same = np.isclose(got, expected, rtol=TOLERANCE, atol=atol, equal_nan=True)
        wrong = ~same & ~self._lacking(X)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            msg = f"row {row}: the formula gives {got[row]}, the model {expected[row]}"
            raise AssertionError(msg)

    def _lacking(self, X: Any) -> NDArray[np.bool_]:
        """Rows without a cell that the chosen formula reads."""
        X = _as_rows(X)
        lacking = np.zeros(len(X), dtype=bool)
        for j in self.used_features:
            cells = np.asarray(read_column(X, self.feature_names, j), dtype=np.float64)
            lacking |= np.isnan(cells)
        return lacking

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Write the formulas in the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        Expression
            Features that are ``a + b * column`` are replaced by that; others stay, as
            derived columns after the user's own.
        """
        from skinterp.explanation._expression_map import map_formulas

        return self._with(**map_formulas(self, feature_map))


def _as_rows(X: Any) -> Any:
    """Frame as it is, anything else as an array of rows."""
    if hasattr(X, "columns"):
        return X
    rows = np.asarray(X)
    if rows.ndim != 2:
        msg = f"X has to be a dense table of rows and columns, got shape {rows.shape}"
        raise ValueError(msg)
    return rows
