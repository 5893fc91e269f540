"""What all loaded plugins give together, and who owns which name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from skinterp.plugins._discovery import canonical
from skinterp.plugins._errors import MethodLookupError
from skinterp.plugins._record import (
    MethodRow,
    PluginRecord,
    fields_of,
    how_to_disable,
)
from skinterp.plugins._table import MethodTable, text_table

# What a saved skinterp.tabular.TableEncoder is made of; it is no method with a row.
ENCODER_TYPES = (
    "skinterp.tabular._table_encoder.TableEncoder",
    "skinterp.tabular._table_parts.BoolPart",
    "skinterp.tabular._label_parts.CategoryPart",
    "skinterp.tabular._label_parts.OrderedPart",
    "skinterp.tabular._table_parts.DatePart",
    "skinterp.tabular._table_parts.NumberPart",
    "skinterp.tabular._label_parts.TextPart",
)


class Registry:
    """The plugins, their methods and their kinds of explanation.

    A bare name means the method that was preferred, else the built-in one, else
    the single one that has it. Qualified names ``distribution:name`` always work.

    Parameters
    ----------
    plugins : iterable of PluginRecord
        Outcomes of loading, the built-in plugin first.
    preferred : mapping of str to str, default={}
        Bare name to qualified name.

    Attributes
    ----------
    plugins : tuple of PluginRecord
        With conflicts of names noted.
    methods : MethodTable
        Every usable method.
    kinds : dict of str to str
        Kind of explanation to its class, as ``"package.module:Class"``.
    commands : dict of str to CommandSpec
        The groups of sub-commands by name, those of the library too.

    Examples
    --------
    >>> from skinterp.plugins import get_registry
    >>> get_registry().find("boolean-tree").provider
    'skinterp'
    """

    def __init__(
        self, plugins: Iterable[PluginRecord], preferred: Mapping[str, str] = {}
    ) -> None:
        records = list(_without_repeats(plugins))
        self._owners = _owners(records, _method_names)
        self.preferred = {
            bare: qualified
            for bare, qualified in preferred.items()
            if qualified in _qualified(bare, self._owners.get(bare, ()))
        }
        self.methods = MethodTable(self._rows(records))
        kind_owners = _owners(records, _kind_names)
        winners = {kind: _winner(claims) for kind, claims in kind_owners.items()}
        self.kinds = {k: owner.kinds[k] for k, owner in winners.items() if owner}
        command_owners = _owners(records, _command_names)
        self.commands = {
            row.name: row
            for record in records
            for row in record.commands
            if _winner(command_owners[row.name]) is record
        }
        self.plugins = tuple(
            _note_conflicts(r, self._owners, kind_owners, command_owners)
            for r in records
        )

    def __repr__(self) -> str:
        """Draw the plugins as a table."""
        return plugin_table(self.plugins)

    def find(self, name: str) -> MethodRow:
        """Look a method up.

        Parameters
        ----------
        name : str
            Bare or qualified.

        Returns
        -------
        MethodRow
            The method.
        """
        provider, _, bare = name.rpartition(":")
        if not provider:
            provider, _, bare = self._qualify(name).rpartition(":")
        for row in self.methods:
            if row.name == bare and row.provider == canonical(provider):
                return row
        raise self._not_found(name)

    def plugins_of(self, distribution: str) -> list[PluginRecord]:
        """List the plugins of a distribution.

        Parameters
        ----------
        distribution : str
            Its name in any spelling.

        Returns
        -------
        list of PluginRecord
            Empty if it has none.
        """
        name = canonical(distribution)
        return [record for record in self.plugins if record.distribution == name]

    def trusted_types(self) -> tuple[str, ...]:
        """List the types that a saved model may hold.

        Returns
        -------
        tuple of str
            Sorted dotted names: the classes of the methods, where they lie in the
            plugin's own package, what the rows declare, and the library's encoder.
        """
        names = set(ENCODER_TYPES)
        for record in self.plugins:
            for row in record.methods if record.usable else ():
                names.update(row.trusted_types)
                targets = (t.replace(":", ".") for t in row.targets.values())
                own = f"{record.candidate.root}."
                names.update(t for t in targets if t.startswith(own))
        return tuple(sorted(names))

    def _rows(self, records: Iterable[PluginRecord]) -> Iterable[MethodRow]:
        for record in records:
            for row in record.methods:
                yield MethodRow(
                    **fields_of(row),
                    provider=record.distribution,
                    version=record.version,
                    listed_as=self._listed_as(record, row.name),
                )

    def _listed_as(self, record: PluginRecord, name: str) -> str:
        qualified = f"{record.distribution}:{name}"
        winner = _winner(self._owners[name])
        bare = self.preferred.get(name) or (winner and f"{winner.distribution}:{name}")
        return name if bare == qualified else qualified

    def _qualify(self, name: str) -> str:
        """Turn a bare name into a qualified one."""
        if name in self.preferred:
            return self.preferred[name]
        claims = self._owners.get(name, [])
        winner = _winner(claims)
        if winner is not None:
            return f"{winner.distribution}:{name}"
        if claims:
            ids = " and ".join(map(repr, _qualified(name, claims)))
            raise MethodLookupError(
                f"The name {name!r} is ambiguous: it means {ids}. Use one of these "
                f"names, or choose once by skinterp.plugins.prefer(...). "
                f"{how_to_disable(claims[-1].distribution)}"
            )
        raise self._not_found(name)

    def _not_found(self, name: str) -> MethodLookupError:
        """Make the error for an unknown name, caused by what may have hidden it."""
        failed = [r for r in self.plugins if not r.usable]
        provider = canonical(name.rpartition(":")[0])
        if provider:
            failed = [r for r in failed if r.distribution == provider]
        known = [n for row in self.methods for n in {row.name, row.id}]
        near = difflib.get_close_matches(name, known, n=1)
        message = f"There is no method {name!r}."
        if near:
            message += f" Did you mean {near[0]!r}?"
        elif not failed:
            message += " Known: " + ", ".join(r.listed_as for r in self.methods) + "."
        if failed:
            message += " It may come from a plugin that is not loaded. "
            message += " ".join(record.message for record in failed)
        error = MethodLookupError(message)
        error.__cause__ = next((r.error for r in failed if r.error is not None), None)
        return error


def plugin_table(plugins: Iterable[PluginRecord]) -> str:
    """Draw plugins as a table, and below it what is wrong and what to do.

    Parameters
    ----------
    plugins : iterable of PluginRecord
        The rows.

    Returns
    -------
    str
        Lines of text.
    """
    plugins = list(plugins)
    cells = [
        (r.distribution, r.version, r.state, ", ".join(_method_names(r)) or "-")
        for r in plugins
    ]
    lines = [text_table(("plugin", "version", "state", "methods"), cells)]
    for record in plugins:
        lines += [record.message] if record.state != "ok" else []
        lines += [f"{record.distribution}: {note}" for note in record.notes]
    return "\n".join(lines)


def _without_repeats(plugins: Iterable[PluginRecord]) -> Iterable[PluginRecord]:
    """Refuse a name that two entry points of one distribution both give."""
    seen: dict[tuple[str, str], str] = {}
    for record in plugins:
        mine = {(record.distribution, row.name) for row in record.methods}
        taken = sorted(mine & set(seen))
        if taken:
            other, name = seen[taken[0]], taken[0][1]
            reason = f"its entry point {other!r} gives the method {name!r} as well"
            yield replace(
                record,
                state="broken",
                reason=reason,
                hint=f"Tell its authors. {how_to_disable(record.distribution)}",
                methods=(),
                kinds={},
                commands=(),
            )
            continue
        seen.update(dict.fromkeys(mine, record.candidate.entry_point.name))
        yield record


def _method_names(record: PluginRecord) -> list[str]:
    return [row.name for row in record.methods]


def _kind_names(record: PluginRecord) -> list[str]:
    return list(record.kinds)


def _command_names(record: PluginRecord) -> list[str]:
    return [row.name for row in record.commands]


def _owners(
    records: Iterable[PluginRecord], names_of: Callable[[PluginRecord], list[str]]
) -> dict[str, list[PluginRecord]]:
    """List for each name the plugins that give it, in their order."""
    owners: dict[str, list[PluginRecord]] = {}
    for record in records:
        for name in names_of(record):
            owners.setdefault(name, []).append(record)
    return owners


def _winner(claims: list[PluginRecord]) -> PluginRecord | None:
    """Choose who answers to a bare name: the built-in, else the only one."""
    if claims and (claims[0].candidate.builtin or len(claims) == 1):
        return claims[0]
    return None


def _qualified(name: str, claims: Iterable[PluginRecord]) -> list[str]:
    return [f"{record.distribution}:{name}" for record in claims]


def _note_conflicts(
    record: PluginRecord,
    methods: Mapping[str, list[PluginRecord]],
    kinds: Mapping[str, list[PluginRecord]],
    commands: Mapping[str, list[PluginRecord]],
) -> PluginRecord:
    """Say so where a plugin does not get a bare name that it gives."""
    for names, owners, what in (
        (_method_names(record), methods, "method"),
        (_kind_names(record), kinds, "kind of explanation"),
        (_command_names(record), commands, "command"),
    ):
        lost = [name for name in names if _winner(owners[name]) is not record]
        if lost:
            others = [o.distribution for o in owners[lost[0]] if o is not record]
            reason = f"the {what} {lost[0]!r} is also given by {' and '.join(others)}"
            hint = how_to_disable(record.distribution)
            if what == "method":
                (qualified,) = _qualified(lost[0], [record])
                choice = f"use {qualified!r}, or skinterp.plugins.prefer({qualified!r})"
                hint = f"For this one {choice}. {hint}"
            return replace(record, state="conflict", reason=reason, hint=hint)
    return record
