"""A KAN layer as fast public ones are written: one table of splines by recursion.

Cox and de Boor's recursion over tensors, a weight for the base function and a scale per
edge, two products per layer. It is what our closed form is timed against.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


class RecursiveLayer(nn.Module):
    """Edges from ``n_in`` to ``n_out`` nodes."""

    def __init__(self, n_in: int, n_out: int, size: int = 5, order: int = 3) -> None:
        super().__init__()
        self.order = order
        knots = torch.arange(-order, size + order + 1) * (2 / size) - 1
        self.register_buffer("knots", knots.expand(n_in, -1).contiguous())
        self.base = nn.Parameter(torch.empty(n_out, n_in))
        nn.init.kaiming_uniform_(self.base, a=5**0.5)
        self.splines = nn.Parameter(0.1 * torch.randn(n_out, n_in, size + order))
        self.scale = nn.Parameter(torch.ones(n_out, n_in))

    def table(self, x: Tensor) -> Tensor:
        """B-splines of each input, (n_rows, n_in, n_splines)."""
        x, knots = x.unsqueeze(-1), self.knots
        bases = ((x >= knots[:, :-1]) & (x < knots[:, 1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            rising = (x - knots[:, : -(k + 1)]) / (
                knots[:, k:-1] - knots[:, : -(k + 1)]
            )
            falling = (knots[:, k + 1 :] - x) / (knots[:, k + 1 :] - knots[:, 1:-k])
            bases = rising * bases[:, :, :-1] + falling * bases[:, :, 1:]
        return bases

    def forward(self, x: Tensor) -> Tensor:
        """Sum of the edges at each node."""
        weight = (self.splines * self.scale.unsqueeze(-1)).flatten(1)
        base = functional.linear(functional.silu(x), self.base)
        return base + functional.linear(self.table(x).flatten(1), weight)


def network(widths: tuple[int, ...]) -> nn.Sequential:
    """Layers one after the other."""
    return nn.Sequential(*(RecursiveLayer(a, b) for a, b in pairwise(widths)))
