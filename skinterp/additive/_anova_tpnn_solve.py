"""All coefficients of ANOVA-TPNN at once, for fixed logistic functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from skinterp.additive._anova_tpnn_design import Design, Preconditioner
from skinterp.additive._anova_tpnn_evidence import (
    NEGLIGIBLE,
    Evidence,
    Sample,
    draw_rows,
)
from skinterp.additive._anova_tpnn_kernels import (
    Functions,
    codes_of,
    join,
    make_dictionary,
    make_functions,
)

__all__ = ["Solution", "solve_module", "solve_terms"]

Float = NDArray[np.float64]
Term = tuple[int, ...]

# Rows from which variances are learnt; elements of the covariances that are held
# meanwhile; steps.
_ROWS, _HELD = 2000, 2**26
_STEPS = 7
# Conjugate gradients: steps, and how small the residual becomes.
_CG_STEPS, _ENOUGH = 300, 1e-3
# Newton steps, and the largest change of an output that ends them.
_NEWTON_STEPS, _SETTLED = 10, 1e-2


@dataclass(frozen=True)
class Rows:
    """Scaled inputs, targets of shape (n_rows, n_outputs), weights with mean one.

    Classes are columns of zeros and ones, two classes one column.
    """

    Z: Float
    target: Float
    weight: Float
    n_classes: int


@dataclass(frozen=True)
class Solution:
    """Coefficients of the logistic functions, centred: of m - sigmoid."""

    t: Float
    tau: Float
    curves: Float
    surfaces: Float
    intercept: Float


def conjugate_gradients(
    product: Callable[[Float], Float], right: Float, prepare: Callable[[Float], Float]
) -> Float:
    """Solve a symmetric positive system from zero."""
    x, residual = np.zeros_like(right), right.copy()
    ready = prepare(residual)
    along, size = ready, float(np.vdot(residual, ready))
    first = size
    for _ in range(_CG_STEPS):
        if size <= _ENOUGH**2 * first or size <= 0:
            break
        image = product(along)
        step = size / float(np.vdot(along, image))
        x += step * along
        residual -= step * image
        ready = prepare(residual)
        before, size = size, float(np.vdot(residual, ready))
        along = ready + size / before * along
    return x


def slopes(
    output: Float, target: Float, n_classes: int
) -> tuple[Float, Callable[[Float], Float], Float]:
    """Downward gradient of the loss per row, its second derivative as a map.

    Also the mean of the second derivative per row.
    """
    if n_classes == 0:
        return target - output, lambda rows: rows, np.ones(len(output))
    if n_classes == 2:
        p = 1 / (1 + np.exp(-output.clip(-30, 30)))
        curve = np.maximum(p * (1 - p), 1e-4)
        return target - p, lambda rows: rows * curve, curve[:, 0]
    p = np.exp(output - output.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    curve = np.maximum((p * (1 - p)).mean(axis=1), 1e-4)
    return (
        target - p,
        lambda rows: p * (rows - (p * rows).sum(axis=1, keepdims=True)),
        curve,
    )


def solve(design: Design, rows: Rows, pull: float) -> Float:
    """Newton steps for the loss plus pull / 2 times the squared coefficients."""
    vector = np.zeros((design.size, rows.target.shape[1]))
    weight = rows.weight[:, None]
    # the intercept is free; a little pull settles what classes share
    pulls = np.full((design.size, 1), pull)
    pulls[-1] = 1e-3 if rows.n_classes > 2 else 0.0
    for _ in range(_NEWTON_STEPS if rows.n_classes else 1):
        output = design.outputs(vector)
        gradient, curvature, mean = slopes(output, rows.target, rows.n_classes)

        def product(along: Float, curved: Any = curvature) -> Float:
            image = design.transposed(weight * curved(design.outputs(along)))
            return np.asarray(image + pulls * along)

        right = design.transposed(weight * gradient) - pulls * vector
        prepare = Preconditioner(design, rows.weight * mean, pull)
        step = conjugate_gradients(product, right, prepare)
        vector += step
        if rows.n_classes and np.abs(design.outputs(step)).max() < _SETTLED:
            break
    return vector


def solve_terms(
    rows: Rows,
    terms: Sequence[Term],
    grid: Mapping[str, Float],
    n_functions: int,
    rng: np.random.RandomState,
) -> Solution:
    """Fit all terms: variances by the evidence, then the coefficients."""
    dictionary = make_dictionary(grid, n_functions)
    functions = join(
        [make_functions(dictionary, grid, straight=kind) for kind in (False, True)]
    )
    codes = np.tile(codes_of(rows.Z, grid), 2)
    # straight parts of curves have variances of their own, as of further features
    d = rows.Z.shape[1]
    parts = list(enumerate(terms)) + [
        (t, (term[0] + d,))
        for t, term in enumerate(terms)
        if len(term) == 1 and dictionary.used[term[0]] > 1
    ]
    variances, noise = choose_variances(
        rows, codes, [virtual for _, virtual in parts], functions, rng
    )
    alive = np.flatnonzero(variances > NEGLIGIBLE * variances.sum())
    parts = [parts[i] for i in alive]
    design = Design(functions, [v for _, v in parts], variances[alive], codes)
    curves, surfaces, intercept = mixed(
        solve(design, rows, noise), design, parts, functions, terms
    )
    return Solution(dictionary.t, dictionary.tau, curves, surfaces, intercept)


def mixed(
    vector: Float,
    design: Design,
    parts: Sequence[tuple[int, Term]],
    functions: Functions,
    terms: Sequence[Term],
) -> tuple[Float, Float, Float]:
    """Coefficients of the logistic functions, and the intercept."""
    outputs, size = vector.shape[1], functions.mix.shape[1]
    n_curves = sum(len(term) == 1 for term in terms)
    curves = np.zeros((n_curves, size, outputs))
    surfaces = np.zeros((len(terms) - n_curves, size, size, outputs))
    mix = functions.mix * np.sqrt(functions.sizes)[:, None]
    for (t, term), place, root in zip(parts, design.places, design.root, strict=True):
        part = root * vector[place]
        if len(term) == 1:
            curves[t] += mix[term[0]] @ part
        else:
            part = np.tensordot(mix[term[0]], part.reshape(size, size, -1), 1)
            surfaces[t - n_curves] = np.einsum("lb,kbc->klc", mix[term[1]], part)
    return curves, surfaces, vector[-1]


def choose_variances(
    rows: Rows,
    codes: NDArray[np.int64],
    terms: Sequence[Term],
    functions: Functions,
    rng: np.random.RandomState,
) -> tuple[Float, float]:
    """Variances of the terms and of the noise, by the evidence of some rows."""
    used = sorted({j for term in terms for j in term})
    if not used:
        return np.zeros(0), 1.0
    limit = min(_ROWS, int((_HELD / len(used)) ** 0.5))
    groups = draw_rows(codes[:, used], limit, rng)
    evidence = Evidence(gather(rows, codes, groups), terms, functions.kernels())
    evidence.improve(_STEPS)
    return evidence.variance, evidence.noise


def gather(rows: Rows, codes: NDArray[np.int64], groups: Any) -> Sample:
    """One row per group of equal ones, with the mean of their targets."""
    first = np.array([group[0] for group in groups])
    weight = np.array([rows.weight[g].mean() for g in groups])
    target = np.array(
        [np.average(rows.target[g], axis=0, weights=rows.weight[g]) for g in groups]
    )
    return Sample(codes[first], target, weight, rows.n_classes)


def solve_module(module: Any, data: Any, grid: Mapping[str, Float]) -> Solution:
    """Fit the terms of a module to its training and validation rows."""
    parts = [(data.X, data.target, data.weight)]
    if data.valid_inputs is not None:
        parts.append((data.valid_inputs[0], data.valid_target, data.valid_weight))
    Z, target, weight = [], [], []
    for inputs, numbers, shares in parts:
        Z.append(as_float(inputs))
        target.append(as_float(numbers))
        weight.append(np.ones(len(Z[-1])) if shares is None else as_float(shares))
    y = np.concatenate(target)
    y = np.eye(data.n_classes)[y.astype(int)] if data.n_classes > 2 else y
    rows = Rows(np.concatenate(Z), y, np.concatenate(weight), data.n_classes)
    seed = int(data.generator.initial_seed() % 2**32)
    rng = np.random.RandomState(seed)
    # the last digits would depend on the number of threads
    with threadpool_limits(limits=1, user_api="blas"):
        return solve_terms(rows, module.terms, grid, module.mean.shape[1], rng)


def as_float(tensor: Any) -> Float:
    """Copy a tensor to numpy, in double precision."""
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
