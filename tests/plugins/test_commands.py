"""Commands of plugins: registered as rows, imported when used, harmless when broken."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import pytest
import typer

from skinterp.cli import main
from skinterp.cli._app import app
from skinterp.plugins import CommandSpec
from skinterp.plugins.builtin import COMMANDS

ROW = """
from skinterp.plugins import CommandSpec

@hookimpl
def skinterp_commands():
    return [CommandSpec(name={name!r}, target={target!r}, summary="Turn things")]
"""
ORCHARD = """
import typer

app = typer.Typer()

@app.command()
def plant(trees: int = 1) -> None:
    typer.echo(f"{trees} planted")

@app.command()
def fell() -> None:
    raise ValueError("trees must be grown")
"""


def row(name: str = "orchard", target: str = "orchard_commands:app") -> str:
    return ROW.format(name=name, target=target)


@pytest.fixture
def run(
    build: Any, fresh_cache: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run the command with given plugins; the module of the commands is at hand."""
    module = types.ModuleType("orchard_commands")
    exec(ORCHARD, module.__dict__)
    monkeypatch.setitem(sys.modules, "orchard_commands", module)

    def command(*arguments: str, plugins: Any = None) -> tuple[int, str, str]:
        fresh_cache.registry = build(*(plugins or [row()]))
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_the_rows_of_the_library_are_its_commands() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert {command.name for command in COMMANDS} == set(group.commands)


def test_a_command_of_a_plugin_runs(run: Any) -> None:
    assert run("orchard", "plant", "--trees", "3") == (0, "3 planted\n", "")
    code, out, err = run("orchard", "fell")
    assert (code, out, err) == (1, "", "Error: trees must be grown\n")
    code, _, err = run("orchard", "water")
    assert (code, "water" in err) == (2, True)
    code, out, _ = run("orchard", "--help")
    assert code == 0
    assert "plant" in out


def test_an_app_with_one_command_is_a_group_too(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("single_command")
    exec(ORCHARD.split("@app.command()\ndef fell")[0], module.__dict__)
    monkeypatch.setitem(sys.modules, "single_command", module)
    plugins = (row(target="single_command:app"),)
    assert run("orchard", "plant", plugins=plugins)[:2] == (0, "1 planted\n")


def test_help_shows_the_summary_without_importing(run: Any) -> None:
    code, out, err = run("--help", plugins=(row(target="no_such_module:app"),))
    assert (code, err) == (0, "")
    line = next(line for line in out.splitlines() if "orchard" in line)
    assert "Turn things." in line


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no_such_module:app", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("orchard_commands:nothing", "AttributeError"),
        ("collections:OrderedDict", "must be a typer.Typer, got type"),
        ("exits_when_imported:app", "it called sys.exit(3)"),
    ],
)
def test_a_command_that_cannot_be_loaded_is_told_in_one_line(
    run: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    (tmp_path / "exits_when_imported.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    code, out, err = run("orchard", "plant", plugins=(row(target=target),))
    assert (code, out) == (1, "")
    assert err.startswith("Error: The command 'orchard' of stranger ")
    assert err.count("\n") == 1
    assert words in err
    assert run("methods", "--provider", "skinterp", "--kind", "rules")[0] == 0


FAULTS = {
    "no rows": ("return ['orchard']", "CommandSpec"),
    "no name": ("return [CommandSpec(name='A b', target='a:b', summary='x')]", "kebab"),
    "target": ("return [CommandSpec(name='a', target='a', summary='x')]", "module:app"),
    "summary": ("return [CommandSpec(name='a', target='a:b', summary='')]", "one line"),
    "twice": (
        "return [CommandSpec(name='a', target='a:b', summary='x')] * 2",
        "'a' is given to 2",
    ),
    "raises": ("1 / 0", "ZeroDivisionError"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_hook_that_gives_something_else_breaks_its_plugin_alone(
    build: Any, fault: str
) -> None:
    body, words = FAULTS[fault]
    head = "from skinterp.plugins import CommandSpec\n@hookimpl\n"
    registry = build(f"{head}def skinterp_commands():\n    {body}")
    record = registry.plugins[1]
    assert record.state == "broken"
    assert "skinterp_commands" in record.reason
    assert words in record.reason
    assert set(registry.commands) == {command.name for command in COMMANDS}


def test_a_name_that_the_library_has_is_refused(candidate: Any, run: Any) -> None:
    plugins = (candidate("ant", row("plugins")),)
    code, out, _ = run("plugins", plugins=plugins)
    assert code == 0
    assert "ant 0+unknown is in conflict" in out
    assert "the command 'plugins' is also given by skinterp" in out


def test_a_name_that_two_plugins_give_belongs_to_none(candidate: Any, run: Any) -> None:
    plugins = (candidate("ant", row()), candidate("bee", row()), row("meadow"))
    code, out, err = run("orchard", "plant", plugins=plugins)
    assert (code, out) == (2, "")
    assert "orchard" in err
    code, out, _ = run("plugins", plugins=plugins)
    assert "the command 'orchard' is also given by bee" in out
    code, out, _ = run("--help", plugins=plugins)
    assert "meadow" in out
    assert "orchard" not in out


def test_rows_are_reported(run: Any) -> None:
    code, out, _ = run("plugins", "--json")
    (record,) = json.loads(out)["plugins"]
    assert (code, record["commands"]) == (0, ["orchard"])
    spec = CommandSpec(name="go", target="a.b:app", summary="Go")
    assert CommandSpec(**spec.to_dict()) == spec


def test_check_imports_the_commands(site: Any) -> None:
    (site.folder / "orchard_commands.py").write_text(ORCHARD)
    site.install("good", row())
    site.install("bad", row("field", "no_such_module:app"))
    done = site.run("-m", "skinterp", "plugins", "--check", "--json")
    states = {p["distribution"]: p for p in json.loads(done.stdout)["plugins"]}
    assert done.returncode == 1
    assert (states["good"]["state"], states["good"]["commands"]) == ("ok", ["orchard"])
    assert states["bad"]["state"] == "broken"
    assert "importing 'no_such_module:app' failed" in states["bad"]["reason"]


LAZY = """
import sys
from skinterp.cli import main
code = main(sys.argv[1:])
print("orchard_commands" in sys.modules, "torch" in sys.modules, file=sys.stderr)
"""


def test_only_the_command_itself_imports_its_module(site: Any) -> None:
    (site.folder / "orchard_commands.py").write_text("import json as torch\n" + ORCHARD)
    site.install("good", row())
    for arguments, said in (
        (("--help",), "False False"),
        (("methods",), "False False"),
        (("orchard", "plant"), "True False"),
    ):
        done = site.run("-c", LAZY, *arguments)
        assert done.stderr.strip() == said, arguments
    assert done.stdout == "1 planted\n"
