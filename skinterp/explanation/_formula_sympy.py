"""Formulas as sympy expressions, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skinterp.compat import optional_import
from skinterp.explanation._formula import Formula

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
    """Sympy expression of a formula, with a symbol for each column."""
    sympy = optional_import("sympy", extra="symbolic", who=who)
    constants = {"pi": sympy.pi, "e": sympy.E, "true": sympy.true}

    def build(part: Formula) -> Any:
        if not isinstance(part, tuple):
            return sympy.Float(part) if isinstance(part, float) else sympy.Integer(part)
        operation, *arguments = part
        if operation == "column":
            return symbols[arguments[0]]
        if operation == "rational":
            return sympy.Rational(*arguments)
        if operation in constants:
            return constants[operation]
        built = [build(argument) for argument in arguments]
        if operation == "piecewise":
            pairs = zip(built[::2], built[1::2], strict=True)
            return sympy.Piecewise(*pairs)
        return getattr(sympy, _FUNCTIONS[operation])(*built)

    return build(formula)


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
