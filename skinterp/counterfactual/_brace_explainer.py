"""BRACE: counterfactuals that are near in the columns and in their causes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import (
    HasMethods,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_is_fitted,
    check_parameter,
    fit_context,
    get_tags,
    validate_data,
)
from skinterp.counterfactual import _fitting as fitting
from skinterp.counterfactual._answers import search_all, wanted_classes, weights_of
from skinterp.counterfactual._causal_model import (
    fit_causal_model,
    noise_correlation,
    read_graph,
)
from skinterp.counterfactual._table import Floats, Table, has_texts
from skinterp.counterfactual._weights import fit_weighted

if TYPE_CHECKING:
    from skinterp.explanation import Counterfactuals


def _default() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def _inner_has(name: str) -> Any:
    def check(self: BraceExplainer) -> bool:
        inner = getattr(self, "estimator_", self.estimator)
        inner = _default() if inner is None else inner
        return hasattr(inner, name)

    return check


class BraceExplainer(
    ExplainableMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    r"""Nearest rows of another class, where causes carry their effects along.

    For a row that a classifier rejects, the explainer finds the nearest one that it
    accepts. Near means two things at once: near in the columns, and near in the noise
    of a causal model of them. If age drives the amount, a change of age brings its
    change of the amount for free, and a change of the amount alone has to be paid for.
    ``lam`` goes from one meaning (0: Wachter's counterfactuals) to the other (infinity:
    backtracking counterfactuals).

    Parameters
    ----------
    estimator : classifier, default=None
        The model; a clone is fitted. A ``Pipeline`` may do the scaling and encoding,
        so that columns and graph are those of the user's own table. A fitted model
        inside a ``sklearn.frozen.FrozenEstimator`` is kept as it is. None means
        ``LogisticRegression(max_iter=1000)``.
    graph : mapping or array-like of shape (n_features, n_features), default=None
        Causes of each column, by name or position, as ``{"amount": ["age"]}``; or a
        matrix with a 1 at [j, i] where j causes i. None draws no arrow.
    lam : float, default=1.0
        Weight of the distance of the noise, at least 0; may be infinite.
    mechanisms : "linear", regressor or mapping, default="linear"
        How a column follows from its causes: least squares, a regressor to clone, or
        one of the two by column.
    immutable : sequence of str or int, default=()
        Columns that must not change.
    bounds : mapping or "observed", default=None
        Lowest and highest value by column, None for no bound. "observed" keeps every
        column within its training rows. A column whose bounds are equal is held.
    noise_quantiles : pair of float, default=None
        Shares such as ``(0.01, 0.99)``: the noise of a column must stay between these
        quantiles of its training rows, or where it is. None leaves it free.
    categories : mapping or sequence of str or int, default=()
        Columns that take listed values only, and these values, as
        ``{"housing": ["own", "rent"]}``; a sequence of columns allows all values seen.
        Columns of texts and of two values that are not named here are held. All
        others move continuously, whole numbers too.
    distance : {"l1", "l2"}, default="l1"
        Norm of the change of the columns; that of the noise has the l2 norm.
    scale : "std" or array-like of shape (n_features,), default="std"
        Unit of each column and of its noise. "std" is the deviation of the column.
    solver : {"auto", "exact", "gradient", "black-box"}, default="auto"
        "exact" is for scores and mechanisms that are linear, "gradient" for smooth
        scores, "black-box" for any model. "auto" takes the first that applies.
    margin : float, default=1e-6
        How far inside of its class a counterfactual must lie, in units of the score.
    n_starts : int, default=3
        Starting points per row of the solvers other than "exact".
    tol : float, default=1e-8
        Relative gap up to which an answer counts as certified.
    n_jobs : int, default=None
        Number of joblib's jobs for many rows. The answers do not depend on it.
    verbose : bool, default=False
        Whether to show a bar with the time left.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.
    parents_ : tuple of tuple of int
        Causes of each column.
    mechanisms_ : tuple
        Fitted mechanism of each column, None where it has no causes.
    scale_ : ndarray of shape (n_features_in_,)
        Unit of each column; 0 for a constant one, which is held.
    held_ : ndarray of shape (n_features_in_,), bool
        Columns that do not change.
    noise_ : ndarray of shape (n_samples, n_features_in_)
        Noise of the training rows, of those that have a weight.
    noise_corr_ : ndarray of shape (n_features_in_, n_features_in_)
        Correlation of the noise, which is small where the graph is right.
    solver_ : str
        The solver in use.
    score_coef_ : ndarray of shape (n_classes, n_free)
        Coefficients of linear scores in the columns that move; empty for others.

    See Also
    --------
    skinterp.explanation.Counterfactuals : What ``explain`` returns.

    Notes
    -----
    With the noise :math:`u` of a row :math:`x`, so that
    :math:`x_i = g_i(x_{pa(i)}) + u_i`, and the unit :math:`s_i` of each column, it
    minimises

    .. math::

       \sum_i |x'_i - x_i| / s_i + \lambda \sqrt{\sum_i (u'_i - u_i)^2 / s_i^2}

    over the rows :math:`x'` of the wanted class. Columns that are held stand in neither
    sum. For linear scores and mechanisms this is convex: the answer is exact, and a
    point of the dual certifies it (``gap``). Columns of listed values are gone through,
    10,000 combinations at most. Nothing is proved of the answers of other models.
    All that is called found has been put to the model.

    Options of ``explain`` : ``target`` (label, or one per row; None asks for any other
    class) and ``lam`` (a number, or several for a path; None takes the parameter).

    Time per row: the exact solver takes some 40 Newton steps of :math:`O(d^3)`, per
    combination of listed values. The others ask the model for
    some hundred rows, in a few dozen calls for all rows together.

    References
    ----------
    .. [1] Fatemi, P., Sharifian, E., Yassaee, M. H. (2025). "A New Approach to
       Backtracking Counterfactual Explanations: A Unified Causal Framework for
       Efficient Model Interpretability". ICML. arXiv:2505.02435.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.counterfactual import BraceExplainer
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=200)
    >>> X = np.column_stack([cause, 2 * cause + rng.normal(size=200)])
    >>> y = np.where(X @ [1, 2] > 0, "yes", "no")
    >>> explainer = BraceExplainer(graph={1: [0]}).fit(X, y)
    >>> answer = explainer.explain([[-1.0, -1.0]])
    >>> answer.status, answer.certified
    (array(['found'], dtype='<U11'), array([ True]))
    >>> explainer.predict(answer.counterfactuals)
    array(['yes'], dtype='<U3')
    """

    explains: ClassVar = {"local": ("counterfactuals",)}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "graph": [Mapping, "array-like", None],
        "lam": [Interval(Real, 0, None, closed="left")],
        "mechanisms": [StrOptions({"linear"}), HasMethods(["fit", "predict"]), Mapping],
        "immutable": [list, tuple, "array-like"],
        "bounds": [Mapping, StrOptions({"observed"}), None],
        "noise_quantiles": [tuple, list, "array-like", None],
        "categories": [Mapping, list, tuple, "array-like"],
        "distance": [StrOptions({"l1", "l2"})],
        "scale": [StrOptions({"std"}), "array-like"],
        "solver": [StrOptions({"auto", "exact", "gradient", "black-box"})],
        "margin": [Interval(Real, 0, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        graph: Any = None,
        lam: float = 1.0,
        mechanisms: Any = "linear",
        immutable: Any = (),
        bounds: Any = None,
        noise_quantiles: Any = None,
        categories: Any = (),
        distance: str = "l1",
        scale: Any = "std",
        solver: str = "auto",
        margin: float = 1e-6,
        n_starts: int = 3,
        tol: float = 1e-8,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.graph = graph
        self.lam = lam
        self.mechanisms = mechanisms
        self.immutable = immutable
        self.bounds = bounds
        self.noise_quantiles = noise_quantiles
        self.categories = categories
        self.distance = distance
        self.scale = scale
        self.solver = solver
        self.margin = margin
        self.n_starts = n_starts
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    # the inner estimator is checked by its own fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the model and the mechanisms.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows, without missing cells. A frame may have columns of texts,
            where the model takes them.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the model, the mechanisms, the units and the
            quantiles of the noise. Model and mechanisms have to take them.

        Returns
        -------
        BraceExplainer
            The fitted explainer.
        """
        # An interrupted or refused fit leaves no half of an older one behind.
        self.__dict__.pop("solver_", None)
        Z, y = self._read(X, y)
        Z, y, weight = fitting.weighted_rows(Z, y, sample_weight)
        given = self._table.for_estimator(Z)
        inner = _default() if self.estimator is None else self.estimator
        self.estimator_ = fit_weighted(inner, given, y, weight, "estimator")
        fitting.check_inner(self.estimator_, self.n_features_in_)
        self.classes_ = self.estimator_.classes_
        self.parents_ = read_graph(self._table, self.graph)
        self._causal = fit_causal_model(
            self._table, Z, self.parents_, self.mechanisms, weight
        )
        self.mechanisms_ = self._causal.mechanisms
        self.noise_ = self._causal.abduct(Z)
        self.noise_corr_ = noise_correlation(self._causal, self.noise_, weight)
        self._warn_of_correlated_noise()
        self.scale_ = fitting.scale_of(self._table, Z, self.scale, weight)
        self._noise_range = fitting.noise_range(self.noise_quantiles, self, weight)
        fitting.fit_limits(self, Z)
        solver = fitting.fit_solver(self, Z)
        self.solver_ = solver
        return self

    def _read(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        if has_texts(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s), need at least 1.")
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            self._table = Table.of_frame(X)
            Z = self._table.matrix(X)
        else:
            Z, y = validate_data(self, X, y, dtype=np.float64, order="C")
            named = hasattr(self, "feature_names_in_")
            self._table = Table.of_numbers(feature_names_of(self), named)
        check_classification_targets(y)
        return Z, y

    def _warn_of_correlated_noise(self) -> None:
        if not any(self.parents_):
            return
        size = np.abs(np.nan_to_num(np.triu(self.noise_corr_, 1)))
        limit = max(0.2, 3.0 / np.sqrt(len(self.noise_)))
        if size.max() > limit:
            i, j = np.unravel_index(size.argmax(), size.shape)
            a, b = self._table.names[i], self._table.names[j]
            msg = (
                f"the noise of {a!r} and {b!r} correlates by "
                f"{self.noise_corr_[i, j]:.2f}: the graph may lack an arrow or a "
                "common cause, and what is called noise is not independent"
            )
            warnings.warn(msg, UserWarning, stacklevel=4)

    def _validate_X(self, X: Any) -> Floats:
        if self._table.texts:
            validate_data(self, X, reset=False, skip_check_array=True)
            if not hasattr(X, "columns"):
                msg = (
                    f"{type(self).__name__} was fitted on a frame with texts; pass a "
                    f"frame with the columns {list(self._table.names)}"
                )
                raise ValueError(msg)
            return self._table.matrix(X)
        Z: Floats = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return Z

    def _ask(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        given = self._table.for_estimator(self._validate_X(X))
        return getattr(self.estimator_, method)(given)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict as the model does.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        out: NDArray[Any] = self._ask("predict", X)
        return out

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the model's probabilities.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probability of each class.
        """
        out: Floats = self._ask("predict_proba", X)
        return out

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> Floats:
        """Give the model's scores.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Scores, as the model gives them.
        """
        out: Floats = self._ask("decision_function", X)
        return out

    def abduct(self, X: ArrayLike) -> Floats:
        """Find the noise of rows: what their causes do not explain.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The noise, in the units of the columns. A column without causes is its own
            noise; a text is the position of its label.
        """
        check_is_fitted(self)
        return self._causal.abduct(self._validate_X(X))

    def generate(self, U: ArrayLike) -> NDArray[Any]:
        """Find the rows that noise leads to; the inverse of ``abduct``.

        Parameters
        ----------
        U : array-like of shape (n_rows, n_features)
            Noise.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The rows.
        """
        check_is_fitted(self)
        noise = np.asarray(U, dtype=np.float64)
        if noise.ndim != 2 or noise.shape[1] != self.n_features_in_:
            msg = f"U must have {self.n_features_in_} columns, got shape {noise.shape}"
            raise ValueError(msg)
        return self._table.cells(self._causal.generate(noise))

    def intervene(self, X: ArrayLike, values: Mapping[Any, Any]) -> NDArray[Any]:
        """Set columns from outside and let their effects follow.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows; their noise stays what it is.
        values : mapping of str or int to object
            Value that a column is set to, by name or position.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The rows as they would have been.
        """
        check_is_fitted(self)
        fixed = {}
        for column, value in values.items():
            j = self._table.position(column, "values")
            fixed[j] = self._table.code(j, value, "values")
        noise = self._causal.abduct(self._validate_X(X))
        return self._table.cells(self._causal.generate(noise, fixed))

    def _explain(
        self, X: Floats, *, kind: str, target: Any = None, lam: Any = None
    ) -> Counterfactuals:
        for name in ("lam", "margin", "n_starts", "tol", "distance", "n_jobs"):
            check_parameter(self, name)
        weights = weights_of(self.lam if lam is None else lam)
        setting = fitting.setting_of(self)
        wanted = wanted_classes(self.classes_, target, len(X))
        return search_all(self, setting, X, wanted, weights)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        # other models take slower searches, which have tests of their own
        return [{}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solver_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None and tags.classifier_tags is not None:
            inner = get_tags(self.estimator).classifier_tags
            if inner is not None:
                tags.classifier_tags.multi_class = inner.multi_class
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        if self.estimator is not None:
            return SkinterpTags()
        weighed = "the default model's penalty stays where the weights grow"
        return SkinterpTags(expected_failures={"check_scaled_weights": weighed})
