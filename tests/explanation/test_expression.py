from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skinterp.explanation import Explanation, Expression, FeatureMap, FeatureSource
from skinterp.explanation._formula import check, columns_of, evaluate, fold, size

NAMES = ("N", "pi", "my col", "a+b", "S", "E")
HALF = ("rational", 1, 2)
WAVE = ("mul", 2.0, ("sin", ("mul", ("pi",), ("column", 0))))
SQUARE = ("pow", ("column", 1), 2)


def expression(*formulas: Any, names: tuple[str, ...] = NAMES, **fields: Any) -> Any:
    return Expression(
        scope="global",
        feature_names=names,
        target_names=np.array(["y"]),
        formulas=formulas,
        **fields,
    )


def column(j: int) -> tuple:
    return ("column", j)


# -- values ----------------------------------------------------------------------------

X = np.array([[0.5, 2.0], [1.0, -3.0], [-0.25, 0.0]])
VALUES = [
    (WAVE, 2 * np.sin(np.pi * X[:, 0])),
    (SQUARE, X[:, 1] ** 2),
    (("add", column(0), column(1), 1), X.sum(axis=1) + 1),
    (("pow", column(0), -1), 1 / X[:, 0]),
    (("pow", ("abs", column(1)), HALF), np.sqrt(np.abs(X[:, 1]))),
    (("pow", ("e",), column(0)), np.exp(X[:, 0])),
    (("min", column(0), column(1), 0), np.minimum(X.min(axis=1), 0)),
    (("max", column(0), ("rational", 1, 4)), np.maximum(X[:, 0], 0.25)),
    (
        ("piecewise", 1, ("lt", column(1), 0), 2, ("eq", column(1), 0), 3, ("true",)),
        [3, 1, 2],
    ),
    (
        ("piecewise", 5, ("and", ("gt", column(0), 0), ("not", ("lt", column(1), 0)))),
        [5, np.nan, np.nan],
    ),
    (("log", column(1)), [np.log(2), np.nan, -np.inf]),
    (7, [7, 7, 7]),
]


@pytest.mark.parametrize(("formula", "expected"), VALUES, ids=str)
def test_values(formula: Any, expected: Any) -> None:
    told = expression(formula, names=("a", "b"))
    np.testing.assert_allclose(told.evaluate(X), expected)
    np.testing.assert_allclose(
        told.evaluate(pd.DataFrame(X, columns=["a", "b"])), told.evaluate(X)
    )


def test_columns_of_a_frame_are_found_by_name() -> None:
    frame = pd.DataFrame({"b": [5.0], "other": [0.0], "a": [2.0]})
    told = expression(("add", column(0), ("mul", -1, column(1))), names=("a", "b"))
    assert told.evaluate(frame) == [-3.0]
    with pytest.raises(ValueError, match="'b' is not in X"):
        told.evaluate(frame[["a"]])


BAD = [
    ("nope", 1),
    ("column", 2),
    ("column", -1),
    ("column", True),
    ("column", 1.0),
    ("rational", 1, 0),
    ("rational", 1),
    ("sin", 1, 2),
    ("pow", 2),
    ("piecewise", 1, ("true",), 2),
    ("add",),
    (),
    ((1,), 2),
    "sin(x)",
    True,
    None,
    ("exp", [1]),
]


@pytest.mark.parametrize("formula", BAD, ids=str)
def test_what_is_no_formula_is_refused(formula: Any) -> None:
    with pytest.raises(ValueError, match=r"formula|does not fit"):
        check(formula, 2)
    with pytest.raises(ValueError, match=r"formula|does not fit"):
        expression(("add", formula, 1), names=("a", "b"))


def test_a_file_can_hold_no_code() -> None:
    content = expression(column(0)).to_dict()
    for text in ("__import__('os').system('true')", ["__import__", "os"]):
        content["formulas"] = [text]
        with pytest.raises(ValueError, match="formula"):
            Explanation.from_dict(content)


def nested(depth: int) -> Any:
    formula: Any = column(0)
    for _ in range(depth):
        formula = ("sin", formula)
    return formula


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (nested(201), "deeper than 200"),
        (nested(5000), "deeper than 200"),
        (10**400, "too large for float64"),
        (("rational", 1, 10**400), "too large for float64"),
        (("rational", 10**5000, -1), "does not fit"),
        (("column", 10**5000), "does not fit"),
        (("lt", ("lt", column(0), 1), 2), "argument 0 of 'lt' has to be a number"),
        (("add", ("true",), 1), "argument 0 of 'add' has to be a number"),
        (("not", column(0)), "argument 0 of 'not' has to be a condition"),
        (("piecewise", 1, column(0)), "argument 1 of 'piecewise' has"),
        (("piecewise", ("true",), ("true",)), "argument 0 of 'piecewise' has to be"),
    ],
    ids=range(11),
)
def test_what_nothing_can_be_done_with_is_refused(formula: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expression(formula)


def test_the_deepest_formula_can_be_used() -> None:
    pytest.importorskip("sympy")
    told = expression(nested(200))
    assert np.isfinite(told.evaluate(X)).all()
    assert Explanation.from_dict(told.to_dict()) == told
    for words in (told.to_text(), told.to_latex(), told.to_html()):
        assert words


@pytest.mark.parametrize("stored", [[["sin"] * 2], 10**400], ids=["deep", "large"])
def test_a_file_of_anything_is_read_or_refused(stored: Any) -> None:
    for _ in range(5000):
        stored = [stored]
    content = expression(column(0), errors=np.zeros(1)).to_dict()
    for name in ("formulas", "meta"):
        with pytest.raises(ValueError, match="cannot be read"):
            Explanation.from_dict(content | {name: stored})
    content["errors"]["$array"] |= {"dtype": "<i8", "data": [10**400]}
    with pytest.raises(ValueError, match="cannot be read"):
        Explanation.from_dict(content)


@pytest.mark.parametrize(
    "formula",
    [
        ("pow", 10, 10**9),
        ("mul", -1, ("pow", 10, 10**9)),
        ("pow", 2, -(10**9)),
        ("pow", ("pow", 9, 9**5), 9**5),
        ("pow", ("rational", 3, 7), 10**8),
        ("pow", ("rational", 10**300 + 1, 10**300), 10**8),
        ("pow", ("mul", 3, column(0)), 10**9),
        ("pow", ("pow", ("mul", 9, column(0)), 900), 900),
        ("exp", ("exp", ("exp", 10.0))),
        ("floor", ("exp", 1e5)),
        ("mul", *(10**300 for _ in range(50)), column(0)),
    ],
    ids=range(11),
)
def test_powers_beyond_float64_are_not_worked_out(formula: Any) -> None:
    """They would take sympy forever; the number that they are in float64 is shown."""
    sympy = pytest.importorskip("sympy")
    told = expression(formula)
    assert told.to_latex()
    if not told.used_features:
        assert float(told.to_sympy()) == pytest.approx(told.evaluate(X)[0])
    assert all(len(str(x)) < 4000 for x in told.to_sympy().atoms(sympy.Integer))


@pytest.mark.parametrize("rows", [[1.0, 2.0], [], 3.0, np.zeros((2, 6, 2))])
def test_rows_have_to_be_a_table(rows: Any) -> None:
    with pytest.raises(ValueError, match="dense table of rows and columns"):
        expression(column(1)).evaluate(rows)


def test_missing_columns_of_an_array_are_named() -> None:
    with pytest.raises(ValueError, match=r"X has 1 columns: 'pi', in place 1"):
        expression(column(1)).evaluate([[1.0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scope": "local"}, "has the scope 'global'"),
        ({"formulas": ()}, "formulas is empty"),
        ({"chosen": 1}, "chosen=1 is no position in 1 formulas"),
        ({"errors": np.zeros(2)}, "errors has shape"),
    ],
)
def test_fields_have_to_fit(fields: dict, message: str) -> None:
    good = {
        "scope": "global",
        "feature_names": ("a",),
        "target_names": np.array(["y"]),
        "formulas": (column(0),),
    }
    with pytest.raises(ValueError, match=message):
        Expression(**(good | fields))


def test_complexity_counts_numbers_columns_and_operations() -> None:
    assert size(2.5) == size(column(0)) == size(("pi",)) == 1
    assert size(("add", column(0), 1, 2)) == 5
    assert size(WAVE) == 6
    assert expression(WAVE, chosen=0).complexity == 6
    assert columns_of(("add", column(4), ("rational", 7, 2), column(1))) == (1, 4)


# -- formulas at random ----------------------------------------------------------------

LEAVES = st.one_of(
    st.integers(0, 2).map(column),
    st.integers(-3, 3),
    st.floats(-4, 4, allow_nan=False).map(lambda x: round(x, 3)),
    st.just(("pi",)),
    st.just(HALF),
)


def grow(inner: st.SearchStrategy) -> st.SearchStrategy:
    def call(*names: str, n: int) -> st.SearchStrategy:
        return st.tuples(st.sampled_from(names), *[inner] * n)

    condition = st.tuples(st.sampled_from(["lt", "ge"]), inner, inner)
    return st.one_of(
        call("add", "mul", "min", "max", n=2),
        call("add", "mul", n=3),
        call("sin", "cos", "exp", "abs", "tanh", n=1),
        st.tuples(st.just("pow"), inner, st.integers(-2, 3)),
        st.tuples(st.just("piecewise"), inner, condition, inner, st.just(("true",))),
    )


FORMULAS = st.recursive(LEAVES, grow, max_leaves=8)
ROWS = np.random.default_rng(0).uniform(0.5, 2.0, (20, 3))


@given(FORMULAS)
def test_any_formula_survives_json(formula: Any) -> None:
    told = expression(formula)
    content = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert Explanation.from_dict(content) == told


@given(FORMULAS)
def test_any_formula_can_be_said(formula: Any) -> None:
    """In text that Python computes the same from, where it has no pieces."""
    told = expression(formula, names=("a", "b", "c"))
    text = told.to_text().partition(" = ")[2]
    assert text
    if "piecewise" in repr(formula):
        return
    names = {"pi": np.pi, "a": ROWS[:, 0], "b": ROWS[:, 1], "c": ROWS[:, 2]}
    functions = ("sin", "cos", "exp", "abs", "tanh")
    names |= {name: getattr(np, name) for name in functions}
    names |= {"sqrt": np.sqrt, "min": np.minimum, "max": np.maximum}
    with np.errstate(all="ignore"):
        try:
            got = eval(text, names)
        except (ZeroDivisionError, OverflowError):  # of plain numbers
            return
    _assert_close(np.broadcast_to(got, 20), told.evaluate(ROWS), 1e-2)


@given(FORMULAS)
def test_sympy_says_the_same(formula: Any) -> None:
    sympy = pytest.importorskip("sympy")
    from skinterp.explanation._formula_sympy import from_sympy

    told = expression(formula, names=("a", "b", "c"))
    symbols = sympy.symbols("a b c")
    try:
        again = from_sympy(told.to_sympy(), {s: j for j, s in enumerate(symbols)})
    except (ValueError, TypeError):  # a constant part is infinite
        return
    values = evaluate(again, lambda j: ROWS[:, j], 20)
    _assert_close(values, told.evaluate(ROWS), 1e-6)


def _assert_close(got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    both = np.isfinite(got) & np.isfinite(expected)
    close = np.isclose(got, expected, rtol=tolerance, atol=tolerance)
    # cancelling terms leave nothing but rounding
    assert (close | ~both | (np.abs(expected) > 1e12)).all(), (got, expected)


# -- sympy and LaTeX -------------------------------------------------------------------


def test_symbols_are_the_users_names() -> None:
    sympy = pytest.importorskip("sympy")
    told = expression(("add", *map(column, range(6))))
    assert told.to_sympy() == sum(map(sympy.Symbol, NAMES))


def test_sympy_functions_without_a_counterpart_are_named() -> None:
    sympy = pytest.importorskip("sympy")
    from skinterp.explanation._formula_sympy import from_sympy

    x, z = sympy.symbols("x z")
    with pytest.raises(ValueError, match="cannot hold sympy's gamma"):
        from_sympy(sympy.gamma(x), {x: 0})
    with pytest.raises(ValueError, match="symbol z, which is no column"):
        from_sympy(x + z, {x: 0})
    assert from_sympy(sympy.log(x, 10), {x: 0})[0] == "mul"


def test_latex() -> None:
    pytest.importorskip("sympy")
    told = expression(("mul", 1 / 3, column(1), ("pow", column(2), 2), column(0)))
    text = told.to_latex(digits=3)
    assert "0.333" in text
    assert r"\text{pi}" in text
    assert r"\text{my col}^{2}" in text
    odd = expression(column(0), names=("50%_of$",)).to_latex()
    assert odd == r"\text{50\%\_of\$}"


# -- front -----------------------------------------------------------------------------


def front() -> Expression:
    return expression(
        3, column(0), WAVE, SQUARE, errors=np.array([9.0, 4.0, 1.0, 0.5]), chosen=2
    )


def test_text_of_a_front() -> None:
    lines = front().to_text().splitlines()
    assert lines[0] == "y = 2*sin(pi*N)  (complexity 6, mean squared error 1)"
    assert lines[1] == "3 more on the front:"
    assert lines[3] == "  - N  (complexity 1, mean squared error 4)"


def test_text_names_and_signs() -> None:
    told = expression(
        ("add", ("mul", -1, column(2)), ("mul", -2.5, ("pow", column(3), -1)), 1)
    )
    assert told.to_text() == "y = -`my col` - 2.5/`a+b` + 1"
    power = ("pow", ("pow", column(0), 2), ("add", column(4), 1))
    assert expression(power).to_text() == "y = (N**2)**(S + 1)"
    pieces = ("piecewise", column(0), ("gt", column(4), 0.5), 1, ("true",))
    assert expression(pieces).to_text() == "y = (N if S > 0.5; 1 otherwise)"


def test_names_that_mean_something_else_are_quoted() -> None:
    names = ("pi", "e", "true", "a`b", "x", "E")
    formula = ("add", ("mul", ("pi",), column(0)), ("mul", ("e",), column(1)))
    told = expression((*formula, column(2), column(3), column(4)), names=names)
    assert told.to_text() == "y = pi*`pi` + e*`e` + `true` + `a``b` + x"


def test_indexing_keeps_track_of_the_chosen_formula() -> None:
    told = front()
    assert told[1:].chosen == 1
    assert told[0].chosen == -1
    assert told[0].complexity == 1
    assert told.top(1).formulas == (WAVE,)
    assert told.top(2).formulas == (WAVE, SQUARE)
    assert told.top(2).chosen == 0
    assert told[[0, 1]].top(1).formulas == (column(0),)
    assert told[:2].to_text().splitlines()[0] == "2 formulas of a front:"


def test_the_best_stands_in_for_a_chosen_formula_that_was_left_out() -> None:
    told = expression(3, column(0), WAVE, errors=np.array([np.nan, 4, 1]), chosen=-1)
    np.testing.assert_array_equal(
        told.evaluate(np.eye(6)), told.evaluate(np.eye(6), i=2)
    )


@pytest.mark.parametrize("i", [4, -5, "0", 1.5, True])
def test_positions_have_to_be_those_of_formulas(i: Any) -> None:
    with pytest.raises(ValueError, match=r"i=.* is no position in 4 formulas"):
        front().evaluate(np.eye(6), i=i)


def test_frame_of_a_front() -> None:
    frame = front().to_frame()
    assert list(frame["complexity"]) == [1, 1, 6, 3]
    assert list(frame["chosen"]) == [False, False, True, False]
    # the column named pi is not the number
    assert list(frame["formula"][1:]) == ["N", "2*sin(pi*N)", "`pi`**2"]


def test_pictures() -> None:
    ax = front().plot()
    assert "error" in ax.get_ylabel()
    assert "sin(pi*N)" in ax.get_title()
    tree = expression(("add", *map(column, [*range(6)] * 3))).plot()
    words = [text.get_text() for text in tree.texts]
    assert "my col" in words
    assert "… 12 more" in words


# -- faithfulness ----------------------------------------------------------------------


class Model:
    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 1] ** 2 + self.offset


def test_check_faithful_names_the_row() -> None:
    told = expression(SQUARE, names=("a", "b"))
    told.check_faithful(Model(), X)
    with pytest.raises(
        AssertionError, match=r"row 0: the formula gives 4.0, the model"
    ):
        told.check_faithful(Model(0.1), X)


# -- back to the user's columns --------------------------------------------------------


def line(j: int, center: float, spread: float) -> FeatureSource:
    return FeatureSource(
        form="value",
        column=j,
        invert=lambda t: center + t * spread,
        increasing=spread > 0,
    )


def test_lines_are_substituted() -> None:
    table = np.random.default_rng(0).uniform(2000, 2030, (50, 2))
    inner = np.column_stack(
        [(table[:, 1] - 2015.5) / 3.7, (table[:, 0] - 2000) / -0.02]
    )
    told = expression(("add", WAVE, SQUARE), names=("z0", "z1"))
    back = told.map_features(
        FeatureMap(("year", "dose"), (line(1, 2015.5, 3.7), line(0, 2000.0, -0.02)))
    )
    assert back.feature_names == ("year", "dose")
    np.testing.assert_allclose(back.evaluate(table), told.evaluate(inner), rtol=1e-9)


def test_curves_far_from_zero_are_no_lines() -> None:
    """What is bent within a small range is bent, however far the range is from zero."""
    bent = FeatureSource(
        form="value", column=0, invert=lambda t: 1e9 + 0.02 * float(np.clip(t, 0, 1))
    )
    back = expression(column(0), names=("z",)).map_features(
        FeatureMap(("time",), (bent,))
    )
    assert back.feature_names == ("time", "[transformed time]")
    straight = line(0, 1e9, 0.02)
    back = expression(column(0), names=("z",)).map_features(
        FeatureMap(("time",), (straight,))
    )
    assert back.feature_names == ("time",)


@given(FORMULAS)
def test_folding_keeps_the_value(formula: Any) -> None:
    folded = fold(formula)
    assert size(folded) <= max(size(formula), 3 * size(formula) // 2)
    _assert_close(
        evaluate(folded, lambda j: ROWS[:, j], 20),
        evaluate(formula, lambda j: ROWS[:, j], 20),
        1e-9,
    )


def test_numbers_of_scalers_are_folded() -> None:
    told = expression(("add", ("mul", 3.0, column(0)), 1.0), names=("z",))
    back = told.map_features(FeatureMap(("dose",), (line(0, 4.0, 2.0),)))
    assert back.to_text() == "y = 1.5*dose - 5"
    assert fold(("mul", 2, ("mul", 3, column(0)))) == ("mul", 6, column(0))
    assert fold(("add", column(0), ("add", column(1), 0))) == (
        "add",
        *map(column, (0, 1)),
    )
    assert fold(("mul", 1, column(0))) == column(0)
    assert fold(("add", 1, 2)) == 3


def test_identity_and_mixtures() -> None:
    sources = (
        FeatureSource(form="value", column=1),
        FeatureSource(form="opaque", name="pca0"),
    )
    back = expression(("add", *map(column, (0, 1))), names=("p", "q")).map_features(
        FeatureMap(("a", "b"), sources)
    )
    assert back.feature_names == ("a", "b", "pca0")
    assert back.to_text() == "y = b + pca0"
    with pytest.raises(ValueError, match="'pca0', in place 2, is missing or derived"):
        back.evaluate(np.zeros((3, 2)))


def test_what_is_no_line_stays_derived() -> None:
    sources = (
        FeatureSource(form="value", column=0, invert=lambda t: float(np.exp(t))),
        FeatureSource(form="category", column=1, categories=("red",)),
        FeatureSource(form="missing", column=0),
        FeatureSource(form="code", column=1, categories=("red", "blue")),
    )
    told = expression(("add", *map(column, range(4))), names=tuple("wxyz"))
    back = told.map_features(FeatureMap(("age", "color"), sources))
    assert back.feature_names == (
        "age",
        "color",
        "[transformed age]",
        "[color is red]",
        "[missing age]",
        "[code of color]",
    )
    assert back.used_features == (2, 3, 4, 5)


def test_unused_features_add_no_names() -> None:
    sources = (
        FeatureSource(form="value", column=0, invert=lambda t: float(np.exp(t))),
        FeatureSource(form="value", column=1),
    )
    back = expression(column(1), names=("p", "q")).map_features(
        FeatureMap(("a", "b"), sources)
    )
    assert back.feature_names == ("a", "b")
