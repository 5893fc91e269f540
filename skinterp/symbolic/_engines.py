"""What symbolic regressors found, read as formulas over their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skinterp.compat import optional_import
from skinterp.explanation._formula import Formula, divided, minus
from skinterp.explanation._formula_sympy import from_sympy

HALF = ("rational", 1, 2)
# Functions of one argument that formulas have under the same name.
_SAME = {"abs", "acos", "asin", "atan", "cos", "cosh", "exp", "floor", "log", "sin"}
_SAME |= {"sinh", "tan", "tanh"}


@dataclass(frozen=True)
class Found:
    """Formulas of a fitted engine, over its own columns.

    ``tolerance`` says how far its arithmetic lets formula and prediction differ, and
    ``dust`` below which share of a sum a term is but rounding.
    """

    formulas: tuple[Formula, ...]
    chosen: int
    tolerance: float = 1e-8
    dust: float = 1e-13

    @classmethod
    def in_float32(cls, formulas: tuple[Formula, ...], chosen: int) -> Found:
        """Formulas of an engine that computes in float32."""
        return cls(formulas, chosen, tolerance=1e-3, dust=1e-6)


def default_engine() -> Any:
    """Engine that is used where the user names none."""
    operon = optional_import(
        "pyoperon.sklearn", extra="symbolic", who="PANSymbolicRegressor"
    )
    return operon.SymbolicRegressor(
        allowed_symbols=(
            "add,sub,mul,div,sqrt,square,exp,log,sin,cos,tanh,constant,variable"
        ),
        objectives=["r2", "length"],
        # the default, description length, takes the noise to be as large as 1
        model_selection_criterion="bayesian_information_criterion",
        optimizer_iterations=10,
        population_size=1000,
        max_evaluations=200_000,
        max_length=40,
        n_threads=1,
    )


def read_engine(engine: Any) -> Found | None:
    """Formulas of a fitted engine; None if it is not known to have any.

    Raises
    ------
    ValueError
        If it is known, but holds a function that a formula cannot.
    """
    packages = {cls.__module__.partition(".")[0] for cls in type(engine).__mro__}
    if "pyoperon" in packages:
        return _read_operon(engine)
    if hasattr(getattr(engine, "_program", None), "program"):
        return Found((read_program(engine._program.program),), 0)
    if hasattr(engine, "equations_") and callable(getattr(engine, "sympy", None)):
        return _read_pysr(engine)
    return _read_linear(engine)


# -- pyoperon --------------------------------------------------------------------------


def _read_operon(engine: Any) -> Found:
    columns = {hash_: j for j, hash_ in enumerate(engine.variables_)}
    trees = [solution["tree"] for solution in engine.pareto_front_]
    chosen = next(i for i, tree in enumerate(trees) if tree is engine.model_)
    formulas = tuple(read_postfix(tree.Nodes, columns) for tree in trees)
    return Found.in_float32(formulas, chosen)


def read_postfix(nodes: Sequence[Any], columns: dict[int, int]) -> Formula:
    """Formula of Operon's nodes: arguments before operation, the first one last."""
    stack: list[Formula] = []
    for node in nodes:
        # pyoperon 0.6 has the types of fmin and fmax swapped, the names are right
        kind = node.Name if node.Name in ("fmin", "fmax") else node.Type.name.lower()
        if kind == "constant":
            stack.append(float(node.Value))
        elif kind == "variable":
            stack.append(
                ("mul", float(node.Value), ("column", columns[node.HashValue]))
            )
        else:
            arguments = [stack.pop() for _ in range(node.Arity)]
            stack.append(_operon_operation(kind, arguments))
    (formula,) = stack
    return formula


def _operon_operation(kind: str, arguments: list[Formula]) -> Formula:
    first, *rest = arguments
    if kind in ("add", "mul"):
        return (kind, *arguments)
    if kind in ("fmin", "fmax"):
        return (kind[1:], *arguments)
    if kind == "sub":  # of one argument: its negative
        return minus(first, ("add", *rest)) if rest else ("mul", -1, first)
    if kind == "div":  # of one argument: its inverse
        return divided(first, ("mul", *rest)) if rest else ("pow", first, -1)
    if kind in _SAME:
        return (kind, first)
    known: dict[str, Callable[[], Formula]] = {
        "aq": lambda: divided(first, ("pow", ("add", 1, ("pow", rest[0], 2)), HALF)),
        "cbrt": lambda: (
            "mul",
            ("sign", first),
            ("pow", ("abs", first), ("rational", 1, 3)),
        ),
        "ceil": lambda: ("ceiling", first),
        "log1p": lambda: ("log", ("add", 1, first)),
        "logabs": lambda: ("log", ("abs", first)),
        "pow": lambda: ("pow", first, rest[0]),
        "powabs": lambda: ("pow", ("abs", first), rest[0]),
        "sqrt": lambda: ("pow", first, HALF),
        "sqrtabs": lambda: ("pow", ("abs", first), HALF),
        "square": lambda: ("pow", first, 2),
    }
    if kind not in known:
        msg = f"the operation {kind!r} of pyoperon cannot be written as a formula"
        raise ValueError(msg)
    return known[kind]()


# -- gplearn ---------------------------------------------------------------------------


def read_program(program: Sequence[Any]) -> Formula:
    """Formula of gplearn's program: operation before arguments."""
    items = iter(program)

    def read() -> Formula:
        item = next(items)
        if isinstance(item, float | np.floating):
            return float(item)
        if isinstance(item, int | np.integer):
            return ("column", int(item))
        arguments = [read() for _ in range(item.arity)]
        return _gplearn_operation(item, arguments)

    return read()


def _gplearn_operation(function: Any, arguments: list[Formula]) -> Formula:
    from gplearn import functions

    name = function.name
    own = getattr(functions, "_function_map", {}).get(name)
    if own is None or own.function is not function.function:
        msg = (
            f"the function {name!r} is not one of gplearn's own, so that its formula "
            "is not known"
        )
        raise ValueError(msg)
    if name in ("add", "mul", "max", "min", "abs", "sin", "cos", "tan"):
        return (name, *arguments)
    first, *rest = arguments
    size = ("abs", first)
    known: dict[str, Callable[[], Formula]] = {
        "sub": lambda: minus(first, rest[0]),
        "neg": lambda: ("mul", -1, first),
        "div": lambda: _protected(divided(first, rest[0]), rest[0], 1),
        "inv": lambda: _protected(("pow", first, -1), first, 0),
        "log": lambda: _protected(("log", size), first, 0),
        "sqrt": lambda: ("pow", size, HALF),
    }
    return known[name]()


def _protected(value: Formula, by: Formula, instead: int) -> Formula:
    """Value where the size of ``by`` exceeds 0.001, as in all of gplearn."""
    return ("piecewise", value, ("gt", ("abs", by), 0.001), instead, ("true",))


# -- PySR ------------------------------------------------------------------------------


def _read_pysr(engine: Any) -> Found:
    if isinstance(engine.equations_, list):
        msg = f"{type(engine).__name__} was fitted to several targets; one is expected"
        raise ValueError(msg)
    places = list(engine.equations_.index)
    expressions = [engine.sympy(i) for i in range(len(places))]
    symbols = {s for e in expressions for s in getattr(e, "free_symbols", ())}
    # fitted on an array, it calls the columns x0, x1, ...
    columns = {s: int(s.name[1:]) for s in symbols if s.name[1:].isdecimal()}
    formulas = tuple(from_sympy(e, columns) for e in expressions)
    chosen = places.index(engine.get_best().name)
    return Found.in_float32(formulas, chosen)  # unless asked for more


# -- linear models ---------------------------------------------------------------------


def _read_linear(engine: Any) -> Found | None:
    """Formula of a model that has coefficients; its predictions tell if it holds."""
    slopes = getattr(engine, "coef_", None)
    if slopes is None or hasattr(slopes, "toarray"):
        return None
    slopes = np.asarray(slopes, dtype=np.float64).ravel()
    intercept = np.ravel(getattr(engine, "intercept_", 0.0))
    if len(intercept) != 1 or len(slopes) != getattr(engine, "n_features_in_", -1):
        return None
    terms = [("mul", float(b), ("column", j)) for j, b in enumerate(slopes) if b != 0]
    return Found((("add", *terms, float(intercept[0])),), 0)
