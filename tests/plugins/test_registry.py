"""Names: who answers to them, what is listed, and what a wrong one says."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import skinterp
from skinterp.plugins import MethodLookupError, MethodTable, PluginError, manager
from skinterp.plugins.builtin import METHODS

BUILTIN = [row.name for row in METHODS]
TWIN = "@hookimpl\ndef skinterp_methods():\n    return [row('boolean-tree')]"
PAIR = """
@hookimpl
def skinterp_methods():
    targets = {"classifier": "collections:OrderedDict"}
    targets["regressor"] = "collections:deque"
    return [row("pair", targets=targets, input="series", requires=("torch>=2.2",))]
"""


def states(registry: Any) -> dict[str, str]:
    return {record.distribution: record.state for record in registry.plugins}


@pytest.fixture
def using(build: Any, fresh_cache: Any) -> Any:
    """Let the public functions work on a registry of given plugins."""

    def use(*plugins: Any, **options: Any) -> Any:
        fresh_cache.registry = build(*plugins, **options)
        return fresh_cache.registry

    return use


def test_two_strangers_with_one_name(candidate: Any, using: Any) -> None:
    registry = using(candidate("ant"), candidate("bee"))
    assert states(registry) == {"skinterp": "ok", "ant": "conflict", "bee": "conflict"}
    listed = [row.listed_as for row in skinterp.list_methods()]
    assert listed == [*BUILTIN, "ant:spiral", "bee:spiral"]
    with pytest.raises(MethodLookupError) as caught:
        skinterp.get_method("spiral")
    for word in ("'ant:spiral'", "'bee:spiral'", "prefer", "SKINTERP_BLOCK_PLUGINS"):
        assert word in str(caught.value)
    assert skinterp.get_method("bee:spiral") is OrderedDict
    for name, other in (("ant", "bee"), ("bee", "ant")):
        (record,) = registry.plugins_of(name)
        assert f"also given by {other}" in record.reason
        assert f"{name}:spiral" in record.hint


def test_a_stranger_with_the_name_of_a_built_in(candidate: Any, using: Any) -> None:
    registry = using(candidate("ant", TWIN))
    assert states(registry)["ant"] == "conflict"
    assert registry.find("boolean-tree").provider == "skinterp"
    assert registry.find("ant:boolean-tree").provider == "ant"
    listed = [row.listed_as for row in registry.methods]
    assert listed == [*BUILTIN, "ant:boolean-tree"]


def test_prefer(candidate: Any, using: Any, fresh_cache: Any) -> None:
    using(candidate("ant", TWIN), candidate("bee"), candidate("cat"))
    skinterp.plugins.prefer("ant:boolean-tree")
    skinterp.plugins.prefer("Cat:spiral")
    assert skinterp.get_method("boolean-tree") is OrderedDict
    assert manager.get_registry().find("spiral").provider == "cat"
    listed = [row.listed_as for row in skinterp.list_methods()]
    own = ["skinterp:boolean-tree" if n == "boolean-tree" else n for n in BUILTIN]
    assert listed == [*own, "boolean-tree", "bee:spiral", "spiral"]
    # What was preferred is gone: the rule without it holds again.
    with manager.use_registry(manager.Registry(using(candidate("bee")).plugins)):
        assert manager.get_registry().find("spiral").provider == "bee"
    skinterp.plugins.prefer("skinterp:boolean-tree")
    assert manager.get_registry().find("boolean-tree").provider == "skinterp"


@pytest.mark.parametrize("name", ["spiral", "ant:nothing"])
def test_prefer_refuses_what_is_not_there(
    candidate: Any, using: Any, name: str
) -> None:
    using(candidate("ant"))
    with pytest.raises((ValueError, MethodLookupError), match=name):
        skinterp.plugins.prefer(name)


def test_an_outdated_preference_is_passed_over(candidate: Any, build: Any) -> None:
    records = build(candidate("ant")).plugins
    registry = manager.Registry(records, {"spiral": "bee:spiral"})
    assert registry.find("spiral").provider == "ant"


def test_one_distribution_gives_a_name_once(candidate: Any, build: Any) -> None:
    """The qualified name could not tell the two apart."""
    registry = build(candidate("ant", name="a"), candidate("ant", name="b"))
    records = registry.plugins_of("ant")
    assert [record.state for record in records] == ["ok", "broken"]
    assert "'a' gives the method 'spiral' as well" in records[1].reason
    assert registry.find("spiral").id == "ant:spiral"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("bolean-tree", "boolean-tree"),
        ("spirall", "spiral"),
        ("ant:sprial", "ant:spiral"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(
    candidate: Any, using: Any, name: str, near: str
) -> None:
    using(candidate("ant"))
    with pytest.raises(MethodLookupError, match=f"Did you mean '{near}'"):
        skinterp.get_method(name)


def test_an_unknown_name_unlike_any_lists_all(using: Any) -> None:
    using()
    with pytest.raises(MethodLookupError, match=f"Known: {', '.join(BUILTIN)}\\."):
        skinterp.get_method("xylophone")


@pytest.mark.parametrize("name", ["spiral", "ant:spiral"])
def test_a_method_of_a_broken_plugin_raises_its_error(using: Any, name: str) -> None:
    body = "@hookimpl\ndef skinterp_methods():\n    raise OSError('no disk')"
    using(body)
    name = name.replace("ant", "stranger")
    with pytest.raises(MethodLookupError, match=r"stranger .* broken") as caught:
        skinterp.get_method(name)
    assert isinstance(caught.value.__cause__, OSError)


def test_another_plugin_is_not_blamed_for_a_qualified_name(
    candidate: Any, using: Any
) -> None:
    broken = candidate("bee", "@hookimpl\ndef skinterp_methods():\n    1 / 0")
    using(candidate("ant"), broken)
    with pytest.raises(MethodLookupError) as caught:
        skinterp.get_method("ant:knot")
    assert "bee" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_switched_off_plugin_says_how_to_switch_it_on(
    candidate: Any, using: Any
) -> None:
    using(candidate("ant"), environ={"SKINTERP_BLOCK_PLUGINS": "ant"})
    with pytest.raises(MethodLookupError, match="take ant out of SKINTERP_BLOCK"):
        skinterp.get_method("ant:spiral")


def test_a_pair_wants_a_task(using: Any) -> None:
    using(PAIR)
    with pytest.raises(MethodLookupError, match="'classifier', 'regressor', no task"):
        skinterp.get_method("pair")
    with pytest.raises(MethodLookupError, match="not 'clusterer'"):
        skinterp.get_method("pair", task="clusterer")
    assert skinterp.get_method("pair", task="classifier") is OrderedDict
    assert skinterp.get_method("boolean-tree") is skinterp.get_method(
        "boolean-tree", task="classifier"
    )


def test_a_class_that_cannot_be_imported(using: Any) -> None:
    body = """
    @hookimpl
    def skinterp_methods():
        return [row(targets={"classifier": "stranger_main.missing:Class"})]
    """
    using(body)
    with pytest.raises(PluginError, match=r"'stranger:spiral' .* Reinstall") as caught:
        skinterp.get_method("spiral")
    assert isinstance(caught.value.__cause__, ImportError)


def test_a_name_must_be_text() -> None:
    with pytest.raises(TypeError, match="name must be"):
        skinterp.get_method(3)  # type: ignore[arg-type]


def test_filters(candidate: Any, using: Any) -> None:
    using(candidate("ant"), candidate("bee-hive", PAIR))

    def names(**wanted: str) -> list[str]:
        return [row.name for row in skinterp.list_methods(**wanted)]

    assert names() == [*BUILTIN, "spiral", "pair"]
    series = ["interpgn", "shapelet-transform", "softshape", "pair"]
    assert names(input="series") == series
    assert names(task="classifier", input="series") == ["interpgn", "softshape", "pair"]
    assert names(task="transformer", kind="shapelets") == ["shapelet-transform"]
    assert names(kind="rules") == ["boolean-tree"]
    assert names(provider="Bee_Hive") == ["pair"]
    assert names(provider="ant", kind="rules") == []
    # A word that is known but has no method yet is no mistake.
    assert names(input="graph") == []


@pytest.mark.parametrize(
    ("field", "value", "near"),
    [
        ("task", "clasifier", "classifier"),
        ("input", "tabula", "tabular"),
        ("kind", "rule", "rules"),
        ("provider", "skinter", "skinterp"),
    ],
)
def test_a_wrong_filter_is_refused(field: str, value: str, near: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be .* Did you mean '{near}'"):
        skinterp.list_methods(**{field: value})


def test_table(candidate: Any, using: Any) -> None:
    body = """
    @hookimpl
    def skinterp_methods():
        import dataclasses
        return [dataclasses.replace(row(), summary="<b>&\\x1b[2J" + "long " * 50)]
    """
    using(body)
    table = skinterp.list_methods()
    head, rule, *_, last = repr(table).splitlines()
    assert head.split() == [
        *("method", "tasks", "input", "explains", "provider", "summary")
    ]
    assert set(rule) == {"-", " "}
    assert len(last) == 120
    assert last.endswith("…")
    assert "\x1b" not in last
    html = table._repr_html_()
    assert "&lt;b&gt;&amp;" in html
    assert "<b>" not in html
    assert isinstance(table[:1], MethodTable)
    assert table[-1].id == "stranger:spiral"
    assert repr(MethodTable()) == "(no methods)"


def test_table_as_a_frame(using: Any) -> None:
    using(PAIR)
    frame = skinterp.list_methods().to_frame()
    assert list(frame.index) == [*(f"skinterp:{n}" for n in BUILTIN), "stranger:pair"]
    assert frame.loc["stranger:pair", "requires"] == ["torch>=2.2"]
    empty = skinterp.list_methods(input="graph").to_frame()
    assert list(empty.columns) == list(frame.columns)
    assert len(empty) == 0


def test_kinds(candidate: Any, using: Any) -> None:
    body = "@hookimpl\ndef skinterp_kinds():\n    return {{'{}': 'own.place:Kind'}}"
    plugins = [candidate("ant", body.format("wheel"))]
    plugins += [candidate(name, body.format("cog")) for name in ("bee", "cat")]
    plugins += [candidate("dog", body.format("rules"))]
    registry = using(*plugins)
    kinds = skinterp.plugins.explanation_kinds()
    assert kinds["wheel"] == "own.place:Kind"
    assert kinds["rules"] == "skinterp.explanation:RuleSet"
    assert "cog" not in kinds
    found = {record.distribution: record for record in registry.plugins}
    assert [found[n].state for n in ("ant", "bee", "cat", "dog")] == [
        "ok",
        *["conflict"] * 3,
    ]
    assert (
        "kind of explanation 'rules' is also given by skinterp" in found["dog"].reason
    )


def test_trusted_types_are_ours_and_declared_ones(candidate: Any, using: Any) -> None:
    body = """
    @hookimpl
    def skinterp_methods():
        own = {"classifier": "stranger_main:Own", "regressor": "collections:deque"}
        return [row(targets=own, trusted_types=("stranger_main.State",))]
    """
    broken = "@hookimpl\ndef skinterp_methods():\n    return [row(name='A')]"
    using(body, candidate("ant", broken))
    trusted = set(skinterp.plugins.trusted_types())
    assert "skinterp.trees._boolean_tree.BooleanTreeClassifier" in trusted
    using(broken)
    ours = set(skinterp.plugins.trusted_types())
    assert trusted - ours == {"stranger_main.Own", "stranger_main.State"}


def test_registry_prints_what_to_do(candidate: Any, build: Any) -> None:
    text = repr(build(candidate("ant", "API = (2, 0)"), candidate("bee")))
    assert "bee       1.0" not in text
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["skinterp", "ant", "bee"]
    assert lines[5].startswith(
        "The plugin ant 0+unknown is incompatible: it is written"
    )
    assert "SKINTERP_BLOCK_PLUGINS=ant" in lines[5]
