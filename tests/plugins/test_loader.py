"""Each stage of loading, with a plugin that fails in it."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from skinterp.plugins import PluginError
from skinterp.plugins._discovery import Candidate
from skinterp.plugins._loader import Loader, Switches
from skinterp.plugins.builtin import METHODS

BUILTIN = [row.name for row in METHODS]


def only(registry: Any) -> Any:
    """Return the record of the one plugin, after looking at the built-in methods."""
    assert [row.listed_as for row in registry.methods][: len(BUILTIN)] == BUILTIN
    assert registry.plugins[0].state == "ok"
    (record,) = registry.plugins[1:]
    return record


def test_good(build: Any, source: Any) -> None:
    registry = build(
        """
        @hookimpl
        def skinterp_methods():
            yield row("spiral")
            yield row("knot")
        """
    )
    assert only(registry).state == "ok"
    assert [r.listed_as for r in registry.methods] == [*BUILTIN, "spiral", "knot"]


FAULTS = {
    "raises": ("def skinterp_methods():\n    1 / 0", "ZeroDivisionError", "hook"),
    "exits": (
        "def skinterp_methods():\n    raise SystemExit(3)",
        "sys.exit(3)",
        "hook",
    ),
    "skips": (
        "def skinterp_methods():\n    import pytest\n    pytest.skip('not here')",
        "Skipped: not here",
        "hook",
    ),
    "stops a generator": (
        "def skinterp_methods():\n    raise GeneratorExit('early')",
        "GeneratorExit: early",
        "hook",
    ),
    "unprintable": (
        "def skinterp_methods():\n    raise ValueError('\\ud800 \\x1b[31m')",
        "ValueError: ? ?[31m",
        "hook",
    ),
    "late": (
        "def skinterp_methods():\n    yield row()\n    raise OSError('late')",
        "OSError: late",
        "hook",
    ),
    "no list": ("def skinterp_methods():\n    return 3", "TypeError", "hook"),
    "no rows": ("def skinterp_methods():\n    return ['spiral']", "MethodSpec", "hook"),
    "wrong row": ("def skinterp_methods():\n    return [row('A')]", "kebab", "hook"),
    "twice": (
        "def skinterp_methods():\n    return [row(), row()]",
        "'spiral' is given to 2",
        "hook",
    ),
    "foreign type": (
        "def skinterp_methods():\n    return [row(trusted_types=('os.system',))]",
        "only types of its own package 'stranger_main'",
        "hook",
    ),
    "kinds": ("def skinterp_kinds():\n    return ['wheel']", "a mapping", "hook"),
    "kind": ("def skinterp_kinds():\n    return {'wheel': 3}", "must be text", "hook"),
    "kind target": (
        "def skinterp_kinds():\n    return {'wheel': 'a.b'}",
        "package.module:Class",
        "hook",
    ),
    "unknown hook": (
        "def skinterp_method():\n    return []",
        "'skinterp_method' (like 'skinterp_methods')",
        "implements",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_hook(build: Any, fault: str) -> None:
    body, reason, stage = FAULTS[fault]
    record = only(build("@hookimpl\n" + body))
    assert record.state == "broken"
    assert reason in record.reason
    assert stage in record.reason
    assert "SKINTERP_BLOCK_PLUGINS=stranger" in record.hint
    assert record.error is not None
    assert record.methods == ()


def test_unknown_argument_means_that_the_plugin_is_newer(build: Any) -> None:
    body = "@hookimpl\ndef skinterp_methods(config):\n    return []"
    record = only(build(body))
    assert record.state == "incompatible"
    assert "config" in record.reason
    assert "pip install --upgrade skinterp" in record.hint


def test_a_hook_of_a_later_skinterp_may_be_marked_as_optional(build: Any) -> None:
    body = "@hookimpl(optionalhook=True)\ndef skinterp_stories():\n    return []"
    assert only(build(body)).state == "ok"


def test_what_a_failed_registration_left_behind_is_removed(candidate: Any) -> None:
    """Nothing of a refused plugin may answer to a hook later."""
    loader = Loader(Switches(), "0.1.0")
    body = "@hookimpl\ndef skinterp_methods(config):\n    return [row()]"
    for plugin in (
        candidate("a", body),
        candidate("b", "@hookimpl\ndef skinterp_method():\n    return []"),
        candidate("c", "@hookimpl\ndef skinterp_methods():\n    1 / 0"),
    ):
        assert not loader.load(plugin).usable
    assert loader.manager.get_plugins() == set()
    assert loader.manager.hook.skinterp_methods() == []
    assert loader.load(candidate("d")).state == "ok"


@pytest.mark.parametrize(
    ("api", "state", "words"),
    [
        ("(1, 0)", "ok", ""),
        ("(1, 1)", "ok", ""),
        ("(2, 0)", "incompatible", "pip install --upgrade skinterp."),
        ("(0, 9)", "incompatible", "pip install --upgrade stranger."),
        ("'1.0'", "broken", "two integers"),
        ("(1, True)", "broken", "two integers"),
    ],
)
def test_api(build: Any, api: str, state: str, words: str) -> None:
    record = only(
        build(f"API = {api}\n@hookimpl\ndef skinterp_methods():\n    return []")
    )
    assert record.state == state
    assert words in record.message


def test_a_newer_minor_api_loads_and_is_noted(build: Any) -> None:
    registry = build("API = (1, 99)\n@hookimpl\ndef skinterp_methods(): return [row()]")
    record = only(registry)
    assert record.state == "ok"
    assert "1.99" in record.notes[0]
    assert registry.find("spiral").provider == "stranger"


def test_an_object_in_a_module_is_a_plugin_too(candidate: Any, build: Any) -> None:
    body = """
    API = (2, 0)

    class Plugin:
        @hookimpl
        def skinterp_methods(self):
            return [row()]

    plugin = Plugin()
    """
    made = candidate(body=body)
    value = f"{made.entry_point.value}:plugin"
    for api, state in (((2, 0), "incompatible"), ((1, 0), "ok")):
        sys.modules[made.root].API = api  # type: ignore[attr-defined]
        entry_point = EntryPoint("main", value, "skinterp")
        again = Candidate(entry_point=entry_point, distribution="stranger")
        assert only(build(again)).state == state


@pytest.mark.parametrize(
    ("requires", "refused"),
    [
        ((), ""),
        (("skinterp",), ""),
        (("skinterp>=0.0.1,<1000", "numpy>=99"), ""),
        (("skinterp>=1000",), "skinterp>=1000"),
        (("Skinterp (<0.0.1)",), "skinterp<0.0.1"),
        (("skinterp>=1000; extra == 'test'",), ""),
        (("skinterp>=1000; python_version < '3'",), ""),
        (("skinterp-other>=1000",), ""),
        (("skinterp is not a requirement",), ""),
    ],
)
def test_requirement_on_skinterp(
    candidate: Any, build: Any, requires: tuple[str, ...], refused: str
) -> None:
    record = only(build(candidate(requires=requires)))
    assert record.state == ("incompatible" if refused else "ok")
    if refused:
        assert f"it requires {refused}, " in record.reason
        assert "pip install --upgrade skinterp stranger" in record.hint


def test_requirement_is_looked_at_before_the_import(build: Any) -> None:
    """Otherwise a plugin for a later skinterp fails in some obscure way."""
    entry_point = EntryPoint("main", "there_is_no_such_module", "skinterp")
    late = Candidate(
        entry_point=entry_point, distribution="late", requires=("skinterp>=1000",)
    )
    record = only(build(late))
    assert (record.state, record.error) == ("incompatible", None)


@pytest.mark.parametrize("version", ["0.2.dev3", "0.2", "0.2.post1"])
def test_a_development_version_counts_as_its_release(
    candidate: Any, version: str
) -> None:
    plugin = candidate(requires=("skinterp>=0.2,<0.3",))
    assert Loader(Switches(), version).load(plugin).state == "ok"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("there_is_no_such_module", "'there_is_no_such_module' is missing"),
        ("collections:nothing", "AttributeError"),
        ("not a value", "importing 'not a value' failed"),
    ],
)
def test_broken_entry_point(build: Any, value: str, words: str) -> None:
    entry_point = EntryPoint("main", value, "skinterp")
    record = only(build(Candidate(entry_point=entry_point, distribution="odd")))
    assert record.state == "broken"
    assert words in record.message


def test_the_name_of_skinterp_cannot_be_taken(candidate: Any, build: Any) -> None:
    record = only(build(candidate("skinterp")))
    assert record.state == "broken"
    assert "name of skinterp" in record.reason


def test_one_module_under_two_entry_points(candidate: Any, build: Any) -> None:
    first = candidate()
    entry_point = EntryPoint("other", first.entry_point.value, "skinterp")
    second = Candidate(entry_point=entry_point, distribution="stranger")
    records = build(first, second).plugins[1:]
    assert [r.state for r in records] == ["ok", "broken"]


def test_ctrl_c_passes(build: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        build("@hookimpl\ndef skinterp_methods():\n    raise KeyboardInterrupt")


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("@hookimpl\ndef skinterp_methods():\n    1 / 0", ZeroDivisionError),
        ("API = (2, 0)", None),
    ],
)
def test_strict_raises_the_original_error(build: Any, body: str, cause: Any) -> None:
    with pytest.raises(PluginError, match="stranger") as caught:
        build(body, environ={"SKINTERP_STRICT_PLUGINS": "1"})
    assert (type(caught.value.__cause__) if cause else None) is cause


def test_strict_lets_plugins_be_switched_off(candidate: Any, build: Any) -> None:
    environ = {"SKINTERP_STRICT_PLUGINS": "1", "SKINTERP_LOAD_PLUGINS": ""}
    assert only(build(candidate(), environ=environ)).state == "disabled"


def test_trace_tells_each_call(build: Any, capsys: pytest.CaptureFixture[str]) -> None:
    body = "@hookimpl\ndef skinterp_methods():\n    raise ValueError('no luck')"
    build(body, environ={"SKINTERP_TRACE_PLUGINS": "1"})
    lines = capsys.readouterr().err.splitlines()
    assert any("skinterp:builtin skinterp_methods() -> " in line for line in lines)
    assert any("stranger:main" in line and "no luck" in line for line in lines)


def test_an_exception_that_cannot_be_printed_is_still_reported(build: Any) -> None:
    record = only(
        build(
            """
            class Mute(Exception):
                def __str__(self):
                    raise RuntimeError

            @hookimpl
            def skinterp_methods():
                raise Mute
            """
        )
    )
    assert "(Mute)" in record.reason
