"""What the fresh process does: one item of work per behaviour and estimator.

The parent writes a folder per estimator with its pickles and the expected answers; each
item appends one line to ``results.jsonl``. So a process that hangs or dies tells by the
first missing line at which item it did.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: Roots of packages that importing a method must not load.
HEAVY = (
    "torch",
    "matplotlib",
    "transformers",
    "torch_geometric",
    "skorch",
    "tensorflow",
    "jax",
    "shap",
    "IPython",
    "pytest",
    "hypothesis",
)

Item = tuple[str, str]  # stage, key of the estimator


def main(folder: Path) -> None:
    """Do what is not yet done, stage by stage."""
    import skinterp.testing._case  # noqa: F401  (as slow as the machine, so before)

    (folder / "ready").touch()
    todo: list[Item] = [tuple(item) for item in _read(folder / "todo.json")]
    here = [item for item in todo if item[0] in IN_PROCESS]
    run_items(folder, here)
    for stage in ("fork", "spawn"):
        items = [item for item in todo if item[0] == stage]
        if items:
            context: Any = multiprocessing.get_context(stage)
            child = context.Process(target=run_items, args=(folder, items))
            child.start()
            child.join()
            if child.exitcode != 0:
                sys.exit(1)
    items = [item for item in todo if item[0] == "pool"]
    if items:
        from joblib import Parallel, delayed

        work = (delayed(run_items)(folder, [item]) for item in items)
        Parallel(n_jobs=2, backend="loky")(work)


def run_items(folder: Path, items: Sequence[Item]) -> None:
    """Do items of work and note what came of each."""
    for stage, key in items:
        error = None
        try:
            STAGES[stage](folder / key)
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
        line = json.dumps({"stage": stage, "key": key, "error": error})
        # one write in append mode, since two processes may do so at once
        with open(folder / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(line + "\n")


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _unpickle(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def import_module(folder: Path) -> None:
    """Import the module of the estimator, which must load nothing heavy."""
    before = set(sys.modules)
    importlib.import_module(_read(folder / "module.json"))
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    heavy = sorted(new & set(HEAVY))
    assert not heavy, f"importing the method imports {', '.join(heavy)}"


def load(folder: Path) -> None:
    """Unpickle the fitted estimator, which must answer as it did."""
    from skinterp.testing._case import Case
    from skinterp.testing._compare import assert_same

    X, _, expected = _unpickle(folder / "data.pkl")
    estimator = _unpickle(folder / "fitted.pkl")
    answers = Case(estimator).answers(estimator, X)
    assert_same(answers, expected, "unpickled in a fresh process")


def fit(folder: Path) -> None:
    """Fit a new estimator, which must answer as the one in the parent."""
    from skinterp.testing._case import Case
    from skinterp.testing._compare import assert_same

    X, y, expected = _unpickle(folder / "data.pkl")
    estimator = _unpickle(folder / "new.pkl")
    case = Case(estimator)
    answers = case.answers(case.fit(estimator, X, y), X)
    assert_same(answers, expected, "fitted in another process")


def silent(folder: Path) -> None:
    """Fit, predict and explain with nothing printed and no file written."""
    places = [Path.cwd(), Path.home()]
    before = [_listing(place) for place in places]
    with _captured(folder / "printed.txt"):
        fit(folder)
    printed = (folder / "printed.txt").read_text("utf-8", "replace")
    assert not printed, f"prints {printed[:80]!r}"
    for place, names in zip(places, before, strict=True):
        new = sorted(_listing(place) - names)
        assert not new, f"writes the file {new[0]}"


def _listing(place: Path) -> set[str]:
    # caches of compiled code belong into .cache of the home
    found = {str(p.relative_to(place)) for p in place.rglob("*")}
    return {name for name in found if not name.startswith(".cache")}


@contextlib.contextmanager
def _captured(path: Path) -> Iterator[None]:
    """Send what is printed to a file, also what compiled code prints."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in zip((1, 2), saved, strict=True):
                os.dup2(copy, number)
                os.close(copy)


IN_PROCESS = ("import", "load", "fit", "silent")
STAGES: dict[str, Callable[[Path], None]] = {
    "import": import_module,
    "load": load,
    "fit": fit,
    "silent": silent,
    "fork": fit,
    "spawn": fit,
    "pool": fit,
}
