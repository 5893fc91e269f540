"""The contract: an estimator with one more verb, ``explain``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from skinterp.compat import check_is_fitted, get_tags, validate_data
from skinterp.explanation._meta import describe_method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skinterp.explanation import Explanation

__all__ = ["ExplainableMixin", "SkinterpTags", "feature_names_of"]


@dataclass(frozen=True, kw_only=True)
class SkinterpTags:
    """What the library and its test kit need to know of a method beyond its tags.

    scikit-learn's own tags cannot be extended, so these travel beside them, returned
    by ``__skinterp_tags__``.

    Parameters
    ----------
    input : str, default="tabular"
        What a case is: "tabular", "series", "graph", "text", "activations", ...
    unit : str, default="row"
        What one local explanation speaks about.
    stochastic : bool, default=False
        Whether another ``random_state`` may give another model.
    requires : tuple of str, default=()
        Optional packages needed in ``fit``, such as ``"torch>=2.2"``.
    expected_failures : mapping of str to str, default={}
        Checks of the test kit that are known to fail, with the reason. A check that
        starts to pass is reported, so that no excuse outlives its reason.

    Examples
    --------
    >>> SkinterpTags(input="series").unit
    'row'
    """

    input: str = "tabular"
    unit: str = "row"
    stochastic: bool = False
    requires: tuple[str, ...] = ()
    expected_failures: Mapping[str, str] = field(default_factory=dict)


class ExplainableMixin:
    """Give a scikit-learn estimator the verb ``explain``.

    Put it leftmost among the bases. The class declares in ``explains`` which scopes
    and kinds of explanation it gives, and implements ``_explain``; everything around
    it (the checks, the validation of X, the record of how it was made) is done here.

    Notes
    -----
    ``_explain(self, X, *, kind)`` receives None for the global scope, or the validated
    X. Options of a method are further keyword-only parameters of ``_explain``;
    ``explain`` refuses any other. Kinds that only some fitted models can give, such as
    a formula, are declared in ``explains_if``: ``_explain`` raises a ValueError that
    says why where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, RegressorMixin
    >>> from skinterp.base import ExplainableMixin, feature_names_of
    >>> from skinterp.compat import validate_data
    >>> from skinterp.explanation import Attribution
    >>> class MeanRegressor(ExplainableMixin, RegressorMixin, BaseEstimator):
    ...     explains = {"local": ("attribution",)}
    ...
    ...     def fit(self, X, y):
    ...         X, y = validate_data(self, X, y)
    ...         self.mean_ = y.mean()
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return np.full(len(validate_data(self, X, reset=False)), self.mean_)
    ...
    ...     def _explain(self, X, *, kind):
    ...         return Attribution(
    ...             scope="local",
    ...             feature_names=feature_names_of(self),
    ...             target_names=np.array(["y"]),
    ...             values=np.zeros(X.shape),
    ...             base_values=self.predict(X),
    ...             output="predict",
    ...         )
    >>> model = MeanRegressor().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> model.explain([[5.0]]).base_values
    array([2.])
    """

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    explains_if: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    _doc_link_module = "skinterp"

    @property
    def _doc_link_template(self) -> str:
        """Address of the class's page, for the "?" of scikit-learn's notebook view."""
        if not type(self).__module__.startswith("skinterp."):
            return ""
        return (
            "https://skinterp.github.io/skinterp/generated/api/"
            "{estimator_module}.{estimator_name}.html"
        )

    def explain(
        self, X: Any = None, *, kind: str | None = None, **options: Any
    ) -> Explanation:
        """Explain the fitted model, or its output for each row of X.

        Parameters
        ----------
        X : array-like, default=None
            The cases to explain, in the form that ``predict`` takes. None explains
            the whole fitted model.
        kind : str, default=None
            One of the kinds that the class declares in ``explains`` for this scope.
            None takes the first.
        **options : Any
            Options that the method names in its own documentation.

        Returns
        -------
        Explanation
            Global without X; with X one explanation per case, in order.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If the scope or the kind is not one that the method gives, or X is not
            what the estimator takes.
        TypeError
            If an option is not one that the method names.
        """
        check_is_fitted(self)
        scope = "global" if X is None else "local"
        kind = self._choose_kind(scope, kind)
        self._check_options(options)
        data = None if X is None else self._validate_X(X)
        explanation = self._explain(data, kind=kind, **options)
        self._check_explanation(explanation, scope, kind, data)
        return explanation._with(
            unit=self.__skinterp_tags__().unit if scope == "local" else None,
            meta=describe_method(self, options) | dict(explanation.meta),
        )

    if TYPE_CHECKING:

        def _explain(self, X: Any, *, kind: str) -> Explanation:
            """Make the explanation; every method implements it."""

    def _choose_kind(self, scope: str, kind: str | None) -> str:
        """Kind to make; an undeclared scope or kind is refused before any work."""
        name, kinds = type(self).__name__, self.explains.get(scope, ())
        if not kinds:
            hint = (
                "pass X to explain rows" if scope == "global" else "call it without X"
            )
            msg = (
                f"{name} gives no {scope} explanation; it has the scopes "
                f"{sorted(self.explains)}: {hint}."
            )
            raise ValueError(msg)
        if kind is None:
            return kinds[0]
        kinds = (*kinds, *self.explains_if.get(scope, ()))
        if kind not in kinds:
            msg = f"kind={kind!r} is not one that {name} gives: {list(kinds)}."
            raise ValueError(msg)
        return kind

    def _check_options(self, options: Mapping[str, Any]) -> None:
        parameters = inspect.signature(self._explain).parameters.values()
        allowed = sorted(
            p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "kind"
        )
        unknown = sorted(set(options) - set(allowed))
        if unknown:
            msg = (
                f"{type(self).__name__}.explain() has no option {unknown[0]!r}; "
                f"its options are {['kind', *allowed]}."
            )
            raise TypeError(msg)

    def _validate_X(self, X: Any) -> NDArray[Any]:
        """Check the cases to explain; methods of other inputs than tables override."""
        allow_nan = get_tags(self).input_tags.allow_nan
        finite: bool | str = "allow-nan" if allow_nan else True
        checked: NDArray[Any] = validate_data(
            self, X, reset=False, ensure_all_finite=finite
        )
        return checked

    def _check_explanation(
        self, explanation: Explanation, scope: str, kind: str, X: Any
    ) -> None:
        """Hold what a method returned against what it was asked for."""
        got = (explanation.scope, explanation.kind)
        if got != (scope, kind):
            msg = f"{type(self).__name__}._explain returned {got}, not {(scope, kind)}"
            raise RuntimeError(msg)
        if X is not None and len(explanation) != len(X):
            msg = (
                f"{type(self).__name__}._explain returned {len(explanation)} rows "
                f"for {len(X)}"
            )
            raise RuntimeError(msg)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        """Cheap parameter sets for the test kit."""
        return [{}]

    def __skinterp_tags__(self) -> SkinterpTags:
        # a base further right, such as the bridge to torch, may know more
        inherited = getattr(super(), "__skinterp_tags__", SkinterpTags)
        tags: SkinterpTags = inherited()
        return tags


def feature_names_of(estimator: Any) -> tuple[str, ...]:
    """Name the columns that an estimator was fitted on.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of tables.

    Returns
    -------
    tuple of str
        ``feature_names_in_`` where the estimator saw a frame, else ``x0, x1, ...``.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> feature_names_of(DecisionTreeClassifier().fit([[0, 1], [1, 0]], [0, 1]))
    ('x0', 'x1')
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{i}" for i in range(estimator.n_features_in_))
    return tuple(str(name) for name in names)
