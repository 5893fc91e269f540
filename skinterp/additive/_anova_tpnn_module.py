"""The torch module of ANOVA-TPNN: all terms of one order in one tensor operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from skinterp.additive._anova_tpnn_operations import LookUp, Sigmoids

__all__ = ["TensorProductNet"]

# At the start: narrowest widths in ranges of the feature, size of the coefficients.
NARROWEST, FIRST_WEIGHTS = 1 / 64, 0.1
# How much stronger coefficients are pulled to zero per further feature of their term.
ORDER_FACTOR = 10.0
# Elements of the largest tensor of an evaluation; more rows are taken in parts.
_BUDGET = 2**22
_TINY = 1e-12


class Terms(nn.Module):
    """All terms of one order."""

    columns: Tensor
    mean: Tensor
    deviation: Tensor
    points: Tensor
    weights: Tensor
    lowest: Tensor
    highest: Tensor
    sign: Tensor

    def __init__(
        self,
        terms: Sequence[tuple[int, ...]],
        n_bases: int,
        n_members: int,
        n_outputs: int,
        grid: Mapping[str, Any],
        *,
        shared: bool,
        signs: Any,
    ) -> None:
        super().__init__()
        columns = torch.tensor(terms, dtype=torch.int64)
        n, order = columns.shape
        n_bases *= n_members
        size = (1 if shared else n, order, n_bases)
        self.order, self.n_members = order, n_members
        self.beta = nn.Parameter(torch.zeros(n, n_bases, n_outputs))
        self.t = nn.Parameter(torch.zeros(size))
        self.log_tau = nn.Parameter(torch.zeros(size))
        self.register_buffer("columns", columns)
        self.register_buffer("mean", torch.full((n, order, n_bases), 0.5))
        self.register_buffer("deviation", torch.ones(n, order, n_bases))
        dtype = self.beta.dtype
        for name in ("points", "weights", "lowest", "highest"):
            made = torch.as_tensor(grid[name], dtype=dtype)[columns]
            self.register_buffer(name, made, persistent=False)
        made = torch.as_tensor(signs, dtype=dtype)[columns[:, :1, None]]
        self.register_buffer("sign", made if order == 1 else 0 * made, persistent=False)

    def coefficients(self) -> Tensor:
        """Weights of the scaled bases; those of monotone terms keep their sign."""
        # phi falls with x: a term rises where its weights are negative
        bound = -self.sign * self.beta
        return torch.where(self.sign == 0, self.beta, -self.sign * bound.clamp(min=0))

    def bases(self) -> Tensor:
        """Scaled bases on the grid, of shape (n_terms, order, n_bases, n_points)."""
        phi: Tensor = Sigmoids.apply(self.points, self.weights, self.t, self.log_tau)[0]
        return phi

    def tables(self) -> Tensor:
        """Each member's terms on their grids.

        Of shape (n_terms * n_points**order, n_members * n_outputs).
        """
        phi, beta = self.bases(), self.coefficients()
        n, _, _, size = phi.shape
        outputs = beta.shape[2]
        members = n * self.n_members
        # (terms and members, bases, points)
        first, *others = (part.reshape(members, -1, size) for part in phi.unbind(1))
        beta = beta.reshape(members, -1, outputs)
        if self.order == 1:
            made = torch.bmm(first.transpose(1, 2), beta)
        else:
            second = others[0]
            if outputs > 1:
                second = (second.unsqueeze(3) * beta.unsqueeze(2)).flatten(2)
            else:
                second = second * beta
            made = torch.bmm(first.transpose(1, 2), second)
        cells = size**self.order
        made = made.view(n, self.n_members, cells, outputs)
        return made.transpose(1, 2).reshape(n * cells, self.n_members * outputs)

    def codes(self, X: Tensor, borders: Tensor) -> Tensor:
        """Entries of ``tables`` for each row, without the shift of earlier tables."""
        size = self.points.shape[-1]
        bins = torch.searchsorted(borders, X.T.contiguous()).T[:, self.columns]
        code = bins[..., 0]
        for axis in range(1, self.order):
            code = code * size + bins[..., axis]
        shift = torch.arange(len(self.columns), device=X.device) * size**self.order
        return code + shift

    @torch.no_grad()
    def confine(self) -> None:
        """Keep thresholds inside the data, widths sensible, signs as demanded."""
        low, high = self.lowest, self.highest
        if self.t.shape[0] != low.shape[0]:
            low, high = low.amin(0, keepdim=True), high.amax(0, keepdim=True)
        self.t.copy_(torch.minimum(torch.maximum(self.t, low), high))
        span = (self.points.amax(-1) - self.points.amin(-1)).unsqueeze(-1)
        if self.t.shape[0] != span.shape[0]:
            span = span.amax(0, keepdim=True)
        span = torch.log(span.clamp(min=_TINY))
        limits = span - 6.9, span + 2.3
        self.log_tau.copy_(
            torch.minimum(torch.maximum(self.log_tau, limits[0]), limits[1])
        )
        self.beta.copy_(self.coefficients())

    @torch.no_grad()
    def start(self, ordered: Tensor, generator: torch.Generator, scale: Any) -> None:
        """Draw thresholds at ranks of the data, widths in ranges of the feature."""
        n, bases = len(ordered), self.t.shape[2] // self.n_members
        draw = partial(torch.rand, generator=generator)
        # one threshold in each part of the ranks, in any order
        shape = (*self.t.shape[:2], self.n_members, bases)
        level = (draw(shape).argsort(-1) + draw(shape)) / bases
        place = level.flatten(2).to(ordered.device) * (n - 1)
        low = place.long().clamp(max=max(n - 2, 0))
        high = (low + 1).clamp(max=n - 1)
        column = self.columns[: len(self.t), :, None].expand_as(low)
        rest = (place - low).to(ordered.dtype)
        t = ordered[low, column] * (1 - rest) + ordered[high, column] * rest
        self.t.copy_(t)
        span = torch.maximum(ordered[-1][column] - t, t - ordered[0][column])
        log_tau = torch.log(span.clamp(min=1e-6))
        if scale == "mixed":
            log_tau += math.log(NARROWEST) * draw(log_tau.shape).to(log_tau.device)
        else:
            log_tau += math.log(scale)
        self.log_tau.copy_(log_tau)
        beta = torch.randn(self.beta.shape, generator=generator)
        self.beta.copy_(FIRST_WEIGHTS * beta / bases**0.5)

    @torch.no_grad()
    def set_constants(self, X: Tensor, weight: Tensor | None) -> None:
        """Set mean and deviation of each logistic function to those over the rows."""
        # float64: the means of millions of rows are exact to the last digit shown
        weight = X.new_ones(len(X)) if weight is None else weight
        weight = weight.double() / weight.double().sum()
        first = torch.zeros(self.mean.shape, dtype=torch.float64, device=X.device)
        second = torch.zeros_like(first)
        for rows in parts_of(X, first.numel()):
            s = self.sigmoids(X[rows].double())
            first += torch.tensordot(weight[rows], s, dims=1)
            second += torch.tensordot(weight[rows], s.square_(), dims=1)
        self.mean.copy_(first)
        self.deviation.copy_((second - first.square()).clamp(min=1e-12).sqrt())

    def at_rows(self, X: Tensor, *, summed: bool = True) -> Tensor:
        """Each member's sum of terms at the rows, with the constants of the grid.

        Of shape (n_rows, n_members * n_outputs); not summed, with terms before it.
        """
        rate = torch.exp(-self.log_tau).unsqueeze(-1)
        s = torch.sigmoid((self.points.unsqueeze(2) - self.t.unsqueeze(-1)) * rate)
        w = self.weights.unsqueeze(2)
        mean = (s * w).sum(-1)
        variance = ((s - mean.unsqueeze(-1)).square() * w).sum(-1)
        phi = (mean - self.sigmoids(X)) / (variance + _TINY).sqrt()
        n, k = len(self.columns), self.n_members
        phi = phi.prod(2).view(len(X), n, k, -1)
        beta = self.coefficients().view(n, k, phi.shape[3], -1)
        parts = torch.einsum("ntmk,tmkc->ntmc", phi, beta).flatten(2)
        return parts.sum(1) if summed else parts

    def sigmoids(self, X: Tensor) -> Tensor:
        """Logistic functions at rows, of shape (n_rows, n_terms, order, n_bases)."""
        t, log_tau = self.t.to(X.dtype), self.log_tau.to(X.dtype)
        z = (X[:, self.columns].unsqueeze(-1) - t) * torch.exp(-log_tau)
        return torch.sigmoid(z)

    def forward(self, X: Tensor) -> Tensor:
        """Each term at rows, of shape (n_rows, n_terms, n_outputs)."""
        # the basis of the paper; its weights take back the scaling of the training
        phi = 1 - self.sigmoids(X) / self.mean
        scale = (self.mean / self.deviation).prod(1)
        weights = self.coefficients() * scale.unsqueeze(-1) / self.n_members
        return torch.einsum("ntk,tkc->ntc", phi.prod(2), weights)

    def surface(self, term: tuple[int, ...], axes: Sequence[Tensor]) -> Tensor:
        """One of the terms on a grid, of shape (n_points, ..., n_outputs)."""
        t = self.columns.tolist().index(list(term))
        u = t if len(self.t) > 1 else 0
        weights = self.coefficients()[t] / self.n_members
        weights = weights * (self.mean[t] / self.deviation[t]).prod(0).unsqueeze(-1)
        made = weights.unsqueeze(0)
        for i in range(self.order - 1, -1, -1):
            z = (axes[i].unsqueeze(-1) - self.t[u, i]) * torch.exp(-self.log_tau[u, i])
            phi = 1 - torch.sigmoid(z) / self.mean[t, i]
            if i > 0:
                made = (phi[:, None, :, None] * made).flatten(0, 1)
            else:
                made = torch.einsum("ak,bkc->abc", phi, made)
        return made.reshape(*map(len, axes), -1)


def parts_of(X: Tensor, width: int) -> list[slice]:
    """Parts of the rows, so that tensors of that width per row stay small."""
    size = max(1, _BUDGET // max(width, 1))
    return [slice(i, i + size) for i in range(0, max(len(X), 1), size)]


class TensorProductNet(nn.Module):
    """Intercept plus terms; trained on the grids, evaluated at the rows themselves.

    Its members are networks of their own, trained side by side on the same terms; the
    bases of all of them together make the averaged terms.
    """

    borders_1: Tensor
    borders_2: Tensor
    dials: Tensor

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.n_members, self.n_outputs = config["n_members"], config["n_outputs"]
        self.intercept = nn.Parameter(torch.zeros(self.n_outputs))
        self.orders = sorted({len(term) for term in config["terms"]})
        for order in self.orders:
            block = Terms(
                [term for term in config["terms"] if len(term) == order],
                config["n_bases"],
                self.n_members,
                self.n_outputs,
                config["fine"] if order == 1 else config["coarse"],
                shared=config["shared_basis"],
                signs=config["signs"],
            )
            self.add_module(f"terms_{order}", block)
        for name, grid in (("borders_1", "fine"), ("borders_2", "coarse")):
            made = torch.as_tensor(config[grid]["borders"], dtype=self.intercept.dtype)
            self.register_buffer(name, made, persistent=False)
        n_features = len(config["fine"]["points"])
        self.register_buffer("dials", torch.zeros(n_features, self.n_members))

    def blocks(self) -> list[Any]:
        """Terms by order, as they stand in ``terms_``."""
        return [self.get_submodule(f"terms_{order}") for order in self.orders]

    # -- the start --------------------------------------------------------------------
    @torch.no_grad()
    def start(self, X: Tensor, generator: torch.Generator, scale: Any) -> None:
        """Draw the first bases from the rows, coefficients near zero."""
        ordered = X.sort(dim=0).values
        for block in self.blocks():
            block.start(ordered, generator, scale)
        drawn = torch.rand(self.dials.shape, generator=generator)
        self.dials.copy_(200 * drawn.to(X.device) + 100)
        self.confine()

    @torch.no_grad()
    def start_intercept(self, target: Tensor, weight: Tensor | None, n: int) -> None:
        """Set the intercept to the logits of the classes' shares."""
        weight = (
            torch.ones(len(target), device=target.device) if weight is None else weight
        )
        codes = target.reshape(-1).long()
        counts = torch.zeros(n, device=target.device, dtype=weight.dtype)
        counts.index_add_(0, codes, weight)
        logits = torch.log((counts + 0.5) / counts.sum())
        logits = logits - logits.mean() if n > 2 else (logits[1:] - logits[:1])
        self.intercept.copy_(logits)

    # -- the training -----------------------------------------------------------------
    def confine(self) -> None:
        """Keep all parameters where they may be."""
        for block in self.blocks():
            block.confine()

    def binned(self, X: Tensor) -> Tensor:
        """Each member's outputs, with cells rounded to the grids.

        Of shape (n_rows, n_members, n_outputs).
        """
        tables, codes, shift = [], [], 0
        output = X.new_zeros((len(X), self.n_members * self.n_outputs))
        for block in self.blocks():
            if block.order > 2:  # a grid would be too large: at the rows
                output = output + block.at_rows(X)
                continue
            borders = self.borders_1 if block.order == 1 else self.borders_2
            tables.append(block.tables())
            codes.append(block.codes(X, borders) + shift)
            shift += len(tables[-1])
        if tables:
            output = output + LookUp.apply(torch.cat(tables), torch.cat(codes, dim=1))
        shape = (len(X), self.n_members, self.n_outputs)
        return output.view(shape) + self.intercept

    def admit(self, X: Tensor, share: float) -> Tensor:
        """Weights, 0 or 1 / share, of rows for each member: its part of the data.

        A row's part in a member is a function of its cells, so that the same rows are
        left out in each epoch, and copies of a row with them.
        """
        drawn = torch.frac((X @ self.dials).abs() + 0.5)
        return (drawn < share).to(X.dtype) / share

    def squares(self) -> Tensor:
        """Sum of the squared coefficients of the scaled bases, averaged over members.

        Those of two features count more than those of one, and so on: there are more
        surfaces than curves that fit a noise.
        """
        total = self.intercept.new_zeros(())
        for block in self.blocks():
            square = block.coefficients().square().sum()
            total = total + square * ORDER_FACTOR ** (block.order - 1)
        return total / self.n_members

    def mean_square(self, X: Tensor) -> Tensor:
        """Mean over rows, terms and outputs of the squared terms."""
        parts = [block.at_rows(X, summed=False) for block in self.blocks()]
        return torch.cat(parts, dim=1).square().mean()

    @torch.no_grad()
    def set_constants(self, X: Tensor, weight: Tensor | None) -> None:
        """Set the means of all logistic functions to those over the rows."""
        for block in self.blocks():
            block.set_constants(X, weight)

    # -- the fitted model -------------------------------------------------------------
    def components(self, X: Tensor) -> Tensor:
        """Each term at rows, of shape (n_rows, n_terms, n_outputs)."""
        if not self.orders:
            return X.new_zeros((len(X), 0, self.n_outputs))
        width = sum(block.mean.numel() for block in self.blocks())
        parts = [
            torch.cat([block(X[rows]) for block in self.blocks()], dim=1)
            for rows in parts_of(X, width)
        ]
        return torch.cat(parts)

    @torch.no_grad()
    def surface(self, term: tuple[int, ...], axes: Sequence[Tensor]) -> Tensor:
        """One term at all combinations of points of its features."""
        block = self.get_submodule(f"terms_{len(term)}")
        return block.surface(term, axes)  # type: ignore[operator, no-any-return]

    def forward(self, X: Tensor) -> Tensor:
        """Outputs at rows, of shape (n_rows, n_outputs)."""
        return self.components(X).sum(1) + self.intercept
