"""Deep networks for series: the experts that shapelets are mixed with."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["FCN", "ResNet", "make_deep"]


def make_deep(
    deep: str | Callable[..., Any],
    n_channels: int,
    n_timepoints: int,
    n_outputs: int,
) -> nn.Module:
    """Make the deep expert, or call the user's maker of one."""
    if deep == "fcn":
        return FCN(n_channels, n_timepoints, n_outputs)
    if deep == "resnet":
        return ResNet(n_channels, n_outputs)
    assert callable(deep)
    made = deep(n_channels, n_timepoints, n_outputs)
    if not isinstance(made, nn.Module):
        msg = (
            f"deep={deep!r} gave {made!r}; it must give a torch module that takes "
            "(n_cases, n_channels, n_timepoints) and returns (n_cases, n_outputs)."
        )
        raise TypeError(msg)
    return made


class _Norm(nn.BatchNorm1d):
    """Batch normalisation that takes a batch of one number for what it is."""

    def forward(self, input: Tensor) -> Tensor:
        if self.training and input.shape[0] * input.shape[2] == 1:
            return functional.batch_norm(
                input, self.running_mean, self.running_var, self.weight, self.bias
            )
        return super().forward(input)


def _layer(n_in: int, n_out: int, kernel: int, *, same: bool) -> list[nn.Module]:
    """Convolution and normalisation, padded with zeros or not at all."""
    left = (kernel - 1) // 2
    pad = [nn.ConstantPad1d((left, kernel - 1 - left), 0.0)] if same else []
    return [*pad, nn.Conv1d(n_in, n_out, kernel), _Norm(n_out)]


class FCN(nn.Module):
    """Three convolutions of 128, 256 and 128 filters, and the mean over time.

    Kernels of 8, 5 and 3 points, or 3, 3 and 2 for at most ten time points. Lengths
    that they do not fit in, 3 to 5 and 11 to 13, are padded.
    """

    def __init__(
        self,
        n_channels: int,
        n_timepoints: int,
        n_outputs: int,
        filters: tuple[int, int, int] = (128, 256, 128),
    ) -> None:
        super().__init__()
        kernels = (3, 3, 2) if n_timepoints <= 10 else (8, 5, 3)
        same = n_timepoints - sum(kernels) + 3 < 1
        widths = (n_channels, *filters)
        layers: list[nn.Module] = []
        for n_in, n_out, kernel in zip(widths[:-1], widths[1:], kernels, strict=True):
            layers += [*_layer(n_in, n_out, kernel, same=same), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(filters[-1], n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Give one number per output."""
        out: Tensor = self.head(self.body(x).mean(dim=2))
        return out


class _Block(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_layer(n_in, n_out, 8, same=True),
            nn.ReLU(),
            *_layer(n_out, n_out, 5, same=True),
            nn.ReLU(),
            *_layer(n_out, n_out, 3, same=True),
        )
        self.shortcut = nn.Sequential(*_layer(n_in, n_out, 1, same=True))

    def forward(self, x: Tensor) -> Tensor:
        """Add what was learnt to what came in."""
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    """Nine convolutions in three residual blocks of 64, 128 and 128 filters."""

    def __init__(self, n_channels: int, n_outputs: int) -> None:
        super().__init__()
        widths = (n_channels, 64, 128, 128)
        blocks = pairwise(widths)
        self.body = nn.Sequential(*(_Block(a, b) for a, b in blocks))
        self.head = nn.Linear(128, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Give one number per output."""
        out: Tensor = self.head(self.body(x).mean(dim=2))
        return out
