"""What every test and doctest of the plugin shares."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from hypothesis import HealthCheck, settings

# No import above loads numpy: one thread per library, and no display.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ["MPLBACKEND"] = "Agg"
# Other plugins stay out, so that results depend on this one only.
os.environ["SKINTERP_LOAD_PLUGINS"] = "skinterp-xrd"

settings.register_profile(
    "default",
    max_examples=30,
    deadline=None,  # the first example compiles kernels
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")

collect_ignore_glob = ["doc/*.py", "benchmarks/*"]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the examples that train a network where torch is not installed."""
    if importlib.util.find_spec("torch") is not None:
        return None
    if "src" not in collection_path.parts and collection_path.suffix != ".rst":
        return None
    if not collection_path.is_file():
        return None
    text = collection_path.read_text(encoding="utf-8", errors="replace")
    needs = r"^(import|from) (torch|skorch)\b|XRDSymmetryClassifier\("
    return True if re.search(needs, text, flags=re.MULTILINE) else None
