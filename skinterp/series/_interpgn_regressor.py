"""InterpGN for a number per series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import Integral, Interval, check_is_fitted
from skinterp.neural import NeuralRegressor
from skinterp.series._interpgn_core import Floats, ShapeletNetwork
from skinterp.series._interpgn_params import CONSTRAINTS, LENGTHS, MIXED

if TYPE_CHECKING:
    from torch import Tensor

    from skinterp.neural import Batch
    from skinterp.series._interpgn_module import Answer

__all__ = ["InterpGNRegressor"]


class InterpGNRegressor(ShapeletNetwork, NeuralRegressor):
    """A line over learnt shapelets, and a deep network where the shapelets are unsure.

    As `InterpGNClassifier`, for a number per series: the shapelets predict by a
    weighted sum, and beside it the range that the target lies in. How sure they are of
    the range is the share of the prediction that is theirs.

    Parameters
    ----------
    n_bins : int, default=5
        Number of ranges, of about equally many training series.
    n_shapelets, lengths, epsilon, distance, deep, beta, beta_schedule, \
gate_threshold, lambda_reg, lambda_div, nonnegative_rules, pad : object
        As in `InterpGNClassifier`.
    max_epochs, batch_size, lr, validation_fraction, patience : object
        As in `ShapeletBottleneckClassifier`.
    optimizer, scheduler, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    shapelets_ : list of dict
        Per predicate ``values``, ``channel``, ``length`` and ``index``; values are in
        standard deviations of the channel of a series.
    rules_ : ndarray of shape (1, n_predicates)
        Weights, in units of y.
    base_ : ndarray of shape (1,)
        What is added to the weighted sum.
    bin_edges_ : ndarray of shape (n_ranges - 1,)
        Where the ranges of the target meet.
    mean_predicates_ : ndarray of shape (n_predicates,)
        Mean over the training series.
    quality_ : dict of str to float
        Of the training series; see ``quality``.
    n_channels_, n_timepoints_in_ : int
        Shape of the series.

    See Also
    --------
    InterpGNClassifier : The same for labels, with the equations.

    Notes
    -----
    With r = v p + b from the predicates p, z the deep network's number and eta the Gini
    index of the probabilities of the ranges, softmax(W p), the prediction is
    ``eta r + (1 - eta) z``. The loss is its squared error, plus ``beta`` times the sum
    of the squared error of r and the cross entropy of the ranges, plus the penalties.
    Levels are lost on the shapelets, since each series is normalised: where the level
    decides, the share has to be low.

    References
    ----------
    .. [1] Wen, Y., Ma, T., Luss, R., Bhattacharjya, D., Fokoue, A., Julius, A. A.
       (2025). "Shedding Light on Time Series Classification using Interpretability
       Gated Networks". ICLR. https://openreview.net/forum?id=n34taxF0TC

    Examples
    --------
    >>> from skinterp.series import InterpGNRegressor
    >>> from skinterp.testing import make_data
    >>> X, y = make_data("series", "regression", n_rows=60)
    >>> model = InterpGNRegressor(
    ...     n_shapelets=3, lengths=(0.2,), max_epochs=30, random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.7
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRegressor._parameter_constraints,
        **CONSTRAINTS,
        **MIXED,
        "n_bins": [Interval(Integral, 2, None, closed="left")],
    }
    _numeric = True

    def __init__(
        self,
        *,
        n_bins: int = 5,
        n_shapelets: int = 10,
        lengths: Sequence[float] = LENGTHS,
        epsilon: float = 1.0,
        distance: str = "l1",
        deep: Any = "fcn",
        beta: float = 1.0,
        beta_schedule: str = "constant",
        gate_threshold: float = 1.0,
        lambda_reg: float = 0.1,
        lambda_div: float = 0.1,
        nonnegative_rules: bool = False,
        pad: str | None = None,
        max_epochs: int = 300,
        batch_size: int = 32,
        lr: float = 5e-3,
        optimizer: Any = "adam",
        scheduler: Any = None,
        validation_fraction: float | None = 0.2,
        patience: int | None = 50,
        callbacks: Any = None,
        device: str = "auto",
        verbose: int = 0,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            max_epochs=max_epochs,
            batch_size=batch_size,
            lr=lr,
            optimizer=optimizer,
            scheduler=scheduler,
            validation_fraction=validation_fraction,
            patience=patience,
            callbacks=callbacks,
            device=device,
            verbose=verbose,
            warm_start=warm_start,
            random_state=random_state,
        )
        self.n_bins = n_bins
        self.n_shapelets = n_shapelets
        self.lengths = lengths
        self.epsilon = epsilon
        self.distance = distance
        self.deep = deep
        self.beta = beta
        self.beta_schedule = beta_schedule
        self.gate_threshold = gate_threshold
        self.lambda_reg = lambda_reg
        self.lambda_div = lambda_div
        self.nonnegative_rules = nonnegative_rules
        self.pad = pad

    # -- ranges of the target ---------------------------------------------------------
    def _fit_target(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> None:
        super()._fit_target(target, weight)
        inner = np.arange(1, self.n_bins) / self.n_bins
        edges = np.unique(np.quantile(target, inner, method="inverted_cdf"))
        # a range without any series beyond its edge would be none
        self.bin_edges_ = edges[edges < target.max()]

    def _n_classes(self) -> int:
        return len(self.bin_edges_) + 1

    def _expert_losses(self, module: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        import torch
        from torch.nn import functional

        said, target = module.answer(*batch.inputs), batch.target
        edges = (self.bin_edges_ - self.target_mean_) / self.target_scale_
        ranges = torch.bucketize(target[:, 0], torch.as_tensor(edges).to(target))
        unsure = functional.cross_entropy(said.scores, ranges, reduction="none")
        return self._loss(said.mixed, target), self._loss(said.own, target) + unsure

    # -- the fitted model -------------------------------------------------------------
    def _read_rules(self) -> tuple[Floats, Floats]:
        weights = self.weights_["value.weight"].astype(np.float64)
        bias = self.weights_["value.bias"].astype(np.float64)
        return (
            weights * self.target_scale_,
            bias * self.target_scale_ + self.target_mean_,
        )

    def _in_units(self, outputs: Floats) -> Floats:
        return outputs * self.target_scale_ + self.target_mean_

    def _predictions(self, said: Answer) -> tuple[Floats, NDArray[np.intp]]:
        return self._in_units(said.mixed), np.zeros(len(said.mixed), dtype=np.intp)

    def predict_interpretable(self, X: Any) -> Floats:
        """Predict by the shapelets alone.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases,)
            The weighted sum of the predicates, in units of y.
        """
        check_is_fitted(self)
        return self.interpretable_function(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags
