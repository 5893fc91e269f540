"""What ANOVA-TPNN computes at every step, with gradients written by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["LookUp", "Sigmoids"]


class Sigmoids(torch.autograd.Function):
    """Centred and scaled logistic functions on grids, with their exact gradient.

    Of s = sigmoid(exp(-log_tau) (x - t)) at points x with weights w it returns
    -(s - m) / sd, m and sd being the weighted mean and standard deviation of s. That is
    phi = 1 - s / m, times m / sd. Autograd would keep a dozen tensors of this size.
    """

    @staticmethod
    def forward(
        ctx: Any, points: Tensor, weights: Tensor, t: Tensor, log_tau: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        rate = torch.exp(-log_tau).unsqueeze(-1)
        z = (points.unsqueeze(2) - t.unsqueeze(-1)).mul_(rate)
        # beyond, s (1 - s) would slow down the processor as a denormal number
        z.clamp_(-20, 20)
        s = torch.sigmoid(z)
        w = weights.unsqueeze(2)
        mean = (s * w).sum(-1, keepdim=True)
        phi = mean - s
        deviation = (phi.square() * w).sum(-1, keepdim=True).sqrt().clamp_(min=1e-6)
        phi.div_(deviation)
        ctx.save_for_backward(s, z, w, phi, rate, deviation, t)
        return phi, mean.squeeze(-1), deviation.squeeze(-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Any, ...]:
        s, z, w, phi, rate, deviation, t = ctx.saved_tensors
        # the derivative of (m - s) / sd to s, in the direction of grad
        along = (grad * phi).sum(-1, keepdim=True)
        total = grad.sum(-1, keepdim=True)
        slope = w * (total + phi * along) - grad
        slope = slope.div_(deviation).mul_(s).mul_(1 - s)
        to_t = -(slope.sum(-1) * rate.squeeze(-1))
        to_tau = -(slope.mul_(z)).sum(-1)
        if t.shape[0] != grad.shape[0]:  # bases shared by all terms
            to_t, to_tau = to_t.sum(0, keepdim=True), to_tau.sum(0, keepdim=True)
        return None, None, to_t, to_tau


class LookUp(torch.autograd.Function):
    """Sum, per row, of the entries of a table that its codes name."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, codes: Tensor) -> Tensor:
        ctx.save_for_backward(codes)
        ctx.size = table.shape
        n, m = codes.shape
        return table.index_select(0, codes.reshape(-1)).view(n, m, -1).sum(1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (codes,) = ctx.saved_tensors
        spread = grad.unsqueeze(1).expand(*codes.shape, grad.shape[1])
        out = torch.zeros(ctx.size, dtype=grad.dtype, device=grad.device)
        out.index_add_(0, codes.reshape(-1), spread.reshape(-1, grad.shape[1]))
        return out, None
