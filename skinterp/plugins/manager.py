"""Build the registry of plugins once, and answer questions about methods.

Loading a plugin runs its code: install only what you trust. Nothing here ever
downloads or installs anything.
"""

from __future__ import annotations

import difflib
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from typing import Any

from skinterp._version import installed_version
from skinterp.plugins._discovery import (
    GROUP,
    LOAD,
    Candidate,
    Switches,
    canonical,
    find_plugins,
)
from skinterp.plugins._errors import PluginError, SkinterpPluginWarning
from skinterp.plugins._loader import Loader
from skinterp.plugins._record import PluginRecord, how_to_disable
from skinterp.plugins._registry import Registry
from skinterp.plugins._table import MethodTable
from skinterp.plugins.spec import INPUTS, TASKS


def build_registry(
    candidates: Iterable[Candidate] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Registry:
    """Load the built-in methods and the plugins, each by itself.

    Parameters
    ----------
    candidates : iterable of Candidate, optional
        The plugins; those that are installed when None.
    environ : mapping of str to str, optional
        Where the switches are read; the environment of the process when None.

    Returns
    -------
    Registry
        A new one; the cached one is not touched.

    Examples
    --------
    >>> [record.state for record in build_registry([]).plugins]
    ['ok']
    """
    switches = Switches.read(environ)
    version = installed_version()
    found = find_plugins() if candidates is None else list(candidates)
    loader = Loader(switches, version)
    return Registry([loader.load(c) for c in (_builtin(version), *found)])


class _Cache:
    """The registry of the process."""

    def __init__(self) -> None:
        # Reentrant, so that a plugin that asks for methods while it is being
        # loaded gets an error instead of a dead-lock.
        self.lock = threading.RLock()
        self.registry: Registry | None = None
        self.building = False
        self.preferred: dict[str, str] = {}
        self.warned: set[str] = set()

    def get(self) -> Registry:
        with self.lock:
            if self.registry is not None:
                return self.registry
            registry = self._build()
        _warn(registry, self.warned)
        return registry

    def _build(self) -> Registry:
        if self.building:
            raise PluginError(
                "A plugin asked for methods while plugins were being loaded; it must "
                "not call skinterp.list_methods() or get_method() when it is imported."
            )
        self.building = True
        try:
            registry = build_registry()
        finally:
            self.building = False
        self.registry = Registry(registry.plugins, self.preferred)
        return self.registry

    def prefer(self, name: str) -> None:
        with self.lock:
            registry = self.get()
            row = registry.find(name)
            self.preferred[row.name] = row.id
            self.registry = Registry(registry.plugins, self.preferred)


_CACHE = _Cache()


def get_registry() -> Registry:
    """Return the registry, which is built at the first call.

    The switches ``SKINTERP_LOAD_PLUGINS``, ``SKINTERP_BLOCK_PLUGINS``,
    ``SKINTERP_TRACE_PLUGINS`` and ``SKINTERP_STRICT_PLUGINS`` are read then.

    Returns
    -------
    Registry
        With the attributes ``plugins``, ``methods`` and ``kinds``.

    Examples
    --------
    >>> from skinterp.plugins import get_registry
    >>> get_registry().plugins[0].distribution
    'skinterp'
    """
    return _CACHE.get()


def refresh() -> Registry:
    """Build the registry again, after something was installed or a switch changed.

    Code that is already imported is not imported anew.

    Returns
    -------
    Registry
        The new one.

    Examples
    --------
    >>> from skinterp.plugins import refresh
    >>> len(refresh().methods) > 0
    True
    """
    import importlib

    importlib.invalidate_caches()
    with _CACHE.lock:
        _CACHE.registry = None
        return _CACHE.get()


@contextmanager
def use_registry(registry: Registry) -> Iterator[Registry]:
    """Use another registry inside a ``with`` block, for tests.

    Parameters
    ----------
    registry : Registry
        As from `build_registry`.

    Yields
    ------
    Registry
        The same.

    Examples
    --------
    >>> with use_registry(build_registry([])) as registry:
    ...     get_registry() is registry
    True
    """
    with _CACHE.lock:
        before = _CACHE.registry, dict(_CACHE.preferred)
        _CACHE.registry = registry
    try:
        yield registry
    finally:
        with _CACHE.lock:
            _CACHE.registry, _CACHE.preferred = before


def list_methods(
    task: str | None = None,
    input: str | None = None,
    kind: str | None = None,
    provider: str | None = None,
) -> MethodTable:
    """List the methods; no method is imported for it.

    Parameters
    ----------
    task : str, optional
        Only those with a class for it, as ``"classifier"``.
    input : str, optional
        Only those for such data, as ``"tabular"`` or ``"series"``.
    kind : str, optional
        Only those that give such explanations, as ``"rules"``.
    provider : str, optional
        Only those of a distribution; ``"skinterp"`` for the built-in ones.

    Returns
    -------
    MethodTable
        A list of `~skinterp.plugins.MethodSpec` rows that prints as a table.

    Examples
    --------
    >>> import skinterp
    >>> [row.name for row in skinterp.list_methods(kind="rules", provider="skinterp")]
    ['boolean-tree']
    """
    registry = get_registry()
    methods = registry.methods
    _known("task", task, {*TASKS, *(t for row in methods for t in row.tasks)})
    _known("input", input, {*INPUTS, *(row.input for row in methods)})
    _known("kind", kind, {*registry.kinds, *(k for row in methods for k in row.kinds)})
    if isinstance(provider, str):
        provider = canonical(provider)
    _known("provider", provider, {record.distribution for record in registry.plugins})
    return MethodTable(
        row
        for row in methods
        if (task is None or task in row.targets)
        and input in (None, row.input)
        and (kind is None or kind in row.kinds)
        and provider in (None, row.provider)
    )


def get_method(name: str, task: str | None = None) -> Any:
    """Return the class of a method.

    Parameters
    ----------
    name : str
        As in `list_methods`: ``"boolean-tree"``, or with the distribution in
        front, ``"skinterp:boolean-tree"``, which is never ambiguous.
    task : str, optional
        Which class of a pair, as ``"classifier"``; not needed where there is one.

    Returns
    -------
    type
        The estimator class.

    Examples
    --------
    >>> import skinterp
    >>> skinterp.get_method("boolean-tree").__name__
    'BooleanTreeClassifier'
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a method as text, got {name!r}.")
    return get_registry().find(name).load(task)


def prefer(name: str) -> None:
    """Let a bare name mean the method of one distribution, in this process.

    Parameters
    ----------
    name : str
        Qualified name, ``"distribution:name"``. The one of skinterp undoes it.

    Examples
    --------
    >>> from skinterp.plugins import prefer
    >>> prefer("skinterp:boolean-tree")
    """
    if ":" not in name:
        raise ValueError(f"name must be 'distribution:name', got {name!r}.")
    _CACHE.prefer(name)


def trusted_types() -> tuple[str, ...]:
    """List the types that skops may load: those of the registered methods.

    A plugin can declare only types of its own package, by the targets and
    ``trusted_types`` of its rows.

    Returns
    -------
    tuple of str
        Dotted names, for ``skops.io.load(file, trusted=...)``.

    Examples
    --------
    >>> from skinterp.plugins import trusted_types
    >>> "skinterp.trees._boolean_tree.BooleanTreeClassifier" in trusted_types()
    True
    """
    return get_registry().trusted_types()


def explanation_kinds() -> dict[str, str]:
    """Map the kinds of explanation to their classes.

    Returns
    -------
    dict of str to str
        As ``{"rules": "skinterp.explanation:RuleSet"}``.

    Examples
    --------
    >>> from skinterp.plugins import explanation_kinds
    >>> explanation_kinds()["rules"]
    'skinterp.explanation:RuleSet'
    """
    return dict(get_registry().kinds)


def _builtin(version: str) -> Candidate:
    return Candidate(
        entry_point=EntryPoint("builtin", "skinterp.plugins.builtin", GROUP),
        distribution="skinterp",
        version=version,
        builtin=True,
    )


def _known(name: str, value: str | None, allowed: set[str]) -> None:
    """Refuse a filter that no method can ever pass."""
    if value is None or (isinstance(value, str) and value in allowed):
        return
    near = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{name} must be one of {', '.join(sorted(allowed))}, got {value!r}.{hint}"
    )


def _warn(registry: Registry, warned: set[str]) -> None:
    """Warn of each fault once in the life of the process."""
    for message in complaints(registry.plugins):
        if message not in warned:
            warned.add(message)
            warnings.warn(message, SkinterpPluginWarning, stacklevel=4)


def complaints(plugins: Iterable[PluginRecord]) -> Iterator[str]:
    """Say what a user should know of the plugins.

    Parameters
    ----------
    plugins : iterable of PluginRecord
        Outcomes of loading.

    Yields
    ------
    str
        One line for each fault or oddity. What was switched off is no fault.
    """
    plugins = list(plugins)
    yield from missing_plugins(plugins)
    for record in plugins:
        if record.state not in ("ok", "disabled"):
            yield record.message
        for note in record.notes:
            yield f"The plugin {record.distribution}: {note}. " + how_to_disable(
                record.distribution
            )


def missing_plugins(plugins: Iterable[PluginRecord]) -> Iterator[str]:
    """Say which plugins are allowed to load but are not there.

    Parameters
    ----------
    plugins : iterable of PluginRecord
        Those that are there.

    Yields
    ------
    str
        One line for each.
    """
    names = {record.distribution for record in plugins}
    for name in sorted((Switches.read().allowed or set()) - names):
        yield f"{LOAD} names {name!r}, but no such plugin is installed."
