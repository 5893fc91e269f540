"""What every benchmark needs: data, CPU times side by side, results as files."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def data_folder(*parts: str) -> Path:
    """Return a folder of the data, whose place SKINTERP_DATA tells."""
    folder = os.environ.get("SKINTERP_DATA")
    if not folder:
        sys.exit("Set SKINTERP_DATA to the folder of the data (see README.md).")
    path = Path(folder, *parts)
    if not path.exists():
        sys.exit(f"SKINTERP_DATA={folder} holds no {Path(*parts)}.")
    return path


def cpu_time(work: Callable[[], Any]) -> float:
    """CPU seconds of one call, those of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def interleaved(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median CPU seconds of several pieces of work, run in turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():  # first calls compile and fill caches
        work()
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(cpu_time(work))
    return {name: float(np.median(values)) for name, values in times.items()}


def machine(packages: list[str]) -> dict[str, Any]:
    """Versions and what else a figure depends on."""
    versions = {}
    for name in ["skinterp", "skinterp-xrd", *packages]:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "python": platform.python_version(),
        "versions": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load_at_start": [round(x, 2) for x in os.getloadavg()],
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """Render rows as a table."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names)]
    lines += [[_short(row[name]) for name in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(
    name: str, command: str, facts: dict[str, Any], parts: dict[str, Any]
) -> None:
    """Write `results/<name>.json` and `.md`; parts that were not run are kept.

    A part is a dictionary of ``title``, ``about`` (a paragraph) and ``rows`` (a list
    of dictionaries with the same keys).
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    old = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    stamped = {key: {**part, "machine": facts} for key, part in parts.items()}
    content = {"command": command, "parts": {**old["parts"], **stamped}}
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
    lines = [f"# {name}", "", f"Made by `{command}`.", ""]
    for part in content["parts"].values():
        facts = part["machine"]
        versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
        lines += [f"## {part['title']}", "", part["about"], ""]
        lines += [markdown(part["rows"]), ""]
        lines += [
            f"Python {facts['python']}, {versions}; {facts['system']}, "
            f"{facts['cpus']} CPUs, load at start {facts['load_at_start']}.",
            "",
        ]
    path.with_suffix(".md").write_text("\n".join(lines))
