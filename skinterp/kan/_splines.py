"""B-splines on uniform knots in torch, all functions of a layer in one go.

On uniform knots every B-spline is one shifted bump, which has a closed form: no
recursion over the order, and no table of knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import Any

import torch
from torch import Tensor

# Up to so many numbers a block stays in the cache, and fewer calls win.
_CACHED = 2**17
ROUNDING = 1e-6  # of an interval


@dataclass(frozen=True)
class Grid:
    """The knots of a layer: ``size`` intervals from ``low`` to ``high``, one order."""

    size: int
    order: int
    low: float = -1.0
    high: float = 1.0

    @property
    def step(self) -> float:
        """Width of an interval."""
        return (self.high - self.low) / self.size

    @property
    def n_splines(self) -> int:
        """Number of B-splines over the grid."""
        return self.size + self.order

    def centers(self) -> list[float]:
        """Middle of each B-spline's support, in steps from ``low``."""
        half = (self.order + 1) / 2
        return [g - self.order + half for g in range(self.n_splines)]

    def terms(self) -> list[tuple[float, float]]:
        """Reach and factor of the truncated powers that a bump is the sum of.

        By symmetry it is enough to sum from the nearer end of the support, where
        nothing cancels: ``sum_j (-1)^j C(k+1, j) max(0, (k+1)/2 - j - |t|)^k / k!``.
        """
        k = self.order
        return [
            ((k + 1) / 2 - j, (-1) ** j * comb(k + 1, j) / factorial(k))
            for j in range((k + 2) // 2)
            if (k + 1) / 2 - j > 0
        ]


class _Features(torch.autograd.Function):
    """B-splines and the base function of each input, as one table."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, grid: Grid, base: str | None) -> Tensor:
        ctx.save_for_backward(x)
        ctx.grid, ctx.base = grid, base
        out = x.new_empty(x.shape[0], grid.n_splines + 1, x.shape[1])
        _fill_splines(out, x, grid)
        if base is None:
            out[:, -1] = 0.0
        else:
            out[:, -1] = torch.nn.functional.silu(x)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, None]:  # type: ignore[override]
        if not ctx.needs_input_grad[0]:
            return None, None, None
        (x,) = ctx.saved_tensors
        (given,) = gradients
        slope = _slopes(x, ctx.grid)
        result = (slope * given[:, :-1]).sum(dim=1)
        if ctx.base is not None:
            gate = torch.sigmoid(x)
            result += given[:, -1] * gate * (1 + x * (1 - gate))
        return result, None, None


def features(x: Tensor, grid: Grid, base: str | None) -> Tensor:
    """Values of all B-splines, then of the base function, at each input.

    ``x`` has shape (n_in, n_rows); the result (n_in, n_splines + 1, n_rows).
    """
    result: Tensor = _Features.apply(x, grid, base)  # type: ignore[no-untyped-call]
    return result


def _fill_splines(out: Tensor, x: Tensor, grid: Grid) -> None:
    steps = (x - grid.low) / grid.step
    if grid.order == 0:
        _fill_boxes(out, steps, grid)
        return
    centers = grid.centers()
    if x.numel() * grid.n_splines <= _CACHED:
        shift = torch.tensor(centers, dtype=x.dtype, device=x.device)[:, None]
        _bumps((steps[:, None] - shift).abs_(), grid, out[:, :-1])
        return
    for g, center in enumerate(centers):
        _bumps((steps - center).abs_(), grid, out[:, g])


def _bumps(distance: Tensor, grid: Grid, out: Tensor) -> None:
    """Write the bump at given distances from its middle, measured in steps."""
    for j, (reach, factor) in enumerate(grid.terms()):
        side = (reach - distance).clamp_(min=0)
        power = side
        for _ in range(grid.order - 1):
            power = power * side
        if j == 0:
            torch.mul(power, factor, out=out)
        else:
            out.add_(power, alpha=factor)


def _fill_boxes(out: Tensor, steps: Tensor, grid: Grid) -> None:
    """Order 0: which interval an input lies in; the ends belong to the outer ones.

    Also where scaling has left them a rounding error beyond.
    """
    place = steps.floor()
    place = torch.where((steps < 0) & (steps > -ROUNDING), 0.0, place)
    last = (steps >= grid.size) & (steps < grid.size + ROUNDING)
    place = torch.where(last, grid.size - 1.0, place)
    for g in range(grid.size):
        out[:, g] = place == g


def _slopes(x: Tensor, grid: Grid) -> Tensor:
    """Derivatives of the B-splines, shape (n_in, n_splines, n_rows)."""
    k = grid.order
    if k == 0:
        return x.new_zeros(x.shape[0], grid.n_splines, x.shape[1])
    shift = torch.tensor(grid.centers(), dtype=x.dtype, device=x.device)[:, None]
    offset = ((x - grid.low) / grid.step)[:, None] - shift
    distance, result = offset.abs(), torch.zeros_like(offset)
    for reach, factor in grid.terms():
        side = (reach - distance).clamp_(min=0)
        power = (side > 0).to(x.dtype) if k == 1 else side ** (k - 1)
        result.add_(power, alpha=-k * factor / grid.step)
    return result * offset.sign()
