"""Crystal system and space group from a powder pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import Integral, Interval, Real, StrOptions, check_is_fitted
from skinterp_xrd._grid import grid_of, grid_step
from skinterp_xrd._imbalance import ImbalancedClassifier
from skinterp_xrd._report import SymmetryReport, make_report

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.explanation import Explanation
    from skinterp.neural import TrainingData

__all__ = ["XRDSymmetryClassifier"]

_FILTERS = {"cnn": 32, "no-pool": 80}
# Training patterns of each class, and of all, that say what the model looks at.
_USAGE_ROWS = (8, 200)
_CHUNK = 256


class XRDSymmetryClassifier(ExplainableMixin, ImbalancedClassifier):
    r"""Tell the symmetry of a crystal from its powder pattern, and by which peaks.

    A convolutional network takes whole patterns, on any even grid of angles, scaled to
    a maximum of one. As some symmetries are many times as frequent as others, the
    imbalance is part of the training, and figures are given as means over classes.
    Explanations attribute the logit to angles, and to Bragg peaks where the structure
    is known; what falls outside any peak is the mark of a shortcut.

    Parameters
    ----------
    target : {"crystal_system", "space_group"}, default="crystal_system"
        What the labels are; they may be of any type. Space groups given by number are
        gathered by crystal system in the confusion of the global explanation.
    arch : {"cnn", "no-pool"}, default="cnn"
        The network: a light one (patterns are averaged to some 900 points; three
        convolutions with batch normalisation and pooling), or the wide one of
        [1]_'s benchmark (8,500 points, three convolutions without pooling, three
        linear layers; 31 million weights).
    imbalance : {"logit_adjust", "balanced", "sampling"}, default="logit_adjust"
        What is done about unequal classes: add ``tau`` times the logarithm of the
        class shares to the logits in training [2]_; weigh rows by the inverse of
        their class's share; draw rows so that all classes are equally frequent. None
        does nothing.
    tau : float, default=1.0
        Strength of the logit adjustment.
    n_filters : int, default=None
        Filters of the first convolution; None takes 32 ("cnn") or 80 ("no-pool").
    dropout : float in [0, 1), default=0.3
        Share that is dropped in training.
    two_theta : (float, float) or array-like of shape (n_points,), default=(10, 80)
        First and last angle of the grid, or all angles, ascending, in degrees. Column
        names of the form "2theta=10.02" win over it.
    wavelength : float, default=1.54184
        In angstrom; turns angles into distances of planes.
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction : object
        As in `skinterp.neural.NeuralEstimator`, with other defaults.
    patience, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_counts_ : ndarray of shape (n_classes,)
        Training rows of each class, by their weights; further fits with
        ``warm_start`` or ``partial_fit`` add to them.
    prior_ : ndarray of shape (n_classes,)
        Their shares.
    two_theta_ : ndarray of shape (n_points,)
        The grid, in degrees.
    mean_patterns_ : ndarray of shape (n_classes, n_points)
        Mean pattern of each class in training, scaled to 100.
    usage_ : ndarray of shape (n_classes, n_points)
        Share of each point in the attributions of some training rows of the class.
    confusion_ : ndarray of shape (n_classes, n_classes)
        Validation patterns by class (rows) and prediction (columns); of the training
        where nothing was kept apart, as ``confusion_rows_`` says.

    See Also
    --------
    PowderXRDSimulator : Patterns to train on.
    skinterp_xrd.datasets.make_xrd_benchmark : Labelled patterns.

    Notes
    -----
    The loss of a row with logits :math:`z` and class :math:`k` of share :math:`\pi_k`
    is, with the logit adjustment,
    :math:`-\log \mathrm{softmax}_k(z + \tau \log \pi)`; predictions use :math:`z`, and
    so are those for equally frequent classes.

    ``explain(X, structure=None, target=None, zero_shift=None, window=None)`` gives
    integrated gradients [3]_ of what raises a class (None: the predicted one) above the
    others: its logit less the mean of all, or of two classes its log-odds. The line
    begins at the pattern's own background, found by clipping its peaks. The parts sum
    to the difference of the logits within 1 per cent of (1 + its size): the line is
    divided into 32 parts, which are halved until that holds, to 1024 at most. With a
    ``structure`` (or a list of peaks; a list holds one for each pattern), each peak
    takes the points within ``window`` degrees (None: twice the width of the peaks at
    half their height), after the pattern's ``zero_shift`` (None: found). With patterns
    so broad that the windows cover nearly everything, the share outside says little:
    look at ``coverage``.

    Rows kept apart to stop early are other patterns of the same crystals where
    patterns of one crystal are several: split by crystal to judge a model.

    A step costs O(batch * n_filters^2) operations on some 900 points: 0.7 ms of CPU
    for each pattern and epoch; an explanation 0.05 to 0.2 s for each pattern.

    References
    ----------
    .. [1] B. Cao, Y. Liu, Z. Zheng, R. Tan, J. Li, T. Zhang, "SimXRD-4M: Big Simulated
       X-ray Diffraction Data and Crystal Symmetry Classification Benchmark", ICLR
       2025, arXiv:2406.15469.
    .. [2] A. K. Menon et al., "Long-tail learning via logit adjustment", ICLR 2021,
       arXiv:2007.07314.
    .. [3] M. Sundararajan, A. Taly, Q. Yan, "Axiomatic attribution for deep networks",
       ICML 2017, arXiv:1703.01365.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp_xrd import XRDSymmetryClassifier
    >>> angles = np.linspace(10, 80, 351)
    >>> peaks = {"cubic": (30, 43), "hexagonal": (32, 36)}
    >>> y = np.array(["cubic", "hexagonal"] * 20)
    >>> shift = np.random.default_rng(0).uniform(-0.5, 0.5, size=len(y))
    >>> X = np.array([
    ...     sum(100 * np.exp(-((angles - p - s) ** 2)) for p in peaks[label])
    ...     for label, s in zip(y, shift)
    ... ])
    >>> model = XRDSymmetryClassifier(
    ...     n_filters=4, max_epochs=15, batch_size=8, lr=3e-3, random_state=0
    ... )
    >>> model.fit(X, y).score(X, y)
    1.0
    >>> told = model.explain(X[:1], structure=np.array([30.0, 43.0]))
    >>> bool(told.outside[0] < 0.1)
    True
    """

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("diffraction",),
        "local": ("diffraction",),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ImbalancedClassifier._parameter_constraints,
        "target": [StrOptions({"crystal_system", "space_group"})],
        "arch": [StrOptions(set(_FILTERS))],
        "n_filters": [Interval(Integral, 1, None, closed="left"), None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "two_theta": ["array-like"],
        "wavelength": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        target: str = "crystal_system",
        *,
        arch: str = "cnn",
        imbalance: str | None = "logit_adjust",
        tau: float = 1.0,
        n_filters: int | None = None,
        dropout: float = 0.3,
        two_theta: Any = (10, 80),
        wavelength: float = 1.54184,
        max_epochs: int = 30,
        batch_size: int = 64,
        lr: float = 1e-3,
        optimizer: Any = "adam",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.1,
        patience: int | None = 10,
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
        self.imbalance = imbalance
        self.tau = tau
        self.target = target
        self.arch = arch
        self.n_filters = n_filters
        self.dropout = dropout
        self.two_theta = two_theta
        self.wavelength = wavelength

    # -- inputs -----------------------------------------------------------------------
    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = super()._validate_training(X, y, reset=reset)
        self._refuse_negative(X)
        if reset:
            self.two_theta_ = grid_of(
                self.two_theta, X.shape[1], getattr(self, "feature_names_in_", None)
            )
            self.wavelength_ = float(self.wavelength)
        return X, y

    def _validate_X(self, X: Any) -> NDArray[Any]:
        X = super()._validate_X(X)
        self._refuse_negative(X)
        return X

    def _refuse_negative(self, X: NDArray[Any]) -> None:
        if (X < 0).any():
            row, column = (int(i) for i in np.argwhere(X < 0)[0])
            msg = (
                f"Negative values in data passed to {type(self).__name__}: X holds "
                f"{X[row, column]:.6g} in row {row}, column "
                f"{feature_names_of(self)[column]!r}; intensities are at least 0. Set "
                "what a subtracted background left below 0 to 0."
            )
            raise ValueError(msg)

    def _transform_inputs(self, X: Any) -> Any:
        """Scale each pattern to a maximum of one; an empty one stays zero."""
        top = X.max(axis=1, keepdims=True)
        return np.divide(X, top, out=np.zeros(X.shape), where=top > 0)

    # -- module -----------------------------------------------------------------------
    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        return {
            "arch": str(self.arch),
            "n_points": data.n_features,
            "n_outputs": data.n_outputs,
            "n_filters": int(self.n_filters or _FILTERS[self.arch]),
            "dropout": float(self.dropout),
        }

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp_xrd._classifier_module import build

        return build(config)

    # -- what the fitted model holds --------------------------------------------------
    def _after_training(self, module: Module, data: TrainingData) -> None:
        import torch

        from skinterp_xrd._report import confusion_counts

        inputs, target, kept = data.inputs, data.target, False
        if data.valid_inputs is not None and data.valid_target is not None:
            inputs, target, kept = data.valid_inputs, data.valid_target, True
        outputs = torch.cat([module(part) for part in torch.split(inputs[0], _CHUNK)])
        codes = outputs.argmax(1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0)
        truth = target.cpu().numpy().astype(np.int64).ravel()
        predicted = codes.cpu().numpy().astype(np.int64)
        self.confusion_ = confusion_counts(truth, predicted, data.n_classes)
        self.confusion_rows_ = "validation" if kept else "training"
        self.__dict__.pop("_drawn_from_", None)

    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        codes = np.searchsorted(self.classes_, y)
        shape = len(self.classes_), X.shape[1]
        means = getattr(self, "mean_patterns_", np.zeros(shape)).copy()
        usage = getattr(self, "usage_", np.zeros(shape)).copy()
        scaled = 100 * self._transform_inputs(X)
        each, most = _USAGE_ROWS
        each = max(1, min(each, most // shape[0]))
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            means[k] = scaled[rows].mean(axis=0)
            some = rows[np.linspace(0, len(rows) - 1, min(each, len(rows))).astype(int)]
            size = np.abs(self._attributions(X[some], target=k, max_steps=32)[0])
            total = size.sum(axis=1, keepdims=True)
            told = total[:, 0] > 0
            usage[k] = (size[told] / total[told]).mean(axis=0) if told.any() else 0.0
        self.mean_patterns_, self.usage_ = means, usage

    def _attributions(
        self, X: Any, *, target: int | None, max_steps: int = 1024
    ) -> tuple[NDArray[Any], ...]:
        """Integrated gradients of validated X; see ``explain_batch``."""
        from skinterp_xrd._gradients import explain_batch

        step = grid_step(self.two_theta_)

        def call(module: Module, x: Tensor) -> tuple[Any, ...]:
            return explain_batch(
                module, x, step=step, target=target, max_steps=max_steps
            )

        parts: tuple[NDArray[Any], ...] = self._evaluate(X, call, batch_size=_CHUNK)
        return parts

    def _raw_outputs(self, X: Any) -> NDArray[np.float64]:
        outputs = self._evaluate(X, batch_size=_CHUNK)
        return np.asarray(outputs, dtype=np.float64)

    def report(self, X: Any, y: ArrayLike) -> SymmetryReport:
        """Judge the model on labelled patterns, as means over classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_points)
            Patterns.
        y : array-like of shape (n_samples,)
            Their labels, all of them in ``classes_``.

        Returns
        -------
        SymmetryReport
            Accuracy, macro F1, precision and recall, per class, and by how frequent
            the classes were in training.

        Raises
        ------
        ValueError
            If a label is none of ``classes_``, or X is not what ``predict`` takes.
        """
        check_is_fitted(self)
        predicted = np.searchsorted(self.classes_, self.predict(X))
        truth = self._encode_target(np.asarray(y), first=False)
        if len(truth) != len(predicted):
            msg = f"y has {len(truth)} labels for {len(predicted)} patterns."
            raise ValueError(msg)
        return make_report(self.classes_, self.class_counts_, truth, predicted)

    # -- explanation ------------------------------------------------------------------
    def _explain(
        self,
        X: Any,
        *,
        kind: str,
        structure: Any = None,
        target: Any = None,
        zero_shift: float | None = None,
        window: float | None = None,
    ) -> Explanation:
        from skinterp_xrd._classifier_explain import explain_model, explain_rows

        if X is not None:
            return explain_rows(self, X, structure, target, zero_shift, window)
        given = {
            "structure": structure,
            "target": target,
            "zero_shift": zero_shift,
            "window": window,
        }
        named = [name for name, value in given.items() if value is not None]
        if named:
            msg = f"{named[0]} is an option for single patterns: pass X as well."
            raise ValueError(msg)
        return explain_model(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def __skinterp_tags__(self) -> SkinterpTags:
        tags = super().__skinterp_tags__()
        return SkinterpTags(
            input="pattern",
            unit="pattern",
            stochastic=tags.stochastic,
            requires=tags.requires,
        )

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        return [
            {
                "n_filters": 2,
                "max_epochs": 2,
                "batch_size": 64,
                "lr": 0.01,
                "random_state": 0,
            }
        ]
