"""Simple functions in place of curves, and the formula of a whole network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize

from skinterp.explanation import Expression
from skinterp.explanation._edge_curves import EdgeCurves
from skinterp.explanation._edge_curves_show import edge_name
from skinterp.explanation._formula import affine, fold
from skinterp.kan._symbolic_library import LIBRARY, Function

Floats = NDArray[np.float64]

MAX_PARAMETERS = 120  # of a formula whose numbers are fitted together
NAMED = 5  # edges that an error names
DOUBLING = 0.3  # of the error's logarithm: what one more unit of complexity must gain
FLOOR = 1e-6  # shares of unexplained variance below this are alike


@dataclass(frozen=True)
class Fit:
    """A function that stands for an edge: ``a * f(b * x + c) + d``."""

    function: Function
    a: float
    b: float
    c: float
    d: float
    r2: float

    @property
    def score(self) -> float:
        """Error and complexity in one; smaller is better."""
        error = np.log10(max(1 - self.r2, 0.0) + FLOOR)
        return float(error + DOUBLING * self.function.complexity)


def fit_edge(x: Floats, y: Floats) -> list[Fit]:
    """Fit every function of the library to an edge, the best first."""
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        return [Fit(LIBRARY[0], 0.0, 1.0, 0.0, float(y.mean()), 1.0)]
    middle, half = (x.max() + x.min()) / 2, np.ptp(x) / 2
    inside = (x - middle) / half
    fits = []
    for function in LIBRARY:
        beta, gamma = _search(function, inside, y)
        b, c = beta / half, gamma - beta * middle / half
        a, d, r2 = _line(function(b * x + c), y)
        fits.append(Fit(function, a, b, c, d, r2))
    return sorted(fits, key=lambda fit: fit.score)


def _search(function: Function, t: Floats, y: Floats) -> tuple[float, float]:
    """Inner scale and shift for inputs in [-1, 1]: a grid, then its best point refined.

    The outer two numbers are solved for, so that the error of a point is one less the
    squared correlation.
    """
    pairs = function.grid
    with np.errstate(all="ignore"):
        table = function(pairs[:, :1] * t + pairs[:, 1:])
        table = table - table.mean(axis=1, keepdims=True)
        length = np.sqrt((table**2).sum(axis=1))
        match = np.abs(table @ (y - y.mean())) / length
    match[~np.isfinite(match)] = -1.0
    start = pairs[int(np.argmax(match))]
    if not function.free:
        return float(start[0]), float(start[1])

    def error(pair: Floats) -> float:
        full = start.copy()
        full[list(function.free)] = pair
        if not function.allows(full):
            return 1.0
        with np.errstate(all="ignore"):
            return 1.0 - _line(function(full[0] * t + full[1]), y)[2]

    free = list(function.free)
    options: Any = {"maxfev": 120, "xatol": 1e-6, "fatol": 1e-10}
    found: Any = minimize(error, start[free], method="Nelder-Mead", options=options)
    best = start.copy()
    best[free] = found.x if found.fun <= error(start[free]) else start[free]
    return float(best[0]), float(best[1])


def _line(values: Floats, y: Floats) -> tuple[float, float, float]:
    """Slope and start of y over values, and the share of variance explained."""
    if not np.isfinite(values).all():
        return 0.0, float(y.mean()), -np.inf
    centered, rest = values - values.mean(), y - y.mean()
    square = float(centered @ centered)
    if square <= 1e-24 * max(1.0, float(np.abs(values).max()) ** 2):
        return 0.0, float(y.mean()), 0.0
    a = float(centered @ rest) / square
    left = rest - a * centered
    r2 = 1 - float(left @ left) / float(rest @ rest)
    return a, float(y.mean() - a * values.mean()), r2


def edge_table(curves: EdgeCurves, nodes: Sequence[Floats], top: int) -> pd.DataFrame:
    """Best functions of each edge, as a table."""
    if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
        msg = f"top={top!r} must be an integer of at least 1"
        raise ValueError(msg)
    lines = []
    for edge in range(curves.n_edges):
        layer, source, target = curves.ends_of(edge)
        values = curves.edge_values(layer, nodes[layer])[:, target, source]
        for fit in fit_edge(nodes[layer][:, source], values)[:top]:
            lines.append(
                {
                    "layer": layer,
                    "source": source,
                    "target": target,
                    "function": fit.function.name,
                    **{name: getattr(fit, name) for name in ("a", "b", "c", "d", "r2")},
                }
            )
    return pd.DataFrame(lines)


# -- the whole network -----------------------------------------------------------------


class _Network:
    """The edges that matter, as functions whose numbers can be fitted together."""

    def __init__(self, curves: EdgeCurves, nodes: Sequence[Floats]) -> None:
        self.curves, self.nodes = curves, nodes
        self.fits: dict[int, Fit] = {}
        self.constants = [np.zeros(int(w)) for w in curves.widths[1:]]

    def read(self, prune: float, min_r2: float) -> dict[int, Fit]:
        """Fit what the output depends on; gives the edges that have no function."""
        curves, failed = self.curves, {}
        needed = {0}
        for layer in reversed(range(curves.n_layers)):
            values = curves.edge_values(layer, self.nodes[layer])
            size = curves._table(layer, curves.sizes)
            below: set[int] = set()
            for target in sorted(needed):
                total = size[target].sum()
                for source in range(int(curves.widths[layer])):
                    edge = self._number(layer, source, target)
                    y = values[:, target, source]
                    if size[target, source] <= prune * total:
                        self.constants[layer][target] += y.mean()
                        continue
                    fit = fit_edge(self.nodes[layer][:, source], y)[0]
                    self.fits[edge] = fit
                    self.constants[layer][target] += fit.d
                    below.add(source)
                    if fit.r2 < min_r2:
                        failed[edge] = fit
            needed = below
        return failed

    def _number(self, layer: int, source: int, target: int) -> int:
        width = int(self.curves.widths[layer])
        return self.curves._edges_of(layer).start + target * width + source

    @property
    def numbers(self) -> Floats:
        """All numbers of the formula, in one row."""
        inner = [(fit.a, fit.b, fit.c) for fit in self.fits.values()]
        return np.concatenate([np.ravel(inner), *self.constants])

    def set(self, numbers: Floats) -> None:
        """Take other numbers."""
        n = len(self.fits)
        inner = numbers[: 3 * n].reshape(n, 3)
        for (edge, fit), (a, b, c) in zip(
            list(self.fits.items()), inner.tolist(), strict=True
        ):
            self.fits[edge] = Fit(fit.function, a, b, c, fit.d, fit.r2)
        rest = numbers[3 * n :]
        for constant in self.constants:
            constant[:] = rest[: len(constant)]
            rest = rest[len(constant) :]

    def run(self, inputs: Floats) -> Floats:
        """Value of the formula, before the output is scaled."""
        curves, values = self.curves, inputs
        for layer in range(curves.n_layers):
            total = np.tile(self.constants[layer], (len(inputs), 1))
            for edge, fit in self.fits.items():
                place, source, target = curves.ends_of(edge)
                if place == layer:
                    inner = fit.b * values[:, source] + fit.c
                    total[:, target] += fit.a * fit.function(inner)
            hidden = layer < curves.n_layers - 1
            values = np.tanh(total) if curves.squash and hidden else total
        return values[:, 0]

    def polish(self) -> None:
        """Fit all numbers together to the outputs of the network."""
        start, aim = self.numbers, self.nodes[-1][:, 0]
        if len(start) > MAX_PARAMETERS:
            return

        def off(numbers: Floats) -> Floats:
            self.set(numbers)
            with np.errstate(all="ignore"):
                left = self.run(self.nodes[0]) - aim
            return np.where(np.isfinite(left), left, 1e3)

        found = least_squares(off, start, x_scale=1 + np.abs(start), max_nfev=40)
        better = found.cost <= 0.5 * float(off(start) @ off(start))
        self.set(found.x if better else start)

    def formula(self) -> Any:
        """The formula in the columns, in the units of the target."""
        curves = self.curves
        known: list[Any] = [
            affine(("column", j), float(scale), float(offset))
            for j, (scale, offset) in enumerate(
                zip(curves.input_scale, curves.input_offset, strict=True)
            )
        ]
        for layer in range(curves.n_layers):
            sums: list[list[Any]] = [[float(c)] for c in self.constants[layer]]
            for edge, fit in self.fits.items():
                place, source, target = curves.ends_of(edge)
                if place == layer:
                    inner = affine(known[source], fit.b, fit.c)
                    sums[target].append(affine(fit.function.write(inner), fit.a, 0.0))
            known = [("add", *parts) if len(parts) > 1 else parts[0] for parts in sums]
            if curves.squash and layer < curves.n_layers - 1:
                known = [("tanh", part) for part in known]
        scale, offset = curves.output_scale[0], curves.output_offset[0]
        return fold(affine(known[0], float(scale), float(offset)))


def find_formula(
    curves: EdgeCurves, nodes: Sequence[Floats], min_r2: float, prune: float
) -> Expression:
    """Formula of a network whose edges all have simple functions.

    Raises
    ------
    ValueError
        If some have none; the message names them.
    """
    for name, value in (("min_r2", min_r2), ("prune", prune)):
        if not (isinstance(value, int | float) and 0 <= value <= 1):
            msg = f"{name}={value!r} must be a number from 0 to 1"
            raise ValueError(msg)
    network = _Network(curves, nodes)
    failed = network.read(prune, min_r2)
    if failed:
        raise ValueError(_failure(curves, failed, len(network.fits), min_r2))
    network.polish()
    scale = float(curves.output_scale[0])
    said, got = nodes[-1][:, 0], network.run(nodes[0])
    error = float(np.mean((got - said) ** 2))
    spread = float(np.var(said))
    return Expression(
        scope="global",
        feature_names=curves.feature_names,
        target_names=curves.target_names,
        formulas=(network.formula(),),
        errors=np.array([error * scale**2]),
        chosen=-1,  # it stands for the curves, which predict
        meta={
            "r2 to the network": 1 - error / spread if spread > 0 else 1.0,
            "edges": [
                f"{edge_name(curves, e)}: {f.function.name}, R2 {f.r2:.4f}"
                for e, f in network.fits.items()
            ],
        },
    )


def _failure(
    curves: EdgeCurves, failed: dict[int, Fit], n_fitted: int, min_r2: float
) -> str:
    named = [
        f"{edge_name(curves, edge)} (at best {fit.function.name}, R2 {fit.r2:.3f})"
        for edge, fit in list(failed.items())[:NAMED]
    ]
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return (
        f"no simple function fits {len(failed)} of {n_fitted} edges with an R2 of "
        f"min_r2={min_r2} or more: {', '.join(named)}{more}. Fewer hidden nodes, l1 or "
        "entropy above 0, a lower min_r2 or a larger prune make a formula likelier."
    )
