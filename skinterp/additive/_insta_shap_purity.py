"""How well a masked model predicts from so many players."""

from __future__ import annotations

from typing import Any

import torch

from skinterp.additive._insta_shap_masks import masks_of_size

_ROWS = 2000
# Multiplications of one size, about, and draws per row of all sizes together.
_BUDGET = 2e10
_DRAWS = 50


def masked_scores(model: Any, module: Any, data: Any) -> dict[int, float]:
    """Explained share by number of present players, on validation rows.

    One minus the loss over that of the best constant: R2 for the squared error, the
    share of the deviance for the cross entropy.
    """
    inputs, target = data.valid_inputs, data.valid_target
    weight = data.valid_weight
    if inputs is None:
        inputs, target, weight = data.inputs, data.target, data.weight
    n = inputs[1].shape[1]
    work = _BUDGET / (n * n * max(1, len(module.member)))
    keep = int(min(_ROWS, max(100, work)))
    inputs, target = tuple(part[:keep] for part in inputs), target[:keep]
    w = torch.ones(len(target)).to(inputs[0]) if weight is None else weight[:keep]
    w = w / w.sum()
    parts = module.switched_parts(*inputs)
    table = model._target_table(target)
    share = (w[:, None] * table).sum(dim=0)
    constant = model._constant_output(share).expand(len(target), -1)
    baseline = float((w * model._loss(constant, target)).sum())
    scores = {}
    for size in range(n + 1):
        sizes = torch.full((len(target),), size)
        draws = 1 if size in (0, n) else max(1, _DRAWS // n)
        losses = []
        for _ in range(draws):
            mask = masks_of_size(sizes, n, data.generator).to(parts)
            on = module.switch(mask)[:, None]
            output = (parts * on).sum(dim=0).T + module.intercept
            losses.append(float((w * model._loss(output, target)).sum()))
        loss = sum(losses) / draws
        scores[size] = 1 - loss / baseline if baseline > 0 else 0.0
    return scores
