from __future__ import annotations

import hashlib

import numpy as np
import pytest

from skinterp.datasets import FeynmanEquation, feynman_equations, make_feynman

EQUATIONS = feynman_equations()


def test_there_are_a_hundred_equations() -> None:
    assert len(EQUATIONS) == 100
    sizes = [len(equation.ranges) for equation in EQUATIONS.values()]
    assert (min(sizes), max(sizes)) == (1, 9)


@pytest.mark.parametrize("name", EQUATIONS)
def test_every_equation_gives_numbers(name: str) -> None:
    found = make_feynman(name, 200, irrelevant_per_variable=2, random_state=0)
    assert found.data.shape == (200, 3 * len(EQUATIONS[name].ranges))
    assert np.isfinite(found.target).all()
    assert found.target.std() > 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Worked by hand, all variables at 2 but those named.
        ("I.12.1", 4.0),
        ("I.13.4", 12.0),
        ("I.11.19", 12.0),
        ("I.34.14", 2 * 1.5 / 0.75**0.5),
        ("I.44.4", 0.0),
        ("II.38.3", 4.0),
        ("III.21.20", -4.0),
    ],
)
def test_values_worked_by_hand(name: str, value: float) -> None:
    equation = EQUATIONS[name]
    values = dict.fromkeys(equation.ranges, 2.0) | {"c": 4.0}
    assert equation.evaluate(values) == pytest.approx(value)


def test_gravity_with_nine_variables() -> None:
    ranges = EQUATIONS["I.9.18"].ranges
    assert {ranges[v] for v in ("m1", "m2", "G", "x2", "y2", "z2")} == {(1.0, 2.0)}
    assert {ranges[v] for v in ("x1", "y1", "z1")} == {(3.0, 4.0)}
    found = make_feynman("I.9.18", 10, random_state=0)
    assert found.data.shape == (10, 459)


def test_the_truth_is_where_it_is_said_to_be() -> None:
    found = make_feynman("I.38.12", 50, random_state=1)
    columns = dict(zip(found.true_names, found.data.T[found.true_columns], strict=True))
    np.testing.assert_array_equal(found.equation.evaluate(columns), found.target)
    assert set(found.true_names) == set(found.equation.ranges)


def test_other_columns_have_the_range_of_their_variable() -> None:
    found = make_feynman("III.14.14", 4000, as_frame=True, random_state=0)
    for name, (low, high) in found.equation.ranges.items():
        others = found.data[[f"{name}.{k}" for k in range(1, 51)]].to_numpy()
        assert others.min() >= low
        assert others.max() <= high
        np.testing.assert_allclose(others.max(), high, atol=0.01 * (high - low))
        np.testing.assert_allclose(others.min(), low, atol=0.01 * (high - low))


def test_columns_are_shuffled() -> None:
    places = {
        tuple(make_feynman("I.12.1", 1, random_state=seed).true_columns)
        for seed in range(10)
    }
    assert len(places) > 5


@pytest.mark.parametrize("snr", [1.0, 10.0])
def test_noise_has_the_stated_size(snr: float) -> None:
    found = make_feynman("I.12.1", 20000, snr=snr, random_state=0)
    noise = found.target - found.signal
    assert found.signal.var() / noise.var() == pytest.approx(snr, rel=0.05)
    assert abs(np.corrcoef(noise, found.signal)[0, 1]) < 0.03


def test_forms_agree() -> None:
    X, y = make_feynman("I.12.1", 20, random_state=3, return_X_y=True)
    found = make_feynman("I.12.1", 20, random_state=3, as_frame=True)
    np.testing.assert_array_equal(found.data.to_numpy(), X)
    np.testing.assert_array_equal(found.target, y)
    assert list(found.data.columns) == found.feature_names
    assert len(set(found.feature_names)) == 102


def test_seeds_count() -> None:
    first, again, other = (
        make_feynman("I.12.1", 20, random_state=seed).target for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"equation": "I.99.9"}, "equation='I.99.9' is not one"),
        ({"n": 0}, "n=0 must be an integer"),
        ({"irrelevant_per_variable": -1}, "irrelevant_per_variable=-1"),
        ({"n": True}, "n=True must be an integer"),
        ({"snr": 0}, "snr=0 must be a positive"),
        ({"snr": "10"}, "snr='10' must be a positive"),
        ({"snr": float("nan")}, "snr=nan must be a positive"),
    ],
)
def test_impossible_demands(params: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_feynman(**({"equation": "I.12.1"} | params))


@pytest.mark.parametrize("name", ["I.12.1", "mine"])
def test_formulas_of_others_are_not_run(name: str) -> None:
    own = FeynmanEquation(name, "mu+Nn", EQUATIONS["I.12.1"].ranges)
    with pytest.raises(ValueError, match=r"'mu\+Nn' is not the formula of an equation"):
        own.evaluate({"mu": 1.0, "Nn": 2.0})


def test_the_table_is_the_one_that_was_checked() -> None:
    """All formulas and ranges were held against the published list, number by number.

    Whoever changes one checks it again, and writes down what is asserted here.
    """
    lines = [
        f"{name} {dict(equation.ranges)} {equation.evaluate(_inside(equation)):.9g}"
        for name, equation in EQUATIONS.items()
    ]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert digest == "ef436effe0a65f22", digest


def _inside(equation: FeynmanEquation) -> dict[str, float]:
    """Give each variable a value of its own within its range."""
    shares = np.linspace(0.31, 0.67, len(equation.ranges))
    ranges = equation.ranges.items()
    return {
        name: low + share * (high - low)
        for (name, (low, high)), share in zip(ranges, shares, strict=True)
    }


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(ValueError, match="lacks the variable 'mu'"):
        EQUATIONS["I.12.1"].evaluate({"Nn": 1.0})


def test_formulas_are_sympy_s() -> None:
    sympy = pytest.importorskip("sympy")
    for equation in EQUATIONS.values():
        symbols = {name: sympy.Symbol(name) for name in equation.ranges}
        formula = sympy.sympify(equation.formula, locals=symbols)
        assert formula.free_symbols == set(symbols.values())
        found = make_feynman(
            equation.name, 1, irrelevant_per_variable=0, random_state=0
        )
        cells = dict(zip(found.true_names, map(float, found.data[0]), strict=True))
        expected = float(formula.subs(cells).evalf())
        assert found.target[0] == pytest.approx(expected)
