"""Tables of methods, made from the registry: for the README and for the documentation.

``python doc/method_tables.py`` renews the README; the documentation makes its own at
each build.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from skinterp.plugins import MethodSpec
from skinterp.plugins.builtin import METHODS

ROOT = Path(__file__).resolve().parents[1]
BEGIN = "<!-- methods: begin (written by `make stubs`) -->"
END = "<!-- methods: end -->"
DOCUMENTATION = "https://skinterp.github.io/skinterp"

# What a reader wants to see, in words, and the kind of explanation that shows it.
KIND_TITLES = {
    "attribution": "How much each feature adds to an output",
    "interactions": "What features add together",
    "shape-functions": "Curves of the effect of each feature",
    "edge-curves": "A network drawn with a curve on each edge",
    "rules": "Conditions under which the model gives a class",
    "expression": "A formula",
    "selection": "Which features are needed",
    "shapelet-rules": "What it weighs that a series has a piece like a shapelet",
    "shapelets": "Pieces of a series that decide",
    "token-scores": "Which windows of a series decide",
    "counterfactuals": "What would have to change for another answer",
    "data-values": "What each training row is worth",
    "slices": "Groups of rows on which a model is weak",
    "lattice": "What goes together with what, and what implies what",
    "graph": "A network of concepts, causes or curves",
}


def scopes_of(row: MethodSpec, kind: str) -> str:
    """Say whether a kind is given for the model, for rows, or for both."""
    words = {"global": "model", "local": "rows"}
    return ", ".join(words[s] for s, kinds in row.explains.items() if kind in kinds)


def class_paths(row: MethodSpec) -> list[str]:
    """Give the public dotted name of each class of a method."""
    pairs = (target.split(":") for target in row.targets.values())
    return [f"{module.rpartition('.')[0]}.{name}" for module, name in pairs]


def page_of(row: MethodSpec) -> str:
    """Give the document of a method: written by hand, or else made from the row."""
    written = (ROOT / "doc" / "methods" / f"{row.name}.rst").exists()
    return f"methods/{row.name}" if written else f"generated/methods/{row.name}"


def reference_link(reference: str) -> tuple[str, str] | None:
    """Turn ``arXiv:...`` or ``doi:...`` into a text and an address."""
    if not reference:
        return None
    scheme, _, rest = reference.partition(":")
    bases = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}
    if scheme in bases:
        return reference, bases[scheme] + rest
    return "reference", reference


def readme_table(rows: Iterable[MethodSpec] = METHODS) -> str:
    """Make the Markdown table of the README."""
    lines = [
        "| method | in one line | input | explains by | reference |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        page = f"{DOCUMENTATION}/{page_of(row)}.html"
        classes = ", ".join(f"`{path.rpartition('.')[2]}`" for path in class_paths(row))
        link = reference_link(row.reference)
        cells = [
            f"[{row.name}]({page}): {classes}",
            row.summary,
            row.input,
            ", ".join(row.kinds),
            f"[{link[0]}]({link[1]})" if link else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_table(readme: str) -> str:
    """Put a fresh table between the markers of the README's text."""
    before, _, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        msg = f"README.md needs the lines {BEGIN!r} and {END!r}"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n{readme_table()}\n{END}{after}"


def choosing_table(rows: Iterable[MethodSpec] = METHODS) -> str:
    """Make the "choosing a method" table: what is wanted, and who gives it."""
    rows = list(rows)
    kinds = [*KIND_TITLES, *(kind for row in rows for kind in row.kinds)]
    lines = _list_table(
        "You want to see", "Kind", "Method", "For", "Input", "Fit costs"
    )
    for kind in dict.fromkeys(kinds):
        for row in rows:
            if kind in row.kinds:
                lines += _row(
                    KIND_TITLES.get(kind, kind),
                    f"``{kind}``",
                    f":doc:`{row.name} </{page_of(row)}>` ({', '.join(row.tasks)})",
                    scopes_of(row, kind),
                    row.input,
                    row.cost,
                )
    return "\n".join(lines) + "\n"


def index_table(rows: Iterable[MethodSpec] = METHODS) -> str:
    """Make the table at the top of the method pages, and the list of these."""
    rows = list(rows)
    lines = _list_table("Method", "Classes", "In one line", "Standing", "Reference")
    for row in rows:
        link = reference_link(row.reference)
        lines += _row(
            f":doc:`/{page_of(row)}`",
            ", ".join(f":class:`~{path}`" for path in class_paths(row)),
            row.summary,
            row.tier,
            f"`{link[0]} <{link[1]}>`__" if link else "",
        )
    pages = [f"   /{page_of(row)}" for row in rows]
    lines += ["", ".. toctree::", "   :hidden:", "", *pages]
    return "\n".join(lines) + "\n"


def method_page(row: MethodSpec) -> str:
    """Make the page of a method from its row, where nobody has written one."""
    title = row.name.replace("-", " ").capitalize()
    scopes = {"global": "the whole model", "local": "single rows"}
    link = reference_link(row.reference)
    facts = {
        "Classes": ", ".join(f":class:`~{path}`" for path in class_paths(row)),
        "Input": row.input,
        "Explains": "; ".join(
            f"{scopes[scope]} by {', '.join(kinds)}"
            for scope, kinds in row.explains.items()
        ),
        "Needs": ", ".join(row.requires),
        "Reference": f"`{link[0]} <{link[1]}>`__" if link else "",
    }
    lines = [title, "=" * len(title), "", f"{row.summary}.", ""]
    lines += [f":{name}: {text}" for name, text in facts.items() if text]
    for path in class_paths(row):
        lines += ["", f".. minigallery:: {path}"]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write the tables and pages that the documentation includes."""
    (folder / "methods").mkdir(parents=True, exist_ok=True)
    for name, table in (("choosing", choosing_table()), ("methods", index_table())):
        (folder / f"{name}.inc").write_text(table, encoding="utf-8")
    for stale in (folder / "methods").glob("*.rst"):
        stale.unlink()
    for row in METHODS:
        if page_of(row).startswith("generated/"):
            page = folder / "methods" / f"{row.name}.rst"
            page.write_text(method_page(row), encoding="utf-8")


def _list_table(*headings: str) -> list[str]:
    return [".. list-table::", "   :header-rows: 1", "", *_row(*headings)]


def _row(*cells: str) -> list[str]:
    marks = ["   * -", *["     -"] * (len(cells) - 1)]
    return [f"{mark} {cell}".rstrip() for mark, cell in zip(marks, cells, strict=True)]


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
