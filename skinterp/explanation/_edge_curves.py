"""Curves on the edges of a network: what each input becomes on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import _edge_curves_math as curves_of
from skinterp.explanation._base import Explanation, check_k, check_shapes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

BASES = ("silu", "none")
OUTPUTS = ("predict", "decision_function")
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EdgeCurves(Explanation):
    """A network in which each edge is a curve and each node adds what reaches it.

    The curves are held by their coefficients, so that the network can be computed from
    the explanation alone, and drawn with as many points as one likes. Edges are
    numbered by layer, then by the node they lead to, then by the node they start from.

    Parameters
    ----------
    scope : {"global", "local"}
        Global: the curves. Local: also the values of all nodes for each row.
    feature_names : tuple of str
        Names of the input nodes.
    target_names : ndarray of shape (n_targets,)
        Labels of the classes, or names of the outputs.
    widths : ndarray of shape (n_layers + 1,)
        Number of nodes, from the inputs to the outputs.
    coefficients : ndarray of shape (n_edges, grid_size + spline_order + 1)
        Of the B-splines, then the weight of the base function.
    sizes : ndarray of shape (n_edges,)
        Standard deviation of each edge over the training rows.
    ranges : ndarray of shape (n_inner, 2)
        Lowest and highest training value of each node that edges start from.
    grid_size : int
        Number of intervals between the knots.
    spline_order : int
        Degree of the B-splines.
    grid_range : ndarray of shape (2,)
        First and last knot, the same for all nodes.
    clip : ndarray of shape (2,)
        Where scaled inputs are cut off.
    base : {"silu", "none"}
        Base function.
    squash : bool
        Whether hidden nodes pass on the tanh of their sum.
    input_scale, input_offset : ndarray of shape (n_inputs,)
        An input node is ``column * scale + offset``, clipped.
    output_scale, output_offset : ndarray of shape (n_outputs,)
        What is predicted is ``node * scale + offset``.
    output : {"predict", "decision_function"}
        The method of the estimator that this is.
    codes : ndarray of shape (n_edges, code_dim), default=None
        Codes that the coefficients were made from.
    activations : ndarray of shape (n_rows, n_nodes), default=None
        Local: values of all nodes, inputs first.
    shown : ndarray of int of shape (n_shown,), default=None
        The edges to speak of; None for all. The others stay part of the network.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of edges shown.

    See Also
    --------
    Attribution : A number per feature instead of curves.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import EdgeCurves
    >>> line = EdgeCurves(
    ...     scope="global",
    ...     feature_names=("dose",),
    ...     target_names=np.array(["effect"]),
    ...     widths=np.array([1, 1]),
    ...     coefficients=np.array([[0.0, 3.0, 0.0]]),
    ...     sizes=np.array([0.9]),
    ...     ranges=np.array([[-1.0, 1.0]]),
    ...     grid_size=1,
    ...     spline_order=1,
    ...     grid_range=np.array([-1.0, 1.0]),
    ...     clip=np.array([-1.2, 1.2]),
    ...     base="silu",
    ...     squash=False,
    ...     input_scale=np.array([0.1]),
    ...     input_offset=np.array([-1.0]),
    ...     output_scale=np.ones(1),
    ...     output_offset=np.zeros(1),
    ...     output="predict",
    ... )
    >>> grid, values = line.curves(0, n_points=3)
    >>> grid, values[0]
    (array([[ 0., 10., 20.]]), array([[0. , 1.5, 3. ]]))
    >>> print(line.to_text())
    network of 1-1 nodes, 1 edge
    inputs by importance:
      - dose: 1
    edges by importance:
      - dose -> effect: 1, from 0 up to 3
    """

    kind = "edge-curves"

    widths: NDArray[np.int64]
    coefficients: Floats
    sizes: Floats
    ranges: Floats
    grid_size: int
    spline_order: int
    grid_range: Floats
    clip: Floats
    base: str
    squash: bool
    input_scale: Floats
    input_offset: Floats
    output_scale: Floats
    output_offset: Floats
    output: str
    codes: Floats | None = None
    activations: Floats | None = None
    shown: NDArray[np.int64] | None = None

    def _normalise(self) -> None:
        self._set("widths", np.asarray(self.widths, dtype=np.int64))
        for name in ("grid_size", "spline_order"):
            self._set(name, int(getattr(self, name)))
        self._set("squash", bool(self.squash))
        for name in (
            *("coefficients", "sizes", "ranges", "grid_range", "clip", "input_scale"),
            *("input_offset", "output_scale", "output_offset", "codes", "activations"),
        ):
            value = getattr(self, name)
            if value is not None:
                self._set(name, np.asarray(value, dtype=np.float64))
        if self.shown is None and self.widths.ndim == 1:
            self._set("shown", np.arange(self.n_edges))
        self._set("shown", np.asarray(self.shown, dtype=np.int64))

    def _check(self) -> None:
        if self.widths.ndim != 1 or len(self.widths) < 2 or (self.widths < 1).any():
            msg = f"widths={self.widths.tolist()} must be two positive numbers or more"
            raise ValueError(msg)
        if self.grid_size < 1 or not 0 <= self.spline_order <= 20:
            msg = (
                f"grid_size={self.grid_size}, spline_order={self.spline_order}: at "
                "least 1, and 0 to 20, are allowed"
            )
            raise ValueError(msg)
        for name, allowed in (("base", BASES), ("output", OUTPUTS)):
            if getattr(self, name) not in allowed:
                msg = f"{name}={getattr(self, name)!r} is not one of {list(allowed)}"
                raise ValueError(msg)
        n_in, n_out, n_edges = self.widths[0], self.widths[-1], self.n_edges
        n_values = self.grid_size + self.spline_order + 1
        check_shapes(
            {
                "feature_names": (self.feature_names, (n_in,)),
                "coefficients": (self.coefficients, (n_edges, n_values)),
                "sizes": (self.sizes, (n_edges,)),
                "ranges": (self.ranges, (int(self.widths[:-1].sum()), 2)),
                "grid_range": (self.grid_range, (2,)),
                "clip": (self.clip, (2,)),
                "input_scale": (self.input_scale, (n_in,)),
                "input_offset": (self.input_offset, (n_in,)),
                "output_scale": (self.output_scale, (n_out,)),
                "output_offset": (self.output_offset, (n_out,)),
            }
        )
        if not self.grid_range[0] < self.grid_range[1]:
            msg = f"grid_range={self.grid_range.tolist()} must rise"
            raise ValueError(msg)
        self._check_parts()

    def _check_parts(self) -> None:
        n_targets = len(self.target_names)
        if n_targets != self.widths[-1] and (n_targets, self.widths[-1]) != (2, 1):
            msg = f"{self.widths[-1]} outputs for {n_targets} target_names"
            raise ValueError(msg)
        if (self.activations is None) != (self.scope == "global"):
            msg = "a local explanation has activations, a global one has none"
            raise ValueError(msg)
        n_nodes = int(self.widths.sum())
        if self.activations is not None and (
            self.activations.ndim != 2 or self.activations.shape[1] != n_nodes
        ):
            shape = self.activations.shape
            msg = f"activations has shape {shape}, expected (n_rows, {n_nodes})"
            raise ValueError(msg)
        if self.codes is not None and (
            self.codes.ndim != 2 or len(self.codes) != self.n_edges
        ):
            msg = f"codes has shape {self.codes.shape}, expected ({self.n_edges}, dim)"
            raise ValueError(msg)
        if self.shown is None or self.shown.ndim != 1:
            msg = f"shown={self.shown!r} must be a list of edges"
            raise ValueError(msg)
        if len(self.shown) and not (
            self.shown.min() >= 0 and self.shown.max() < self.n_edges
        ):
            msg = f"shown names edges that are not among the {self.n_edges}"
            raise ValueError(msg)

    # -- the network ------------------------------------------------------------------
    @property
    def n_layers(self) -> int:
        """Number of layers of edges."""
        return len(self.widths) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges, shown or not."""
        return int((self.widths[:-1] * self.widths[1:]).sum())

    def _edges_of(self, layer: int) -> slice:
        counts = self.widths[:-1] * self.widths[1:]
        start = int(counts[:layer].sum())
        return slice(start, start + int(counts[layer]))

    def _nodes_of(self, layer: int) -> slice:
        start = int(self.widths[:layer].sum())
        return slice(start, start + int(self.widths[layer]))

    def _table(self, layer: int, values: Floats) -> Floats:
        """Numbers per edge of a layer, as (n_out, n_in, ...)."""
        part = values[self._edges_of(layer)]
        n_in, n_out = self.widths[layer : layer + 2]
        return part.reshape(int(n_out), int(n_in), *part.shape[1:])

    def _check_layer(self, layer: int) -> int:
        if isinstance(layer, bool) or layer not in range(self.n_layers):
            msg = f"layer={layer!r} is none of {self.n_layers} layers, counted from 0"
            raise ValueError(msg)
        return int(layer)

    def _grid(self) -> dict[str, Any]:
        low, high = map(float, self.grid_range)
        return {
            "size": self.grid_size,
            "order": self.spline_order,
            "low": low,
            "high": high,
            "base": self.base,
        }

    def edge_values(self, layer: int, nodes: Floats) -> Floats:
        """Compute the edges of a layer at given values of their nodes.

        Parameters
        ----------
        layer : int
            Number of the layer, from 0.
        nodes : ndarray of shape (n_rows, n_in)
            Values of the nodes where the edges start; inputs scaled.

        Returns
        -------
        ndarray of shape (n_rows, n_out, n_in)
            Values of the edges.
        """
        table = curves_of.features(np.asarray(nodes, dtype=float), **self._grid())
        return self._combine(layer, table)

    def edge_slopes(self, layer: int, nodes: Floats) -> Floats:
        """Compute the derivatives of the edges of a layer.

        Parameters
        ----------
        layer : int
            Number of the layer, from 0.
        nodes : ndarray of shape (n_rows, n_in)
            Values of the nodes where the edges start; inputs scaled.

        Returns
        -------
        ndarray of shape (n_rows, n_out, n_in)
            Derivatives by the value of the node.
        """
        table = curves_of.slopes(np.asarray(nodes, dtype=float), **self._grid())
        return self._combine(layer, table)

    def _combine(self, layer: int, table: Floats) -> Floats:
        own = self._table(self._check_layer(layer), self.coefficients)
        # unlike BLAS, to the last digit the same whatever rows stand beside
        return np.asarray(np.einsum("nik,oik->noi", table, own))

    def run(self, nodes: Floats) -> list[Floats]:
        """Compute the network.

        Parameters
        ----------
        nodes : ndarray of shape (n_rows, n_inputs)
            Values of the input nodes, scaled and clipped.

        Returns
        -------
        list of ndarray of shape (n_rows, n_nodes)
            Values of the nodes of each layer, the inputs first.
        """
        done = [np.asarray(nodes, dtype=np.float64)]
        for layer in range(self.n_layers):
            total = self.edge_values(layer, done[-1]).sum(axis=2)
            hidden = layer < self.n_layers - 1
            done.append(np.tanh(total) if self.squash and hidden else total)
        return done

    def curves(self, layer: int, *, n_points: int = 101) -> tuple[Floats, Floats]:
        """Give the curves of a layer as points.

        Parameters
        ----------
        layer : int
            Number of the layer, from 0.
        n_points : int, default=101
            Number of points, evenly spaced over what the nodes took in training.

        Returns
        -------
        grid : ndarray of shape (n_in, n_points)
            Values of the nodes; those of inputs in the units of their columns.
        values : ndarray of shape (n_out, n_in, n_points)
            Values of the edges.
        """
        ends = self.ranges[self._nodes_of(self._check_layer(layer))]
        nodes = np.linspace(ends[:, 0], ends[:, 1], n_points)
        values = self.edge_values(layer, nodes).transpose(1, 2, 0)
        if layer == 0:
            nodes = (nodes - self.input_offset) / self.input_scale
        return nodes.T, values

    def contributions(self, layer: int = 0) -> Floats:
        """Give the values of a layer's edges for the explained rows.

        Parameters
        ----------
        layer : int, default=0
            Number of the layer.

        Returns
        -------
        ndarray of shape (n_rows, n_out, n_in)
            What each edge adds to the node that it leads to.

        Raises
        ------
        ValueError
            For a global explanation, which knows no rows.
        """
        if self.activations is None:
            msg = "a global explanation has no rows; explain(X) gives contributions"
            raise ValueError(msg)
        nodes = self.activations[:, self._nodes_of(self._check_layer(layer))]
        return self.edge_values(layer, nodes)

    def node_importances(self) -> list[Floats]:
        """Hand the importance of the outputs back along the edges, by their sizes.

        Returns
        -------
        list of ndarray of shape (n_nodes,)
            Per layer, inputs first; each sums to one, or less where nothing moves.
        """
        n_out = int(self.widths[-1])
        found = [np.full(n_out, 1 / n_out)]
        for layer in reversed(range(self.n_layers)):
            found.append(self._passed_back(layer, found[-1]).sum(axis=0))
        return found[::-1]

    def _passed_back(self, layer: int, importance: Floats) -> Floats:
        size = self._table(layer, self.sizes)
        total = size.sum(axis=1, keepdims=True)
        part = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
        return np.asarray(importance[:, None] * part)

    def edge_importances(self) -> Floats:
        """Share of the outputs' importance that passes through each edge.

        Returns
        -------
        ndarray of shape (n_edges,)
            Those of a layer sum to one, or less where nothing moves.
        """
        nodes = self.node_importances()
        parts = [
            self._passed_back(layer, nodes[layer + 1]).ravel()
            for layer in range(self.n_layers)
        ]
        return np.concatenate(parts)

    def ends_of(self, edge: int) -> tuple[int, int, int]:
        """Say where an edge lies.

        Parameters
        ----------
        edge : int
            Number of the edge.

        Returns
        -------
        tuple of int
            Layer, position of the node where it starts, and of that where it leads.
        """
        layer = next(i for i in range(self.n_layers) if edge < self._edges_of(i).stop)
        target, source = divmod(
            int(edge) - self._edges_of(layer).start, int(self.widths[layer])
        )
        return layer, source, target

    # -- as any explanation -----------------------------------------------------------
    def __len__(self) -> int:
        assert self.shown is not None
        return len(self.shown if self.activations is None else self.activations)

    @property
    def complexity(self) -> int:
        """Number of edges shown."""
        assert self.shown is not None
        return len(self.shown)

    def top(self, k: int) -> Self:
        """Show the k most important edges.

        Parameters
        ----------
        k : int
            Number of edges, at least 1.

        Returns
        -------
        EdgeCurves
            The same network.
        """
        k = check_k(k)
        assert self.shown is not None
        if k >= len(self.shown):
            return self
        order = np.argsort(-self.edge_importances()[self.shown], kind="stable")
        return self._with(shown=self.shown[order[:k]])

    def _take(self, indices: NDArray[np.intp]) -> Self:
        assert self.shown is not None
        if self.activations is None:
            return self._with(shown=self.shown[indices])
        return self._with(activations=self.activations[indices])

    def to_frame(self) -> pd.DataFrame:
        """Give the edges as a table.

        Returns
        -------
        pandas.DataFrame
            A line per edge that is shown: ``layer``, ``source``, ``target``, ``sd``
            over the training rows, ``importance``, the ``code`` where it is one number.
            Local: a line per row and edge of the first layer, with the ``value`` that
            the node has and what the edge ``adds``.
        """
        from skinterp.explanation._edge_curves_show import edge_table

        return edge_table(self)

    def to_text(self) -> str:
        """Say the network in words.

        Returns
        -------
        str
            Inputs and edges by importance; local: what the rows' edges add.
        """
        from skinterp.explanation._edge_curves_show import say_edges

        return say_edges(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the network, each edge with its curve.

        Inputs stand at the bottom. The more important an edge, the darker it is.
        Where there are too many nodes or edges, the most important are drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._edge_curves_plot import draw_network

        return draw_network(self, ax)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that the curves, added up, give what the model says.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained.
        X : array-like or frame
            Rows; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If the two differ by more than 1e-6 of their size.
        """
        from skinterp.explanation._edge_curves_check import check_network

        check_network(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Name the input nodes by the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        EdgeCurves
            The same network. Features that are ``a + b * column`` are drawn over the
            column in its own units; others get a name that says what they are.
        """
        from skinterp.explanation._edge_curves_check import map_inputs

        return self._with(**map_inputs(self, feature_map))
