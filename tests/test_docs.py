"""What the documentation shows is true, and nothing is missing in it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import pytest

import skinterp
from skinterp.plugins import MethodSpec
from skinterp.plugins.builtin import METHODS

ROOT = Path(__file__).resolve().parents[1]
DOC = ROOT / "doc"
PACKAGE = Path(skinterp.__file__).parent
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(not DOC.exists(), reason="needs the source tree")
METHOD = pytest.mark.parametrize("row", METHODS, ids=lambda row: row.name)


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOC / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(text: str) -> list[tuple[str, str]]:
    """Give language and content of the fenced blocks of a Markdown text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_readme_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python, run as one script in an empty folder, gives the text below it."""
    monkeypatch.chdir(tmp_path)
    found = blocks(README.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    compared = 0
    for (language, code), (following, text) in zip(
        found, [*found[1:], ("", "")], strict=True
    ):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(README), "exec"), names)
        if following == "text":
            compared += 1
            assert printed.getvalue() == text
    assert compared


def test_readme_table_is_fresh() -> None:
    text = README.read_text(encoding="utf-8")
    fresh = script("method_tables").with_table(text)
    assert text == fresh, "the table of methods is stale: run `make stubs`"


def test_readme_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert local
    assert not [target for target in local if not (ROOT / target).exists()]


@METHOD
def test_method_has_a_page(row: MethodSpec) -> None:
    """Written by hand, or made from the row; either names the classes and the paper."""
    tables = script("method_tables")
    written = DOC / "methods" / f"{row.name}.rst"
    pages = [tables.method_page(row)]
    pages += [written.read_text(encoding="utf-8")] if written.exists() else []
    for page in pages:
        for path in tables.class_paths(row):
            assert path.rpartition(".")[2] in page
        assert row.reference.partition(":")[2] in page


@METHOD
def test_method_has_an_example(row: MethodSpec) -> None:
    pattern = f"plot_{row.name.replace('-', '_')}*.py"
    assert list((DOC / "gallery").glob(pattern)), f"no doc/gallery/{pattern}"


@METHOD
def test_method_has_tests(row: MethodSpec) -> None:
    """At the place that mirrors the file of the method."""
    for target in row.targets.values():
        _, domain, private = target.partition(":")[0].split(".")
        tests = ROOT / "tests" / domain / f"test_{private.lstrip('_')}.py"
        assert tests.exists(), f"{tests.relative_to(ROOT)} is missing"


@METHOD
def test_method_is_announced(row: MethodSpec) -> None:
    """By a fragment, until a release moves that into the changelog."""
    pages = [ROOT / "CHANGELOG.md", *(ROOT / "news").glob("*.method.md")]
    said = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert f"`{row.name}`" in said, f"no news/*.method.md names `{row.name}`"


@METHOD
def test_method_is_in_the_api(row: MethodSpec) -> None:
    """Each class, and each further name, of the row has a page of the reference."""
    reference = script("api_reference")
    pages = {
        f"{package}.{name}"
        for package in reference.public_packages()
        for name in reference.public_objects(package)
    }
    for target in [*row.targets.values(), *row.exports]:
        module, _, name = target.partition(":")
        assert f"{module.rpartition('.')[0]}.{name}" in pages


@METHOD
def test_notebooks_link_to_the_page_of_the_api(row: MethodSpec) -> None:
    """The "?" beside an estimator leads to where autosummary puts its page."""
    tables = script("method_tables")
    for task, path in zip(row.tasks, tables.class_paths(row), strict=True):
        shown = skinterp.get_method(row.name, task=task)()._repr_html_()
        assert f'href="{tables.DOCUMENTATION}/generated/api/{path}.html"' in shown


def test_news_fragments_are_of_a_known_type() -> None:
    """The builder of the changelog leaves others out without a word."""
    known = {"method", "feature", "fix", "removal", "doc"}
    fragments = set((ROOT / "news").iterdir()) - {ROOT / "news" / "README.md"}
    types = {path.name: path.name.split(".")[-2] for path in fragments}
    wrong = {name: kind for name, kind in types.items() if kind not in known}
    assert not wrong


def test_every_kind_has_a_title_in_the_choosing_table() -> None:
    kinds = {kind for row in METHODS for kind in row.kinds}
    assert kinds <= set(script("method_tables").KIND_TITLES)


def test_all_rooms_of_the_facade_are_in_the_reference() -> None:
    """A public room that the reference forgets has no documentation."""
    documented = set(script("api_reference").public_packages())
    rooms = {
        f"skinterp.{path.parent.name if path.name == '__init__.py' else path.stem}"
        for path in [
            *PACKAGE.glob("[a-z]*.py"),
            *PACKAGE.glob("[a-z]*/__init__.py"),
        ]
    }
    # The command is documented by its --help.
    assert rooms - documented == {"skinterp.cli"}
