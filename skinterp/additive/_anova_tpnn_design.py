"""Outputs at rows as a linear map of coefficients, and an approximate inverse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from skinterp.additive._anova_tpnn_kernels import Functions

Float = NDArray[np.float64]
Term = tuple[int, ...]

# The strongest coefficients, for which the preconditioner is exact.
_STRONG = 600


class Design:
    """The linear map from coefficients of unit prior variance to outputs at rows.

    A vector, of shape (n_coefficients, n_outputs), holds the coefficients of curves, of
    surfaces, and the intercept. Terms are taken one by one: their tables stay in the
    processor's cache, and their number is small.
    """

    def __init__(
        self,
        functions: Functions,
        terms: Sequence[Term],
        variances: Float,
        codes: NDArray[np.int64],
    ) -> None:
        scaled = functions.values * np.sqrt(functions.sizes)[:, None]
        self.scaled, self.terms = scaled, list(terms)
        self.root = np.sqrt(variances)
        self.n, self.points, self.width = len(codes), *scaled.shape[1:]
        self.codes = [
            codes[:, t[0]]
            if len(t) == 1
            else codes[:, t[0]] * self.points + codes[:, t[1]]
            for t in terms
        ]
        counts = [self.width ** len(term) for term in terms]
        ends = np.cumsum([0, *counts])
        self.places = [slice(a, b) for a, b in pairwise(ends)]
        self.size = int(ends[-1]) + 1
        prior = [np.zeros(0)]
        for term, root in zip(terms, self.root, strict=True):
            prior.append(root**2 * self._sizes(functions, term))
        self.prior = np.concatenate(prior)

    @staticmethod
    def _sizes(functions: Functions, term: Term) -> Float:
        made = functions.sizes[term[0]]
        for j in term[1:]:
            made = np.multiply.outer(made, functions.sizes[j]).ravel()
        return made

    def outputs(self, vector: Float) -> Float:
        """Outputs of shape (n_rows, n_outputs)."""
        made = np.tile(vector[-1], (self.n, 1))
        for c in range(vector.shape[1]):
            for term, codes, place, root in self._parts():
                part = root * vector[place, c]
                if len(term) == 1:
                    table = self.scaled[term[0]] @ part
                else:
                    part = part.reshape(self.width, self.width)
                    table = (
                        self.scaled[term[0]] @ part @ self.scaled[term[1]].T
                    ).ravel()
                made[:, c] += table[codes]
        return made

    def transposed(self, rows: Float) -> Float:
        """Transposed map, from numbers per row and output."""
        made = np.zeros((self.size, rows.shape[1]))
        for c in range(rows.shape[1]):
            column = np.ascontiguousarray(rows[:, c])
            for term, codes, place, root in self._parts():
                table = np.bincount(codes, column, self.points ** len(term))
                if len(term) == 1:
                    part = self.scaled[term[0]].T @ table
                else:
                    table = table.reshape(self.points, self.points)
                    part = self.scaled[term[0]].T @ table @ self.scaled[term[1]]
                made[place, c] = root * part.ravel()
        made[-1] = rows.sum(axis=0)
        return made

    def _parts(self) -> Any:
        return zip(self.terms, self.codes, self.places, self.root, strict=True)

    def columns(self, chosen: NDArray[np.int64]) -> Float:
        """Some columns of the map, and that of the intercept."""
        made = np.ones((self.n, len(chosen) + 1))
        for k, at in enumerate(chosen):
            t = next(i for i, p in enumerate(self.places) if p.start <= at < p.stop)
            term, inside = self.terms[t], int(at) - self.places[t].start
            if len(term) == 1:
                table = self.scaled[term[0]][:, inside]
            else:
                a, b = divmod(inside, self.width)
                table = np.multiply.outer(
                    self.scaled[term[0]][:, a], self.scaled[term[1]][:, b]
                ).ravel()
            made[:, k] = self.root[t] * table[self.codes[t]]
        return made


class Preconditioner:
    """Approximate inverse of the curvature: exact among the strongest coefficients.

    The others are as if functions of different features were uncorrelated.
    """

    def __init__(self, design: Design, weight: Float, pull: float) -> None:
        strong = np.argsort(-design.prior, kind="stable")[:_STRONG]
        self.strong = np.sort(strong[design.prior[strong] > 0])
        self.at = np.append(self.strong, design.size - 1)
        A = design.columns(self.strong)
        block = (A * weight[:, None]).T @ A
        # without noise, the pull alone would be lost in rounding
        block[np.diag_indices(len(block))] += pull + 1e-12 * np.trace(block)
        self.factor = cho_factor(block)
        self.rest = 1 / (np.append(design.prior, 1.0) * weight.sum() + pull)

    def __call__(self, vector: Float) -> Float:
        made = vector * self.rest[:, None]
        made[self.at] = cho_solve(self.factor, vector[self.at])
        return made
