"""Which plugins are found, without importing any."""

from __future__ import annotations

from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import pytest

from skinterp.plugins._discovery import Candidate, Switches, find_plugins


def found(*folders: Path) -> list[Candidate]:
    installed: list[Distribution] = []
    for folder in folders:
        installed += distributions(path=[str(folder)])
    return find_plugins(installed)


def test_order_depends_on_names_only(site: Any) -> None:
    for name in ("zebra", "Ant_Hill", "mole"):
        site.install(name)
    site.install("lion", entry_points="[skinterp]\nz = lion\na = lion\n")
    ids = [c.id for c in found(site.folder)]
    assert ids == ["ant-hill:main", "lion:a", "lion:z", "mole:main", "zebra:main"]


def test_other_groups_are_not_ours(site: Any) -> None:
    site.install("cli", entry_points="[console_scripts]\nskinterp-cli = cli:main\n")
    assert found(site.folder) == []


def test_metadata_is_read(site: Any) -> None:
    site.install("mole", version="2.1", requires=("skinterp>=0.1", "numpy"))
    (mole,) = found(site.folder)
    assert (mole.version, mole.root) == ("2.1", "mole")
    assert mole.requires == ("skinterp>=0.1", "numpy")
    assert mole.location.rstrip("/") == str(site.folder)


@pytest.mark.parametrize(("second", "noted"), [("1.0", False), ("0.9", True)])
def test_of_two_copies_the_first_on_the_path_counts(
    site: Any, tmp_path: Path, second: str, noted: bool
) -> None:
    """An editable installation shows itself twice; that is no reason to complain."""
    site.install("mole", version="1.0")
    site.install("mole", version=second, folder=tmp_path / "other")
    (mole,) = found(site.folder, tmp_path / "other")
    assert mole.version == "1.0"
    assert bool(mole.notes) is noted
    if noted:
        assert "version 0.9" in mole.notes[0]
        assert str(tmp_path / "other") in mole.notes[0]


def test_a_line_that_is_no_entry_point_is_kept_for_the_report(site: Any) -> None:
    site.install("mole", entry_points="[skinterp]\nmole\n")
    (mole,) = found(site.folder)
    assert mole.problem is not None


@pytest.mark.parametrize("content", [None, b"", b"Name: m\xff\n"])
def test_metadata_without_a_name_do_no_harm(site: Any, content: bytes | None) -> None:
    site.install("mole")
    (metadata,) = site.folder.glob("*.dist-info/METADATA")
    metadata.unlink()
    if content is not None:
        metadata.write_bytes(content)
    (mole,) = found(site.folder)
    assert (mole.distribution, mole.version) == ("unnamed", "0+unknown")
    assert mole.requires == ()


def test_entry_points_that_cannot_be_read_do_no_harm(site: Any) -> None:
    site.install("mole")
    site.install("badger")
    (file,) = site.folder.glob("mole-*/entry_points.txt")
    file.write_bytes(b"[skinterp]\nm\xff = mole\n")
    assert [c.distribution for c in found(site.folder)] == ["badger"]


@pytest.mark.parametrize(
    ("environ", "off"),
    [
        ({}, ""),
        ({"SKINTERP_LOAD_PLUGINS": ""}, "SKINTERP_LOAD_PLUGINS is ''"),
        ({"SKINTERP_LOAD_PLUGINS": "a,b"}, "SKINTERP_LOAD_PLUGINS does not name it"),
        ({"SKINTERP_LOAD_PLUGINS": "a, Ant.Hill "}, ""),
        ({"SKINTERP_BLOCK_PLUGINS": "b,ant_hill"}, "SKINTERP_BLOCK_PLUGINS names it"),
        (
            {"SKINTERP_LOAD_PLUGINS": "ant-hill", "SKINTERP_BLOCK_PLUGINS": "ant-hill"},
            "SKINTERP_BLOCK_PLUGINS names it",
        ),
    ],
)
def test_switches(environ: dict[str, str], off: str) -> None:
    assert Switches.read(environ).off_because("ant-hill") == off


@pytest.mark.parametrize(("text", "on"), [("1", True), ("0", False), ("", False)])
def test_switches_that_are_on_or_off(text: str, on: bool) -> None:
    environ = {"SKINTERP_TRACE_PLUGINS": text, "SKINTERP_STRICT_PLUGINS": text}
    switches = Switches.read(environ)
    assert (switches.trace, switches.strict) == (on, on)
