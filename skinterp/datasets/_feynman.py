"""Equations of the Feynman lectures, hidden among columns that do not matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from skinterp.datasets._feynman_table import EQUATIONS

# What the formulas of the table call.
_FUNCTIONS = {
    "asin": np.arcsin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "pi": np.pi,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}


@dataclass(frozen=True)
class FeynmanEquation:
    """One equation: its formula, and the range of each variable.

    Parameters
    ----------
    name : str
        Where it stands in the lectures, as ``"I.12.1"``.
    formula : str
        Right-hand side, as sympy writes it.
    ranges : mapping of str to tuple of float
        Lowest and highest value of each variable.

    See Also
    --------
    feynman_equations : All of them.

    Examples
    --------
    >>> from skinterp.datasets import feynman_equations
    >>> equation = feynman_equations()["I.12.1"]
    >>> equation.formula, dict(equation.ranges)
    ('mu*Nn', {'mu': (1.0, 5.0), 'Nn': (1.0, 5.0)})
    """

    name: str
    formula: str
    ranges: Mapping[str, tuple[float, float]]

    def evaluate(self, values: Mapping[str, Any]) -> NDArray[np.float64]:
        """Compute the right-hand side.

        Parameters
        ----------
        values : mapping of str to array-like
            A number or an array for each variable.

        Returns
        -------
        ndarray
            The value of the formula.

        Examples
        --------
        >>> from skinterp.datasets import feynman_equations
        >>> float(feynman_equations()["I.12.1"].evaluate({"mu": 2.0, "Nn": 3.0}))
        6.0
        """
        # Only formulas of the library's own table are run.
        if EQUATIONS.get(self.name, ("",))[0] != self.formula:
            msg = (
                f"{self.formula!r} is not the formula of an equation {self.name!r} "
                "among feynman_equations(); others are not computed"
            )
            raise ValueError(msg)
        missing = sorted(set(self.ranges) - set(values))
        if missing:
            msg = f"values lacks the variable {missing[0]!r} of equation {self.name}"
            raise ValueError(msg)
        known = _FUNCTIONS | {name: np.asarray(values[name]) for name in self.ranges}
        code = compile(self.formula, self.name, "eval")
        return np.asarray(eval(code, {"__builtins__": {}}, known), dtype=np.float64)


def feynman_equations() -> dict[str, FeynmanEquation]:
    """List the hundred equations of the AI Feynman collection.

    Returns
    -------
    dict of str to FeynmanEquation
        By name, in the order of the lectures.

    See Also
    --------
    make_feynman : Draws data from one of them.

    References
    ----------
    .. [1] Udrescu, S.-M., Tegmark, M. (2020). "AI Feynman: A physics-inspired method
       for symbolic regression". Science Advances 6(16).

    Examples
    --------
    >>> from skinterp.datasets import feynman_equations
    >>> len(feynman_equations())
    100
    """
    return {
        name: FeynmanEquation(name, formula, _read_ranges(ranges))
        for name, (formula, ranges) in EQUATIONS.items()
    }


def make_feynman(
    equation: str,
    n: int = 1000,
    *,
    irrelevant_per_variable: int = 50,
    snr: float = np.inf,
    random_state: Any = None,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Draw data from an equation, with columns beside it that do not matter.

    Every variable is uniform on its own range. For each there are further columns,
    drawn from the same range, that the target does not depend on; then all columns
    are shuffled. So nothing but the target tells which ones matter.

    Parameters
    ----------
    equation : str
        Name of one of the ``feynman_equations``.
    n : int, default=1000
        Number of rows.
    irrelevant_per_variable : int, default=50
        Number of columns without influence per variable of the equation.
    snr : float, default=inf
        Signal-to-noise ratio: normal noise of standard deviation
        ``signal.std() / sqrt(snr)`` is added to the target.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.
    as_frame : bool, default=False
        Give pandas objects. Column ``mu`` is the variable, ``mu.1``, ``mu.2``, ... are
        the columns of its range that don't matter.
    return_X_y : bool, default=False
        Give ``(X, y)`` alone.

    Returns
    -------
    Bunch
        With ``data`` of shape (n, n_variables * (1 + irrelevant_per_variable)),
        ``target`` of shape (n,), ``feature_names``, and the truth: ``equation`` (a
        `FeynmanEquation`), ``formula``, ``true_columns`` (positions of the variables,
        ascending), ``true_names`` (their names in this order) and ``signal`` (the
        target without noise). Or ``(data, target)`` if ``return_X_y``.

    See Also
    --------
    sklearn.datasets.make_friedman1 : One equation of five variables.

    Notes
    -----
    The generator of the experiments in [1]_, which leaves the variables in front and
    shuffles the other columns only. There the rows are drawn from a table of 100,000,
    to all of which noise is added, so that the target of the test rows is noisy as
    well.

    References
    ----------
    .. [1] Ye, S., Li, M. (2025). "Ab Initio Nonparametric Variable Selection for
       Scalable Symbolic Regression with Large p". ICML. arXiv:2410.13681.

    Examples
    --------
    >>> from skinterp.datasets import make_feynman
    >>> found = make_feynman("I.12.1", n=200, snr=10, random_state=0)
    >>> found.data.shape, found.formula
    ((200, 102), 'mu*Nn')
    >>> [found.feature_names[j] for j in found.true_columns] == found.true_names
    True
    """
    chosen = _check(equation, n, irrelevant_per_variable, snr)
    random = check_random_state(random_state)
    n_true, copies = len(chosen.ranges), 1 + irrelevant_per_variable
    low, high = np.repeat(np.array(list(chosen.ranges.values())), copies, axis=0).T
    drawn = random.uniform(low, high, size=(n, n_true * copies))
    names = [
        variable if k == 0 else f"{variable}.{k}"
        for variable in chosen.ranges
        for k in range(copies)
    ]
    values = {
        variable: drawn[:, i * copies] for i, variable in enumerate(chosen.ranges)
    }
    signal = chosen.evaluate(values)
    noise = random.normal(size=n) * signal.std() / np.sqrt(snr)
    order = random.permutation(n_true * copies)
    data: Any = drawn[:, order]
    target: Any = signal + noise
    names = [names[j] for j in order]
    if as_frame:
        import pandas as pd

        data = pd.DataFrame(data, columns=names)
        target = pd.Series(target, name=equation)
    if return_X_y:
        return data, target
    true_columns = np.flatnonzero(order % copies == 0)
    return Bunch(
        data=data,
        target=target,
        feature_names=names,
        equation=chosen,
        formula=chosen.formula,
        true_columns=true_columns,
        true_names=[names[j] for j in true_columns],
        signal=signal,
    )


def _check(equation: str, n: int, irrelevant: int, snr: float) -> FeynmanEquation:
    """Equation of a name; the other numbers have to be possible."""
    known = feynman_equations()
    if equation not in known:
        msg = (
            f"equation={equation!r} is not one of the {len(known)} Feynman equations, "
            "such as 'I.12.1'; feynman_equations() lists them"
        )
        raise ValueError(msg)
    for name, value, least in (
        ("n", n, 1),
        ("irrelevant_per_variable", irrelevant, 0),
    ):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least:
            msg = f"{name}={value!r} must be an integer of at least {least}"
            raise ValueError(msg)
    if isinstance(snr, bool) or not isinstance(snr, Real) or not snr > 0:
        msg = f"snr={snr!r} must be a positive number; inf adds no noise"
        raise ValueError(msg)
    return known[equation]


def _read_ranges(text: str) -> dict[str, tuple[float, float]]:
    """Ranges by variable, of a line of the table."""
    ranges = {}
    for group in text.split(","):
        *names, low, high = group.split()
        ranges.update(dict.fromkeys(names, (float(low), float(high))))
    return ranges
