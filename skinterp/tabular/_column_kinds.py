"""What a column of a table holds, by its dtype or by its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skinterp.tabular._label_parts import CategoryPart, OrderedPart, TextPart
from skinterp.tabular._table_parts import (
    MOMENTS,
    NUMBERS,
    BoolPart,
    DatePart,
    NumberPart,
    Part,
    is_moment,
)
from skinterp.tabular._trace import is_missing

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.tabular._table_encoder import TableEncoder

WORDS_IN_TEXT = 3


def choose_part(name: str, column: pd.Series[Any], encoder: TableEncoder) -> type[Part]:
    """Choose how to encode a column by its dtype, or by its cells."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return OrderedPart if dtype.ordered else CategoryPart
    if pd.api.types.is_bool_dtype(dtype):
        return BoolPart
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return DatePart
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(
        dtype
    ):
        return NumberPart
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        return _choose_by_cells(name, column, encoder)
    msg = (
        f"column {name!r} has dtype {dtype}, which TableEncoder does not take; allowed "
        "are numbers, bool, category, text and dates"
    )
    raise ValueError(msg)


def _choose_by_cells(
    name: str, column: pd.Series[Any], encoder: TableEncoder
) -> type[Part]:
    cells = [cell for cell in column.to_numpy(dtype=object) if not is_missing(cell)]
    if not cells:
        return NumberPart
    kinds: dict[type[Part], Any] = {}
    for cell in cells:
        kinds.setdefault(_kind_of_cell(name, cell), cell)
    if len(kinds) > 1:
        first, second = list(kinds.values())[:2]
        msg = (
            f"column {name!r} holds {first!r} beside {second!r}: it has to hold one of "
            "numbers, texts, truth values or dates"
        )
        raise ValueError(msg)
    kind = next(iter(kinds))
    return _choose_for_texts(cells, encoder) if kind is TextPart else kind


def _kind_of_cell(name: str, cell: Any) -> type[Part]:
    if isinstance(cell, str):
        return TextPart
    if isinstance(cell, bool | np.bool_):
        return BoolPart
    if isinstance(cell, NUMBERS):
        return NumberPart
    if isinstance(cell, MOMENTS):
        return DatePart
    msg = (
        f"column {name!r} holds {cell!r} of type {type(cell).__name__}; allowed are "
        "numbers, truth values, texts and dates"
    )
    raise ValueError(msg)


def _choose_for_texts(cells: list[str], encoder: TableEncoder) -> type[Part]:
    """Tell dates, labels and free text apart."""
    distinct = set(cells)
    if all(is_moment(cell) for cell in distinct):
        return DatePart
    limit = encoder.max_categories or 20
    words = np.median([len(cell.split()) for cell in distinct])
    is_text = len(distinct) > limit and words >= WORDS_IN_TEXT
    return TextPart if is_text else CategoryPart
