"""TopDataValues: wrong labels found per training, and the cost of its own work.

``SKINTERP_PYDVL`` names the Python of an environment with the packages of
``requirements-top-data-values.txt``; without it the parts that need pyDVL are refused.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks._harness import interleaved, machine, write
from skinterp.valuation import KNNUtility, TopDataValues, _posterior, knn_shapley
from skinterp.valuation._bandit_kernels import gap_index, most_telling
from skinterp.valuation._posterior import Posterior

COMMAND = (
    "SKINTERP_PYDVL=<python> OMP_NUM_THREADS=1 python -m benchmarks.top_data_values"
)
PACKAGES = ["numpy", "scipy", "scikit-learn", "numba", "joblib"]
PEER = Path(__file__).with_name("_top_data_values_peer.py")
REWARD_SEEDS = 12
Case = tuple[Any, Any, Any, Any, Any]


def flipped(draw: int, n: int, n_flips: int) -> Case:
    """Breast cancer rows with some labels flipped, and clean rows to score on."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(draw)
    order = rng.permutation(len(y))
    train, validation = order[:n], order[n : n + 100]
    scaler = StandardScaler().fit(X[train])
    wrong = rng.permutation(n)[:n_flips]
    labels = y[train].copy()
    labels[wrong] = 1 - labels[wrong]
    return (
        scaler.transform(X[train]),
        labels,
        scaler.transform(X[validation]),
        y[validation],
        wrong,
    )


def recall(found: Any, wrong: Any) -> float:
    """Share of the flipped rows that are found."""
    return len(set(map(int, found)) & set(wrong.tolist())) / len(wrong)


def round_robin(utility: Any, n: int, m: int, pulls: int, seed: int) -> Any:
    """Lowest rows by mean draws, each row drawn in turn."""
    rng = np.random.default_rng(seed)
    total, count = np.zeros(n), np.zeros(n)
    order = rng.permutation(n)
    for t in range(pulls):
        arm = order[t % n]
        others = np.delete(np.arange(n), arm)
        rows = rng.permutation(others)[: rng.integers(n)]
        total[arm] += utility(np.append(rows, arm)) - utility(rows)
        count[arm] += 1
    return np.argsort(total / np.maximum(count, 1), kind="stable")[:m]


def summary(values: Any) -> dict[str, float]:
    """Mean over draws of data, with a 95 % interval of the mean."""
    mean = float(np.mean(values))
    half = 1.96 * float(np.std(values, ddof=1)) / np.sqrt(len(values))
    return {"recall": mean, "low": mean - float(half), "high": mean + float(half)}


def fresh(n_seeds: int = 3) -> dict[str, Any]:
    """Recall by the least signal, on draws of the data that played no part in it."""
    found: dict[tuple[str, int], list[float]] = {}
    for draw in range(20, 60):
        X, y, X_val, y_val, wrong = flipped(draw, 60, 9)
        utility = KNNUtility(X, y, X_val, y_val)
        for b in (120, 240):
            ways = {
                f"least signal {least:g} of the noise": partial(
                    with_least, least, utility, X, y, b
                )
                for least in (0.1, 0.001)
            }
            ways["round robin"] = partial(round_robin, utility, 60, 9, b)
            for way, search in ways.items():
                hits = [recall(search(seed), wrong) for seed in range(n_seeds)]
                found.setdefault((way, b), []).append(float(np.mean(hits)))
    return {
        "title": "The least signal, on draws that were not used to choose it",
        "about": (
            f"As above, with draws 20 to 59 of the data by {n_seeds} seeds. The "
            "initial draws may find a signal down to a tenth of the noise, chosen on "
            "draws 0 to 19; 0.001 was fixed before any run."
        ),
        "rows": [
            {"way": way, "draws": b, **summary(hits)}
            for (way, b), hits in found.items()
        ],
    }


def with_least(least: float, utility: Any, X: Any, y: Any, b: int, seed: int) -> Any:
    """Lowest rows by a search with another least signal."""
    with patch.object(_posterior, "LEAST_RATIO", least):
        return knn_search(utility, X, y, b, seed, {})


def neighbours(n_draws: int = 20) -> dict[str, Any]:
    """Recall of 9 flips of 60 rows by the vote of five neighbours."""
    budgets = (60, 120, 240)
    ways: dict[str, Any] = {
        "estimated variances": {},
        "estimated, renewed every 60 draws": {"reestimate_every": 60},
        "near-oracle variances": "oracle",
        "estimated, independent rows": {"kernel": independent},
        "estimated, same-label kernel": {"kernel": "rbf-label"},
    }
    found = {(way, b): [] for way in (*ways, "round robin") for b in budgets}
    exact = []
    for draw in range(n_draws):
        X, y, X_val, y_val, wrong = flipped(draw, 60, 9)
        utility = KNNUtility(X, y, X_val, y_val)
        values = utility.shapley_values()
        exact.append(recall(np.argsort(values, kind="stable")[:9], wrong))
        oracle = {"signal_variance": values.var(), "noise_variance": 1.0e-3}
        for b in budgets:
            for way, options in ways.items():
                given = oracle if options == "oracle" else options
                hits = [
                    recall(knn_search(utility, X, y, b, seed, given), wrong)
                    for seed in range(REWARD_SEEDS)
                ]
                found[way, b].append(np.mean(hits))
            uniform = [
                recall(round_robin(utility, 60, 9, b, seed), wrong)
                for seed in range(REWARD_SEEDS)
            ]
            found["round robin", b].append(np.mean(uniform))
    rows = [
        {"way": way, "draws": b, **summary(hits)} for (way, b), hits in found.items()
    ]
    rows.append({"way": "exact values", "draws": 0, **summary(exact)})
    estimated = found["estimated variances", 240]
    gain = np.array(estimated) - found["round robin", 240]
    rows.append({"way": "gain over round robin", "draws": 240, **summary(gain)})
    return {
        "title": "Flipped labels, vote of neighbours",
        "about": (
            f"9 of 60 labels flipped, {n_draws} draws of the data by {REWARD_SEEDS} "
            "seeds, lowest 9, beta 1, prior mean 0; initial draws count. Required with "
            "estimated variances: 0.70 at 120 draws, 0.74 at 240, and 0.05 above round "
            "robin at 240; near-oracle: 0.72 and 0.76."
        ),
        "rows": rows,
    }


def knn_search(utility: Any, X: Any, y: Any, draws: int, seed: int, given: Any) -> Any:
    """Lowest nine rows after so many draws."""
    search = TopDataValues(
        utility=utility,
        m=9,
        lowest=True,
        beta=1.0,
        max_evaluations=2 * draws,
        random_state=seed,
        **given,
    )
    return search.fit(X, y).top_indices_


def independent(X: Any, y: Any) -> Any:
    """Kernel of rows that say nothing of each other."""
    return np.eye(len(X))


def model_search(case: Case, budget: int, seed: int) -> tuple[Any, float]:
    """Lowest 20 rows of a logistic regression, and the CPU seconds they took."""
    X, y, X_val, y_val, _ = case
    search = TopDataValues(
        LogisticRegression(max_iter=1000),
        m=20,
        lowest=True,
        beta=1.0,
        max_evaluations=budget,
        max_coalition=20,
        random_state=seed,
    )
    start = time.process_time()
    search.fit(X, y, X_val, y_val)
    return search.top_indices_, time.process_time() - start


def logistic() -> dict[str, Any]:
    """Recall of 20 flips of 200 rows with 2000 trainings."""
    rows = []
    for draw in range(4):
        case = flipped(draw, 200, 20)
        found, seconds = model_search(case, 2000, draw)
        rows.append({"draw": draw, "recall": recall(found, case[4]), "CPU s": seconds})
    mean = float(np.mean([row["recall"] for row in rows]))
    rows.append({"draw": "mean", "recall": mean, "CPU s": float("nan")})
    rows[-1]["CPU s"] = float(np.mean([row["CPU s"] for row in rows[:-1]]))
    return {
        "title": "Flipped labels, logistic regression",
        "about": (
            "20 of 200 labels flipped, coalitions of at most 20 rows, 2000 trainings. "
            "Required: a mean of 0.7."
        ),
        "rows": rows,
    }


def peer(case: Case, utility: str, budgets: Any, m: int, seed: int) -> dict[str, Any]:
    """Run pyDVL's truncated Monte Carlo on a case."""
    python = os.environ.get("SKINTERP_PYDVL")
    if not python:
        sys.exit("Set SKINTERP_PYDVL to the Python of an environment with pyDVL.")
    X, y, X_val, y_val, _ = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.npz"
        held = {"X": X, "y": y, "X_val": X_val, "y_val": y_val}
        np.savez(path, **held, utility=utility, budgets=budgets, m=m, seed=seed)
        # nothing of this environment reaches that one
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [python, str(PEER), str(path)],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def against(utility: str, n_draws: int = 20) -> dict[str, Any]:
    """Recall per training, ours and pyDVL's, on the same rows and utility."""
    knn = utility == "knn"
    n, m = (60, 9) if knn else (200, 20)
    budgets = (100, 200, 300, 500, 700, 1000)
    ours, theirs = {b: [] for b in budgets}, {b: [] for b in budgets}
    baseline, cpu = [], {"ours": 0.0, "pyDVL": 0.0}
    for draw in range(n_draws):
        case = flipped(draw, n, m)
        X, y, wrong = case[0], case[1], case[4]
        baseline.append(recall(np.argsort(knn_shapley(*case[:4]))[:m], wrong))
        result = peer(case, utility, budgets, m, draw)
        for b in budgets:
            if knn:
                found = knn_search(KNNUtility(*case[:4]), X, y, b // 2, draw, {})
                seconds = 0.0
            else:
                found, seconds = model_search(case, b, draw)
            ours[b].append(recall(found, wrong))
            # a permutation may be truncated before the first budget is spent
            theirs[b].append(recall(result["found"].get(str(b), []), wrong))
        cpu["ours"], cpu["pyDVL"] = cpu["ours"] + seconds, cpu["pyDVL"] + result["cpu"]
    rows = []
    for b in budgets:
        gain = np.array(ours[b]) - theirs[b]
        for name, values in (
            ("TopDataValues", ours[b]),
            ("pyDVL, truncated Monte Carlo", theirs[b]),
            ("paired difference", gain),
        ):
            rows.append({"trainings": b, "method": name, **summary(values)})
    rows.append({"trainings": 0, "method": "KNN-Shapley", **summary(baseline)})
    model = "the vote of five neighbours" if knn else "logistic regression"
    seconds = ", ".join(f"{name} {t / n_draws:.2g}" for name, t in cpu.items())
    return {
        "title": f"Against truncated Monte Carlo, {model}",
        "about": (
            f"{m} of {n} labels flipped, {n_draws} draws of the data, 95 % intervals "
            "of the mean; the same utility and validation rows. pyDVL 0.10.0 with its "
            "defaults, each marginal dated by the training it needed. Required: ahead "
            "at every budget."
            + ("" if knn else f" CPU seconds for 1000 trainings: {seconds}.")
        ),
        "rows": rows,
    }


def update() -> dict[str, Any]:
    """CPU time of one posterior update, and of the choice of the next draw."""
    rows = []
    for n in (1250, 2500, 5000):
        z = np.random.default_rng(0).normal(size=(n, 1))
        cov = np.exp(-0.5 * (z - z.T) ** 2) + 1e-6 * np.eye(n)
        posterior = Posterior(np.zeros(n), cov, 1.0)
        member = np.arange(n) < n // 10
        works = {
            "update": lambda p=posterior: p.pull(3, 0.1),
            "gap index": lambda p=posterior, f=member: gap_index(
                p.mean, p.cov, f, 1.0, True
            ),
            "choice": lambda p=posterior: most_telling(p.cov, 1.0, 1, 2),
        }
        median = interleaved(works, 15)
        rows.append({"n": n, **{f"{k}, CPU ms": 1e3 * v for k, v in median.items()}})
    return {
        "title": "One posterior update",
        "about": "m = n / 10. Required: below 100 ms at n = 5000.",
        "rows": rows,
    }


def exact() -> dict[str, Any]:
    """CPU time of all exact values of nearest neighbours."""
    rows = []
    rng = np.random.default_rng(0)
    for n in (1000, 10_000, 100_000):
        X, y = rng.normal(size=(n, 10)), rng.integers(2, size=n)
        X_val, y_val = rng.normal(size=(100, 10)), rng.integers(2, size=100)
        work = partial(knn_shapley, X, y, X_val, y_val)
        rows.append({"n": n, "CPU s": interleaved({"": work}, 3)[""]})
    return {
        "title": "Exact values of nearest neighbours",
        "about": "10 columns, 100 validation rows, five neighbours.",
        "rows": rows,
    }


def main() -> None:
    """Run all parts, or those that are named."""
    parts = {
        "neighbours": neighbours,
        "fresh": fresh,
        "logistic": logistic,
        "against_knn": partial(against, "knn"),
        "against_logistic": partial(against, "logistic"),
        "update": update,
        "exact": exact,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    warnings.simplefilter("ignore")
    for name in parser.parse_args().only:
        facts = machine(PACKAGES)
        write("top_data_values", COMMAND, facts, {name: parts[name]()})


if __name__ == "__main__":
    main()
