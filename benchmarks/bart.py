"""The BART sampler against stochtree: accuracy, and CPU time per tree update."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from stochtree import BARTModel

from benchmarks._harness import machine, write
from skinterp.symbolic import _bart as bart

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.bart"
PACKAGES = ["numpy", "scipy", "numba", "stochtree"]
SEEDS = range(5)
REPEATS = 5
ROWS = (100, 300, 1000, 3000, 10_000)
COLUMNS = (10, 100, 1000, 10_000)

Floats = NDArray[np.float64]


def friedman(n: int, p: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Friedman's first function: columns, truth, and truth with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    truth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    truth += 10 * X[:, 3] + 5 * X[:, 4]
    return X, truth, truth + rng.normal(size=n)


class Ours:
    """Our sampler on one data set."""

    def __init__(self, X: Floats, y: Floats, n_trees: int, X_new: Floats) -> None:
        self.table, self.y, self.n_trees = bart.rank_table(X), y, n_trees
        self.sigma = float(bart.sigma_estimates(X, y[:, None])[0])
        self.new = bart.rank_rows(X_new, X) if len(X_new) else None

    def run(self, n_burn: int, n_draws: int, seed: int) -> tuple[Floats, Floats, float]:
        """Give the fit, the predictions, and the mean of sigma."""
        settings = bart.BartSettings(
            n_trees=self.n_trees, n_burn=n_burn, n_draws=n_draws
        )
        chain = bart.run_chain(
            self.table,
            self.y,
            settings,
            self.sigma,
            np.random.SeedSequence(seed),
            new_ranks=self.new,
        )
        return chain.fitted, chain.predictions, float(chain.sigma.mean())


class Stochtree:
    """Stochtree on one data set, with its own prior or with ours."""

    def __init__(
        self, X: Floats, y: Floats, n_trees: int, X_new: Floats, matched: bool
    ) -> None:
        self.X, self.y, self.X_new = X, y, X_new
        self.forest = {"num_trees": n_trees, "sample_sigma2_leaf": False}
        self.general: dict[str, Any] = {"num_threads": 1}
        if matched:
            # its target has unit variance, ours unit range
            sigma = float(bart.sigma_estimates(X, y[:, None])[0]) / y.std()
            leaf = 0.25 * np.ptp(y) / y.std()
            self.forest["sigma2_leaf_init"] = leaf**2 / n_trees
            self.general |= {
                "sigma2_global_shape": 1.5,
                "sigma2_global_scale": 0.5 * sigma**2 * chi2.ppf(0.1, 3),
                "cutpoint_grid_size": len(y),
            }

    def run(self, n_burn: int, n_draws: int, seed: int) -> tuple[Floats, Floats, float]:
        """Give the fit, the predictions, and the mean of sigma."""
        model = BARTModel()
        new = {"X_test": self.X_new} if len(self.X_new) else {}
        model.sample(
            X_train=self.X,
            y_train=self.y,
            num_gfr=0,
            num_burnin=n_burn,
            num_mcmc=n_draws,
            mean_forest_params=self.forest,
            general_params=self.general | {"random_seed": seed},
            **new,
        )
        said = model.y_hat_test.mean(axis=1) if new else np.empty(0)
        sigma = float(np.sqrt(model.global_var_samples).mean())
        return model.y_hat_train.mean(axis=1), said, sigma


def makers() -> dict[str, Callable[..., Any]]:
    """Name the samplers that are compared."""
    return {
        "skinterp": Ours,
        "stochtree, our prior": partial(Stochtree, matched=True),
        "stochtree, its own prior": partial(Stochtree, matched=False),
    }


def accuracy(n_draws: int) -> dict[str, Any]:
    """Error against the truth on Friedman 1, n=500, p=100, 100 trees."""
    errors: dict[str, list[Any]] = {name: [] for name in makers()}
    for seed in SEEDS:
        X, truth, y = friedman(500, 100, seed)
        X_new, truth_new, _ = friedman(500, 100, seed + 1000)
        for name, make in makers().items():
            fit, said, sigma = make(X, y, 100, X_new).run(n_draws, n_draws, seed)
            errors[name].append([rmse(fit, truth), rmse(said, truth_new), sigma])
    means = {name: np.mean(values, axis=0) for name, values in errors.items()}
    rows = [
        {
            "sampler": name,
            "RMSE, training rows": float(mean[0]),
            "RMSE, new rows": float(mean[1]),
            "mean sigma": float(mean[2]),
            "ours / this, training rows": float(means["skinterp"][0] / mean[0]),
            "ours / this, new rows": float(means["skinterp"][1] / mean[1]),
        }
        for name, mean in means.items()
    ]
    return {
        "title": "Friedman 1, n=500, p=100, 100 trees: error against the truth",
        "about": (
            f"{n_draws} + {n_draws} draws, one chain, mean of {len(SEEDS)} draws of "
            "the data, noise of deviation 1. `our prior`: stochtree with the leaf "
            "variance, prior of sigma and cuts at all values as ours. Required: within "
            "5 %."
        ),
        "rows": rows,
    }


def rmse(a: Floats, b: Floats) -> float:
    """Root of the mean squared difference."""
    return float(np.sqrt(np.mean((a - b) ** 2)))


def update_times(
    n: int, p: int, n_trees: int, burn: int, repeats: int = REPEATS
) -> dict[str, float]:
    """CPU microseconds per tree update: the slope over burn-in, runs in turns."""
    X, _, y = friedman(n, p, 0)
    works = {name: make(X, y, n_trees, X[:0]) for name, make in makers().items()}
    slopes: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work.run(2, 1, 0)  # compiles
    for repeat in range(repeats):
        for name, work in works.items():
            times = []
            for sweeps in (burn, 3 * burn):
                start = time.process_time()
                work.run(sweeps, 1, repeat)
                times.append(time.process_time() - start)
            slopes[name].append((times[1] - times[0]) / (2 * burn * n_trees) * 1e6)
    return {name: float(np.median(values)) for name, values in slopes.items()}


def compare(n: int, p: int, n_trees: int, burn: int, repeats: int) -> dict[str, Any]:
    """One line of a table of CPU times."""
    times = update_times(n, p, n_trees, burn, repeats)
    ours = times["skinterp"]
    row: dict[str, Any] = {"n": n, "p": p, "trees": n_trees}
    row |= {f"{name}, us": value for name, value in times.items()}
    return row | {
        "ratio, our prior": times["stochtree, our prior"] / ours,
        "ratio, its own prior": times["stochtree, its own prior"] / ours,
    }


ABOUT_TIMES = (
    "Microseconds of CPU, one thread, runs in turns, median of {} repeats of the "
    "difference of two runs that differ in the length of the burn-in only: reading the "
    "table, compilation and predictions are left out."
)


def speed() -> dict[str, Any]:
    """CPU time per tree update where it is required."""
    rows = [compare(500, 100, 100, 300, REPEATS), compare(1000, 2000, 20, 500, REPEATS)]
    return {
        "title": "CPU time per tree update",
        "about": ABOUT_TIMES.format(REPEATS)
        + " Required ratios: 3 on the first line, 5 on the second one.",
        "rows": rows,
    }


def curves() -> dict[str, Any]:
    """CPU time per tree update over n and p."""
    rows = [compare(n, 100, 20, max(30, 200_000 // n), 3) for n in ROWS]
    rows += [compare(1000, p, 20, 200, 3) for p in COLUMNS]
    return {
        "title": "CPU time per tree update over rows and columns",
        "about": ABOUT_TIMES.format(3)
        + " Ours is linear in n. In p it grows only as far as more columns make more "
        "moves succeed and fewer of the columns looked at lie in the cache.",
        "rows": rows,
    }


def copies() -> dict[str, Any]:
    """CPU time of our tree update over p, the trees being the same for every p."""
    X, _, y = friedman(1000, 10, 0)
    works = {p: Ours(np.tile(X, (1, p // 10)), y, 20, X[:0]) for p in COLUMNS}
    times: dict[int, list[float]] = {p: [] for p in works}
    for repeat in range(REPEATS):
        for p, work in works.items():
            work.sigma = works[COLUMNS[0]].sigma  # one prior for all
            start = time.process_time()
            work.run(1000, 1, repeat)
            times[p].append((time.process_time() - start) / (1001 * 20) * 1e6)
    rows = [{"p": p, "skinterp, us": float(np.median(t))} for p, t in times.items()]
    return {
        "title": "CPU time per tree update, copies of ten columns",
        "about": (
            "n=1000, 20 trees. The columns are copies of the same ten, so that a chain "
            "makes the same trees whatever p is: what is left is the cost of p itself, "
            "which is reading columns that lie in no cache."
        ),
        "rows": [row | {"MiB of ranks": row["p"] * 2000 / 2**20} for row in rows],
    }


FIRST_USE = """
import time
import numpy as np
from skinterp.symbolic import PANSelector
from skinterp.symbolic import _bart as bart
X = np.random.default_rng(0).uniform(size=(50, 12))
start = time.process_time()
PANSelector(n_chains=1, n_burn=2, n_draws=2).fit(X, X[:, 0])
print(time.process_time() - start)
"""


def first_use() -> dict[str, Any]:
    """CPU time of the first fit in a fresh process, without and with numba's cache."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for what in ("compiling", "from numba's cache"):
            env = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
            done = subprocess.run(
                [sys.executable, "-c", FIRST_USE],
                env=env,
                capture_output=True,
                text=True,
                check=True,
            )
            rows.append({"first fit": what, "CPU s": float(done.stdout)})
    return {
        "title": "First use",
        "about": "Of a fresh process, imports left out. Required: below 10 s of CPU.",
        "rows": rows,
    }


def main() -> None:
    """Run all parts, or those that are named."""
    parts = {
        "accuracy": partial(accuracy, 1000),
        "speed": speed,
        "curves": curves,
        "copies": copies,
        "first_use": first_use,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    chosen = parser.parse_args().only
    for name in chosen:
        facts = machine(PACKAGES)
        write("bart", COMMAND, facts, {name: parts[name]()})


if __name__ == "__main__":
    main()
