"""Evaluate a fitted transformer as a function of one of its columns."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from skinterp.tabular._invert import Floats, Function

# 1 is in the domain of every elementwise transformer, 0 is not (logarithm, Box-Cox).
_NEUTRAL = 1.0


class UntoldOutputs(TypeError):
    """A transformer does not say how many outputs it has."""


def bare(transformer: Any) -> Any:
    """Copy of a fitted transformer that takes arrays without a word about names."""
    plain = copy.copy(transformer)
    state = dict(vars(plain))
    state.pop("feature_names_in_", None)
    state["_sklearn_output_config"] = {"transform": "default"}
    plain.__dict__ = state
    return plain


def column_function(
    transformer: Any, width: int, column: int, output: int | None = None
) -> Function:
    """Function that the transformer applies to one column, as it applies it.

    Parameters
    ----------
    transformer : transformer
        Fitted; what it does to one column must not depend on the others.
    width : int
        Number of its columns.
    column, output : int
        Which column goes in, and which one comes out.
    """
    plain = bare(transformer)
    out = column if output is None else output

    def forward(cells: Floats) -> Floats:
        rows = np.full((len(cells), width), _NEUTRAL)
        rows[:, column] = cells
        result = plain.transform(rows)
        if hasattr(result, "toarray"):
            result = result.toarray()
        return np.asarray(result, dtype=np.float64)[:, out]

    return forward


def budget_for(width: int) -> int:
    """How many numbers to try at once in a search, so that memory stays small."""
    return int(np.clip(200_000 // max(width, 1), 16, 512))


def output_names(transformer: Any, names: Sequence[str]) -> list[str]:
    """Names that a transformer gives its outputs, made from those of its inputs."""
    plain = bare(transformer)
    tries = [(np.asarray(names, dtype=object),), ()]
    for arguments in tries:
        try:
            return [str(n) for n in plain.get_feature_names_out(*arguments)]
        except (AttributeError, TypeError, ValueError):
            continue
    for attribute in ("n_features", "n_components"):
        size = getattr(transformer, attribute, None)
        if isinstance(size, int | np.integer):
            stem = type(transformer).__name__.lower()
            return [f"{stem}{i}" for i in range(int(size))]
    msg = (
        f"{type(transformer).__name__} does not tell its outputs: to be explained "
        "through, a transformer needs get_feature_names_out or "
        "__skinterp_feature_map__"
    )
    raise UntoldOutputs(msg)


def kept_and_flagged(imputer: Any, width: int) -> tuple[list[int], list[int]]:
    """Columns that an imputer gives back, and those it adds an indicator for."""
    marks = [f"c{i}" for i in range(width)]
    kept: list[int] = []
    flagged: list[int] = []
    for name in output_names(imputer, marks):
        target = kept if name in marks else flagged
        target.append(int(name.rpartition("c")[2]))
    return kept, flagged
