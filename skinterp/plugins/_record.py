"""What is known about one plugin after loading it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from typing import Any

from skinterp.plugins._discovery import BLOCK, Candidate
from skinterp.plugins._errors import MethodLookupError, PluginError
from skinterp.plugins.spec import CommandSpec, MethodSpec

STATES = ("ok", "disabled", "incompatible", "broken", "conflict")


@dataclass(frozen=True, kw_only=True)
class MethodRow(MethodSpec):
    """A registered method: its `MethodSpec` and who provides it.

    Parameters
    ----------
    provider : str
        Canonical name of the distribution.
    version : str
        Version of the distribution.
    listed_as : str
        The bare name, or the qualified one where the bare name means another
        method or is ambiguous.
    name, targets, summary, explains, input, requires : object
        As in `MethodSpec`.
    reference, tier, search_space, cost, exports, trusted_types : object
        As in `MethodSpec`.

    Examples
    --------
    >>> import skinterp
    >>> row = skinterp.list_methods(kind="rules")[0]
    >>> row.id, row.listed_as, row.tasks
    ('skinterp:boolean-tree', 'boolean-tree', ('classifier',))
    """

    provider: str
    version: str
    listed_as: str

    # The generated one of a subclass would hash the mappings.
    __hash__ = MethodSpec.__hash__

    @property
    def id(self) -> str:
        """The qualified name, ``distribution:name``, which is always unique."""
        return f"{self.provider}:{self.name}"

    def load(self, task: str | None = None) -> Any:
        """Import the class.

        Parameters
        ----------
        task : str, optional
            Which class of a pair; not needed where there is only one.

        Returns
        -------
        type
            The estimator class.
        """
        target = self.targets[self._choose(task)]
        try:
            return resolve(target)
        except Exception as error:
            raise PluginError(
                f"The method {self.id!r} names {target!r}, which cannot be imported: "
                f"{describe(error)}. Reinstall {self.provider} {self.version}, or "
                "tell its authors."
            ) from error

    def _choose(self, task: str | None) -> str:
        if task is None and len(self.targets) == 1:
            return self.tasks[0]
        if task in self.targets:
            return str(task)
        given = "no task was given" if task is None else f"not {task!r}"
        raise MethodLookupError(
            f"The method {self.id!r} has the tasks {', '.join(map(repr, self.tasks))}, "
            f"{given}. Choose with task=."
        )


@dataclass(frozen=True, kw_only=True)
class PluginRecord:
    """The outcome of loading one plugin.

    Parameters
    ----------
    candidate : Candidate
        The entry point and its distribution.
    state : {"ok", "disabled", "incompatible", "broken", "conflict"}
        In ``"ok"`` and ``"conflict"`` its methods can be used.
    reason : str, default=""
        Why the state is not ``"ok"``.
    hint : str, default=""
        What to do about it.
    error : BaseException or None, default=None
        What was raised.
    notes : tuple of str, default=()
        What is odd but harmless.
    methods : tuple of MethodSpec, default=()
        The rows that it registers.
    kinds : mapping of str to str, default={}
        The kinds of explanation that it registers.
    commands : tuple of CommandSpec, default=()
        The groups of sub-commands that it registers.

    Examples
    --------
    >>> from skinterp.plugins import get_registry
    >>> record = get_registry().plugins[0]
    >>> record.distribution, record.state
    ('skinterp', 'ok')
    """

    candidate: Candidate
    state: str
    reason: str = ""
    hint: str = ""
    error: BaseException | None = None
    notes: tuple[str, ...] = ()
    methods: tuple[MethodSpec, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[CommandSpec, ...] = ()

    @property
    def distribution(self) -> str:
        """Canonical name of the distribution."""
        return self.candidate.distribution

    @property
    def version(self) -> str:
        """Version of the distribution."""
        return self.candidate.version

    @property
    def usable(self) -> bool:
        """Whether its methods can be used."""
        return self.state in ("ok", "conflict")

    @property
    def message(self) -> str:
        """One line that says which distribution, why, and what to do."""
        state = "in conflict" if self.state == "conflict" else self.state
        line = f"The plugin {self.distribution} {self.version} is {state}"
        line += f": {self.reason}." if self.reason else "."
        return f"{line} {self.hint}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return what there is to report, ready for JSON.

        Returns
        -------
        dict
            With plain values only.
        """
        entry_point = self.candidate.entry_point
        return {
            "distribution": self.distribution,
            "version": self.version,
            "entry_point": f"{entry_point.name} = {entry_point.value}",
            "builtin": self.candidate.builtin,
            "state": self.state,
            "reason": self.reason,
            "hint": self.hint,
            "error": "" if self.error is None else describe(self.error),
            "notes": list(self.notes),
            "methods": [row.name for row in self.methods],
            "kinds": sorted(self.kinds),
            "commands": [row.name for row in self.commands],
            "location": self.candidate.location,
            "code": code_of(self.candidate),
        }


def code_of(candidate: Candidate) -> str:
    """Say which file or folder the code of a plugin is loaded from.

    Parameters
    ----------
    candidate : Candidate
        The plugin; it is not imported.

    Returns
    -------
    str
        Empty if the package cannot be found.
    """
    try:
        spec = find_spec(candidate.root)
    except (ImportError, ValueError):
        return ""
    if spec is None:
        return ""
    return next(iter(spec.submodule_search_locations or ()), spec.origin or "")


def fields_of(spec: MethodSpec) -> dict[str, Any]:
    """Return the fields of a row, without copying.

    Parameters
    ----------
    spec : MethodSpec
        The row.

    Returns
    -------
    dict
        Field names and values.
    """
    return {f.name: getattr(spec, f.name) for f in fields(MethodSpec)}


def resolve(target: str) -> Any:
    """Import what a target names.

    Parameters
    ----------
    target : str
        As ``"package.module:Class"``.

    Returns
    -------
    object
        The class or function.

    Examples
    --------
    >>> resolve("collections:OrderedDict").__name__
    'OrderedDict'
    """
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def describe(error: BaseException) -> str:
    r"""Put an exception into one line.

    Parameters
    ----------
    error : BaseException
        The exception.

    Returns
    -------
    str
        Type and first lines of the message.

    Examples
    --------
    >>> describe(ValueError("no\nway"))
    'ValueError: no way'
    """
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    try:
        text = " ".join(str(error).split())
        # half a surrogate pair or a colour code would break the report
        text = "".join(c if c.isprintable() else "?" for c in text)
    except Exception:  # a broken __str__ must not hide the rest
        text = ""
    text = text if len(text) <= 300 else text[:299] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def how_to_disable(distribution: str) -> str:
    """Give the command that switches a plugin off.

    Parameters
    ----------
    distribution : str
        Canonical name.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> how_to_disable("skinterp-xrd")
    'To switch it off: export SKINTERP_BLOCK_PLUGINS=skinterp-xrd'
    """
    # What is blocked already has to stay so.
    blocked = os.environ.get(BLOCK, "").strip(" ,")
    names = f"{blocked},{distribution}" if blocked else distribution
    return f"To switch it off: export {BLOCK}={names}"
