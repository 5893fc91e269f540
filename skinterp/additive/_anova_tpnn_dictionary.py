"""The torch module of ANOVA-TPNN whose terms share one dictionary per feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["DictionaryNet"]

# Elements of the largest tensor of an evaluation; more rows are taken in parts.
_BUDGET = 2**22


class DictionaryNet(nn.Module):
    """Intercept plus curves and surfaces of fixed logistic functions per feature.

    A surface takes all products of the functions of its two features, which is the form
    of the paper with as many bases as there are products.
    """

    t: Tensor
    tau: Tensor
    mean: Tensor

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.terms = [tuple(term) for term in config["terms"]]
        self.n_curves = sum(len(term) == 1 for term in self.terms)
        self.n_outputs, size = config["n_outputs"], config["n_functions"]
        n_surfaces = len(self.terms) - self.n_curves
        d = config["n_features"]
        self.intercept = nn.Parameter(torch.zeros(self.n_outputs))
        self.curves = nn.Parameter(torch.zeros(self.n_curves, size, self.n_outputs))
        self.surfaces = nn.Parameter(
            torch.zeros(n_surfaces, size, size, self.n_outputs)
        )
        for name in ("t", "tau", "mean"):
            self.register_buffer(name, torch.ones(d, size))

    @torch.no_grad()
    def take(self, solution: Any, X: Tensor, weight: Tensor | None) -> None:
        """Take over coefficients; means become those over the rows, exactly."""
        self.t.copy_(torch.as_tensor(solution.t))
        self.tau.copy_(torch.as_tensor(solution.tau))
        # float64: the means of millions of rows are exact to the last digit shown
        share = X.new_ones(len(X)) if weight is None else weight
        share = share.double() / share.double().sum()
        mean = torch.zeros(self.mean.shape, dtype=torch.float64, device=X.device)
        for rows in parts_of(X, self.mean.numel()):
            mean += torch.tensordot(share[rows], self.sigmoids(X[rows].double()), 1)
        self.mean.copy_(mean)
        # from m - sigmoid to 1 - sigmoid / m
        first = [term[0] for term in self.terms]
        last = [term[-1] for term in self.terms]
        m, n = mean.cpu(), self.n_curves
        self.curves.copy_(torch.as_tensor(solution.curves) * m[first[:n], :, None])
        scale = m[first[n:], :, None, None] * m[last[n:], None, :, None]
        self.surfaces.copy_(torch.as_tensor(solution.surfaces) * scale)
        self.intercept.copy_(torch.as_tensor(solution.intercept))

    def sigmoids(self, X: Tensor) -> Tensor:
        """Logistic functions at rows, of shape (n_rows, n_features, n_functions)."""
        z = (X.unsqueeze(-1) - self.t.to(X.dtype)) / self.tau.to(X.dtype)
        return torch.sigmoid(z)

    def components(self, X: Tensor) -> Tensor:
        """Each term at rows, of shape (n_rows, n_terms, n_outputs)."""
        if not self.terms:
            return X.new_zeros((len(X), 0, self.n_outputs))
        width = self.mean.shape[1] * max(len(self.terms), len(self.mean))
        width *= self.n_outputs
        return torch.cat([self._some(X[rows]) for rows in parts_of(X, width)])

    def _some(self, X: Tensor) -> Tensor:
        phi = (1 - self.sigmoids(X) / self.mean).transpose(0, 1)
        curves = [term[0] for term in self.terms[: self.n_curves]]
        made = [torch.einsum("tnk,tkc->ntc", phi[curves], self.curves)]
        inner = self.terms[self.n_curves :]
        if inner:
            first, second = zip(*inner, strict=True)
            n, size = len(inner), phi.shape[2]
            # one product of matrices per term, in one call
            half = torch.bmm(phi[list(first)], self.surfaces.reshape(n, size, -1))
            half = half.view(n, len(X), size, -1)
            made.append(torch.einsum("tnlc,tnl->ntc", half, phi[list(second)]))
        return torch.cat(made, dim=1)

    @torch.no_grad()
    def surface(self, term: tuple[int, ...], axes: Sequence[Tensor]) -> Tensor:
        """One term at all combinations of points of its features."""
        t = self.terms.index(tuple(term))
        sides = [
            1
            - torch.sigmoid((at.unsqueeze(-1) - self.t[j]) / self.tau[j]) / self.mean[j]
            for j, at in zip(term, axes, strict=True)
        ]
        if t < self.n_curves:
            return sides[0] @ self.curves[t]
        weights = self.surfaces[t - self.n_curves]
        return torch.einsum("ak,klc,bl->abc", sides[0], weights, sides[1])

    def forward(self, X: Tensor) -> Tensor:
        """Outputs at rows, of shape (n_rows, n_outputs)."""
        return self.components(X).sum(1) + self.intercept


def parts_of(X: Tensor, width: int) -> list[slice]:
    """Parts of the rows, so that tensors of that width per row stay small."""
    size = max(1, _BUDGET // max(width, 1))
    return [slice(i, i + size) for i in range(0, max(len(X), 1), size)]
