"""Laws of random feature masks: how many players are present, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

if TYPE_CHECKING:
    from torch import Generator, Tensor

Float = NDArray[np.float64]


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


def inclusion(law: Float) -> Float:
    """Probability that all members of a set of 0, 1, ... players are present."""
    n = len(law) - 1
    sizes = np.arange(n + 1)
    share = comb(sizes[None, :], sizes[:, None]) / comb(n, sizes)[:, None]
    return np.asarray(share @ law)


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
