"""Load plugins one by one, so that the fault of one stays its own."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pluggy

from skinterp.plugins import hookspecs
from skinterp.plugins._discovery import Candidate, Switches, canonical
from skinterp.plugins._errors import PluginError
from skinterp.plugins._record import PluginRecord, describe, how_to_disable
from skinterp.plugins.spec import _TARGET, API_VERSION, CommandSpec, MethodSpec

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("skinterp_"))


class _Refused(Exception):
    """Ends the loading of one plugin; carries what the record will say."""

    def __init__(
        self, state: str, reason: str, hint: str, error: BaseException | None = None
    ) -> None:
        super().__init__(reason)
        self.state, self.reason, self.hint, self.error = state, reason, hint, error


class Loader:
    """Loads candidates into one pluggy manager and keeps a record of each.

    Parameters
    ----------
    switches : Switches
        What may load, and whether to trace and to be strict.
    host_version : str
        Version of skinterp, for the requirements of plugins.

    Examples
    --------
    >>> from skinterp.plugins._discovery import Switches
    >>> Loader(Switches(), "0.1.0").manager.project_name
    'skinterp'
    """

    def __init__(self, switches: Switches, host_version: str) -> None:
        self.switches = switches
        self.host_version = host_version
        self.manager = pluggy.PluginManager("skinterp")
        self.manager.add_hookspecs(hookspecs)
        if switches.trace:
            self.manager.add_hookcall_monitoring(_before_call, _trace_call)

    def load(self, candidate: Candidate) -> PluginRecord:
        """Load one plugin.

        Parameters
        ----------
        candidate : Candidate
            What to load.

        Returns
        -------
        PluginRecord
            Its outcome; no fault of the plugin is raised unless the switches are
            strict or the plugin is built in.
        """
        notes = list(candidate.notes)
        try:
            self._check_metadata(candidate)
            plugin = self._import(candidate)
            notes += _check_api(candidate, plugin)
            self._register(candidate, plugin)
            given = self._collect(candidate, plugin)
        except _Refused as refusal:
            self._unregister(candidate)
            self._raise_if_strict(candidate, refusal)
            return PluginRecord(
                candidate=candidate,
                state=refusal.state,
                reason=refusal.reason,
                hint=refusal.hint,
                error=refusal.error,
                notes=tuple(notes),
            )
        return PluginRecord(
            candidate=candidate,
            state="ok",
            notes=tuple(notes),
            methods=tuple(given["skinterp_methods"]),
            kinds=dict(given["skinterp_kinds"]),
            commands=tuple(given["skinterp_commands"]),
        )

    def _check_metadata(self, candidate: Candidate) -> None:
        """Refuse what can be refused before any code of the plugin runs."""
        if candidate.builtin:
            return
        name = candidate.distribution
        reason = self.switches.off_because(name)
        if reason:
            raise _Refused("disabled", reason, self.switches.how_to_use(name))
        if candidate.problem is not None:
            reason = f"its entry_points.txt is wrong ({describe(candidate.problem)})"
            raise _broken(candidate, reason, candidate.problem)
        if candidate.distribution == "skinterp":
            raise _broken(candidate, "its distribution takes the name of skinterp")
        self._check_requirement(candidate)

    def _check_requirement(self, candidate: Candidate) -> None:
        """Compare what the plugin requires of skinterp with what is installed."""
        wanted = _required_host(candidate.requires)
        if wanted and not _satisfies(self.host_version, wanted):
            raise _Refused(
                "incompatible",
                f"it requires skinterp{wanted}, {self.host_version} is installed",
                f"Run: pip install --upgrade skinterp {candidate.distribution}",
            )

    def _import(self, candidate: Candidate) -> Any:
        with _stage(candidate, f"importing {candidate.entry_point.value!r} failed"):
            return candidate.entry_point.load()

    def _register(self, candidate: Candidate, plugin: Any) -> None:
        reason = "registering its hooks failed"
        try:
            with _stage(candidate, reason):
                self.manager.register(plugin, name=candidate.id)
        except _Refused as refusal:
            # An argument that the host does not know: the plugin is newer.
            if isinstance(refusal.error, pluggy.PluginValidationError):
                refusal.state = "incompatible"
                refusal.hint = f"Run: pip install --upgrade skinterp. {refusal.hint}"
            raise
        try:
            self.manager.check_pending()
        except pluggy.PluginValidationError as error:
            reason = _unknown_hooks(self.manager, plugin)
            raise _broken(candidate, reason, error) from error

    def _collect(self, candidate: Candidate, plugin: Any) -> dict[str, list[Any]]:
        """Call each hook of the plugin and check what it gives."""
        others = [p for p in self.manager.get_plugins() if p is not plugin]
        results: dict[str, list[Any]] = {}
        for hook in HOOKS:
            # One plugin at a time: a raising hook loses only its own results.
            with _stage(candidate, f"its hook {hook} failed"):
                call = self.manager.subset_hook_caller(hook, remove_plugins=others)
                results[hook] = _CHECKS[hook](candidate, call())
        return results

    def _unregister(self, candidate: Candidate) -> None:
        # A failed registration may or may not have left something behind.
        with suppress(Exception):
            self.manager.unregister(name=candidate.id)

    def _raise_if_strict(self, candidate: Candidate, refusal: _Refused) -> None:
        if refusal.state == "disabled":
            return
        if self.switches.strict or candidate.builtin:
            name = candidate.distribution
            message = f"The plugin {name} is {refusal.state}: {refusal.reason}."
            raise PluginError(f"{message} {refusal.hint}") from refusal.error


@contextmanager
def _stage(candidate: Candidate, reason: str) -> Iterator[None]:
    """Turn what a plugin raises into a refusal; Ctrl-C passes."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as sys.exit and pytest.skip raise
        raise _broken(candidate, f"{reason} ({describe(error)})", error) from error


def _broken(
    candidate: Candidate, reason: str, error: BaseException | None = None
) -> _Refused:
    name = candidate.distribution
    advice = f"Try: pip install --upgrade {name}, or tell its authors."
    if isinstance(error, ImportError) and (error.name or "").startswith("skinterp."):
        advice = f"It fits another skinterp: pip install --upgrade skinterp {name}."
    elif isinstance(error, ModuleNotFoundError) and error.name:
        advice = (
            f"The module {error.name!r} is missing; try: pip install "
            f"--force-reinstall {name}."
        )
    return _Refused("broken", reason, f"{advice} {how_to_disable(name)}", error)


def _required_host(requirements: Iterable[str]) -> str:
    """Collect the version bounds on skinterp from lines of Requires-Dist."""
    # Imported here: most runs meet no plugin.
    from packaging.requirements import InvalidRequirement, Requirement

    bounds = []
    for line in requirements:
        # Parsing is slow, and a stranger's other requirements are not our concern.
        if "skinterp" not in line.lower():
            continue
        with suppress(InvalidRequirement):
            requirement = Requirement(line)
            marker = requirement.marker
            applies = marker is None or marker.evaluate({"extra": ""})
            if canonical(requirement.name) == "skinterp" and applies:
                bounds.append(str(requirement.specifier))
    return ",".join(b for b in bounds if b)


def _satisfies(version: str, wanted: str) -> bool:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        installed = Version(version)
    except InvalidVersion:
        return True
    if installed.base_version == "0":  # a source folder that is not installed
        return True
    # A development version counts as the release that it leads to.
    bounds = SpecifierSet(wanted)
    candidates = (version, installed.base_version)
    return any(bounds.contains(v, prereleases=True) for v in candidates)


def _check_api(candidate: Candidate, plugin: Any) -> list[str]:
    """Compare the API that a plugin was written for with ours; return notes."""
    # The entry point may name an object inside the module that states it.
    module = plugin
    if not inspect.ismodule(plugin) and not hasattr(plugin, "API"):
        module = sys.modules.get(candidate.entry_point.module)
    api = getattr(module, "API", API_VERSION)
    if not _is_version(api):
        reason = f"its API must be two integers such as (1, 0), got {api!r}"
        raise _broken(candidate, reason)
    ours = ".".join(map(str, API_VERSION))
    theirs = ".".join(map(str, api))
    name = candidate.distribution
    if api[0] != API_VERSION[0]:
        older = "skinterp" if api[0] > API_VERSION[0] else name
        raise _Refused(
            "incompatible",
            f"it is written for plugin API {theirs}, this skinterp has {ours}",
            f"Run: pip install --upgrade {older}. {how_to_disable(name)}",
        )
    if api[1] > API_VERSION[1]:
        return [
            f"it is written for plugin API {theirs}, this skinterp has {ours}: some "
            "of it may not work; run: pip install --upgrade skinterp"
        ]
    return []


def _is_version(api: object) -> bool:
    return (
        isinstance(api, tuple | list)
        and len(api) == 2
        and all(type(part) is int and part >= 0 for part in api)
    )


def _unknown_hooks(manager: pluggy.PluginManager, plugin: Any) -> str:
    """Name the hooks of a plugin that do not exist, with the nearest that do."""
    words = []
    for caller in manager.get_hookcallers(plugin) or []:
        if not caller.has_spec():
            near = difflib.get_close_matches(caller.name, HOOKS, n=1)
            words.append(f"{caller.name!r}" + (f" (like {near[0]!r})" if near else ""))
    known = f"{', '.join(HOOKS[:-1])} and {HOOKS[-1]}"
    return f"it implements {', '.join(words)}; the hooks of skinterp are {known}"


def _check_methods(candidate: Candidate, results: list[Any]) -> list[MethodSpec]:
    rows: list[MethodSpec] = []
    for result in results:
        rows += list(result)
    for row in rows:
        if not isinstance(row, MethodSpec):
            raise TypeError(f"it must return MethodSpec rows, got {row!r}")
        _check_trusted(candidate, row)
    _check_once(rows)
    return rows


def _check_commands(candidate: Candidate, results: list[Any]) -> list[CommandSpec]:
    rows = [row for result in results for row in result]
    for row in rows:
        if not isinstance(row, CommandSpec):
            raise TypeError(f"it must return CommandSpec rows, got {row!r}")
    _check_once(rows)
    return rows


def _check_once(rows: Iterable[MethodSpec | CommandSpec]) -> None:
    names = [row.name for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the name {twice[0]!r} is given to {names.count(twice[0])}")


def _check_trusted(candidate: Candidate, row: MethodSpec) -> None:
    """Refuse that a plugin declares another's types to be safe to load."""
    if candidate.builtin:  # the table of skinterp may name types of scikit-learn
        return
    for name in row.trusted_types:
        if name.partition(".")[0] != candidate.root:
            raise ValueError(
                f"the row {row.name!r} declares {name!r} as a trusted type; a plugin "
                f"may declare only types of its own package {candidate.root!r}"
            )


def _check_kinds(candidate: Candidate, results: list[Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for result in results:
        if not isinstance(result, Mapping):
            raise TypeError(f"it must return a mapping, kind to class, got {result!r}")
        pairs += list(result.items())
    for kind, target in pairs:
        if not isinstance(kind, str) or not isinstance(target, str):
            raise TypeError(f"kinds and classes must be text, got {kind!r}: {target!r}")
        if not _TARGET.fullmatch(target):
            allowed = "'package.module:Class'"
            raise ValueError(f"{kind!r} must name {allowed}, got {target!r}")
    return pairs


_CHECKS: dict[str, Callable[[Candidate, list[Any]], list[Any]]] = {
    "skinterp_methods": _check_methods,
    "skinterp_kinds": _check_kinds,
    "skinterp_commands": _check_commands,
}


def _before_call(name: str, implementations: Any, arguments: Any) -> None:
    """Do nothing: pluggy wants a function to call before each hook."""


def _trace_call(
    outcome: Any, name: str, implementations: Iterable[Any], arguments: Any
) -> None:
    for implementation in implementations:
        if outcome.exception is not None:
            result = f"raised {describe(outcome.exception)}"
        else:
            result = f"-> {outcome.get_result()!r}"
        sys.stderr.write(f"skinterp: {implementation.plugin_name} {name}() {result}\n")
