"""The networks that tell symmetry from a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

__all__ = ["NoPoolNet", "PatternNet", "build"]

# (kernel, stride) of the layers; kernels cover the widest peaks after pooling.
_LIGHT = ((25, 2), (15, 2), (9, 2))
_NO_POOL = ((100, 5), (50, 5), (25, 2))
# Points that the first layer of each network works on.
_LIGHT_POINTS = 875
_NO_POOL_POINTS = 8500


def build(config: Mapping[str, Any]) -> nn.Module:
    """Build the network that a description names."""
    kind = NoPoolNet if config["arch"] == "no-pool" else PatternNet
    return kind(
        config["n_points"], config["n_outputs"], config["n_filters"], config["dropout"]
    )


class _Norm(nn.BatchNorm1d):
    """Batch normalisation that a single number does not stop."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and x.shape[0] * x.shape[2] < 2:
            return functional.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias
            )
        return super().forward(x)


class PatternNet(nn.Module):
    """Three convolutions with pooling, and a linear layer.

    Parameters
    ----------
    n_points : int
        Points of a pattern; more than 875 are averaged in groups first.
    n_outputs : int
        Columns of the output.
    n_filters : int
        Filters of the first layer; the others have twice as many.
    dropout : float
        Share of what the linear layer sees that is dropped in training.
    """

    def __init__(
        self, n_points: int, n_outputs: int, n_filters: int, dropout: float
    ) -> None:
        super().__init__()
        self.group = max(1, n_points // _LIGHT_POINTS)
        sizes = (1, n_filters, 2 * n_filters, 2 * n_filters)
        self.layers = nn.Sequential()
        for i, (kernel, stride) in enumerate(_LIGHT):
            self.layers.append(
                nn.Conv1d(sizes[i], sizes[i + 1], kernel, stride, kernel // 2)
            )
            self.layers.append(_Norm(sizes[i + 1]))
            self.layers.append(nn.ReLU())
            self.layers.append(nn.MaxPool1d(2, ceil_mode=True))
        length = -(-n_points // self.group)
        for _, stride in _LIGHT:
            length = -(-length // stride)
            length = -(-length // 2)
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(sizes[-1] * length, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Give the logits of patterns, one per row."""
        x = x[:, None]
        if self.group > 1:
            x = functional.avg_pool1d(x, self.group, ceil_mode=True)
        return self.last(self.dropout(self.layers(x).flatten(1)))


class NoPoolNet(nn.Module):
    """The wide network without pooling that patterns were first classified with.

    Parameters
    ----------
    n_points : int
        Points of a pattern, which is interpolated to 8,500.
    n_outputs : int
        Columns of the output.
    n_filters : int
        Filters of each layer; 80 in the original, with 2300 and 1150 units after them.
    dropout : float
        Share dropped after the convolutions; the linear layers drop one half.
    """

    def __init__(
        self, n_points: int, n_outputs: int, n_filters: int, dropout: float
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential()
        length, before = _NO_POOL_POINTS, 1
        for kernel, stride in _NO_POOL:
            self.layers.append(nn.Conv1d(before, n_filters, kernel, stride))
            self.layers.append(nn.ReLU())
            self.layers.append(nn.Dropout(dropout))
            length, before = (length - kernel) // stride + 1, n_filters
        sizes = [length * n_filters, 2300 * n_filters // 80, 1150 * n_filters // 80]
        self.dense = nn.Sequential()
        for wide, narrow in pairwise(sizes):
            self.dense.append(nn.Linear(wide, narrow))
            self.dense.append(nn.ReLU())
            self.dense.append(nn.Dropout(0.5))
        self.dense.append(nn.Linear(sizes[-1], n_outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Give the logits of patterns, one per row."""
        x = x[:, None]
        if x.shape[-1] != _NO_POOL_POINTS:
            x = functional.interpolate(
                x, size=_NO_POOL_POINTS, mode="linear", align_corners=True
            )
        return self.dense(self.layers(x).flatten(1))
