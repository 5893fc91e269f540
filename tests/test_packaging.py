"""The metadata says what was tried."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import skinterp
from skinterp.plugins.builtin import METHODS

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = ROOT / "pyproject.toml"

pytestmark = pytest.mark.skipif(not PYPROJECT.exists(), reason="needs the source tree")


def project() -> dict:
    return tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]


def pinned(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = (line.split("==") for line in lines if "==" in line and line[0] != "#")
    return {canonicalize_name(package): Version(version) for package, version in pins}


def required(*extras: str) -> dict[str, Requirement]:
    metadata = project()
    texts = list(metadata["dependencies"])
    for extra in extras:
        texts += metadata["optional-dependencies"][extra]
    parsed = map(Requirement, texts)
    return {canonicalize_name(requirement.name): requirement for requirement in parsed}


def test_lower_bounds_are_those_that_were_tried() -> None:
    oldest = pinned("constraints-oldest.txt")
    for name, requirement in required("test").items():
        (bound,) = [s.version for s in requirement.specifier if s.operator == ">="]
        tried = oldest[name].release
        stated = Version(bound).release
        assert tried[: len(stated)] == stated, f"{name}: >={bound}, tried {tried}"


@pytest.mark.parametrize(
    "extra",
    ["test", "test-optional", "docs", "lint", "torch", "symbolic", "graph"],
)
def test_every_requirement_is_pinned(extra: str) -> None:
    pins = pinned("constraints.txt")
    for name, requirement in required(extra).items():
        assert name in pins, f"{name} is missing in constraints.txt"
        assert requirement.specifier.contains(pins[name])


def modules_imported(path: Path) -> set[str]:
    """Give the top-level modules that a file imports when it is imported."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names - {*sys.stdlib_module_names, "skinterp"}


def needs_torch(path: Path) -> bool:
    """Say whether a file may import torch: those of networks, which ``fit`` imports.

    ``tests/neural/test_without_torch.py`` imports their estimators without it.
    """
    networks = {
        target.partition(":")[0].split(".")[1]
        for row in METHODS
        if any(text.startswith("torch") for text in row.requires)
        for target in row.targets.values()
    }
    return path.parent.name in {"neural", *networks}


def test_imported_packages_are_declared() -> None:
    """Not merely brought along by something else; the test kit needs its own.

    So does the documentation, which imports the test kit for its pages.
    """
    package = Path(skinterp.__file__).parent
    testing = package / "testing"
    core, kit = set(required()), set(required("test")) & set(required("docs"))
    distributions = {"sklearn": "scikit-learn", "PIL": "pillow"}
    for path in package.rglob("*.py"):
        declared = kit if path.is_relative_to(testing) else core
        if needs_torch(path):
            declared = declared | set(required("torch"))
        for module in modules_imported(path):
            name = canonicalize_name(distributions.get(module, module))
            assert name in declared, f"{path} imports {module}"


def test_the_command_is_installed() -> None:
    command = [sys.executable, "-c", "from skinterp.cli import main; main(['--help'])"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "methods" in result.stdout
