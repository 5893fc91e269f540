from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from skinterp.explanation._formula import size
from skinterp.symbolic._engines import (
    default_engine,
    read_engine,
    read_postfix,
    read_program,
)
from skinterp.symbolic._front import (
    Scaling,
    compute,
    differ,
    front,
    relative_errors,
    simplest,
    tidy,
)

pytest.importorskip("sympy")

X = np.random.default_rng(0).uniform(-3.0, 3.0, (400, 3))
X[:5] = [[0, 0, 0], [1e-4, -1e-4, 0.5], [-2, 0, 1e-3], [3, -1, -1], [0.5, 0.001, 2]]


# -- gplearn: protected functions mean what gplearn computes ---------------------------

PROTECTED = ("div", "sqrt", "log", "inv")
PLAIN = ("add", "sub", "mul", "neg", "abs", "max", "min", "sin", "cos", "tan")


@pytest.mark.parametrize("name", PROTECTED + PLAIN)
def test_each_function_of_gplearn(name: str) -> None:
    functions = pytest.importorskip("gplearn.functions")
    function = functions._function_map[name]
    formula = read_program([function, *range(function.arity)])
    expected = function(*X.T[: function.arity])
    np.testing.assert_allclose(compute(formula, X), expected, rtol=1e-15)


def test_a_program_of_gplearn() -> None:
    pytest.importorskip("gplearn")
    from gplearn.functions import _function_map as f

    program = [f["sub"], f["div"], 0, f["mul"], 1.5, 2, f["log"], f["sqrt"], 1]
    formula = read_program(program)
    with np.errstate(all="ignore"):
        quotient = np.where(np.abs(1.5 * X[:, 2]) > 0.001, X[:, 0] / (1.5 * X[:, 2]), 1)
        root = np.sqrt(np.abs(X[:, 1]))
        expected = quotient - np.where(root > 0.001, np.log(root), 0)
    np.testing.assert_allclose(compute(formula, X), expected, rtol=1e-12)
    tidied = tidy(formula, X, 1e-13)
    np.testing.assert_allclose(compute(tidied, X), expected, rtol=1e-9)


def test_single_terminals_of_gplearn() -> None:
    assert read_program([2]) == ("column", 2)
    assert read_program([0.25]) == 0.25


def test_a_function_of_the_users_own_is_refused() -> None:
    functions = pytest.importorskip("gplearn.functions")
    # under the name of a known one, which it is not
    mine = functions.make_function(function=np.cbrt, name="sqrt", arity=1)
    with pytest.raises(ValueError, match="'sqrt' is not one of gplearn's own"):
        read_program([mine, 0])


# -- pyoperon --------------------------------------------------------------------------

OPERATIONS = (
    "add sub mul div aq fmin fmax pow powabs abs acos asin atan cbrt ceil cos cosh exp "
    "floor log logabs log1p sin sinh sqrt sqrtabs tan tanh square"
)
BINARY = "add sub mul div aq fmin fmax pow powabs"


@pytest.mark.parametrize("name", OPERATIONS.split())
def test_each_operation_of_pyoperon(name: str) -> None:
    """As Operon itself evaluates it, in float32."""
    op = pytest.importorskip("pyoperon")
    kinds = pytest.importorskip("pyoperon.sklearn")._KNOWN_SYMBOLS
    data = op.Dataset(np.asfortranarray(X))
    hashes = [v.Hash for v in sorted(data.Variables, key=lambda v: v.Index)]

    def variable(j: int, weight: float) -> Any:
        node = op.Node.Variable(weight)
        node.HashValue = node.CalculatedHashValue = hashes[j]
        return node

    leaves = [variable(1, 0.5), variable(0, 1.5)]
    arity = 2 if name in BINARY.split() else 1
    operation = op.Node(kinds[name])
    tree = op.Tree([*leaves[2 - arity :], operation]).UpdateNodes()
    expected = op.Evaluate(op.DispatchTable(), tree, data, op.Range(0, len(X)))
    formula = read_postfix(tree.Nodes, {h: j for j, h in enumerate(hashes)})
    got = compute(formula, X)
    # next to a pole float32 may be finite where float64 is not
    both = np.isfinite(expected) & np.isfinite(got)
    assert both.sum() > 50
    assert (np.isnan(expected) == np.isnan(got)).mean() > 0.97
    np.testing.assert_allclose(got[both], expected[both], rtol=2e-4, atol=1e-5)


def test_the_default_engine_is_read() -> None:
    pytest.importorskip("pyoperon")
    engine = default_engine().set_params(
        max_evaluations=3000, population_size=100, random_state=0
    )
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    found = read_engine(engine.fit(X, y))
    assert len(found.formulas) == len(engine.pareto_front_) > 1
    assert differ(compute(found.formulas[found.chosen], X), engine.predict(X)) < 1e-5


def test_an_operation_without_formula_is_refused() -> None:
    node = SimpleNamespace(Name="dyn", Type=SimpleNamespace(name="Dynamic"), Arity=1)
    kind = SimpleNamespace(name="Constant")
    leaf = SimpleNamespace(Name="constant", Type=kind, Value=1.0)
    with pytest.raises(ValueError, match="operation 'dynamic' of pyoperon"):
        read_postfix([leaf, node], {})


# -- PySR, by its documented interface -------------------------------------------------


class PySRStandIn:
    """Has what PySR documents of a fitted ``PySRRegressor``."""

    def __init__(self, formulas: list[str], best: int) -> None:
        import sympy

        names = {f"x{j}": sympy.Symbol(f"x{j}") for j in range(3)}
        parsed = [sympy.sympify(text, locals=names) for text in formulas]
        self.equations_ = pd.DataFrame(
            {"complexity": range(1, len(formulas) + 1), "sympy_format": parsed},
            index=range(10, 10 + len(formulas)),
        )
        self.best = best

    def sympy(self, index: int | None = None) -> Any:
        row = self.best if index is None else index
        return self.equations_.iloc[row]["sympy_format"]

    def get_best(self) -> Any:
        return self.equations_.iloc[self.best]


def test_the_front_of_pysr() -> None:
    engine = PySRStandIn(["2.5", "x2*1.5", "x0**2 + sin(x2)/Abs(x1)"], best=2)
    found = read_engine(engine)
    assert found.formulas[0] == 2.5
    assert found.chosen == 2
    assert found.tolerance > 1e-4
    with np.errstate(all="ignore"):
        expected = X[:, 0] ** 2 + np.sin(X[:, 2]) / np.abs(X[:, 1])
    np.testing.assert_allclose(compute(found.formulas[2], X), expected, rtol=1e-12)


def test_an_operator_of_pysr_without_formula_is_named() -> None:
    with pytest.raises(ValueError, match="cannot hold sympy's gamma"):
        read_engine(PySRStandIn(["gamma(x0)"], best=0))


def test_several_targets_of_pysr_are_refused() -> None:
    engine = PySRStandIn(["x0"], best=0)
    engine.equations_ = [engine.equations_]
    with pytest.raises(ValueError, match="several targets"):
        read_engine(engine)


# -- other regressors ------------------------------------------------------------------


def test_linear_models_are_read() -> None:
    from sklearn.linear_model import Lasso, LinearRegression

    for engine in (
        LinearRegression(),
        Lasso(0.1),
        LinearRegression(fit_intercept=False),
    ):
        engine.fit(X, X @ [1.0, 0.0, -2.0] + 3)
        found = read_engine(engine)
        assert differ(compute(found.formulas[0], X), engine.predict(X)) < 1e-12


def test_others_have_no_formula() -> None:
    from sklearn.neighbors import KNeighborsRegressor

    assert read_engine(KNeighborsRegressor().fit(X, X[:, 0])) is None


# -- scaling, tidying, fronts ----------------------------------------------------------


@pytest.mark.parametrize("how", ["standard", "spread", None])
def test_scaling_is_undone(how: str | None) -> None:
    table = np.column_stack([X[:, 0] * 1e-3 + 7, np.ones(len(X)), X[:, 1:] * 50])
    y = 100 + 5 * X[:, 0]
    scaling = Scaling.of(table, y, np.array([0, 1, 3]), how)
    inner = scaling.transform(table)
    formula = ("mul", ("column", 0), ("exp", ("column", 2)), ("add", 2, ("column", 1)))
    with np.errstate(over="ignore"):
        expected = scaling.restore_target(compute(formula, inner))
    got = compute(scaling.restore(formula), table)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    np.testing.assert_allclose(
        scaling.restore_target(scaling.transform_target(y)), y, rtol=1e-12
    )
    if how == "standard":
        np.testing.assert_allclose(inner[:, [0, 2]].mean(axis=0), 0, atol=1e-9)
    if how:
        np.testing.assert_allclose(inner[:, [0, 2]].std(axis=0), 1)


def test_tidying_gathers_what_scaling_has_spread_out() -> None:
    scaling = Scaling.of(X, X[:, 0], np.array([0]), "standard")
    long = scaling.restore(("column", 0))
    assert size(long) > 5
    assert tidy(long, X, 1e-13) in (("column", 0), ("mul", 1.0, ("column", 0)))


def test_tidying_drops_specks_but_no_terms() -> None:
    speck = ("add", ("column", 0), ("mul", 1e-9, ("column", 1)), 1e-10)
    assert tidy(speck, X, 1e-6) == ("column", 0)
    term = ("add", ("column", 0), ("mul", 1e-3, ("column", 1)))
    assert tidy(term, X, 1e-6) == term


def test_what_sympy_takes_for_complex_stays_as_it_is() -> None:
    formula = ("max", ("column", 0), ("pow", -2.0, 0.5))
    assert tidy(formula, X, 1e-6) == formula


def test_tidying_does_not_widen_where_a_formula_is_defined() -> None:
    """The square of a root is the number itself to sympy, but not below zero."""
    formula = ("pow", ("pow", ("column", 0), ("rational", 1, 2)), 2)
    tidied = tidy(formula, X, 1e-6)
    np.testing.assert_array_equal(np.isnan(compute(tidied, X)), X[:, 0] < 0)


def test_a_front_keeps_what_nothing_beats() -> None:
    formulas = (
        ("sin", ("column", 0)),  # larger and worse than the column itself
        ("column", 0),
        1.0,
        ("add", ("column", 0), ("mul", 0.5, ("column", 1))),
        ("log", ("column", 0)),  # not defined
    )
    y = X[:, 0] + 0.5 * X[:, 1]
    told = relative_errors(formulas, X, y)
    kept, errors, chosen = front(formulas, told, 3)
    assert kept == (1.0, ("column", 0), formulas[3])[-len(kept) :]
    assert formulas[0] not in kept
    assert chosen == len(kept) - 1
    assert errors[-1] < 1e-20 < errors[-2]
    as_good = (*formulas, ("add", formulas[3], 0.0))
    assert front(as_good, np.append(told, told[3]), 3)[0] == kept
    kept, _, chosen = front(formulas, told, 0)  # the chosen one stays
    assert kept[chosen] == formulas[0]


def test_the_simplest_formula_that_is_as_good_is_chosen() -> None:
    rng = np.random.default_rng(0)
    law = ("mul", ("column", 0), ("column", 1))
    curve = ("mul", 15.8, ("column", 0), ("sin", ("mul", 1 / 15.8, ("column", 1))))
    coarse = ("column", 0)
    undefined = ("log", ("column", 0))
    formulas = (undefined, curve, coarse, law)
    truth = X[:, 0] * X[:, 1]
    noisy = truth + rng.normal(size=len(X))
    for y in (noisy, truth):
        assert simplest(formulas, relative_errors(formulas, X, y), len(y), 1e-6) == 3
    # what is below the rounding of float32 counts no more
    errors = np.array([np.inf, 1e-20, 5.0, 1e-14])
    assert simplest(formulas, errors, len(X), 1e-6) == 3
    assert simplest(formulas, errors, len(X), 1e-13) == 1
