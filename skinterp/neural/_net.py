"""The skorch net that trains a method's module: batches are slices of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from skorch import NeuralNet
from skorch.dataset import Dataset

from skinterp.neural._callbacks import (
    StopTraining,
    is_stop,
    listens_to_batches,
    overrides,
)
from skinterp.neural._data import Batch, TrainingData, take

if TYPE_CHECKING:
    from skinterp.neural._estimator import NeuralEstimator

__all__ = ["ClassifierNet", "Net", "RegressorNet", "make_optimizer"]

# Rows of one validation step: no gradients are kept, so the steps can be large.
_VALID_ROWS = 4096

_OPTIMIZERS: dict[Any, Any] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "lbfgs": torch.optim.LBFGS,
}
_FUSED = tuple(int(v) for v in torch.__version__.split(".")[:2]) >= (2, 4)


def make_optimizer(
    owner: NeuralEstimator, module: torch.nn.Module, device: torch.device
) -> torch.optim.Optimizer:
    """Make the optimiser that the parameters of an estimator ask for."""
    groups: Any = list(owner._parameter_groups(module))
    options: dict[str, Any] = dict(owner._optimizer_options())
    kind = owner.optimizer
    if kind == "lbfgs":
        groups = [p for group in groups for p in group["params"]]
        options = {"line_search_fn": "strong_wolfe", "history_size": 10} | options
    else:
        options.setdefault("lr", owner.lr)
    if kind in ("adam", "adamw") and _FUSED and device.type in ("cpu", "cuda"):
        options.setdefault("fused", True)
    made: torch.optim.Optimizer = _OPTIMIZERS.get(kind, kind)(groups, **options)
    return made


class Net(NeuralNet):
    """A skorch net whose steps are those of the method that owns it."""

    @classmethod
    def of(
        cls,
        owner: NeuralEstimator,
        module: torch.nn.Module,
        data: TrainingData,
        callbacks: list[tuple[str, Any]],
    ) -> Net:
        """Make the net of one training."""
        net = cls(
            module,
            criterion=torch.nn.Identity,  # the loss is the owner's
            lr=owner.lr,
            max_epochs=owner.max_epochs,
            batch_size=owner._rows_per_step(len(data)),
            train_split=None,
            callbacks=callbacks,
            device=str(data.target.device),
            verbose=int(owner.verbose),
            predict_nonlinearity=None,
        )
        net.owner, net.data = owner, data
        net.valid_generator = torch.Generator()
        net.valid_seed = int(torch.randint(2**31, (), generator=data.generator))
        net.initialize()
        return net

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        # Losses are recorded once per epoch by the loop itself.
        return []

    def initialize_optimizer(self, *_: Any, **__: Any) -> Net:
        """Make the optimiser with the groups and options of the method."""
        device = self.data.target.device
        self.optimizer_ = make_optimizer(self.owner, self.module_, device)
        return self

    def initialize_callbacks(self) -> Net:
        """Note which events anybody listens to: others cost nothing."""
        super().initialize_callbacks()
        made = [callback for _, callback in self.callbacks_]
        self.tells_batches = listens_to_batches(made)
        self.tells_gradients = overrides(made, "on_grad_computed")
        return self

    def notify(self, method_name: str, **kwargs: Any) -> None:
        """Tell the callbacks; one that raises KeyboardInterrupt wants to stop."""
        getattr(self, method_name)(self, **kwargs)
        stop = False
        for _, callback in self.callbacks_:
            try:
                getattr(callback, method_name)(self, **kwargs)
            except StopTraining:
                stop = True
            except KeyboardInterrupt as error:
                if not is_stop(error, callback):
                    raise
                stop = True
        if stop:
            raise StopTraining

    def train(self, epochs: int) -> None:
        """Train; an interrupt passes through, after the callbacks were told of it."""
        rows = {
            "X": _one_or_all(self.data.inputs),
            "y": self._scored(self.data.target),
        }
        try:
            self.notify("on_train_begin", **rows)
        except StopTraining:
            epochs = 0
        try:
            with suppress(StopTraining):
                self.fit_loop(None, epochs=epochs)
        finally:
            with suppress(StopTraining):
                self.notify("on_train_end", **rows)

    def fit_loop(
        self, X: Any, y: Any = None, epochs: int | None = None, **_: Any
    ) -> Net:
        """Go through the epochs."""
        sets = self._datasets()
        for epoch in range(self.max_epochs if epochs is None else epochs):
            self.notify("on_epoch_begin", **sets)
            self._record("train", self._train_epoch(epoch), len(self.data))
            with torch.no_grad():
                self.owner._end_of_epoch(self.module_, self.data, epoch)
                if self.data.valid_inputs is not None:
                    n_valid = len(self.data.valid_target)
                    self._record("valid", self._validate(epoch), n_valid)
            self._mark_best()
            self.notify("on_epoch_end", **sets)
        return self

    def _record(self, part: str, loss: float, n_rows: int) -> None:
        """Note the loss of an epoch; where nobody hears of batches, also as its batch.

        Callbacks such as Checkpoint expect at least one.
        """
        self.history.record(f"{part}_loss", loss)
        if not self.tells_batches:
            self.history.new_batch()
            self._record_batch(part, loss, n_rows)

    def _record_batch(self, part: str, loss: float, n_rows: int) -> None:
        self.history.record_batch(f"{part}_loss", loss)
        self.history.record_batch(f"{part}_batch_size", n_rows)

    def _datasets(self) -> dict[str, Any]:
        data = self.data
        pairs = [(data.inputs, data.target), (data.valid_inputs, data.valid_target)]
        made = [
            None
            if inputs is None
            else Dataset(_one_or_all(inputs), self._scored(target))
            for inputs, target in pairs
        ]
        return {"dataset_train": made[0], "dataset_valid": made[1]}

    def _train_epoch(self, epoch: int) -> float:
        """Take one step per batch; returns the mean loss of the steps."""
        data, owner, module = self.data, self.owner, self.module_
        module.train()
        n_rows = len(data)
        size = n_rows if owner.optimizer == "lbfgs" else owner._rows_per_step(n_rows)
        count = -(-n_rows // size)
        order = torch.randperm(n_rows, generator=data.generator)
        order = order.to(data.target.device)
        total = torch.zeros((), device=data.target.device)
        # steps of equal size: a last one of few rows would weigh as much as the others
        for rows in torch.tensor_split(order, count):
            batch = Batch(
                tuple(part[rows] for part in data.inputs),
                data.target[rows],
                None if data.weight is None else data.weight[rows],
                data.generator,
                epoch,
                self.max_epochs,
            )
            loss = self._step(batch)
            total += loss.detach() * len(rows)
        self.history.record("train_batch_count", count)
        return float(total) / n_rows

    def _step(self, batch: Batch) -> torch.Tensor:
        closure: Any = partial(self._loss_and_gradients, batch)
        step: Any = partial(self.optimizer_.step, closure)
        loss: torch.Tensor = (
            self._told(batch, step, training=True) if self.tells_batches else step()
        )
        return loss

    def _loss_and_gradients(self, batch: Batch) -> torch.Tensor:
        self.optimizer_.zero_grad()
        loss: torch.Tensor = self.owner._training_loss(self.module_, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.tells_gradients:
            named = list(self.module_.named_parameters())
            pair = (_one_or_all(batch.inputs), batch.target)
            self.notify(
                "on_grad_computed", named_parameters=named, batch=pair, training=True
            )
        return loss

    def _told(
        self, batch: Batch, work: Callable[[], torch.Tensor], *, training: bool
    ) -> torch.Tensor:
        """Do a step between the two events that skorch has for it."""
        pair = (_one_or_all(batch.inputs), self._scored(batch.target))
        self.notify("on_batch_begin", batch=pair, training=training)
        outputs: list[Any] = []
        hook = self.module_.register_forward_hook(lambda *io: outputs.append(io[2]))
        try:
            loss = work()
        finally:
            hook.remove()
        part = "train" if training else "valid"
        self._record_batch(part, float(loss.detach()), len(batch.target))
        self.notify(
            "on_batch_end",
            batch=pair,
            training=training,
            loss=loss,
            y_pred=_detached(outputs[-1]) if outputs else None,
        )
        return loss

    def _validate(self, epoch: int) -> float:
        module = self.module_.eval()
        self.valid_generator.manual_seed(self.valid_seed)
        total = 0.0
        for batch in self._validation_batches(epoch):
            work = partial(self.owner._validation_loss, module, batch)
            loss = (
                self._told(batch, work, training=False)
                if self.tells_batches
                else work()
            )
            total += float(loss) * len(batch.target)
        return total / len(self.data.valid_target)

    def _validation_batches(self, epoch: int) -> Iterator[Batch]:
        data = self.data
        for start in range(0, len(data.valid_target), _VALID_ROWS):
            rows = slice(start, start + _VALID_ROWS)
            target, weight = take((data.valid_target, data.valid_weight), rows)
            inputs = take(data.valid_inputs, rows)
            yield Batch(
                inputs, target, weight, self.valid_generator, epoch, self.max_epochs
            )

    def _mark_best(self) -> None:
        """Record what callbacks such as Checkpoint look for."""
        self.history.record("lr", self.optimizer_.param_groups[0]["lr"])
        for name in ("train_loss", "valid_loss"):
            if name in self.history[-1]:
                losses = self.history[:, name]
                best = losses[-1] <= np.nanmin(losses)
                self.history.record(f"{name}_best", bool(best))

    def _scored(self, target: torch.Tensor) -> torch.Tensor:
        """Targets as scorers among the callbacks read them."""
        return target

    # skorch's own parts below are reached by scoring callbacks only.

    def infer(self, x: Any, **_: Any) -> torch.Tensor:
        """Evaluate the module on the inputs of a batch."""
        device = self.data.target.device
        parts = x if isinstance(x, (tuple, list)) else (x,)
        output: torch.Tensor = self.module_(*(part.to(device) for part in parts))
        return output


class RegressorNet(RegressorMixin, Net):
    """The net of a regressor; scorers see standardised targets."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict standardised targets."""
        return np.concatenate([y.cpu().numpy() for y in self.forward_iter(X)])


class ClassifierNet(ClassifierMixin, Net):
    """The net of a classifier; scorers see the numbers of the classes."""

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Numbers of the classes."""
        return np.arange(self.data.n_classes)

    def _scored(self, target: torch.Tensor) -> torch.Tensor:
        return target[:, 0].long() if target.ndim == 2 else target

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict the probability of each class."""
        outputs = np.concatenate([y.cpu().numpy() for y in self.forward_iter(X)])
        shares: NDArray[Any] = self.owner._probabilities(outputs)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the numbers of the classes."""
        numbers: NDArray[Any] = np.argmax(self.predict_proba(X), axis=1)
        return numbers


def _one_or_all(inputs: tuple[torch.Tensor, ...]) -> Any:
    """Give a single input as itself, as skorch has it."""
    return inputs[0] if len(inputs) == 1 else inputs


def _detached(output: Any) -> Any:
    """Give what a module returned without its graph: a tensor, or several."""
    if isinstance(output, (list, tuple)):
        return tuple(_detached(part) for part in output)
    return output.detach()
