"""Hold a lattice against its own arrays, and against the model it explains."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.explanation._base import check_shapes
from skinterp.explanation._literals import read_feature, read_table
from skinterp.explanation._ragged import check_offsets, check_range

if TYPE_CHECKING:
    from skinterp.explanation._lattice import Lattice

DTYPES = ("float32", "float64", "date", "category", "derived")
PER_ATTRIBUTE = (
    "attribute_names",
    "attribute_feature",
    "lower",
    "upper",
    "lower_closed",
    "upper_closed",
    "categories",
    "negated",
    "missing",
)
MAX_PAIRS = 4_000_000


def check_arrays(lattice: Lattice) -> None:
    """Raise ValueError where the arrays of a lattice do not fit together."""
    m, k = len(lattice.attribute_names), len(lattice.concept)
    for name in PER_ATTRIBUTE:
        if len(getattr(lattice, name)) != m:
            msg = f"{name} has length {len(getattr(lattice, name))}, not {m}"
            raise ValueError(msg)
    names = ("concept", "size", "own_size", "stability")
    shapes = {name: (getattr(lattice, name), (k,)) for name in names}
    check_shapes(shapes | {"intents": (lattice.intents, (k, m))})
    check_range("edges", lattice.edges, 0, k)
    check_range("attribute_feature", lattice.attribute_feature, 0, _width(lattice))
    check_range("size", lattice.size, 0, lattice.n_rows + 1)
    unknown = set(lattice.feature_dtypes or ()) - set(DTYPES)
    if unknown or len(lattice.feature_dtypes or ()) != _width(lattice):
        msg = (
            f"feature_dtypes={lattice.feature_dtypes!r} must name one of "
            f"{list(DTYPES)} for each of {_width(lattice)} features"
        )
        raise ValueError(msg)
    low, high = lattice.intents[lattice.edges].swapaxes(0, 1)
    if (
        len(lattice.edges)
        and not ((low >= high).all(axis=1) & (low > high).any(axis=1)).all()
    ):
        msg = "edges must lead from a concept to one with fewer attributes"
        raise ValueError(msg)
    _check_optional(lattice, m, k)


def _width(lattice: Lattice) -> int:
    return len(lattice.feature_names)


def _check_optional(lattice: Lattice, m: int, k: int) -> None:
    if (lattice.premises is None) != (lattice.conclusions is None):
        msg = "premises and conclusions come together"
        raise ValueError(msg)
    q = 0 if lattice.premises is None else len(lattice.premises)
    check_shapes(
        {n: (getattr(lattice, n), (q, m)) for n in ("premises", "conclusions")}
    )
    if lattice.object_concept is not None:
        n = len(lattice.object_names)
        check_shapes({"object_concept": (lattice.object_concept, (n,))})
        check_range("object_concept", lattice.object_concept, -1, k)
    local = ("row_concept", "path_offsets", "path")
    given = [name for name in local if getattr(lattice, name) is not None]
    if len(given) != (0 if lattice.scope == "global" else 3):
        msg = f"a {lattice.scope} lattice has {given or 'none'} of {list(local)}"
        raise ValueError(msg)
    if lattice.row_concept is None or lattice.path is None:
        return
    check_range("row_concept", lattice.row_concept, 0, k)
    check_range("path", lattice.path, 0, k)
    n = len(lattice.row_concept)
    assert lattice.path_offsets is not None
    check_offsets("path_offsets", lattice.path_offsets, n, len(lattice.path))
    check_shapes({"violated": (lattice.violated, (n, q))})


def hold_attributes(lattice: Lattice, X: Any) -> NDArray[np.bool_]:
    """Read the columns, and say which rows have which attributes."""
    names, dtypes = lattice.feature_names, lattice.feature_dtypes or ()
    X = read_table(X, names, dtypes)
    held = np.empty((len(X), len(lattice.attribute_names)), dtype=bool)
    cells: dict[tuple[int, str], Any] = {}
    for k in range(held.shape[1]):
        literal = lattice.literal(k)
        j = literal.feature
        dtype = dtypes[j]
        if dtype == "derived":
            msg = (
                f"the attribute {lattice.attribute_names[k]!r} is one of {names[j]!r}, "
                "which is no column of X but made by the steps in front of the model"
            )
            raise ValueError(msg)
        dtype = dtype if literal.categories is None else "category"
        if (j, dtype) not in cells:
            cells[j, dtype] = read_feature(X, names, j, dtype)
        held[:, k] = literal.mask(*cells[j, dtype])
    return held


def _is_derived(lattice: Lattice) -> bool:
    """Whether some attribute is one of a feature that is no column."""
    dtypes = np.array(lattice.feature_dtypes)
    return bool((dtypes[lattice.attribute_feature] == "derived").any())


def _attributes(lattice: Lattice, estimator: Any, X: Any) -> NDArray[np.bool_] | None:
    """Attributes of rows, asked of the model itself where X has no columns for them."""
    if not _is_derived(lattice):
        return hold_attributes(lattice, X)
    asked = getattr(estimator, "attributes", None)
    if callable(asked):
        return np.asarray(asked(X), dtype=bool)
    names: Any = getattr(estimator, "get_feature_names_out", tuple)()
    if tuple(names) == lattice.attribute_names:  # it transforms to the table itself
        return np.asarray(estimator.transform(X), dtype=bool)
    return None


def _memberships(lattice: Lattice, estimator: Any, X: Any) -> NDArray[np.bool_] | None:
    """Concepts of rows as the model says, if that is what it transforms to."""
    if _is_derived(lattice) or not hasattr(estimator, "transform"):
        return None
    given = estimator.transform(X)
    dense = given.toarray() if hasattr(given, "toarray") else np.asarray(given)
    return dense.astype(bool)


def check_concepts(lattice: Lattice, estimator: Any, X: Any) -> None:
    """Check the lattice of a whole model on rows."""
    _check_closed(lattice)
    held = _attributes(lattice, estimator, X)
    if held is None:
        return
    given = _memberships(lattice, estimator, X)
    if given is not None:
        inside = _contains(held, lattice.intents)
        wrong = (given[:, lattice.concept] != inside).any(axis=1)
        _fail(wrong, "the intents and transform disagree for")
    if hasattr(estimator, "predict"):
        completed = np.asarray(estimator.predict(X), dtype=bool)
        _fail(
            ~_follows(lattice, completed).all(axis=1),
            "an implication is broken in completed",
        )
        _check_completed(lattice, held, completed)


def _contains(sets: NDArray[np.bool_], intents: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each set has all of each intent."""
    lacking = (~sets).astype(np.float32) @ intents.T.astype(np.float32)
    return np.asarray(lacking == 0, dtype=bool)


def _follows(lattice: Lattice, sets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if lattice.premises is None or lattice.conclusions is None:
        return np.ones((len(sets), 1), dtype=bool)
    return ~_contains(sets, lattice.premises) | _contains(sets, lattice.conclusions)


def _check_closed(lattice: Lattice) -> None:
    """Intents respect the implications, and are met pairwise in an intent."""
    _fail(
        ~_follows(lattice, lattice.intents).all(axis=1),
        "an implication is broken in the intent of",
    )
    k = len(lattice.concept)
    if k < lattice.n_concepts or k * k > MAX_PAIRS:
        return
    known = {row.tobytes() for row in lattice.intents}
    for i in range(k):
        for meet in lattice.intents[i] & lattice.intents[i + 1 :]:
            if meet.tobytes() not in known:
                msg = f"what the intent of concept {i} shares with another is no intent"
                raise AssertionError(msg)
    above = _contains(lattice.intents, lattice.intents)
    np.fill_diagonal(above, False)
    strict = above.astype(np.float32)
    covers = above & (strict @ strict == 0)
    told = np.zeros_like(above)
    told[lattice.edges[:, 0], lattice.edges[:, 1]] = True
    _fail((covers != told).any(axis=1), "the edges are not the covers of")


def _check_completed(
    lattice: Lattice, held: NDArray[np.bool_], completed: NDArray[np.bool_]
) -> None:
    """A row is completed to the smallest intent around it, where that is known."""
    if len(lattice.concept) < lattice.n_concepts:
        return
    around = _contains(lattice.intents, held).T
    lengths = np.where(
        around, lattice.intents.sum(axis=1), lattice.intents.shape[1] + 1
    )
    smallest = lattice.intents[lengths.argmin(axis=1)]
    known = around.any(axis=1)
    _fail(
        known & (smallest != completed).any(axis=1),
        "the smallest intent is not what completes",
    )


def check_rows(lattice: Lattice, estimator: Any, X: Any) -> None:
    """Check the places of single rows, these ones."""
    assert lattice.row_concept is not None
    steps = {tuple(edge) for edge in lattice.edges.tolist()}
    for i in range(len(lattice)):
        way = lattice.way_up(i).tolist()
        ways = set(pairwise(way)) <= steps
        top = lattice.concept[way[-1]] == 0
        if way[0] != lattice.row_concept[i] or not ways or not top:
            msg = f"the way of row {i} is no way from its concept to the top: {way}"
            raise AssertionError(msg)
    held = _attributes(lattice, estimator, X)
    if held is None:
        return
    own = lattice.intents[lattice.row_concept]
    _fail((own & ~held).any(axis=1), "the concept has an attribute more than")
    if lattice.violated is not None:
        wrong = (lattice.violated == _follows(lattice, held)).any(axis=1)
        _fail(wrong, "the implications said to be broken are not those broken by")
    given = _memberships(lattice, estimator, X)
    if given is not None:
        at = lattice.concept[lattice.row_concept]
        _fail(~given[np.arange(len(at)), at], "transform leaves out")


def _fail(wrong: Any, what: str) -> None:
    """Raise AssertionError naming the first wrong row."""
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        msg = f"{what} row {i} ({int(wrong.sum())} of {len(wrong)} rows)"
        raise AssertionError(msg)
