"""The bases that methods derive from: a classifier and a regressor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skinterp.compat import check_is_fitted, fit_context, validate_data
from skinterp.neural._estimator import NeuralEstimator

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["NeuralClassifier", "NeuralRegressor"]


class NeuralRegressor(RegressorMixin, NeuralEstimator):
    """Base of regressors that train a torch module.

    A subclass says which module, by ``_module_config`` and ``_build_module``. The
    module returns one column per output; the loss is the squared error unless
    ``_loss`` says otherwise. Parameters are those of `NeuralEstimator`.

    Parameters
    ----------
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction, patience, \
callbacks, device, verbose, warm_start, random_state : object
        As in `NeuralEstimator`.

    Attributes
    ----------
    target_mean_, target_scale_ : ndarray of shape (n_outputs,)
        Weighted mean and standard deviation of the training targets: the module sees
        standardised ones. Losses in ``history_`` are in their square.
    n_outputs_ : int
        Number of outputs.

    See Also
    --------
    NeuralClassifier : The same for labels.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skinterp.neural import NeuralRegressor
    >>> class LinearNet(NeuralRegressor):
    ...     def _module_config(self, data):
    ...         return {"n_in": data.n_features, "n_out": data.n_outputs}
    ...
    ...     @staticmethod
    ...     def _build_module(config):
    ...         from torch import nn
    ...
    ...         return nn.Linear(config["n_in"], config["n_out"])
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearNet(lr=0.5, batch_size=64, random_state=0).fit(20 * X, y)
    >>> model.score(20 * X, y) > 0.45
    True
    """

    _net_name = "RegressorNet"
    _standardise_target = True

    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=self._finite(),
            multi_output=True,
            y_numeric=True,
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return X, y

    def _encode_target(self, y: Any, *, first: bool) -> NDArray[Any]:
        target = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if first:
            self.n_outputs_ = target.shape[1]
        elif target.shape[1] != self.n_outputs_:
            msg = (
                f"y has {target.shape[1]} outputs, but the fit before had "
                f"{self.n_outputs_}."
            )
            raise ValueError(msg)
        return target

    def _fit_target(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> None:
        self.target_mean_ = np.zeros(target.shape[1])
        self.target_scale_ = np.ones(target.shape[1])
        if not self._standardise_target:
            return
        size = np.abs(target).max(axis=0)
        size[size == 0] = 1.0
        unit = target / size  # squares of huge targets would overflow
        mean = np.average(unit, axis=0, weights=weight)
        scale = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=weight))
        constant = scale <= 1e-12
        scale[constant] = 1.0
        self.target_mean_ = mean * size
        self.target_scale_ = np.where(constant, 1.0, scale * size)

    def _transform_target(self, target: NDArray[Any]) -> NDArray[Any]:
        scaled: NDArray[Any] = (target - self.target_mean_) / self.target_scale_
        return scaled

    def _shape_of_target(self) -> tuple[int, int]:
        return self.n_outputs_, 0

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Squared error of each row, averaged over the outputs."""
        if output.shape != target.shape:  # torch would broadcast
            msg = (
                f"the module of {type(self).__name__} gave {tuple(output.shape)} for "
                f"targets of shape {tuple(target.shape)}; it must give one column per "
                "output."
            )
            raise ValueError(msg)
        return (output - target).square().mean(dim=1)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go through some rows once; the first call also learns the scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        Self
            The fitted estimator. The optimiser goes on where it was, also after the
            estimator was stored and loaded.
        """
        self._require_torch()
        go_on = self.__sklearn_is_fitted__()
        return self._work(X, y, sample_weight, go_on=go_on, epochs=None)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets, in the units of y.
        """
        outputs = self._checked_outputs(X) * self.target_scale_ + self.target_mean_
        predicted: NDArray[np.float64] = outputs
        return predicted[:, 0] if self.n_outputs_ == 1 else predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class NeuralClassifier(ClassifierMixin, NeuralEstimator):
    """Base of classifiers that train a torch module.

    A subclass says which module, by ``_module_config`` and ``_build_module``. The
    module returns one column of log-odds for two classes, else one column of logits
    per class; the loss is the cross-entropy unless ``_loss`` says otherwise.

    Parameters
    ----------
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction, patience, \
callbacks, device, verbose, warm_start, random_state : object
        As in `NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    See Also
    --------
    NeuralRegressor : The same for numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skinterp.neural import NeuralClassifier
    >>> class LogisticNet(NeuralClassifier):
    ...     def _module_config(self, data):
    ...         return {"n_in": data.n_features, "n_out": data.n_outputs}
    ...
    ...     @staticmethod
    ...     def _build_module(config):
    ...         from torch import nn
    ...
    ...         return nn.Linear(config["n_in"], config["n_out"])
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticNet(lr=0.1, batch_size=32, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _net_name = "ClassifierNet"

    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=self._finite(),
        )
        check_classification_targets(y)
        return X, y

    def _encode_target(self, y: Any, *, first: bool) -> NDArray[Any]:
        y = column_or_1d(y)
        if first and not hasattr(self, "classes_"):
            self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            msg = (
                f"y holds one class, {self.classes_.tolist()}; a classifier needs at "
                "least two classes."
            )
            raise ValueError(msg)
        codes: NDArray[np.intp] = np.searchsorted(self.classes_, y)
        codes = codes.clip(max=len(self.classes_) - 1)
        unknown = self.classes_[codes] != y
        if unknown.any():
            msg = (
                f"y holds {y[unknown].tolist()[0]!r}, which is none of the classes "
                f"{self.classes_.tolist()}."
            )
            raise ValueError(msg)
        return codes

    def _transform_target(self, target: NDArray[Any]) -> NDArray[Any]:
        if len(self.classes_) == 2:
            return np.asarray(target, dtype=np.float64)[:, None]
        return target

    def _shape_of_target(self) -> tuple[int, int]:
        n_classes = len(self.classes_)
        return (1 if n_classes == 2 else n_classes), n_classes

    def _strata(self, target: NDArray[Any]) -> NDArray[np.int64] | None:
        return target

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of each row."""
        from torch.nn import functional

        if output.shape[1] == 1:
            per_row = functional.binary_cross_entropy_with_logits(
                output, target, reduction="none"
            )
            return per_row[:, 0]
        return functional.cross_entropy(output, target, reduction="none")

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go through some rows once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed in the first call, optional afterwards.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        Self
            The fitted estimator. The optimiser goes on where it was, also after the
            estimator was stored and loaded.
        """
        self._require_torch()
        go_on = self.__sklearn_is_fitted__()
        self._check_classes(classes, go_on=go_on)
        classes = None if go_on else classes
        return self._work(
            X, y, sample_weight, go_on=go_on, epochs=None, classes=classes
        )

    def _check_classes(self, classes: Any, *, go_on: bool) -> None:
        if classes is None and not go_on:
            msg = "classes must be passed on the first call to partial_fit."
            raise ValueError(msg)
        if go_on and classes is not None:
            given = np.unique(np.asarray(classes))
            if not np.array_equal(given, self.classes_):
                msg = (
                    f"classes={given.tolist()} is not the same as on the last call to "
                    f"partial_fit: {self.classes_.tolist()}."
                )
                raise ValueError(msg)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the log-odds of the second class, or the logits of all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: log-odds of ``classes_[1]``. More: one column per class.
        """
        outputs = self._checked_outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def _probabilities(self, outputs: NDArray[Any]) -> NDArray[np.float64]:
        """Turn outputs of the module into probabilities."""
        if outputs.shape[1] == 1:
            second = expit(outputs[:, 0])
            return np.column_stack([expit(-outputs[:, 0]), second])
        shares: NDArray[np.float64] = softmax(outputs, axis=1)
        return shares

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return self._probabilities(self._checked_outputs(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of each class's probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms, finite also where the probability is rounded to zero.
        """
        outputs = self._checked_outputs(X)
        if outputs.shape[1] == 1:
            logs = [log_expit(-outputs[:, 0]), log_expit(outputs[:, 0])]
            return np.column_stack(logs)
        result: NDArray[np.float64] = log_softmax(outputs, axis=1)
        return result

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The most probable label of each row.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels
