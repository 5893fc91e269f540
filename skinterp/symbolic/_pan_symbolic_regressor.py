"""Symbolic regression on wide tables: screen the columns, then search a formula."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_random_state

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import (
    HasMethods,
    StrOptions,
    check_is_fitted,
    fit_context,
    optional_import,
    validate_data,
)
from skinterp.explanation import Expression
from skinterp.explanation._formula import MAX_DEPTH, depth
from skinterp.symbolic._engines import Found, default_engine, read_engine
from skinterp.symbolic._front import (
    Scaling,
    compute,
    differ,
    front,
    magnitude,
    relative_errors,
    simplest,
    squared_errors,
)

ROUNDING = 1e-14  # of the terms of a sum
SCALING_DEPTH = 6  # of the operations that undo the scaling


class PANSymbolicRegressor(
    ExplainableMixin, RegressorMixin, MetaEstimatorMixin, BaseEstimator
):
    """Symbolic regression that first drops the columns which do not matter.

    A selector screens the columns, by default `PANSelector`, which is made to lose
    none that matters. The rest is scaled and handed to a symbolic regressor. What
    that finds is written back in the user's columns and units: ``expression_`` is the
    formula, and ``predict`` computes it.

    Parameters
    ----------
    estimator : estimator, default=None
        The regressor that searches the formula; a clone is fitted on an array. The
        formulas of pyoperon's and gplearn's ``SymbolicRegressor``, of PySR's
        ``PySRRegressor`` and of linear models are read. Any other regressor predicts
        as well, but has no formula. None takes pyoperon's.
    selector : selector, "passthrough" or None, default=None
        A selector with ``get_support``, fitted on the training rows. "passthrough"
        keeps all columns. None takes ``PANSelector()``.
    scale : {"spread", "standard"} or None, default="spread"
        How columns and target are scaled for the search. "spread": divided by their
        standard deviation, so that a product of columns is still a product; what lies
        more than 10,000 standard deviations from zero is centered as well.
        "standard": mean 0 and standard deviation 1. None: not at all.
    choose : {"auto", "bic", "engine"}, default="auto"
        Which formula of the front predicts. "bic": that of least ``n log(error) + size
        log(n)``, with the mean squared error on the n training rows. "engine": the one
        that the regressor predicts with itself. "auto": "bic" for the default
        regressor, else "engine".
    random_state : int, RandomState instance or None, default=None
        Seed of the selector and of the regressor, where these have none of their own.

    Attributes
    ----------
    expression_ : sympy.Expr
        The formula, with the symbol ``sympy.Symbol(name)`` for each column.
    formulas_ : tuple
        All formulas on the front, as in
        `~skinterp.explanation.Expression`; empty if the regressor has none.
    errors_ : ndarray of shape (n_formulas,)
        Their mean squared errors on the training rows.
    chosen_ : int
        Position of the formula that predicts.
    support_ : ndarray of shape (n_features_in_,)
        True for the columns that the regressor got.
    selector_ : estimator
        The fitted selector; None for "passthrough".
    estimator_ : estimator
        The fitted regressor. Where its formula is known, it isn't stored with the
        model: a model read back has the formula alone.
    scaling_ : tuple of ndarray
        Center and spread of the columns that the regressor got, and of the target.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    PANSelector : The screening alone.

    Notes
    -----
    ``predict`` evaluates the formula in float64, also where the engine computes in
    float32 (pyoperon, PySR). ``fit`` checks on the training rows that both agree, and
    raises if they do not.

    The paper scales to mean 0 before the search. That turns a product of columns into
    a product of sums, which is harder to find; so the default here leaves the mean.

    The cost is that of the selector plus that of the regressor on the columns left.

    References
    ----------
    .. [1] Ye, S., Li, M. (2025). "Ab Initio Nonparametric Variable Selection for
       Scalable Symbolic Regression with Large p". ICML. arXiv:2410.13681.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest, f_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> from skinterp.datasets import make_feynman
    >>> from skinterp.symbolic import PANSymbolicRegressor
    >>> found = make_feynman("I.12.5", 200, as_frame=True, random_state=0)
    >>> model = PANSymbolicRegressor(
    ...     LinearRegression(), selector=SelectKBest(f_regression, k=2)
    ... )
    >>> model.fit(found.data, found.target).expression_  # doctest: +SKIP
    2.9*Ef + 3.1*q2 - 9.1
    """

    explains: ClassVar = {"global": ("expression",)}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "selector": [
            HasMethods(["fit", "get_support"]),
            StrOptions({"passthrough"}),
            None,
        ],
        "scale": [StrOptions({"spread", "standard"}), None],
        "choose": [StrOptions({"auto", "bic", "engine"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        selector: Any = None,
        scale: str | None = "spread",
        choose: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.selector = selector
        self.scale = scale
        self.choose = choose
        self.random_state = random_state

    # Selector and estimator check their own parameters in their fit.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Screen the columns, and search the formula on those that are left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, without missing cells.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        PANSymbolicRegressor
            The fitted estimator.

        Raises
        ------
        ImportError
            If a package is missing that the extra ``symbolic`` brings.
        """
        optional_import("sympy", extra="symbolic", who=type(self).__name__)
        # an interrupted or refused fit leaves no half of an older one behind
        for name in ("formulas_", "estimator_"):
            self.__dict__.pop(name, None)
        rows, target = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        random = check_random_state(self.random_state)
        self.support_ = self._screen(rows, target, random)
        scaling = Scaling.of(rows, target, np.flatnonzero(self.support_), self.scale)
        engine = default_engine() if self.estimator is None else clone(self.estimator)
        _seed(engine, random)
        with _same_global_generator():
            engine.fit(scaling.transform(rows), scaling.transform_target(target))
        formulas, errors, chosen = self._read(engine, scaling, rows, target)
        self.errors_, self.chosen_ = errors, chosen
        self.scaling_ = (
            scaling.center,
            scaling.spread,
            np.array([scaling.target_center, scaling.target_spread]),
        )
        self.estimator_ = engine
        self.formulas_ = formulas
        return self

    def _screen(
        self, X: NDArray, y: NDArray, random: np.random.RandomState
    ) -> NDArray[np.bool_]:
        """Columns that the selector keeps; all of them where it keeps none."""
        everything = np.ones(X.shape[1], dtype=bool)
        if isinstance(self.selector, str):
            self.selector_ = None
            return everything
        selector = (
            _default_selector() if self.selector is None else clone(self.selector)
        )
        _seed(selector, random)
        self.selector_ = selector.fit(X, y)
        support = np.asarray(self.selector_.get_support(), dtype=bool)
        if support.any():
            return support
        warnings.warn(
            "selector keeps no column, so the search is made on all "
            f"{X.shape[1]} columns.",
            UserWarning,
            stacklevel=3,
        )
        return everything

    def _read(
        self, engine: Any, scaling: Scaling, X: NDArray, y: NDArray
    ) -> tuple[tuple, NDArray[np.float64], int]:
        """Front of an engine, in the user's columns; empty where it has no formula."""
        found = _read_shallow(engine)
        if found is None:
            return (), np.zeros(0), -1
        raw = scaling.restore(found.formulas[found.chosen])
        predicted = _engine_predict(engine, scaling, X)
        if not np.isfinite(predicted).any():
            msg = (
                f"{type(engine).__name__} predicts no finite number on the training "
                "rows. Are the columns or the target too large or too small for it?"
            )
            raise ValueError(msg)
        gap = differ(compute(raw, X), predicted)
        rounding = ROUNDING * magnitude(raw, X)
        largest = np.abs(predicted[np.isfinite(predicted)]).max() or 1.0
        if gap > found.tolerance + rounding / largest:
            if hasattr(engine, "coef_"):  # a link function of its own
                return (), np.zeros(0), -1
            msg = (
                f"the formula read from {type(engine).__name__} differs from its "
                f"predictions by {gap:.2g} of their size; please report this"
            )
            raise ValueError(msg)
        formulas = [scaling.restore_tidy(f, X, found.dust) for f in found.formulas]
        errors, chosen = relative_errors(formulas, X, y), found.chosen
        if self.choose == "bic" or (self.choose == "auto" and self.estimator is None):
            chosen = simplest(formulas, errors, len(y), found.dust)
        kept, errors, chosen = front(formulas, errors, chosen)
        return kept, squared_errors(errors, y), chosen

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Compute the formula for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all columns that ``fit`` saw.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        rows = self._validate_X(X)
        if self.formulas_:
            return compute(self.formulas_[self.chosen_], rows)
        return _engine_predict(self.estimator_, self._scaling(), rows)

    @property
    def expression_(self) -> Any:
        """The formula as a sympy expression in the user's columns."""
        check_is_fitted(self)
        if not self.formulas_:
            raise AttributeError(self._no_formula())
        return self._explain(None, kind="expression").to_sympy()

    def _explain(self, X: None, *, kind: str) -> Expression:
        if not self.formulas_:
            raise ValueError(self._no_formula())
        return Expression(
            scope="global",
            feature_names=feature_names_of(self),
            target_names=np.array(["y"]),
            formulas=self.formulas_,
            errors=self.errors_,
            chosen=self.chosen_,
        )

    def _no_formula(self) -> str:
        return (
            f"estimator={self.estimator!r} has no formula that can be read. "
            "Allowed are SymbolicRegressor of pyoperon or gplearn, PySRRegressor, and "
            "linear models."
        )

    def _scaling(self) -> Scaling:
        center, spread, target = self.scaling_
        columns = np.flatnonzero(self.support_)
        return Scaling(columns, center, spread, float(target[0]), float(target[1]))

    def _validate_X(self, X: ArrayLike) -> NDArray[np.float64]:
        return validate_data(self, X, reset=False, dtype=np.float64)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        from sklearn.feature_selection import SelectFromModel
        from sklearn.linear_model import LinearRegression

        linear = LinearRegression()
        screen = SelectFromModel(linear, threshold="0.5*mean")
        return [
            {"estimator": linear, "selector": screen},
            {"estimator": linear, "selector": "passthrough", "scale": "standard"},
        ]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if state.get("formulas_"):
            # engines hold what does not pickle, and predict needs the formula alone
            state = {k: v for k, v in state.items() if k != "estimator_"}
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "formulas_")  # what fit sets last

    def __skinterp_tags__(self) -> SkinterpTags:
        engine = () if self.estimator is not None else ("pyoperon>=0.6",)
        drawn = any(
            part is None or None in _seeds_of(part).values()
            for part in (self.estimator, self.selector)
            if not isinstance(part, str)
        )
        return SkinterpTags(stochastic=drawn, requires=("sympy>=1.12", *engine))


def _read_shallow(engine: Any) -> Found | None:
    """Formulas of an engine; None where it has none, or one that nobody can read."""
    try:
        found = read_engine(engine)
        deepest = max(map(depth, found.formulas)) if found is not None else 0
    except RecursionError:
        deepest = MAX_DEPTH
    if deepest + SCALING_DEPTH <= MAX_DEPTH:
        return found
    warnings.warn(
        f"{type(engine).__name__} found a formula of more than "
        f"{MAX_DEPTH - SCALING_DEPTH} operations in one another: it predicts, but has "
        "no expression. Ask it for shorter formulas.",
        UserWarning,
        stacklevel=4,
    )
    return None


def _default_selector() -> Any:
    from skinterp.symbolic._pan_selector import PANSelector

    return PANSelector()


def _seed(estimator: Any, random: np.random.RandomState) -> None:
    """Give a seed to an estimator, and to those inside, where they have none."""
    most = np.iinfo(np.int32).max
    unset = [name for name, value in _seeds_of(estimator).items() if value is None]
    if unset:
        seeds = {name: int(random.randint(most)) for name in sorted(unset)}
        estimator.set_params(**seeds)


def _seeds_of(estimator: Any) -> dict[str, Any]:
    """Parameters ``random_state`` of an estimator and of those inside."""
    if not hasattr(estimator, "get_params"):
        return {}
    parameters = estimator.get_params(deep=True).items()
    return {n: v for n, v in parameters if n.rpartition("__")[2] == "random_state"}


@contextmanager
def _same_global_generator() -> Iterator[None]:
    """Leave numpy's global generator as it was: gplearn draws from it."""
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _engine_predict(engine: Any, scaling: Scaling, X: NDArray) -> NDArray[np.float64]:
    scaled = np.asarray(engine.predict(scaling.transform(X)), dtype=np.float64)
    return scaling.restore_target(scaled.reshape(len(X)))
