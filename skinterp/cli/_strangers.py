"""The commands of plugins: listed by their rows, imported when they are used."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from skinterp.cli._output import load_registry
from skinterp.plugins import CommandSpec, PluginError
from skinterp.plugins._record import describe, resolve


class CommandsOfPlugins(TyperGroup):
    """The root command, which asks plugins for what it does not have itself."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the built-in commands, then those of plugins.

        Parameters
        ----------
        ctx : Context
            That of the root command.

        Returns
        -------
        list of str
            Their names.
        """
        own = super().list_commands(ctx)
        return [*own, *sorted(set(load_registry().commands) - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Look a command up; plugins are not loaded for a built-in one.

        Parameters
        ----------
        ctx : Context
            That of the root command.
        cmd_name : str
            Its name.

        Returns
        -------
        Command or None
            None if there is none of that name.
        """
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        row = load_registry().commands.get(cmd_name)
        return None if row is None else _Stranger(row)


class _Stranger(TyperGroup):
    """Stands for the command of a plugin until somebody uses it."""

    def __init__(self, row: CommandSpec) -> None:
        super().__init__(name=row.name, help=f"{row.summary}.")
        self.row = row

    def make_context(self, *given: Any, **options: Any) -> Any:
        """Parse the arguments by the real command, which then runs."""
        return _load(self.row).make_context(*given, **options)


def _load(row: CommandSpec) -> Any:
    """Import the command of a plugin."""
    (owner,) = (record for record in load_registry().plugins if row in record.commands)
    who = f"The command {row.name!r} of {owner.distribution} {owner.version}"
    advice = "Reinstall the plugin, or tell its authors."
    try:
        found = resolve(row.target)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as sys.exit and pytest.skip raise
        raise PluginError(
            f"{who} names {row.target!r}, which cannot be imported: "
            f"{describe(error)}. {advice}"
        ) from error
    if not isinstance(found, typer.Typer):
        raise PluginError(
            f"{who} names {row.target!r}, which must be a typer.Typer, got "
            f"{type(found).__name__}. {advice}"
        )
    # Always a group: typer makes of an app with one command that command itself.
    return typer.main.get_group(found)
