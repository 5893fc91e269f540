"""Small helpers for the pictures of explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def make_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Give the Axes that a kind of explanation draws on.

    Call it in ``plot``, so that a picture in a page takes the size that it needs.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        The user's, which are returned as they are; None makes new ones, which pyplot
        shows in a notebook.
    width, height : float
        Size of the figure in inches, for new ones and in pages.

    Returns
    -------
    matplotlib.axes.Axes
        What to draw on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from skinterp.explanation import make_axes
    >>> mine = Figure().add_subplot()
    >>> make_axes(mine, width=6, height=3) is mine
    True
    """
    if ax is not None:
        figure: Any = ax.figure
        if getattr(figure, "fits_drawing", False):
            figure.set_size_inches(width, height)
        return ax
    import matplotlib.pyplot as plt

    _, new = plt.subplots(figsize=(width, height), layout="constrained")
    return new


def own_figure(width: float, height: float) -> Figure:
    """Figure that pyplot does not know of, so that none is left open.

    It takes the size that a kind asks ``make_axes`` for, so that letters stay readable.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.fits_drawing = True  # type: ignore[attr-defined]
    return figure


def shorten(text: str, length: int) -> str:
    r"""Cut a text in the middle, and keep matplotlib from reading it as mathematics.

    What has no glyph, such as a line break or half a surrogate pair, becomes a space or
    a replacement character.

    Parameters
    ----------
    text : str
        A name of the user's, to be written in a picture.
    length : int
        Most letters to keep.

    Returns
    -------
    str
        The text as matplotlib can draw it.

    Examples
    --------
    >>> from skinterp.explanation import shorten
    >>> print(shorten("a rather long name of a column", 12))
    a rat…column
    >>> print(shorten("$x$", 12))
    \$x\$
    """
    text = "".join(_drawable(letter) for letter in text)
    if len(text) > length:
        head = (length - 1) // 2
        text = f"{text[:head]}…{text[-(length - 1 - head) :]}"
    return text.replace("$", r"\$")


def _drawable(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"
