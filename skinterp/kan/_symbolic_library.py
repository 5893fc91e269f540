"""The functions that may stand for a curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _pairs(scales: Any, shifts: Any) -> Floats:
    grid = np.meshgrid(scales, shifts, indexing="ij")
    return np.stack([part.ravel() for part in grid], axis=1).astype(np.float64)


# Scales and shifts of t in [-1, 1]. Where a scale can be moved out of the function it
# is held at one, so that each curve is found at one place only.
_SHIFTED = _pairs([1.0], np.linspace(-2.5, 2.5, 41))
_POSITIVE = _pairs([1.0, -1.0], 1 + np.geomspace(1e-3, 10, 40))
_GROWING = _pairs(
    np.concatenate([-np.geomspace(0.2, 8, 25), np.geomspace(0.2, 8, 25)]), [0]
)
_WAVES = _pairs(np.linspace(0.3, 12, 40), np.linspace(0, np.pi, 16, endpoint=False))
_STEPS = _pairs(np.geomspace(0.5, 12, 20), np.linspace(-6, 6, 25))


def _anything(pair: Floats) -> bool:
    return True


def _positive(pair: Floats) -> bool:
    return bool(pair[1] > abs(pair[0]))  # on all of [-1, 1]


@dataclass(frozen=True, eq=False)
class Function:
    """One function: its value, its formula, and where its inner numbers are sought."""

    name: str
    complexity: int
    value: Callable[[Floats], Floats]
    write: Callable[[Any], Any]
    grid: Floats
    free: tuple[int, ...] = (0, 1)
    allows: Callable[[Floats], bool] = field(default=_anything)

    def __call__(self, x: Floats) -> Floats:
        """Value at each number."""
        with np.errstate(all="ignore"):
            return self.value(x)


def _power(exponent: float) -> Callable[[Any], Any]:
    return lambda inner: ("pow", inner, exponent)


def _named(name: str) -> Callable[[Any], Any]:
    return lambda inner: (name, inner)


#: From simple to complex; the first is a line.
LIBRARY = (
    Function("x", 1, lambda x: x, lambda inner: inner, _pairs([1.0], [0.0]), ()),
    Function("x^2", 2, np.square, _power(2), _SHIFTED, (1,)),
    Function("exp(x)", 2, np.exp, _named("exp"), _GROWING, (0,)),
    Function("log(x)", 2, np.log, _named("log"), _POSITIVE, (1,), _positive),
    Function("sqrt(x)", 2, np.sqrt, _power(0.5), _POSITIVE, (1,), _positive),
    Function("1/x", 2, lambda x: 1 / x, _power(-1), _POSITIVE, (1,), _positive),
    Function("abs(x)", 2, np.abs, _named("abs"), _SHIFTED, (1,)),
    Function("sin(x)", 3, np.sin, _named("sin"), _WAVES),
    Function("x^3", 3, lambda x: x**3, _power(3), _SHIFTED, (1,)),
    Function("1/x^2", 3, lambda x: x**-2.0, _power(-2), _POSITIVE, (1,), _positive),
    Function("x^4", 3, lambda x: x**4, _power(4), _SHIFTED, (1,)),
    Function("tanh(x)", 3, np.tanh, _named("tanh"), _STEPS),
    Function(
        "exp(-x^2)",
        4,
        lambda x: np.exp(-(x**2)),
        lambda inner: ("exp", ("mul", -1, ("pow", inner, 2))),
        _STEPS,
    ),
)
