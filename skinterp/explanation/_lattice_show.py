"""Lattices as text, as tables, and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import optional_import

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation._lattice import Lattice

MAX_CONCEPTS = 25
MAX_IMPLICATIONS = 25
MAX_CASES = 50
NOTHING = "(no attribute)"


def count(n: int, thing: str) -> str:
    """Put a number and its noun together."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _names(lattice: Lattice, held: NDArray[np.bool_]) -> str:
    return ", ".join(lattice.attribute_names[k] for k in np.flatnonzero(held))


def say_implications(lattice: Lattice) -> tuple[str, ...]:
    """Premise and conclusion of each implication."""
    if lattice.premises is None or lattice.conclusions is None:
        return ()
    pairs = zip(lattice.premises, lattice.conclusions, strict=True)
    return tuple(
        f"{_names(lattice, p) or 'always'} -> {_names(lattice, c)}" for p, c in pairs
    )


def say_concepts(lattice: Lattice) -> str:
    """The largest concepts, then the first implications."""
    k = len(lattice.concept)
    of = f" of {lattice.n_concepts}" if k < lattice.n_concepts else ""
    lines = [
        f"{k}{of} concept{'s' * (k != 1)} of {count(lattice.n_rows, 'row')} and "
        f"{count(len(lattice.attribute_names), 'attribute')}, "
        f"{count(len(lattice.edges), 'cover')}"
    ]
    if lattice.min_size > 0:
        lines[0] += (
            f"; concepts of fewer than {count(lattice.min_size, 'row')} left out"
        )
    order = np.argsort(-lattice.size, kind="stable")
    lines += [f"  {_say_concept(lattice, c)}" for c in order[:MAX_CONCEPTS]]
    if k > MAX_CONCEPTS:
        lines.append(f"  ... {k - MAX_CONCEPTS} more concepts")
    return "\n".join([*lines, *_say_basis(lattice)])


def _say_concept(lattice: Lattice, c: int) -> str:
    intent = _names(lattice, lattice.intents[c]) or NOTHING
    text = f"{lattice.concept[c]}: {count(int(lattice.size[c]), 'row')}: {intent}"
    if lattice.stability is not None:
        text += f", stability {lattice.stability[c]:.2g}"
    return text


def _say_basis(lattice: Lattice) -> list[str]:
    if lattice.premises is None:
        return []
    q = len(lattice.premises)
    whole = "" if lattice.basis_complete else ", the first of more"
    lines = [f"{count(q, 'implication')}{whole}"]
    lines += [f"  {text}" for text in say_implications(lattice)[:MAX_IMPLICATIONS]]
    if q > MAX_IMPLICATIONS:
        lines.append(f"  ... {q - MAX_IMPLICATIONS} more implications")
    return lines


def say_cases(lattice: Lattice) -> str:
    """Concept of each case, its way up, and what it breaks."""
    broken = say_implications(lattice)
    n = min(len(lattice), MAX_CASES)
    lines = [_say_case(lattice, i, broken) for i in range(n)]
    if len(lattice) > n:
        lines.append(f"... {len(lattice) - n} more")
    return "\n".join(lines) or "no rows"


def _say_case(lattice: Lattice, i: int, implications: tuple[str, ...]) -> str:
    assert lattice.row_concept is not None
    text = f"{lattice.unit} {i}: {_say_concept(lattice, lattice.row_concept[i])}"
    steps = lattice.concept[lattice.way_up(i)].tolist()
    if len(steps) > 1:
        text += f"; way up {' < '.join(map(str, steps))}"
    if lattice.violated is None:
        return text
    broken = [implications[q] for q in np.flatnonzero(lattice.violated[i])]
    if broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        text += f"; breaks {broken[0]}{more}"
    return text


def concept_table(lattice: Lattice) -> pd.DataFrame:
    """Line per concept."""
    import pandas as pd

    new = lattice.own_attributes()
    upper: list[list[int]] = [[] for _ in lattice.concept]
    for low, high in lattice.edges:
        upper[low].append(int(lattice.concept[high]))
    table: dict[str, Any] = {
        "concept": np.array(lattice.concept),
        "size": np.array(lattice.size),
        "support": lattice.size / max(lattice.n_rows, 1),
        "n_attributes": lattice.intents.sum(axis=1),
        "intent": [_names(lattice, held) for held in lattice.intents],
        "new": [_names(lattice, held) for held in new],
        "upper_covers": [" ".join(map(str, sorted(up))) for up in upper],
    }
    if lattice.stability is not None:
        table["stability"] = np.array(lattice.stability)
    return pd.DataFrame(table)


def case_table(lattice: Lattice) -> pd.DataFrame:
    """Line per case."""
    import pandas as pd

    assert lattice.row_concept is not None
    at = lattice.row_concept
    ways = [lattice.concept[lattice.way_up(i)].tolist() for i in range(len(lattice))]
    table: dict[str, Any] = {
        "concept": lattice.concept[at],
        "size": lattice.size[at],
        "intent": [_names(lattice, lattice.intents[c]) for c in at],
        "path": [" < ".join(map(str, way)) for way in ways],
    }
    if lattice.violated is not None:
        words = say_implications(lattice)
        table["violates"] = [
            "; ".join(words[q] for q in np.flatnonzero(row)) for row in lattice.violated
        ]
    return pd.DataFrame(table)


# -- other programs --------------------------------------------------------------------


def objects_at(lattice: Lattice) -> list[list[str]]:
    """Names of the rows whose smallest concept each is."""
    out: list[list[str]] = [[] for _ in lattice.concept]
    if lattice.object_concept is not None:
        for name, c in zip(lattice.object_names, lattice.object_concept, strict=True):
            if c >= 0:
                out[c].append(name)
    return out


def write_dot(lattice: Lattice) -> str:
    """Text for ``dot``: new attributes above, rows below."""
    lines = ["digraph lattice {", "  rankdir=BT;", "  node [shape=box, style=rounded];"]
    new, objects = lattice.own_attributes(), objects_at(lattice)
    for c, number in enumerate(lattice.concept):
        parts = [lattice.attribute_names[k] for k in np.flatnonzero(new[c])]
        rows = objects[c] or [f"({count(int(lattice.size[c]), 'row')})"]
        label = "\\n".join(map(_escape, [*parts, *rows]))
        lines.append(f'  {number} [label="{label}"];')
    pairs = lattice.concept[lattice.edges].tolist()
    lines += [f"  {low} -> {high} [arrowhead=none];" for low, high in pairs]
    return "\n".join([*lines, "}"]) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def make_graph(lattice: Lattice) -> Any:
    """Graph with a node per concept and an edge per cover."""
    nx = optional_import("networkx", extra="graph", who="Lattice.to_networkx")
    graph = nx.DiGraph()
    new = lattice.own_attributes()
    for c, number in enumerate(lattice.concept.tolist()):
        own = [lattice.attribute_names[k] for k in np.flatnonzero(new[c])]
        facts: dict[str, Any] = {
            "intent": lattice.intent(c),
            "size": int(lattice.size[c]),
            "new": tuple(own),
        }
        if lattice.stability is not None:
            facts["stability"] = float(lattice.stability[c])
        graph.add_node(number, **facts)
    graph.add_edges_from(lattice.concept[lattice.edges].tolist())
    return graph
