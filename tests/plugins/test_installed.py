"""Distributions that are really installed, seen from fresh processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import skinterp
from skinterp.plugins.builtin import METHODS

BUILTIN = [row.name for row in METHODS]
BROKEN = {
    "import-error": ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
    "missing-module": ("import there_is_no_such", "'there_is_no_such' is missing"),
    "exit-at-import": ("import sys\nsys.exit('bye')", "sys.exit('bye')"),
    "raising-hook": ("@hookimpl\ndef skinterp_methods():\n    1 / 0", "ZeroDivision"),
    "unknown-hook": ("@hookimpl\ndef skinterp_method():\n    1", "'skinterp_method'"),
}
INCOMPATIBLE = {
    "new-argument": ("@hookimpl\ndef skinterp_methods(new):\n    return []", "new"),
    "newer-major": ("API = (2, 0)", "plugin API 2.0, this skinterp has 1.1"),
}
TWIN = "@hookimpl\ndef skinterp_methods():\n    return [row('boolean-tree')]"


@pytest.fixture
def zoo(site: Any) -> Any:
    """Install every kind of fault at once, and a good plugin among them."""
    for name, (body, _) in {**BROKEN, **INCOMPATIBLE}.items():
        site.install(name, body)
    site.install("for-later", requires=("skinterp>=1000",))
    site.install("newer-minor", "API = (1, 99)")
    site.install("good")
    return site


def test_faults_stay_with_their_plugin(zoo: Any) -> None:
    answer = zoo.report()
    assert answer["methods"] == [*BUILTIN, "spiral"]
    for faults, state in ((BROKEN, "broken"), (INCOMPATIBLE, "incompatible")):
        for name, (_, reason) in faults.items():
            record = answer["plugins"][name]
            assert record["state"] == state
            assert reason in record["reason"] + record["hint"]
            (told,) = (w for w in answer["warnings"] if f" {name} 1.0 is {state}:" in w)
            assert f"SKINTERP_BLOCK_PLUGINS={name}" in told
            assert told in answer["text"]
    plugins = answer["plugins"]
    assert plugins["for-later"]["state"] == "incompatible"
    assert "requires skinterp>=1000" in plugins["for-later"]["reason"]
    assert plugins["newer-minor"]["state"] == plugins["good"]["state"] == "ok"
    (note,) = (w for w in answer["warnings"] if "newer-minor" in w)
    assert "1.99" in note


def test_a_line_that_is_no_entry_point(site: Any) -> None:
    """By itself: it also stops other libraries that read entry points."""
    site.install("not-a-line", entry_points="[skinterp]\nwhat\n")
    answer = site.report()
    assert answer["methods"] == BUILTIN
    assert answer["plugins"]["not-a-line"]["state"] == "broken"
    assert "entry_points.txt" in answer["plugins"]["not-a-line"]["reason"]


def test_built_in_methods_work_among_faults(zoo: Any) -> None:
    done = zoo.run("-W", "ignore", "-c", WORK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["RuleSet", "OrderedDict"]


WORK = """
import skinterp
Tree = skinterp.get_method("boolean-tree")
print(type(Tree().fit([[0], [1]], [0, 1]).explain()).__name__)
print(skinterp.get_method("good:spiral").__name__)
"""


@pytest.mark.parametrize(
    ("environ", "states"),
    [
        ({"SKINTERP_LOAD_PLUGINS": ""}, "disabled disabled"),
        ({"SKINTERP_LOAD_PLUGINS": "Good"}, "ok disabled"),
        ({"SKINTERP_BLOCK_PLUGINS": "noisy"}, "ok disabled"),
        ({"SKINTERP_LOAD_PLUGINS": "good,noisy"}, "ok ok"),
    ],
)
def test_switches(site: Any, environ: dict[str, str], states: str) -> None:
    site.install("good")
    site.install("noisy", "import sys\nsys.stderr.write('imported')")
    answer = site.report(**environ)
    records = [answer["plugins"][name] for name in ("good", "noisy")]
    assert [record["state"] for record in records] == states.split()
    assert "boolean-tree" in answer["methods"]
    assert ("spiral" in answer["methods"]) is (records[0]["state"] == "ok")
    for record in records:
        if record["state"] == "disabled":
            (switch,) = environ
            assert switch in record["reason"]
            assert switch in record["hint"]
    assert answer["warnings"] == []


def test_what_is_switched_off_is_not_imported(site: Any) -> None:
    site.install("fatal", "import os\nos._exit(7)")
    assert site.report(SKINTERP_BLOCK_PLUGINS="fatal")["methods"] == BUILTIN


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_same_name_twice(site: Any, seed: str) -> None:
    """Whatever the order of a set or a folder: the same answer."""
    for name in ("zebra", "ant"):
        site.install(name)
    site.install("twin", TWIN)
    answer = site.report(PYTHONHASHSEED=seed)
    assert answer["methods"] == [
        *BUILTIN,
        "ant:spiral",
        "twin:boolean-tree",
        "zebra:spiral",
    ]
    for name in ("zebra", "ant", "twin"):
        record = answer["plugins"][name]
        assert record["state"] == "conflict"
        assert f"prefer('{name}:" in record["hint"]
    assert len(answer["warnings"]) == 3


def test_two_copies_of_a_distribution(site: Any, tmp_path: Path) -> None:
    other = tmp_path / "other"
    site.install("good", version="2.0")
    site.install("good", version="1.0", folder=other)
    record = site.report(path=(other,))["plugins"]["good"]
    assert (record["version"], record["state"]) == ("2.0", "ok")
    assert "version 1.0" in record["notes"][0]


def test_strict_raises(site: Any) -> None:
    site.install("import-error", BROKEN["import-error"][0])
    done = site.run(
        "-c", "import skinterp; skinterp.list_methods()", SKINTERP_STRICT_PLUGINS="1"
    )
    assert done.returncode == 1
    assert "RuntimeError: no luck" in done.stderr
    assert "PluginError: The plugin import-error is broken" in done.stderr


KIND = """
@hookimpl
def skinterp_kinds():
    return {"wheel": "wheels:Wheel"}


def __getattr__(name):
    # The class is made when it is asked for: the hook module stays light.
    if name != "Wheel":
        raise AttributeError(name)
    from wheel_class import Wheel

    return Wheel
"""

WHEEL = """
from dataclasses import dataclass
from skinterp.explanation import Attribution


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Wheel(Attribution):
    kind = "wheel"
    spokes: int = 0
"""

LOAD = """
import sys
import skinterp
import numpy as np
from wheel_class import Wheel

wheel = Wheel(scope="global", feature_names=("a",), target_names=np.array(["y"]),
              values=np.array([np.nan]), spokes=7)
wheel.save("wheel.json")
again = skinterp.load("wheel.json")
assert type(again) is Wheel and again == wheel and again.spokes == 7
print("same")
"""


def test_a_kind_of_a_plugin_is_loaded_from_a_file(site: Any) -> None:
    site.install("wheels", KIND)
    (site.folder / "wheel_class.py").write_text(WHEEL, encoding="utf-8")
    done = site.run("-c", LOAD)
    assert done.stdout.split() == ["same"], done.stderr
    done = site.run(
        "-c",
        "import skinterp; skinterp.load('wheel.json')",
        SKINTERP_LOAD_PLUGINS="",
    )
    assert "kind='wheel' is not a known kind of explanation" in done.stderr


def test_the_command_tells_the_same(zoo: Any) -> None:
    zoo.install("loud", "print('{not json')")
    done = zoo.run("-m", "skinterp", "plugins", "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    states = {p["distribution"]: p["state"] for p in content["plugins"]}
    assert content["schema"] == 1
    assert states["import-error"] == "broken"
    assert states["loud"] == "ok"
    assert "skinterp" not in states
    # The report is the output; warnings would say it twice.
    assert done.stderr == "{not json\n"


def test_the_command_lists_methods_and_warns(zoo: Any) -> None:
    zoo.install("loud", "print('{not json')")
    done = zoo.run("-m", "skinterp", "methods", "--json")
    names = [row["listed_as"] for row in json.loads(done.stdout)["methods"]]
    assert names == [*BUILTIN, "spiral"]
    # Warnings are lines, without the place in the code that no user knows.
    loud, *warnings = done.stderr.splitlines()
    assert loud == "{not json"
    assert warnings
    assert all(line.startswith("Warning: The plugin ") for line in warnings)


def test_the_command_misses_what_is_allowed(site: Any) -> None:
    site.install("good")
    done = site.run("-m", "skinterp", "plugins", SKINTERP_LOAD_PLUGINS="good,gone")
    assert "good    1.0      ok" in done.stdout
    assert done.stderr == (
        "Warning: SKINTERP_LOAD_PLUGINS names 'gone', but no such plugin is "
        "installed.\n"
    )


def test_python_is_the_one_of_the_tests(site: Any) -> None:
    """What the other tests see is the library under test."""
    done = site.run("-c", "import sys, skinterp; print(sys.executable, skinterp)")
    assert done.stdout.startswith(sys.executable)
    assert str(Path(skinterp.__file__).parent) in done.stdout
