"""Models that choose their training rows by what the rows are worth."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import HasMethods, check_is_fitted, fit_context
from skinterp.explanation import DataValues
from skinterp.valuation._tables import read_table, read_target
from skinterp.valuation._task import MIN_ROWS
from skinterp.valuation._top_data_values import TopDataValues
from skinterp.valuation._utility import default_estimator, fit_model


def _inner_has(name: str) -> Any:
    """Whether the model inside, fitted or to be fitted, has a method."""

    def check(self: _SelectedData) -> bool:
        return hasattr(getattr(self, "estimator_", self._model()), name)

    return check


class _SelectedData(ExplainableMixin, MetaEstimatorMixin, BaseEstimator):
    """What classifier and regressor share: select, then fit on what is kept."""

    explains: ClassVar = {"global": ("data-values",)}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "selector": [HasMethods(["fit_resample"]), None],
        "random_state": ["random_state"],
    }
    _classification: ClassVar[bool]

    def __init__(
        self, estimator: Any = None, selector: Any = None, *, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.selector = selector
        self.random_state = random_state

    def _model(self, table: Any = None) -> Any:
        if self.estimator is None:
            return default_estimator(self._classification, table)
        return self.estimator

    # Selector and estimator check their own parameters in their fit.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Select rows, and fit the estimator on them.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows. A frame is handed to the estimator as it is, and may then
            hold texts and missing cells; an array may not.
        y : array-like of shape (n_samples,)
            Labels, or numbers for a regressor.

        Returns
        -------
        object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the selector keeps no row of a class, or refuses the rows.
        """
        # an interrupted or refused fit leaves no half of an older one behind
        for name in ("estimator_", "selector_"):
            self.__dict__.pop(name, None)
        rows = read_table(self, X, reset=True)
        target = read_target(rows, y, numeric=not self._classification)
        if self._classification:
            check_classification_targets(target)
            self.classes_ = np.unique(target)
            if len(self.classes_) < 2:
                msg = f"y has only one class, {self.classes_.tolist()}: 2 are needed."
                raise ValueError(msg)
        else:
            target = target.astype(np.float64)
        random = check_random_state(self.random_state)
        selector = self._new_selector(random, rows)
        kept_X, kept_y = selector.fit_resample(rows, target)
        if self._classification:
            lost = np.setdiff1d(self.classes_, kept_y)
            if len(lost):
                msg = (
                    f"selector={selector!r} keeps no row of class {lost[0]!r}: it must "
                    "keep some of each."
                )
                raise ValueError(msg)
        model = clone(self._model(rows))
        _seed(model, random)
        self.n_kept_ = len(kept_y)
        self.selector_ = selector
        self.estimator_ = fit_model(model, kept_X, kept_y)
        return self

    def _new_selector(self, random: np.random.RandomState, table: Any) -> Any:
        """Selector that values rows for this very estimator, if it names no other."""
        if self.selector is None:
            selector: Any = TopDataValues(lowest=True)
        else:
            selector = clone(self.selector)
        parameters = selector.get_params(deep=False)
        if "estimator" in parameters and parameters["estimator"] is None:
            selector.set_params(estimator=clone(self._model(table)))
        _seed(selector, random)
        return selector

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict by the estimator that was fitted on the rows kept.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels or numbers.
        """
        check_is_fitted(self)
        predicted = np.asarray(self.estimator_.predict(self._validate_X(X)))
        # some models give labels back in another dtype
        return predicted.astype(self.classes_.dtype if self._classification else float)

    def _validate_X(self, X: Any) -> Any:
        return read_table(self, X, reset=False)

    def _explain(
        self,
        X: None,
        *,
        kind: str,
        row: int | None = None,
        marked: ArrayLike | None = None,
        level: float = 0.95,
    ) -> DataValues:
        if not isinstance(self.selector_, TopDataValues):
            msg = (
                f"selector={self.selector!r} gives no data values: allowed is "
                "TopDataValues."
            )
            raise ValueError(msg)
        values = self.selector_._explain(
            None, kind=kind, row=row, marked=marked, level=level
        )
        return values._with(feature_names=feature_names_of(self))

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        from sklearn.linear_model import Ridge
        from sklearn.naive_bayes import GaussianNB

        if cls._classification:
            quick = TopDataValues(m=6, lowest=True, utility="knn", random_state=0)
            return [{"estimator": GaussianNB(), "selector": quick}]
        few = TopDataValues(m=0.8, max_evaluations=16, random_state=0)
        return [{"estimator": Ridge(random_state=0), "selector": few}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")  # what fit sets last

    def __skinterp_tags__(self) -> SkinterpTags:
        few = f"fits fewer than the {MIN_ROWS} rows that values need"
        drawn = self.selector is None or None in _seeds_of(self.selector).values()
        model = self.estimator
        drawn = drawn or (model is not None and None in _seeds_of(model).values())
        of_kind = (
            "check_classifier_data_not_an_array"
            if self._classification
            else "check_regressors_no_decision_function"
        )
        small = of_kind, "check_n_features_in_after_fitting", "check_estimators_nan_inf"
        return SkinterpTags(
            stochastic=drawn, expected_failures=dict.fromkeys(small, few)
        )


class SelectedDataClassifier(ClassifierMixin, _SelectedData):
    """Classifier trained on the rows that are worth it.

    Values the training rows for the classifier inside, keeps those that are worth
    keeping, and fits it on these: by default on all but the tenth of lowest value,
    which is where wrong labels gather. It is a scikit-learn classifier, so that a
    search over ``selector__m`` finds out how many rows to keep.

    Parameters
    ----------
    estimator : classifier, default=None
        Model to train. None takes logistic regression on scaled columns.
    selector : TopDataValues or None, default=None
        Finds the rows; anything with ``fit_resample`` will do. With ``lowest`` the
        rows found are dropped, else they alone are kept. If it names no estimator, it
        values rows for the one above. None takes ``TopDataValues(lowest=True)``.
    random_state : int, RandomState instance or None, default=None
        Seed of selector and estimator, where these have none of their own.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model.
    selector_ : estimator
        The fitted selector.
    n_kept_ : int
        Number of rows that the model was fitted on.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    TopDataValues : The search for the rows.
    SelectedDataRegressor : The same for a number.

    Notes
    -----
    The selector sets a share of the training rows aside to score on. These rows are
    no candidates: they are kept where the lowest are dropped, and left out where only
    the top rows are kept. Costs the trainings of the selector, and one more.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skinterp.valuation import SelectedDataClassifier, TopDataValues
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.where(X[:, 0] > 0, "high", "low")
    >>> selector = TopDataValues(m=8, lowest=True, max_evaluations=60)
    >>> model = SelectedDataClassifier(GaussianNB(), selector, random_state=0)
    >>> model.fit(X, y).n_kept_
    72
    >>> model.predict([[1.0, 0.0]])
    array(['high'], dtype='<U4')
    """

    _classification: ClassVar[bool] = True

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the probabilities of the classes, where the estimator has them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(self._validate_X(X)))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of the classes, where the estimator has them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            As of the estimator.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._validate_X(X)))


class SelectedDataRegressor(RegressorMixin, _SelectedData):
    """Regressor trained on the rows that are worth it.

    Values the training rows for the regressor inside, keeps those that are worth
    keeping, and fits it on these: by default on all but the tenth of lowest value.

    Parameters
    ----------
    estimator : regressor, default=None
        Model to train. None takes ridge regression on scaled columns.
    selector : TopDataValues or None, default=None
        Finds the rows; anything with ``fit_resample`` will do. With ``lowest`` the
        rows found are dropped, else they alone are kept. If it names no estimator, it
        values rows for the one above. None takes ``TopDataValues(lowest=True)``.
    random_state : int, RandomState instance or None, default=None
        Seed of selector and estimator, where these have none of their own.

    Attributes
    ----------
    estimator_ : regressor
        The fitted model.
    selector_ : estimator
        The fitted selector.
    n_kept_ : int
        Number of rows that the model was fitted on.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    TopDataValues : The search for the rows.
    SelectedDataClassifier : The same for labels.

    Notes
    -----
    As of `SelectedDataClassifier`. Rows are valued by R2 on the rows set aside, at
    least -1.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.valuation import SelectedDataRegressor, TopDataValues
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> y = 2 * X[:, 0]
    >>> y[:4] += 20  # wrong targets
    >>> selector = TopDataValues(m=4, lowest=True, beta=1.0, max_evaluations=200)
    >>> model = SelectedDataRegressor(selector=selector, random_state=0).fit(X, y)
    >>> model.n_kept_
    56
    """

    _classification: ClassVar[bool] = False


def _seeds_of(estimator: Any) -> dict[str, Any]:
    """Parameters ``random_state`` of an estimator and of those inside."""
    parameters = estimator.get_params(deep=True).items()
    return {n: v for n, v in parameters if n.rpartition("__")[2] == "random_state"}


def _seed(estimator: Any, random: np.random.RandomState) -> None:
    """Give a seed to an estimator, and to those inside, where they have none."""
    most = np.iinfo(np.int32).max
    unset = sorted(n for n, value in _seeds_of(estimator).items() if value is None)
    estimator.set_params(**{name: int(random.randint(most)) for name in unset})
