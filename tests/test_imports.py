"""What an import costs, and that laziness hides no broken name."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import Any

import pytest

import skinterp
from skinterp._lazy import domain_packages, public_names, stub, stub_path
from skinterp.plugins.builtin import KINDS, METHODS

HEAVY = ("sklearn", "scipy", "pandas", "numba", "torch", "matplotlib")
# The promise is 0.3 seconds; twice that leaves room for a loaded machine.
MOST_SECONDS = 0.6

MEASURE = """
import contextlib, io, json, sys, time
arguments = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()):
    if arguments == ["import"]:
        import skinterp
        for package in {packages!r}:
            __import__(package)
        dir(skinterp), skinterp.__version__, skinterp.list_methods()
    else:
        from skinterp.cli import main
        main(arguments)
seconds = time.process_time()
print(json.dumps([seconds, [m for m in {heavy!r} if m in sys.modules]]))
"""


def measure(*arguments: str) -> tuple[float, list[str]]:
    script = MEASURE.format(packages=domain_packages(), heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, modules = json.loads(done.stdout)
    return seconds, modules


@pytest.mark.parametrize(
    "arguments",
    [("import",), ("--help",), ("methods",), ("plugins", "--all"), ("--version",)],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(arguments: tuple[str, ...]) -> None:
    seconds, modules = measure(*arguments)
    assert modules == []
    assert seconds < MOST_SECONDS


def targets() -> list[str]:
    found = [t for row in METHODS for t in (*row.targets.values(), *row.exports)]
    return [*found, *KINDS.values()]


@pytest.mark.parametrize("target", targets())
def test_every_entry_of_the_table_can_be_imported(target: str) -> None:
    module, _, name = target.partition(":")
    value = getattr(importlib.import_module(module), name)
    assert value.__name__ == name


@pytest.mark.parametrize("name", [n for n in dir(skinterp) if n != "__version__"])
def test_every_public_name_resolves(name: str) -> None:
    value = getattr(skinterp, name)
    assert callable(value) or value.__name__ == f"skinterp.{name}"
    assert name not in skinterp.__all__ or getattr(skinterp, name) is value


@pytest.mark.parametrize("package", domain_packages())
def test_a_domain_shows_what_the_table_says(package: str) -> None:
    module = importlib.import_module(package)
    names = public_names(package)
    assert module.__all__ == list(names)
    assert sorted(dir(module)) == sorted(names)
    for name, place in names.items():
        assert getattr(module, name) is getattr(importlib.import_module(place), name)
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nope'"):
        _ = module.nope


@pytest.mark.parametrize("package", ["skinterp", *domain_packages()])
def test_stubs_are_up_to_date(package: str) -> None:
    written = stub_path(package).read_text(encoding="utf-8")
    assert written == stub(package), "run: python -m skinterp._lazy"


def test_an_unknown_name_of_the_package() -> None:
    missing: Any = skinterp
    with pytest.raises(AttributeError, match="'skinterp' has no attribute 'explian'"):
        _ = missing.explian


def test_the_version_is_that_of_the_metadata() -> None:
    from importlib.metadata import version

    assert skinterp.__version__ == version("skinterp")


USER = """
from typing import reveal_type
import skinterp
from skinterp.trees import BooleanTreeClassifier

reveal_type(BooleanTreeClassifier())
reveal_type(skinterp.list_methods())
reveal_type(skinterp.__version__)
reveal_type(skinterp.trees.BooleanTreeClassifier())
skinterp.no_such_name
skinterp.trees.no_such_name
"""


@pytest.mark.slow
def test_mypy_sees_the_lazy_names(tmp_path: Any) -> None:
    api = pytest.importorskip("mypy.api")
    script = tmp_path / "user.py"
    script.write_text(USER, encoding="utf-8")
    options = ["--config-file", "", "--follow-imports", "silent", "--cache-dir"]
    report, _, _ = api.run([*options, str(tmp_path / "cache"), str(script)])
    tree, table, text = (
        f'note: Revealed type is "{name}"'
        for name in (
            "skinterp.trees._boolean_tree.BooleanTreeClassifier",
            "skinterp.plugins._table.MethodTable",
            "str",
        )
    )
    assert [report.count(note) for note in (tree, table, text)] == [2, 1, 1]
    assert report.count('Module has no attribute "no_such_name"') == 2, report
