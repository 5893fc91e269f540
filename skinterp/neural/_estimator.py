"""The estimator between scikit-learn and a torch module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from skinterp.base import SkinterpTags
from skinterp.compat import (
    HasMethods,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_is_fitted,
    fit_context,
    get_tags,
    optional_import,
    validate_data,
)
from skinterp.neural._named import callback_params, set_callback_params

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.neural._data import Batch, TrainingData

__all__ = ["NeuralEstimator"]

_POSITIVE = Interval(Real, 0, None, closed="neither")
_COUNT = Interval(Integral, 1, None, closed="left")
_CHUNK = 4096  # rows that are predicted at once


class NeuralEstimator(BaseEstimator):
    """What `NeuralClassifier` and `NeuralRegressor` share.

    Parameters
    ----------
    max_epochs : int, default=100
        How often the training goes through the rows.
    batch_size : int, default=256
        Rows per step, at most; the steps of an epoch are of equal size.
    lr : float, default=1e-3
        Learning rate. "lbfgs" searches its own step lengths.
    optimizer : {"adam", "adamw", "sgd", "adagrad", "rmsprop", "lbfgs"} or callable, \
default="adam"
        The optimiser, or a class of ``torch.optim`` (or a partial of one) that is
        called with the parameters and ``lr``. "lbfgs" takes all rows in one step.
    scheduler : {"cosine", "exponential", "plateau"} or LRScheduler, default=None
        How the learning rate changes from epoch to epoch: to zero along a cosine; by a
        constant factor, to a hundredth; to a tenth when the loss has not fallen for
        five epochs; or as a ``skorch.callbacks.LRScheduler`` says.
    validation_fraction : float in [0, 1), default=0.1
        Share of the rows kept apart to judge the epochs by, drawn within the classes.
        None or 0 trains on all rows and keeps the last weights.
    patience : int, default=20
        Stop when the validation has not improved for so many epochs. None never stops.
    callbacks : list of callback or (name, callback), default=None
        Callbacks of skorch. Copies of them are used. Their parameters are
        ``callbacks__<name>__<parameter>`` in ``set_params`` and in searches.
    device : str, default="auto"
        "auto" takes a GPU where there is one; otherwise a name such as "cpu" or
        "cuda:1". A model that was fitted elsewhere predicts on the CPU if its device
        is not here.
    verbose : int, default=0
        Whether to show a bar over the epochs.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights of the last ``fit``.
    random_state : int, RandomState instance or None, default=None
        Seeds everything that is drawn.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        Parameters and buffers of the module.
    module_config_ : dict
        What the module is built from.
    history_ : dict of str to ndarray
        Per epoch: "epoch", "train_loss", "valid_loss" (with validation) and "lr".
    n_iter_ : int
        Number of epochs.
    best_epoch_ : int
        The epoch whose weights are kept, counted from 1; 0 for those of the start.

    See Also
    --------
    NeuralClassifier : The base of classifiers, with an example.
    NeuralRegressor : The base of regressors, with an example.

    Notes
    -----
    A method implements ``_module_config`` and ``_build_module``, and may override the
    other hooks, which the author's guide lists. ``fit`` works on a copy and hands the
    result over at its end, so that an estimator whose ``fit`` fails is as before; an
    interrupted one keeps the best weights so far if an epoch was completed.

    Modules are trained in ``float32`` and evaluated in ``float64``, where predictions
    do not depend on which rows are predicted together.

    Examples
    --------
    >>> from skinterp.neural import NeuralEstimator
    >>> NeuralEstimator(max_epochs=5)
    NeuralEstimator(max_epochs=5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_epochs": [_COUNT],
        "batch_size": [_COUNT],
        "lr": [_POSITIVE],
        "optimizer": [
            StrOptions({"adam", "adamw", "sgd", "adagrad", "rmsprop", "lbfgs"}),
            callable,
        ],
        "scheduler": [
            StrOptions({"cosine", "exponential", "plateau"}),
            HasMethods(["on_epoch_end", "set_params"]),
            None,
        ],
        "validation_fraction": [Interval(Real, 0, 1, closed="left"), None],
        "patience": [_COUNT, None],
        "callbacks": [list, tuple, None],
        "device": [str],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    _dtype = "float32"
    _inference_dtype = "float64"

    def __init__(
        self,
        *,
        max_epochs: int = 100,
        batch_size: int = 256,
        lr: float = 1e-3,
        optimizer: Any = "adam",
        scheduler: Any = None,
        validation_fraction: float | None = 0.1,
        patience: int | None = 20,
        callbacks: Any = None,
        device: str = "auto",
        verbose: int = 0,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.callbacks = callbacks
        self.device = device
        self.verbose = verbose
        self.warm_start = warm_start
        self.random_state = random_state

    # -- what a method brings ---------------------------------------------------------
    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        """Plain values that describe the module, from the parameters and the data."""
        raise NotImplementedError

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        """Build the module from its description alone."""
        raise NotImplementedError

    # -- what a method may change -----------------------------------------------------
    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from the training rows how inputs are transformed."""

    def _transform_inputs(self, X: Any) -> Any:
        """Turn validated X into the array, or the tuple of arrays, of the module."""
        return X

    def _initialise(self, module: Module, data: TrainingData) -> None:
        """Set the first weights from the data."""

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Give the loss of each row."""
        raise NotImplementedError

    def _penalty(self, module: Module, output: Tensor) -> Tensor | None:
        """Give what is added to the loss of a training step."""
        return None

    def _training_loss(self, module: Module, batch: Batch) -> Tensor:
        """Give the loss of a training step."""
        output = module(*batch.inputs)
        loss = batch.mean(self._loss(output, batch.target))
        penalty = self._penalty(module, output)
        return loss if penalty is None else loss + penalty

    def _validation_loss(self, module: Module, batch: Batch) -> Tensor:
        """Give the loss that epochs are compared by."""
        return batch.mean(self._loss(module(*batch.inputs), batch.target))

    def _parameter_groups(self, module: Module) -> Iterable[dict[str, Any]]:
        """Group the parameters by what the optimiser does with them."""
        return [{"params": list(module.parameters())}]

    def _optimizer_options(self) -> dict[str, Any]:
        """Give further arguments of the optimiser."""
        return {}

    def _rows_per_step(self, n_rows: int) -> int:
        """Give the size of a batch, given the number of training rows."""
        return int(self.batch_size)

    def _next_attempt(
        self, data: TrainingData, losses: list[float]
    ) -> dict[str, Any] | int:
        """Give parameters to train with, or the number of the attempt to keep."""
        return 0 if losses else {}

    def _first_judged_epoch(self) -> int:
        """Give the epoch, from 0, where the best one is forgotten, patience begins."""
        return 0

    def _end_of_epoch(self, module: Module, data: TrainingData, epoch: int) -> None:
        """Do what an epoch needs before it is validated."""

    def _after_training(self, module: Module, data: TrainingData) -> None:
        """Do what the best weights need once the training is over."""

    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Set further fitted attributes; predictions are possible by now."""

    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Check the data of ``fit``; methods of other inputs than tables override."""
        raise NotImplementedError

    def _validate_X(self, X: Any) -> NDArray[Any]:
        """Check X of ``predict``; methods of other inputs than tables override."""
        checked: NDArray[Any] = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite=self._finite()
        )
        return checked

    # -- what classifiers and regressors differ in ------------------------------------
    _net_name: ClassVar[str]

    def _encode_target(self, y: Any, *, first: bool) -> NDArray[Any]:
        """Turn checked y into class numbers or a table of outputs."""
        raise NotImplementedError

    def _fit_target(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> None:
        """Learn the scale of the target from the training rows."""

    def _transform_target(self, target: NDArray[Any]) -> NDArray[Any]:
        """Give the target in the form of `TrainingData`."""
        raise NotImplementedError

    def _shape_of_target(self) -> tuple[int, int]:
        """Give the number of the module's outputs, and of classes."""
        raise NotImplementedError

    def _strata(self, target: NDArray[Any]) -> NDArray[np.int64] | None:
        """Give the classes within which the validation rows are drawn."""
        return None

    # -- fitting ----------------------------------------------------------------------
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels of any type, or targets; several outputs for regressors only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight zero is as if it were not there.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data are not what the estimator takes, or the device is not here.
        ImportError
            If torch or skorch is not installed; the message says how to install them.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the training left the finite numbers; the last good weights are kept.
        """
        self._require_torch()
        go_on = bool(self.warm_start) and self.__sklearn_is_fitted__()
        return self._work(X, y, sample_weight, go_on=go_on, epochs=self.max_epochs)

    def _require_torch(self) -> None:
        for package in ("torch", "skorch"):
            optional_import(package, extra="torch", who=type(self).__name__)

    def _work(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        go_on: bool,
        epochs: int | None,
        classes: Any = None,
    ) -> Self:
        """Fit a copy, and take over what it has learnt."""
        from skinterp.neural._training import fit_estimator

        fresh = self._scratch(keep=go_on)
        if classes is not None:
            fresh.classes_ = np.unique(classes)
        interrupt = fit_estimator(
            fresh, X, y, sample_weight, go_on=go_on, epochs=epochs
        )
        stale = self.__dict__.keys() - fresh.__dict__.keys()
        self.__dict__.update(fresh.__dict__)
        for name in stale:
            delattr(self, name)
        if interrupt is not None:
            raise interrupt
        return self

    def _scratch(self, *, keep: bool) -> Self:
        """Copy the estimator, with or without what it has learnt."""
        fresh = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            learnt = name.endswith("_") or name == "_optimizer_memory"
            if keep or not learnt:
                fresh.__dict__[name] = value
        return fresh

    # -- the fitted module ------------------------------------------------------------
    @property
    def module_(self) -> Module:
        """The fitted torch module, in evaluation mode, made of ``weights_``."""
        if not self.__sklearn_is_fitted__():
            msg = f"{type(self).__name__} has no module_ before fit"
            raise AttributeError(msg)
        return self._module_on()[0]

    def _module_on(self) -> tuple[Module, Any, Any]:
        import torch

        from skinterp.neural._context import resolve_device
        from skinterp.neural._state import rebuild

        self._require_torch()
        device = resolve_device(self.device, fitting=False)
        # Apple's GPUs have no float64
        name = "float32" if device.type == "mps" else self._inference_dtype
        dtype = getattr(torch, name)
        return rebuild(self, device, dtype), device, dtype

    def _evaluate(
        self,
        X: Any,
        call: Callable[..., Any] | None = None,
        batch_size: int = _CHUNK,
    ) -> Any:
        """Evaluate the module, or ``call(module, *inputs)``, on parts of X."""
        import torch

        from skinterp.neural._state import as_arrays
        from skinterp.neural._training import input_tensors

        module, device, dtype = self._module_on()
        results = []
        with torch.inference_mode(False), torch.no_grad():
            for start in range(0, max(len(X), 1), batch_size):
                rows = X[start : start + batch_size]
                inputs = input_tensors(self, rows, device, dtype)
                done = module(*inputs) if call is None else call(module, *inputs)
                results.append(as_arrays(done))
        if isinstance(results[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))
        return np.concatenate(results)

    def _raw_outputs(self, X: Any) -> NDArray[np.float64]:
        """Outputs of the module for validated X, one column per output."""
        outputs = self._evaluate(X)
        return np.asarray(outputs, dtype=np.float64)

    def _checked_outputs(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._raw_outputs(self._validate_X(X))

    # -- scikit-learn's protocol ------------------------------------------------------
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters, with those of the callbacks.

        Parameters
        ----------
        deep : bool, default=True
            Whether to give the callbacks by name, and their parameters.

        Returns
        -------
        dict
            Names and values.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            params.update(callback_params(self.callbacks))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of callbacks.

        Parameters
        ----------
        **params : Any
            New values, by name; ``callbacks__<name>=None`` takes a callback out.

        Returns
        -------
        Self
            The estimator itself; what it has learnt is not touched.
        """
        inner = {k: params.pop(k) for k in list(params) if k.startswith("callbacks__")}
        super().set_params(**params)
        if inner:
            self.callbacks = set_callback_params(self.callbacks, inner)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __skinterp_tags__(self) -> SkinterpTags:
        reason = "rows are drawn in batches, and some are kept to validate on"
        return SkinterpTags(
            stochastic=True,
            requires=("torch>=2.2", "skorch>=1.1"),
            expected_failures={"check_sample_weight_equivalence_on_dense_data": reason},
        )

    def _finite(self) -> bool | str:
        return "allow-nan" if get_tags(self).input_tags.allow_nan else True
