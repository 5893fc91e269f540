"""What every test and doctest of the project shares."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No import above loads numpy, so this comes in time: one thread per library, and no
# display.
for _variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
):
    os.environ.setdefault(_variable, "1")
os.environ["MPLBACKEND"] = "Agg"
# Plugins of other distributions stay out, so that results depend on this tree only.
os.environ["SKINTERP_LOAD_PLUGINS"] = ""

settings.register_profile(
    "default",
    max_examples=30,
    deadline=None,  # the first example compiles kernels
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("default"), max_examples=1000
)
settings.register_profile(
    "fast", parent=settings.get_profile("default"), max_examples=10
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

collect_ignore_glob = ["doc/*.py", "doc/*/*.py", "plugins/*", "benchmarks/*"]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the examples of files that cannot be imported without torch."""
    inside = "skinterp" in collection_path.parts and collection_path.suffix == ".py"
    if not inside or importlib.util.find_spec("torch") is not None:
        return None
    text = collection_path.read_text(encoding="utf-8")
    needs = re.search(r"^(import|from) (torch|skorch)\b", text, flags=re.MULTILINE)
    return True if needs else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--runslow", action="store_true", help="run the tests marked slow as well"
    )
    parser.addoption(
        "--runbrowser",
        action="store_true",
        help="run the tests that open a page in Chromium as well",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    for mark, option in (("slow", "--runslow"), ("browser", "--runbrowser")):
        if config.getoption(option):
            continue
        skip = pytest.mark.skip(reason=f"needs {option}")
        for item in items:
            if mark in item.keywords:
                item.add_marker(skip)

    if importlib.util.find_spec("torch") is None:
        skip = pytest.mark.skip(reason="the example trains with torch")
        for item in items:
            if isinstance(item, pytest.DoctestItem) and _trains(item.path):
                item.add_marker(skip)


def _trains(path: Path) -> bool:
    """Say whether the examples of a file belong to a method that needs torch."""
    from skinterp.plugins.builtin import METHODS

    rows = [row for row in METHODS if any("torch" in text for text in row.requires)]
    pages = {"networks.rst", *(f"{row.name}.rst" for row in rows)}
    targets = [target for row in rows for target in row.targets.values()]
    rooms = {"neural", *(target.split(".")[1] for target in targets)}
    name = path.name
    return name in pages or name == "_mock_neural.py" or path.parent.name in rooms


@pytest.fixture(scope="session", autouse=True)
def one_thread_per_library() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread where the environment came too late."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close what a test or doctest has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def doctest_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run doctests in an empty folder, since some of them save files."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
