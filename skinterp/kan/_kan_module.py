"""Torch modules of Kolmogorov-Arnold networks: layers of curves on edges.

Activations are held as (nodes, rows), so that the features of a layer are one table
whose rows match the coefficients as they are made, and a layer is one product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from skinterp.kan._splines import Grid, features

__all__ = ["KANModule", "MetaKANModule", "MetaLearner", "edge_sizes"]

# Outputs whose coefficients are made at once when memory is short.
_OUTPUTS_AT_ONCE = 64
# Above so many codes, comparing them with one kink after the other is faster.
_MANY_CODES = 20_000
# Codes whose coefficients stay in the cache.
_BLOCK = 8192
# Up to so many, the hidden units cost less than finding the pieces.
_FEW_CODES = 8192


class KANModule(nn.Module):
    """A network of curves, each with coefficients of its own.

    Parameters
    ----------
    config : mapping
        ``widths``, ``grid_size``, ``spline_order``, ``low``, ``high``, ``base``,
        ``squash`` and ``checkpoint``.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.widths = tuple(int(w) for w in config["widths"])
        self.grid = Grid(
            int(config["grid_size"]),
            int(config["spline_order"]),
            float(config["low"]),
            float(config["high"]),
        )
        self.base: str | None = config["base"]
        self.squash = bool(config["squash"])
        self.checkpoint = bool(config["checkpoint"])
        self._make_parameters(config)

    def _make_parameters(self, config: Mapping[str, Any]) -> None:
        made = []
        for n_in, n_out in zip(self.widths[:-1], self.widths[1:], strict=True):
            values = 0.1 * torch.randn(n_out, n_in, self.n_coefficients)
            bound = 1 / sqrt(n_in)
            values[..., -1].uniform_(-bound, bound)
            made.append(nn.Parameter(values))
        self.edges = nn.ParameterList(made)

    @property
    def n_layers(self) -> int:
        """Number of layers of edges."""
        return len(self.widths) - 1

    @property
    def n_coefficients(self) -> int:
        """Coefficients of an edge: those of its B-splines, then the base's weight."""
        return self.grid.n_splines + 1

    def coefficients(self, layer: int, rows: slice = slice(None)) -> Tensor:
        """Coefficients of a layer's edges, shape (n_out, n_in, n_coefficients)."""
        return self.edges[layer][rows]

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of shape (n_rows, n_outputs)."""
        return self._run(x, None)[-1].T

    def nodes(self, x: Tensor) -> list[Tensor]:
        """Values of all nodes: per layer, inputs included, (n_rows, n_nodes)."""
        return [nodes.T for nodes in self._run(x, None)]

    def forward_with_sizes(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs, and per layer the standard deviation of each edge over the rows."""
        sizes: list[Tensor] = []

        def note(layer: int, table: Tensor, coefficients: Tensor) -> None:
            sizes.append(edge_sizes(table, coefficients))

        return self._run(x, note)[-1].T, sizes

    def _run(self, x: Tensor, note: Callable[..., None] | None) -> list[Tensor]:
        nodes = [x.T.contiguous()]
        for layer in range(self.n_layers):
            if note is None and self.checkpoint and torch.is_grad_enabled():
                done = checkpoint(self._layer, layer, nodes[-1], use_reentrant=False)
            else:
                done = self._layer(layer, nodes[-1], note)
            if self.squash and layer < self.n_layers - 1:
                done = torch.tanh(done)
            nodes.append(done)
        return nodes

    def _layer(
        self, layer: int, x: Tensor, note: Callable[..., None] | None = None
    ) -> Tensor:
        table = features(x, self.grid, self.base)
        flat = table.view(-1, x.shape[1])
        n_out = self.widths[layer + 1]
        if note is not None or not self.checkpoint or n_out <= _OUTPUTS_AT_ONCE:
            coefficients = self.coefficients(layer)
            if note is not None:
                note(layer, table, coefficients)
            return coefficients.reshape(n_out, -1) @ flat
        parts = [
            slice(start, min(start + _OUTPUTS_AT_ONCE, n_out))
            for start in range(0, n_out, _OUTPUTS_AT_ONCE)
        ]
        chunks = [self.coefficients(layer, rows).flatten(1) @ flat for rows in parts]
        return torch.cat(chunks)


def edge_sizes(
    table: Tensor, coefficients: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Standard deviation of each edge over rows, without the edges' values.

    They are quadratic forms in the covariances of the features, one per input: the cost
    in rows does not depend on the number of outputs.
    """
    if weight is None:
        share = table.new_full((table.shape[2],), 1 / table.shape[2])
    else:
        share = weight / weight.sum()
    centered = table - (table * share).sum(dim=2, keepdim=True)
    covariance = (centered * share) @ centered.transpose(1, 2)
    return quadratic_sizes(coefficients, covariance)


def quadratic_sizes(coefficients: Tensor, covariance: Tensor) -> Tensor:
    """Square roots of the quadratic forms of (n_out, n_in, K) and (n_in, K, K)."""
    turned = coefficients.transpose(0, 1)  # per input, all outputs
    variance = ((turned @ covariance) * turned).sum(dim=2).T
    # the root has no slope at zero
    return (variance.clamp(min=0) + 1e-24).sqrt()


class MetaKANModule(KANModule):
    """A network of curves whose coefficients small networks make from codes.

    Parameters
    ----------
    config : mapping
        As for `KANModule`, and ``code_dim``, ``meta_hidden``, ``meta_activation`` and
        ``groups``: for each layer the number of its meta-learner.
    """

    def _make_parameters(self, config: Mapping[str, Any]) -> None:
        self.code_dim = int(config["code_dim"])
        self.groups = tuple(int(g) for g in config["groups"])
        codes = []
        for n_in, n_out in zip(self.widths[:-1], self.widths[1:], strict=True):
            deviation = sqrt(2 / (n_in * n_out + self.code_dim))
            drawn = deviation * torch.randn(n_out, n_in, self.code_dim)
            codes.append(nn.Parameter(drawn))
        self.codes = nn.ParameterList(codes)
        self.learners = nn.ModuleList(
            MetaLearner(
                self.code_dim,
                int(config["meta_hidden"]),
                self.n_coefficients,
                config["meta_activation"],
            )
            for _ in range(max(self.groups) + 1)
        )

    def coefficients(self, layer: int, rows: slice = slice(None)) -> Tensor:
        """Coefficients made from the codes, shape (n_out, n_in, n_coefficients)."""
        made: Tensor = self.learners[self.groups[layer]](self.codes[layer][rows])
        return made


class MetaLearner(nn.Module):
    """The small network from an edge's code to its coefficients.

    Parameters
    ----------
    code_dim : int
        Numbers of a code.
    hidden : int
        Hidden units.
    n_coefficients : int
        Numbers to make.
    activation : {"relu", None}
        None leaves an affine map, which is what the published classification code does.
    """

    def __init__(
        self, code_dim: int, hidden: int, n_coefficients: int, activation: str | None
    ) -> None:
        super().__init__()
        self.activation = activation
        self.few = _FEW_CODES
        self.first = nn.Linear(code_dim, hidden)
        self.second = nn.Linear(hidden, n_coefficients)
        for layer in (self.first, self.second):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, codes: Tensor) -> Tensor:
        """Coefficients of each code."""
        if self.activation is None:
            weight = self.second.weight @ self.first.weight
            bias = self.second.weight @ self.first.bias + self.second.bias
            return nn.functional.linear(codes, weight, bias)
        if codes.shape[-1] != 1 or codes.numel() <= self.few:
            hidden: Tensor = torch.relu(self.first(codes))
            made: Tensor = self.second(hidden)
            return made
        return self._by_pieces(codes)

    def _by_pieces(self, codes: Tensor) -> Tensor:
        """Numbers of one code each: the map is a line between kinks, 33 at most.

        So an edge costs a look-up and one product instead of all hidden units, and
        the gradients are exactly those of the network.
        """
        w, b = self.first.weight[:, 0], self.first.bias
        with torch.no_grad():
            kinks = torch.where(w == 0, torch.full_like(w, torch.inf), -b / w)
            kinks, order = kinks.sort()
            rank = torch.empty_like(order)
            rank[order] = torch.arange(len(order), device=order.device)
            piece = torch.arange(len(order) + 1, device=order.device)[:, None]
            on = torch.where(w > 0, piece > rank, piece <= rank)
            on = torch.where(w == 0, b > 0, on).to(w.dtype)
            place = _pieces_of(codes.detach().reshape(-1), kinks)
        slope = (on * w) @ self.second.weight.T
        start = (on * b) @ self.second.weight.T + self.second.bias
        lines = torch.cat([slope, start], dim=1)
        made: Tensor = _Lines.apply(codes.reshape(-1, 1), lines, place)  # type: ignore[no-untyped-call]
        return made.reshape(*codes.shape[:-1], -1)


def _pieces_of(codes: Tensor, kinks: Tensor) -> Tensor:
    """For each code the number of kinks below it."""
    if len(codes) < _MANY_CODES or codes.device.type != "cpu":
        return torch.bucketize(codes, kinks, out_int32=True)
    place = torch.empty(len(codes), dtype=torch.int16)
    limits = kinks.tolist()
    for part, count in zip(codes.split(_BLOCK), place.split(_BLOCK), strict=True):
        count.zero_()
        for limit in limits:
            count += part > limit
    return place


class _Lines(torch.autograd.Function):
    """Value at each code of the line that its piece has, a block of codes at a time."""

    @staticmethod
    def forward(ctx: Any, codes: Tensor, lines: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(codes, lines, place)
        k = lines.shape[1] // 2
        made = codes.new_empty(len(codes), k)
        parts = (t.split(_BLOCK) for t in (codes, place, made))
        for code, piece, out in zip(*parts, strict=True):
            # embedding copies whole rows, which indexing does not
            rows = nn.functional.embedding(piece.long(), lines)
            torch.addcmul(rows[:, k:], rows[:, :k], code, out=out)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[override]
        codes, lines, place = ctx.saved_tensors
        k = lines.shape[1] // 2
        slopes = lines[:, :k].contiguous()
        for_codes = torch.empty_like(codes)
        for_slopes, for_starts = torch.zeros_like(slopes), torch.zeros_like(slopes)
        parts = (t.split(_BLOCK) for t in (codes, place, gradients[0], for_codes))
        for code, piece, given, out in zip(*parts, strict=True):
            piece = piece.long()  # kept short between the passes
            slope = nn.functional.embedding(piece, slopes)
            torch.sum(slope.mul_(given), dim=1, keepdim=True, out=out)
            for_starts.index_add_(0, piece, given)
            for_slopes.index_add_(0, piece, torch.mul(given, code, out=slope))
        return for_codes, torch.cat([for_slopes, for_starts], dim=1), None
