"""One training: from checked data to fitted attributes."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skinterp.base import feature_names_of
from skinterp.compat import check_sample_weight
from skinterp.neural import _callbacks, _net
from skinterp.neural._context import resolve_device, torch_scope
from skinterp.neural._data import TrainingData, split_rows, take
from skinterp.neural._state import as_arrays, as_tensors, memory_of, remember

__all__ = ["fit_estimator", "input_tensors"]


def fit_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    go_on: bool,
    epochs: int | None,
) -> KeyboardInterrupt | None:
    """Fit an estimator in place; returns the interrupt that cut the training short.

    ``go_on`` starts from the fitted weights and scales. Without ``epochs`` this is one
    pass of ``partial_fit``: no validation, and the optimiser's state is kept.
    """
    device = resolve_device(estimator.device, fitting=True)
    X, y = estimator._validate_training(X, y, reset=not go_on)
    target = estimator._encode_target(y, first=not go_on)
    X, y, target, weight = weigh(X, y, target, sample_weight)
    random_state = check_random_state(estimator.random_state)
    fraction = None if epochs is None else estimator.validation_fraction
    strata = estimator._strata(target)
    train, valid = split_rows(len(target), fraction, strata, random_state)
    # without validation no rows are copied
    rows = [slice(None)] if valid is None else [train, valid]
    parts = [take((X, y, target, weight), chosen) for chosen in rows]
    if not go_on:
        X_train, y_train, target_train, weight_train = parts[0]
        estimator._fit_inputs(X_train, y_train, weight_train)
        estimator._fit_target(target_train, weight_train)
    # repeated calls with one seed shuffle the rows anew
    seed = int(random_state.randint(2**31 - 1)) + getattr(estimator, "n_iter_", 0)
    tensors = [as_batch_tensors(estimator, part, device) for part in parts]
    data = training_data(estimator, tensors, seed)
    interrupt = train_module(estimator, data, seed, go_on=go_on, epochs=epochs)
    estimator._finish_fit(X, y, weight)
    return interrupt


def weigh(
    X: Any, y: Any, target: NDArray[Any], sample_weight: Any
) -> tuple[Any, Any, NDArray[Any], NDArray[np.float64] | None]:
    """Drop rows of weight zero; equal weights are none."""
    if sample_weight is None:
        return X, y, target, None
    weight = check_sample_weight(
        sample_weight, target, dtype=np.float64, ensure_non_negative=True
    )
    there = weight > 0
    if not there.any():
        msg = "sample_weight is zero for all rows; at least one must be positive."
        raise ValueError(msg)
    X, y, target, weight = take((X, y, target, weight), there)
    weight = weight / weight.max()  # so that the sum of huge weights is finite
    return X, y, target, None if np.all(weight == 1) else weight / weight.mean()


def as_batch_tensors(
    estimator: Any, part: tuple[Any, ...], device: torch.device
) -> tuple[Any, ...]:
    """Turn rows, targets and weights into tensors on the device."""
    X, _, target, weight = part
    dtype = getattr(torch, estimator._dtype)
    target = torch.as_tensor(estimator._transform_target(target))
    if target.is_floating_point():
        target = target.to(dtype)
    if weight is not None:
        weight = torch.as_tensor(weight / weight.mean()).to(device, dtype)
    return input_tensors(estimator, X, device, dtype), target.to(device), weight


def input_tensors(
    estimator: Any, X: Any, device: torch.device, dtype: torch.dtype
) -> tuple[torch.Tensor, ...]:
    """Transform validated X, and turn it into the inputs of the module."""
    parts = estimator._transform_inputs(X)
    tensors = []
    for part in parts if isinstance(parts, tuple) else (parts,):
        with np.errstate(over="ignore"):  # told below, with the cell
            array = np.array(part, dtype=str(dtype).removeprefix("torch."), order="C")
        if np.isinf(array).any():
            refuse_overflow(estimator, np.asarray(part), dtype)
        tensors.append(torch.from_numpy(array).to(device))
    return tuple(tensors)


def refuse_overflow(estimator: Any, part: NDArray[Any], dtype: torch.dtype) -> None:
    """Say which cell is too large for the numbers that the network computes with."""
    limit = torch.finfo(dtype).max
    wrong = np.argwhere(np.abs(part) > limit)[0]
    where = ""
    if part.ndim == 2 and part.shape[1] == getattr(estimator, "n_features_in_", 0):
        where = f" in column {feature_names_of(estimator)[wrong[1]]!r}"
    msg = (
        f"X holds {part[tuple(wrong)]:.6g}{where}; the network takes values up to "
        f"{limit:.3g} in size. Scale the columns first."
    )
    raise ValueError(msg)


def training_data(
    estimator: Any, tensors: list[tuple[Any, ...]], seed: int
) -> TrainingData:
    """Put together what the hooks are given."""
    inputs, target, weight = tensors[0]
    valid = tensors[1] if len(tensors) > 1 else (None, None, None)
    n_outputs, n_classes = estimator._shape_of_target()
    return TrainingData(
        inputs=inputs,
        target=target,
        weight=weight,
        valid_inputs=valid[0],
        valid_target=valid[1],
        valid_weight=valid[2],
        n_features=int(getattr(estimator, "n_features_in_", inputs[0].shape[1])),
        n_outputs=n_outputs,
        n_classes=n_classes,
        generator=torch.Generator().manual_seed(seed),
    )


def train_module(
    estimator: Any,
    data: TrainingData,
    seed: int,
    *,
    go_on: bool,
    epochs: int | None,
) -> KeyboardInterrupt | None:
    """Train as often as the estimator asks for, and take over one of the attempts."""
    attempts: list[tuple[Any, dict[str, Any]]] = []
    losses: list[float] = []
    interrupt = None
    while isinstance(settings := estimator._next_attempt(data, losses[:]), dict):
        attempt = estimator._scratch(keep=True)
        vars(attempt).update(settings)
        data.generator.manual_seed(seed)
        try:
            loss, interrupt = train_once(
                attempt, data, seed, go_on=go_on, epochs=epochs
            )
        except KeyboardInterrupt as error:
            if not attempts:
                raise
            interrupt = error
            break
        attempts.append((attempt, settings))
        losses.append(loss)
        if interrupt is not None:
            break
    kept = settings if isinstance(settings, int) else int(np.argmin(losses))
    attempt, settings = attempts[kept]
    asked = {name: vars(estimator)[name] for name in settings}
    vars(estimator).clear()
    vars(estimator).update(vars(attempt) | asked)
    return interrupt


def train_once(
    estimator: Any,
    data: TrainingData,
    seed: int,
    *,
    go_on: bool,
    epochs: int | None,
) -> tuple[float, KeyboardInterrupt | None]:
    """Train the module and keep its best weights; returns their loss."""
    with torch_scope(seed, getattr(torch, estimator._dtype)):
        module = first_module(estimator, data, go_on=go_on)
        callbacks, monitor = all_callbacks(estimator, data, epochs)
        kind = getattr(_net, estimator._net_name)
        net = kind.of(estimator, module, data, callbacks)
        memory = vars(estimator).pop("_optimizer_memory", None)
        if epochs is None and memory is not None:
            remember(net.optimizer_, memory)
        interrupt = None
        try:
            net.train(epochs or 1)
        except KeyboardInterrupt as error:
            if monitor.best_epoch_ == 0:
                raise
            interrupt = error
        if monitor.best_ is None:
            msg = f"The first weights of {type(estimator).__name__} are not finite."
            raise ValueError(msg)
        net.module_.load_state_dict(monitor.best_)
        net.module_.eval()
        with torch.no_grad():
            estimator._after_training(net.module_, data)
        estimator.weights_ = as_arrays(dict(net.module_.state_dict()))
        if epochs is None:
            estimator._optimizer_memory = memory_of(net.optimizer_)
    record(estimator, net.history, monitor.best_epoch_)
    return float(monitor.best_loss_), interrupt


def first_module(estimator: Any, data: TrainingData, *, go_on: bool) -> torch.nn.Module:
    """Make the module with the weights that the training starts from."""
    device = data.target.device
    if not go_on:
        estimator.module_config_ = estimator._module_config(data)
    module: torch.nn.Module = estimator._build_module(estimator.module_config_)
    module.to(device)
    if go_on:
        module.load_state_dict(as_tensors(estimator.weights_))
    else:
        with torch.no_grad():
            estimator._initialise(module, data)
    return module


def all_callbacks(
    estimator: Any, data: TrainingData, epochs: int | None
) -> tuple[list[tuple[str, Any]], _callbacks.Monitor]:
    """List the user's callbacks, schedule, bar and, last, what may stop."""
    validates = data.valid_inputs is not None
    made = _callbacks.prepare_callbacks(estimator.callbacks)
    schedule = None
    if epochs is not None:
        schedule = _callbacks.scheduler(estimator.scheduler, epochs, validates)
    if schedule is not None:
        made.append(("_scheduler", schedule))
    label = type(estimator).__name__
    if estimator.verbose:
        made.append(("_bar", _callbacks.ProgressBar(epochs or 1, label)))
    patience = estimator.patience if validates else None
    judged_from = estimator._first_judged_epoch()
    monitor = _callbacks.Monitor(patience, label, judged_from)
    return [*made, ("_monitor", monitor)], monitor


def record(estimator: Any, history: Any, best_epoch: int) -> None:
    """Keep the losses as arrays, after those of earlier calls."""
    before = getattr(estimator, "history_", {})
    offset = getattr(estimator, "n_iter_", 0)
    estimator.n_iter_ = offset + len(history)
    estimator.best_epoch_ = offset + best_epoch
    joined = {"epoch": np.arange(1, estimator.n_iter_ + 1)}
    for name in dict.fromkeys([*before, *recorded_names(history)]):
        if name != "epoch":
            new = [epoch.get(name, np.nan) for epoch in history]
            old = before.get(name, np.full(offset, np.nan))
            joined[name] = np.concatenate([old, np.array(new, dtype=np.float64)])
    estimator.history_ = joined


def recorded_names(history: Any) -> list[str]:
    """Name the numbers of an epoch: losses, rate, and what callbacks have scored."""
    names = ("train_loss", "valid_loss", "lr")
    # times differ from fit to fit, and a model is the same for the same seed
    spared = (*names, "epoch", "dur", "event_lr", "train_batch_count")
    found = dict.fromkeys(name for epoch in history for name in epoch)
    scored = [
        name
        for name in found
        if name not in spared
        and all(is_number(epoch[name]) for epoch in history if name in epoch)
    ]
    return [name for name in names if name in found] + scored


def is_number(value: Any) -> bool:
    """Tell scores from marks, texts and what else callbacks record."""
    return isinstance(value, Real) and not isinstance(value, bool)
