"""Formulas as text that a person reads."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from skinterp.explanation._formula import COMPARE, CONSTANTS, Formula

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
HALF = ("rational", 1, 2)

Said = tuple[str, int]  # text, and how strongly its parts hold together


def say(formula: Formula, names: Sequence[str], digits: int = 6) -> str:
    """Write a formula with the names of its columns, numbers to some digits."""
    return _say(formula, names, digits)[0]


def quote(name: str) -> str:
    """Name of a column as it stands in a formula: in backticks if it is no word.

    The words for constants are no names either.
    """
    taken = keyword.iskeyword(name) or name in CONSTANTS or name == "true"
    if name.isidentifier() and not taken:
        return name
    return "`" + name.replace("`", "``") + "`"


def number(value: float, digits: int) -> str:
    """Write a number to some digits."""
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}"


def _say(formula: Formula, names: Sequence[str], digits: int) -> Said:
    if not isinstance(formula, tuple):
        text = number(formula, digits)
        return text, (_PRODUCT if text.startswith("-") else _ATOM)
    operation, *arguments = formula
    if operation == "column":
        return quote(names[arguments[0]]), _ATOM
    if operation == "rational":
        return f"{arguments[0]}/{arguments[1]}", _PRODUCT
    if operation in CONSTANTS or operation == "true":
        return operation, _ATOM
    if operation == "piecewise":
        return _say_pieces(arguments, names, digits), _ATOM
    if operation == "add":
        return _say_sum(arguments, names, digits), _SUM
    if operation == "mul":
        return _say_product(arguments, names, digits)
    if operation == "pow":
        return _say_power(arguments, names, digits)
    said = [_say(argument, names, digits) for argument in arguments]
    if operation in COMPARE:
        return f"{said[0][0]} {SIGNS[operation]} {said[1][0]}", _SUM
    return f"{operation}({', '.join(text for text, _ in said)})", _ATOM


def _say_sum(arguments: Sequence[Formula], names: Sequence[str], digits: int) -> str:
    # a constant comes last, as people write it
    constant = [x for x in arguments if not isinstance(x, tuple)]
    parts = [x for x in arguments if isinstance(x, tuple)] + constant
    said = [_bracket(_say(part, names, digits), _PRODUCT) for part in parts]
    text = said[0]
    for part in said[1:]:
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


def _say_product(
    arguments: Sequence[Formula], names: Sequence[str], digits: int
) -> Said:
    above, below, sign = [], [], ""
    for part in arguments:
        if part == -1:
            sign = "" if sign else "-"
        elif (under := _denominator(part)) is not None:
            below.append(under)
        else:
            above.append(part)
    top = [_factor(part, names, digits) for part in above] or ["1"]
    bottom = [
        _bracket(_say(part, names, digits), _POWER if len(below) == 1 else _PRODUCT + 1)
        for part in below
    ]
    text = sign + "*".join(top)
    if bottom:
        text += "/" + (bottom[0] if len(bottom) == 1 else f"({'*'.join(bottom)})")
    return text, _PRODUCT


def _factor(part: Formula, names: Sequence[str], digits: int) -> str:
    said = _say(part, names, digits)
    # a negative number may lead a product without brackets
    return _bracket(said, _PRODUCT if not isinstance(part, tuple) else _POWER)


def _denominator(part: Formula) -> Formula | None:
    """What a power with a negative exponent divides by."""
    if not isinstance(part, tuple) or part[0] != "pow":
        return None
    base, exponent = part[1:]
    if isinstance(exponent, int | float) and exponent < 0:
        return base if exponent == -1 else ("pow", base, -exponent)
    if isinstance(exponent, tuple) and exponent[0] == "rational" and exponent[1] < 0:
        return ("pow", base, ("rational", -exponent[1], exponent[2]))
    return None


def _say_power(arguments: Sequence[Formula], names: Sequence[str], digits: int) -> Said:
    base, exponent = arguments
    if exponent == HALF:
        return f"sqrt({_say(base, names, digits)[0]})", _ATOM
    under = _denominator(("pow", base, exponent))
    if under is not None:
        return f"1/{_bracket(_say(under, names, digits), _POWER)}", _PRODUCT
    top = _bracket(_say(base, names, digits), _ATOM)
    return f"{top}**{_bracket(_say(exponent, names, digits), _ATOM)}", _POWER


def _say_pieces(arguments: Sequence[Formula], names: Sequence[str], digits: int) -> str:
    said = [_say(argument, names, digits)[0] for argument in arguments]
    pairs = zip(said[::2], said[1::2], strict=True)
    return (
        "("
        + "; ".join(
            f"{value} otherwise" if condition == "true" else f"{value} if {condition}"
            for value, condition in pairs
        )
        + ")"
    )


def _bracket(said: Said, least: int) -> str:
    text, strength = said
    return text if strength >= least else f"({text})"
