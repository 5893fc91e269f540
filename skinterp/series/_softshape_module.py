"""The network of `SoftShapeClassifier`: windows weighed by scores, weak ones summed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Experts", "SoftShape", "Trace", "dispersion", "merge_weak"]

_EXPERTS_SPREAD = 0.02  # of first weights, as of all linear layers
_TINY = 1e-12
_KERNELS = (39, 19, 9)


class Trace(NamedTuple):
    """What a pass says of each window, B series and M windows.

    Parameters
    ----------
    scores : Tensor of shape (B, M)
        Last score; of summed windows the score of the sum, divided among them.
    kept : Tensor of shape (B, M)
        Whether a window was kept on its own to the end, 0 or 1.
    parts : Tensor of shape (B, M, C)
        What a window adds to each logit.
    """

    scores: Tensor
    kept: Tensor
    parts: Tensor


class Merge(NamedTuple):
    """Which tokens a layer kept, and how those of the sum share what it does."""

    kept: Tensor
    share: Tensor


class RMSNorm(nn.Module):
    """Bring each token to length sqrt(d), then weigh its entries."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, tokens: Tensor) -> Tensor:
        """Normalise the last axis."""
        scale = math.sqrt(tokens.shape[-1])
        return self.gamma * scale * functional.normalize(tokens, dim=-1)


def dispersion(values: Tensor) -> Tensor:
    """Squared coefficient of variation: 0 where all are equal, n where one has all."""
    if len(values) < 2:
        return torch.zeros((), dtype=values.dtype, device=values.device)
    return values.var(unbiased=True) / (values.mean() ** 2 + 1e-10)


def merge_weak(tokens: Tensor, score: Tensor, k: int) -> tuple[Tensor, Merge]:
    """Keep the k tokens of highest score in their order, and sum the others.

    Parameters
    ----------
    tokens : Tensor of shape (B, M, d)
        Normalised tokens.
    score : Tensor of shape (B, M)
        Their scores.
    k : int
        How many are kept. With k = M there is no sum.

    Returns
    -------
    Tensor of shape (B, k + 1, d)
        Tokens times scores, the sum of the others last.
    Merge
        What was kept, and the shares in the sum.
    """
    weighed = tokens * score[..., None]
    # a stable order: where scores tie, the earlier token, on any device
    order = torch.argsort(score, dim=1, descending=True, stable=True)
    kept = order[:, :k].sort(dim=1).values
    if k == tokens.shape[1]:
        return weighed, Merge(kept, torch.zeros_like(score))
    left_out = torch.ones_like(score).scatter(1, kept, 0.0)
    rest = (weighed * left_out[..., None]).sum(dim=1, keepdim=True)
    index = kept[..., None].expand(-1, -1, tokens.shape[2])
    share = score.detach() * left_out
    total = share.sum(dim=1, keepdim=True)
    even = left_out / left_out.sum(dim=1, keepdim=True)
    share = torch.where(total > 0, share / total.clamp_min(_TINY), even)
    return torch.cat([weighed.gather(1, index), rest], dim=1), Merge(kept, share)


class Experts(nn.Module):
    """Small networks of which each token passes the one that a router gives it to."""

    inner: nn.Parameter
    inner_bias: nn.Parameter
    outer: nn.Parameter
    outer_bias: nn.Parameter

    def __init__(
        self, width: int, n_experts: int, dropout: float, normalize_gate: bool
    ) -> None:
        super().__init__()
        self.normalize_gate = normalize_gate
        self.router = nn.Parameter(_EXPERTS_SPREAD * torch.randn(width, n_experts))
        shape = (n_experts, width, width)
        for name in ("inner", "outer"):
            weight = nn.init.trunc_normal_(torch.empty(shape), std=_EXPERTS_SPREAD)
            self.register_parameter(name, nn.Parameter(weight))
            bias = nn.Parameter(torch.zeros(n_experts, width))
            self.register_parameter(f"{name}_bias", bias)
        self.norm = RMSNorm(width)
        self.dropout = dropout

    def route(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Give the expert of each token and its gate; where experts tie, the first."""
        probability = (tokens @ self.router).softmax(dim=-1)
        expert = probability.argmax(dim=-1)
        gate = probability.gather(-1, expert[..., None])[..., 0]
        return expert, gate / (gate + 1e-6) if self.normalize_gate else gate

    def balance(self, expert: Tensor, gate: Tensor) -> Tensor:
        """How unevenly tokens and gates are spread over the experts."""
        chosen = functional.one_hot(expert.ravel(), self.router.shape[1])
        chosen = chosen.to(gate.dtype)
        return dispersion(gate.ravel() @ chosen) + dispersion(chosen.sum(dim=0))

    def _answers(self, tokens: Tensor, expert: Tensor) -> Tensor:
        """Sort tokens by expert, so that each is multiplied by one matrix only."""
        if not len(tokens):
            return tokens
        order = torch.argsort(expert, stable=True)
        counts = torch.bincount(expert, minlength=self.router.shape[1]).tolist()
        weights = zip(
            *(p.unbind(0) for p in (self.inner, self.inner_bias)),
            *(p.unbind(0) for p in (self.outer, self.outer_bias)),
            strict=True,
        )
        answers = [
            self._answer(part, *own)
            for part, own in zip(tokens[order].split(counts), weights, strict=True)
            if len(part)
        ]
        return torch.cat(answers)[torch.argsort(order)]

    def _answer(
        self, tokens: Tensor, inner: Tensor, b: Tensor, outer: Tensor, c: Tensor
    ) -> Tensor:
        hidden = functional.gelu(functional.linear(tokens, inner, b))
        hidden = functional.dropout(hidden, self.dropout, self.training)
        return functional.linear(hidden, outer, c)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Give new tokens of the same shape, and the balance of this pass."""
        flat = tokens.reshape(-1, tokens.shape[-1])
        expert, gate = self.route(flat)
        mixed = flat + gate[:, None] * self._answers(flat, expert)
        out = functional.gelu(self.norm(mixed)).reshape(tokens.shape)
        return out, self.balance(expert, gate)


class Inception(nn.Module):
    """Convolutions of several lengths over the tokens in their order."""

    def __init__(self, width: int) -> None:
        super().__init__()
        n = width // 4
        self.bottleneck = nn.Conv1d(width, n, 1, bias=False)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(n, n, k, padding=k // 2, bias=False) for k in _KERNELS
        )
        self.after_pool = nn.Conv1d(width, n, 1, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Give new tokens of the same shape, (B, M, d)."""
        x = tokens.transpose(1, 2)
        narrow = self.bottleneck(x)
        weights = self.convolutions.parameters()  # one each
        parts = [_same_length(narrow, weight) for weight in weights]
        parts.append(self.after_pool(functional.max_pool1d(x, 3, 1, 1)))
        out = functional.instance_norm(torch.cat(parts, dim=1))
        return functional.gelu(out).transpose(1, 2)


def _same_length(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve; taps that would only ever meet the padding are left out."""
    half = weight.shape[2] // 2
    reach = min(half, x.shape[2] - 1)
    taps = weight[:, :, half - reach : half + reach + 1]
    return functional.conv1d(x, taps, padding=reach)


class Layer(nn.Module):
    """Scores, what is left out, and two kinds of mixing."""

    def __init__(self, width: int, keep: float) -> None:
        super().__init__()
        self.keep = keep
        self.norm1 = RMSNorm(width)
        self.norm2 = RMSNorm(width)
        self.inception = Inception(width)


class SoftShape(nn.Module):
    """Scores of windows, experts within them and convolutions across them.

    Parameters
    ----------
    config : mapping
        ``n_channels``, ``shape_length``, ``stride``, ``n_tokens``, ``embed_dim``,
        ``keep_ratios``, ``n_experts``, ``n_classes``, ``dropout``, ``normalize_gate``.
    """

    sparse: Tensor

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, dropout = config["embed_dim"], config["dropout"]
        self.dropout = dropout
        length, stride = config["shape_length"], config["stride"]
        self.embed = nn.Conv1d(config["n_channels"], width, length, stride)
        self.positions = nn.Parameter(torch.zeros(1, config["n_tokens"], width))
        self.score = nn.Sequential(
            nn.Linear(width, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid()
        )
        self.layers = nn.ModuleList(Layer(width, r) for r in config["keep_ratios"])
        self.experts = Experts(
            width, config["n_experts"], dropout, config["normalize_gate"]
        )
        self.head = nn.Linear(width, config["n_classes"])
        # stored with the weights: a model predicts in the mode they were best in
        self.register_buffer("sparse", torch.zeros((), dtype=torch.bool))
        for part in (*self.score, self.head):
            if isinstance(part, nn.Linear):
                nn.init.trunc_normal_(part.weight, std=_EXPERTS_SPREAD)
                nn.init.zeros_(part.bias)

    def _layer(
        self, layer: Layer, tokens: Tensor, sparse: bool
    ) -> tuple[Tensor, Tensor | None, Merge | None]:
        """Give the tokens of the next layer, the balance, and what was left out."""
        h = layer.norm1(tokens)
        score = self.score(h)[..., 0]
        if not sparse or layer.keep == 1:
            y = h * score[..., None]
            return y + layer.inception(layer.norm2(y)), None, None
        y, merge = merge_weak(h, score, n_kept(layer.keep, tokens.shape[1]))
        z = layer.norm2(y)
        mixed, balance = self.experts(z)
        return y + mixed + layer.inception(z), balance, merge

    def _pass(self, x: Tensor) -> tuple[Tensor, Tensor, list[Tensor], list[Any]]:
        """Give per token the last score and the logits; balances; what was merged."""
        tokens = self.embed(x).transpose(1, 2) + self.positions
        tokens = functional.dropout(tokens, self.dropout, self.training)
        sparse = bool(self.sparse)
        balances, merges = [], []
        layers = cast("list[Layer]", list(self.layers))
        for i, layer in enumerate(layers):
            out, balance, merge = self._layer(layer, tokens, sparse)
            balances += [] if balance is None else [balance]
            merges += [] if merge is None else [(merge, tokens.shape[1])]
            if i == len(layers) - 1:
                out = functional.dropout(out, self.dropout, self.training)
                score = self.score(out)[..., 0]
            tokens = functional.gelu(out)
        return score, self.head(tokens), balances, merges

    def forward_with_balance(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Give the outputs, and the sum of the layers' balances of experts."""
        score, logits, balances, _ = self._pass(x)
        outputs = _as_columns((score[..., None] * logits).mean(dim=1))
        return outputs, sum(balances, start=outputs.new_zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Give a logit per class, for two classes their difference.

        Parameters
        ----------
        x : Tensor of shape (B, n_channels, n_timepoints)
            Series.

        Returns
        -------
        Tensor of shape (B, C) or (B, 1)
            Logits.
        """
        return self.forward_with_balance(x)[0]

    def trace(self, x: Tensor) -> Trace:
        """Give what each window adds, going back through what the layers merged.

        Parameters
        ----------
        x : Tensor of shape (B, n_channels, n_timepoints)
            Series.

        Returns
        -------
        Trace
            What is said of each window.
        """
        score, logits, _, merges = self._pass(x)
        parts = _as_columns(score[..., None] * logits / score.shape[1])
        told = torch.cat(
            [score[..., None], torch.ones_like(score)[..., None], parts], 2
        )
        for merge, n_tokens in reversed(merges):
            told = _divide(told, merge, n_tokens)
        return Trace(told[..., 0], told[..., 1], told[..., 2:])


def n_kept(ratio: float, n_tokens: int) -> int:
    """Count the tokens that a layer keeps."""
    # 1 - 0.7 is a little above 0.3, which would keep one more
    return min(n_tokens, math.ceil(round(ratio * n_tokens, 9)))


def _divide(told: Tensor, merge: Merge, n_tokens: int) -> Tensor:
    """Hand what is told of the tokens after a layer to those before it."""
    k = merge.kept.shape[1]
    index = merge.kept[..., None].expand(-1, -1, told.shape[2])
    before = told.new_zeros(len(told), n_tokens, told.shape[2])
    before = before.scatter(1, index, told[:, :k])
    if k == n_tokens:
        return before
    rest = told[:, k:].clone()
    rest[..., 1] = 0.0  # was not kept on its own
    return before + merge.share[..., None] * rest


def _as_columns(logits: Tensor) -> Tensor:
    """Of two classes, the difference: the log-odds of the second."""
    two = logits.shape[-1] == 2
    return logits[..., 1:] - logits[..., :1] if two else logits
