"""Skorch callbacks of the bridge, and the callbacks that a user passes."""

from __future__ import annotations

import dis
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback, LRScheduler
from tqdm import tqdm

from skinterp.neural._named import named_callbacks
from skinterp.neural._state import snapshot

__all__ = ["Monitor", "ProgressBar", "StopTraining", "prepare_callbacks", "scheduler"]

_PER_BATCH = ("on_batch_begin", "on_batch_end")


class StopTraining(Exception):
    """End the training after this epoch."""


class ProgressBar(Callback):
    """A bar over the epochs, with the time left."""

    def __init__(self, total: int, label: str) -> None:
        self.total = total
        self.label = label

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **_: Any) -> None:
        """Show the bar."""
        self.bar_ = tqdm(total=self.total, desc=self.label, unit="epoch")

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Move it on."""
        last = net.history[-1]
        losses = {
            k: f"{last[k]:.4g}" for k in ("train_loss", "valid_loss") if k in last
        }
        self.bar_.set_postfix(losses, refresh=False)
        self.bar_.update()

    def on_train_end(self, net: Any, X: Any = None, y: Any = None, **_: Any) -> None:
        """Close it."""
        self.bar_.close()


class Monitor(Callback):
    """Keep the best weights; stop when they are old, or when the loss is lost."""

    def __init__(self, patience: int | None, label: str, judged_from: int = 0) -> None:
        self.patience = patience
        self.label = label
        self.judged_from = judged_from

    def initialize(self) -> Monitor:
        """Know of no epoch yet."""
        self.best_loss_ = np.inf
        self.best_epoch_ = 0
        self.best_: dict[str, torch.Tensor] | None = None
        return self

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **_: Any) -> None:
        """Start from the weights that the training starts from."""
        self.best_ = snapshot(net.module_)

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Judge the epoch by its validation, or by nothing where there is none."""
        last, epoch = net.history[-1], len(net.history)
        if epoch == self.judged_from + 1:  # another phase: losses do not compare
            self.best_loss_ = np.inf
        loss = last.get("valid_loss", last["train_loss"])
        better = "valid_loss" not in last or loss < self.best_loss_
        finite = np.isfinite(loss) and np.isfinite(last["train_loss"])
        state = snapshot(net.module_) if better and finite else None
        if state is not None:
            self.best_, self.best_loss_, self.best_epoch_ = state, loss, epoch
        if not finite or (better and state is None):
            self._warn(epoch, last)
            raise StopTraining
        since = max(self.best_epoch_, self.judged_from)
        if self.patience is not None and epoch - since >= self.patience:
            raise StopTraining

    def _warn(self, epoch: int, last: Any) -> None:
        msg = (
            f"{self.label}: the training left the finite numbers in epoch {epoch} "
            f"(train_loss {last['train_loss']:.4g}); the weights of epoch "
            f"{self.best_epoch_} are kept. A lower lr, or scaled columns, may help."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)


def scheduler(name: Any, max_epochs: int, validates: bool) -> Any | None:
    """Make the callback that changes the learning rate, by its name."""
    schedules = torch.optim.lr_scheduler
    if name == "cosine":
        return LRScheduler(schedules.CosineAnnealingLR, T_max=max_epochs)
    if name == "exponential":
        # A hundredth at the end, however many epochs there are.
        return LRScheduler(schedules.ExponentialLR, gamma=0.01 ** (1 / max_epochs))
    if name == "plateau":
        monitor = "valid_loss" if validates else "train_loss"
        return LRScheduler(schedules.ReduceLROnPlateau, monitor=monitor, patience=5)
    return None if name is None else _fresh(name)


def prepare_callbacks(callbacks: Any) -> list[tuple[str, Any]]:
    """Give fresh copies of a user's callbacks: fit changes no parameter."""
    return [
        (name, _fresh(callback))
        for name, callback in named_callbacks(callbacks)
        if callback is not None
    ]


def _fresh(callback: Any) -> Any:
    # of a class, skorch makes an instance
    return callback if isinstance(callback, type) else clone(callback, safe=False)


def overrides(callbacks: Iterable[Any], *methods: str) -> bool:
    """Say whether a callback listens to one of the events."""
    return any(
        getattr(type(cb), name) is not getattr(Callback, name)
        for cb in callbacks
        for name in methods
    )


def listens_to_batches(callbacks: Iterable[Any]) -> bool:
    """Say whether a callback wants to hear of every batch."""
    return overrides(callbacks, *_PER_BATCH)


def is_stop(error: KeyboardInterrupt, callback: Any) -> bool:
    """Tell a callback that stops the training from a user who interrupts it.

    skorch's callbacks end a training by raising KeyboardInterrupt themselves; the
    user's comes from anywhere, but never from such a statement.
    """
    trace: TracebackType | None = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code, frame = trace.tb_frame.f_code, trace.tb_frame
    raised = any(
        step.offset == trace.tb_lasti and step.opname == "RAISE_VARARGS"
        for step in dis.get_instructions(code)
    )
    return raised and frame.f_locals.get("self") is callback
