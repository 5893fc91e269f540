from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from skinterp.plugins import MethodSpec
from skinterp.plugins.builtin import METHODS


def make(**fields: Any) -> MethodSpec:
    given = {
        "name": "spiral",
        "targets": {"classifier": "package.module:Class"},
        "summary": "Turns",
        "explains": {"local": ["attribution", "rules"], "global": ("rules",)},
    }
    return MethodSpec(**{**given, **fields})


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("name", "Spiral", "kebab-case"),
        ("name", "spiral_tree", "kebab-case"),
        ("name", "", "kebab-case"),
        ("name", None, "kebab-case"),
        ("name", "dist:spiral", "kebab-case"),
        ("targets", {}, "at least one task"),
        ("targets", {"Classifier": "a.b:C"}, "kebab-case"),
        ("targets", {"classifier": "a.b.C"}, "package.module:Class"),
        ("targets", {"classifier": "a.b:C()"}, "package.module:Class"),
        ("targets", {"classifier": dict}, "package.module:Class"),
        ("summary", " ", "one line"),
        ("summary", "one\ntwo", "one line"),
        ("input", "time series", "kebab-case"),
        ("explains", {}, "'global' or 'local'"),
        ("explains", {"regional": ("rules",)}, "'global' or 'local'"),
        ("explains", {"local": ()}, "a kind for each scope"),
        ("explains", {"local": ("Rules",)}, "kinds in kebab-case"),
        ("requires", ("torch >== 2",), "torch>=2.2"),
        ("reference", "Breiman 1984", "arXiv"),
        ("tier", "beta", "'experimental' or 'stable'"),
        ("cost", "free", "'cheap' or 'moderate' or 'expensive'"),
        ("search_space", {"depth": 3}, "a tuple of values for 'depth'"),
        ("search_space", {"criterion": "gini"}, "a tuple of values for 'criterion'"),
        ("exports", ("package.module",), "package.module:name"),
        ("trusted_types", ("Type",), "package.Type"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    field: str, value: Any, allowed: str
) -> None:
    with pytest.raises(ValueError, match=field) as caught:
        make(**{field: value})
    assert allowed in str(caught.value)
    assert field == "name" or "'spiral'" in str(caught.value)


@pytest.mark.parametrize("field", ["targets", "explains", "search_space"])
def test_a_mapping_is_asked_for(field: str) -> None:
    with pytest.raises(TypeError, match=f"{field} must be a mapping"):
        make(**{field: "classifier"})


@pytest.mark.parametrize("field", ["requires", "exports", "trusted_types"])
def test_a_lone_string_is_no_tuple_of_strings(field: str) -> None:
    with pytest.raises(TypeError, match=f"{field} must be a tuple of strings"):
        make(**{field: "torch"})


def test_a_row_is_read_only() -> None:
    row = make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.name = "other"  # type: ignore[misc]
    for field in ("targets", "explains", "search_space"):
        with pytest.raises(TypeError, match="item assignment"):
            getattr(row, field)["classifier"] = ()


def test_a_row_does_not_share_the_containers_of_its_author() -> None:
    targets = {"classifier": "a.b:C"}
    row = make(targets=targets)
    targets["regressor"] = "a.b:D"
    assert row.tasks == ("classifier",)


def test_kinds_are_listed_once_and_lists_become_tuples() -> None:
    row = make()
    assert row.kinds == ("attribution", "rules")
    assert row.explains["local"] == ("attribution", "rules")


@pytest.mark.parametrize("row", [make(search_space={"depth": (1, 2)}), *METHODS])
def test_a_row_copies_pickles_compares_and_hashes(row: MethodSpec) -> None:
    for twin in (pickle.loads(pickle.dumps(row)), copy.deepcopy(row)):
        assert twin == row
        assert hash(twin) == hash(row)
    assert dataclasses.replace(row, tier="stable") != dataclasses.replace(
        row, tier="experimental"
    )
    assert MethodSpec(**row.to_dict()) == row
