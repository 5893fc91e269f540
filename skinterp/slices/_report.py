"""From what a search found to its explanation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.base import feature_names_of
from skinterp.explanation import SliceSet
from skinterp.explanation._literals import Literal
from skinterp.explanation._rules_map import flatten
from skinterp.explanation._slices_show import say_condition
from skinterp.slices._tags import Column

SAME_NAMES = ("size", "performance", "p_value", "q_value", "error_share")
HELD = ("held_size", "held_performance", "held_p_value", "held_q_value")


def literals(columns: tuple[Column, ...]) -> list[Literal]:
    """What each tag says."""
    return [column.literal(code) for column in columns for code in column.kept]


def say_tags(columns: tuple[Column, ...], tags: Iterable[int], names: Any) -> str:
    """Slice in words."""
    dtype = {column.position: column.dtype for column in columns}
    said = literals(columns)
    return " and ".join(
        say_condition(x, names[x.feature], dtype[x.feature])
        for x in (said[tag] for tag in tags)
    )


def slice_set(
    finder: Any, slices: NDArray[Any], held_overall: float, n_held: int
) -> SliceSet:
    """Explanation of a finder, with some records in place of its own."""
    said = literals(finder.columns_)
    names = feature_names_of(finder)
    # a column without tags is read as whatever it is: no slice speaks of it
    dtypes = ["category"] * len(names)
    for column in finder.columns_:
        dtypes[column.position] = column.dtype
    ends = finder.offsets_
    parts = flatten(
        [
            tuple(said[tag] for tag in finder.tags_[ends[s] : ends[s + 1]])
            for s in range(len(slices))
        ]
    )
    figures: dict[str, Any] = {name: slices[name] for name in SAME_NAMES}
    if n_held:
        figures |= {name: slices[name] for name in HELD}
    step = np.full(len(slices), -1, dtype=np.int64)
    step[finder.cover_] = np.arange(len(finder.cover_))
    return SliceSet(
        scope="global",
        feature_names=names,
        target_names=np.array([finder.metric_]),
        feature_dtypes=tuple(dtypes),
        **parts,
        **figures,
        cover_step=step,
        cover_errors=finder.cover_errors_,
        cover_rows=finder.cover_rows_,
        overall=finder.overall_,
        held_overall=held_overall,
        gap=finder.gap_,
        n_rows=finder.n_rows_,
        n_held=n_held,
        n_found=finder.n_found_,
        n_tests=finder.n_tests_,
        loss=finder._loss,
    )
