"""Which sets of players become terms: a masked network says how they interact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skinterp.additive._insta_shap_masks import draw_masks

_HIDDEN = (256, 128, 64)
_STEPS, _BATCH, _LR = 1500, 256, 2e-3
# Steps per epoch that was asked for, at least, up to all of them.
_LEAST = 15
# Evaluations of the network that the scores of one order may take, about.
_BUDGET = 200_000
_MOST = 20_000


def choose_terms(
    data: Any,
    columns: Sequence[tuple[int, ...]],
    used: Sequence[bool],
    law: Any,
    order: int,
    limit: int,
    loss: Callable[[Tensor, Tensor], Tensor],
    max_epochs: int,
) -> list[tuple[int, ...]]:
    """All players alone, and per order the sets that interact most.

    A network is trained on masked rows; a set is scored by its interaction in it, both
    with all other players absent and with all present, squared and averaged over rows.
    Sets of three and more are tried where all their pairs (triples, ...) were taken.
    """
    chosen: list[tuple[int, ...]] = [(i,) for i, u in enumerate(used) if u]
    if limit == 0:
        return chosen
    net, spread = None, _spread(columns, data.n_features).to(data.X)
    taken = set(chosen)
    for size in range(2, order + 1):
        tried = [
            t
            for t in combinations(_linked(taken, size), size)
            if all(part in taken for part in combinations(t, size - 1))
        ]
        if len(tried) > limit and net is None:
            steps = min(_STEPS, max_epochs * max(_LEAST, len(data) // _BATCH))
            net = _train(data, spread, law, loss, steps)
        if len(tried) > limit:
            assert net is not None
            scores = _interactions(net, data, spread, tried[:_MOST])
            best = np.argsort(-scores, kind="stable")[:limit]
            tried = sorted(tried[i] for i in best)
        chosen += tried
        taken = set(tried)
    return chosen


def _linked(taken: set[tuple[int, ...]], size: int) -> list[int]:
    """Players that occur in sets of the order before."""
    return sorted({i for t in taken if len(t) == size - 1 for i in t})


def _spread(columns: Sequence[tuple[int, ...]], n_features: int) -> Tensor:
    """Which columns a player has: (n_players, n_features)."""
    spread = torch.zeros(len(columns), n_features)
    for i, own in enumerate(columns):
        spread[i, list(own)] = 1.0
    return spread


def _train(data: Any, spread: Tensor, law: Any, loss: Any, steps: int) -> nn.Module:
    n_players, n_features = spread.shape
    sizes = [n_features + n_players, *_HIDDEN]
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Linear(_HIDDEN[-1], data.n_outputs)).to(data.X)
    optimizer = torch.optim.Adam(net.parameters(), lr=_LR)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    x, present = data.inputs
    for _ in range(steps):
        rows = torch.randint(len(x), (_BATCH,), generator=data.generator).to(x.device)
        mask = draw_masks(law, _BATCH, data.generator).to(x) * present[rows]
        output = net(torch.cat([x[rows] * (mask @ spread), mask], dim=1))
        per_row = loss(output, data.target[rows])
        if data.weight is not None:
            per_row = per_row * data.weight[rows]
        optimizer.zero_grad()
        per_row.mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    return net


def _interactions(
    net: nn.Module, data: Any, spread: Tensor, sets: Sequence[tuple[int, ...]]
) -> Any:
    """Score of each set on validation rows."""
    inputs = data.inputs if data.valid_inputs is None else data.valid_inputs
    keep = max(32, min(512, _BUDGET // (2 * len(sets))))
    x, present = (part[:keep] for part in inputs)
    everyone = tuple(range(len(spread)))
    known: dict[tuple[int, ...], Tensor] = {}

    def value(players: tuple[int, ...]) -> Tensor:
        if players not in known:
            mask = torch.zeros_like(present)
            mask[:, list(players)] = present[:, list(players)]
            known[players] = net(torch.cat([x * (mask @ spread), mask], dim=1))
        return known[players]

    scores = []
    with torch.no_grad():
        for one in sets:
            rest = tuple(i for i in everyone if i not in one)
            absent = _difference(value, one, ())
            beside = _difference(value, one, rest)
            scores.append(float((absent.square() + beside.square()).mean()) / 2)
    return np.array(scores)


def _difference(
    value: Callable[[tuple[int, ...]], Tensor],
    one: tuple[int, ...],
    beside: tuple[int, ...],
) -> Tensor:
    """What a set adds beyond its subsets, beside other players."""
    total: Any = 0.0
    for size in range(len(one) + 1):
        for part in combinations(one, size):
            sign = -1 if (len(one) - size) % 2 else 1
            total = total + sign * value(tuple(sorted((*part, *beside))))
    return total  # type: ignore[no-any-return]
