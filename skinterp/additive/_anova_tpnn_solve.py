"""All coefficients of ANOVA-TPNN at once, for fixed logistic functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
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
_NEWTON_STEPS, _SETTLED = 30, 1e-2
# Rows of a smaller share of the mean weight say nothing, and overflow when inverted.
_LIGHTEST = 1e-12


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
) -> tuple[Float, bool]:
    """Solve a symmetric positive system from zero; tell whether it was solved."""
    x, residual = np.zeros_like(right), right.copy()
    ready = prepare(residual)
    along, size = ready, float(np.vdot(residual, ready))
    goal = _ENOUGH**2 * size
    for _ in range(_CG_STEPS):
        if size <= goal or size <= 0:
            break
        image = product(along)
        step = size / float(np.vdot(along, image))
        x += step * along
        residual -= step * image
        ready = prepare(residual)
        before, size = size, float(np.vdot(residual, ready))
        along = ready + size / before * along
    return x, size <= goal


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


def loss(output: Float, target: Float, n_classes: int) -> Float:
    """Loss of each row, whose slopes are those above."""
    if n_classes == 0:
        return np.asarray(((target - output) ** 2).sum(axis=1) / 2)
    total = np.logaddexp(0, output[:, 0]) if n_classes == 2 else logsumexp(output, 1)
    return np.asarray(total - (target * output).sum(axis=1))


def solve(design: Design, rows: Rows, pull: float) -> Float:
    """Newton steps for the loss plus pull / 2 times the squared coefficients."""
    vector = np.zeros((design.size, rows.target.shape[1]))
    output = design.outputs(vector)
    weight = rows.weight[:, None]
    # the intercept is free; a little pull settles what classes share
    pulls = np.full((design.size, 1), pull)
    pulls[-1] = 1e-3 if rows.n_classes > 2 else 0.0

    def aim(at: Float, made: Float) -> float:
        fit = float(rows.weight @ loss(made, rows.target, rows.n_classes))
        return fit + float((pulls * at**2).sum()) / 2

    for _ in range(_NEWTON_STEPS):
        gradient, curvature, mean = slopes(output, rows.target, rows.n_classes)

        def product(along: Float, curved: Any = curvature) -> Float:
            image = design.transposed(weight * curved(design.outputs(along)))
            return np.asarray(image + pulls * along)

        right = design.transposed(weight * gradient) - pulls * vector
        prepare = Preconditioner(design, rows.weight * mean, pull)
        step, settled = conjugate_gradients(product, right, prepare)
        change = design.outputs(step)
        if rows.n_classes:
            settled = bool(np.abs(change).max() < _SETTLED)
            # where the loss is far from a parabola, a whole step may climb
            before, share = aim(vector, output), 1.0
            while aim(vector + share * step, output + share * change) > before:
                share /= 2
                if share < 1e-3:
                    break
            step, change = share * step, share * change
        vector, output = vector + step, output + change
        if settled or not rows.n_classes:
            break
    if not settled:
        msg = (
            "the coefficients of ANOVA-TPNN did not settle; they are the last ones. "
            "Fewer terms, or standardised columns, may help."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
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
    """One row per group of equal ones, with the mean of their targets.

    It weighs as many rows as there are different targets, or as a third of the group,
    which bootstrap samples hardly ever reach by copies of one row.
    """
    first = np.array([group[0] for group in groups])
    weight, target, spread, freedom = [], [], 0.0, 0.0
    for group in groups:
        y, w = rows.target[group], rows.weight[group]
        mean = np.average(y, axis=0, weights=w)
        count = max(len(np.unique(y, axis=0)), len(group) / 3) if len(group) > 1 else 1
        if count > 1:
            freedom += count - 1
            spread += (count - 1) / (len(group) - 1) * (w @ (y - mean) ** 2)
        weight.append(count * w.mean())
        target.append(mean)
    return Sample(
        codes[first],
        np.array(target),
        np.array(weight),
        rows.n_classes,
        float(np.sum(spread)),
        freedom * rows.target.shape[1],
    )


def solve_module(module: Any, data: Any, grid: Mapping[str, Float]) -> Solution:
    """Fit the terms of a module to its training and validation rows."""
    parts = [(data.X, data.target, data.weight)]
    if data.valid_inputs is not None:
        parts.append((data.valid_inputs[0], data.valid_target, data.valid_weight))
    Z, target, weight = [], [], []
    for inputs, numbers, given in parts:
        Z.append(as_float(inputs))
        target.append(as_float(numbers))
        weight.append(np.ones(len(Z[-1])) if given is None else as_float(given))
    y = np.concatenate(target)
    y = np.eye(data.n_classes)[y.astype(int)] if data.n_classes > 2 else y
    shares = np.concatenate(weight)
    heavy = shares > _LIGHTEST
    rows = Rows(np.concatenate(Z)[heavy], y[heavy], shares[heavy], data.n_classes)
    seed = int(data.generator.initial_seed() % 2**32)
    rng = np.random.RandomState(seed)
    # the last digits would depend on the number of threads
    with threadpool_limits(limits=1, user_api="blas"):
        return solve_terms(rows, module.terms, grid, module.mean.shape[1], rng)


def as_float(tensor: Any) -> Float:
    """Copy a tensor to numpy, in double precision."""
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
