"""The search for slices: levels in turn, each walked depth-first in parallel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from tqdm import tqdm

from skinterp.slices import _error_slice_finder_kernels as kernels

# A record of which slices of a level are large enough takes a byte for each that is
# conceivable; a larger one is not kept, and the level is evaluated anew.
MAX_RECORD = 1 << 26
# Losses are bounded by counts of bits before they are summed: so many bits, all of
# them only where the first do not tell, and the share of worst rows summed apart.
PLANES = 8
DEEP = 1 / 32


@dataclass(frozen=True)
class Rows:
    """What the search sees of the rows: their tags as bits, and how each was done.

    ``value`` is larger where the model does better; ``weight`` is one where there are
    no weights.
    """

    bits: NDArray[np.uint64]
    value: NDArray[np.float64]
    weight: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        return len(self.value)

    @property
    def overall(self) -> float:
        scale = float(np.abs(self.value).max(initial=0.0)) or 1.0
        return float(self.weight @ (self.value / scale) / self.weight.sum()) * scale

    @property
    def binary(self) -> bool:
        """Whether each row is right or wrong, and counts once."""
        right = (self.value == 0) | (self.value == 1)
        return bool(right.all() and (self.weight == 1).all())

    def centred(self) -> tuple[NDArray[np.float64], float, float]:
        """Values for sums, and what to multiply with and to add for true ones.

        Right and wrong stay as they are. Others are taken from the mean and lie within
        one of it, so that neither large nor small ones are lost in rounding.
        """
        if self.binary:
            return self.value, 1.0, 0.0
        values = self.value - self.overall
        scale = float(np.abs(values).max(initial=0.0)) or 1.0
        return values / scale, scale, self.overall


@dataclass(frozen=True)
class Found:
    """Slices that are bad enough, by number of tags, and what the search did."""

    offsets: NDArray[np.int64]
    tags: NDArray[np.int64]
    size: NDArray[np.int64]
    weight: NDArray[np.float64]
    total: NDArray[np.float64]
    n_evaluated: NDArray[np.int64]
    n_large: NDArray[np.int64]
    n_pruned: int

    @property
    def mean(self) -> NDArray[np.float64]:
        return self.total / self.weight

    def of(self, s: int) -> NDArray[np.int64]:
        return self.tags[self.offsets[s] : self.offsets[s + 1]]

    def take(self, order: NDArray[np.intp]) -> Found:
        parts = [self.of(s) for s in order]
        return Found(
            _offsets([len(p) for p in parts]),
            np.concatenate([np.empty(0, np.int64), *parts]),
            self.size[order],
            self.weight[order],
            self.total[order],
            self.n_evaluated,
            self.n_large,
            self.n_pruned,
        )


def pack(mask: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack rows, the last axis, into words of 64."""
    short = -mask.shape[-1] % 64
    packed = np.packbits(mask, axis=-1, bitorder="little")
    room = (mask.shape[-1] + short) // 8 - packed.shape[-1]
    width = [(0, 0)] * (mask.ndim - 1) + [(0, room)]
    # big-endian machines would read the bytes of a word from the other end
    return np.pad(packed, width).view("<u8").astype(np.uint64)


def unpack(words: NDArray[np.uint64], n_rows: int) -> NDArray[np.bool_]:
    """Turn ``pack`` around."""
    raw = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    bits = np.unpackbits(raw, axis=-1, count=n_rows, bitorder="little")
    return bits.astype(bool)


def search(
    rows: Rows,
    attribute: NDArray[np.int64],
    several: NDArray[np.bool_],
    *,
    max_order: int,
    min_size: int,
    gap: float,
    bound: bool,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Found:
    """Find every slice of enough rows whose mean is at least a gap below that of all.

    ``attribute`` tells for each tag the column that it comes from, rising; ``several``
    whether a row may carry several tags of this column.
    """
    binary = rows.binary
    value, scale, centre = rows.centred()
    limit = _limits(rows, gap) if binary else np.zeros(1, dtype=np.int64)
    need = _errors_needed(rows, gap, min_size) if binary and bound else 0
    ends = np.arange(len(rows.bits) + 1, dtype=np.int64)
    single = np.arange(len(rows.bits), dtype=np.int64)
    sums = kernels.slice_sums(rows.bits, ends, single, rows.weight, value)
    large = sums[:, 0] >= min_size
    alive = large & (sums[:, 0] - sums[:, 3] >= need if need else True)
    threshold = -gap / scale  # from the mean; right and wrong have limits
    bad = [
        t
        for t in np.flatnonzero(large)
        if kernels.is_bad(
            int(sums[t, 0]), sums[t, 1], sums[t, 3], limit, threshold, binary
        )
    ]
    counts = np.array([len(large), large.sum(), (large & ~alive).sum()])
    levels = [(single[bad].reshape(-1, 1), sums[bad][:, [0, 1, 3]], counts)]
    kept = np.flatnonzero(alive)
    top = min(max_order, _longest(attribute[kept], several[kept]))
    tables, starts = _records(len(kept), top)
    wrong = pack(rows.value == 0) if binary else np.empty(0, np.uint64)
    excess = rows.weight * (value - threshold)
    fixed = (
        (np.ascontiguousarray(rows.bits[kept]), attribute[kept], several[kept]),
        (wrong, rows.weight, rows.weight * value, *_planes(excess, binary)),
        (binary, min_size, need, limit, threshold),
        (tables, starts, _binomials(len(kept), top)),
    )
    for depth in range(2, top + 1):
        level = _walk_level(depth, fixed, n_jobs, verbose)
        levels.append((kept[level[0]], *level[1:]))
        if level[2][1] == 0:
            break
    return _gather(levels, scale, centre)


def _planes(
    excess: NDArray[np.float64], binary: bool
) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
    """Lower bound of each row's excess by bits, the coarse ones first.

    The worst rows have a plane of their own, as a few very bad ones would make all
    steps large; the best are cut off, which leaves a bound one.
    """
    if binary:
        nothing = np.empty(0)
        return np.empty((0, 0), np.uint64), nothing, nothing
    low, high = np.quantile(excess, [DEEP, 1 - DEEP], method="lower")
    step = (high - low) / 2**PLANES
    above = np.clip(excess - low, 0.0, high - low)
    code = np.floor(above / (step or 1.0)).astype(np.int64).clip(0, 2**PLANES - 1)
    powers = np.arange(PLANES)[::-1]
    planes = [excess < low, *(code >> powers[:, None] & 1 > 0)]
    return (
        pack(np.array(planes)),
        np.minimum(excess - low, 0.0),
        np.array([low, *(step * 2.0**powers)]),
    )


def _walk_level(depth: int, fixed: tuple[Any, ...], n_jobs: Any, verbose: int) -> Any:
    firsts: Iterable[int] = range(len(fixed[0][0]))
    if verbose:
        firsts = tqdm(firsts, desc=f"slices of {depth} tags")
    walks = Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1)(
        delayed(kernels.walk)(first, depth, *fixed) for first in firsts
    )
    empty = np.empty((0, depth), np.int32), np.empty((0, 3)), np.zeros(3, np.int64)
    tags, sums, counts = zip(empty, *walks, strict=True)
    return np.concatenate(tags), np.concatenate(sums), np.sum(counts, axis=0)


def _gather(levels: list[Any], scale: float, centre: float) -> Found:
    tags, sums, counts = zip(*levels, strict=True)
    per_level = np.array(counts, dtype=np.int64)
    all_sums = np.concatenate(sums)
    return Found(
        _offsets(np.repeat([t.shape[1] for t in tags], [len(t) for t in tags])),
        np.concatenate([t.ravel() for t in tags]).astype(np.int64),
        all_sums[:, 0].astype(np.int64),
        all_sums[:, 1],
        all_sums[:, 2] * scale + all_sums[:, 1] * centre,
        per_level[:, 0],
        per_level[:, 1],
        int(per_level[:, 2].sum()),
    )


def _offsets(counts: Any) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _limits(rows: Rows, gap: float) -> NDArray[np.int64]:
    """Largest number of right rows that is bad enough, for each size of a slice.

    In whole numbers, as a slice may lie on the threshold: 0.7 - 0.2 is not 0.5.
    """
    n, right = rows.n_rows, int(rows.value.sum())
    if gap == -np.inf:
        return np.arange(n + 1)  # no slice is left out
    share = Fraction(right, n) - Fraction(repr(float(gap)))
    a, b = share.numerator, share.denominator
    sizes = np.arange(n + 1)
    if max(abs(a) * n, b) >= 1 << 62:
        return (sizes.astype(object) * a // b).astype(np.int64)
    return sizes * a // b


def _errors_needed(rows: Rows, gap: float, min_size: int) -> int:
    """Fewest errors that a slice has, or any part of it, that is bad enough."""
    right = Fraction(int(rows.value.sum()), rows.n_rows)
    return max(0, ceil(min_size * (1 - right + Fraction(repr(float(gap))))))


def _longest(attribute: NDArray[np.int64], several: NDArray[np.bool_]) -> int:
    """Most tags that a slice can have."""
    return len(np.unique(attribute[~several])) + int(several.sum())


def _records(n_tags: int, top: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Bytes for the slices of each level but the last, and where each level starts."""
    starts = np.full(max(top, 2) + 1, -1, dtype=np.int64)
    end = 0
    for level in range(2, top):
        if comb(n_tags, level) > MAX_RECORD:
            break
        starts[level] = end
        end += comb(n_tags, level)
    return np.zeros(end, dtype=np.uint8), starts


def _binomials(n_tags: int, top: int) -> NDArray[np.int64]:
    """Binomial coefficients, as far as a record needs them."""
    table = np.zeros((n_tags + 1, max(top, 2) + 1), dtype=np.int64)
    for k in range(table.shape[1]):
        for n in range(n_tags + 1):
            table[n, k] = min(comb(n, k), MAX_RECORD + 1)
    return table


def n_conceivable(
    attribute: NDArray[np.int64], several: NDArray[np.bool_], max_order: int
) -> int:
    """Number of slices of up to so many tags, empty ones included."""
    counts = [1] + [0] * max_order
    for j in np.unique(attribute):
        n, many = int((attribute == j).sum()), bool(several[attribute == j][0])
        own = [comb(n, k) if many or k < 2 else 0 for k in range(max_order + 1)]
        counts = [
            sum(counts[i] * own[k - i] for i in range(k + 1))
            for k in range(max_order + 1)
        ]
    return sum(counts[1:])
