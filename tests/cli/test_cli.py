"""The command: what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import skinterp
from skinterp.cli import main
from skinterp.plugins.builtin import KINDS


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command here; give its code, output and complaints."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_methods(run: Any) -> None:
    code, out, err = run("methods", "--task", "classifier", "--kind", "rules")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:2] == ["boolean-tree", "classifier"]


def test_methods_as_json(run: Any) -> None:
    code, out, _ = run("methods", "--json")
    content = json.loads(out)
    assert (code, content["schema"]) == (0, 1)
    row = next(r for r in content["methods"] if r["id"] == "skinterp:boolean-tree")
    assert row["explains"] == {"global": ["rules"], "local": ["rules"]}
    assert row["version"] == skinterp.__version__


def test_no_method_is_no_failure(run: Any) -> None:
    assert run("methods", "--input", "graph") == (0, "No method is like that.\n", "")
    code, out, _ = run("methods", "--input", "graph", "--json")
    assert (code, json.loads(out)["methods"]) == (0, [])


def test_a_table_fits_the_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    _, out, _ = run("methods")
    assert max(map(len, out.splitlines())) <= 90
    monkeypatch.delenv("COLUMNS")
    _, out, _ = run("methods")
    assert "…" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("methods", "--task", "clasifier"), "Did you mean 'classifier'?"),
        (("methods", "--provider", "nobody"), "provider must be one of"),
        (("plugins", "info", "nobody"), "No installed distribution 'nobody'"),
    ],
)
def test_an_error_is_one_line(run: Any, arguments: Any, words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    "arguments", [("method",), ("methods", "--kid"), ("plugins", "x")]
)
def test_wrong_usage_has_its_own_code(run: Any, arguments: Any) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in err
    assert arguments[-1] in err


def test_plugins(run: Any) -> None:
    assert run("plugins") == (0, "No plugins are installed.\n", "")
    code, out, _ = run("plugins", "--all", "--json")
    (record,) = json.loads(out)["plugins"]
    assert (code, record["distribution"], record["state"]) == (0, "skinterp", "ok")
    assert record["builtin"] is True


def test_plugin_info(run: Any) -> None:
    code, out, _ = run("plugins", "info", "Skinterp")
    fields = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert code == 0
    assert fields["state"] == "ok"
    assert fields["code"] == str(Path(skinterp.__file__).parent)
    _, before, _ = run("plugins", "--json", "info", "skinterp")
    code, out, _ = run("plugins", "info", "skinterp", "--json")
    assert before == out
    assert json.loads(out)["plugins"][0]["kinds"] == sorted(KINDS)


def test_version_needs_no_command(run: Any) -> None:
    assert run("--version") == (0, f"skinterp {skinterp.__version__}\n", "")


def test_help_names_the_commands(run: Any) -> None:
    for option in ("--help", "-h"):
        code, out, _ = run(option)
        assert code == 0
        for command in ("methods", "plugins", "demo"):
            assert command in out


@pytest.mark.parametrize("command", ["methods", "plugins", "demo"])
def test_help_is_for_the_terminal(run: Any, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "----------" not in out  # a section of a docstring


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Put another demo in place, which notes what it is called with."""
    calls: list[Any] = []
    module = types.ModuleType("skinterp.cli._demo")
    module.run = lambda *given: calls.append(given)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "skinterp.cli._demo", module)
    return calls


def test_demo(run: Any, demo: list[Any]) -> None:
    assert run("demo")[0] == 0
    assert run("demo", "-o", "page.html", "--open")[0] == 0
    assert demo == [(None, False), (Path("page.html"), True)]


def test_an_unforeseen_error_is_one_line_too(
    run: Any, demo: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise KeyError("lost\nkey")

    monkeypatch.setattr(sys.modules["skinterp.cli._demo"], "run", fail)
    code, out, err = run("demo")
    assert (code, out) == (1, "")
    assert err == "Error: KeyError: 'lost\\nkey' (--debug shows where)\n"
    with pytest.raises(KeyError):
        run("--debug", "demo")


@pytest.mark.parametrize(
    "error", [FileNotFoundError("no such file: x"), ImportError("pip install x")]
)
def test_what_says_what_is_wrong_needs_no_more(
    run: Any, demo: list[Any], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*given: Any) -> None:
        raise error

    monkeypatch.setattr(sys.modules["skinterp.cli._demo"], "run", fail)
    assert run("demo") == (1, "", f"Error: {error}\n")


def test_python_m_skinterp_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skinterp", "methods", "--kind", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: kind must be one of")
