"""Which room may know which, and other rules that a reader would have to trust."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from skinterp._lazy import domain_packages

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = sorted((ROOT / "skinterp").rglob("*.py"))
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))

DOMAINS = {package.partition(".")[2] for package in domain_packages()}
# What each room may import; a room that is missing here is a domain.
ALLOWED = {
    "compat": set(),
    "explanation": {"compat", "plugins"},
    "base": {"compat", "explanation"},
    "plugins": {"_lazy", "explanation"},
    "neural": {"base", "compat"},
    "tabular": {"base", "compat", "explanation"},
    "metrics": {"base", "compat", "explanation", "plugins", "tabular"},
    "model_selection": {
        "base",
        "compat",
        "explanation",
        "metrics",
        "plugins",
        "tabular",
    },
    "datasets": {"compat"},
    "report": {"base", "compat", "explanation", "metrics", "plugins", "tabular"},
    "cli": {
        "_explain",
        "base",
        "compat",
        "datasets",
        "explanation",
        "metrics",
        "model_selection",
        "plugins",
        "report",
        "tabular",
    },
    "testing": {
        "_explain",
        "base",
        "compat",
        "explanation",
        "neural",
        "plugins",
        "tabular",
    },
    "_explain": {"base", "compat", "explanation", "plugins", "tabular"},
    "__main__": {"cli"},
    "_lazy": {"_explain", "plugins"},  # it writes the stubs of the façade as well
}
FOR_DOMAINS = {"_lazy", "base", "compat", "explanation", "neural"}


def room_of(path: Path) -> str:
    """Give the first part below the package: a folder, or a module's name."""
    return path.relative_to(ROOT / "skinterp").parts[0].removesuffix(".py")


def typing_only(tree: ast.Module) -> set[ast.AST]:
    """Collect what lies below ``if TYPE_CHECKING``."""
    branches = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    )
    return {child for branch in branches for child in ast.walk(branch)}


def imports(path: Path) -> Iterator[tuple[int, str, str]]:
    """Give line, module and name of each import, in whatever depth it stands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = typing_only(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from ((node.lineno, module, alias.name) for alias in node.names)


def rooms_imported(path: Path) -> Iterator[tuple[int, str]]:
    """Give line and room of each import from the library."""
    for line, module, name in imports(path):
        first, _, rest = module.partition(".")
        if first == "skinterp":
            # The façade itself stands for what it adds: explain.
            yield line, (rest or name).partition(".")[0] or "_explain"


# The façade names everything, lazily; the version belongs to no room.
ROOMS = sorted({room_of(path) for path in LIBRARY} - {"__init__", "_version"})


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_know_only_what_lies_below(room: str) -> None:
    allowed = ALLOWED.get(room, FOR_DOMAINS) | {room, "_version"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports skinterp.{other}"
        for path in LIBRARY
        if room_of(path) == room
        for line, other in rooms_imported(path)
        if other not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_is_known() -> None:
    """A new room has to say what it may import, or be a domain of the table."""
    assert set(ROOMS) <= set(ALLOWED) | DOMAINS


@pytest.mark.parametrize("room", ["base", "explanation"])
def test_the_contract_names_no_method(room: str) -> None:
    """Neither by import nor in a string that would be imported later."""
    for path in LIBRARY:
        if room_of(path) == room:
            text = path.read_text(encoding="utf-8")
            assert not [d for d in DOMAINS if f"skinterp.{d}" in text], path


def test_private_names_of_scikit_learn_come_from_compat() -> None:
    compat = ROOT / "skinterp" / "compat.py"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module} {name}"
        for path in [*LIBRARY, *PLUGINS, *(ROOT / "benchmarks").rglob("*.py")]
        if path != compat
        for line, module, name in imports(path)
        if module.partition(".")[0] == "sklearn"
        and any(part.startswith("_") for part in [*module.split("."), name])
    ]
    assert not wrong, "\n".join(wrong)


def test_plugins_use_public_names() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in PLUGINS
        if "skinterp._" in path.read_text(encoding="utf-8")
    ]
    assert not wrong


def test_the_library_does_not_print() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in LIBRARY
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert not wrong


def test_functions_fit_on_a_screen() -> None:
    """At most 60 lines without the docstring."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines"
        for path in [*LIBRARY, *PLUGINS]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := body_lines(node)) > 60
    ]
    assert not wrong, "\n".join(wrong)


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines from ``def`` to the end, without the docstring."""
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    inside = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return node.end_lineno - node.lineno + 1 - inside


def test_files_are_split_in_time() -> None:
    """At most 420 lines, or 300 without the docstrings of a wide public class."""
    wrong = [
        f"{path.relative_to(ROOT)}: {n_lines} lines, {n_code} without docstrings"
        for path in LIBRARY
        for n_lines, n_code in [file_lines(path)]
        if n_lines > 420 and n_code > 300
    ]
    assert not wrong, "\n".join(wrong)


def file_lines(path: Path) -> tuple[int, int]:
    """Count the lines of a file, with and without docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    strings = [
        node.body[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    ]
    n_lines = len(text.splitlines())
    return n_lines, n_lines - sum(s.end_lineno - s.lineno + 1 for s in strings)
