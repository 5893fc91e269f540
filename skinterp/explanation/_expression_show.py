"""Formulas as text, LaTeX and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.explanation._drawing import make_axes, shorten
from skinterp.explanation._formula import MANY, Formula
from skinterp.explanation._formula_text import SIGNS, number, quote, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skinterp.explanation._expression import Expression

MAX_LENGTH = 2000
MAX_FRONT = 30
MAX_CHILDREN = 6
MAX_DEPTH = 9
ACCENT, SOFT = "C3", "C0"
_WORDS = {"add": "+", "mul": "×", "pow": "^", "piecewise": "if", **SIGNS}
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "#$%&_{}"},
        "\\": r"\backslash{}",
        "^": r"\hat{}",
        "~": r"\sim{}",
    }
)
_CONSTANTS = ("E", "I", "e", "i", "pi")


def say_expression(expression: Expression) -> str:
    """Chosen formula, then the others on the front."""
    others = [i for i in range(len(expression)) if i != expression.chosen]
    lines = [f"{len(others)} formulas of a front:"]
    if expression.chosen >= 0 or len(expression) == 1:
        i = max(expression.chosen, 0)
        text = _cut(expression, i)
        lines = [f"{_target(expression)} = {text}{_say_error(expression, i)}"]
        others = [j for j in others if j != i]
        lines += [f"{len(others)} more on the front:"] if others else []
    for i in others[:MAX_FRONT]:
        lines.append(f"  - {_cut(expression, i, 200)}{_say_error(expression, i)}")
    rest = len(others) - MAX_FRONT
    return "\n".join(lines + ([f"  ... {rest} more"] if rest > 0 else []))


def _target(expression: Expression) -> str:
    return quote(str(expression.target_names[0]))


def _cut(expression: Expression, i: int, length: int = MAX_LENGTH) -> str:
    text = say(expression.formulas[i], expression.feature_names)
    return text if len(text) <= length else f"{text[:length]}..."


def _say_error(expression: Expression, i: int) -> str:
    if expression.errors is None:
        return ""
    size = expression.complexities[i]
    return f"  (complexity {size}, mean squared error {expression.errors[i]:.4g})"


def write_latex(expression: Expression, i: int | None, digits: int) -> str:
    """Formula in LaTeX, names that are no words upright."""
    formula = expression.to_sympy(i=i)
    import sympy

    rounded = {x: sympy.Float(x, digits) for x in formula.atoms(sympy.Float)}
    names = {
        symbol: rf"\text{{{symbol.name.translate(_LATEX)}}}"
        for symbol in formula.free_symbols
        if not symbol.name.isidentifier() or symbol.name in _CONSTANTS
    }
    return str(sympy.latex(formula.xreplace(rounded), symbol_names=names))


def draw_front(expression: Expression, ax: Axes | None) -> Axes:
    """Error against complexity; the chosen formula is marked."""
    assert expression.errors is not None
    ax = make_axes(ax, 7.5, 4.2)
    sizes, errors = expression.complexities, expression.errors
    order = np.lexsort((errors, sizes))
    ax.plot(sizes[order], errors[order], drawstyle="steps-post", color="#8888", lw=1)
    ax.plot(sizes, errors, "o", color=SOFT, ms=5)
    if (errors > 0).all() and errors.max() > 20 * errors.min():
        ax.set_yscale("log")
    i = expression.chosen
    if i >= 0:
        words = shorten(say(expression.formulas[i], expression.feature_names, 4), 80)
        ax.plot(sizes[i], errors[i], "*", color=ACCENT, ms=14)
        ax.set_title(f"★ {words}", fontsize=10, color=ACCENT)
    ax.set_xlabel("complexity (numbers, columns and operations)")
    ax.set_ylabel("mean squared error on the training rows")
    return ax


# -- a formula as a tree ---------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A node of the drawn tree; ``parent`` is the position of another."""

    words: str
    x: float
    depth: int
    parent: int


def draw_tree(expression: Expression, ax: Axes | None) -> Axes:
    """Formula as a tree of operations, numbers and columns."""
    places: list[_Place] = []
    formula = expression._formula(None)
    width = _lay_out(formula, expression.feature_names, places)
    depth = max(place.depth for place in places)
    ax = make_axes(ax, min(14.0, 2.5 + 0.9 * width), 1.5 + 0.7 * depth)
    for place in places:
        if place.parent >= 0:
            up = places[place.parent]
            ax.plot([up.x, place.x], [up.depth, place.depth], color="#8888", lw=1)
    ax.plot([p.x for p in places], [p.depth for p in places], "o", ms=1, color="#8888")
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": SOFT}
    for place in places:
        words = shorten(place.words, 22)
        ax.text(
            place.x, place.depth, words, ha="center", va="center", fontsize=9, bbox=box
        )
    ax.set_ylim(depth + 0.5, -0.5)
    ax.margins(x=0.12)
    ax.set_title(f"{shorten(str(expression.target_names[0]), 30)} =", fontsize=10)
    ax.set_axis_off()
    return ax


def _lay_out(formula: Formula, names: Any, places: list[_Place]) -> int:
    """Place leaves side by side, and each operation over its arguments."""
    leaves = 0

    def visit(part: Formula, depth: int, parent: int) -> float:
        nonlocal leaves
        position = len(places)
        places.append(_Place("", 0.0, depth, parent))
        words, children = _take_apart(part, names, depth)
        middles = [visit(child, depth + 1, position) for child in children]
        if not middles:
            middles = [float(leaves)]
            leaves += 1
        x = (middles[0] + middles[-1]) / 2
        places[position] = _Place(words, x, depth, parent)
        return x

    visit(formula, 0, -1)
    return leaves


def _take_apart(
    part: Formula, names: Any, depth: int
) -> tuple[str, tuple[Formula, ...]]:
    """Words of a node, and what is drawn below it."""
    if not isinstance(part, tuple):
        return number(part, 4), ()
    operation, *arguments = part
    if operation == "column":
        return names[arguments[0]], ()
    if operation == "rational" or not arguments:
        return say(part, names), ()
    if depth == MAX_DEPTH:
        return "…", ()
    shown = tuple(_few(arguments, operation))
    return _WORDS.get(str(operation), str(operation)), shown


def _few(arguments: list[Formula], operation: str) -> Iterator[Formula]:
    yield from arguments[:MAX_CHILDREN]
    if len(arguments) > MAX_CHILDREN and operation in MANY:
        yield _Rest(len(arguments) - MAX_CHILDREN)


class _Rest(float):
    """Stands for arguments that are not drawn."""

    def __format__(self, spec: str) -> str:
        return f"… {int(self)} more"
