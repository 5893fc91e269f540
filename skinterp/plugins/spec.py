"""The row by which a method is registered: data only, no imports of the method."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

# Major: breaks plugins. Minor: hooks, hook arguments or fields were added.
API_VERSION = (1, 1)

SCOPES = ("global", "local")
# Words in use; a plugin may add its own.
TASKS = ("classifier", "regressor", "transformer", "selector", "explainer", "finder")
INPUTS = ("tabular", "series", "graph", "text", "activations")
TIERS = ("experimental", "stable")
COSTS = ("cheap", "moderate", "expensive")

_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_REFERENCE = re.compile(r"(arXiv:\d{4}\.\d{4,5}|doi:10\.\S+|https?://\S+)")


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """One method of a plugin: what it is called, where it lies, what it gives.

    A row is plain data, so that methods can be listed without importing them.
    It is checked when it is made.

    Parameters
    ----------
    name : str
        Name in kebab-case, without the name of the library.
    targets : mapping of str to str
        Task to class, as ``{"classifier": "package.module:Class"}``. Tasks are
        ``classifier``, ``regressor``, ``transformer``, ``selector``,
        ``explainer``, ``finder`` or another word of the domain.
    summary : str
        One line that says what the method does.
    explains : mapping of str to tuple of str
        Scope (``"global"``, ``"local"``) to the kinds of explanation, the
        default kind first; the same as on the class.
    input : str, default="tabular"
        What a row of ``X`` is: ``"tabular"``, ``"series"``, ``"graph"``, ...
    requires : tuple of str, default=()
        Optional packages that the method needs, as ``"torch>=2.2"``.
    reference : str, default=""
        ``"arXiv:2506.14143"``, ``"doi:10.1000/182"`` or an address.
    tier : {"experimental", "stable"}, default="experimental"
        Whether the interface may still change in a minor release.
    search_space : mapping of str to tuple, default={}
        A small grid over the parameters that matter most.
    cost : {"cheap", "moderate", "expensive"}, default="cheap"
        Rough class of the time that ``fit`` takes.
    exports : tuple of str, default=()
        Further public names of the method, as ``"package.module:name"``.
    trusted_types : tuple of str, default=()
        Dotted names of further types that a saved model holds. A plugin may
        name only types of its own packages.

    Examples
    --------
    >>> row = MethodSpec(
    ...     name="centroid",
    ...     targets={"classifier": "my_package.centroid:CentroidClassifier"},
    ...     summary="Nearest class centre",
    ...     explains={"local": ("attribution",)},
    ... )
    >>> row.tasks, row.kinds
    (('classifier',), ('attribution',))
    """

    name: str
    targets: Mapping[str, str]
    summary: str
    explains: Mapping[str, tuple[str, ...]]
    input: str = "tabular"
    requires: tuple[str, ...] = ()
    reference: str = ""
    tier: str = "experimental"
    search_space: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    cost: str = "cheap"
    exports: tuple[str, ...] = ()
    trusted_types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check every field and make the containers read-only."""
        self._check_words()
        self._freeze("targets", self._check_targets())
        self._freeze("explains", self._check_explains())
        self._freeze("search_space", self._check_search_space())
        for name in ("exports", "requires", "trusted_types"):
            self._freeze(name, _strings(self, name, getattr(self, name)))
        _each(self, "exports", self.exports, _TARGET, "'package.module:name'")
        _each(self, "trusted_types", self.trusted_types, _DOTTED, "'package.Type'")
        self._check_requires()

    def __hash__(self) -> int:
        """Hash by the name and the targets; the other fields follow from them."""
        return hash((type(self), self.name, tuple(sorted(self.targets.items()))))

    def __reduce__(self) -> tuple[Callable[..., MethodSpec], tuple[Any, ...]]:
        """Pickle and copy by the fields: read-only mappings do not pickle."""
        return _rebuild, (type(self), _plain_fields(self))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that the method has a class for."""
        return tuple(self.targets)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of explanation of any scope, without repetition."""
        return tuple(dict.fromkeys(k for ks in self.explains.values() for k in ks))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain dictionaries and lists.

        Returns
        -------
        dict
            Ready for JSON as long as the search space is.

        Examples
        --------
        >>> from skinterp.plugins import list_methods
        >>> list_methods(kind="rules")[0].to_dict()["explains"]["global"]
        ['rules']
        """
        return {k: _lists(v) for k, v in _plain_fields(self).items()}

    def _freeze(self, name: str, value: object) -> None:
        if isinstance(value, dict):
            value = MappingProxyType(value)
        object.__setattr__(self, name, value)

    def _check_words(self) -> None:
        _each(self, "name", [self.name], _KEBAB, "kebab-case")
        _each(self, "input", [self.input], _KEBAB, "kebab-case")
        _one_line(self)
        if self.reference:
            allowed = "'arXiv:...', 'doi:10....' or an address"
            _each(self, "reference", [self.reference], _REFERENCE, allowed)
        for name, allowed_words in (("tier", TIERS), ("cost", COSTS)):
            if getattr(self, name) not in allowed_words:
                raise _wrong(self, name, getattr(self, name), _one_of(allowed_words))

    def _check_targets(self) -> dict[str, str]:
        targets = _mapping(self, "targets", self.targets)
        if not targets:
            raise _wrong(self, "targets", targets, "at least one task")
        _each(self, "targets", targets, _KEBAB, "tasks in kebab-case")
        _each(self, "targets", targets.values(), _TARGET, "'package.module:Class'")
        return targets

    def _check_explains(self) -> dict[str, tuple[str, ...]]:
        explains = {
            scope: _strings(self, "explains", kinds)
            for scope, kinds in _mapping(self, "explains", self.explains).items()
        }
        if not explains or not set(explains) <= set(SCOPES):
            allowed = f"a mapping from {_one_of(SCOPES)} to kinds"
            raise _wrong(self, "explains", dict(self.explains), allowed)
        for kinds in explains.values():
            if not kinds:
                raise _wrong(self, "explains", explains, "a kind for each scope")
            _each(self, "explains", kinds, _KEBAB, "kinds in kebab-case")
        return explains

    def _check_search_space(self) -> dict[str, tuple[Any, ...]]:
        space = _mapping(self, "search_space", self.search_space)
        for name, values in space.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                allowed = f"a tuple of values for {name!r}"
                raise _wrong(self, "search_space", values, allowed)
        return {name: _tuples(tuple(values)) for name, values in space.items()}

    def _check_requires(self) -> None:
        if not self.requires:
            return
        # Imported here: most rows need no other package.
        from packaging.requirements import InvalidRequirement, Requirement

        for text in self.requires:
            try:
                Requirement(text)
            except InvalidRequirement as error:
                allowed = "requirements such as 'torch>=2.2'"
                raise _wrong(self, "requires", text, allowed) from error


@dataclass(frozen=True, kw_only=True)
class CommandSpec:
    """One group of sub-commands that a plugin adds to ``skinterp``.

    Like a `MethodSpec` it is plain data: ``skinterp --help`` shows the summary, and
    the target is imported when somebody uses the command.

    Parameters
    ----------
    name : str
        The word after ``skinterp``, in kebab-case.
    target : str
        A ``typer.Typer``, as ``"package.module:app"``.
    summary : str
        One line for the help.

    Examples
    --------
    >>> from skinterp.plugins import CommandSpec
    >>> CommandSpec(
    ...     name="orchard",
    ...     target="skinterp_orchard._cli:app",
    ...     summary="Plant and prune trees",
    ... ).name
    'orchard'
    """

    name: str
    target: str
    summary: str

    def __post_init__(self) -> None:
        """Check every field."""
        _each(self, "name", [self.name], _KEBAB, "kebab-case")
        _each(self, "target", [self.target], _TARGET, "'package.module:app'")
        _one_line(self)

    def to_dict(self) -> dict[str, str]:
        """Return the fields.

        Returns
        -------
        dict of str to str
            Ready for JSON.

        Examples
        --------
        >>> from skinterp.plugins import CommandSpec
        >>> CommandSpec(name="go", target="a.b:app", summary="Go").to_dict()
        {'name': 'go', 'target': 'a.b:app', 'summary': 'Go'}
        """
        return dataclasses.asdict(self)


def _one_line(spec: MethodSpec | CommandSpec) -> None:
    summary = spec.summary
    if not isinstance(summary, str) or not summary.strip() or "\n" in summary:
        raise _wrong(spec, "summary", summary, "one line of text")


def _rebuild(cls: type[MethodSpec], fields: dict[str, Any]) -> MethodSpec:
    return cls(**fields)


def _plain_fields(spec: MethodSpec) -> dict[str, Any]:
    """Return the fields with dictionaries in place of read-only views."""
    values = {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec)}
    return {k: dict(v) if isinstance(v, Mapping) else v for k, v in values.items()}


def _lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _lists(v) for k, v in value.items()}
    return [_lists(v) for v in value] if isinstance(value, tuple) else value


def _mapping(spec: MethodSpec, name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(spec, name, value, "a mapping", TypeError)
    return dict(value)


def _strings(spec: MethodSpec, name: str, value: object) -> tuple[str, ...]:
    # A lone string would pass for a sequence of letters.
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(spec, name, value, "a tuple of strings", TypeError)
    return tuple(value)


def _each(
    spec: MethodSpec | CommandSpec,
    name: str,
    values: Iterable[object],
    pattern: re.Pattern[str],
    allowed: str,
) -> None:
    for value in values:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _wrong(spec, name, value, allowed)


def _one_of(words: tuple[str, ...]) -> str:
    return " or ".join(repr(word) for word in words)


def _wrong(
    spec: MethodSpec | CommandSpec,
    name: str,
    value: object,
    allowed: str,
    error: type[Exception] = ValueError,
) -> Exception:
    who = type(spec).__name__ + (f" {spec.name!r}" if name != "name" else "")
    return error(f"{who}: {name} must be {allowed}, got {value!r}.")


def _tuples(value: Any) -> Any:
    """Turn the lists that JSON makes of tuples back, at any depth."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
