"""Formulas of networks: known functions are recognised, others named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("skorch")

from skinterp.kan import KANRegressor
from skinterp.kan._symbolic import fit_edge
from skinterp.kan._symbolic_library import LIBRARY

X = np.linspace(-1.5, 2.5, 200)
KNOWN = {
    "x": 2 * X - 1,
    "x^2": 3 * (X - 0.4) ** 2 + 1,
    "x^3": (X + 0.2) ** 3,
    "x^4": (X - 0.5) ** 4,
    "exp(x)": 0.5 * np.exp(-1.3 * X),
    "log(x)": np.log(X + 1.6),
    "sqrt(x)": np.sqrt(3 - X),
    "1/x": 1 / (X + 2),
    "1/x^2": 1 / (X + 1.9) ** 2,
    "abs(x)": np.abs(X - 0.7),
    "sin(x)": 2 * np.sin(2.7 * X + 0.3),
    "tanh(x)": np.tanh(3 * X - 1),
    "exp(-x^2)": np.exp(-((2 * X - 1) ** 2)),
}


def test_all_of_the_library_is_tried() -> None:
    assert set(KNOWN) == {function.name for function in LIBRARY}


@pytest.mark.parametrize("name", KNOWN)
def test_known_functions_are_recognised(name: str) -> None:
    best = fit_edge(X, KNOWN[name])[0]
    assert best.function.name == name
    assert best.r2 > 1 - 1e-5
    values = best.a * best.function(best.b * X + best.c) + best.d
    spread = np.ptp(KNOWN[name])
    np.testing.assert_allclose(values, KNOWN[name], atol=0.01 * spread)


def test_constants_and_single_values() -> None:
    for x, y in ((X, np.full_like(X, 3.0)), (np.ones(5), np.arange(5.0))):
        (best,) = fit_edge(x, y)
        assert (best.a, best.d) == (0.0, y.mean())


def data(n: int = 800) -> tuple[Any, Any]:
    rows = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return rows, np.exp(np.sin(np.pi * rows[:, 0]) + rows[:, 1] ** 2)


def test_formula_of_a_network() -> None:
    """The generating formula, from curves alone, in the columns' own units."""
    rows, y = data()
    own = rows * [10, 1] + [3, 0]
    model = KANRegressor((1,), max_epochs=30, random_state=0).fit(own, y)
    formula = model.explain(kind="expression")
    assert formula.meta["r2 to the network"] > 0.999
    got = formula.evaluate(own)
    assert 1 - np.mean((got - y) ** 2) / np.var(y) > 0.999
    names = [
        line.rpartition(":")[2].split(",")[0].strip() for line in formula.meta["edges"]
    ]
    assert sorted(names) == ["exp(x)", "sin(x)", "x^2"]
    assert formula.chosen == -1
    table = model.edge_formulas(top=2)
    assert len(table) == 2 * 3
    assert set(table["layer"]) == {0, 1}


def test_edges_without_a_function_are_named() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (300, 2))
    y = np.sin(9 * rows[:, 0]) * np.cos(5 * rows[:, 1] ** 2) + rows[:, 1] ** 5
    model = KANRegressor((4,), max_epochs=10, random_state=0).fit(rows, y)
    with pytest.raises(ValueError, match=r"min_r2=0\.9999.*->.*at best"):
        model.explain(kind="expression", min_r2=0.9999)
    with pytest.raises(ValueError, match="min_r2=2"):
        model.explain(kind="expression", min_r2=2)


def test_several_outputs_have_no_formula() -> None:
    rows, y = data(60)
    model = KANRegressor((), max_epochs=2, random_state=0)
    model.fit(rows, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="one output"):
        model.explain(kind="expression")
    with pytest.raises(ValueError, match="top=0"):
        model.edge_formulas(top=0)


def test_squashed_networks_have_formulas_too() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    model = KANRegressor((1,), squash=True, max_epochs=30, random_state=0)
    model.fit(rows, np.exp(rows[:, 0]))
    formula = model.explain(kind="expression", min_r2=0.9)
    assert "tanh" in formula.to_text()
    assert np.corrcoef(formula.evaluate(rows), model.predict(rows))[0, 1] > 0.99
