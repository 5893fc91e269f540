"""Learnt shapelets as columns for another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import (
    StrOptions,
    check_is_fitted,
    fit_context,
    optional_import,
)
from skinterp.series._interpgn import ShapeletBottleneckClassifier
from skinterp.series._interpgn_core import Floats
from skinterp.series._interpgn_params import LENGTHS
from skinterp.series._interpgn_regressor import InterpGNRegressor

if TYPE_CHECKING:
    from skinterp.explanation import ShapeletRules

__all__ = ["ShapeletPredicateTransformer"]

_TAKEN = (
    *("n_shapelets", "lengths", "epsilon", "distance", "lambda_reg", "lambda_div"),
    *("pad", "max_epochs", "batch_size", "lr", "validation_fraction", "patience"),
    *("device", "verbose", "random_state"),
)


class ShapeletPredicateTransformer(ExplainableMixin, TransformerMixin, BaseEstimator):
    """Columns that say how well learnt shapelets are matched in each series.

    The shapelets are learnt together with linear rules for y; the columns are the
    predicates, from 0, nothing alike, to 1, the same. A model of tables goes on from
    there, in a pipeline.

    Parameters
    ----------
    target : {"classes", "numbers"}, default="classes"
        What y is: labels, which the shapelets are to tell apart, or numbers.
    n_shapelets, lengths, epsilon, distance, lambda_reg, lambda_div, pad : object
        As in `ShapeletBottleneckClassifier`.
    max_epochs, batch_size, lr, validation_fraction, patience : object
        As in `ShapeletBottleneckClassifier`.
    device, verbose, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    estimator_ : ShapeletBottleneckClassifier or InterpGNRegressor
        The model that the shapelets were learnt with.
    shapelets_ : list of dict
        Per column ``values``, ``channel``, ``length`` and ``index``.
    n_channels_, n_timepoints_in_ : int
        Shape of the series.

    See Also
    --------
    ShapeletBottleneckClassifier : A linear model on the same columns.

    Notes
    -----
    For numbers the model is an `InterpGNRegressor` without a deep network. Cost and
    equations are those of `ShapeletBottleneckClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skinterp.series import ShapeletPredicateTransformer
    >>> rng, y = np.random.default_rng(0), np.arange(80) % 2
    >>> X = rng.normal(scale=0.3, size=(80, 1, 40))
    >>> for series, label, start in zip(X, y, rng.integers(0, 32, 80)):
    ...     series[0, start : start + 8] += np.hanning(8) * (3 if label else -3)
    >>> shapelets = ShapeletPredicateTransformer(
    ...     n_shapelets=3, lengths=(0.2,), max_epochs=40, random_state=0
    ... )
    >>> model = make_pipeline(shapelets, LogisticRegression(C=100))
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> model[:-1].get_feature_names_out()[0]
    'channel 0, 8 points, 0'
    """

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("shapelet-rules",),
        "local": ("shapelet-rules",),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "target": [StrOptions({"classes", "numbers"})],
        **{
            name: ShapeletBottleneckClassifier._parameter_constraints[name]
            for name in _TAKEN
        },
    }

    def __init__(
        self,
        *,
        target: str = "classes",
        n_shapelets: int = 10,
        lengths: Sequence[float] = LENGTHS,
        epsilon: float = 1.0,
        distance: str = "l1",
        lambda_reg: float = 0.1,
        lambda_div: float = 0.1,
        pad: str | None = None,
        max_epochs: int = 300,
        batch_size: int = 32,
        lr: float = 5e-3,
        validation_fraction: float | None = 0.2,
        patience: int | None = 50,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.target = target
        self.n_shapelets = n_shapelets
        self.lengths = lengths
        self.epsilon = epsilon
        self.distance = distance
        self.lambda_reg = lambda_reg
        self.lambda_div = lambda_div
        self.pad = pad
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the shapelets.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series; two dimensions are one channel.
        y : array-like of shape (n_cases,)
            Labels or numbers.
        sample_weight : array-like of shape (n_cases,), default=None
            Weights of the series.

        Returns
        -------
        Self
            The fitted transformer.
        """
        for package in ("torch", "skorch"):
            optional_import(package, extra="torch", who=type(self).__name__)
        params = {name: getattr(self, name) for name in _TAKEN}
        model: Any = (
            ShapeletBottleneckClassifier(**params)
            if self.target == "classes"
            else InterpGNRegressor(deep=None, **params)
        )
        self.estimator_ = model.fit(X, y, sample_weight)
        for name in ("shapelets_", "n_channels_", "n_timepoints_in_"):
            setattr(self, name, getattr(self.estimator_, name))
        return self

    def transform(self, X: Any) -> Floats:
        """Match the shapelets.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases, n_predicates)
            How well each shapelet is matched, from 0 to 1.
        """
        check_is_fitted(self)
        return self.estimator_.predicates(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns by channel, length and number.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n_predicates,)
            The names.
        """
        check_is_fitted(self)
        channels = self.estimator_.channel_names_
        names = []
        seen: dict[tuple[int, int], int] = {}
        for shape in self.shapelets_:
            key = shape["channel"], shape["length"]
            seen[key] = seen.get(key, -1) + 1  # two lengths may be one on short series
            names.append(f"{channels[key[0]]}, {key[1]} points, {seen[key]}")
        return np.array(names, dtype=object)

    # -- explanation is that of the model within --------------------------------------
    def interpretable_function(self, X: Any) -> Floats:
        """Weighted sum of the predicates by the model that they were learnt with.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases, n_targets)
            A logit per class, or a number.
        """
        check_is_fitted(self)
        return self.estimator_.interpretable_function(X)

    def _validate_X(self, X: Any) -> Floats:
        return self.estimator_._validate_X(X)

    def _explain(self, X: Any, *, kind: str) -> ShapeletRules:
        return self.estimator_._explain(X, kind=kind)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        return ShapeletBottleneckClassifier._test_params()

    def __skinterp_tags__(self) -> SkinterpTags:
        return SkinterpTags(
            input="series", stochastic=True, requires=("torch>=2.2", "skorch>=1.1")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags
