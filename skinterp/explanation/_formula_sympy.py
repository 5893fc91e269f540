"""Formulas as sympy expressions, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skinterp.compat import optional_import
from skinterp.explanation._formula import Formula, columns_of, evaluate

MAX_BITS = 10_000  # of an exact power
EXACT = 2**53  # integers beyond it are rounded in float64 as well

# Operation to the name that sympy has for it, both ways.
_FUNCTIONS = {
    "abs": "Abs",
    "add": "Add",
    "and": "And",
    "ceiling": "ceiling",
    "eq": "Eq",
    "ge": "Ge",
    "gt": "Gt",
    "le": "Le",
    "lt": "Lt",
    "max": "Max",
    "min": "Min",
    "mul": "Mul",
    "ne": "Ne",
    "not": "Not",
    "or": "Or",
    "pow": "Pow",
} | {
    name: name
    for name in (
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp"),
        *("floor", "log", "sign", "sin", "sinh", "tan", "tanh"),
    )
}
_CLASSES = {name: operation for operation, name in _FUNCTIONS.items()} | {
    "Equality": "eq",
    "GreaterThan": "ge",
    "StrictGreaterThan": "gt",
    "LessThan": "le",
    "StrictLessThan": "lt",
    "Unequality": "ne",
}


def to_sympy(formula: Formula, symbols: Sequence[Any], *, who: str) -> Any:
    """Sympy expression of a formula, with a symbol for each column.

    A constant part is infinite or zero where it is so in float64: sympy would work
    out all digits of ``10 ** 10 ** 9``.

    Raises
    ------
    ValueError
        If it holds an integer of thousands of digits.
    """
    sympy = optional_import("sympy", extra="symbolic", who=who)
    constants = {"pi": sympy.pi, "e": sympy.E, "true": sympy.true}

    def build(part: Formula) -> Any:
        if not isinstance(part, tuple):
            return _number(sympy, part)
        operation, *arguments = part
        if operation == "column":
            return symbols[arguments[0]]
        if operation == "rational":
            top, bottom = (_number(sympy, x) for x in arguments)
            return top / bottom
        if operation in constants:
            return constants[operation]
        limit = _limit(sympy, part)
        if limit is not None:
            return limit
        built = [build(argument) for argument in arguments]
        if operation == "piecewise":
            pairs = zip(built[::2], built[1::2], strict=True)
            return sympy.Piecewise(*pairs)
        if operation == "pow" and _is_long(*built):
            built[1] = sympy.Float(built[1])
        return getattr(sympy, _FUNCTIONS[operation])(*built)

    expression = build(formula)
    for x in expression.atoms(sympy.Rational):
        if max(abs(x.p), x.q).bit_length() > MAX_BITS:
            msg = "the formula holds an integer of thousands of digits"
            raise ValueError(msg)
    return expression


def _number(sympy: Any, value: float) -> Any:
    exact = isinstance(value, int) and abs(value) <= EXACT
    return sympy.Integer(value) if exact else sympy.Float(value)


def _limit(sympy: Any, part: Formula) -> Any:
    """What a constant part overflows or vanishes to; None where it does neither."""
    if part[0] not in ("add", "cosh", "exp", "mul", "pow", "sinh") or columns_of(part):
        return None
    value = evaluate(part, lambda _: np.zeros(1), 1)[0]
    if abs(value) == float("inf"):
        return sympy.oo if value > 0 else -sympy.oo
    return sympy.Integer(0) if value == 0 and part[0] in ("exp", "pow") else None


def _is_long(base: Any, exponent: Any) -> bool:
    """Whether the exact factor of a power has thousands of digits."""
    factor = base.as_coeff_Mul()[0]
    if not (factor.is_Rational and exponent.is_Rational):
        return False
    bits = max(abs(factor.p), factor.q).bit_length()
    return bool(abs(factor) != 1 and bits * abs(exponent) > MAX_BITS)


def from_sympy(expression: Any, columns: Mapping[Any, int]) -> Formula:
    """Formula of a sympy expression, given the column of each symbol.

    Raises
    ------
    ValueError
        If it holds a symbol or a function that a formula cannot.
    """
    name = type(expression).__name__
    if expression in columns:
        return ("column", columns[expression])
    if expression.is_Symbol:
        msg = f"the expression has the symbol {expression}, which is no column"
        raise ValueError(msg)
    leaf = _leaf(expression)
    if leaf is not None:
        return leaf

    def parts(arguments: Sequence[Any]) -> tuple[Formula, ...]:
        return tuple(from_sympy(argument, columns) for argument in arguments)

    if name == "Piecewise":
        flat = [item for pair in expression.args for item in pair.args]
        return ("piecewise", *parts(flat))
    if name not in _CLASSES:
        msg = f"a formula cannot hold sympy's {name}, in {expression}"
        raise ValueError(msg)
    arguments = expression.args
    if name == "log" and len(arguments) == 2:  # a base of its own
        top, bottom = parts(arguments)
        return ("mul", ("log", top), ("pow", ("log", bottom), -1))
    return (_CLASSES[name], *parts(arguments))


def _leaf(expression: Any) -> Formula | None:
    """Formula of a constant; None for anything else."""
    readers: dict[str, Callable[[], Formula]] = {
        "Pi": lambda: ("pi",),
        "Exp1": lambda: ("e",),
        "BooleanTrue": lambda: ("true",),
        "BooleanFalse": lambda: ("not", ("true",)),
    }
    name = type(expression).__name__
    if name in readers:
        return readers[name]()
    if getattr(expression, "is_Integer", False):
        return int(expression)
    if getattr(expression, "is_Rational", False):
        return ("rational", int(expression.p), int(expression.q))
    if getattr(expression, "is_Float", False):
        return float(expression)
    return None
