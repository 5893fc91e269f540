"""InterpGN: learnt shapelets decide where they are sure, a deep network elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.multiclass import check_classification_targets

from skinterp.neural import NeuralClassifier
from skinterp.series._interpgn_core import Floats, ShapeletNetwork
from skinterp.series._interpgn_params import CONSTRAINTS, LENGTHS, MIXED

if TYPE_CHECKING:
    from skinterp.series._interpgn_module import Answer

__all__ = ["InterpGNClassifier", "ShapeletBottleneckClassifier"]


class ShapeletClassifier(ShapeletNetwork, NeuralClassifier):
    """What the two classifiers share."""

    def _checked_target(self, n: int, y: Any) -> Any:
        y = super()._checked_target(n, y)
        check_classification_targets(y)
        return y

    def _n_classes(self) -> int:
        return len(self.classes_)

    def predict_interpretable(self, X: Any) -> NDArray[Any]:
        """Predict labels by the shapelets alone.

        Parameters
        ----------
        X : array-like of shape (n_cases, n_channels, n_timepoints)
            The series.

        Returns
        -------
        ndarray of shape (n_cases,)
            The label with the largest weighted sum of predicates.
        """
        labels: NDArray[Any] = self.classes_[
            self.interpretable_function(X).argmax(axis=1)
        ]
        return labels

    def _predictions(self, said: Answer) -> tuple[Floats, NDArray[np.intp]]:
        shares = softmax(said.mixed, axis=1)
        return shares, shares.argmax(axis=1)

    def _quality(self, said: Answer, y: Any) -> dict[str, float]:
        measured = super()._quality(said, y)
        right = self.classes_[self._predictions(said)[1]] == y
        distance = said.least[right]
        votes = np.maximum(self.rules_, 0)[np.searchsorted(self.classes_, y[right])]
        error = float((distance * votes).mean()) if right.any() else np.nan
        return {"shapelet_error": error, **measured}


class ShapeletBottleneckClassifier(ShapeletClassifier):
    """Linear rules over learnt shapelets: "is there a piece like this?".

    A shapelet is a short curve in one channel. Slid over a series, its best match gives
    a predicate between 0 and 1; a class scores the weighted sum of its predicates.
    Shapelets and weights are learnt together, and nothing else decides.

    Parameters
    ----------
    n_shapelets : int, default=10
        Shapelets per length and channel.
    lengths : sequence of float or int, default=(0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
        Lengths: shares of the series, rounded up, or numbers of time points; at least
        three points.
    epsilon : float, default=1.0
        How fast a predicate falls with the distance.
    distance : {"l1", "l2", "cosine", "pearson"}, default="l1"
        Mean absolute difference, mean squared difference, 1 - cosine, or
        1 - correlation.
    lambda_reg : float, default=0.1
        Penalty on the mean absolute weight of the rules.
    lambda_div : float, default=0.1
        Penalty on shapelets of one length and channel that are alike.
    nonnegative_rules : bool, default=False
        Whether rules may only speak for a class.
    pad : {"edge", "zero"}, default=None
        What continues series that are shorter than the longest in ``fit``: their last
        value, or 0. None refuses them.
    max_epochs : int, default=300
        Passes over the series.
    batch_size : int, default=32
        Series per step.
    lr : float, default=5e-3
        Learning rate.
    validation_fraction : float in [0, 1), default=0.2
        Share of the series kept apart to judge the epochs by.
    patience : int, default=50
        Stop when the validation has not improved for so many epochs.
    optimizer, scheduler, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    shapelets_ : list of dict
        Per predicate ``values``, ``channel``, ``length`` and ``index``; values are in
        standard deviations of the channel of a series.
    rules_ : ndarray of shape (n_classes, n_predicates)
        Weights; a negative one speaks against a class.
    mean_predicates_ : ndarray of shape (n_predicates,)
        Mean over the training series.
    quality_ : dict of str to float
        Of the training series; see ``quality``.
    n_channels_, n_timepoints_in_ : int
        Shape of the series.

    See Also
    --------
    InterpGNClassifier : A deep network helps where the rules are unsure.
    ShapeletPredicateTransformer : The predicates as columns.

    Notes
    -----
    Each channel of each series is taken off its mean and divided by its standard
    deviation. With d the distance at the best offset, ``p = exp(-(epsilon d)^2)``. The
    gradient is that of the best window and of a softmax over all windows
    (straight-through). What is minimised is the cross entropy of ``W p`` plus
    ``lambda_reg`` times the mean of ``|W|`` plus ``lambda_div`` times, per length, the
    mean of ``exp(-||w - w'||)``. Series of 3,000 points or more are matched at every
    ``log2(length)``-th offset.

    Deviations from the paper: epochs are compared on training series kept apart, not on
    the test set, so that figures are up to a few points lower on tiny sets; flat
    channels are told by their relative deviation.

    A step costs O(batch * channels * shapelets * sum L (T - L)) for lengths L, and
    takes memory for batch * channels * shapelets * windows numbers.

    References
    ----------
    .. [1] Wen, Y., Ma, T., Luss, R., Bhattacharjya, D., Fokoue, A., Julius, A. A.
       (2025). "Shedding Light on Time Series Classification using Interpretability
       Gated Networks". ICLR. https://openreview.net/forum?id=n34taxF0TC

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.series import ShapeletBottleneckClassifier
    >>> rng, y = np.random.default_rng(0), np.arange(80) % 2
    >>> X = rng.normal(scale=0.3, size=(80, 1, 40))
    >>> for series, label, start in zip(X, y, rng.integers(0, 32, 80)):
    ...     series[0, start : start + 8] += np.hanning(8) * (3 if label else -3)
    >>> model = ShapeletBottleneckClassifier(
    ...     n_shapelets=3, lengths=(0.2,), max_epochs=60, random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> model.predicates(X).shape
    (80, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_shapelets: int = 10,
        lengths: Sequence[float] = LENGTHS,
        epsilon: float = 1.0,
        distance: str = "l1",
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
        self.n_shapelets = n_shapelets
        self.lengths = lengths
        self.epsilon = epsilon
        self.distance = distance
        self.lambda_reg = lambda_reg
        self.lambda_div = lambda_div
        self.nonnegative_rules = nonnegative_rules
        self.pad = pad


class InterpGNClassifier(ShapeletClassifier):
    """Rules over learnt shapelets, and a deep network where the rules are unsure.

    For each series the rules of a `ShapeletBottleneckClassifier` are asked first. How
    sure they are, the Gini index of their class probabilities, is the share of the
    prediction that is theirs; the rest is a deep network's. So the share, ``gate(X)``,
    tells which predictions are explained by shapelets.

    Parameters
    ----------
    n_shapelets, lengths, epsilon, distance, lambda_reg, lambda_div, \
nonnegative_rules, pad : object
        As in `ShapeletBottleneckClassifier`.
    deep : {"fcn", "resnet"} or callable, default="fcn"
        The deep network: three convolutions, nine in residual blocks, or a function
        ``deep(n_channels, n_timepoints, n_outputs)`` that makes a torch module. None
        leaves it out.
    beta : float, default=1.0
        Weight of the loss of the rules alone. Without it they learn little.
    beta_schedule : {"constant", "cosine", "linear"}, default="constant"
        Whether that weight falls to zero during the training.
    gate_threshold : float in [0, 1], default=1.0
        From a share above this on, predictions are left to the rules altogether. 1
        never does so.
    max_epochs, batch_size, lr, validation_fraction, patience : object
        As in `ShapeletBottleneckClassifier`.
    optimizer, scheduler, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    shapelets_ : list of dict
        Per predicate ``values``, ``channel``, ``length`` and ``index``; values are in
        standard deviations of the channel of a series.
    rules_ : ndarray of shape (n_classes, n_predicates)
        Weights; a negative one speaks against a class.
    mean_predicates_ : ndarray of shape (n_predicates,)
        Mean over the training series.
    quality_ : dict of str to float
        Of the training series; see ``quality``.
    n_channels_, n_timepoints_in_ : int
        Shape of the series.

    See Also
    --------
    ShapeletBottleneckClassifier : The rules alone.
    InterpGNRegressor : The same for numbers.

    Notes
    -----
    With s the scores of the rules, q their softmax, C classes and z the logits of the
    deep network, ``eta = (C sum q^2 - 1) / (C - 1)`` and the logits are
    ``eta s + (1 - eta) z``. The loss is the cross entropy of these plus ``beta`` times
    that of s, and the penalties of the rules. The epoch with the lowest sum of both
    cross entropies on the series kept apart is kept: the deep network alone would be
    done long before the rules are.

    The deep network sees the series as they are, but for one mean and one deviation per
    channel of all training series. "fcn" pads series of 3 to 5 and 11 to 13 points,
    which its kernels do not fit in.

    References
    ----------
    .. [1] Wen, Y., Ma, T., Luss, R., Bhattacharjya, D., Fokoue, A., Julius, A. A.
       (2025). "Shedding Light on Time Series Classification using Interpretability
       Gated Networks". ICLR. https://openreview.net/forum?id=n34taxF0TC

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.series import InterpGNClassifier
    >>> rng, y = np.random.default_rng(0), np.arange(80) % 2
    >>> X = rng.normal(scale=0.3, size=(80, 1, 40))
    >>> for series, label, start in zip(X, y, rng.integers(0, 32, 80)):
    ...     series[0, start : start + 8] += np.hanning(8) * (3 if label else -3)
    >>> model = InterpGNClassifier(
    ...     n_shapelets=3, lengths=(0.2,), max_epochs=30, random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> model.gate(X).shape
    (80,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **CONSTRAINTS,
        **MIXED,
    }

    def __init__(
        self,
        *,
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
