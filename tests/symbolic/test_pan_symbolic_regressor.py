from __future__ import annotations

import builtins
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import skinterp
from skinterp.datasets import make_feynman
from skinterp.symbolic import PANSelector, PANSymbolicRegressor

sympy = pytest.importorskip("sympy")

ODD = ("N", "pi", "my col", "a+b", "S", "E")
CHEAP = {"n_chains": 3, "n_burn": 150, "n_draws": 100}


def odd_table(n: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    """Columns whose names mean something else to a parser."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1.0, 5.0, (n, len(ODD))), columns=list(ODD))
    return X, X["N"] * X["a+b"] - 2.0 * X["my col"] + 7.0


def operon(**params: Any) -> Any:
    module = pytest.importorskip("pyoperon.sklearn")
    given = {
        "allowed_symbols": "add,sub,mul,div,constant,variable",
        "objectives": ["r2", "length"],
        "model_selection_criterion": "bayesian_information_criterion",
        "optimizer_iterations": 5,
        "population_size": 200,
        "max_evaluations": 20_000,
        "n_threads": 1,
    }
    return module.SymbolicRegressor(**(given | params))


def gplearn(**params: Any) -> Any:
    module = pytest.importorskip("gplearn.genetic")
    names = [
        "add",
        "sub",
        "mul",
        "div",
        "sqrt",
        "log",
        "inv",
        "neg",
        "abs",
        "max",
        "min",
        "sin",
        "cos",
        "tan",
    ]
    given = {"population_size": 150, "generations": 4, "function_set": names}
    return module.SymbolicRegressor(**(given | params))


def by_hand(model: PANSymbolicRegressor, X: pd.DataFrame) -> np.ndarray:
    """Value of ``expression_`` as a user gets it of sympy."""
    symbols = [sympy.Symbol(name) for name in X.columns]
    places = [sympy.Dummy() for _ in symbols]
    formula = model.expression_.xreplace(dict(zip(symbols, places, strict=True)))
    with np.errstate(all="ignore"):
        value = sympy.lambdify(places, formula, "numpy")(*X.to_numpy().T)
    return np.broadcast_to(value, len(X))


# -- the formula is the prediction -----------------------------------------------------


@pytest.mark.parametrize("scale", ["spread", "standard", None])
@pytest.mark.parametrize("engine", [operon, gplearn, LinearRegression])
def test_the_expression_evaluates_to_the_prediction(engine: Any, scale: Any) -> None:
    X, y = odd_table()
    model = PANSymbolicRegressor(
        engine(), selector="passthrough", scale=scale, random_state=0
    ).fit(X, y)
    new, _ = odd_table(50)
    np.testing.assert_allclose(by_hand(model, new), model.predict(new), rtol=1e-9)
    inner = model.estimator_.predict(scaled(model, new))
    center, spread = model.scaling_[2]
    # pyoperon computes in float32
    tolerance = 1e-3 if engine is operon else 1e-9
    np.testing.assert_allclose(
        model.predict(new), inner * spread + center, rtol=tolerance, atol=1e-4
    )
    explained = model.explain()
    explained.check_faithful(model, new)
    assert explained.feature_names == ODD
    assert {s.name for s in model.expression_.free_symbols} <= set(ODD)


def scaled(model: PANSymbolicRegressor, X: pd.DataFrame) -> np.ndarray:
    center, spread, _ = model.scaling_
    return (X.to_numpy()[:, model.support_] - center) / spread


def test_a_formula_with_odd_names_is_found() -> None:
    X, y = odd_table(300)
    model = PANSymbolicRegressor(
        operon(max_evaluations=60_000), selector="passthrough", random_state=1
    )
    model.fit(X, y)
    n, ab, col = (sympy.Symbol(name) for name in ("N", "a+b", "my col"))
    gap = sympy.expand(model.expression_ - (n * ab - 2 * col + 7))
    assert all(abs(float(c)) < 1e-3 for c in gap.as_coefficients_dict().values())
    text = model.explain().to_text()
    assert "`a+b`" in text.splitlines()[0]
    assert len(model.explain()) > 1
    assert (np.diff(model.explain().complexities) >= 0).all()


def test_screened_columns_are_named() -> None:
    found = make_feynman("I.12.5", 200, as_frame=True, random_state=0)
    model = PANSymbolicRegressor(
        operon(), selector=PANSelector(**CHEAP), random_state=0
    )
    model.fit(found.data, found.target)
    assert model.support_[found.true_columns].all()
    assert model.support_.sum() < 20
    names = {s.name for s in model.expression_.free_symbols}
    assert names == {"q2", "Ef"}
    assert model.score(found.data, found.target) > 0.999


def test_the_default_is_pan_and_pyoperon() -> None:
    pytest.importorskip("pyoperon")
    found = make_feynman("I.12.1", 120, irrelevant_per_variable=5, random_state=0)
    model = PANSymbolicRegressor(random_state=0)
    requires = model.__skinterp_tags__().requires
    assert any(text.startswith("pyoperon") for text in requires)
    model.fit(found.data, found.target)
    assert isinstance(model.selector_, PANSelector)
    assert type(model.estimator_).__module__ == "pyoperon.sklearn"
    x, z = (sympy.Symbol(f"x{j}") for j in found.true_columns)
    assert float(abs((model.expression_ / (x * z)).subs({x: 2.5, z: 3.5}) - 1)) < 1e-4


# -- engines without a formula ---------------------------------------------------------


@pytest.mark.parametrize("engine", [KNeighborsRegressor(), PoissonRegressor()])
def test_others_predict_but_have_no_formula(engine: Any) -> None:
    """A Poisson model has coefficients, but its prediction is no line."""
    X, y = odd_table()
    y = y - y.min() + 1
    model = PANSymbolicRegressor(engine, selector="passthrough", scale=None).fit(X, y)
    np.testing.assert_allclose(
        model.predict(X), clone(engine).fit(X.to_numpy(), y).predict(X.to_numpy())
    )
    assert not hasattr(model, "expression_")
    with pytest.raises(ValueError, match="has no formula that can be read"):
        model.explain()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


class Liar(RegressorMixin, BaseEstimator):
    """Says that it is PySR, with a formula that is not what it predicts."""

    def fit(self, X: Any, y: Any) -> Liar:
        self.equations_ = pd.DataFrame({"loss": [1.0]})
        return self

    def sympy(self, index: int | None = None) -> Any:
        return sympy.Symbol("x0")

    def get_best(self) -> Any:
        return self.equations_.loc[0]

    def predict(self, X: Any) -> np.ndarray:
        return X[:, 1]


def test_a_formula_that_is_not_the_prediction_is_refused() -> None:
    with pytest.raises(ValueError, match="the formula read from Liar differs"):
        PANSymbolicRegressor(Liar(), selector="passthrough").fit(*odd_table())


class Honest(Liar):
    def predict(self, X: Any) -> np.ndarray:
        return X[:, 0].astype(np.float32)


def test_pysr_by_its_documented_interface() -> None:
    X, y = odd_table()
    model = PANSymbolicRegressor(Honest(), selector="passthrough").fit(X, y)
    ratio = y.std() / X["N"].std(ddof=0)
    np.testing.assert_allclose(model.predict(X), X["N"] * ratio, rtol=2e-2)
    assert model.expression_.free_symbols == {sympy.Symbol("N")}


# -- selectors -------------------------------------------------------------------------


def test_a_selector_that_keeps_nothing_is_passed_over() -> None:
    X, y = odd_table()
    empty = SelectKBest(f_regression, k=0)
    with pytest.warns(UserWarning, match="selector keeps no column"):
        model = PANSymbolicRegressor(LinearRegression(), selector=empty).fit(X, y)
    assert model.support_.all()


def test_a_frozen_selector_stays() -> None:
    X, y = odd_table()
    frozen = FrozenEstimator(SelectKBest(f_regression, k=2).fit(X.to_numpy(), -y))
    model = PANSymbolicRegressor(LinearRegression(), selector=frozen).fit(X, y)
    np.testing.assert_array_equal(model.support_, frozen.get_support())


def test_constant_columns_and_targets() -> None:
    X, y = odd_table()
    X["S"] = 3.0
    model = PANSymbolicRegressor(
        LinearRegression(), selector="passthrough", scale="standard"
    )
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    flat = model.fit(X, np.full(len(X), 5.0))
    np.testing.assert_allclose(flat.predict(X), 5.0)


@pytest.mark.parametrize("scale", ["spread", "standard"])
@pytest.mark.parametrize("of_target", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("of_columns", [1e-300, 1.0, 1e300])
def test_units_do_not_matter(of_columns: float, of_target: float, scale: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(1.0, 5.0, (80, 4))
    y = 3.0 * X[:, 1] + X[:, 3] - 2.0
    model = PANSymbolicRegressor(
        LinearRegression(), selector="passthrough", scale=scale
    ).fit(X * of_columns, y * of_target)
    predicted = model.predict(X * of_columns)
    np.testing.assert_allclose(predicted / of_target, y, rtol=1e-9)
    told = model.explain().evaluate(X * of_columns)
    np.testing.assert_array_equal(told, predicted)


def test_columns_below_normal_numbers_can_be_used() -> None:
    X = np.random.default_rng(0).uniform(1.0, 5.0, (80, 3)) * 1e-320
    y = X[:, 0] * 1e300
    model = PANSymbolicRegressor(LinearRegression(), selector="passthrough")
    assert np.isfinite(model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("scale", ["spread", "standard", None])
def test_far_from_zero_a_linear_model_has_its_formula(scale: str | None) -> None:
    """Terms are huge there, so that the sum carries more rounding."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (80, 4)) + np.array([0.0, 1e9, 0.0, 1e10])
    y = 3.0 * X[:, 0] - 2.0 * (X[:, 1] - 1e9)
    model = PANSymbolicRegressor(
        LinearRegression(), selector="passthrough", scale=scale
    ).fit(X, y)
    np.testing.assert_allclose(model.explain().evaluate(X), y, atol=1e-4)


@pytest.mark.parametrize("far", ["column", "target", "both"])
def test_the_search_works_far_from_zero(far: str) -> None:
    """float32 cannot tell a time stamp from the next one."""
    X = np.random.default_rng(0).uniform(1.0, 5.0, (200, 3))
    y = X[:, 0] * X[:, 1]
    if far != "column":
        y = y + 1e9
    if far != "target":
        X[:, 0] += 1e9
    model = PANSymbolicRegressor(
        operon(), selector="passthrough", choose="bic", random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("unit", [1e-200, 1e-80, 1e200])
def test_the_formula_is_chosen_alike_in_any_unit(unit: float) -> None:
    """Squares of errors vanish or overflow in some units."""
    X = np.random.default_rng(0).uniform(1.0, 5.0, (100, 3))
    y = X[:, 0] * X[:, 1]
    given = {"selector": "passthrough", "choose": "bic", "random_state": 0}
    model = PANSymbolicRegressor(operon(), **given).fit(X, y)
    other = PANSymbolicRegressor(operon(), **given).fit(X, y * unit)
    assert other.explain().used_features == model.explain().used_features == (0, 1)
    np.testing.assert_allclose(other.predict(X) / unit, model.predict(X), rtol=1e-3)


@pytest.mark.parametrize("depth", [190, 198, 3000])
def test_a_formula_too_deep_to_read_still_predicts(depth: int) -> None:
    pytest.importorskip("gplearn")
    from gplearn.functions import _function_map

    class Bloated(BaseEstimator, RegressorMixin):
        def fit(self, X: Any, y: Any) -> Any:
            self._program = SimpleNamespace(
                program=[_function_map["neg"]] * depth + [0]
            )
            return self

        def predict(self, X: Any) -> Any:
            return X[:, 0] * (-1) ** depth

    X, y = odd_table()
    model = PANSymbolicRegressor(Bloated(), selector="passthrough", scale="standard")
    if depth == 190:
        model.fit(X, y).explain().to_text()
        return
    with pytest.warns(UserWarning, match="more than 194 operations in one another"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="has no formula that can be read"):
        model.explain()


def test_an_engine_that_predicts_no_number_is_refused() -> None:
    class Lost(LinearRegression):
        def predict(self, X: Any) -> Any:
            return np.full(len(X), np.nan)

    X, y = odd_table()
    model = PANSymbolicRegressor(Lost(), selector="passthrough")
    with pytest.raises(ValueError, match="Lost predicts no finite number"):
        model.fit(X, y)


def test_seeds_are_handed_on_where_there_are_none() -> None:
    X, y = odd_table()
    first, again, other = (
        PANSymbolicRegressor(gplearn(), selector="passthrough", random_state=seed)
        .fit(X, y)
        .predict(X)
        for seed in (0, 0, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    fixed = [
        PANSymbolicRegressor(
            gplearn(random_state=3), selector="passthrough", random_state=seed
        )
        .fit(X, y)
        .predict(X)
        for seed in (0, 1)
    ]
    np.testing.assert_array_equal(*fixed)


def test_numpys_global_generator_stays_as_it_was() -> None:
    """With gplearn's search, which draws from it, and the result is the same."""
    X, y = odd_table()
    model = PANSymbolicRegressor(gplearn(), selector="passthrough", random_state=0)
    found = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        found.append(model.fit(X, y).formulas_)
        after = np.random.get_state()[1]  # noqa: NPY002
        np.testing.assert_array_equal(after, before)
    assert found[0] == found[1]


def test_pyoperon_gives_the_same_again() -> None:
    X, y = odd_table()
    model = PANSymbolicRegressor(operon(), selector="passthrough", random_state=0)
    first = model.fit(X, y).formulas_
    assert clone(model).fit(X, y).formulas_ == first


# -- storing ---------------------------------------------------------------------------


def test_a_stored_model_has_the_formula_alone() -> None:
    """A fitted pyoperon cannot be pickled; what predict needs can."""
    X, y = odd_table()
    model = PANSymbolicRegressor(operon(), selector="passthrough", random_state=0)
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.expression_ == model.expression_
    assert again.explain() == model.explain()
    assert hasattr(model, "estimator_")
    assert not hasattr(again, "estimator_")


def test_without_sympy_fit_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import_module = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "sympy":
            raise ImportError(name)
        return import_module(name, *args, **kwargs)

    monkeypatch.setattr("importlib.import_module", lambda name: refuse(name))
    with pytest.raises(ImportError, match=r"pip install 'skinterp\[symbolic\]'"):
        PANSymbolicRegressor(LinearRegression()).fit(*odd_table())


# -- in pipelines ----------------------------------------------------------------------


def test_scalers_in_front_are_undone() -> None:
    X, y = odd_table()
    model = PANSymbolicRegressor(LinearRegression(), selector="passthrough")
    pipeline = make_pipeline(StandardScaler(), VarianceThreshold(), model).fit(X, y)
    told = skinterp.explain(pipeline)
    assert told.feature_names == ODD
    np.testing.assert_allclose(told.evaluate(X), pipeline.predict(X), rtol=1e-9)


def test_what_is_no_line_in_front_stays_derived() -> None:
    X, y = odd_table()
    ranks = QuantileTransformer(n_quantiles=20)
    model = PANSymbolicRegressor(LinearRegression(), selector="passthrough")
    told = skinterp.explain(make_pipeline(ranks, model).fit(X, y))
    assert told.feature_names[len(ODD) :] == tuple(f"[transformed {n}]" for n in ODD)
    with pytest.raises(ValueError, match=r"\[transformed N\]"):
        told.evaluate(X)


# -- no leak ---------------------------------------------------------------------------

LEAKY = np.random.default_rng(1)
NOISE_X, NOISE_Y = LEAKY.normal(size=(100, 1000)), LEAKY.normal(size=100)


class Spy(SelectKBest):
    """Notes the rows of each fit."""

    seen: list[np.ndarray] = []

    def fit(self, X: Any, y: Any = None) -> Spy:
        Spy.seen.append(np.asarray(y).copy())
        return super().fit(X, y)


@pytest.mark.parametrize("inside", [True, False], ids=["regressor", "pipeline"])
def test_each_fold_is_screened_on_its_own_rows(inside: bool) -> None:
    """In a search, no screening sees a row that it is scored on."""
    Spy.seen = []
    spy = Spy(f_regression, k=10)
    model: Any = PANSymbolicRegressor(LinearRegression(), selector=spy)
    grid: dict[str, list] = {"scale": ["spread", "standard"]}
    if not inside:
        model, grid = make_pipeline(spy, LinearRegression()), {"spy__k": [5, 10]}
    folds = KFold(4)
    GridSearchCV(model, grid, cv=folds).fit(NOISE_X, NOISE_Y)
    trained = [NOISE_Y[rows] for rows, _ in folds.split(NOISE_X)]
    expected = trained * 2 + [NOISE_Y]
    assert len(Spy.seen) == len(expected)
    for seen, rows in zip(Spy.seen, expected, strict=True):
        np.testing.assert_array_equal(seen, rows)


def test_screening_in_the_folds_finds_nothing_in_noise() -> None:
    """On all rows the best of 1000 columns of noise would seem to predict."""
    screen = SelectKBest(f_regression, k=10)
    honest = make_pipeline(screen, LinearRegression())
    leaky = screen.fit_transform(NOISE_X, NOISE_Y)
    assert cross_val_score(LinearRegression(), leaky, NOISE_Y).mean() > 0.2
    assert cross_val_score(honest, NOISE_X, NOISE_Y).mean() < 0
    model = PANSymbolicRegressor(LinearRegression(), selector=screen)
    assert cross_val_score(model, NOISE_X, NOISE_Y).mean() < 0


def test_pan_is_screened_anew_in_each_fold() -> None:
    found = make_feynman("I.12.5", 90, irrelevant_per_variable=5, random_state=0)
    X, y = found.data, found.target
    pipeline = make_pipeline(PANSelector(**CHEAP, random_state=0), LinearRegression())
    folds = KFold(3)
    search = GridSearchCV(pipeline, {"panselector__n_trees": [10, 20]}, cv=folds)
    search.fit(X, y)
    for i, (train, test) in enumerate(folds.split(X)):
        for k, n_trees in enumerate((10, 20)):
            alone = clone(pipeline).set_params(panselector__n_trees=n_trees)
            score = alone.fit(X[train], y[train]).score(X[test], y[test])
            assert search.cv_results_[f"split{i}_test_score"][k] == score
