"""The package as a plugin: found, made of public names, and gone when removed."""

import ast
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import skinterp_xrd
from skinterp.plugins import get_registry
from skinterp_xrd import plugin

SOURCE = Path(skinterp_xrd.__file__).parent
FILES = sorted(SOURCE.glob("*.py"))
# Names of scikit-learn's protocol, which the guide to networks builds upon.
PROTOCOL = {"_parameter_constraints"}


def test_the_entry_point_is_found():
    found = entry_points(group="skinterp", name="xrd")
    assert [point.load() for point in found] == [plugin]
    (record,) = get_registry().plugins_of("skinterp-xrd")
    assert (record.state, record.notes) == ("ok", ())
    assert [row.name for row in record.methods] == ["xrd-simulator", "xrd-symmetry"]
    assert [row.name for row in record.commands] == ["xrd"]


def private_names(text):
    """List what a file takes from skinterp that begins with an underscore."""
    found, ours = [], set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == (
            "skinterp"
        ):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
            ours |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.split(".")[0] == "skinterp"]
            found += names
            ours |= {"skinterp"} if names else set()
    # Attributes of what was imported from skinterp, as skinterp.compat._x.
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            base = node.value
            while isinstance(base, ast.Attribute):
                base = base.value
            theirs = isinstance(base, ast.Name) and base.id in ours
            if theirs and node.attr not in PROTOCOL:
                found.append(f"{base.id}.{node.attr}")
    return [name for name in found if any(p[:1] == "_" for p in name.split("."))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_public_names_of_skinterp_are_used(path):
    assert private_names(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "from skinterp.{}lazy import public",
        "from skinterp.base import {}thing",
        "import skinterp.compat.{}x",
        "import skinterp\nskinterp.compat.{}x",
        "from skinterp import compat\ncompat.{}x()",
    ],
)
def test_a_private_name_would_be_seen(text):
    assert private_names(text.format("_"))
    assert not private_names(text.format(""))


def test_public_names_are_there_and_documented():
    assert sorted(skinterp_xrd.__all__) == sorted(skinterp_xrd._PLACES)
    for name in skinterp_xrd.__all__:
        assert name in dir(skinterp_xrd)
        assert getattr(skinterp_xrd, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        skinterp_xrd.nothing  # noqa: B018


# Runs with and without the plugin: hides its entry point as uninstalling does, since
# what is installed is found by way of these metadata alone.
LISTING = """
import importlib.metadata as metadata, json, sys, warnings
warnings.simplefilter("error")
if sys.argv[1] == "without":
    every = metadata.distributions
    def others(**context):
        for found in every(**context):
            if found.metadata["Name"] != "skinterp-xrd":
                yield found
    metadata.distributions = others
    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "skinterp_xrd":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Hidden())
import skinterp
from skinterp.cli import main
from skinterp.plugins import explanation_kinds, get_registry, trusted_types
code = main(["xrd", "simulate", "-h"])
print(json.dumps({
    "methods": [row.id for row in skinterp.list_methods()],
    "kinds": sorted(explanation_kinds()),
    "commands": sorted(get_registry().commands),
    "types": list(trusted_types()),
    "plugins": [p.distribution for p in get_registry().plugins],
    "code": code,
    "ours": sorted(n for n in sys.modules if n.partition(".")[0] == "skinterp_xrd"),
}))
"""


def listing(how):
    import json

    # The other plugins of this environment do not matter here.
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SKINTERP_")}
    environ["SKINTERP_BLOCK_PLUGINS"] = "skinterp-template"
    done = subprocess.run(
        [sys.executable, "-c", LISTING, how],
        capture_output=True,
        text=True,
        check=False,
        env=environ,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_without_it_the_core_is_as_before():
    with_it, without = listing("with"), listing("without")
    assert with_it["code"] == 0
    assert without["code"] == 2  # no such command
    assert without["ours"] == []
    assert "skinterp-xrd" not in without["plugins"]
    gone = {
        key: set(with_it[key]) - set(without[key])
        for key in ("methods", "kinds", "commands", "types")
    }
    assert gone.pop("types") >= {"skinterp_xrd._simulator.PowderXRDSimulator"}
    assert gone == {
        "methods": {"skinterp-xrd:xrd-simulator", "skinterp-xrd:xrd-symmetry"},
        "kinds": {"diffraction", "peaks"},
        "commands": {"xrd"},
    }
    for key in gone:
        assert set(without[key]) < set(with_it[key])


def test_the_hooks_import_nothing_heavy():
    code = (
        "import sys, skinterp_xrd.plugin as plugin;"
        "plugin.skinterp_methods(), plugin.skinterp_kinds();"
        "plugin.skinterp_commands();"
        "heavy = {'numpy', 'sklearn', 'numba', 'torch', 'gemmi', 'typer'};"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
