"""Import each plugin in a process of its own, which a crash or a hang cannot leave.

``python -m skinterp.plugins._check`` is that process; it writes what it found to a
file, since a plugin may print anything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from skinterp.plugins._discovery import (
    LOAD,
    STRICT,
    Candidate,
    Switches,
    find_plugins,
)
from skinterp.plugins._errors import PluginError
from skinterp.plugins._record import PluginRecord, describe, how_to_disable
from skinterp.plugins.spec import CommandSpec, MethodSpec

TIMEOUT = 60.0


def check_candidates(
    candidates: Iterable[Candidate] | None = None,
    timeout: float = TIMEOUT,
    on_start: Callable[[Candidate], object] | None = None,
) -> list[PluginRecord]:
    """Load each plugin in its own process and import the classes of its rows.

    Parameters
    ----------
    candidates : iterable of Candidate, optional
        The plugins; those that are installed when None.
    timeout : float, default=60.0
        Seconds after which a plugin counts as hanging.
    on_start : callable, optional
        Called with each candidate before its turn.

    Returns
    -------
    list of PluginRecord
        One for each candidate. What is switched off is not run.

    Examples
    --------
    >>> check_candidates([])
    []
    """
    records = []
    switches = Switches.read()
    for candidate in find_plugins() if candidates is None else candidates:
        name = candidate.distribution
        reason = switches.off_because(name)
        if reason:
            hint = switches.how_to_use(name)
            records.append(_left_out(candidate, "disabled", reason, hint))
            continue
        if on_start is not None:
            on_start(candidate)
        records.append(_check_one(candidate, timeout))
    return records


def _check_one(candidate: Candidate, timeout: float) -> PluginRecord:
    with tempfile.TemporaryDirectory(prefix="skinterp-check-") as folder:
        answer = Path(folder, "answer.json")
        command = [sys.executable, "-P", "-m", __name__, candidate.id, str(answer)]
        try:
            done = subprocess.run(
                command,
                env=_environment(candidate),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _failed(candidate, f"it is not loaded after {timeout:g} seconds")
        if not answer.exists():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            reason = f"it ended the process, exit code {done.returncode}"
            return _failed(candidate, reason + "".join(f" ({line})" for line in last))
        return _record(candidate, json.loads(answer.read_text(encoding="utf-8")))


def _environment(candidate: Candidate) -> dict[str, str]:
    """Copy the environment, with this plugin alone and this process's path."""
    path = os.pathsep.join(os.path.abspath(entry or ".") for entry in sys.path)
    alone = {LOAD: candidate.distribution, STRICT: "", "PYTHONPATH": path}
    return {**os.environ, **alone}


def _failed(candidate: Candidate, reason: str) -> PluginRecord:
    hint = f"Tell its authors. {how_to_disable(candidate.distribution)}"
    return _left_out(candidate, "broken", reason, hint)


def _left_out(candidate: Candidate, state: str, reason: str, hint: str) -> PluginRecord:
    return PluginRecord(candidate=candidate, state=state, reason=reason, hint=hint)


def _record(candidate: Candidate, answer: dict[str, Any]) -> PluginRecord:
    error = PluginError(answer["error"]) if answer["error"] else None
    return PluginRecord(
        candidate=candidate,
        state=answer["state"],
        reason=answer["reason"],
        hint=answer["hint"],
        error=error,
        notes=tuple(answer["notes"]),
        methods=tuple(MethodSpec(**row) for row in answer["rows"]),
        kinds=answer["kinds"],
        commands=tuple(CommandSpec(**row) for row in answer["commands"]),
    )


def _answer(plugin: str) -> dict[str, Any]:
    """Load one plugin here and say how it went."""
    # Imported here: this runs in the child only.
    from skinterp.plugins.manager import build_registry

    candidates = [c for c in find_plugins() if c.id == plugin]
    record = build_registry(candidates).plugins[-1]
    if record.usable:
        record = _import_targets(record)
    rows = [_without_search_space(row) for row in record.methods]
    commands = [row.to_dict() for row in record.commands]
    kinds = dict(record.kinds)
    return {**record.to_dict(), "rows": rows, "kinds": kinds, "commands": commands}


def _import_targets(record: PluginRecord) -> PluginRecord:
    """Import the classes of the rows and of the kinds, and the commands."""
    from skinterp.plugins._record import resolve

    targets = [
        t for row in record.methods for t in (*row.targets.values(), *row.exports)
    ]
    targets += [*record.kinds.values(), *(row.target for row in record.commands)]
    for target in targets:
        try:
            resolve(target)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # as in the loader
            reason = f"importing {target!r} failed ({describe(error)})"
            return _failed(record.candidate, reason)
    return record


def _without_search_space(row: MethodSpec) -> dict[str, Any]:
    # Its values may be anything, and the report does not need them.
    return {k: v for k, v in row.to_dict().items() if k != "search_space"}


if __name__ == "__main__":
    result = json.dumps(_answer(sys.argv[1]))
    Path(sys.argv[2]).write_text(result, encoding="utf-8")
