"""The list of checks in the documentation.

``python -m skinterp.testing._catalogue doc/testing.rst`` brings the page up to date.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import skinterp.testing._runner  # noqa: F401  (it fills the list of checks)
from skinterp.testing._check import CHECKS, Check

START, END = ".. the list of checks starts here", ".. the list of checks ends here"


def topics() -> dict[str, list[Check]]:
    """Checks by the module they lie in."""
    found: dict[str, list[Check]] = {}
    for one in sorted(CHECKS.values(), key=lambda one: one.topic):
        found.setdefault(one.topic, []).append(one)
    return found


def listing() -> str:
    """Every check with what it asks for, as reStructuredText."""
    lines = []
    for topic, checks in topics().items():
        module = importlib.import_module(f"skinterp.testing._checks_{topic}")
        about = (module.__doc__ or "").split("\n")[0]
        lines += ["", topic.capitalize(), "~" * len(topic), "", about, ""]
        for one in checks:
            lines += [f"``{one.name}``", f"   {one.summary}"]
    return "\n".join(lines) + "\n"


def with_listing(page: str) -> str:
    """Return a page with the list between its marks renewed."""
    head, _, rest = page.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n{listing()}\n{END}{tail}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_listing(path.read_text("utf-8")), "utf-8")
