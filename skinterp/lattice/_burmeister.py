"""Contexts as files in Burmeister's format, which many programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import os

    import pandas as pd


def read_burmeister(
    path: str | os.PathLike[str], *, encoding: str = "utf-8"
) -> pd.DataFrame:
    """Read a formal context from a file in Burmeister's format (.cxt).

    Parameters
    ----------
    path : path-like
        The file.
    encoding : str, default="utf-8"
        How its text is stored.

    Returns
    -------
    pandas.DataFrame
        Truth values, with the objects as index and the attributes as columns; spaces
        around names are dropped.

    Raises
    ------
    ValueError
        If the file is not in this format; the message names the line.

    See Also
    --------
    write_burmeister : Writes such a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinterp.lattice import read_burmeister, write_burmeister
    >>> table = pd.DataFrame({"flies": [True, False]}, index=["wren", "carp"])
    >>> write_burmeister(table, "birds.cxt")
    >>> read_burmeister("birds.cxt").equals(table)
    True
    """
    import pandas as pd

    text = Path(path).read_text(encoding=encoding).removeprefix("\ufeff")
    lines = text.removesuffix("\n").split("\n")  # names may hold other separators
    if lines[0].strip() != "B":
        msg = f"{path} is not in Burmeister's format: line 1 must be 'B'"
        raise ValueError(msg)
    errors = []
    for at, n, m in _read_sizes(path, lines):
        try:
            crosses, objects, attributes = _read_rest(path, lines, at, n, m)
        except ValueError as error:
            errors.append(error)
            continue
        return pd.DataFrame(crosses, index=_strip(objects), columns=_strip(attributes))
    raise errors[0]


def _read_sizes(path: Any, lines: list[str]) -> list[tuple[int, int, int]]:
    """Where the names begin, and the numbers of objects and attributes.

    A name may stand before the numbers. Its line may be empty, and some programs leave
    it out: then a name that is a number can be taken for one of them, so that there
    are two ways to read the file.
    """
    found = []
    for first in (2, 1):
        after = [(i, lines[i].strip()) for i in range(first, len(lines))]
        numbers = [(i, text) for i, text in after if text][:2]
        if len(numbers) == 2 and all(text.isdecimal() for _, text in numbers):
            found.append((numbers[1][0] + 1, int(numbers[0][1]), int(numbers[1][1])))
    if not found:
        msg = (
            f"{path}: the numbers of objects and attributes must follow the name, each "
            "on its line (lines 3 and 4)"
        )
        raise ValueError(msg)
    return found


def _read_rest(
    path: Any, lines: list[str], at: int, n: int, m: int
) -> tuple[NDArray[np.bool_], list[str], list[str]]:
    """Crosses, objects and attributes, which begin at a line."""
    if at < len(lines) and not lines[at].strip():
        at += 1
    start = at + n + m
    rest = [(i, x.strip()) for i, x in enumerate(lines) if i >= start]
    rest = [(i, row) for i, row in rest if row or m == 0][:n]
    if len(lines) < start or len(rest) < n:
        msg = (
            f"{path} ends at line {len(lines)}, but {n} objects and {m} attributes "
            f"need {start + n} lines"
        )
        raise ValueError(msg)
    objects, attributes = lines[at : at + n], lines[at + n : at + n + m]
    crosses = np.zeros((n, m), dtype=bool)
    for i, (line, row) in enumerate(rest):
        if len(row) != m or set(row) - set("xX."):
            msg = (
                f"{path}, line {line + 1}: {row!r} must hold {m} signs, X or a full "
                "stop"
            )
            raise ValueError(msg)
        crosses[i] = [sign in "xX" for sign in row]
    return crosses, objects, attributes


def _strip(names: list[str]) -> list[str]:
    return [name.strip() for name in names]


def write_burmeister(
    X: Any,
    path: str | os.PathLike[str],
    *,
    name: str = "",
    objects: Any = None,
    attributes: Any = None,
    encoding: str = "utf-8",
) -> None:
    """Write a formal context to a file in Burmeister's format (.cxt).

    Parameters
    ----------
    X : frame or array-like of shape (n_objects, n_attributes)
        Truth values, or numbers 0 and 1.
    path : path-like
        The file to write; an existing one is replaced.
    name : str, default=""
        Name of the context.
    objects : sequence of str, default=None
        Names of the rows; None takes the index of a frame, else ``g0``, ``g1``, ...
    attributes : sequence of str, default=None
        Names of the columns; None takes those of a frame, else ``m0``, ``m1``, ...
    encoding : str, default="utf-8"
        How to store the text.

    Raises
    ------
    ValueError
        If X holds anything else, a name has a line break, or names are too few.

    See Also
    --------
    read_burmeister : Reads such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from skinterp.lattice import write_burmeister
    >>> write_burmeister([[1, 0], [1, 1]], "two.cxt", name="two")
    >>> Path("two.cxt").read_text().split()
    ['B', 'two', '2', '2', 'g0', 'g1', 'm0', 'm1', 'X.', 'XX']
    """
    table = np.asarray(X)
    if table.ndim != 2:
        msg = f"X must have two dimensions, got the shape {table.shape}"
        raise ValueError(msg)
    wrong = [cell for cell in table.ravel().tolist() if not _is_truth(cell)]
    if wrong:
        msg = f"X holds {wrong[0]!r}; a context holds truth values, or 0 and 1"
        raise ValueError(msg)
    n, m = table.shape
    own = getattr(X, "columns", None)
    index = getattr(X, "index", None) if own is not None else None
    rows = _names(objects, index, "g", n, "objects")
    columns = _names(attributes, own, "m", m, "attributes")
    crosses = ["".join("X" if cell else "." for cell in row) for row in table.tolist()]
    head = ["B", _one_line(name), str(n), str(m), ""]
    text = "\n".join([*head, *rows, *columns, *crosses]) + "\n"
    Path(path).write_text(text, encoding=encoding)


def _names(given: Any, own: Any, letter: str, n: int, what: str) -> list[str]:
    source = own if given is None else given
    names = [f"{letter}{i}" for i in range(n)] if source is None else list(source)
    if len(names) != n:
        msg = f"{what} has {len(names)} names for {n} of them"
        raise ValueError(msg)
    return [_one_line(str(name)) for name in names]


def _is_truth(cell: Any) -> bool:
    kinds = bool | int | float | np.bool_ | np.number
    return isinstance(cell, kinds) and cell in (0, 1)


def _one_line(name: str) -> str:
    if "\n" in name or "\r" in name:
        msg = f"the name {name!r} has a line break, which the format cannot hold"
        raise ValueError(msg)
    return name
