"""The last step of ANOVA-TPNN's training: all coefficients at once, for fixed bases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["Rows", "solve_coefficients"]

Vector = list[Tensor]

# Strengths of the pull to zero that are tried, strongest first; the one without any
# validation rows; of losses that differ by less the stronger pull is taken.
STRENGTHS, MIDDLE = (64.0, 16.0, 4.0, 1.0, 0.25, 0.06, 0.015), 4.0
_NEARLY = 0.003
# How much more coefficients are pulled to zero per further feature of their term.
ORDER_FACTOR = 1.5
# Steps of conjugate gradients per Newton step, and how small the residual becomes.
_STEPS, _ENOUGH = 150, 1e-3
# Newton steps, and the largest change of an output that ends them.
_NEWTON_STEPS, _SETTLED = 6, 1e-2


class Design:
    """The linear map from coefficients to outputs at rows, cells rounded to grids.

    A vector is a list: the coefficients of each order's terms, of shape (n_terms,
    n_bases, n_outputs) and in units in which equal sizes are equally likely, and the
    intercept.
    """

    def __init__(self, module: Any, X: Tensor) -> None:
        self.sides: list[tuple[Tensor, Tensor | None]] = []
        self.codes: list[Tensor] = []
        self.scales: list[float] = []
        for block in module.blocks():
            borders = module.borders_1 if block.order == 1 else module.borders_2
            phi = block.bases()
            scale = phi.shape[2] ** -0.5 * ORDER_FACTOR ** (-(block.order - 1) / 2)
            first = phi[:, 0] * scale
            self.sides.append((first, phi[:, 1] if block.order == 2 else None))
            self.codes.append(block.codes(X, borders))
            self.scales.append(scale)
        self.n_rows = len(X)

    def outputs(self, vector: Vector) -> Tensor:
        """Outputs of shape (n_rows, n_outputs)."""
        made = vector[-1].expand(self.n_rows, -1).clone()
        for (first, second), codes, beta in zip(
            self.sides, self.codes, vector[:-1], strict=True
        ):
            for c in range(beta.shape[2]):
                right = beta[..., c : c + 1]
                if second is not None:
                    right = second * right
                table = torch.bmm(first.transpose(1, 2), right).reshape(-1)
                made[:, c] += table[codes].sum(1)
        return made

    def transposed(self, rows: Tensor) -> Vector:
        """Transposed map, from numbers per row and output."""
        vector = []
        for (first, second), codes in zip(self.sides, self.codes, strict=True):
            n, _, size = first.shape
            cells = size if second is None else size * second.shape[2]
            parts = []
            for c in range(rows.shape[1]):
                table = rows.new_zeros(n * cells)
                spread = rows[:, c, None].expand(codes.shape)
                table.index_add_(0, codes.reshape(-1), spread.reshape(-1))
                part = torch.bmm(first, table.view(n, size, -1))
                parts.append(part[..., 0] if second is None else (part * second).sum(2))
            vector.append(torch.stack(parts, dim=2))
        return [*vector, rows.sum(0)]


def dot(a: Vector, b: Vector) -> Tensor:
    """Inner product of two vectors."""
    return sum((x * y).sum() for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def conjugate_gradients(product: Callable[[Vector], Vector], right: Vector) -> Vector:
    """Solve a symmetric positive system from zero."""
    x = [torch.zeros_like(part) for part in right]
    residual = list(right)
    along, size = list(residual), dot(right, right)
    first = size
    for _ in range(_STEPS):
        if size <= _ENOUGH**2 * first or size == 0:
            break
        image = product(along)
        step = size / dot(along, image)
        x = [a + step * b for a, b in zip(x, along, strict=True)]
        residual = [a - step * b for a, b in zip(residual, image, strict=True)]
        before, size = size, dot(residual, residual)
        along = [a + size / before * b for a, b in zip(residual, along, strict=True)]
    return x


@dataclass(frozen=True)
class Rows:
    """Inputs, targets and weights."""

    X: Tensor
    target: Tensor
    weight: Tensor | None

    def weights(self) -> Tensor:
        """Weights of shape (n_rows, 1), ones where there are none."""
        weight = torch.ones_like(self.X[:, 0]) if self.weight is None else self.weight
        return weight.unsqueeze(1)


def slopes(
    output: Tensor, target: Tensor, n_classes: int
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Downward gradient of the loss per row, and its second derivative as a map."""
    if n_classes == 0:
        return target - output, lambda rows: rows
    if n_classes == 2:
        p = torch.sigmoid(output)
        return target - p, lambda rows: rows * (p * (1 - p)).clamp(min=1e-4)
    p = torch.softmax(output, 1)
    return (
        torch.nn.functional.one_hot(target, n_classes) - p,
        lambda rows: p * (rows - (p * rows).sum(1, keepdim=True)),
    )


def solve(
    design: Design, rows: Rows, strength: float, n_classes: int, vector: Vector
) -> Vector:
    """Newton steps for the loss plus strength times the squared coefficients."""
    weight = rows.weights()
    # the intercept is free; a little pull settles what classes share
    pulls = [strength] * (len(vector) - 1) + [1e-3 if n_classes > 2 else 0.0]
    for _ in range(_NEWTON_STEPS if n_classes else 1):
        gradient, curvature = slopes(design.outputs(vector), rows.target, n_classes)

        def product(along: Vector, curved: Any = curvature) -> Vector:
            image = design.transposed(weight * curved(design.outputs(along)))
            return [a + p * b for a, b, p in zip(image, along, pulls, strict=True)]

        right = design.transposed(weight * gradient)
        right = [a - p * b for a, b, p in zip(right, vector, pulls, strict=True)]
        step = conjugate_gradients(product, right)
        vector = [a + b for a, b in zip(vector, step, strict=True)]
        if n_classes and design.outputs(step).abs().max() < _SETTLED:
            break
    return vector


@torch.no_grad()
def solve_coefficients(
    module: Any,
    loss: Callable[[Tensor, Tensor], Tensor],
    train: Rows,
    valid: Rows | None,
    n_classes: int,
) -> None:
    """Set coefficients and intercept to those that fit best, given the bases.

    The strength of the pull to zero is chosen by the validation rows, which then join
    the others.
    """
    blocks = module.blocks()
    design = Design(module, train.X)
    vector = [torch.zeros_like(block.beta) for block in blocks]
    vector.append(torch.zeros_like(module.intercept))
    strength, rows = MIDDLE, train
    if valid is not None:
        strength, vector = choose(module, design, loss, train, valid, n_classes, vector)
        rows = Rows(
            torch.cat([train.X, valid.X]),
            torch.cat([train.target, valid.target]),
            torch.cat([train.weights(), valid.weights()])[:, 0],
        )
        design = Design(module, rows.X)
    vector = solve(design, rows, strength, n_classes, vector)
    for block, beta, scale in zip(blocks, vector[:-1], design.scales, strict=True):
        # terms are averaged over members
        block.beta.copy_(beta * scale * module.n_members)
    module.intercept.copy_(vector[-1])


def choose(
    module: Any,
    design: Design,
    loss: Callable[[Tensor, Tensor], Tensor],
    train: Rows,
    valid: Rows,
    n_classes: int,
    vector: Vector,
) -> tuple[float, Vector]:
    """Find the strength that does best on the validation rows, and its solution."""
    other, held = Design(module, valid.X), valid.weights()[:, 0]
    scores: list[float] = []
    vectors: list[Vector] = []
    for strength in STRENGTHS:
        vector = solve(design, train, strength, n_classes, vector)
        vectors.append(vector)
        scores.append(float((loss(other.outputs(vector), valid.target) * held).sum()))
        if len(scores) > 1 and scores[-1] > scores[-2]:
            break
    # of those that do nearly as well the strongest
    enough = min(scores) * (1 + _NEARLY)
    best = next(i for i, score in enumerate(scores) if score <= enough)
    return STRENGTHS[best], vectors[best]
