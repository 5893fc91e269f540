"""SoftShape: windows of a series weighed by scores, the weak ones summed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.base import ExplainableMixin, SkinterpTags
from skinterp.compat import Integral, Interval, Real, StrOptions
from skinterp.neural import NeuralClassifier
from skinterp.series._containers import PADS, as_series, check_channels
from skinterp.series._softshape_inputs import timepoint_names, windows_of, znormalised

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.explanation import Explanation
    from skinterp.neural import Batch, TrainingData

__all__ = ["SoftShapeClassifier"]

Floats = NDArray[np.float64]

_SHARE = Interval(Real, 0, 1, closed="left")
_COUNT = Interval(Integral, 1, None, closed="left")
# Numbers that a pass may hold at once.
_BUDGET = 2**22


class SoftShapeClassifier(ExplainableMixin, NeuralClassifier):
    r"""Network whose tokens are windows of the series, each with a score in (0, 1).

    The score of a window weighs what it passes on. Weak windows are not thrown away but
    summed into one token, so that later layers work on fewer. What each window adds to
    the log-odds is known exactly, and with it which stretch of a series decided.

    Parameters
    ----------
    shape_length : int or float, default=0.1
        Length of the windows: a number of time points, or a share of the series. It
        matters most, and is what a search goes over.
    stride : int, default=4
        Time points between windows. Where windows are not longer than this, at most 2.
    embed_dim : int, default=128
        Width of the network, a multiple of 4.
    depth : int, default=2
        Number of layers. The first one leaves nothing out.
    sparse_rate : float in [0, 1), default=0.5
        Share of the tokens that the last layer sums, rising evenly from 0 in the first
        layer. With 0 nothing is left out, and there are no experts.
    n_experts : int, default=None
        Number of small networks among which tokens are divided; None for one per class.
    warmup_epochs : int, default=50
        Epochs in which nothing is left out, until scores mean something.
    dropout : float in [0, 1), default=0.15
        Share of numbers that are left out at random in training.
    moe_weight : float, default=1e-3
        Weight of the penalty on experts that are used unevenly.
    normalize_gate : bool, default=False
        Whether the share of an expert is divided by itself, as in the authors' code.
        The router then learns next to nothing.
    znormalize : bool, default=True
        Whether each channel of each series is taken off its mean and divided by its
        standard deviation. It is done in float64.
    impute : bool, default=False
        Whether missing values are taken: they become the mean of the training series at
        that time point, after ``znormalize``.
    pad : {"edge", "zero"}, default=None
        What continues series that are shorter than the longest in ``fit``: their last
        value, or 0. None refuses them.
    max_epochs : int, default=200
        Passes over the series, warm-up included.
    batch_size : int, default=32
        Series per step.
    lr : float, default=1e-3
        Learning rate.
    validation_fraction : float in [0, 1), default=0.25
        Share of the series kept apart to judge the epochs by.
    patience : int, default=80
        Stop when the validation has not improved for so many epochs after the warm-up.
    optimizer, scheduler, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_channels_, n_timepoints_in_ : int
        Shape of the series.
    timepoint_names_ : tuple of str
        Names of the time points: the columns of a frame of one series per row, else
        "t0", "t1", ...
    shape_length_ : int
        Length of the windows.
    n_tokens_ : int
        Number of windows.
    token_starts_ : ndarray of shape (n_tokens_,), int64
        First time point of each window.
    n_tokens_kept_ : int
        Tokens that reach the head: those kept, and the sum of the others.

    See Also
    --------
    InterpGNClassifier : Learnt shapelets, and a deep network where they are unsure.
    ShapeletTransformer : Shapelets of the training series as columns.

    Notes
    -----
    A layer normalises its tokens h, scores them ``a = sigmoid(W2 tanh(W1 h))`` and
    passes on ``a h``; a layer that keeps a share r < 1 passes on the ``ceil(r M)``
    tokens of highest score in their order, and the sum of the others. Then each token
    goes through one of the experts, and all through convolutions of 39, 19 and 9 tokens
    beside a pooling. The logits are the mean over the last tokens of score times linear
    map, and hence sums over tokens; what the sum adds is divided among the windows in
    it by their scores in the layer that merged them.

    What is minimised is the cross entropy plus ``moe_weight`` times the squared
    coefficients of variation of the experts' loads and gates.

    Deviations from the authors' code: an expert weighs by its probability, not by that
    divided by itself; an epoch is validated in the mode that it was trained in, and the
    best one of the warm-up is forgotten; batches are shuffled; each ``fit`` starts from
    fresh weights (in the authors' cross-validation, folds go on from the last one's); a
    layer that would keep all tokens adds no empty sum; several channels are taken.

    A step costs O(batch * M * embed_dim^2), with M = (T - shape_length) / stride + 1,
    and takes memory for O(batch * M * embed_dim) numbers.

    References
    ----------
    .. [1] Liu, Z., Luo, Y., Li, B., Eldele, E., Wu, M., Ma, Q. (2025). "Learning Soft
       Sparse Shapes for Efficient Time-Series Classification". ICML. arXiv:2505.06892.

    Examples
    --------
    >>> from skinterp.series import SoftShapeClassifier
    >>> from skinterp.testing import make_data
    >>> X, y = make_data("series", "classification", n_rows=60)
    >>> model = SoftShapeClassifier(
    ...     shape_length=8, embed_dim=16, warmup_epochs=5, max_epochs=15, lr=0.01,
    ...     random_state=0,
    ... )
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> model.n_tokens_, model.n_tokens_kept_
    (9, 6)
    >>> tokens = model.explain(X)
    >>> np.allclose(tokens.values.sum(axis=1), model.decision_function(X))
    True
    """

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("token-scores", "attribution"),
        "local": ("token-scores", "attribution"),
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        "shape_length": [_COUNT, Interval(Real, 0, 1, closed="neither")],
        "stride": [_COUNT],
        "embed_dim": [Interval(Integral, 4, None, closed="left")],
        "depth": [_COUNT],
        "sparse_rate": [_SHARE],
        "n_experts": [_COUNT, None],
        "warmup_epochs": [Interval(Integral, 0, None, closed="left")],
        "dropout": [_SHARE],
        "moe_weight": [Interval(Real, 0, None, closed="left")],
        "normalize_gate": ["boolean"],
        "znormalize": ["boolean"],
        "impute": ["boolean"],
        "pad": [StrOptions(set(PADS)), None],
    }

    def __init__(
        self,
        *,
        shape_length: float = 0.1,
        stride: int = 4,
        embed_dim: int = 128,
        depth: int = 2,
        sparse_rate: float = 0.5,
        n_experts: int | None = None,
        warmup_epochs: int = 50,
        dropout: float = 0.15,
        moe_weight: float = 1e-3,
        normalize_gate: bool = False,
        znormalize: bool = True,
        impute: bool = False,
        pad: str | None = None,
        max_epochs: int = 200,
        batch_size: int = 32,
        lr: float = 1e-3,
        optimizer: Any = "adam",
        scheduler: Any = None,
        validation_fraction: float | None = 0.25,
        patience: int | None = 80,
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
        self.shape_length = shape_length
        self.stride = stride
        self.embed_dim = embed_dim
        self.depth = depth
        self.sparse_rate = sparse_rate
        self.n_experts = n_experts
        self.warmup_epochs = warmup_epochs
        self.dropout = dropout
        self.moe_weight = moe_weight
        self.normalize_gate = normalize_gate
        self.znormalize = znormalize
        self.impute = impute
        self.pad = pad

    # -- inputs -----------------------------------------------------------------------
    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        self._check_together()
        if not reset:
            array = self._validate_X(X)
        else:
            series = as_series(X, allow_nan=self.impute)
            array = series.to_array(pad=self.pad)
            self.n_channels_, self.n_timepoints_in_ = array.shape[1:]
            self.channel_names_ = series.channel_names
            self.timepoint_names_ = timepoint_names(X, self.n_timepoints_in_)
            self.shape_length_, self.n_tokens_, stride = windows_of(
                self.shape_length, self.stride, self.n_timepoints_in_
            )
            self.token_starts_ = stride * np.arange(self.n_tokens_)
        _, y = super()._validate_training(np.zeros((len(array), 1)), y, reset=True)
        del self.n_features_in_
        return array, y

    def _check_together(self) -> None:
        """Refuse parameters that do not go together."""
        if self.embed_dim % 4:
            msg = f"embed_dim={self.embed_dim} must be a multiple of 4"
            raise ValueError(msg)
        if self.sparse_rate and self.depth == 1:
            msg = (
                f"depth=1 does not go with sparse_rate={self.sparse_rate}: the first "
                "layer keeps all tokens; use a depth of at least 2, or sparse_rate=0"
            )
            raise ValueError(msg)
        if self.sparse_rate and self.warmup_epochs >= self.max_epochs:
            msg = (
                f"warmup_epochs={self.warmup_epochs} must be less than max_epochs="
                f"{self.max_epochs}: windows are left out only after the warm-up"
            )
            raise ValueError(msg)

    def _validate_X(self, X: Any) -> Floats:
        series = as_series(X, allow_nan=self.impute)
        check_channels(series, self.n_channels_)
        array: Floats = series.to_array(self.n_timepoints_in_, self.pad)
        return array

    def _fit_inputs(self, X: Floats, y: Any, sample_weight: Any) -> None:
        ready = znormalised(X) if self.znormalize else X
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        there = ~np.isnan(ready)
        total = np.einsum("n,nct->ct", weight, np.where(there, ready, 0.0))
        mass = np.einsum("n,nct->ct", weight, there)
        self.fill_values_ = total / np.where(mass > 0, mass, 1.0)
        self._znormalised_ = bool(self.znormalize)

    def _transform_inputs(self, X: Floats) -> Floats:
        ready = znormalised(X) if self._znormalised_ else X
        return np.where(np.isnan(ready), self.fill_values_, ready)

    # -- training ---------------------------------------------------------------------
    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        rates = np.linspace(0.0, self.sparse_rate, self.depth)
        ratios = tuple(float(1 - rate) for rate in rates)
        return {
            "n_channels": int(self.n_channels_),
            "shape_length": self.shape_length_,
            "stride": int(self.token_starts_[1]),
            "n_tokens": self.n_tokens_,
            "embed_dim": int(self.embed_dim),
            "keep_ratios": ratios,
            "n_experts": int(self.n_experts or data.n_classes),
            "n_classes": data.n_classes,
            "dropout": float(self.dropout),
            "normalize_gate": bool(self.normalize_gate),
        }

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.series._softshape_module import SoftShape

        return SoftShape(config)

    def _first_judged_epoch(self) -> int:
        """Count from 0 in this call: a warm start may have done the warm-up already."""
        left = self.warmup_epochs - getattr(self, "n_iter_", 0)
        return max(0, left) if self.sparse_rate else 0

    def _training_loss(self, module: Any, batch: Batch) -> Tensor:
        # kept with the weights, so that validation and prediction are in the same mode
        module.sparse.fill_(batch.epoch >= self._first_judged_epoch())
        output, balance = module.forward_with_balance(*batch.inputs)
        loss = batch.mean(self._loss(output, batch.target))
        total: Tensor = loss + self.moe_weight * balance
        return total

    def _validation_loss(self, module: Any, batch: Batch) -> Tensor:
        import torch

        parts = batch.inputs[0].split(self._rows_at_once())
        output = torch.cat([module(part) for part in parts])
        return batch.mean(self._loss(output, batch.target))

    # -- the fitted model -------------------------------------------------------------
    def _finish_fit(self, X: Floats, y: Any, sample_weight: Any) -> None:
        from skinterp.series._softshape_explain import summarise

        self.n_tokens_kept_ = self._count_kept()
        self._summary_ = summarise(self, X, y, sample_weight)

    def _count_kept(self) -> int:
        from skinterp.series._softshape_module import n_kept

        count = self.n_tokens_
        for ratio in self.module_config_["keep_ratios"]:
            if ratio < 1 and self.weights_["sparse"]:
                count = min(n_kept(ratio, count) + 1, count)
        return count

    def _rows_at_once(self) -> int:
        width = self.embed_dim if not hasattr(self, "module_config_") else None
        width = width or self.module_config_["embed_dim"]
        return max(1, _BUDGET // (self.n_tokens_ * width))

    def _raw_outputs(self, X: Any) -> Floats:
        outputs = self._evaluate(X, batch_size=self._rows_at_once())
        return np.asarray(outputs, dtype=np.float64)

    def _trace(
        self, X: Floats, at_once: int = 1
    ) -> tuple[Floats, NDArray[np.bool_], Floats]:
        """Scores, what is kept, and parts of the output, per window of each series.

        One series at a time, as products of many may end in other digits, depending on
        which ones stand beside.
        """

        def call(module: Any, x: Tensor) -> tuple[Tensor, ...]:
            import torch

            told = [module.trace(part) for part in x.split(at_once)] or [
                module.trace(x)
            ]
            return tuple(torch.cat(parts) for parts in zip(*told, strict=True))

        scores, kept, parts = self._evaluate(X, call)
        return scores, kept > 0.5, parts

    def _explain(self, X: Any, *, kind: str) -> Explanation:
        from skinterp.series import _softshape_explain as explained

        if kind == "attribution":
            return explained.time_points(self, X)
        return explained.windows(self, X)

    # -- protocol ---------------------------------------------------------------------
    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        small = {"embed_dim": 8, "shape_length": 8, "warmup_epochs": 1, "max_epochs": 3}
        return [{**small, "batch_size": 20, "lr": 0.02}]

    def __skinterp_tags__(self) -> SkinterpTags:
        tags = super().__skinterp_tags__()
        return SkinterpTags(input="series", stochastic=True, requires=tags.requires)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = bool(self.impute)
        return tags
