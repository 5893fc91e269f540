"""Testing a plugin: a registry of its own, and checks of its rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from skinterp.plugins import API_VERSION, get_registry
from skinterp.plugins._discovery import GROUP, Candidate, canonical
from skinterp.plugins.manager import build_registry, use_registry
from skinterp.testing._check import CheckRecord, run
from skinterp.testing._runner import cases_of, finish, run_checks

if TYPE_CHECKING:
    from skinterp.plugins import MethodRow, PluginRecord, Registry


@contextmanager
def isolated_registry(*modules: str) -> Iterator[Registry]:
    """Use a registry of the built-in methods and the given plugins only.

    What is installed, what was preferred and the switches in the environment play no
    role inside; everything is as before afterwards.

    Parameters
    ----------
    *modules : str
        Dotted names of modules with hooks, as an entry point names them.

    Yields
    ------
    Registry
        The one that `skinterp.list_methods` and `skinterp.get_method` use inside.

    Examples
    --------
    >>> import skinterp
    >>> from skinterp.testing import isolated_registry
    >>> with isolated_registry():
    ...     {row.provider for row in skinterp.list_methods()}
    {'skinterp'}
    """
    candidates = [
        Candidate(
            entry_point=EntryPoint(name, name, GROUP),
            distribution=canonical(name.partition(".")[0]),
        )
        for name in modules
    ]
    with use_registry(build_registry(candidates, {})) as registry:
        yield registry


def check_plugin(distribution: str, *, on_fail: str = "raise") -> list[CheckRecord]:
    """Check an installed plugin: its metadata, its rows, and every method of it.

    Parameters
    ----------
    distribution : str
        Name of the distribution, as in ``pip install``.
    on_fail : {"raise", "record"}, default="raise"
        Whether to raise, after all checks have run, if one needs attention.

    Returns
    -------
    list of CheckRecord
        What became of each check.

    Raises
    ------
    MethodCheckError
        If a check failed and ``on_fail`` is "raise".

    Examples
    --------
    >>> from skinterp.testing import check_plugin
    >>> records = check_plugin("no-such-distribution", on_fail="record")
    >>> records[0].name, records[0].status
    ('check_plugin_loads', 'failed')
    """
    records = get_registry().plugins_of(distribution)
    results = [
        run(name, distribution, work, None)
        for name, work in plugin_checks(distribution, records)
    ]
    if all(record.usable for record in records):
        rows = [
            row
            for row in get_registry().methods
            if row.provider == canonical(distribution)
        ]
        for row in rows:
            results += _check_row(row)
        results += _battery(rows)
    return finish(results, on_fail)


Work = Callable[[], None]


def plugin_checks(
    distribution: str, records: list[PluginRecord]
) -> Iterator[tuple[str, Work]]:
    """Yield the checks of a plugin as a whole."""
    yield "check_plugin_loads", lambda: check_plugin_loads(distribution, records)
    yield "check_plugin_api", lambda: check_plugin_api(records)
    yield "check_plugin_version", lambda: check_plugin_version(records)
    yield "check_plugin_has_rows", lambda: check_plugin_has_rows(records)
    yield "check_plugin_commands", lambda: check_plugin_commands(records)


def check_plugin_loads(distribution: str, records: list[PluginRecord]) -> None:
    """The distribution is installed, has an entry point, loads without a note."""
    assert records, (
        f"{distribution!r} is not installed, or has no entry point in group {GROUP!r}"
    )
    for record in records:
        assert record.state == "ok", record.message
        assert not record.notes, f"{distribution}: {'; '.join(record.notes)}"


def check_plugin_api(records: list[PluginRecord]) -> None:
    """The module states the version of the plugin interface it is written for."""
    for record in records:
        module = importlib.import_module(record.candidate.entry_point.module)
        api = getattr(module, "API", None)
        stated = isinstance(api, tuple) and len(api) == 2
        assert stated, (
            f"{module.__name__} should state API = {API_VERSION}, has {api!r}"
        )


def check_plugin_version(records: list[PluginRecord]) -> None:
    """The metadata have a version, and require skinterp with a lower bound."""
    for record in records:
        assert record.version, f"{record.distribution} has no version"
        assert "unknown" not in record.version, f"version is {record.version}"
        if not record.candidate.builtin:
            core = [r for r in record.candidate.requires if _is_core(r)]
            assert any(">=" in r for r in core), (
                f"{record.distribution} should require skinterp>=..., requires {core}"
            )


def _is_core(requirement: str) -> bool:
    name = requirement.replace(" ", "")
    return name.startswith("skinterp") and not name[8:9].isalnum() and name[8:9] != "-"


def check_plugin_has_rows(records: list[PluginRecord]) -> None:
    """The plugin registers a method, a kind of explanation or a command."""
    for record in records:
        given = record.methods or record.kinds or record.commands
        assert given, f"{record.distribution} gives nothing"


def check_plugin_commands(records: list[PluginRecord]) -> None:
    """The targets of the commands are typer apps, and their help can be shown."""
    # Imported here: most plugins bring no command.
    import typer
    from typer.testing import CliRunner

    for command in (row for record in records for row in record.commands):
        if command.target.startswith("skinterp."):  # the library's own
            continue
        module, _, name = command.target.partition(":")
        found = getattr(importlib.import_module(module), name)
        assert isinstance(found, typer.Typer), (
            f"{command.target} must be a typer.Typer, is {found!r}"
        )
        result = CliRunner().invoke(found, ["--help"])
        assert result.exit_code == 0, f"{command.name} --help: {result.output}"


def row_checks(row: MethodRow) -> Iterator[tuple[str, Work]]:
    """Yield the checks of one row."""
    yield "check_row_resolves", lambda: check_row_resolves(row)
    yield "check_row_explains", lambda: check_row_explains(row)
    yield "check_row_tags", lambda: check_row_tags(row)
    yield "check_row_reference", lambda: check_row_reference(row)
    yield "check_row_search_space", lambda: check_row_search_space(row)


def check_row_resolves(row: MethodRow) -> None:
    """Every target and export of a row can be imported."""
    for task in row.tasks:
        assert isinstance(row.load(task), type), f"{row.targets[task]} is no class"
    for export in row.exports:
        module, _, name = export.partition(":")
        assert hasattr(importlib.import_module(module), name), f"{export} is missing"


def check_row_explains(row: MethodRow) -> None:
    """A row says of explanations what its classes say."""
    for task in row.tasks:
        cls: Any = row.load(task)
        declared = {scope: tuple(kinds) for scope, kinds in cls.explains.items()}
        stated = {scope: tuple(kinds) for scope, kinds in row.explains.items()}
        assert stated == declared, f"{row.id}: row {stated}, {cls.__name__} {declared}"


def check_row_tags(row: MethodRow) -> None:
    """A row says of input, packages and task what its classes say."""
    for task in row.tasks:
        for case in cases_of(row.load(task)):
            got = case.tags.input, tuple(case.tags.requires)
            expected = row.input, tuple(row.requires)
            assert got == expected, f"{case.name}: tags {got}, row {expected}"
            told = case.sklearn_tags.estimator_type
            if task in ("classifier", "regressor"):
                assert told == task, f"{case.name} is a {told} in the row of a {task}"


def check_row_reference(row: MethodRow) -> None:
    """A row has a summary and names the paper, which the class names too."""
    assert row.summary, f"{row.id} has no summary"
    assert row.reference, f"{row.id} names no reference (arXiv, DOI or address)"
    for task in row.tasks:
        doc = row.load(task).__doc__ or ""
        number = row.reference.partition(":")[2]
        assert number in doc, f"{row.targets[task]} does not cite {row.reference}"


def check_row_search_space(row: MethodRow) -> None:
    """The search space names parameters that every class of the row has."""
    for task in row.tasks:
        known = set(row.load(task)().get_params())
        unknown = sorted(set(row.search_space) - known)
        assert not unknown, f"{row.id}: search_space has unknown parameters {unknown}"


def _check_row(row: MethodRow) -> list[CheckRecord]:
    return [run(name, row.id, work, None) for name, work in row_checks(row)]


def _battery(rows: list[MethodRow]) -> list[CheckRecord]:
    cases = []
    for row in rows:
        for task in row.tasks:
            try:
                cases += cases_of(row.load(task))
            except Exception:  # check_row_resolves has told
                continue
    return run_checks(cases)
