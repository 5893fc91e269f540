"""The list of methods that prints as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from skinterp.plugins._record import MethodRow

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("method", "tasks", "input", "explains", "provider", "summary")


class MethodTable(list[MethodRow]):
    """A list of methods; prints as a table, also in a notebook.

    Parameters
    ----------
    rows : iterable of MethodRow, default=()
        The methods.

    Examples
    --------
    >>> import skinterp
    >>> table = skinterp.list_methods(task="classifier", kind="rules")
    >>> [row.name for row in table]
    ['boolean-tree']
    """

    def __init__(self, rows: Iterable[MethodRow] = ()) -> None:
        super().__init__(rows)

    @overload
    def __getitem__(self, index: SupportsIndex) -> MethodRow: ...

    @overload
    def __getitem__(self, index: slice) -> MethodTable: ...

    def __getitem__(self, index: SupportsIndex | slice) -> MethodRow | MethodTable:
        """Return one row, or a shorter table."""
        if isinstance(index, slice):
            return MethodTable(super().__getitem__(index))
        return super().__getitem__(index)

    def __repr__(self) -> str:
        """Draw the table as text."""
        if not self:
            return "(no methods)"
        return text_table(COLUMNS, self.cells())

    def _repr_html_(self) -> str:
        """Draw the table for a notebook."""
        head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def cells(self) -> list[tuple[str, ...]]:
        """Return the cells of the printed table.

        Returns
        -------
        list of tuple of str
            One tuple for each method, in the order of its columns.

        Examples
        --------
        >>> import skinterp
        >>> skinterp.list_methods(kind="rules").cells()[0][:2]
        ('boolean-tree', 'classifier')
        """
        return [
            (
                row.listed_as,
                ", ".join(row.tasks),
                row.input,
                ", ".join(row.kinds),
                row.provider,
                row.summary,
            )
            for row in self
        ]

    def to_frame(self) -> DataFrame:
        """Return all fields as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each method, indexed by the qualified name.

        Examples
        --------
        >>> import skinterp
        >>> frame = skinterp.list_methods(provider="skinterp").to_frame()
        >>> frame.loc["skinterp:boolean-tree", "reference"]
        'arXiv:2506.14143'
        """
        import pandas as pd

        records: list[dict[str, Any]] = [row.to_dict() for row in self]
        index = pd.Index([row.id for row in self], name="id")
        # The columns are named, so that an empty table has them too.
        return pd.DataFrame(records, index=index, columns=list(_field_names()))


def text_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], width: int = 120
) -> str:
    """Align cells in columns, cut to the width: the last first, never the first.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences of str
        The cells.
    width : int, default=120
        Length of the longest line, unless the first column needs it all.

    Returns
    -------
    str
        Lines without trailing blanks.

    Examples
    --------
    >>> print(text_table(["a", "b"], [["1", "one"], ["10", "ten"]]))
    a   b
    --  ---
    1   one
    10  ten
    """
    lines = [[_one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    gaps = 2 * (len(head) - 1)
    room = max(width - sum(widths[:-1]) - gaps, 20)
    widths[-1] = min(widths[-1], room)
    while len(widths) > 2 and sum(widths) + gaps > width:
        widest = max(range(1, len(widths) - 1), key=lambda i: widths[i])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
    rule = ["-" * n for n in widths]
    out = []
    for cells in [list(head), rule, *lines]:
        clipped = map(_clip, cells, widths)
        padded = (cell.ljust(n) for cell, n in zip(clipped, widths, strict=True))
        out.append("  ".join(padded).rstrip())
    return "\n".join(out)


def _clip(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[: width - 1] + "…"


def _one_line(text: str) -> str:
    # A plugin's text may hold anything; control characters would move the cursor.
    return "".join(c if c.isprintable() else " " for c in text)


def _field_names() -> tuple[str, ...]:
    return tuple(name for name in MethodRow.__dataclass_fields__)
