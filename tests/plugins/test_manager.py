"""The one registry of the process."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import pytest

import skinterp
from skinterp.plugins import PluginError, SkinterpPluginWarning, manager
from skinterp.plugins.builtin import METHODS

BUILTIN = [row.name for row in METHODS]
BROKEN = "@hookimpl\ndef skinterp_methods():\n    1 / 0"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, fresh_cache: Any) -> list[Any]:
    """Return a list that stands for what is installed; the switches allow all."""
    plugins: list[Any] = []
    monkeypatch.setattr(manager, "find_plugins", lambda: list(plugins))
    monkeypatch.delenv("SKINTERP_LOAD_PLUGINS", raising=False)
    return plugins


def test_the_registry_is_built_once_until_refresh(
    installed: list[Any], candidate: Any
) -> None:
    first = manager.get_registry()
    installed.append(candidate())
    assert manager.get_registry() is first
    assert manager.refresh().find("spiral").provider == "stranger"
    installed.clear()
    assert [row.name for row in manager.refresh().methods] == BUILTIN


def test_a_preference_outlives_refresh(installed: list[Any], candidate: Any) -> None:
    installed += [candidate("ant"), candidate("bee")]
    with pytest.warns(SkinterpPluginWarning, match="in conflict"):
        skinterp.plugins.prefer("bee:spiral")
    assert manager.refresh().find("spiral").provider == "bee"


def test_switches_are_read_when_the_registry_is_built(
    installed: list[Any], candidate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.append(candidate())
    assert manager.get_registry().plugins[1].state == "ok"
    monkeypatch.setenv("SKINTERP_BLOCK_PLUGINS", "stranger")
    assert manager.get_registry().plugins[1].state == "ok"
    assert manager.refresh().plugins[1].state == "disabled"


def test_a_fault_is_warned_of_once(installed: list[Any], candidate: Any) -> None:
    installed.append(candidate(body=BROKEN))
    with pytest.warns(SkinterpPluginWarning) as caught:
        skinterp.list_methods()
    (warning,) = caught
    for word in ("stranger", "broken", "ZeroDivisionError", "SKINTERP_BLOCK_PLUGINS="):
        assert word in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager.refresh()
        skinterp.list_methods()


def test_a_warning_turned_into_an_error_leaves_the_registry(
    installed: list[Any], candidate: Any
) -> None:
    installed.append(candidate(body=BROKEN))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SkinterpPluginWarning):
            skinterp.list_methods()
        assert [row.name for row in skinterp.list_methods()] == BUILTIN


def test_what_is_switched_off_is_no_fault(
    installed: list[Any], candidate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.append(candidate(body=BROKEN))
    monkeypatch.setenv("SKINTERP_LOAD_PLUGINS", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert manager.get_registry().plugins[1].state == "disabled"


def test_an_allowed_plugin_that_is_not_installed(
    installed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKINTERP_LOAD_PLUGINS", "strnger")
    with pytest.warns(SkinterpPluginWarning, match="names 'strnger', but no such"):
        manager.get_registry()


@pytest.mark.filterwarnings("ignore::skinterp.plugins.SkinterpPluginWarning")
def test_a_plugin_that_asks_for_methods_while_it_loads(
    installed: list[Any], candidate: Any
) -> None:
    """Without the guard it would load itself for ever."""
    installed.append(
        candidate(
            body="""
            @hookimpl
            def skinterp_methods():
                import skinterp
                return [row(str(len(skinterp.list_methods())))]
            """
        )
    )
    record = manager.get_registry().plugins[1]
    assert record.state == "broken"
    assert isinstance(record.error, PluginError)
    assert "must not call skinterp.list_methods()" in str(record.error)


def test_threads_get_one_registry(
    installed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    original = manager.build_registry

    def slow() -> Any:
        built.append(1)
        time.sleep(0.05)
        return original([])

    monkeypatch.setattr(manager, "build_registry", slow)
    seen: list[Any] = []
    threads = [
        threading.Thread(target=lambda: seen.append(manager.get_registry()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len({id(registry) for registry in seen}) == 1


def test_another_registry_for_a_while(
    installed: list[Any], candidate: Any, build: Any
) -> None:
    before = manager.get_registry()
    with manager.use_registry(build(candidate())):
        skinterp.plugins.prefer("stranger:spiral")
        assert skinterp.list_methods(provider="stranger")
    assert manager.get_registry() is before
    assert manager._CACHE.preferred == {}


def test_built_in_rows_say_what_their_classes_say() -> None:
    for row in skinterp.list_methods(provider="skinterp"):
        for task in row.tasks:
            assert dict(row.load(task).explains) == dict(row.explains), row.name


@pytest.mark.parametrize("name", ["task", "input", "kind", "provider"])
@pytest.mark.parametrize("value", [["rules"], {}, 3, "nothing"])
def test_filters_that_no_method_can_pass_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be one of "):
        skinterp.list_methods(**{name: value})
