"""Concept lattices: exact counts of known contexts, time, and peers in their own place.

``--peer`` names a Python that has the packages of requirements-concept-lattice.txt,
which the part "peers" needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._harness import cpu_time, machine, table, write
from skinterp.lattice import ConceptLattice, read_burmeister
from skinterp.lattice import _context as engine

COMMAND = (
    "OMP_NUM_THREADS=1 python -m benchmarks.concept_lattice --peer peers/bin/python"
)
PACKAGES = ["numpy", "scikit-learn", "numba", "joblib"]
PEERS = Path(__file__).parent / "_concept_lattice_peers.py"
ROUNDS = 5

# Concepts of each context, counted by intersection closure beside the data.
CONTEXTS = {
    "animals_en": 35,
    "bodiesofwater_de": 28,
    "bodiesofwater_en": 12,
    "driveconcepts_de": 24,
    "driveconcepts_en": 24,
    "famous_animals_en": 13,
    "newzealand_en": 8,
    "planets_en": 12,
    "seasoningplanner_de": 532,
}


def random_table(n: int, m: int, p: float, seed: int) -> Any:
    """Truth table of a density."""
    return np.random.default_rng(seed).random((n, m)) < p


def mushroom() -> Any:
    """All 23 nominal columns as 119 attributes; "?" is a value like any other."""
    data = table("mushroom").fillna("?")
    return pd.get_dummies(data, columns=list(data.columns)).to_numpy(dtype=bool)


def contexts() -> dict[str, Any]:
    """Count concepts and covers of the contexts that come as files."""
    folder = Path(os.environ.get("SKINTERP_DATA", ".")) / "fca"
    rows = []
    for name, expected in CONTEXTS.items():
        X = read_burmeister(folder / f"{name}.cxt")
        lattice = ConceptLattice(implications=True).fit(X)
        found = len(lattice.intents_)
        rows.append(
            {
                "context": name,
                "objects": len(X),
                "attributes": X.shape[1],
                "concepts": found,
                "expected": expected,
                "equal": found == expected,
                "covers": len(lattice.edges_),
                "implications": len(lattice.implications_),
            }
        )
    return {
        "title": "Contexts of fcatools",
        "about": "Required: the number of concepts is the expected one in each.",
        "rows": rows,
    }


def large() -> dict[str, Any]:
    """Time the steps on the mushroom data and on a thousand random rows."""
    rows = []
    tables = {
        "mushroom": (mushroom(), 238_710),
        "1000 x 30, density 0.2": (random_table(1000, 30, 0.2, 0), 14_976),
    }
    for name, (X, expected) in tables.items():
        context = engine.Context.of(X)
        find = partial(engine.concepts, context, 0, 10**7, bar=engine.plain)
        intents, sizes = find()
        cover = partial(engine.covers, context, intents, sizes, bar=engine.plain)
        edges = cover()
        fit = partial(ConceptLattice(stability=False).fit, X)
        steps: dict[str, Callable[[], Any]] = {
            "pack s": partial(engine.Context.of, X),
            "concepts s": find,
            "covers s": cover,
            "stability s": partial(engine.stability, sizes, edges),
            "whole fit s": fit,
        }
        times = {step: [] for step in steps}
        for work in steps.values():
            work()
        for _ in range(ROUNDS):
            for step, work in steps.items():
                times[step].append(cpu_time(work))
        rows.append(
            {
                "table": name,
                "shape": f"{X.shape[0]} x {X.shape[1]}",
                "concepts": len(sizes),
                "equal": len(sizes) == expected,
                "covers": len(edges),
                **{step: float(np.median(values)) for step, values in times.items()},
            }
        )
    return {
        "title": "Large contexts",
        "about": (
            "CPU seconds after compilation, one thread, median of "
            f'{ROUNDS}. "whole fit" is ConceptLattice(stability=False): scaling, '
            "concepts and covers. Required of mushroom: 238,710 concepts in at most "
            "0.8 s, all covers in at most 8 s."
        ),
        "rows": rows,
    }


def growth() -> dict[str, Any]:
    """Time per concept as rows and attributes grow."""
    rows = []
    for n, m in (
        (250, 30),
        (1000, 30),
        (4000, 30),
        (16_000, 30),
        (1000, 60),
        (1000, 90),
    ):
        context = engine.Context.of(random_table(n, m, 0.15, 0))
        find = partial(engine.concepts, context, 0, 10**7, bar=engine.plain)
        k = len(find()[1])
        seconds = float(np.median([cpu_time(find) for _ in range(3)]))
        rows.append(
            {
                "rows": n,
                "attributes": m,
                "concepts": k,
                "CPU s": seconds,
                "us per concept": 1e6 * seconds / k,
            }
        )
    return {
        "title": "Growth",
        "about": "Random tables of density 0.15; concepts alone, without covers.",
        "rows": rows,
    }


def close_by_one(X: Any) -> int:
    """Count concepts by Close-by-One on the big integers of plain Python."""
    m = X.shape[1]
    columns = [int("".join("01"[int(x)] for x in column), 2) for column in X.T]
    found, stack = 0, [((1 << len(X)) - 1, 0, 0)]
    while stack:
        extent, intent, start = stack.pop()
        found += 1
        for j in range(start, m):
            if intent >> j & 1:
                continue
            below = extent & columns[j]
            closed = intent
            for k in range(m):
                if not closed >> k & 1 and below & columns[k] == below:
                    closed |= 1 << k
            if not (closed ^ intent) & ((1 << j) - 1):
                stack.append((below, closed, j + 1))
    return found


def plain_python() -> dict[str, Any]:
    """Ours against Close-by-One in plain Python, in turns."""
    X = random_table(1000, 30, 0.2, 0)
    start = ConceptLattice(stability=False)
    find = partial(engine.concepts, engine.Context.of(X), 0, 10**7, bar=engine.plain)
    works = {
        "Close-by-One, big integers": partial(close_by_one, X),
        "concepts alone": find,
        "whole fit, with covers": partial(start.fit, X),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    counted = {close_by_one(X), len(find()[1]), len(start.fit(X).intents_)}
    for _ in range(ROUNDS):
        for name, work in works.items():
            times[name].append(cpu_time(work))
    medians = {name: float(np.median(values)) for name, values in times.items()}
    reference = medians["Close-by-One, big integers"]
    return {
        "title": "Close-by-One in plain Python, 1000 x 30, density 0.2",
        "about": (
            f"Counts: {sorted(counted)}. CPU seconds, median of {ROUNDS} in turns. "
            "Required: at least 10 times less."
        ),
        "rows": [
            {"program": name, "CPU s": seconds, "times less": reference / seconds}
            for name, seconds in medians.items()
        ],
    }


def build_lattice(X: Any) -> Any:
    """Concepts and covers of a truth table, without the estimator around them."""
    context = engine.Context.of(X)
    intents, sizes = engine.concepts(context, 0, 10**7, bar=engine.plain)
    return engine.covers(context, intents, sizes, bar=engine.plain)


def run_peer(python: str, peer: str, path: Path) -> tuple[int, float]:
    """One lattice by a peer, in its own process."""
    done = subprocess.run(
        [python, str(PEERS), peer, str(path), "3"],
        capture_output=True,
        text=True,
        check=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    found, seconds = done.stdout.split()
    return int(found), float(seconds)


def peers(python: str | None) -> dict[str, Any]:
    """Ours and the peers on the 50 x 20 context, in turns."""
    if python is None:
        sys.exit("The part 'peers' needs --peer PYTHON.")
    X = random_table(50, 20, 0.3, 0)
    fit = partial(ConceptLattice(stability=False).fit, X)
    counted = len(fit().intents_)
    build = partial(build_lattice, X)
    build()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        np.save(path, X)
        for peer in ("concepts", "fcapy", "caspailleur"):
            own, whole, other, found = [], [], [], 0
            for _ in range(ROUNDS):
                own += [cpu_time(build) for _ in range(20)]
                whole += [cpu_time(fit) for _ in range(20)]
                found, seconds = run_peer(python, peer, path)
                other.append(seconds)
            a, b = float(np.median(own)), float(np.median(other))
            c = float(np.median(whole))
            rows.append(
                {
                    "peer": peer,
                    "found by the peer": found,
                    "found by ours": counted,
                    "peer CPU ms": 1000 * b,
                    "ours CPU ms": 1000 * a,
                    "times less": b / a,
                    "whole fit CPU ms": 1000 * c,
                    "fit times less": b / c,
                }
            )
    return {
        "title": "Peers, 50 x 20, density 0.3",
        "about": (
            "Concepts with covers; ours alone, and as a whole fit with validation. "
            "caspailleur's miner gives intents without covers. Medians of "
            f"{ROUNDS} rounds in turns. Required: 50 times less than concepts, 200 "
            "times less than fcapy."
        ),
        "rows": rows,
    }


FIRST_USE = """
import time
import numpy as np
from skinterp.lattice import ConceptLattice
import skinterp.lattice._context
X = np.random.default_rng(0).random((50, 20)) < 0.3
start = time.process_time()
ConceptLattice(implications={basis}).fit(X).transform(X)
print(time.process_time() - start)
"""


def first_use() -> dict[str, Any]:
    """Compile all kernels in a fresh process, then load them from the cache."""
    rows = []
    for basis in (False, True):
        with tempfile.TemporaryDirectory() as cache:
            env = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
            code = FIRST_USE.format(basis=basis)
            seconds = [
                float(
                    subprocess.run(
                        [sys.executable, "-c", code],
                        capture_output=True,
                        text=True,
                        check=True,
                        env=env,
                    ).stdout
                )
                for _ in range(2)
            ]
        rows.append(
            {
                "what": "fit and transform" + (", with the basis" if basis else ""),
                "compiling CPU s": seconds[0],
                "from the cache CPU s": seconds[1],
            }
        )
    return {
        "title": "First use",
        "about": "Required: below 10 s of CPU.",
        "rows": rows,
    }


def main() -> None:
    """Run all parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts: dict[str, Any] = {
        "contexts": contexts,
        "large": large,
        "growth": growth,
        "plain_python": plain_python,
        "peers": peers,
        "first_use": first_use,
    }
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--peer", help="a Python that has the peers")
    given = parser.parse_args()
    for name in given.only:
        facts = machine(PACKAGES)
        work = partial(peers, given.peer) if name == "peers" else parts[name]
        write("concept_lattice", COMMAND, facts, {name: work()})


if __name__ == "__main__":
    main()
