"""The API pages: one per public object, found through the façade and the registry."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from skinterp._lazy import domain_packages

# The rooms that everything shares, in the order in which a reader meets them. The
# domains follow from the table of methods, and stand between the two.
FOR_USERS = {
    "skinterp": "The names at the top",
    "skinterp.explanation": "What explain returns",
    "skinterp.datasets": "Data to try methods on",
}
FOR_AUTHORS = {
    "skinterp.tabular": "From tables to numbers and back",
    "skinterp.plugins": "Methods and plugins",
    "skinterp.base": "The contract of a method",
    "skinterp.neural": "From a torch module to an estimator",
    "skinterp.testing": "The test kit for authors of methods",
    "skinterp.compat": "What plugins may use of scikit-learn, whatever its version",
}


def public_objects(package: str) -> dict[str, Any]:
    """Give the documented objects of a public package, by name."""
    module = importlib.import_module(package)
    found = {name: getattr(module, name) for name in module.__all__}
    # Re-exported names of other libraries are documented there, constants in the text.
    return {
        name: item
        for name, item in found.items()
        if (inspect.isclass(item) or inspect.isroutine(item))
        and item.__module__.startswith("skinterp")
    }


def foreign_names(package: str) -> list[str]:
    """Say which public functions and classes of a package are other libraries' own."""
    module = importlib.import_module(package)
    items = ((name, getattr(module, name)) for name in module.__all__)
    names = [
        f"``{name}``"
        for name, item in items
        if callable(item) and not item.__module__.startswith("skinterp")
    ]
    return [f"Names of other libraries: {', '.join(names)}.", ""] if names else []


def public_packages() -> dict[str, str]:
    """Give the title of every package that has public names."""
    modules = {name: importlib.import_module(name) for name in domain_packages()}
    summaries = {
        name: (inspect.getdoc(module) or name).splitlines()[0].rstrip(".")
        for name, module in modules.items()
    }
    return FOR_USERS | summaries | FOR_AUTHORS


def write(folder: Path) -> None:
    """Write the index and a page per package; autosummary makes those of objects."""
    folder.mkdir(parents=True, exist_ok=True)
    packages = {p: t for p, t in public_packages().items() if public_objects(p)}
    remove_stale(folder, packages)
    for package, title in packages.items():
        text = "\n".join(package_page(package, title))
        (folder / f"{package}.rst").write_text(text, encoding="utf-8")
    lines = [".. _api:", "", "API reference", "=============", ""]
    lines += [".. list-table::", "   :widths: 1 2", ""]
    for package, title in packages.items():
        lines += [f"   * - :doc:`{package}`", f"     - {title}."]
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {package}" for package in packages]
    (folder / "api_reference.rst").write_text("\n".join(lines), encoding="utf-8")


def package_page(package: str, title: str) -> list[str]:
    """Give the lines of the page of a package."""
    lines = [package, "=" * len(package), "", f".. py:module:: {package}", ""]
    lines += [f"{title}.", "", *foreign_names(package)]
    objects = public_objects(package)
    for template, is_wanted in (
        ("class", inspect.isclass),
        ("function", inspect.isroutine),
    ):
        names = [name for name, item in objects.items() if is_wanted(item)]
        if names:
            lines += [
                f".. currentmodule:: {package}",
                "",
                ".. autosummary::",
                "   :toctree: api/",
                f"   :template: autosummary/{template}.rst",
                "",
                *(f"   {name}" for name in names),
                "",
            ]
    return lines


def remove_stale(folder: Path, packages: dict[str, str]) -> None:
    """Remove pages of what an earlier build found and that is no more."""
    names = {f"{p}.{name}" for p in packages for name in public_objects(p)}
    kept = {"api_reference", *packages}
    for page in [*folder.glob("skinterp*.rst"), *(folder / "api").glob("*.rst")]:
        if page.stem not in (names if page.parent.name == "api" else kept):
            page.unlink()
