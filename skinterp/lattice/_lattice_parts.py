"""What a fitted lattice says of itself: names, and explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.base import feature_names_of
from skinterp.explanation import Lattice, Literal
from skinterp.explanation._lattice_map import flatten
from skinterp.explanation._lattice_order import path_edges
from skinterp.explanation._literals import say
from skinterp.explanation._ragged import offsets_of

if TYPE_CHECKING:
    from skinterp.lattice._concept_lattice import ConceptLattice

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
TARGET = "concepts"


def attribute_fields(
    literals: Sequence[Literal], names: Sequence[str], dtypes: tuple[str, ...]
) -> dict[str, Any]:
    """Conditions of the attributes as plain arrays, in the form of a lattice."""
    fields = flatten(list(literals))
    return fields | {"feature_dtypes": dtypes, "flags": all(map(is_flag, literals))}


def flag_fields(n: int) -> dict[str, Any]:
    """Conditions of a table of truth values, an attribute per column."""
    false = np.zeros(n, dtype=bool)
    return {
        "attribute_feature": np.arange(n),
        "lower": np.full(n, 0.5),
        "upper": np.full(n, np.inf),
        "lower_closed": false,
        "upper_closed": ~false,
        "negated": false,
        "missing": false,
        "categories": (None,) * n,
        "feature_dtypes": ("float64",) * n,
        "flags": True,
    }


def is_flag(literal: Literal) -> bool:
    """Whether an attribute is a column of truth values as it is."""
    return literal.lower == 0.5 and literal.upper == np.inf and not literal.lower_closed


def name_attributes(
    literals: Sequence[Literal], names: Sequence[str], dtypes: Sequence[str]
) -> list[str]:
    """Put the attributes into words, each different."""
    words: list[str] = []
    for literal in literals:
        j = literal.feature
        word = names[j] if is_flag(literal) else say(literal, names[j], dtypes[j])
        words.append(word)
    return number_doubles(words)


def number_doubles(words: Sequence[str]) -> list[str]:
    """Put a number behind words that occur again, such that all are different."""
    taken, out, times = set(words), [], Counter[str]()
    for word in words:
        times[word] += 1
        new = word
        while times[word] > 1 and new in taken:
            new = f"{word} ({times[word]})"
            times[word] += new in taken
        taken.add(new)
        out.append(new)
    return out


def read_sets(names: NDArray[np.str_], attributes: Any) -> tuple[Bools, bool]:
    """Sets as truth values, and whether they were given by names."""
    m = len(names)
    given = np.asarray(attributes)
    if given.ndim == 1 and all(isinstance(name, str) for name in given.tolist()):
        position = {name: k for k, name in enumerate(names)}
        unknown = [name for name in given.tolist() if name not in position]
        if unknown:
            msg = (
                f"attributes names {unknown[0]!r}; the attributes are {names.tolist()}"
            )
            raise ValueError(msg)
        held = np.zeros(m, dtype=bool)
        held[[position[name] for name in given.tolist()]] = True
        return held, True
    if (
        given.ndim not in (1, 2)
        or given.shape[-1] != m
        or given.dtype.kind not in "biuf"
        or not ((given == 0) | (given == 1)).all()
    ):
        msg = (
            f"attributes must be a list of names, or truth values of shape ({m},) or "
            f"(n_sets, {m}); got {given.dtype} of shape {given.shape}"
        )
        raise ValueError(msg)
    return given.astype(bool), False


def name_concepts(lattice: ConceptLattice, input_features: Any) -> NDArray[Any]:
    """Name of each concept, all different."""
    if input_features is not None:
        given = tuple(np.asarray(input_features).tolist())
        names = feature_names_of(lattice)
        if len(given) != len(names):
            msg = (
                f"input_features should have length equal to number of features "
                f"({len(names)}), got {len(given)}"
            )
            raise ValueError(msg)
        if hasattr(lattice, "feature_names_in_") and given != names:
            msg = f"input_features is not equal to feature_names_in_: {list(names)}"
            raise ValueError(msg)
    words = [
        " & ".join(lattice.attribute_names_[held]) or "all" for held in lattice.intents_
    ]
    return np.array(number_doubles(words), dtype=object)


def _fields(lattice: ConceptLattice) -> dict[str, Any]:
    """What a global and a local explanation have in common."""
    attributes = {k: v for k, v in lattice._attributes.items() if k != "flags"}
    asked = lattice.implications
    return {
        "feature_names": feature_names_of(lattice),
        "target_names": np.array([TARGET]),
        "attribute_names": tuple(lattice.attribute_names_.tolist()),
        "n_rows": lattice.n_objects_,
        "premises": lattice.implications_[:, 0] if asked else None,
        "conclusions": lattice.implications_[:, 1] if asked else None,
        "basis_complete": lattice.basis_complete_,
        "min_size": lattice.min_size_,
        "n_concepts": len(lattice.intents_),
        **attributes,
    }


def _concepts(lattice: ConceptLattice, kept: Ints) -> dict[str, Any]:
    context = lattice._context
    own = context.own_concepts(lattice.intents_)
    inside = own >= 0
    own_size = np.bincount(
        own[inside], weights=context.counts[inside], minlength=len(lattice.intents_)
    )
    stability = lattice.stability_
    return {
        "concept": kept,
        "intents": lattice.intents_[kept],
        "size": lattice.sizes_[kept],
        "own_size": own_size.astype(np.int64)[kept],
        "stability": None if stability is None else stability[kept],
    }


def global_lattice(lattice: ConceptLattice) -> Lattice:
    """The whole lattice."""
    fields = _fields(lattice) | _concepts(lattice, np.arange(len(lattice.intents_)))
    if lattice._object_names:
        context = lattice._context
        own = context.own_concepts(lattice.intents_)
        fields["object_names"] = lattice._object_names
        fields["object_concept"] = own[context.row_of]
    return Lattice(scope="global", edges=lattice.edges_, **fields)


def local_lattice(lattice: ConceptLattice, table: Bools) -> Lattice:
    """Smallest concept of each row, and a way up to the top."""
    found, offsets = lattice._context.members(table, lattice.intents_)
    # concepts come by falling size: the last one has no concept of the row below it
    smallest = found[offsets[1:] - 1] if len(table) else found[:0]
    ways = _ways_up(lattice.edges_, len(lattice.intents_), smallest)
    path = np.array([c for way in ways for c in way], dtype=np.int64)
    path_offsets = offsets_of(np.array([len(way) for way in ways], dtype=np.int64))
    kept, path = np.unique(path, return_inverse=True)
    violated = None
    if lattice.implications:
        premises, conclusions = lattice.implications_.swapaxes(0, 1)
        violated = _contains(table, premises) & ~_contains(table, conclusions)
    return Lattice(
        scope="local",
        edges=path_edges(path, path_offsets),
        row_concept=np.searchsorted(kept, smallest),
        path=path,
        path_offsets=path_offsets,
        violated=violated,
        **_fields(lattice),
        **_concepts(lattice, kept),
    )


def _ways_up(edges: Ints, n: int, start: Ints) -> list[list[int]]:
    """From each concept to the top, always to the smallest neighbour above."""
    above = np.full(n, -1, dtype=np.int64)
    np.maximum.at(above, edges[:, 0], edges[:, 1])
    ways = []
    for c in start.tolist():
        way = [c]
        while above[way[-1]] >= 0:
            way.append(int(above[way[-1]]))
        ways.append(way)
    return ways


def _contains(sets: Bools, parts: Bools) -> Bools:
    """Whether each set holds each part."""
    held: Bools = (~sets).astype(np.float32) @ parts.T.astype(np.float32) == 0
    return held
