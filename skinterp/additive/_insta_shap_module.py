"""All shape functions of a masked additive model as one batched network."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["ShapeNetworks"]


class ShapeNetworks(nn.Module):
    """A small ReLU network per term, on when all players of the term are present.

    Parameters
    ----------
    config : mapping
        ``terms``: players of each term; ``columns``: its columns; ``n_players``,
        ``n_features``, ``n_outputs``; ``hidden``: units of the layers.
    """

    where: Tensor
    member: Tensor

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        terms, columns = config["terms"], config["columns"]
        width = max(map(len, columns), default=1)
        self.n_outputs = int(config["n_outputs"])
        # Terms of fewer columns read a column of zeros that is put behind the others.
        nothing = int(config["n_features"])
        padded = [[*c, *[nothing] * (width - len(c))] for c in columns]
        member = torch.zeros(len(terms), int(config["n_players"]))
        for t, term in enumerate(terms):
            member[t, list(term)] = 1.0
        where = torch.tensor(padded, dtype=torch.long).reshape(-1, width)
        self.register_buffer("where", where, persistent=False)
        self.register_buffer("member", member, persistent=False)
        sizes = [width, *config["hidden"], self.n_outputs]
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for layer, (a, b) in enumerate(pairwise(sizes)):
            weight = torch.randn(len(terms), b, a) * (2 / a) ** 0.5
            if layer == 0:
                fans = torch.tensor([float(len(c)) for c in columns])
                weight *= (a / fans)[:, None, None] ** 0.5
            elif layer == len(sizes) - 2:  # so that the sum starts small
                weight *= 0.5 / max(1, len(terms)) ** 0.5
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(len(terms), b, 1)))
        self.intercept = nn.Parameter(torch.zeros(self.n_outputs))

    def gather(self, x: Tensor) -> Tensor:
        """Cells that each term reads: (n_terms, width, n_rows)."""
        behind = torch.cat([x, x.new_zeros(len(x), 1)], dim=1)
        return behind.T.contiguous()[self.where]

    def parts(self, x: Tensor) -> Tensor:
        """Value of each term: (n_terms, n_outputs, n_rows).

        One batched product per layer. Rows are the last axis, along which it runs
        fastest.
        """
        h = self.gather(x)
        last = len(self.weights) - 1
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(b, w, h)
            if i < last:
                h = h.relu_()
        return h

    def switch(self, present: Tensor) -> Tensor:
        """1 where a term is on, else 0: (n_terms, n_rows)."""
        absent = self.member @ (1 - present).T
        return (absent < 0.5).to(present.dtype)

    def switched_parts(self, x: Tensor, present: Tensor) -> Tensor:
        """Value of each term, 0 where it is off."""
        return self.parts(x) * self.switch(present)[:, None]

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        """Sum of the intercept and the terms that are on: (n_rows, n_outputs)."""
        return self.switched_parts(x, present).sum(dim=0).T + self.intercept

    def place_kinks(self, x: Tensor, generator: torch.Generator) -> None:
        """Let first units bend at rows of the data."""
        cells = self.gather(x)
        w, b = self.weights[0], self.biases[0]
        n_terms, n_units, _ = w.shape
        rows = torch.randint(len(x), (n_terms, n_units), generator=generator)
        rows = rows.to(x.device)[:, None].expand(-1, cells.shape[1], -1)
        at = cells.gather(2, rows)  # (n_terms, width, n_units)
        b.copy_(-(w * at.transpose(1, 2)).sum(dim=2, keepdim=True))

    def size(self) -> Tensor:
        """Sum of absolute weights, counted per unit that they enter."""
        total = self.intercept.new_zeros(())
        for w in self.weights:
            total = total + w.abs().sum() / w.shape[1]
        return total
