"""Random feature masks: their laws, means over them in closed form, and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Generator, Tensor

Float = NDArray[np.float64]

# Rows that are scored, at most.
_ROWS = 2000
# Multiplications of one size, about, and draws per row of all sizes together.
_BUDGET = 2e10
_DRAWS = 50


def size_law(name: str, n_players: int, end_weight: float) -> Float:
    """Probability of each number of present players, from none to all.

    Given the number, all sets of that size are equally likely. "uniform_size" is what
    keeping each player with one probability, itself uniform, amounts to; "shapley" has
    the weights of KernelSHAP, and ``end_weight`` for the empty and the full set.
    """
    if name == "uniform_size":
        return np.full(n_players + 1, 1 / (n_players + 1))
    sizes = np.arange(1, n_players)
    law = np.full(n_players + 1, float(end_weight))
    law[1:-1] = (n_players - 1) / (sizes * (n_players - sizes))
    return law / law.sum()


def inclusion(law: Float, most: int) -> Float:
    """Probability that all of 0, 1, ..., ``most`` given players are present.

    Of s among n players that are present, u given ones are among them with probability
    ``s/n (s - 1)/(n - 1) ...``, u factors.
    """
    n = len(law) - 1
    sizes, chances = np.arange(n + 1), [law]
    for u in range(min(most, n)):
        chances.append(chances[-1] * np.maximum(sizes - u, 0) / (n - u))
    return np.sum(chances, axis=1)


def draw_masks(law: Float, n_rows: int, generator: Generator) -> Tensor:
    """Draw a mask per row: boolean, of shape (n_rows, n_players).

    Sizes are stratified over the rows, which varies less than independent draws.
    """
    import torch

    n_players = len(law) - 1
    strata = torch.randperm(n_rows, generator=generator)
    level = (strata + torch.rand(n_rows, generator=generator)) / n_rows
    border = torch.as_tensor(np.cumsum(law)[:-1], dtype=level.dtype)
    sizes = torch.searchsorted(border, level, right=True)
    return masks_of_size(sizes, n_players, generator)


def masks_of_size(sizes: Tensor, n_players: int, generator: Generator) -> Tensor:
    """Draw a set of the given size for each row."""
    import torch

    noise = torch.rand(len(sizes), n_players, generator=generator)
    rank = noise.argsort(dim=1).argsort(dim=1)
    return rank < sizes[:, None]


class ExpectedLoss:
    """Squared error averaged over all masks, in closed form.

    The error ``y - c - sum f_T 1[T in S]`` is linear in the terms, so that its mean
    square over random sets S needs the chance of ``T in S`` and of ``T and T' in S``
    only: no masks are drawn.

    Parameters
    ----------
    terms : sequence of tuple of int
        Players of each term.
    law : ndarray
        Probability of each number of present players.
    like : Tensor
        Of the dtype and device to compute with.
    """

    def __init__(
        self, terms: Sequence[tuple[int, ...]], law: Float, like: Tensor
    ) -> None:
        member = np.zeros((len(terms), len(law) - 1))
        for t, term in enumerate(terms):
            member[t, list(term)] = 1
        size = member.sum(axis=1)
        union = size[:, None] + size[None, :] - member @ member.T
        chance = inclusion(law, int(union.max(initial=0)))
        self.single = like.new_tensor(chance[size.astype(int)])
        self.joint = like.new_tensor(chance[union.round().astype(int)])

    def __call__(self, rest: Tensor, parts: Tensor, full: float) -> Tensor:
        """Loss of each row; with probability ``full`` nothing is masked.

        ``rest`` is the target less the intercept, (n_outputs, n_rows).
        """
        import torch

        mixed = torch.tensordot(self.joint, parts, dims=1)
        expected = torch.tensordot(self.single, parts, dims=1)
        masked = rest.square() - 2 * rest * expected + (parts * mixed).sum(dim=0)
        if full > 0:
            unmasked = (rest - parts.sum(dim=0)).square()
            masked = (1 - full) * masked + full * unmasked
        return masked.mean(dim=0)


def masked_scores(model: Any, module: Any, data: Any) -> dict[int, float]:
    """Explained share by number of present players, on validation rows.

    One minus the loss over that of the best constant: R2 for the squared error, the
    share of the deviance for the cross entropy. Rows of a marginal background are
    masked already; each counts for the number of players it has.
    """
    import torch

    inputs, target = data.valid_inputs, data.valid_target
    weight = data.valid_weight
    if inputs is None:
        inputs, target, weight = data.inputs, data.target, data.weight
    n = inputs[1].shape[1]
    work = _BUDGET / (n * n * max(1, len(module.member)))
    keep = int(min(_ROWS, max(100, work)))
    inputs, target = tuple(part[:keep] for part in inputs), target[:keep]
    w = torch.ones(len(target)).to(inputs[0]) if weight is None else weight[:keep]
    parts = module.switched_parts(*inputs)
    table, has = model._target_table(target), inputs[1].sum(dim=1)
    masked = model.background == "marginal"
    scores = {}
    for size in range(n + 1):
        own = w * (has == size) if masked else w
        if not own.any():
            continue
        own = own / own.sum()
        constant = model._constant_output((own[:, None] * table).sum(dim=0))
        baseline = model._loss(constant.expand(len(target), -1), target)
        sizes = torch.full((len(target),), n if masked else size)
        draws = 1 if masked or size in (0, n) else max(1, _DRAWS // n)
        losses = []
        for _ in range(draws):
            mask = masks_of_size(sizes, n, data.generator).to(parts)
            on = module.switch(mask)[:, None]
            output = (parts * on).sum(dim=0).T + module.intercept
            losses.append(float((own * model._loss(output, target)).sum()))
        worst = float((own * baseline).sum())
        scores[size] = 1 - sum(losses) / draws / worst if worst > 0 else 0.0
    return scores
