"""Integrated gradients of a network's logit, from a pattern's background to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skinterp_xrd._background import background_of

__all__ = ["contrast", "explain_batch", "integrated_gradients"]


def contrast(output: Tensor, target: Tensor) -> Tensor:
    """Give what is explained: how far one class's logit is above the mean of all.

    Parameters
    ----------
    output : Tensor of shape (n, 1) or (n, n_classes)
        Log-odds of the second class, or logits.
    target : Tensor of shape (n,)
        Numbers of the classes.

    Returns
    -------
    Tensor of shape (n,)
        Two classes: the log-odds of the given one.
    """
    if output.shape[1] == 1:
        return output[:, 0] * (2 * target - 1)
    # what all logits share changes no probability: it speaks for no class
    return output.gather(1, target[:, None])[:, 0] - output.mean(dim=1)


def integrated_gradients(
    module: nn.Module,
    x: Tensor,
    baseline: Tensor,
    target: int,
    *,
    steps: int,
) -> Tensor:
    """Attribute the change of the logit along the line from a baseline to a pattern.

    Parameters
    ----------
    module : Module
        Gives logits.
    x, baseline : Tensor of shape (n_points,)
        The pattern, and where the line begins.
    target : int
        Number of the class.
    steps : int
        Points of the line at which the gradient is taken, in the middle of equal parts.

    Returns
    -------
    Tensor of shape (n_points,)
        Sums to the change up to the error of the integral; exactly, where the module
        is linear.
    """
    # midpoints: the gradient of a network of kinks jumps, which higher orders dislike
    share = (torch.arange(steps, dtype=x.dtype, device=x.device) + 0.5) / steps
    difference = x - baseline
    line = (baseline + share[:, None] * difference).requires_grad_()
    with torch.enable_grad():
        classes = torch.full((steps,), target, device=x.device)
        total = contrast(module(line), classes).sum()
        (gradient,) = torch.autograd.grad(total, line)
    return difference * gradient.mean(dim=0)


def refined(
    module: nn.Module,
    x: Tensor,
    baseline: Tensor,
    target: int,
    change: float,
    *,
    tolerance: float,
    steps: int,
    max_steps: int,
) -> Tensor:
    """Double the steps until the parts sum to the change, and keep the best."""
    limit = tolerance * (1 + abs(change))
    best, least = None, np.inf
    while best is None or (least > limit and steps <= max_steps):
        values = integrated_gradients(module, x, baseline, target, steps=steps)
        gap = abs(float(values.sum()) - change)
        if best is None or gap < least:
            best, least = values, gap
        steps *= 2
    return best


def explain_batch(
    module: nn.Module,
    x: Tensor,
    *,
    step: float,
    target: int | None,
    tolerance: float = 0.01,
    steps: int = 32,
    max_steps: int = 1024,
) -> tuple[Any, ...]:
    """Explain patterns one by one, so that none depends on the others.

    Returns
    -------
    tuple of Tensor
        Values (n, n_points), logit of the baselines (n,), numbers of the explained
        classes (n,), and the baselines (n, n_points).
    """
    baseline = torch.as_tensor(background_of(x.cpu().numpy(), step)).to(x)
    output = module(x)
    if target is not None:
        classes = torch.full((len(x),), target, device=x.device)
    elif output.shape[1] == 1:
        classes = (output[:, 0] > 0).long()
    else:
        classes = output.argmax(dim=1)
    base = contrast(module(baseline), classes)
    change = contrast(output, classes) - base
    values = torch.zeros_like(x)
    # each with steps of its own, so that a pattern's parts do not depend on the others
    for i in range(len(x)):
        values[i] = refined(
            module,
            x[i],
            baseline[i],
            int(classes[i]),
            float(change[i]),
            tolerance=tolerance,
            steps=steps,
            max_steps=max_steps,
        )
    return values, base, classes, baseline
