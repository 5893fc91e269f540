"""Every public object is documented, in numpydoc's form, and nothing is excused."""

from __future__ import annotations

import importlib.util
import inspect
import pydoc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from numpydoc.validate import validate

DOC = Path(__file__).resolve().parents[1] / "doc"

# Choices for the whole project; there is no list of excused objects.
NOT_ASKED = {
    "GL01",  # the summary stands on the line of the opening quotes
    "ES01",  # a good summary is often enough
    "SA01",  # "See Also" where there is something to see
}
# The class shows an example of use; its methods need one only where it helps.
NOT_ASKED_OF_METHODS = {"EX01"}


def load(name: str) -> ModuleType:
    """Import a script of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOC / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_names() -> Iterator[str]:
    """Name every public class, function and method, methods by the defining class."""
    reference = load("api_reference")
    for package in reference.public_packages():
        for name, item in reference.public_objects(package).items():
            yield f"{package}.{name}"
            if inspect.isclass(item):
                yield from (f"{package}.{name}.{m}" for m in own_members(item))


def own_members(cls: type) -> list[str]:
    """List public methods and properties that are defined in the library."""
    return [
        name
        for name, member in inspect.getmembers(cls)
        if not name.startswith("_") and is_ours(cls, name, member)
    ]


def is_ours(cls: type, name: str, member: object) -> bool:
    """Say whether a member is written in the library, rather than inherited into it."""
    owner = next((c for c in cls.__mro__ if name in vars(c)), object)
    documented = inspect.isroutine(member) or isinstance(member, property)
    # scikit-learn puts set_fit_request and its like into the classes themselves.
    generated = name.startswith("set_") and name.endswith("_request")
    return documented and not generated and owner.__module__.startswith("skinterp")


NAMES = sorted(set(public_names())) if DOC.exists() else []


@pytest.mark.skipif(not DOC.exists(), reason="needs the source tree")
@pytest.mark.parametrize("name", NAMES)
def test_docstring(name: str) -> None:
    report = validate(name)
    skipped = NOT_ASKED | (NOT_ASKED_OF_METHODS if is_method(name) else set())
    if is_keyword_only(name):
        skipped |= {"PR03"}  # order means nothing; a dataclass puts its base's first
    errors = [
        f"{code}: {text}" for code, text in report["errors"] if code not in skipped
    ]
    place = f"{report['file']}:{report['file_line']}"
    assert not errors, "\n".join([name, place, *errors])


def is_method(name: str) -> bool:
    """A dotted name is that of a method if what comes before is a class."""
    return name.rpartition(".")[0] in NAMES


def is_keyword_only(name: str) -> bool:
    """Say whether a class takes keywords alone."""
    item = pydoc.locate(name)
    if not inspect.isclass(item) or issubclass(item, BaseException):
        return False
    parameters = inspect.signature(item).parameters.values()
    return all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters)


def test_there_are_names() -> None:
    """The list above is found by a script; it must not be empty by mistake."""
    assert "skinterp.explain" in NAMES
    assert "skinterp.trees.BooleanTreeClassifier.fit" in NAMES
    assert "skinterp.explanation.RuleSet.to_frame" in NAMES
