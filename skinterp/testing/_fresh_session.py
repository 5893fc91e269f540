"""Starting the fresh process: once for all estimators that are to be checked."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from skinterp.testing._case import Case
from skinterp.testing._fresh_work import STAGES, Item

SECONDS = 60.0


class FreshSession:
    """Results of the fresh process for every estimator that was announced.

    The first question about an estimator without results starts the process, for all
    that were announced until then; so hundreds of estimators cost one start.

    Parameters
    ----------
    seconds : float, default=60.0
        How long an item of work may take before the process counts as hanging.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._waiting: list[Case] = []
        self._results: dict[tuple[str, int], str | None] = {}
        # keeps the cases alive, whose ids are the keys
        self._known: list[Case] = []

    def announce(self, case: Case) -> None:
        """Say that questions about a case may come."""
        if not any(case is known for known in self._known):
            self._known.append(case)
            self._waiting.append(case)

    def withdraw(self, unwanted: Callable[[Case], bool]) -> None:
        """Leave cases out that were announced, until a question about one comes."""
        left = [case for case in self._waiting if unwanted(case)]
        for cases in (self._waiting, self._known):
            cases[:] = [case for case in cases if not any(case is one for one in left)]

    def error(self, stage: str, case: Case) -> str | None:
        """What went wrong with a case in a stage, None if nothing."""
        self.announce(case)
        if any(case is waiting for waiting in self._waiting):
            waiting, self._waiting = self._waiting, []
            self._run(waiting)
        return self._results[stage, id(case)]

    def _run(self, cases: Sequence[Case]) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for place in ("home", "empty"):
                (folder / place).mkdir()
            todo: list[Item] = []
            for i, case in enumerate(cases):
                error = _write(folder / f"case{i}", case)
                for stage in STAGES:
                    self._results[stage, id(case)] = error
                    # a module can be imported whatever its estimators do
                    if usable(stage) and (error is None or stage == "import"):
                        todo.append((stage, f"case{i}"))
            todo.sort(key=lambda item: list(STAGES).index(item[0]))
            keyed = {f"case{i}": case for i, case in enumerate(cases)}
            while todo:
                todo = self._start(folder, todo, keyed)

    def _start(
        self, folder: Path, todo: list[Item], cases: dict[str, Case]
    ) -> list[Item]:
        """Run one process until it ends or hangs, and return what is left to do."""
        (folder / "todo.json").write_text(json.dumps(todo), "utf-8")
        results = folder / "results.jsonl"
        results.write_text("", "utf-8")
        ended = _watch(folder, results, self.seconds)
        done: set[Item] = set()
        for line in results.read_text("utf-8").splitlines():
            result = json.loads(line)
            item = result["stage"], result["key"]
            done.add(item)
            self._results[item[0], id(cases[item[1]])] = result["error"]
        left = [item for item in todo if item not in done]
        if left:
            stage, key = left.pop(0)
            self._results[stage, id(cases[key])] = ended
        return left


def usable(stage: str) -> bool:
    """Whether a stage exists on this system."""
    return stage != "fork" or hasattr(os, "fork")


def _write(folder: Path, case: Case) -> str | None:
    """Write what the process needs; say why not if it cannot be pickled."""
    folder.mkdir()
    module = type(case.estimator).__module__
    (folder / "module.json").write_text(json.dumps(module), "utf-8")
    try:
        X, y = case.Xy
        data = X, y, case.answers(case.fitted, X)
        for name, value in (
            ("new", case.new()),
            ("fitted", case.fitted),
            ("data", data),
        ):
            (folder / f"{name}.pkl").write_bytes(pickle.dumps(value))
    except Exception as error:
        return f"cannot be handed to another process: {type(error).__name__}: {error}"
    return None


def _watch(folder: Path, results: Path, seconds: float) -> str:
    """Wait for the process while it makes progress; say how it ended."""
    log = folder / "log.txt"
    (folder / "ready").unlink(missing_ok=True)
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "skinterp.testing._fresh", str(folder)],
            cwd=folder / "empty",
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
        size, last = -1, time.monotonic()
        while process.poll() is None:
            if results.stat().st_size != size:
                size, last = results.stat().st_size, time.monotonic()
            ready = (folder / "ready").exists()
            if time.monotonic() - last > (seconds if ready else SECONDS):
                _kill(process)
                return f"does not finish within {seconds:.0f} s"
            time.sleep(0.02)
    _kill(process)  # whatever it has started and left behind
    tail = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
    return f"ends the process with code {process.returncode} {' '.join(tail)}".strip()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _environment(folder: Path) -> dict[str, str]:
    """Environment with the parent's paths, another hash seed and an empty home."""
    here = os.fspath(Path.cwd())
    paths = [os.path.abspath(path) if path else here for path in sys.path]
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    return environment | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "12345",
        "PYTHONWARNINGS": "ignore",
        "HOME": str(folder / "home"),
        "USERPROFILE": str(folder / "home"),
        "MPLCONFIGDIR": str(folder),
        "MPLBACKEND": "Agg",
    }


#: The session of this process.
FRESH = FreshSession()
