"""What the hooks of a method are given: the rows of a training, and a batch of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    from torch import Generator, Tensor

__all__ = ["Batch", "TrainingData"]


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The rows of one training, as tensors on the device.

    Parameters
    ----------
    inputs : tuple of Tensor
        What the module is called with, one row per training row.
    target : Tensor of shape (n_samples, n_outputs) or (n_samples,)
        Regression: the targets, standardised where the method asks for it. Two classes:
        0.0 and 1.0 in one column. More classes: their numbers, int64, without columns.
    weight : Tensor of shape (n_samples,) or None
        Weights of the rows with mean one; None when all rows weigh the same.
    valid_inputs, valid_target, valid_weight : as above, or None
        The rows kept apart for validation; ``valid_inputs`` is None without them.
    n_features : int
        Columns of X as the user gave it.
    n_outputs : int
        Columns that the module must return: outputs of a regression, 1 for two
        classes, the number of classes for more.
    n_classes : int
        Number of classes, 0 for a regression.
    generator : Generator
        The only source of random numbers for hooks; on the CPU.

    See Also
    --------
    Batch : Some of the rows.

    Examples
    --------
    >>> import torch
    >>> from skinterp.neural import TrainingData
    >>> data = TrainingData(
    ...     inputs=(torch.zeros(3, 2),),
    ...     target=torch.zeros(3, 1),
    ...     n_features=2,
    ...     n_outputs=1,
    ...     generator=torch.Generator(),
    ... )
    >>> len(data), data.X.shape
    (3, torch.Size([3, 2]))
    """

    inputs: tuple[Tensor, ...]
    target: Tensor
    weight: Tensor | None = None
    valid_inputs: tuple[Tensor, ...] | None = None
    valid_target: Tensor | None = None
    valid_weight: Tensor | None = None
    n_features: int
    n_outputs: int
    n_classes: int = 0
    generator: Generator

    @property
    def X(self) -> Tensor:
        """The first input: the table, for a method that takes one."""
        return self.inputs[0]

    def __len__(self) -> int:
        return len(self.target)


class Batch:
    """Rows of one step of the training, or of one part of the validation.

    Parameters
    ----------
    inputs : tuple of Tensor
        What the module is called with.
    target : Tensor
        The targets of these rows, as in `TrainingData`.
    weight : Tensor or None
        Their weights, with mean one over all rows (not over these).
    generator : Generator
        Source of random numbers. In the validation it starts from the same seed in
        each epoch, so that epochs are compared on the same draws.
    epoch : int
        Number of the epoch, from 0.
    max_epochs : int
        Number of epochs asked for.

    See Also
    --------
    TrainingData : All rows.

    Examples
    --------
    >>> import torch
    >>> from skinterp.neural import Batch
    >>> batch = Batch((torch.zeros(2, 1),), torch.zeros(2, 1), torch.tensor([0.5, 1.5]))
    >>> batch.mean(torch.tensor([2.0, 4.0]))
    tensor(3.5000)
    """

    __slots__ = ("epoch", "generator", "inputs", "max_epochs", "target", "weight")

    def __init__(
        self,
        inputs: tuple[Tensor, ...],
        target: Tensor,
        weight: Tensor | None = None,
        generator: Generator | None = None,
        epoch: int = 0,
        max_epochs: int = 1,
    ) -> None:
        self.inputs = inputs
        self.target = target
        self.weight = weight
        self.generator = generator
        self.epoch = epoch
        self.max_epochs = max_epochs

    def mean(self, per_row: Tensor) -> Tensor:
        """Weighted mean of one number per row.

        Parameters
        ----------
        per_row : Tensor of shape (n_rows,)
            The numbers.

        Returns
        -------
        Tensor of shape ()
            Their mean.
        """
        if self.weight is not None:
            per_row = per_row * self.weight
        return per_row.mean()


def take(parts: Sequence[Any], rows: Any) -> tuple[Any, ...]:
    """Take the same rows of several arrays or tensors; None stays None."""
    return tuple(None if part is None else part[rows] for part in parts)


def split_rows(
    n_rows: int,
    fraction: float | None,
    labels: NDArray[np.int64] | None,
    random_state: np.random.RandomState,
) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Split rows in those to train and to validate on, by class if possible."""
    rows = np.arange(n_rows)
    n_valid = max(1, round(n_rows * fraction)) if fraction else 0
    if n_valid == 0 or n_rows - n_valid < 1 or n_rows < 3:
        return rows, None
    if labels is not None:
        counts = np.bincount(labels)
        counts = counts[counts > 0]
        if min(counts) < 2 or len(counts) > min(n_valid, n_rows - n_valid):
            labels = None
    train, valid = train_test_split(
        rows, test_size=n_valid, stratify=labels, random_state=random_state
    )
    return np.sort(train), np.sort(valid)
