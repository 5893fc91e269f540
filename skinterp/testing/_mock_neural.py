"""Small right networks, to test what trains by way of skorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.explanation import Attribution
from skinterp.neural import NeuralClassifier, NeuralRegressor, TrainingData

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["LinearNetClassifier", "LinearNetRegressor"]

Array = NDArray[np.float64]


class _LinearNet(ExplainableMixin):
    """One layer on standardised columns; its terms are its explanation."""

    explains: ClassVar = {"local": ("attribution",)}

    def _fit_inputs(self, X: Array, y: Any, sample_weight: Any) -> None:
        self.mean_ = np.average(X, axis=0, weights=sample_weight)
        scale = np.sqrt(
            np.average((X - self.mean_) ** 2, axis=0, weights=sample_weight)
        )
        self.scale_ = np.where(scale > 0, scale, 1.0)

    def _transform_inputs(self, X: Array) -> Array:
        return (X - self.mean_) / self.scale_

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        return {"n_features": data.n_features, "n_outputs": data.n_outputs}

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from torch.nn import Linear

        return Linear(config["n_features"], config["n_outputs"])

    def _terms(self, X: Array) -> tuple[Array, Array]:
        """Terms of each row, (n_rows, n_features, n_outputs), and the biases."""
        weight = self.weights_["weight"].astype(np.float64)  # type: ignore[attr-defined]
        bias = self.weights_["bias"].astype(np.float64)  # type: ignore[attr-defined]
        terms: Array = self._transform_inputs(X)[:, :, None] * weight.T[None]
        return terms, np.tile(bias, (len(X), 1))

    def _attribution(self, terms: Array, base: Array, **fields: Any) -> Attribution:
        if terms.shape[2] == 1:
            terms, base = terms[:, :, 0], base[:, 0]
        names = feature_names_of(self)
        return Attribution(
            scope="local",
            feature_names=names,
            values=terms,
            base_values=base,
            **fields,
        )

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        return [{"max_epochs": 3, "lr": 0.1, "batch_size": 32, "random_state": 0}]


class LinearNetClassifier(_LinearNet, NeuralClassifier):
    """Logistic regression, trained by gradient steps.

    Parameters
    ----------
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction, patience, \
callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Examples
    --------
    >>> from skinterp.testing import make_data
    >>> from skinterp.testing.mocks import LinearNetClassifier
    >>> X, y = make_data(task="classification")
    >>> model = LinearNetClassifier(lr=0.1, batch_size=32, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def _explain(self, X: Array, *, kind: str) -> Attribution:
        terms, base = self._terms(X)
        return self._attribution(
            terms, base, target_names=self.classes_, output="decision_function"
        )


class LinearNetRegressor(_LinearNet, NeuralRegressor):
    """Linear regression, trained by gradient steps.

    Parameters
    ----------
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction, patience, \
callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Examples
    --------
    >>> from skinterp.testing import make_data
    >>> from skinterp.testing.mocks import LinearNetRegressor
    >>> X, y = make_data(task="regression")
    >>> model = LinearNetRegressor(lr=0.1, batch_size=32, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def _explain(self, X: Array, *, kind: str) -> Attribution:
        terms, base = self._terms(X)
        names = [f"y{i}" for i in range(self.n_outputs_)]
        return self._attribution(
            terms * self.target_scale_,
            base * self.target_scale_ + self.target_mean_,
            target_names=np.array(names if self.n_outputs_ > 1 else ["y"]),
            output="predict",
        )
