"""``check_plugin`` and ``isolated_registry``, with plugins made up here."""

import sys
import types

import pytest
import typer

import skinterp
from skinterp.plugins import CommandSpec, MethodSpec, get_registry, hookimpl
from skinterp.testing import MethodCheckError, check_plugin, isolated_registry
from skinterp.testing import _plugins as plugins
from skinterp.testing.mocks import CentroidClassifier

GOOD = {
    "name": "center",
    "targets": {"transformer": "skinterp.testing.mocks:CenterTransformer"},
    "summary": "Take the mean off",
    "explains": {"global": ("attribution",)},
    "reference": "https://example.org/center",
}


@pytest.fixture
def plugin(monkeypatch):
    """Make a module with hooks that gives one row; its fields can be changed."""

    def make(api=(1, 0), **fields):
        rows = [MethodSpec(**(GOOD | fields))]
        module = types.ModuleType("made_up_plugin")
        module.skinterp_methods = hookimpl(_giving(rows))
        module.API = api
        monkeypatch.setitem(sys.modules, "made_up_plugin", module)
        return "made_up_plugin"

    return make


def _giving(rows):
    def skinterp_methods():
        return rows

    return skinterp_methods


def failed(monkeypatch, name):
    monkeypatch.setattr(plugins, "_battery", lambda rows: [])
    with isolated_registry(name):
        records = check_plugin("made-up-plugin", on_fail="record")
    return {record.name: record.reason for record in records if not record.ok}


def test_isolated_registry_comes_and_goes(plugin):
    before = get_registry()
    with isolated_registry(plugin()) as registry:
        assert get_registry() is registry
        assert skinterp.get_method("center").__name__ == "CenterTransformer"
    assert get_registry() is before


def test_isolated_registry_goes_after_an_error(plugin):
    before = get_registry()
    with pytest.raises(KeyError), isolated_registry(plugin()):
        raise KeyError
    assert get_registry() is before


# What the made-up plugin lacks, having no metadata and no citation in its class.
LACKS = {"check_plugin_version", "check_row_reference"}


@pytest.mark.parametrize(
    ("fields", "check", "says"),
    [
        ({"api": None}, "check_plugin_loads", "API"),
        (
            {"targets": {"transformer": "skinterp.testing.mocks:NoSuchClass"}},
            "check_row_resolves",
            "NoSuchClass",
        ),
        ({"explains": {"global": ("rules",)}}, "check_row_explains", "rules"),
        ({"input": "series"}, "check_row_tags", "series"),
        ({"reference": ""}, "check_row_reference", "names no reference"),
        ({"search_space": {"depth": (1, 2)}}, "check_row_search_space", "depth"),
        ({"exports": ("skinterp.testing:no_name",)}, "check_row_resolves", "no_name"),
    ],
)
def test_faults_of_a_row_are_found(plugin, monkeypatch, fields, check, says):
    found = failed(monkeypatch, plugin(**fields))
    assert says in found[check], found


def test_good_row_passes(plugin, monkeypatch):
    assert set(failed(monkeypatch, plugin())) <= LACKS


def test_plugin_that_is_not_installed():
    with pytest.raises(MethodCheckError, match="'no-such-plugin' is not installed"):
        check_plugin("no-such-plugin")


def test_battery_covers_every_class_of_every_row(plugin, monkeypatch):
    seen = []
    monkeypatch.setattr(plugins, "run_checks", lambda cases: seen.extend(cases) or [])
    targets = {
        "transformer": GOOD["targets"]["transformer"],
        "classifier": f"skinterp.testing.mocks:{CentroidClassifier.__name__}",
    }
    with isolated_registry(plugin(targets=targets)):
        check_plugin("made-up-plugin", on_fail="record")
    assert [case.name for case in seen] == ["CenterTransformer", "CentroidClassifier"]


@pytest.mark.parametrize(
    ("target", "says"),
    [("collections:OrderedDict", "must be a typer.Typer"), ("no_such:app", "no_such")],
)
def test_a_command_that_does_not_work_is_told(plugin, monkeypatch, target, says):
    name = plugin()
    rows = [CommandSpec(name="orchard", target=target, summary="Plant trees")]
    sys.modules[name].skinterp_commands = hookimpl(_commands(rows))
    reasons = failed(monkeypatch, name)
    assert reasons.keys() == LACKS | {"check_plugin_commands"}
    assert says in reasons["check_plugin_commands"]


def test_a_command_that_works(plugin, monkeypatch):
    module = types.ModuleType("orchard_commands")
    module.app = typer.Typer()
    module.app.command()(lambda: None)
    monkeypatch.setitem(sys.modules, "orchard_commands", module)
    name = plugin()
    rows = [CommandSpec(name="go", target="orchard_commands:app", summary="Go")]
    sys.modules[name].skinterp_commands = hookimpl(_commands(rows))
    assert failed(monkeypatch, name).keys() == LACKS


def _commands(rows):
    def skinterp_commands():
        return rows

    return skinterp_commands
