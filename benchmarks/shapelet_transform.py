"""Shapelet transform against aeon's random shapelet transform: accuracy, time.

Every fit of the accuracy part is written to ``results/shapelet_transform.jsonl`` at
once, and not repeated when the command is given again; the table is made of what the
file holds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from aeon.transformations.collection.shapelet_based import RandomShapeletTransform
from numba import njit
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._harness import interleaved, machine, write
from skinterp.series import ShapeletTransformer

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.shapelet_transform"
PACKAGES = ["numpy", "scikit-learn", "numba", "aeon"]
RUNS = Path(__file__).parent / "results" / "shapelet_transform.jsonl"
SEEDS = range(5)
N_CANDIDATES = 1000
QUICK = ("ItalyPowerDemand", "GunPoint", "CBF")


# -- data -------------------------------------------------------------------------
def folder() -> Path:
    """Folder of the univariate sets."""
    place = os.environ.get("SKINTERP_DATA")
    if not place:
        sys.exit("Set SKINTERP_DATA to the folder that holds ts/ucr.")
    return Path(place) / "ts" / "ucr"


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Training and test part of a set, as (n_cases, 1, n_timepoints)."""
    with np.load(folder() / f"{name}.npz") as parts:
        X, X_new = parts["X_train"], parts["X_test"]
        y, y_new = parts["y_train"], parts["y_test"]
    shape = (-1, 1, X.shape[-1])
    return X.reshape(shape).astype(float), y, X_new.reshape(shape).astype(float), y_new


def size(name: str) -> int:
    """Work of a set, by which the smallest come first."""
    X, _, X_new, _ = load(name)
    return (len(X) + len(X_new)) * X.shape[-1] ** 2


def names() -> list[str]:
    """All sets, smallest first."""
    return sorted((p.stem for p in folder().glob("*.npz")), key=size)


# -- both methods -----------------------------------------------------------------
def ours(X: Any, y: Any, seed: int, n_candidates: int = N_CANDIDATES) -> Any:
    """Ours, with the number of shapelets that the peer keeps by default."""
    per_class = max(1, min(10 * len(X), 1000) // len(np.unique(y)))
    return ShapeletTransformer(
        n_candidates, n_shapelets=per_class, random_state=seed, n_jobs=1
    )


def peer(X: Any, y: Any, seed: int, n_candidates: int = N_CANDIDATES) -> Any:
    """The peer with its defaults."""
    return RandomShapeletTransform(n_shapelet_samples=n_candidates, random_state=seed)


MAKERS: dict[str, Callable[..., Any]] = {"ours": ours, "aeon": peer}


def warm_up() -> None:
    """Compile both; gives the CPU seconds of our first use."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 1, 200)), np.arange(10) % 2
    start = time.process_time()
    ours(X, y, 0, 20).fit(X, y).transform(X)
    warm_up.seconds = time.process_time() - start  # type: ignore[attr-defined]
    ours(X, y, 0, 20).fit_transform(X, y)
    peer(X, y, 0, 20).fit_transform(X, y)
    peer(X, y, 0, 20).fit(X, y).transform(X)


# -- accuracy ---------------------------------------------------------------------
def done() -> dict[str, Any]:
    """Read the fits that were made already."""
    if not RUNS.exists():
        return {}
    lines = (json.loads(line) for line in RUNS.read_text().splitlines())
    return {line["key"]: line for line in lines}


def kept(key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do some work, or take what it gave before."""
    before = done()
    if key not in before:
        before[key] = {"key": key, **work()}
        RUNS.parent.mkdir(exist_ok=True)
        with RUNS.open("a") as file:
            file.write(json.dumps(before[key]) + "\n")
    return before[key]


def one_set(name: str, seed: int) -> dict[str, Any]:
    """Test accuracy and CPU seconds of both, one after the other."""
    X, y, X_new, y_new = load(name)
    found: dict[str, Any] = {}
    for label, make in MAKERS.items():
        method = make(X, y, seed)
        start = time.process_time()
        train = method.fit_transform(X, y)
        middle = time.process_time()
        test = method.transform(X_new)
        end = time.process_time()
        # shapelets of the peer without any distance are possible on small sets
        model = make_pipeline(
            StandardScaler(), RidgeClassifierCV(alphas=np.logspace(-3, 3, 10))
        ).fit(train, y)
        found |= {
            f"{label} accuracy": float(model.score(test, y_new)),
            f"{label} fit": middle - start,
            f"{label} transform": end - middle,
            f"{label} kept": int(train.shape[1]),
        }
    return found


def accuracy(sets: Any = None, seeds: Any = SEEDS) -> dict[str, Any]:
    """All sets, both methods, several seeds."""
    chosen = list(sets or names())
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in chosen}
    for seed in seeds:  # all sets once, before any has another seed
        for name in chosen:
            key = f"{name} {seed}"
            if only_made and key not in done():
                continue
            found[name].append(kept(key, lambda n=name, s=seed: one_set(n, s)))
            print(key, flush=True)
    rows = [_row(name, made) for name, made in found.items() if made]
    return {"title": "Accuracy and time", "about": _about(rows), "rows": rows}


only_made = False


def _row(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    # fits whose times an older program took hold none
    timed = [one for one in found if "ours fit" in one]

    def mean(key: str) -> float:
        return float(np.mean([one[key] for one in found if key in one]))

    def ratio(*keys: str) -> float:
        peers = [sum(one[f"aeon {k}"] for k in keys) for one in timed]
        own = [sum(one[f"ours {k}"] for k in keys) for one in timed]
        return float(np.median(np.array(peers) / own))

    return {
        "data": name,
        "ours": mean("ours accuracy"),
        "aeon": mean("aeon accuracy"),
        "CPU s, ours": mean("ours fit") + mean("ours transform"),
        "CPU s, aeon": mean("aeon fit") + mean("aeon transform"),
        "aeon / ours": ratio("fit", "transform"),
        "fit": ratio("fit"),
        "transform": ratio("transform"),
        "seeds": len(found),
        "timed": len(timed),
    }


def _about(rows: list[dict[str, Any]]) -> str:
    def geometric(key: str) -> float:
        return float(np.exp(np.mean([np.log(row[key]) for row in rows])))

    mine, other = (np.array([row[k] for row in rows]) for k in ("ours", "aeon"))
    off = mine - other
    error = off.std(ddof=1) / np.sqrt(len(off)) if len(off) > 1 else float("nan")
    return (
        f"{N_CANDIDATES} candidates each, as many shapelets kept at most as the peer "
        "keeps by default, then standardised and a ridge classifier whose penalty is "
        f"found by leave-one-out. Over {len(rows)} sets: mean accuracy "
        f"{mine.mean():.4f} (ours) and {other.mean():.4f} (aeon), difference "
        f"{off.mean():+.4f} ± {error:.4f}; {int((off > 0).sum())} better, "
        f"{int((off < 0).sum())} worse. CPU time of fit and transform of "
        "training and test part, geometric mean of the "
        f"ratios {geometric('aeon / ours'):.2f} (fit {geometric('fit'):.2f}, transform "
        f"{geometric('transform'):.2f}). Required: not less accurate, a ratio of at "
        "least 5."
    )


# -- curves -----------------------------------------------------------------------
def waves(n: int, channels: int, m: int) -> tuple[Any, Any]:
    """Random walks with noise and a bump in class 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, channels, m)).cumsum(axis=2) * 0.3
    X += rng.normal(size=X.shape) * 0.3
    y = np.arange(n) % 2
    width = m // 8
    for i in np.flatnonzero(y):
        at = rng.integers(0, m - width)
        X[i, 0, at : at + width] += 4 * np.sin(np.linspace(0, np.pi, width))
    return X, y


SHAPES = (
    *((n, 1, 200) for n in (25, 50, 100, 200, 400)),
    *((50, 1, m) for m in (50, 100, 400, 800, 1600)),
    *((50, c, 200) for c in (2, 4, 8)),
)


def curves(shapes: Any = SHAPES, repeats: int = 3) -> dict[str, Any]:
    """CPU time over the number of series, of time points and of channels."""
    rows = []
    for n, channels, m in shapes:
        X, y = waves(n, channels, m)
        works = {
            label: (lambda mk=make, X=X, y=y: mk(X, y, 0).fit_transform(X, y))
            for label, make in MAKERS.items()
        }
        found = interleaved(works, repeats)
        rows.append(
            {
                "series": n,
                "channels": channels,
                "time points": m,
                "CPU s, ours": found["ours"],
                "CPU s, aeon": found["aeon"],
                "aeon / ours": found["aeon"] / found["ours"],
            }
        )
    about = (
        f"Random walks with noise, {N_CANDIDATES} candidates of 3 to m points; fit and "
        "transform of the training series. First use of ours, compiled: "
        f"{warm_up.seconds:.1f} s of CPU."  # type: ignore[attr-defined]
    )
    return {"title": "Curves", "about": about, "rows": rows}


# -- threads ----------------------------------------------------------------------
@njit(nogil=True)  # type: ignore[untyped-decorator]
def burn(n: int) -> float:
    """Keep a core busy, without the lock of the interpreter."""
    total = 0.0
    for i in range(n):
        total += np.sin(i)
    return total


def control(n: int = 20_000_000) -> tuple[float, float]:
    """Wall time of the same work by one thread and by two."""
    start = time.perf_counter()
    burn(2 * n)
    middle = time.perf_counter()
    both = [threading.Thread(target=burn, args=(n,)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    return middle - start, time.perf_counter() - middle


def threads(n: int = 400, m: int = 400, repeats: int = 5) -> dict[str, Any]:
    """Wall time of one thread and of two, and whether answers are equal."""
    X, y = waves(n, 1, m)
    wall: dict[int, list[float]] = {1: [], 2: []}
    outputs = {}
    burn(10)
    spare = []
    for _ in range(repeats):
        spare.append(control())
        for jobs, times in wall.items():
            model = ShapeletTransformer(2000, random_state=0, n_jobs=jobs)
            start = time.perf_counter()
            outputs[jobs] = model.fit_transform(X, y)
            times.append(time.perf_counter() - start)
    one, two = (float(np.min(times)) for times in wall.values())
    same = outputs[1].tobytes() == outputs[2].tobytes()
    alone, shared = np.min(spare, axis=0)
    row = {
        "n_jobs=1, s": one,
        "n_jobs=2, s": two,
        "gain": one / two,
        "equal": same,
        "gain of a busy loop": float(alone / shared),
    }
    about = (
        f"{n} series of {m} points, 2000 candidates; least wall time of {repeats} "
        "runs. Required: a gain of at least 1.7, equal bit by bit, where two threads "
        "of a busy loop in the same run gain about 2."
    )
    return {"title": "Two threads", "about": about, "rows": [row]}


def main() -> None:
    """Run the parts that were asked for."""
    global only_made
    parts = {"accuracy": accuracy, "curves": curves, "threads": threads}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--quick", action="store_true", help="small sets, one seed")
    parser.add_argument(
        "--made", action="store_true", help="accuracy: only tabulate what was made"
    )
    options = parser.parse_args()
    only_made = options.made
    warm_up()
    facts = machine(PACKAGES)
    quick: dict[str, Any] = {
        "accuracy": {"sets": QUICK, "seeds": [0]},
        "curves": {"shapes": SHAPES[:2], "repeats": 1},
        "threads": {"n": 100, "repeats": 2},
    }
    for name in options.only:
        given = quick[name] if options.quick else {}
        write("shapelet_transform", COMMAND, facts, {name: parts[name](**given)})


if __name__ == "__main__":
    main()
