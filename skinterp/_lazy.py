"""Lazy public names: what the library and its domains show, and where it lies.

A domain package exports what the method table says.

``python -m skinterp._lazy`` writes the ``__init__.pyi`` files beside the
``__init__.py`` of the library and of each domain, for editors and type checkers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skinterp._version import installed_version
from skinterp.plugins.builtin import METHODS

# The public functions of ``skinterp`` itself.
FUNCTIONS = {
    "explain": "skinterp._explain",
    "get_method": "skinterp.plugins",
    "list_methods": "skinterp.plugins",
    "load": "skinterp.explanation",
}
# The rooms that users see, besides the domains of the method table.
ROOMS = ("base", "compat", "datasets", "explanation", "plugins", "tabular", "testing")


def public(name: str) -> Any:
    """Import a public name of ``skinterp`` itself.

    Parameters
    ----------
    name : str
        A function, ``"__version__"`` or a room.

    Returns
    -------
    object
        The function, text or module.

    Examples
    --------
    >>> public("trees").__name__
    'skinterp.trees'
    """
    if name in FUNCTIONS:
        return getattr(importlib.import_module(FUNCTIONS[name]), name)
    if name == "__version__":
        return installed_version()
    if name in rooms():
        return importlib.import_module(f"skinterp.{name}")
    raise AttributeError(f"module 'skinterp' has no attribute {name!r}")


def rooms() -> list[str]:
    """List the packages and modules that need no import of their own before use.

    Returns
    -------
    list of str
        Sorted names, without ``skinterp.`` in front.

    Examples
    --------
    >>> "trees" in rooms()
    True
    """
    domains = (package.rpartition(".")[2] for package in domain_packages())
    return sorted({*ROOMS, *domains})


def domain_packages() -> tuple[str, ...]:
    """List the packages of skinterp that the method table fills.

    Returns
    -------
    tuple of str
        Sorted dotted names.

    Examples
    --------
    >>> "skinterp.trees" in domain_packages()
    True
    """
    return tuple(sorted({_package_of(target) for target in _all_targets()}))


def public_names(package: str) -> dict[str, str]:
    """Map the public names of a domain package to the modules that hold them.

    Parameters
    ----------
    package : str
        Dotted name of the package.

    Returns
    -------
    dict of str to str
        Sorted by name.

    Examples
    --------
    >>> public_names("skinterp.trees")["BooleanTreeClassifier"]
    'skinterp.trees._boolean_tree'
    """
    pairs = (t.split(":") for t in _all_targets() if _package_of(t) == package)
    return {name: module for module, name in sorted(pairs, key=lambda p: p[1])}


def attach(
    package: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the lazy attribute functions of a domain package.

    Parameters
    ----------
    package : str
        The ``__name__`` of the calling ``__init__``.

    Returns
    -------
    tuple
        ``(__getattr__, __dir__, __all__)``, to be assigned under these names.

    Examples
    --------
    >>> getattr_, dir_, all_ = attach("skinterp.trees")
    >>> "BooleanTreeClassifier" in all_
    True
    """
    table = public_names(package)

    def __getattr__(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(table[name]), name)
        # Kept in the module, so that the next access does not come here.
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted(table)

    return __getattr__, __dir__, list(table)


def stub(package: str) -> str:
    """Render the ``__init__.pyi`` of the library or of a domain package.

    Parameters
    ----------
    package : str
        Dotted name of the package.

    Returns
    -------
    str
        The text of the file.

    Examples
    --------
    >>> print(stub("skinterp.trees").splitlines()[0])
    # Written by `python -m skinterp._lazy` from the method table; do not edit.
    """
    lines = [
        "# Written by `python -m skinterp._lazy` from the method table; do not edit."
    ]
    if package == "skinterp":
        places, names = FUNCTIONS, sorted({"__version__", *FUNCTIONS})
        lines += [f"from skinterp import {room} as {room}" for room in rooms()]
    else:
        places = public_names(package)
        names = list(places)
    lines += [
        f"from {module} import {name} as {name}"
        for name, module in sorted(places.items(), key=lambda pair: pair[::-1])
    ]
    if package == "skinterp":
        lines += ["", "__version__: str"]
    listed = "".join(f'    "{name}",\n' for name in names)
    return "\n".join(lines) + f"\n\n__all__ = [\n{listed}]\n"


def write_stubs() -> list[Path]:
    """Write the stub files of the library and of every domain package.

    Returns
    -------
    list of pathlib.Path
        The files written.
    """
    written = []
    for package in ("skinterp", *domain_packages()):
        path = stub_path(package)
        path.write_text(stub(package), encoding="utf-8")
        written.append(path)
    return written


def stub_path(package: str) -> Path:
    """Say where the stub of a domain package lies.

    Parameters
    ----------
    package : str
        Dotted name of the package.

    Returns
    -------
    pathlib.Path
        The path of its ``__init__.pyi``.

    Examples
    --------
    >>> stub_path("skinterp.trees").name
    '__init__.pyi'
    """
    root = Path(__file__).parent
    return root.joinpath(*package.split(".")[1:], "__init__.pyi")


def _all_targets() -> list[str]:
    """List every "module:name" of the built-in rows."""
    return [t for row in METHODS for t in (*row.targets.values(), *row.exports)]


def _package_of(target: str) -> str:
    """Name the package that shows a target: that of its private module."""
    return target.partition(":")[0].rpartition(".")[0]


if __name__ == "__main__":
    for path in write_stubs():
        sys.stdout.write(f"{path}\n")
