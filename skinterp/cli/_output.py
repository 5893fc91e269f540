"""How the command writes: text for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import redirect_stdout
from typing import Any

import typer

from skinterp.plugins import Registry, get_registry

# Raised when a field of the JSON output changes its meaning or goes away.
SCHEMA = 1


def load_registry() -> Registry:
    """Load the plugins; what they print does not mix with what is printed here.

    Returns
    -------
    Registry
        That of the process.
    """
    with redirect_stdout(sys.stderr):
        return get_registry()


def say_json(**content: Any) -> None:
    """Write a JSON object with the number of its schema.

    Parameters
    ----------
    **content : object
        Its fields.

    Examples
    --------
    >>> say_json(methods=[])
    {"schema": 1, "methods": []}
    """
    typer.echo(json.dumps({"schema": SCHEMA, **content}, default=repr))


def complain(message: str) -> None:
    """Write a line to the standard error stream.

    Parameters
    ----------
    message : str
        The line.
    """
    typer.echo(message, err=True)


def terminal_width() -> int:
    """Return the width to which tables are cut.

    Returns
    -------
    int
        That of the terminal; output to a file or a pipe is not cut.
    """
    return shutil.get_terminal_size((10_000, 24)).columns
