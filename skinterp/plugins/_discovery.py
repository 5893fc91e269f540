"""Find installed plugins from their metadata, without importing any of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

GROUP = "skinterp"

LOAD = "SKINTERP_LOAD_PLUGINS"
BLOCK = "SKINTERP_BLOCK_PLUGINS"
TRACE = "SKINTERP_TRACE_PLUGINS"
STRICT = "SKINTERP_STRICT_PLUGINS"


def canonical(name: str) -> str:
    """Write the name of a distribution as package indexes compare it.

    Parameters
    ----------
    name : str
        As in the metadata.

    Returns
    -------
    str
        In lower case with single hyphens.

    Examples
    --------
    >>> canonical("Skinterp_Template")
    'skinterp-template'
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What the environment says about plugins.

    Parameters
    ----------
    allowed : frozenset of str or None, default=None
        Distributions that may load; None allows all.
    blocked : frozenset of str, default=frozenset()
        Distributions that may not.
    trace : bool, default=False
        Whether each hook call is written to the standard error stream.
    strict : bool, default=False
        Whether the first fault of a plugin is raised.

    Examples
    --------
    >>> Switches.read({"SKINTERP_LOAD_PLUGINS": ""}).off_because("skinterp-xrd")
    "SKINTERP_LOAD_PLUGINS is ''"
    """

    allowed: frozenset[str] | None = None
    blocked: frozenset[str] = frozenset()
    trace: bool = False
    strict: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Switches:
        """Read the switches, at the time when the registry is built.

        Parameters
        ----------
        environ : mapping of str to str, optional
            The environment; that of the process when None.

        Returns
        -------
        Switches
            The values.
        """
        environ = os.environ if environ is None else environ
        allowed = environ.get(LOAD)
        return cls(
            allowed=None if allowed is None else _names(allowed),
            blocked=_names(environ.get(BLOCK, "")),
            trace=_is_on(environ.get(TRACE, "")),
            strict=_is_on(environ.get(STRICT, "")),
        )

    def off_because(self, distribution: str) -> str:
        """Say which switch turns a distribution off.

        Parameters
        ----------
        distribution : str
            Canonical name.

        Returns
        -------
        str
            Empty if it may load.
        """
        if distribution in self.blocked:
            return f"{BLOCK} names it"
        if self.allowed is None or distribution in self.allowed:
            return ""
        return f"{LOAD} does not name it" if self.allowed else f"{LOAD} is ''"

    def how_to_use(self, distribution: str) -> str:
        """Say how a distribution that is off can be turned on.

        Parameters
        ----------
        distribution : str
            Canonical name.

        Returns
        -------
        str
            One sentence.
        """
        if distribution in self.blocked:
            return f"To use it, take {distribution} out of {BLOCK}."
        return f"To use it, add {distribution} to {LOAD}, or unset that variable."


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An entry point in the group ``skinterp`` and the distribution behind it.

    Parameters
    ----------
    entry_point : importlib.metadata.EntryPoint
        Its value names a module, or an object in one, that holds hooks.
    distribution : str
        Canonical name of the distribution.
    version : str, default="0+unknown"
        Version of the distribution.
    requires : tuple of str, default=()
        Its requirements, as in the metadata.
    location : str, default=""
        Folder in which the distribution was found.
    notes : tuple of str, default=()
        What is odd about the installation.
    problem : Exception or None, default=None
        Why the metadata cannot be read.
    builtin : bool, default=False
        Whether it is part of skinterp: never switched off, wins bare names.

    Examples
    --------
    >>> from importlib.metadata import EntryPoint
    >>> entry_point = EntryPoint("xrd", "skinterp_xrd._plugin", "skinterp")
    >>> Candidate(entry_point=entry_point, distribution="skinterp-xrd").id
    'skinterp-xrd:xrd'
    """

    entry_point: metadata.EntryPoint
    distribution: str
    version: str = "0+unknown"
    requires: tuple[str, ...] = ()
    location: str = ""
    notes: tuple[str, ...] = ()
    problem: Exception | None = None
    builtin: bool = False

    @property
    def id(self) -> str:
        """The name under which the plugin is registered."""
        return f"{self.distribution}:{self.entry_point.name}"

    @property
    def root(self) -> str:
        """The top package that the entry point lies in."""
        return self.entry_point.value.partition(":")[0].partition(".")[0].strip()


def find_plugins(
    distributions: Iterable[metadata.Distribution] | None = None,
) -> list[Candidate]:
    """List the installed plugins, sorted by distribution and entry point.

    Parameters
    ----------
    distributions : iterable of importlib.metadata.Distribution, optional
        Where to look, in the order of ``sys.path``; all that are installed when
        None.

    Returns
    -------
    list of Candidate
        One for each entry point. Of a distribution that is found twice, the
        first copy counts, as it does for ``import``.

    Examples
    --------
    >>> find_plugins([])
    []
    """
    if distributions is None:
        distributions = metadata.distributions()
    copies: dict[str, list[metadata.Distribution]] = {}
    for distribution in distributions:
        # Cheap look first: parsing the metadata of everything installed is slow.
        if GROUP in _entry_points_text(distribution):
            copies.setdefault(_name_of(distribution), []).append(distribution)
    found = [c for name, found in copies.items() for c in _candidates(name, found)]
    return sorted(found, key=lambda c: (c.id, c.entry_point.value))


def _candidates(name: str, copies: list[metadata.Distribution]) -> Iterator[Candidate]:
    """Make the candidates of the first of several copies of a distribution."""
    first = copies[0]
    problem: Exception | None = None
    try:
        # A set: some installers leave the same line in the file twice.
        entry_points = sorted(
            {e for e in first.entry_points if e.group == GROUP},
            key=lambda e: (e.name, e.value),
        )
    except Exception as error:  # any line that is no entry point
        entry_points = [metadata.EntryPoint("entry_points.txt", "", GROUP)]
        problem = error
    for entry_point in entry_points:
        yield Candidate(
            entry_point=entry_point,
            distribution=name,
            version=_version_of(first),
            requires=_requires_of(first),
            location=str(first.locate_file("")),
            notes=tuple(_hidden_copies(first, copies[1:])),
            problem=problem,
        )


def _hidden_copies(
    first: metadata.Distribution, others: list[metadata.Distribution]
) -> Iterator[str]:
    for other in others:
        # The same version twice is what an editable installation looks like.
        if _version_of(other) != _version_of(first):
            yield (
                f"version {_version_of(other)} in {other.locate_file('')} is hidden by "
                f"version {_version_of(first)} in {first.locate_file('')}; uninstall "
                "one of them"
            )


def _entry_points_text(distribution: metadata.Distribution) -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except (OSError, ValueError):  # not to be read: nobody can say whose it is
        return ""


def _name_of(distribution: metadata.Distribution) -> str:
    name = _field(distribution, "Name")
    return canonical(name) if name else "unnamed"


def _version_of(distribution: metadata.Distribution) -> str:
    return _field(distribution, "Version") or "0+unknown"


def _requires_of(distribution: metadata.Distribution) -> tuple[str, ...]:
    try:
        return tuple(distribution.requires or ())
    except Exception:  # as in _field
        return ()


def _field(distribution: metadata.Distribution, name: str) -> str:
    try:
        return str(distribution.metadata[name] or "")
    except Exception:  # a half-removed installation; what is raised has changed
        return ""


def _names(text: str) -> frozenset[str]:
    return frozenset(canonical(name) for name in text.split(",") if name.strip())


def _is_on(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false", "no", "off")
