"""``skinterp plugins``: what is installed, and whether it works."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from skinterp.cli._output import complain, load_registry, say_json
from skinterp.plugins import PluginError, PluginRecord, SkinterpPluginWarning
from skinterp.plugins._check import TIMEOUT, check_candidates
from skinterp.plugins._discovery import Candidate
from skinterp.plugins._registry import Registry, plugin_table
from skinterp.plugins.manager import build_registry, missing_plugins

app = typer.Typer(
    help="List the plugins, or show one: skinterp plugins info NAME.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
FAILED = ("broken", "incompatible")


@app.callback()
def _plugins(
    context: typer.Context,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write JSON instead of a table.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Import each plugin in a process of its own; exit code 1 if one is "
            "broken or incompatible.",
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Show the built-in methods' entry too.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds that --check waits for a plugin.")
    ] = TIMEOUT,
) -> None:
    """List the plugins: which distribution, in which state, and what to do."""
    if context.invoked_subcommand is not None:
        return
    plugins = _checked(timeout) if check else _loaded().plugins
    shown = [record for record in plugins if every or not record.candidate.builtin]
    if as_json:
        say_json(plugins=[record.to_dict() for record in shown])
    elif shown:
        typer.echo(plugin_table(shown))
    else:
        typer.echo("No plugins are installed.")
    for line in missing_plugins(plugins):
        complain(f"Warning: {line}")
    if check and any(record.state in FAILED for record in plugins):
        raise typer.Exit(1)


@app.command("info")
def _info(
    context: typer.Context,
    distribution: Annotated[str, typer.Argument(help="Name of the distribution.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Write JSON instead of text.")
    ] = False,
) -> None:
    """Show a plugin: its state, its methods, and where its code lies."""
    registry = _loaded()
    records = registry.plugins_of(distribution)
    if not records:
        known = ", ".join(sorted({r.distribution for r in registry.plugins}))
        raise PluginError(
            f"No installed distribution {distribution!r} has a plugin. "
            f"Distributions with one: {known}."
        )
    before = context.parent.params if context.parent else {}
    if as_json or before.get("as_json"):
        say_json(plugins=[record.to_dict() for record in records])
        return
    for record in records:
        _show(record.to_dict())


def _loaded() -> Registry:
    """Load the plugins; the report itself says what a warning would say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkinterpPluginWarning)
        return load_registry()


def _show(fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        text = ", ".join(value) if isinstance(value, list) else str(value)
        if text:
            typer.echo(f"{name:<13} {text}")


def _checked(timeout: float) -> Iterable[PluginRecord]:
    """Load nothing of a stranger in this process."""
    builtin = build_registry([]).plugins
    tried = check_candidates(timeout=timeout, on_start=_announce)
    # Names that two plugins give are seen only when all are put together.
    return Registry([*builtin, *tried]).plugins


def _announce(candidate: Candidate) -> None:
    complain(f"Checking {candidate.distribution} {candidate.version} ...")
