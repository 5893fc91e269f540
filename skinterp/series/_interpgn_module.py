"""Shapelets as soft predicates, rules over them, and a deep network behind a gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from skinterp.series._interpgn_kernels import l1_distances, l1_gradient

__all__ = [
    "Answer",
    "InterpGN",
    "ShapeletBank",
    "confidence",
    "diversity",
    "window_distances",
]

# Numbers in the windows that are copied at once where there is no kernel.
_COPIED = 2**24


class _MeanAbsoluteDifference(torch.autograd.Function):
    """Mean absolute difference of each shapelet and window, in one pass of a kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
        ctx.save_for_backward(x, shapelets)
        ctx.stride = stride
        n_windows = (x.shape[2] - shapelets.shape[2]) // stride + 1
        out = x.new_empty((len(x), *shapelets.shape[:2], n_windows))
        l1_distances(x.numpy(), shapelets.detach().numpy(), stride, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[None, Tensor, None]:
        x, shapelets = ctx.saved_tensors
        total = np.zeros(shapelets.shape)
        slope = slopes[0].contiguous().numpy()
        l1_gradient(x.numpy(), shapelets.detach().numpy(), ctx.stride, slope, total)
        return None, torch.from_numpy(total).to(shapelets), None


def l1_by_kernel(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    """Distances on the CPU, where the series need no gradient."""
    result: Tensor = _MeanAbsoluteDifference.apply(  # type: ignore[no-untyped-call]
        x.contiguous(), shapelets.contiguous(), stride
    )
    return result


def l1_by_torch(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    """Distances on any device; windows are copied for a few cases and channels at once.

    The copies are made again in the backward pass instead of being kept.
    """
    length = shapelets.shape[2]
    per_channel = ((x.shape[2] - length) // stride + 1) * length
    together = min(max(1, _COPIED // per_channel), x.shape[1])
    cases = max(1, _COPIED // (per_channel * together))
    rows = [
        torch.cat(
            [
                checkpoint(
                    _l1_of_few, *pair, stride, use_reentrant=False,
                    preserve_rng_state=False,
                )
                for pair in zip(
                    part.split(together, dim=1), shapelets.split(together), strict=True
                )
            ],
            dim=1,
        )
        for part in x.split(cases)
    ]  # fmt: skip
    return torch.cat(rows)


def _l1_of_few(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    n_channels, n_shapelets, length = shapelets.shape
    windows = x.unfold(2, length, stride).transpose(0, 1)
    flat = windows.reshape(n_channels, -1, length)
    sums = torch.cdist(flat, shapelets, p=1.0)
    shaped = sums.reshape(n_channels, len(x), -1, n_shapelets)
    return shaped.permute(1, 0, 3, 2) / length


def _l1(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    if x.device.type == "cpu" and not x.requires_grad:
        return l1_by_kernel(x, shapelets, stride)
    return l1_by_torch(x, shapelets, stride)


def _products(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    """Mean product of each shapelet and window, as a convolution per channel."""
    n_channels, n_shapelets, length = shapelets.shape
    weight = shapelets.reshape(n_channels * n_shapelets, 1, length) / length
    out = functional.conv1d(x, weight, stride=stride, groups=n_channels)
    return out.reshape(len(x), n_channels, n_shapelets, -1)


def _means(x: Tensor, length: int, stride: int) -> Tensor:
    """Mean of each window, with a dimension of 1 for the shapelets."""
    return functional.avg_pool1d(x, length, stride).unsqueeze(2)


def _l2(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    length = shapelets.shape[2]
    own = shapelets.square().mean(dim=2)[None, :, :, None]
    windows = _means(x.square(), length, stride)
    return (windows + own - 2 * _products(x, shapelets, stride)).clamp(min=0)


def _angle(x: Tensor, shapelets: Tensor, stride: int, squares: Tensor) -> Tensor:
    """1 - cosine; a flat window or shapelet is at the distance 1."""
    own = shapelets.square().mean(dim=2)[None, :, :, None]
    tiny = 1e-12 if x.dtype == torch.float64 else 1e-6
    size = (squares.clamp(min=tiny) * own.clamp(min=tiny)).sqrt()
    return (1 - _products(x, shapelets, stride) / size).clamp(0, 2)


def _cosine(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    squares = _means(x.square(), shapelets.shape[2], stride)
    return _angle(x, shapelets, stride, squares)


def _pearson(x: Tensor, shapelets: Tensor, stride: int) -> Tensor:
    length = shapelets.shape[2]
    squares = _means(x.square(), length, stride) - _means(x, length, stride).square()
    centred = shapelets - shapelets.mean(dim=2, keepdim=True)
    return _angle(x, centred, stride, squares)


_DISTANCES: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "l1": _l1,
    "l2": _l2,
    "cosine": _cosine,
    "pearson": _pearson,
}


def window_distances(
    x: Tensor, shapelets: Tensor, stride: int, distance: str
) -> Tensor:
    """Distance of each shapelet to each window of its channel.

    ``x`` is (n_cases, n_channels, n_timepoints), ``shapelets`` (n_channels,
    n_shapelets, length); the result (n_cases, n_channels, n_shapelets, n_windows).
    """
    return _DISTANCES[distance](x, shapelets, stride)


class _BestWindow(torch.autograd.Function):
    """The predicate of the best window; its gradient is straight-through.

    Forward it is max_t p_t with p_t = exp(-(epsilon d_t)^2). The gradient is that of
    p_{t*} + sum_t p_t softmax(p)_t, where the factor p_t is held fixed, so that windows
    other than the best learn as well.
    """

    @staticmethod
    def forward(ctx: Any, distances: Tensor, epsilon: float) -> Any:
        least, at = distances.min(dim=-1)
        ctx.save_for_backward(distances, at)
        ctx.epsilon = epsilon
        ctx.mark_non_differentiable(least, at)
        return (-(epsilon * least).square()).exp(), least, at

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> tuple[Tensor, None]:
        distances, at = ctx.saved_tensors
        p = (-(ctx.epsilon * distances).square()).exp()
        soft = p.softmax(dim=-1)
        slope = soft * (p - (soft * p).sum(dim=-1, keepdim=True))
        slope.scatter_add_(-1, at[..., None], torch.ones_like(slope[..., :1]))
        slope *= p * distances * (-2 * ctx.epsilon**2) * slopes[0][..., None]
        return slope, None


class ShapeletBank(nn.Module):
    """Shapelets of one length, some for each channel.

    ``weight`` is (n_channels, n_shapelets, length). Called with series it gives
    predicates, least distances and the first points of the best windows, each
    (n_cases, n_channels * n_shapelets).
    """

    def __init__(
        self, n_channels: int, n_shapelets: int, length: int, stride: int
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_channels, n_shapelets, length))
        self.stride = stride

    def forward(
        self, x: Tensor, epsilon: float, distance: str
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Match the shapelets with normalised series."""
        d = window_distances(x, self.weight, self.stride, distance)
        p, least, at = _BestWindow.apply(d, epsilon)  # type: ignore[no-untyped-call]
        return p.flatten(1), least.flatten(1), at.flatten(1) * self.stride


def diversity(weight: Tensor) -> Tensor:
    """Mean of exp(-distance) over pairs of shapelets of a bank; with itself it is 0.

    Pairs are of one channel; (K - 1) / K if all are equal, 0 if all are far apart.
    """
    n = weight.shape[1]
    # the small shift keeps the square root's slope finite where two are equal
    gaps = weight[:, :, None, :] - weight[:, None, :, :] + 1e-6
    near = (-gaps.square().sum(dim=3).sqrt()).exp()
    others = 1 - torch.eye(n, dtype=weight.dtype, device=weight.device)
    return (near * others).mean()


def confidence(scores: Tensor) -> Tensor:
    """Gini index of the class probabilities: 0 if all are equal, 1 if one is sure."""
    n = scores.shape[1]
    if n == 1:
        return scores.new_ones(len(scores))
    squares = scores.softmax(dim=1).square().sum(dim=1)
    # uniform probabilities give -1e-7 in float32
    return ((n * squares - 1) / (n - 1)).clamp(0, 1)


class Answer(NamedTuple):
    """What the network says of some series.

    Output of the whole and of the shapelets alone, scores that the gate is made of, the
    gate, predicates, least distances, and first points of the best windows: tensors,
    or arrays of them.
    """

    mixed: Any
    own: Any
    scores: Any
    eta: Any
    predicates: Any
    least: Any
    starts: Any


class InterpGN(nn.Module):
    """Rules over shapelets, and the deep network that helps where they are unsure.

    Parameters
    ----------
    config : mapping
        ``n_channels``, ``n_timepoints``, ``lengths``, ``strides``, ``n_shapelets``,
        ``epsilon``, ``distance``, ``n_classes`` (ranges, in a regression),
        ``regression``, ``deep``, ``gate_threshold``.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.epsilon, self.distance = config["epsilon"], config["distance"]
        self.gate_threshold = config["gate_threshold"]
        n_channels, n_shapelets = config["n_channels"], config["n_shapelets"]
        sizes = zip(config["lengths"], config["strides"], strict=True)
        self.banks = nn.ModuleList(
            ShapeletBank(n_channels, n_shapelets, length, stride)
            for length, stride in sizes
        )
        n_predicates = n_channels * n_shapelets * len(self.banks)
        n_classes = config["n_classes"]
        self.rules = nn.Linear(n_predicates, n_classes, bias=False)
        self.value = nn.Linear(n_predicates, 1) if config["regression"] else None
        n_outputs = 1 if config["regression"] else n_classes
        self.deep = self._deep(config, n_outputs)

    @staticmethod
    def _deep(config: Mapping[str, Any], n_outputs: int) -> nn.Module | None:
        if config["deep"] is None:
            return None
        from skinterp.series._interpgn_deep import make_deep

        sizes = config["n_channels"], config["n_timepoints"], n_outputs
        return make_deep(config["deep"], *sizes)

    def predicates(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Predicates, least distances, and first points of the best windows."""
        found = [bank(x, self.epsilon, self.distance) for bank in self.banks]
        p, least, at = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
        return p, least, at

    def answer(self, x: Tensor, raw: Tensor | None = None) -> Answer:
        """Ask the shapelets, then the deep network where they are unsure."""
        p, least, starts = self.predicates(x)
        scores = self.rules(p)
        own = scores if self.value is None else self.value(p)
        if self.deep is None:
            eta = scores.new_ones(len(scores))
            return Answer(own, own, scores, eta, p, least, starts)
        eta = confidence(scores)
        if not self.training:
            eta = torch.where(eta > self.gate_threshold, torch.ones_like(eta), eta)
        share = eta[:, None]
        mixed = share * own + (1 - share) * self.deep(raw)
        return Answer(mixed, own, scores, eta, p, least, starts)

    def forward(self, x: Tensor, raw: Tensor | None = None) -> Tensor:
        """Outputs as the bridge has them: of two classes the log-odds."""
        return self.columns(self.answer(x, raw).mixed)

    def columns(self, output: Tensor) -> Tensor:
        """Turn one logit per class into log-odds where there are two classes."""
        if self.value is None and output.shape[1] == 2:
            return output[:, 1:] - output[:, :1]
        return output

    def penalty(self, lambda_reg: float, lambda_div: float) -> Tensor:
        """Size of the rules, and likeness of shapelets within a bank."""
        total = lambda_reg * self.rules.weight.abs().mean()
        if self.value is not None:
            total = total + lambda_reg * self.value.weight.abs().mean()
        if lambda_div:
            weights: Any = [bank.weight for bank in self.banks]
            total = total + lambda_div * sum(diversity(w) for w in weights)
        return total

    @torch.no_grad()
    def make_nonnegative(self) -> None:
        """Take negative rules away."""
        self.rules.weight.clamp_(min=0)
        if self.value is not None:
            self.value.weight.clamp_(min=0)
