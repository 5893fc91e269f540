"""Tiny data sets for the checks, one builder per kind of input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["make_data", "register_data"]

Builder = Callable[..., tuple[Any, NDArray[Any]]]
_BUILDERS: dict[str, Builder] = {}


def register_data(input_kind: str, builder: Builder) -> None:
    """Tell the kit how to make data of a further kind of input.

    Parameters
    ----------
    input_kind : str
        The ``input`` of ``SkinterpTags``, such as "graph".
    builder : callable
        ``builder(task, n_rows=..., n_classes=..., seed=...)`` returns ``X, y``; task
        is "classification" or "regression".

    Examples
    --------
    >>> def sentences(task, *, n_rows=60, n_classes=2, seed=0):
    ...     return ["good", "bad"] * (n_rows // 2), np.array([0, 1] * (n_rows // 2))
    >>> register_data("sentence", sentences)
    >>> make_data("sentence", "classification", n_rows=2)[0]
    ['good', 'bad']
    """
    _BUILDERS[input_kind] = builder


def make_data(
    input_kind: str = "tabular",
    task: str = "classification",
    *,
    n_rows: int | None = None,
    n_classes: int = 3,
    seed: int = 0,
) -> tuple[Any, NDArray[Any]]:
    """Make a tiny valid data set with something to learn in it.

    Parameters
    ----------
    input_kind : str, default="tabular"
        "tabular" gives 60 rows of 5 floats, "series" 20 cases of one channel and 40
        time points, "text" 20 words; further ones come by ``register_data``.
    task : str, default="classification"
        "classification" or "regression".
    n_rows : int, default=None
        Number of cases; None takes the builder's own.
    n_classes : int, default=3
        Number of classes, 0, 1, ...
    seed : int, default=0
        Seed of the data.

    Returns
    -------
    X : object
        The cases.
    y : ndarray of shape (n_rows,)
        The targets.

    Examples
    --------
    >>> X, y = make_data("series", "classification", n_classes=2)
    >>> X.shape, set(y.tolist())
    ((20, 1, 40), {0, 1})
    """
    if input_kind not in _BUILDERS:
        msg = (
            f"No data for input {input_kind!r}; there is data for {sorted(_BUILDERS)}. "
            "Add a builder with skinterp.testing.register_data."
        )
        raise ValueError(msg)
    rows = {} if n_rows is None else {"n_rows": n_rows}
    return _BUILDERS[input_kind](task, n_classes=n_classes, seed=seed, **rows)


def has_data(input_kind: str) -> bool:
    """Say whether ``make_data`` knows a kind of input."""
    return input_kind in _BUILDERS


def _tabular(
    task: str, *, n_rows: int = 60, n_classes: int = 3, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Rows of five floats: three that matter, two of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    if task == "regression":
        return X, 2.0 * X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + 10.0
    y = np.arange(n_rows) % n_classes
    X[:, 0] += 3.0 * (y == 0)
    X[:, 1] -= 3.0 * (y == 1)
    X[:, 2] += 2.0 * y
    return X, y


def _series(
    task: str, *, n_rows: int = 20, n_classes: int = 2, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Noise with a bump whose place (class) or height (target) is to be learnt."""
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=0.3, size=(n_rows, 1, 40))
    shape = np.sin(np.linspace(0.0, np.pi, 8))
    y: NDArray[Any] = np.arange(n_rows) % n_classes
    if task == "regression":
        y = rng.uniform(1.0, 4.0, size=n_rows)
    for i in range(n_rows):
        start, height = (4, y[i]) if task == "regression" else (4 + 10 * y[i] % 32, 3.0)
        X[i, 0, start : start + 8] += height * shape
    return X, y


def _text(
    task: str, *, n_rows: int = 20, n_classes: int = 2, seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Different words, whose first syllable tells class or target."""
    rng = np.random.default_rng(seed)
    y: NDArray[Any] = np.arange(n_rows) % n_classes
    if task == "regression":
        y = rng.uniform(1.0, 4.0, size=n_rows)
    first = np.array(["ba", "di", "fo", "gu", "he", "ka"])[y.astype(int) % 6]
    rest = rng.permutation(["", "lo", "mi", "na", "pu", "re", "so", "ta"] * n_rows)
    words = [f"{a}{b}{i:x}" for i, (a, b) in enumerate(zip(first, rest, strict=False))]
    return np.array(words, dtype=object), y


register_data("tabular", _tabular)
register_data("series", _series)
register_data("text", _text)
