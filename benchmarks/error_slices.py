"""Error slices: against sliceline and divexplorer, at a million rows, and held out."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import OrdinalEncoder

from benchmarks._harness import cpu_time, interleaved, machine, table, write
from skinterp.slices import ErrorSliceFinder

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.error_slices"
PACKAGES = ["numpy", "scipy", "scikit-learn", "numba", "sliceline", "divexplorer"]
ALL = 1e-9  # a gap so small that every slice below the mean is found
ZIPF = (0.7, 0.2, 0.07, 0.03)


def make(n: int, a: int, seed: int = 0, p: Any = None) -> tuple[Any, Any]:
    """Draw tags from 0 to 3, and errors that gather in two slices."""
    rng = np.random.default_rng(seed)
    T = rng.integers(0, 4, (n, a)) if p is None else rng.choice(4, (n, a), p=p)
    chance = np.full(n, 0.1)
    chance[(T[:, 0] == 1) & (T[:, 1] == 2)] = 0.5
    chance[(T[:, 2] == 1) & (T[:, 3] == 0) & (T[:, 4] == 3)] = 0.6
    return T, rng.random(n) < chance


def find(T: Any, error: Any, **params: Any) -> ErrorSliceFinder:
    """Search all rows."""
    settings = {"holdout": 0.0, "max_slices": None, "random_state": 0} | params
    return ErrorSliceFinder(**settings).fit_scores(T, ~error)


def itemsets(finder: ErrorSliceFinder) -> dict[frozenset[Any], Any]:
    """Slices as sets of (column, value), with their record."""
    found = finder.explain()
    sets = (
        frozenset((x.feature, int(x.lower)) for x in found.literals(s))
        for s in range(found.n_slices)
    )
    return dict(zip(sets, finder.slices_, strict=True))


def score_of(record: Any, n: int, overall: float, alpha: float) -> float:
    """Score by which sliceline ranks slices."""
    gain = (1 - record["performance"]) / overall - 1
    return float(alpha * gain - (1 - alpha) * (n / record["size"] - 1))


def against_sliceline(repeats: int) -> dict[str, Any]:
    """Run the same search for the k slices of best score."""
    from sliceline.slicefinder import Slicefinder

    n, alpha, rows = 10_000, 0.95, []
    T, error = make(n, 8)
    for k in (10, 100):
        peer = Slicefinder(alpha=alpha, k=k, max_l=3, min_sup=100, verbose=False)

        def theirs(peer: Any = peer) -> Any:
            return peer.fit(T, error.astype(float))

        works: dict[str, Callable[[], Any]] = {
            "all": lambda: find(T, error, gap=ALL, min_size=100),
            "theirs": theirs,
        }
        times = interleaved(works, repeats)
        ours = itemsets(find(T, error, gap=ALL, min_size=100))
        scores = {s: score_of(r, n, error.mean(), alpha) for s, r in ours.items()}
        best = sorted(scores, key=lambda s: -scores[s])[:k]
        best = [s for s in best if scores[s] > 0]
        listed = {
            frozenset((j, int(v)) for j, v in enumerate(row) if v is not None)
            for row in peer.top_slices_.tolist()
        }
        rows.append(
            {
                "k": k,
                "slices listed": len(listed),
                "equal": listed == set(best),
                "slices that ours lists": len(ours),
                "CPU s, sliceline": times["theirs"],
                "CPU s, ours": times["all"],
                "ratio": times["theirs"] / times["all"],
            }
        )
    about = (
        f"{n:,} x 8 columns of 4 tags, at most 3 tags, at least 100 rows, "
        f"alpha {alpha}. Ours finds every slice below the mean, with p-values and "
        "cover; the k best by sliceline's score are among them. Required: 10 times."
    )
    return {"title": "Against sliceline", "about": about, "rows": rows}


def against_divexplorer(repeats: int) -> dict[str, Any]:
    """Compare all frequent itemsets and their divergence."""
    from divexplorer import DivergenceExplorer

    n, rows = 10_000, []
    T, error = make(n, 8)
    frame = pd.DataFrame(T, columns=[f"c{j}" for j in range(8)]).astype(str)
    data = frame.assign(error=error.astype(int))
    for support in (0.05, 0.01):

        def theirs(support: float = support) -> Any:
            explorer = DivergenceExplorer(data)
            return explorer.get_pattern_divergence(
                min_support=support,
                boolean_outcomes=["error"],
                attributes=list(frame.columns),
            )

        size = round(support * n)

        def ours(size: int = size) -> ErrorSliceFinder:
            return find(T, error, gap=ALL, min_size=size, max_order=8)

        times = interleaved({"theirs": theirs, "ours": ours}, repeats)
        listed = theirs()
        worse = {
            frozenset((int(i.split("=")[0][1:]), int(i.split("=")[1])) for i in items)
            for items, value in zip(listed["itemset"], listed["error_div"], strict=True)
            if value > 1e-12
        }
        finder = ours()
        rows.append(
            {
                "support": support,
                "frequent itemsets": len(listed) - 1,
                "ours": finder.n_tests_,
                "of these worse": len(worse),
                "equal": worse == set(itemsets(finder)),
                "CPU s, divexplorer": times["theirs"],
                "CPU s, ours": times["ours"],
                "ratio": times["theirs"] / times["ours"],
            }
        )
    about = f"{n:,} x 8 columns of 4 tags, itemsets of any length. Required: 20 times."
    return {"title": "Against divexplorer", "about": about, "rows": rows}


def naive_seconds(T: Any, error: Any, order: int, n_tried: int = 1000) -> float:
    """CPU seconds of scanning the rows for each conjunction, by a sample of them."""
    rng = np.random.default_rng(0)
    columns = list(combinations(range(T.shape[1]), order))
    tried = [
        (columns[rng.integers(len(columns))], rng.integers(0, 4, order))
        for _ in range(n_tried)
    ]

    def scan() -> None:
        for js, values in tried:
            inside = (T[:, list(js)] == values).all(axis=1)
            inside.sum(), error[inside].sum()

    return cpu_time(scan) / n_tried * len(columns) * 4**order


def enumeration(repeats: int) -> dict[str, Any]:
    """Compare with scanning the rows for each conjunction."""
    rows = []
    find(*make(1000, 20), max_order=2)
    for order in (3, 4):
        for n in (5_000, 20_000, 100_000):
            T, error = make(n, 20, seed=1, p=ZIPF)
            search = partial(find, T, error, max_order=order, max_slices=100)
            ours = np.median([cpu_time(search) for _ in range(repeats)])
            naive = naive_seconds(T, error, order)
            rows.append(
                {
                    "rows": n,
                    "tags at most": order,
                    "evaluated": search().n_evaluated_,
                    "CPU s, scanning": naive,
                    "CPU s, ours": float(ours),
                    "ratio": naive / float(ours),
                }
            )
    about = (
        "20 columns of 4 tags with shares 0.7, 0.2, 0.07, 0.03, at least 10 rows. "
        "Scanning is extrapolated from 1000 conjunctions of the last level. Required: "
        "100 times at 4 tags. More rows make more slices of 10 rows."
    )
    return {"title": "Against scanning", "about": about, "rows": rows}


ONE = """
import sys, time, resource
import numpy as np
from skinterp.slices import ErrorSliceFinder
n, gap, losses = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "losses"
rng = np.random.default_rng(0)
def data(n):
    T = rng.integers(0, 4, (n, 40), dtype=np.int8)
    bad = (T[:, 0] == 1) & (T[:, 1] == 2)
    if losses:
        return T, rng.exponential(1.0 + bad)
    return T, (rng.random(n) > 0.1 + 0.4 * bad).astype(float)
def make():
    return ErrorSliceFinder(
        metric="loss" if losses else "auto", gap=gap, min_size=0.001, holdout=0.0,
        n_jobs=2, random_state=0)
make().fit_scores(*data(20_000))
T, p = data(n)
wall, cpu = time.perf_counter(), time.process_time()
finder = make().fit_scores(T, p)
print(time.perf_counter() - wall, time.process_time() - cpu,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
      finder.n_evaluated_, finder.n_found_)
"""


def at_scale(repeats: int) -> dict[str, Any]:
    """Search a million rows of 40 columns, and fewer, each in a fresh process."""
    rows = []
    cases = [("right or wrong", n) for n in (125_000, 250_000, 500_000, 1_000_000)]
    for what, n in [*cases, ("losses", 125_000)]:
        gap = "0.5" if what == "losses" else "0.1"
        command = [sys.executable, "-c", ONE, str(n), gap, what]
        runs = []
        for _ in range(repeats if what != "losses" else 1):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs.append([float(x) for x in done.stdout.split()])
        wall, cpu, memory, evaluated, found = np.median(runs, axis=0).tolist()
        rows.append(
            {
                "rows": n,
                "scores": what,
                "seconds": wall,
                "CPU s": cpu,
                "peak GiB": memory,
                "evaluated": int(evaluated),
                "found": int(found),
            }
        )
    points = [(r["rows"], r["CPU s"]) for r in rows if r["scores"] != "losses"]
    x, y = np.log(points).T
    slope = float(np.polyfit(x, y, 1)[0])
    about = (
        "40 columns of 4 tags, at most 3 of them, at least 0.1 % of the rows, "
        f"n_jobs=2. Slope of CPU time on a log-log line: {slope:.3f}. Required: 30 s, "
        "2 GiB, a slope from 0.9 to 1.1."
    )
    return {"title": "A million rows", "about": about, "rows": rows}


def german() -> tuple[pd.DataFrame, Any]:
    """German credit with its categories gathered from one-hot columns."""
    data = table("german_credit_onehot")
    target = data.pop(data.columns[-1])
    hot: dict[str, list[str]] = {}
    for name in data.columns:
        stem, _, code = name.rpartition("_")
        if stem and code.replace(".", "").isdigit():
            hot.setdefault(stem, []).append(name)
    for stem, names in hot.items():
        labels = data[names].idxmax(axis=1).str.rpartition("_")[2]
        data = data.drop(columns=names).assign(**{stem: labels})
    return data, target


def with_target(name: str, target: str, drop: tuple[str, ...] = ()) -> Any:
    """Read a table and split off its target."""
    data = table(name).drop(columns=list(drop))
    return data, data.pop(target)


DATA: dict[str, Callable[[], Any]] = {
    "adult": lambda: with_target("adult", "income", ("fnlwgt",)),
    "COMPAS": lambda: with_target("compas_carla", "two_year_recid", ("score",)),
    "German credit": german,
}


def held_out(splits: int) -> dict[str, Any]:
    """Find slices on one half of real rows, estimate them on the other."""
    rows = []
    for name, read in DATA.items():
        tags, y = read()
        texts = list(tags.select_dtypes(exclude="number").columns)
        X = tags.copy()
        if texts:
            X[texts] = OrdinalEncoder().fit_transform(tags[texts])
        right = out_of_fold(X.to_numpy(float), y.to_numpy())
        for order, gap in ((2, 0.1), (2, 0.2), (3, 0.2)):
            rows.append(one_set(name, tags, right, order, gap, splits))
    about = (
        "Gradient-boosted trees, right or wrong out of fold; slices of at least 10 "
        "rows found on one half of the rows, estimated again on the other. Per split "
        f"the median slice of the cover; means over {splits} splits. 'pooled' weighs "
        "slices by their rows held out. Required: 0.03 below overall. Where there is "
        "no slice in any split, so be it."
    )
    return {"title": "What remains on rows held out", "about": about, "rows": rows}


def out_of_fold(X: Any, y: Any) -> Any:
    """Whether each row is predicted rightly by trees that have not seen it."""
    model = HistGradientBoostingClassifier(random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return cross_val_predict(model, X, y, cv=folds) == y


def one_set(
    name: str, tags: Any, right: Any, order: int, gap: float, splits: int
) -> dict[str, Any]:
    """Means over splits of one table."""
    lines = []
    for seed in range(splits):
        finder = ErrorSliceFinder(max_order=order, gap=gap, random_state=seed)
        finder.fit_scores(tags, right)
        chosen = finder.slices_[finder.cover_]
        chosen = chosen[chosen["held_size"] > 0]
        if len(chosen):
            pooled = np.average(chosen["held_gap"], weights=chosen["held_size"])
            significant = (finder.slices_["held_q_value"] <= 0.05).sum()
            medians = np.median(chosen["gap"]), np.median(chosen["held_gap"])
            counts = len(finder.cover_), finder.n_found_, significant
            lines.append((*medians, pooled, *counts))
    head = {"data": name, "rows": len(tags), "accuracy": float(right.mean())}
    head |= {"tags at most": order, "gap": gap, "splits with slices": len(lines)}
    names = ("found", "held out", "pooled", "cover", "slices", "q <= 0.05 held out")
    means = np.mean(lines, axis=0).tolist() if lines else ["-"] * len(names)
    row = head | dict(zip(names, means, strict=True))
    return row | {"optimism": means[0] - means[1] if lines else "-"}


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "sliceline": against_sliceline,
    "divexplorer": against_divexplorer,
    "enumeration": enumeration,
    "scale": at_scale,
    "held_out": held_out,
}
REPEATS = {
    "sliceline": 7,
    "divexplorer": 5,
    "enumeration": 3,
    "scale": 3,
    "held_out": 10,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="one repeat of each")
    args = parser.parse_args()
    facts = machine(PACKAGES)
    for name in args.only:
        start = time.perf_counter()
        part = PARTS[name](1 if args.quick else REPEATS[name])
        write("error_slices", COMMAND, facts, {name: part})
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name}: {seconds:.0f} s, {peak:.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
