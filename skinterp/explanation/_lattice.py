"""Concept lattices: which attributes occur together, in which rows, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation import _lattice_order as order
from skinterp.explanation._base import Explanation, check_k
from skinterp.explanation._lattice_check import (
    check_arrays,
    check_concepts,
    check_rows,
    hold_attributes,
)
from skinterp.explanation._literals import Literal
from skinterp.explanation._ragged import offsets_of, ranges

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from skinterp.explanation._feature_map import FeatureMap

INTEGERS = (
    "attribute_feature",
    "concept",
    "size",
    "own_size",
    "edges",
    "object_concept",
    "row_concept",
    "path_offsets",
    "path",
)
TRUTH = (
    "lower_closed",
    "upper_closed",
    "negated",
    "missing",
    "intents",
    "premises",
    "conclusions",
    "violated",
)
PER_CONCEPT = ("concept", "intents", "size", "own_size", "stability")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Lattice(Explanation):
    """Formal concepts of a table with their order, and where single rows stand in it.

    A concept is a set of attributes (its intent) that some rows (its extent) have in
    common, with nothing left out on either side. It lies below another if it has more
    attributes and fewer rows.

    Parameters
    ----------
    scope : {"global", "local"}
        The lattice itself, or the places of single rows in it. A local one holds the
        concepts on the rows' ways to the top only.
    feature_names : tuple of str
        Names of the columns.
    target_names : ndarray of shape (1,)
        What the explanation speaks of.
    attribute_names : tuple of str
        Names of the attributes, such as ``"age > 40"``.
    attribute_feature : ndarray of shape (n_attributes,), int64
        Column of each attribute.
    lower, upper : ndarray of shape (n_attributes,)
        The interval that a cell has to lie in; infinite where it has no end.
    lower_closed, upper_closed : ndarray of shape (n_attributes,), bool
        Whether the ends belong to it.
    categories : tuple of (tuple or None)
        The labels that a cell has to be one of; None for an interval.
    negated : ndarray of shape (n_attributes,), bool
        Whether the cell has to be none of the labels.
    missing : ndarray of shape (n_attributes,), bool
        Whether a missing cell has the attribute.
    concept : ndarray of shape (n_concepts,), int64
        Number of each concept in the model, by falling size.
    intents : ndarray of shape (n_concepts, n_attributes), bool
        Attributes of each concept.
    size : ndarray of shape (n_concepts,), int64
        Number of training rows of each concept.
    own_size : ndarray of shape (n_concepts,), int64
        How many of them have no further attribute.
    edges : ndarray of shape (n_edges, 2), int64
        Pairs (lower, upper) of positions of neighbours.
    n_rows : int
        Number of training rows.
    stability : ndarray of shape (n_concepts,), default=None
        Share of the subsets of the extent that have the same intent.
    object_names : tuple of str, default=()
        Names of the training rows, where they have any.
    object_concept : ndarray of shape (n_rows,), int64, default=None
        Position of the smallest concept of each named row; -1 where it is left out.
    premises, conclusions : ndarray of shape (n_implications, n_attributes), bool
        Implications that hold in all training rows. None where not asked for.
    basis_complete : bool, default=True
        Whether the implications are all of the canonical basis.
    min_size : int, default=0
        Concepts of fewer rows were left out.
    n_concepts : int, default=-1
        Number of concepts of the model; -1 takes those here.
    feature_dtypes : tuple of str, default=None
        How each column is read: "float64", "date", "category" or "derived".
    row_concept : ndarray of shape (n_cases,), int64, default=None
        Position of the smallest concept of each case; local only.
    path_offsets : ndarray of shape (n_cases + 1,), int64, default=None
        Where the way of each case begins in ``path``.
    path : ndarray of int64, default=None
        Positions of concepts, each a neighbour above the one before, up to the top.
    violated : ndarray of shape (n_cases, n_implications), bool, default=None
        Implications that a case breaks.
    unit : str, default="row"
        What one case is.
    meta : mapping, default={}
        How it was made.

    Attributes
    ----------
    complexity : int
        Number of concepts.

    See Also
    --------
    RuleSet : Conditions under which a class is predicted.

    Notes
    -----
    In the picture an attribute stands at the largest concept that has it and a row at
    the smallest one: a concept has the attributes met on the ways up from it, and the
    rows met on the ways down.

    References
    ----------
    .. [1] Ganter, B., Wille, R. (1999). "Formal Concept Analysis". Springer.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.explanation import Lattice
    >>> lattice = Lattice(
    ...     scope="global",
    ...     feature_names=("flies", "swims"),
    ...     target_names=np.array(["concepts"]),
    ...     attribute_names=("flies", "swims"),
    ...     attribute_feature=[0, 1],
    ...     lower=[0.5, 0.5],
    ...     upper=[np.inf, np.inf],
    ...     lower_closed=[False, False],
    ...     upper_closed=[True, True],
    ...     categories=(None, None),
    ...     negated=[False, False],
    ...     missing=[False, False],
    ...     concept=[0, 1, 2, 3],
    ...     intents=[[0, 0], [1, 0], [0, 1], [1, 1]],
    ...     size=[3, 2, 2, 1],
    ...     own_size=[0, 1, 1, 1],
    ...     edges=[[1, 0], [2, 0], [3, 1], [3, 2]],
    ...     n_rows=3,
    ... )
    >>> print(lattice.to_text())
    4 concepts of 3 rows and 2 attributes, 4 covers
      0: 3 rows: (no attribute)
      1: 2 rows: flies
      2: 2 rows: swims
      3: 1 row: flies, swims
    """

    kind = "lattice"

    attribute_names: tuple[str, ...]
    attribute_feature: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    lower_closed: NDArray[np.bool_]
    upper_closed: NDArray[np.bool_]
    categories: tuple[tuple[Any, ...] | None, ...]
    negated: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    concept: NDArray[np.int64]
    intents: NDArray[np.bool_]
    size: NDArray[np.int64]
    own_size: NDArray[np.int64]
    edges: NDArray[np.int64]
    n_rows: int
    stability: NDArray[np.float64] | None = None
    object_names: tuple[str, ...] = ()
    object_concept: NDArray[np.int64] | None = None
    premises: NDArray[np.bool_] | None = None
    conclusions: NDArray[np.bool_] | None = None
    basis_complete: bool = True
    min_size: int = 0
    n_concepts: int = -1
    feature_dtypes: tuple[str, ...] | None = None
    row_concept: NDArray[np.int64] | None = None
    path_offsets: NDArray[np.int64] | None = None
    path: NDArray[np.int64] | None = None
    violated: NDArray[np.bool_] | None = None

    def _normalise(self) -> None:
        for names, dtype in (
            (INTEGERS, np.int64),
            (TRUTH, np.bool_),
            (("lower", "upper", "stability"), np.float64),
        ):
            for name in names:
                value = getattr(self, name)
                if value is not None:
                    self._set(name, np.asarray(value, dtype=dtype))
        self._set("edges", self.edges.reshape(-1, 2))
        self._set("attribute_names", tuple(map(str, self.attribute_names)))
        self._set("object_names", tuple(map(str, self.object_names)))
        self._set(
            "categories",
            tuple(None if c is None else tuple(c) for c in self.categories),
        )
        if self.n_concepts < 0:
            self._set("n_concepts", len(self.concept))
        dtypes = self.feature_dtypes or ("float64",) * len(self.feature_names)
        self._set("feature_dtypes", tuple(dtypes))

    def _check(self) -> None:
        check_arrays(self)

    def __len__(self) -> int:
        return len(self.concept if self.row_concept is None else self.row_concept)

    @property
    def complexity(self) -> int:
        """Number of concepts."""
        return len(self.concept)

    def literal(self, attribute: int) -> Literal:
        """Give the condition that an attribute stands for.

        Parameters
        ----------
        attribute : int
            Position of the attribute.

        Returns
        -------
        Literal
            With ``feature``, ``lower``, ``upper``, ``categories``, ...
        """
        k = attribute
        return Literal(
            int(self.attribute_feature[k]),
            float(self.lower[k]),
            float(self.upper[k]),
            bool(self.lower_closed[k]),
            bool(self.upper_closed[k]),
            self.categories[k],
            bool(self.negated[k]),
            bool(self.missing[k]),
        )

    def attributes_of(self, X: Any) -> NDArray[np.bool_]:
        """Say which rows have which attributes.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            A frame's columns are found by name.

        Returns
        -------
        ndarray of shape (n_rows, n_attributes), bool
            True where a row has an attribute.

        Raises
        ------
        ValueError
            If X is not a table of these columns, or an attribute is one of a feature
            that is no column.
        """
        return hold_attributes(self, X)

    def intent(self, position: int) -> tuple[str, ...]:
        """Name the attributes of a concept.

        Parameters
        ----------
        position : int
            Position of the concept.

        Returns
        -------
        tuple of str
            All its attributes, in their order.
        """
        held = np.flatnonzero(self.intents[position])
        return tuple(self.attribute_names[k] for k in held)

    def own_attributes(self) -> NDArray[np.bool_]:
        """Tell which attributes of each concept none above it has: the reduced labels.

        Returns
        -------
        ndarray of shape (n_concepts, n_attributes), bool
            At most one True per attribute of a global lattice; in a local one, which
            holds single ways up, an attribute may be new on several of them.
        """
        above = np.zeros_like(self.intents)
        np.logical_or.at(above, self.edges[:, 0], self.intents[self.edges[:, 1]])
        return self.intents & ~above

    def implications(self) -> tuple[str, ...]:
        """Put the implications into words.

        Returns
        -------
        tuple of str
            Such as ``"flies, swims -> has feathers"``.
        """
        from skinterp.explanation._lattice_show import say_implications

        return say_implications(self)

    def way_up(self, case: int) -> NDArray[np.int64]:
        """List the concepts from the smallest one of a case up to the top.

        Parameters
        ----------
        case : int
            Position of the case, of a local explanation.

        Returns
        -------
        ndarray of int64
            Positions of concepts.
        """
        if self.path is None or self.path_offsets is None:
            msg = "a global lattice has no cases: explain rows to see their ways up"
            raise ValueError(msg)
        start, stop = self.path_offsets[case], self.path_offsets[case + 1]
        way: NDArray[np.int64] = self.path[start:stop]
        return way

    def top(self, k: int) -> Self:
        """Keep the k largest concepts: an iceberg; of a local one, the first k cases.

        Parameters
        ----------
        k : int
            Number of concepts or cases, at least 1.

        Returns
        -------
        Lattice
            With their order.
        """
        k = check_k(k)
        if k >= len(self):
            return self
        if self.row_concept is not None:
            return self._take(np.arange(k))
        return self._take(np.argsort(-self.size, kind="stable")[:k])

    def _take(self, indices: NDArray[np.intp]) -> Self:
        if self.row_concept is None:
            if np.array_equal(indices, np.arange(len(self))):
                return self
            return self._with(**self._concept_fields(indices))
        assert self.path is not None
        assert self.path_offsets is not None
        counts = np.diff(self.path_offsets)[indices]
        path = self.path[ranges(self.path_offsets[:-1][indices], counts)]
        kept = np.unique(path)
        at = np.zeros(len(self.concept), dtype=np.int64)
        at[kept] = np.arange(len(kept))
        return self._with(
            **self._concept_fields(kept),
            edges=order.path_edges(at[path], offsets_of(counts)),
            path=at[path],
            path_offsets=offsets_of(counts),
            row_concept=at[self.row_concept[indices]],
            violated=None if self.violated is None else self.violated[indices],
        )

    def _concept_fields(self, kept: NDArray[np.intp]) -> dict[str, Any]:
        """Fields of some of the concepts, in the order that these have."""
        fields = {n: getattr(self, n) for n in PER_CONCEPT}
        out = {n: v[kept] for n, v in fields.items() if v is not None}
        if self.row_concept is None:
            out["edges"] = order.induced_edges(self.edges, kept, len(self.concept))
        if self.object_concept is not None:
            at = np.full(len(self.concept) + 1, -1, dtype=np.int64)
            at[kept] = np.arange(len(kept))
            out["object_concept"] = at[self.object_concept]
        return out

    def to_frame(self) -> pd.DataFrame:
        """Give the concepts, or the cases, as a table.

        Returns
        -------
        pandas.DataFrame
            Global: a line per concept with ``concept``, ``size``, ``support``,
            ``stability``, ``n_attributes``, ``intent``, ``new`` (the attributes that
            no concept above has) and ``upper_covers``. Local: a line per case with
            its ``concept``, that one's ``size`` and ``intent``, the ``path`` to the
            top and the implications that it ``violates``.
        """
        from skinterp.explanation._lattice_show import case_table, concept_table

        return concept_table(self) if self.row_concept is None else case_table(self)

    def to_text(self) -> str:
        """Say the concepts and implications, or the places of the cases, in words.

        Returns
        -------
        str
            The largest concepts first; what is left out is counted.
        """
        from skinterp.explanation._lattice_show import say_cases, say_concepts

        return say_concepts(self) if self.row_concept is None else say_cases(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the Hasse diagram with reduced labels.

        More than 60 concepts are cut to the 60 largest, the tip of the iceberg; the
        label below the picture counts the others.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from skinterp.explanation._lattice_draw import draw_lattice

        return draw_lattice(self, ax)

    def to_graphviz(self) -> str:
        """Write the diagram in the language of Graphviz.

        Returns
        -------
        str
            Text that ``dot`` draws, from the top down; names are escaped.
        """
        from skinterp.explanation._lattice_show import write_dot

        return write_dot(self)

    def to_networkx(self) -> Any:
        """Give the order as a graph of NetworkX.

        Returns
        -------
        networkx.DiGraph
            A node per concept, named by its number in the model, with ``intent``,
            ``size``, ``new`` and ``stability``; edges lead from a concept to its upper
            neighbours.

        Raises
        ------
        ImportError
            If networkx is not installed.
        """
        from skinterp.explanation._lattice_show import make_graph

        return make_graph(self)

    def check_faithful(self, estimator: Any, X: Any) -> None:
        """Check that concepts, closures and implications are those of the model.

        Parameters
        ----------
        estimator : estimator
            The fitted model that was explained, with ``transform`` and ``predict``.
        X : array-like or frame
            Rows to try it on; for a local explanation, the explained ones.

        Raises
        ------
        AssertionError
            If a row that has an intent is not put into the concept, a completed row is
            not the smallest intent around it or breaks an implication, an edge
            is no cover, or a case is not where the explanation puts it.
        """
        check = check_concepts if self.row_concept is None else check_rows
        check(self, estimator, X)

    def map_features(self, feature_map: FeatureMap) -> Self:
        """Say the attributes in the columns that the model's features come from.

        Parameters
        ----------
        feature_map : FeatureMap
            How each feature of the model is made from the user's columns.

        Returns
        -------
        Lattice
            The same concepts, their attributes in the user's columns and units.
        """
        from skinterp.explanation._lattice_map import map_attributes

        return self._with(**map_attributes(self, feature_map))
