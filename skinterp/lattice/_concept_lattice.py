"""Concept lattices of tables: all concepts, their order, and what implies what."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from tqdm import tqdm

from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import (
    Integral,
    Interval,
    Real,
    StrOptions,
    check_is_fitted,
    fit_context,
)
from skinterp.explanation import Lattice
from skinterp.lattice import _context as engine
from skinterp.lattice._lattice_parts import (
    attribute_fields,
    flag_fields,
    global_lattice,
    local_lattice,
    name_attributes,
    name_concepts,
    read_sets,
)
from skinterp.lattice._scaling import (
    SCALES,
    all_binary,
    attribute_table,
    category_orders,
    choose_scales,
    date_columns,
    read_columns,
    scale_column,
)

Bools = NDArray[np.bool_]
MAX_FOR_STABILITY = 20_000
# Sets that the search for the basis may look at, for each implication allowed.
VISITS = 100


class ConceptLattice(ExplainableMixin, TransformerMixin, BaseEstimator):
    """All formal concepts of a table, their order, and the implications that hold.

    A formal concept is a largest rectangle of a truth table: some rows, and all the
    attributes that they have in common, such that no further row has these too. The
    concepts form a lattice, which shows what goes together with what, without a target
    and without a parameter to tune. Columns of any kind are first turned into
    attributes (``scaling``).

    Parameters
    ----------
    min_support : float, default=0.0
        Leave out concepts of less than this share of the rows. What is left, the tip
        of the iceberg, is exact.
    max_concepts : int, default=1_000_000
        A table may have exponentially many concepts; more than this are not listed.
    overflow : {"raise", "iceberg"}, default="raise"
        What to do about more: refuse, or warn and raise ``min_support`` as little as
        needed.
    scaling : str or dict, default="auto"
        How columns become attributes: one scale for all (labels without an order are
        nominal all the same), or a dict by column name (others are "auto").

        - "boolean": 0/1 columns, as they are;
        - "nominal": an attribute per value;
        - "ordinal": for numbers "above t" at quantiles, for ordered categoricals the
          upper ends of the order;
        - "interordinal": these, and "up to t";
        - "auto": boolean for 0/1 columns, nominal for labels, else interordinal.
    n_thresholds : int, default=4
        Number of thresholds t of a column of numbers.
    stability : bool or "auto", default="auto"
        Whether to compute the stability of each concept. "auto": of up to 20,000.
    implications : bool, default=False
        Whether to compute the canonical basis of Duquenne and Guigues, from which all
        implications between attributes follow.
    max_implications : int, default=10_000
        Stop after so many, with a warning: those found hold, but others may not follow.
    sparse_output : bool, default=True
        Whether ``transform`` gives a sparse matrix; pandas output needs False.
    n_jobs : int, default=None
        Number of threads, by joblib. The result does not depend on it.
    verbose : int, default=0
        Above 0, show progress and the time left.

    Attributes
    ----------
    intents_ : ndarray of shape (n_concepts, n_attributes), bool
        Attributes of each concept. Concepts come by falling size, then by intent.
    sizes_ : ndarray of shape (n_concepts,), int64
        Number of rows of each concept.
    support_ : ndarray of shape (n_concepts,)
        The same as a share of the rows.
    edges_ : ndarray of shape (n_covers, 2), int64
        Pairs (lower, upper) of neighbouring concepts.
    stability_ : ndarray of shape (n_concepts,) or None
        Share of the subsets of each extent that have the same intent; near 1, the
        concept hangs on no single row.
    implications_ : ndarray of shape (n_implications, 2, n_attributes), bool
        Premise and conclusion (without the premise) of each implication of the basis,
        in lectic order; empty unless asked for.
    basis_complete_ : bool
        Whether these are all.
    attribute_names_ : ndarray of shape (n_attributes,), str
        Names of the attributes, such as ``"age > 40"``.
    top_, bottom_ : int
        Positions of the largest and of the smallest concept; ``bottom_`` is -1 where an
        iceberg has no smallest one.
    min_size_ : int
        Concepts of fewer rows were left out.
    n_objects_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    MLMContext : Makes a table of objects by attributes from a language model.
    skinterp.explanation.Lattice : What ``explain`` returns.

    Notes
    -----
    Concepts are found by In-Close over packed words, with the inheritance of failed
    tests of Krajca, Outrata and Vychodil; rows of small extents are packed anew. Time
    is O(n_concepts n_attributes n / 64) at worst, and far less where extents shrink.
    Equal rows are searched once. Covers are counted, not compared (after Lindig):
    O(n_concepts) times the crosses of an extent. The basis is found by NextClosure.
    Attributes are ordered as the columns are; the first is the most significant in
    lectic order.

    Missing cells have no attribute of their column. ``predict`` closes what a row has:
    it adds what all training rows with these attributes have. Attributes that no
    training row unites imply all others, by definition.

    References
    ----------
    .. [1] Ganter, B., Wille, R. (1999). "Formal Concept Analysis". Springer.
    .. [2] Andrews, S. (2015). "A 'Best-of-Breed' approach for designing a fast
       algorithm for computing fixpoints of Galois connections". Information Sciences
       295, doi:10.1016/j.ins.2014.10.011.
    .. [3] Xiong, B., Staab, S. (2025). "From Tokens to Lattices: Emergent Lattice
       Structures in Language Models". ICLR. arXiv:2504.08778.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinterp.lattice import ConceptLattice
    >>> X = pd.DataFrame(
    ...     {"flies": [1, 1, 0, 0], "lays eggs": [1, 0, 1, 1], "swims": [0, 0, 1, 0]},
    ...     index=["wren", "bat", "carp", "gecko"],
    ... )
    >>> lattice = ConceptLattice(implications=True).fit(X)
    >>> len(lattice.intents_), len(lattice.edges_)
    (6, 7)
    >>> lattice.explain().implications()
    ('swims -> lays eggs',)
    >>> lattice.closure(["swims"])
    ('lays eggs', 'swims')
    """

    explains: ClassVar = {"global": ("lattice",), "local": ("lattice",)}

    _parameter_constraints: ClassVar[dict] = {
        "min_support": [Interval(Real, 0, 1, closed="both")],
        "max_concepts": [Interval(Integral, 1, None, closed="left")],
        "overflow": [StrOptions({"raise", "iceberg"})],
        "scaling": [StrOptions(set(SCALES)), dict],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
        "stability": ["boolean", StrOptions({"auto"})],
        "implications": ["boolean"],
        "max_implications": [Interval(Integral, 1, None, closed="left")],
        "sparse_output": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        min_support: float = 0.0,
        max_concepts: int = 1_000_000,
        overflow: str = "raise",
        scaling: str | Mapping[str, str] = "auto",
        n_thresholds: int = 4,
        stability: bool | str = "auto",
        implications: bool = False,
        max_implications: int = 10_000,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.min_support = min_support
        self.max_concepts = max_concepts
        self.overflow = overflow
        self.scaling = scaling
        self.n_thresholds = n_thresholds
        self.stability = stability
        self.implications = implications
        self.max_implications = max_implications
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Turn columns into attributes, and find the concepts and their order.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Truth values, numbers, labels or dates; cells may be missing. The index of a
            pandas frame, unless it only counts, names the rows.
        y : object, default=None
            Not used.

        Returns
        -------
        ConceptLattice
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are more than ``max_concepts`` concepts and ``overflow`` is
            "raise", or a column does not suit its scale.
        """
        self.__dict__.pop("intents_", None)  # an interrupted fit leaves no old half
        columns = read_columns(self, X, reset=True)
        self._scale(columns, X)
        table = self._table(columns, X)
        context = engine.Context.of(table)
        intents, sizes = self._find(context)
        self._keep(context, X)
        self._note_order(context, intents, sizes)
        self._note_basis(table)
        self.sizes_, self.support_ = sizes, sizes / context.n_objects
        self.intents_ = intents
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Tell which concepts rows belong to: those whose attributes they all have.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_concepts), bool
            True where a row belongs to a concept.
        """
        check_is_fitted(self, "intents_")
        table = self.attributes(X)
        found, offsets = self._context.members(table, self.intents_)
        shape = (len(table), len(self.intents_))
        held = csr_matrix(
            (np.ones(len(found), dtype=bool), found, offsets), shape=shape
        )
        return held if self.sparse_output else held.toarray()

    def predict(self, X: ArrayLike) -> Bools:
        """Complete the attributes of rows by those that go with them in training.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows; what is missing or false in them may come out true.

        Returns
        -------
        ndarray of shape (n_samples, n_attributes), bool
            What all training rows with the row's attributes have; all attributes
            where no training row has them together.
        """
        check_is_fitted(self, "intents_")
        return self._context.closure(self.attributes(X))

    def attributes(self, X: ArrayLike) -> Bools:
        """Tell which attributes rows have.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_attributes), bool
            True where a row has an attribute.
        """
        check_is_fitted(self, "intents_")
        return self._table(read_columns(self, X, reset=False), X)

    def closure(self, attributes: ArrayLike | Sequence[str]) -> Any:
        """Add to attributes all those that the training rows with them share.

        Parameters
        ----------
        attributes : array-like of bool, or sequence of str
            A set of shape (n_attributes,), several of shape (n_sets, n_attributes), or
            the names of the attributes of one set.

        Returns
        -------
        ndarray of bool, or tuple of str
            The closed set or sets, in the form of the argument.
        """
        check_is_fitted(self, "intents_")
        sets, named = read_sets(self.attribute_names_, attributes)
        closed = self._context.closure(np.atleast_2d(sets))
        if named:
            return tuple(self.attribute_names_[closed[0]].tolist())
        return closed.reshape(sets.shape)

    def extent(self, attributes: ArrayLike | Sequence[str]) -> Bools:
        """Tell which training rows have all of some attributes.

        Parameters
        ----------
        attributes : array-like of bool, or sequence of str
            As for ``closure``; ``intents_`` gives the extents of all concepts.

        Returns
        -------
        ndarray of shape (n_objects,) or (n_sets, n_objects), bool
            True where a training row has them.
        """
        check_is_fitted(self, "intents_")
        sets, _ = read_sets(self.attribute_names_, attributes)
        held = self._context.extents(np.atleast_2d(sets))
        return held.reshape((*sets.shape[:-1], held.shape[1]))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the concepts by their attributes.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; must be those of fit.

        Returns
        -------
        ndarray of shape (n_concepts,), object
            Such as ``"flies & lays eggs"``; ``"all"`` for no attribute.
        """
        check_is_fitted(self, "intents_")
        return name_concepts(self, input_features)

    @property
    def separation_(self) -> NDArray[np.float64]:
        """Share that a concept's rectangle has of all crosses in its rows and columns.

        Returns
        -------
        ndarray of shape (n_concepts,)
            Computed anew at each use.
        """
        check_is_fitted(self, "intents_")
        return engine.separation(self._context, self.intents_, self.sizes_)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        few = {"max_concepts": 30, "overflow": "iceberg", "sparse_output": False}
        scaled = {"scaling": "ordinal", "n_thresholds": 1, "implications": True}
        return [{**few, **scaled, "max_implications": 50}]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intents_")  # what fit sets last

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _explain(self, X: Bools | None, *, kind: str) -> Lattice:
        return global_lattice(self) if X is None else local_lattice(self, X)

    def _validate_X(self, X: Any) -> Bools:
        return self.attributes(X)

    # -- fitting ----------------------------------------------------------------------

    @property
    def _context(self) -> engine.Context:
        return engine.Context(**self._packed)

    def _keep(self, context: engine.Context, X: Any) -> None:
        """Keep the table as plain arrays, and the names of its rows."""
        self._packed = {name: getattr(context, name) for name in engine.FIELDS}
        self.n_objects_ = context.n_objects
        index: Any = getattr(X, "index", None) if hasattr(X, "columns") else None
        named = index is not None and type(index).__name__ != "RangeIndex"
        self._object_names = tuple(map(str, index)) if named else ()

    def _scale(self, columns: Any, X: Any) -> None:
        """Choose the attributes."""
        names = feature_names_of(self)
        if self.scaling in ("auto", "boolean") and all_binary(columns):
            self._attributes = flag_fields(len(names))
            self.attribute_names_ = np.array(names)
            return
        scales = choose_scales(self.scaling, names)
        dates = date_columns(X, len(names))
        dtypes = tuple("date" if date else "float64" for date in dates)
        orders = category_orders(X, len(names))
        literals = []
        for j, cells in enumerate(columns):
            scale = scales[j]
            if cells.dtype.kind == "O" and orders[j] is None and scale == self.scaling:
                scale = "boolean" if scale == "boolean" else "nominal"
            literals += scale_column(
                j, cells, scale, names[j], orders[j], self.n_thresholds
            )
        if not literals:
            msg = "X has no known cell, so that no column gives an attribute"
            raise ValueError(msg)
        self._attributes = attribute_fields(literals, names, dtypes)
        self.attribute_names_ = np.array(name_attributes(literals, names, dtypes))

    def _table(self, columns: Any, X: Any) -> Bools:
        names = feature_names_of(self)
        dates = date_columns(X, len(names))
        return attribute_table(columns, self._attributes, names, dates)

    def _bar(self, what: str) -> Any:
        return partial(_show, what=what) if self.verbose else engine.plain

    def _find(self, context: engine.Context) -> tuple[Bools, NDArray[np.int64]]:
        size = engine.min_size_of(self.min_support, context.n_objects)
        how = {"n_jobs": self.n_jobs, "bar": self._bar("concepts")}
        try:
            found = engine.concepts(context, size, self.max_concepts, **how)
        except engine.TooMany as error:
            if self.overflow == "raise":
                raise ValueError(self._too_many(context, error.found)) from None
            size = engine.frequent_size(context, self.max_concepts, size + 1, **how)
            warnings.warn(
                f"There are more than max_concepts={self.max_concepts} concepts: those "
                f"of fewer than {size} of {context.n_objects} rows are left out.",
                stacklevel=4,
            )
            found = engine.concepts(context, size, self.max_concepts, **how)
        self.min_size_ = size
        return found

    def _too_many(self, context: engine.Context, found: int) -> str:
        return (
            f"The table of {context.n_objects} rows and {context.n_attributes} "
            f"attributes has more than max_concepts={self.max_concepts} concepts "
            f"(stopped after {found}, at min_support={self.min_support}). Raise "
            "min_support, lower n_thresholds, or set overflow='iceberg'."
        )

    def _note_order(
        self, context: engine.Context, intents: Bools, sizes: NDArray[np.int64]
    ) -> None:
        self.edges_ = engine.covers(
            context, intents, sizes, n_jobs=self.n_jobs, bar=self._bar("covers")
        )
        wanted = self.stability
        if wanted == "auto":
            wanted = len(sizes) <= MAX_FOR_STABILITY
        self.stability_ = engine.stability(sizes, self.edges_) if wanted else None
        self.top_ = 0
        lowest = len(sizes) - 1
        self.bottom_ = lowest if (intents <= intents[lowest]).all() else -1

    def _note_basis(self, table: Bools) -> None:
        m = table.shape[1]
        self.basis_complete_ = False
        self.implications_ = np.empty((0, 2, m), dtype=bool)
        if not self.implications:
            return
        limit = int(self.max_implications)
        self.implications_, self.basis_complete_ = engine.basis(
            table, limit, VISITS * limit, bar=self._bar("implications")
        )
        if not self.basis_complete_:
            warnings.warn(
                f"The basis is cut after {len(self.implications_)} implications "
                f"(max_implications={limit}): these hold, but others may not follow.",
                stacklevel=4,
            )


def _show(items: Any, total: int | None, *, what: str) -> Any:
    return tqdm(items, total=total, desc=f"ConceptLattice, {what}", disable=False)
