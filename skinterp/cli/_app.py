"""The command: its options, its subcommands and how it fails."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from skinterp._version import installed_version
from skinterp.cli import _methods, _plugins
from skinterp.cli._output import complain
from skinterp.cli._strangers import CommandsOfPlugins

app = typer.Typer(
    name="skinterp",
    cls=CommandsOfPlugins,
    help="Interpretable machine learning as scikit-learn estimators.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# The help stands here: the docstring has more than a terminal should show.
app.command("methods", help="List the methods, those of plugins too.")(_methods.methods)
app.add_typer(_plugins.app, name="plugins")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; what goes wrong is told in one line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those after the name of the command; ``sys.argv`` when None.

    Returns
    -------
    int
        The exit code: 0, 1 for a failure, 2 for wrong usage.

    Examples
    --------
    >>> main(["methods", "--kind", "rules", "--provider", "skinterp", "--json"])
    {"schema": 1, "methods": [{"id": "skinterp:boolean-tree", ...}]}
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(given, prog_name="skinterp")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception as error:
            if "--debug" in given:
                raise
            complain(f"Error: {_text(error)}")
            return 1
    return 0


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"skinterp {installed_version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_show_version,
            is_eager=True,  # works without a command
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Interpretable machine learning as scikit-learn estimators."""


@app.command("demo")
def _demo(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML page to write.")
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Show the page in a browser.")
    ] = False,
) -> None:
    """Explain a model of real data, as text and as an HTML page."""
    # Imported here: this command alone needs scikit-learn.
    from skinterp.cli._demo import run

    run(output, open_browser)


def _text(error: Exception) -> str:
    """Put an error into one line; what says what is wrong needs no more."""
    from skinterp.plugins import PluginError

    text = " ".join(str(error).split())
    if isinstance(error, PluginError | ValueError | OSError | ImportError) and text:
        return text
    return f"{type(error).__name__}: {text} (--debug shows where)"


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    complain(f"Warning: {message}")
