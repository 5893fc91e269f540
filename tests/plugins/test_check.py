"""``--check``: each plugin in a process that a crash or a hang cannot leave."""

from __future__ import annotations

import json
from typing import Any

import pytest

CASES = {
    "crash": ("import os, sys\nsys.stderr.write('core dumped')\nos._exit(7)", "broken"),
    "exits": ("import sys\nsys.exit(0)", "broken"),
    "hangs": ("import time\ntime.sleep(600)", "broken"),
    "loud": ("import sys\nsys.stdout.write('noise' * 99)\nsys.stdout.close()", "ok"),
    "no-class": (
        "@hookimpl\ndef skinterp_methods():\n"
        "    return [row('c', targets={'finder': 'no_class.missing:Class'})]",
        "broken",
    ),
    "newer": ("API = (2, 0)", "incompatible"),
    "odd-grid": (
        "@hookimpl\ndef skinterp_methods():\n"
        "    return [row('odd', search_space={'f': (print, {1, 2})})]",
        "ok",
    ),
    "slow": ("import time\ntime.sleep(1)", "ok"),
}
REASONS = {
    "crash": "exit code 7 (core dumped)",
    "exits": "sys.exit(0)",
    "hangs": "not loaded after 3 seconds",
    "no-class": "importing 'no_class.missing:Class' failed",
}


@pytest.fixture
def zoo(site: Any) -> Any:
    for name, (body, _) in CASES.items():
        site.install(name, body)
    for name in ("ant", "bee"):
        site.install(name)
    return site


def test_check(zoo: Any) -> None:
    done = zoo.run(
        *("-m", "skinterp", "plugins", "--check", "--json", "--all", "--timeout", "3"),
        SKINTERP_BLOCK_PLUGINS="slow",
    )
    assert done.returncode == 1
    plugins = {p["distribution"]: p for p in json.loads(done.stdout)["plugins"]}
    wanted = {name: state for name, (_, state) in CASES.items()} | {"slow": "disabled"}
    wanted |= {"skinterp": "ok", "ant": "conflict", "bee": "conflict"}
    assert {name: p["state"] for name, p in plugins.items()} == wanted
    for name, reason in REASONS.items():
        assert reason in plugins[name]["reason"]
        assert f"SKINTERP_BLOCK_PLUGINS=slow,{name}" in plugins[name]["hint"]
    assert plugins["ant"]["methods"] == ["spiral"]
    assert "Checking crash 1.0 ..." in done.stderr


def test_nothing_broken_is_success(site: Any) -> None:
    for name in ("ant", "slow"):
        site.install(name, CASES.get(name, ("",))[0])
    done = site.run("-m", "skinterp", "plugins", "--check")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["ant", "slow"]
