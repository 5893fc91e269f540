"""The author's guide names every hook, field, state and switch."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest

from skinterp.plugins import MethodSpec, _discovery, hookspecs
from skinterp.plugins._loader import HOOKS
from skinterp.plugins._record import STATES
from skinterp.testing import method_checks
from skinterp.testing._check import CHECKS
from skinterp.testing.mocks import CentroidClassifier

DOC = Path(__file__).resolve().parents[2] / "doc" / "plugins"
pytestmark = pytest.mark.skipif(not DOC.exists(), reason="needs the source tree")


def page(name: str) -> str:
    return (DOC / f"{name}.rst").read_text(encoding="utf-8")


def test_there_are_hooks() -> None:
    assert "skinterp_methods" in HOOKS


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_documented_with_its_arguments(hook: str) -> None:
    function = getattr(hookspecs, hook)
    arguments = ", ".join(inspect.signature(function).parameters)
    assert f".. py:function:: {hook}({arguments})\n" in page("hooks")
    summary = inspect.getdoc(function).splitlines()[0]  # type: ignore[union-attr]
    assert summary in page("hooks")


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(MethodSpec)])
def test_a_field_of_the_row_is_documented(field: str) -> None:
    assert f"   * - ``{field}``\n" in page("hooks")
    assert f"    {field} : " in str(MethodSpec.__doc__)


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_documented(state: str) -> None:
    assert f"   * - ``{state}``\n" in page("index")


@pytest.mark.parametrize("name", ["LOAD", "BLOCK", "TRACE", "STRICT"])
def test_a_switch_is_documented(name: str) -> None:
    switch = getattr(_discovery, name)
    guide = (DOC.parent / "guide" / "plugins.rst").read_text(encoding="utf-8")
    assert switch in guide
    assert any(switch in page(p) for p in ("index", "authoring", "testing"))


def test_the_topics_of_the_battery_are_documented() -> None:
    next(method_checks(CentroidClassifier()))  # fills the list of checks
    topics = {check.topic for check in CHECKS.values()}
    assert topics
    assert not [topic for topic in topics if f"**{topic}**" not in page("testing")]
