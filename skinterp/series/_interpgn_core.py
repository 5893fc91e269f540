"""What the estimators with learnt shapelets share: inputs, losses, explanations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import check_is_fitted, validate_data
from skinterp.explanation._shapelet_rules_math import normalised
from skinterp.neural import NeuralEstimator
from skinterp.series._containers import as_series, check_channels
from skinterp.series._interpgn_params import (
    SHORTEST,
    gini,
    points_of,
    small_fcn,
    stride_of,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.explanation import ShapeletRules
    from skinterp.neural import Batch, TrainingData
    from skinterp.series._interpgn_module import Answer

__all__ = ["ShapeletNetwork"]

Floats = NDArray[np.float64]

#: Numbers that an evaluation may hold at once.
_BUDGET = 2**24


class ShapeletNetwork(ExplainableMixin, NeuralEstimator):
    """Series in, predicates and rules inside, and a deep network beside them or not."""

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("shapelet-rules",),
        "local": ("shapelet-rules",),
    }

    n_shapelets: int
    lengths: Any
    epsilon: float
    distance: str
    lambda_reg: float
    lambda_div: float
    nonnegative_rules: bool
    pad: str | None
    # what the bottleneck alone has no use for
    deep: Any = None
    beta: float = 0.0
    beta_schedule: str = "constant"
    gate_threshold: float = 1.0

    _numeric: ClassVar[bool] = False

    # -- inputs -----------------------------------------------------------------------
    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        series = as_series(X, min_length=SHORTEST)
        if reset:
            array = series.to_array(pad=self.pad)
            self.n_channels_, self.n_timepoints_in_ = array.shape[1:]
            self.channel_names_ = series.channel_names
        else:
            array = self._validate_X(series)
        return array, self._checked_target(len(array), y)

    def _checked_target(self, n: int, y: Any) -> Any:
        """Check y as scikit-learn does for tables."""
        _, y = validate_data(self, np.zeros((n, 1)), y, y_numeric=self._numeric)
        del self.n_features_in_
        return y

    def _validate_X(self, X: Any) -> Floats:
        series = as_series(X)
        check_channels(series, self.n_channels_)
        array: Floats = series.to_array(self.n_timepoints_in_, self.pad)
        return array

    def _fit_inputs(self, X: Floats, y: Any, sample_weight: Any) -> None:
        size = np.abs(X).max(axis=(0, 2))
        size[size == 0] = 1.0
        unit = X / size[:, None]  # squares of huge values would overflow
        mean = np.average(unit.mean(axis=2), axis=0, weights=sample_weight)
        rest = ((unit - mean[:, None]) ** 2).mean(axis=2)
        scale = np.sqrt(np.average(rest, axis=0, weights=sample_weight))
        self.channel_mean_ = mean * size
        self.channel_scale_ = np.where(scale > 1e-10, scale, 1.0) * size

    def _transform_inputs(self, X: Floats) -> tuple[Floats, ...]:
        """Standardise each series for itself; for the deep expert, all by one scale.

        Both are done here in float64, so that series far from zero lose nothing.
        """
        shapes = normalised(X)
        if not self._is_mixed():
            return (shapes,)
        half = X / 2 - self.channel_mean_[:, None] / 2
        return shapes, np.clip(2 * (half / self.channel_scale_[:, None]), -1e6, 1e6)

    def _is_mixed(self) -> bool:
        """Say whether there is a deep expert; once fitted, parameters say no more."""
        fitted = getattr(self, "module_config_", None)
        return (self.deep if fitted is None else fitted["deep"]) is not None

    # -- module -----------------------------------------------------------------------
    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        n = self.n_timepoints_in_
        lengths = points_of(self.lengths, n)
        return {
            "n_channels": self.n_channels_,
            "n_timepoints": n,
            "lengths": lengths,
            "strides": tuple(stride_of(length, n) for length in lengths),
            "n_shapelets": int(self.n_shapelets),
            "epsilon": float(self.epsilon),
            "distance": self.distance,
            "n_classes": self._n_classes(),
            "regression": data.n_classes == 0,
            "deep": self.deep,
            "gate_threshold": float(self.gate_threshold),
        }

    def _n_classes(self) -> int:
        """Count the classes that the gate distinguishes."""
        raise NotImplementedError

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.series._interpgn_module import InterpGN

        return InterpGN(config)

    def _initialise(self, module: Any, data: TrainingData) -> None:
        if self.nonnegative_rules:
            module.make_nonnegative()

    # -- losses -----------------------------------------------------------------------
    def _expert_losses(self, module: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss of each row by the mixed output, and by the shapelets alone."""
        said, target = module.answer(*batch.inputs), batch.target
        own = self._loss(module.columns(said.own), target)
        return self._loss(module.columns(said.mixed), target), own

    def _beta_at(self, epoch: int, max_epochs: int) -> float:
        """Weight of the loss of the shapelets alone."""
        done = epoch / max_epochs
        share = {
            "constant": 1.0,
            "cosine": (1 + math.cos(math.pi * done)) / 2,
            "linear": 1 - done,
        }[self.beta_schedule]
        return self.beta * share

    def _training_loss(self, module: Any, batch: Batch) -> Tensor:
        if self.nonnegative_rules:  # after the step before
            module.make_nonnegative()
        mixed, own = self._expert_losses(module, batch)
        loss = batch.mean(mixed)
        if module.deep is not None:
            loss = loss + self._beta_at(batch.epoch, batch.max_epochs) * batch.mean(own)
        total: Tensor = loss + module.penalty(self.lambda_reg, self.lambda_div)
        return total

    def _validation_loss(self, module: Any, batch: Batch) -> Tensor:
        """Both losses, in each epoch alike: the deep expert alone is done too early."""
        import torch

        threshold, module.gate_threshold = module.gate_threshold, 1.0
        rows = self._rows_at_once()
        pairs = zip(*(part.split(rows) for part in batch.inputs), strict=True)
        targets = batch.target.split(rows)
        parts = [
            self._expert_losses(module, type(batch)(inputs, target))
            for inputs, target in zip(pairs, targets, strict=True)
        ]
        module.gate_threshold = threshold
        mixed, own = (torch.cat(losses) for losses in zip(*parts, strict=True))
        if module.deep is None:
            return batch.mean(mixed)
        return batch.mean(mixed) + self.beta * batch.mean(own)

    def _end_of_epoch(self, module: Any, data: TrainingData, epoch: int) -> None:
        if self.nonnegative_rules:
            module.make_nonnegative()

    def _rows_at_once(self) -> int:
        width = max(self.n_channels_ * self.n_shapelets, 256 if self._is_mixed() else 1)
        return max(1, _BUDGET // int(width * self.n_timepoints_in_))

    # -- the fitted model -------------------------------------------------------------
    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.shapelets_ = []
        for i in range(len(self.module_config_["lengths"])):
            bank = self.weights_[f"banks.{i}.weight"].astype(np.float64)
            for c, k in np.ndindex(bank.shape[:2]):
                shape = {"channel": c, "length": bank.shape[2], "index": k}
                self.shapelets_.append({"values": bank[c, k].copy(), **shape})
        self.rules_, self.base_ = self._read_rules()
        said = self._answer(X)
        mean = np.average(said.predicates, axis=0, weights=sample_weight)
        self.mean_predicates_ = mean
        self.quality_ = self._quality(said, y)

    def _read_rules(self) -> tuple[Floats, Floats]:
        """Weights of the predicates, (n_targets, J), and what is added to the sum."""
        weights = self.weights_["rules.weight"].astype(np.float64)
        return weights, np.zeros(len(weights))

    def _predictions(self, said: Answer) -> tuple[Floats, NDArray[np.intp]]:
        """Probabilities or predictions, in columns, and which column is explained."""
        raise NotImplementedError

    def _quality(self, said: Answer, y: Any) -> dict[str, float]:
        """Measure how readable the rules are, and how much they decide."""
        size, share = np.abs(self.rules_), said.eta
        return {
            "mean_share": float(share.mean()),
            "sd_share": float(share.std()),
            "weights_above_0.1": float((size > 0.1).mean()),
            "weights_above_0.5": float((size > 0.5).mean()),
            "weights_above_1": float((size > 1).mean()),
            "largest_weight": float(size.max()),
            "gini": gini(size),
            "gini_positive": gini(np.maximum(self.rules_, 0)),
        }

    def quality(self, X: Any, y: Any) -> dict[str, float]:
        """Measure how far the model can be read.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.
        y : array-like of shape (n_cases,)
            Their labels or targets.

        Returns
        -------
        dict of str to float
            Mean and deviation of the share that the shapelets decide; how the weights
            of the rules are spread: shares above a size, the largest, their Gini
            index; of classifiers the shapelet error: over cases that are predicted
            rightly the mean of distance times positive weight for the label, lower is
            better.
        """
        check_is_fitted(self)
        array = self._validate_X(X)
        return self._quality(self._answer(array), self._checked_target(len(array), y))

    def _answer(self, X: Floats) -> Answer:
        """All that the network says of validated X, as arrays."""
        from skinterp.series._interpgn_module import Answer

        def call(module: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
            return tuple(module.answer(*inputs))

        return Answer(*self._evaluate(X, call, self._rows_at_once()))

    def _raw_outputs(self, X: Any) -> Floats:
        outputs = self._evaluate(X, batch_size=self._rows_at_once())
        return np.asarray(outputs, dtype=np.float64)

    def predicates(self, X: Any) -> Floats:
        """How well each shapelet is matched by its best window.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases, n_predicates)
            From 0, nothing alike, to 1, the same; in the order of ``shapelets_``.
        """
        check_is_fitted(self)
        return self._answer(self._validate_X(X)).predicates

    def gate(self, X: Any) -> Floats:
        """Share of the prediction that the shapelets decide.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases,)
            From 0, the deep expert alone, to 1, the shapelets alone.
        """
        check_is_fitted(self)
        return self._answer(self._validate_X(X)).eta

    def interpretable_function(self, X: Any) -> Floats:
        """Weighted sum of the predicates, which is what explanations add up to.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases, n_targets)
            A logit per class, of two classes as well; for a regression the prediction
            of the shapelets alone.
        """
        check_is_fitted(self)
        return self._in_units(self._answer(self._validate_X(X)).own)

    def _in_units(self, outputs: Floats) -> Floats:
        """Turn outputs of the module into what the user sees."""
        return outputs

    # -- explanation ------------------------------------------------------------------
    def _explain(self, X: Any, *, kind: str) -> ShapeletRules:
        from skinterp.series._interpgn_explain import explain_model, explain_rows

        return explain_model(self) if X is None else explain_rows(self, X)

    # -- protocol ---------------------------------------------------------------------
    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        small = {"n_shapelets": 2, "lengths": (0.1, 0.2), "max_epochs": 2}
        params = {**small, "batch_size": 10, "lr": 0.02}
        if "deep" in cls._parameter_constraints:
            params["deep"] = small_fcn
        return [params]

    def __skinterp_tags__(self) -> SkinterpTags:
        tags = super().__skinterp_tags__()
        return SkinterpTags(
            input="series",
            stochastic=True,
            requires=tags.requires,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags
