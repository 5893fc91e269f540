"""Formulas as nested tuples: what may stand in one, its value, its columns.

A formula is a number or a tuple of an operation and its arguments, such as
``("mul", 0.5, ("pow", ("column", 2), 2))``. So it is stored as data, read back without
running anything, and evaluated by the functions listed here and no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Formula = Any  # a number, or a tuple whose first item names an operation
Values = Any  # a float, or an array of one float per row

MAX_DEPTH = 200  # of operations in operations; far beyond what a person reads
MAX_INTEGER = 2**1023  # what float64 can hold

CONSTANTS = {"pi": math.pi, "e": math.e}
UNARY: dict[str, Callable[[Values], Values]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceiling": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
MANY: dict[str, Callable[[Values, Values], Values]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
COMPARE: dict[str, Callable[[Values, Values], Values]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
LOGIC: dict[str, Callable[[Values, Values], Values]] = {
    "and": np.logical_and,
    "or": np.logical_or,
}


def check(formula: Formula, n_columns: int) -> None:
    """Raise ValueError unless a formula is one, over columns that there are."""
    _check_part(formula, n_columns, 0)


def _check_part(formula: Formula, n_columns: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        msg = f"a formula cannot be deeper than {MAX_DEPTH} operations"
        raise ValueError(msg)
    if isinstance(formula, bool) or not isinstance(formula, int | float | tuple):
        msg = f"a formula cannot hold {_shown(formula)}"
        raise ValueError(msg)
    if not isinstance(formula, tuple):
        _check_size(formula)
        return
    if not formula or not isinstance(formula[0], str):
        msg = f"a formula cannot hold {_shown(formula)}: its operation must come first"
        raise ValueError(msg)
    operation, *arguments = formula
    if operation in ("column", "rational"):
        _check_numbers(operation, arguments, n_columns)
        return
    if not _takes(operation, len(arguments)):
        msg = f"a formula has no operation {operation!r} of {len(arguments)} arguments"
        raise ValueError(msg)
    for k, argument in enumerate(arguments):
        _check_part(argument, n_columns, depth + 1)
        wanted = operation in (*LOGIC, "not") or (operation == "piecewise" and k % 2)
        if bool(wanted) != _is_condition(argument):
            words = ("a number", "a condition")
            msg = f"argument {k} of {operation!r} has to be {words[bool(wanted)]}"
            raise ValueError(msg)


def _shown(part: Any) -> str:
    """What stands where a formula should, in a few words whatever it is."""
    whole = isinstance(part, int) and not isinstance(part, bool)
    if isinstance(part, list | dict | tuple) or (whole and abs(part) > MAX_INTEGER):
        return type(part).__name__
    return repr(part)


def _is_condition(formula: Formula) -> bool:
    """Whether a formula is true or false, and not a number."""
    conditions = (*COMPARE, *LOGIC, "not", "true")
    return isinstance(formula, tuple) and formula[0] in conditions


def _check_size(value: float) -> None:
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        msg = "a formula cannot hold an integer that is too large for float64"
        raise ValueError(msg)


def _takes(operation: str, n_arguments: int) -> bool:
    """Whether an operation takes that many arguments."""
    if operation in CONSTANTS or operation == "true":
        return n_arguments == 0
    if operation in UNARY or operation == "not":
        return n_arguments == 1
    if operation == "pow" or operation in COMPARE:
        return n_arguments == 2
    if operation == "piecewise":
        return n_arguments > 0 and n_arguments % 2 == 0
    return operation in (MANY | LOGIC) and n_arguments > 0


def _check_numbers(operation: str, arguments: Sequence[Any], n_columns: int) -> None:
    whole = all(isinstance(x, int) and not isinstance(x, bool) for x in arguments)
    if operation == "column":
        fits = whole and len(arguments) == 1 and 0 <= arguments[0] < n_columns
    else:
        fits = whole and len(arguments) == 2 and arguments[1] > 0
    if not fits:
        given = ", ".join(map(_shown, arguments))
        msg = f"{operation!r} of ({given}) does not fit {n_columns} columns"
        raise ValueError(msg)
    for argument in arguments:
        _check_size(argument)


def evaluate(
    formula: Formula, column: Callable[[int], NDArray[np.float64]], n_rows: int
) -> NDArray[np.float64]:
    """Value of a formula for each row; ``column`` gives the cells of a position."""
    with np.errstate(all="ignore"):
        value = np.asarray(_value(formula, column), dtype=np.float64)
    return np.array(np.broadcast_to(value, (n_rows,)))


def _value(formula: Formula, column: Callable[[int], NDArray[np.float64]]) -> Values:
    if not isinstance(formula, tuple):
        return np.float64(formula)
    operation, *arguments = formula
    if operation == "column":
        return column(arguments[0])
    if operation == "rational":
        return np.float64(arguments[0] / arguments[1])
    if operation in CONSTANTS:
        return np.float64(CONSTANTS[operation])
    if operation == "true":
        return np.True_
    if operation == "pow":
        return _power(_value(arguments[0], column), arguments[1], column)
    values = [_value(argument, column) for argument in arguments]
    if operation in UNARY:
        return UNARY[operation](values[0])
    if operation == "not":
        return np.logical_not(values[0])
    if operation == "piecewise":
        return _pieces(values)
    function = (MANY | COMPARE | LOGIC)[operation]
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def _power(base: Values, exponent: Formula, column: Callable[[int], Values]) -> Values:
    """Power, by the operation that a person would use where there is one."""
    if exponent == -1:
        return 1.0 / base
    if exponent == 2:
        return base * base
    if exponent == ("rational", 1, 2):
        return np.sqrt(base)
    return np.power(base, _value(exponent, column))


def _pieces(values: Sequence[Values]) -> Values:
    """Value of the first condition that holds, NaN where none does."""
    result: Values = np.float64(np.nan)
    for value, condition in zip(values[-2::-2], values[::-2], strict=True):
        result = np.where(condition, value, result)
    return result


# -- taking formulas apart -------------------------------------------------------------


def nodes(formula: Formula) -> Iterator[Formula]:
    """Every part of a formula that stands for a value, itself first."""
    yield formula
    if isinstance(formula, tuple) and formula[0] not in ("column", "rational"):
        for argument in formula[1:]:
            yield from nodes(argument)


def size(formula: Formula) -> int:
    """Number of numbers, columns and operations; a sum of three has two operations."""
    count = 0
    for node in nodes(formula):
        many = isinstance(node, tuple) and node[0] in (MANY | LOGIC)
        count += max(len(node) - 2, 0) if many else 1
    return count


def depth(formula: Formula) -> int:
    """Number of operations in one another; 0 for a number or a column."""
    layer, levels = [formula], -1
    while layer:
        layer = [
            argument
            for part in layer
            if isinstance(part, tuple) and part[0] not in ("column", "rational")
            for argument in part[1:]
        ]
        levels += 1
    return levels


def columns_of(formula: Formula) -> tuple[int, ...]:
    """Positions of the columns in a formula, ascending."""
    found = {
        node[1]
        for node in nodes(formula)
        if isinstance(node, tuple) and node[0] == "column"
    }
    return tuple(sorted(found))


def substitute(formula: Formula, columns: Sequence[Formula]) -> Formula:
    """Put a formula in the place of each column."""
    if not isinstance(formula, tuple) or formula[0] == "rational":
        return formula
    if formula[0] == "column":
        return columns[formula[1]]
    return (formula[0], *(substitute(x, columns) for x in formula[1:]))


# -- writing formulas ------------------------------------------------------------------


def affine(inner: Formula, slope: float, intercept: float) -> Formula:
    """``slope * inner + intercept``, without what changes nothing."""
    scaled = inner if slope == 1 else ("mul", slope, inner)
    return scaled if intercept == 0 else ("add", scaled, intercept)


def fold(formula: Formula) -> Formula:
    """Gather the numbers of nested sums and products, also through brackets."""
    if not isinstance(formula, tuple) or formula[0] in ("column", "rational"):
        return formula
    operation = formula[0]
    parts = [fold(part) for part in formula[1:]]
    if operation not in ("add", "mul"):
        return (operation, *parts)
    flat = [
        item
        for part in parts
        for item in (part[1:] if _is(part, operation) else (part,))
    ]
    numbers = [x for x in flat if not isinstance(x, tuple)]
    rest = [x for x in flat if isinstance(x, tuple)]
    if operation == "add":
        total = sum(numbers)
        rest += [total] if total != 0 or not rest else []
        return rest[0] if len(rest) == 1 else ("add", *rest)
    factor = math.prod(numbers)
    if numbers and len(rest) == 1 and _is(rest[0], "add"):
        return fold(("add", *(("mul", factor, term) for term in rest[0][1:])))
    rest = [factor, *rest] if factor != 1 or not rest else rest
    return rest[0] if len(rest) == 1 else ("mul", *rest)


def _is(formula: Formula, operation: str) -> bool:
    return isinstance(formula, tuple) and formula[0] == operation


def minus(left: Formula, right: Formula) -> Formula:
    """``left - right``."""
    return ("add", left, ("mul", -1, right))


def divided(left: Formula, right: Formula) -> Formula:
    """``left / right``."""
    return ("mul", left, ("pow", right, -1))
