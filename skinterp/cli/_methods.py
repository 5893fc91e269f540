"""``skinterp methods``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from skinterp.cli._output import load_registry, say_json, terminal_width
from skinterp.plugins import list_methods
from skinterp.plugins._table import COLUMNS, text_table


def methods(
    task: Annotated[
        str | None, typer.Option(help="Only with a class for it, as classifier.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Only with such explanations, as rules.")
    ] = None,
    input: Annotated[
        str | None, typer.Option(help="Only for such data, as tabular or series.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help="Only of a distribution, as skinterp.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write JSON instead of a table.")
    ] = False,
) -> None:
    """List the methods, those of plugins too.

    Parameters
    ----------
    task, kind, input, provider : str, optional
        As for `skinterp.list_methods`.
    as_json : bool, default=False
        Whether to write JSON.
    """
    load_registry()
    table = list_methods(task=task, input=input, kind=kind, provider=provider)
    if as_json:
        say_json(methods=[{"id": row.id, **row.to_dict()} for row in table])
    elif table:
        typer.echo(text_table(COLUMNS, table.cells(), width=terminal_width()))
    else:
        typer.echo("No method is like that.")
