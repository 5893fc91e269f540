"""Networks for classes of which some are many times as frequent as others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import Interval, Real, StrOptions
from skinterp.neural import NeuralClassifier

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch.nn import Module

    from skinterp.neural import Batch, TrainingData

__all__ = ["ImbalancedClassifier"]


class ImbalancedClassifier(NeuralClassifier):
    """Base of classifiers with the parameters ``imbalance`` and ``tau``.

    Attributes
    ----------
    class_counts_ : ndarray of shape (n_classes,)
        Training rows of each class, by their weights, over all fits so far.
    prior_ : ndarray of shape (n_classes,)
        Their shares.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        "imbalance": [StrOptions({"logit_adjust", "balanced", "sampling"}), None],
        "tau": [Interval(Real, 0, None, closed="left")],
    }

    imbalance: str | None
    tau: float
    class_counts_: NDArray[np.float64]
    prior_: NDArray[np.float64]
    _drawn_from_: TrainingData

    def _next_attempt(
        self, data: TrainingData, losses: list[float]
    ) -> dict[str, Any] | int:
        if losses:
            return 0
        # the one hook that sees the rows of further fits as well
        weight = None if data.weight is None else data.weight.cpu().numpy()
        codes = data.target.cpu().numpy().astype(np.int64).ravel()
        counts = np.bincount(codes, weight, minlength=data.n_classes).astype(float)
        self.class_counts_ = getattr(self, "class_counts_", 0.0) + counts
        self.prior_ = self.class_counts_ / self.class_counts_.sum()
        if self.imbalance == "sampling":
            self._drawn_from_ = data  # until `_after_training`
        return {}

    def _safe_prior(self) -> NDArray[np.float64]:
        """Shares of the classes, one that is absent counting as half a row."""
        counts = np.maximum(self.class_counts_, 0.5)
        return np.asarray(counts / counts.sum())

    def _adjusted(self, output: Tensor) -> Tensor:
        """Add the logarithms of the class shares to logits."""
        # in training only: predictions use the bare logits
        log_prior = self.tau * np.log(self._safe_prior())
        if output.shape[1] == 1:
            log_prior = log_prior[1:] - log_prior[:1]
        return output + output.new_tensor(log_prior)

    def _row_weights(self, target: Tensor) -> Tensor:
        """Inverse shares of the rows' classes, one on average."""
        import torch

        prior = self._safe_prior()
        inverse = torch.as_tensor(1 / (len(prior) * prior), device=target.device)
        return inverse[target.long().reshape(len(target))]

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        if self.imbalance == "logit_adjust":
            output = self._adjusted(output)
        loss = super()._loss(output, target)
        if self.imbalance == "balanced":
            loss = loss * self._row_weights(target).to(loss)
        return loss

    def _training_loss(self, module: Module, batch: Batch) -> Tensor:
        if self.imbalance == "sampling":
            batch = self._draw_batch(len(batch.target), batch.generator)
        return super()._training_loss(module, batch)

    def _draw_batch(self, n_rows: int, generator: Generator | None) -> Batch:
        """Draw rows with equal shares of the classes that there are."""
        import torch

        from skinterp.neural import Batch

        data = self._drawn_from_
        codes = data.target.reshape(len(data)).long()
        weight = 1 / torch.bincount(codes).double()
        rows = torch.multinomial(
            weight[codes].cpu(), n_rows, replacement=True, generator=generator
        )
        rows = rows.to(codes.device)
        return Batch(
            tuple(part[rows] for part in data.inputs),
            data.target[rows],
            None if data.weight is None else data.weight[rows],
            generator,
        )

    def _validation_loss(self, module: Module, batch: Batch) -> Tensor:
        loss = self._loss(module(*batch.inputs), batch.target)
        if self.imbalance == "sampling":  # all classes are as important here, too
            loss = loss * self._row_weights(batch.target).to(loss)
        return batch.mean(loss)
