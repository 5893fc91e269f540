"""Plugins for the tests: as modules in this process, or as installed distributions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from skinterp.plugins import manager
from skinterp.plugins._discovery import Candidate

ROOT = Path(__file__).resolve().parents[2]

HEAD = """
from skinterp.plugins import MethodSpec, hookimpl

API = (1, 0)


def row(name="spiral", **fields):
    fields.setdefault("targets", {"classifier": "collections:OrderedDict"})
    fields.setdefault("explains", {"local": ("attribution",)})
    return MethodSpec(name=name, summary="Turns", **fields)
"""

GOOD = """
@hookimpl
def skinterp_methods():
    return [row()]
"""


def plugin_source(body: str = GOOD) -> str:
    return HEAD + dedent(body)


@pytest.fixture
def source() -> Callable[..., str]:
    """Return the text of a plugin module, with a helper ``row`` above the body."""
    return plugin_source


@pytest.fixture
def candidate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Candidate]:
    """Make a plugin in this process: an entry point to a module made of text."""

    def make(
        distribution: str = "stranger",
        body: str = GOOD,
        *,
        name: str = "main",
        **fields: Any,
    ) -> Candidate:
        module_name = f"{distribution.replace('-', '_')}_{name}"
        module = types.ModuleType(module_name)
        monkeypatch.setitem(sys.modules, module_name, module)
        exec(plugin_source(body), module.__dict__)
        entry_point = EntryPoint(name, module_name, "skinterp")
        return Candidate(entry_point=entry_point, distribution=distribution, **fields)

    return make


@pytest.fixture
def build(candidate: Callable[..., Candidate]) -> Callable[..., Any]:
    """Build a registry of candidates, or of one made of a body, without switches."""

    def make(*plugins: Any, environ: dict[str, str] | None = None) -> Any:
        made = [candidate(body=p) if isinstance(p, str) else p for p in plugins]
        return manager.build_registry(made, environ or {})

    return make


@pytest.fixture
def fresh_cache(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the process a registry of its own for one test."""
    cache = manager._Cache()
    monkeypatch.setattr(manager, "_CACHE", cache)
    return cache


class Site:
    """A folder with installed distributions, and processes that see them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self,
        distribution: str,
        body: str = GOOD,
        *,
        version: str = "1.0",
        requires: tuple[str, ...] = (),
        entry_points: str | None = None,
        folder: Path | None = None,
    ) -> None:
        """Write a module and the metadata that an installer leaves behind."""
        folder = folder or self.folder
        module = distribution.replace("-", "_")
        folder.mkdir(exist_ok=True)
        (folder / f"{module}.py").write_text(plugin_source(body), encoding="utf-8")
        info = folder / f"{module}-{version}.dist-info"
        info.mkdir()
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {distribution}",
            f"Version: {version}",
        ]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = entry_points or f"[skinterp]\nmain = {module}\n"
        (info / "entry_points.txt").write_text(text, encoding="utf-8")

    def run(
        self, *arguments: str, path: tuple[Path, ...] = (), **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in a fresh process, with no switch but those given."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("SKINTERP_")}
        folders = [self.folder, *path, ROOT]
        env["PYTHONPATH"] = os.pathsep.join(map(str, folders))
        return subprocess.run(
            [sys.executable, *arguments],
            env={**env, **environ},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def report(self, **options: Any) -> dict[str, Any]:
        """List the methods and the plugins in a fresh process."""
        done = self.run("-c", REPORT, **options)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer


# What any user would do, and what it gave.
REPORT = """
import json, warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import skinterp

    methods = skinterp.list_methods()
    again = skinterp.list_methods()
registry = skinterp.plugins.get_registry()
print(json.dumps({
    "methods": [row.listed_as for row in methods],
    "plugins": {p.distribution: p.to_dict() for p in registry.plugins},
    "warnings": [str(w.message) for w in caught],
    "text": repr(registry),
}))
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return an empty folder for installed distributions."""
    return Site(tmp_path)
