"""InstaSHAP against KernelSHAP: errors of Shapley values, CPU time, and bike sharing.

``--part`` runs some parts only, ``--seeds`` fewer seeds, ``--quick`` few epochs. The
part "kernel" needs shap, see ``benchmarks/requirements-insta-shap.txt``.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from benchmarks._harness import cpu_time, machine, table, write
from skinterp.additive import InstaSHAPRegressor

COMMAND = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.insta_shap"
PACKAGES = ["numpy", "scikit-learn", "torch", "skorch", "shap"]
N_FEATURES = 10


class Synthetic:
    """A polynomial of Gaussian columns, of unit variance, with known values."""

    def __init__(self, order: int, rho: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = range(1, order + 1)
        self.terms = [t for k in sizes for t in combinations(range(N_FEATURES), k)]
        self.rho, self.rng = rho, rng
        beta = rng.normal(size=len(self.terms))
        self.beta = beta
        self.beta = beta / self(self.draw(100_000)).std()

    def draw(self, n: int) -> Any:
        """Draw rows: columns 0 and 1, 2 and 3, ... are correlated."""
        X = self.rng.normal(size=(n, N_FEATURES))
        even, odd = X[:, ::2], X[:, 1::2]
        X[:, 1::2] = self.rho * even + (1 - self.rho**2) ** 0.5 * odd
        return X

    def __call__(self, X: Any) -> Any:
        """Evaluate the polynomial."""
        parts = [X[:, list(t)].prod(axis=1) for t in self.terms]
        return np.stack(parts, axis=1) @ self.beta

    def values(self, X: Any) -> Any:
        """Conditional Shapley values: independent columns, or order 1."""
        phi = np.zeros(X.shape)
        for b, t in zip(self.beta, self.terms, strict=True):
            for j in t:
                phi[:, j] += b * X[:, list(t)].prod(axis=1) / len(t)
        if self.rho:
            assert max(map(len, self.terms)) == 1
            other = X[:, np.arange(N_FEATURES) ^ 1]
            moved = self.rho / 2 * X * self.beta[np.arange(N_FEATURES) ^ 1]
            phi = phi + moved - self.rho / 2 * other * self.beta
        return phi


def fitted(X: Any, y: Any, **options: Any) -> tuple[Any, float]:
    """Fit with the defaults, and the CPU seconds it took."""
    model = InstaSHAPRegressor(device="cpu", random_state=0, **options)
    return model, cpu_time(lambda: model.fit(X, y))


def independent(epochs: int, seeds: int) -> dict[str, Any]:
    """Recovery of the values of ten independent columns with all pairs."""
    rows = []
    for seed in range(seeds):
        f = Synthetic(2, 0.0, seed)
        X, new = f.draw(5000), f.draw(1000)
        model, cpu = fitted(X, f(X), interactions="all", max_epochs=epochs)
        phi, truth = model.shapley_values(new), f.values(new)
        rows.append(
            {
                "seed": seed,
                "R2 of prediction": model.score(new, f(new)),
                "R2 of values": 1 - float(((phi - truth) ** 2).mean() / truth.var()),
                "CPU s of fit": cpu,
            }
        )
    about = "Ten columns, 55 terms, 5,000 rows without noise, 1,000 new rows."
    return {"title": "Independent columns", "about": about, "rows": rows}


def correlated(epochs: int, seeds: int) -> dict[str, Any]:
    """Curves alone against curves and pairs on an additive function."""
    rows = []
    for seed in range(seeds):
        f = Synthetic(1, 0.5, seed)
        X, new = f.draw(5000), f.draw(1000)
        truth, errors = f.values(new), []
        for order in (1, 2):
            options = {"order": order, "interactions": "all", "max_epochs": epochs}
            model, _ = fitted(X, f(X), **options)
            errors.append(float(((model.shapley_values(new) - truth) ** 2).mean()))
        rows.append(
            {
                "seed": seed,
                "MSE of values, order 1": errors[0],
                "MSE of values, order 2": errors[1],
                "ratio": errors[0] / errors[1],
            }
        )
    about = (
        "The function is additive, five pairs of columns have correlation 0.5: the "
        "game on them is not additive, so that curves alone explain worse."
    )
    return {"title": "Correlated columns", "about": about, "rows": rows}


def kernel(epochs: int, n_explained: int) -> dict[str, Any]:
    """Values of the same fitted model by its terms and by KernelSHAP."""
    import shap

    f = Synthetic(2, 0.0, 0)
    X, new = f.draw(5000), f.draw(10_000)
    model, _ = fitted(X, f(X), interactions="all", max_epochs=epochs)
    few = new[:n_explained]
    truth = f.values(few)
    background = {"mean row": X.mean(axis=0, keepdims=True), "100 rows": X[:100]}
    explainers = {
        k: shap.KernelExplainer(model.predict, b) for k, b in background.items()
    }
    ours: list[float] = []
    theirs: dict[str, list[float]] = {k: [] for k in explainers}
    found: dict[str, Any] = {k: [] for k in explainers}
    model.shapley_values(new)
    for part in np.array_split(few, 5):  # in turns
        ours.append(cpu_time(lambda: model.shapley_values(new)) / len(new))
        for name, explainer in explainers.items():
            start = time.process_time()
            values = explainer.shap_values(part, nsamples=100, l1_reg=0, silent=True)
            theirs[name].append((time.process_time() - start) / len(part))
            found[name].append(values)
    own = float(((model.shapley_values(few) - truth) ** 2).mean())
    mine = float(np.median(ours))
    row = {"explainer": "InstaSHAP", "MSE of values": own, "ms per row": 1e3 * mine}
    rows = [{**row, "time": 1.0, "error": 1.0}]
    for name in explainers:
        error = float(((np.concatenate(found[name]) - truth) ** 2).mean())
        took = float(np.median(theirs[name]))
        rows.append(
            {
                "explainer": f"KernelExplainer, background {name}",
                "MSE of values": error,
                "ms per row": 1e3 * took,
                "time": took / mine,
                "error": error / own,
            }
        )
    about = (
        "The fitted model of independent columns, explained by itself (10,000 rows at "
        f"once) and by shap with 100 coalitions ({n_explained} rows), in turns. Time "
        "and error are ratios to ours; values are those of the true function."
    )
    return {"title": "Against KernelSHAP", "about": about, "rows": rows}


def bike(epochs: int, seeds: int) -> dict[str, Any]:
    """Rented bikes per hour: 12 columns, standardised counts."""
    frame = table("bike_sharing_hour")
    y = frame.pop("cnt").to_numpy(float)
    y = (y - y.mean()) / y.std()
    drop = ["instant", "dteday", "casual", "registered"]
    X = frame.drop(columns=drop)
    rows = []
    for seed in range(seeds):
        a, b, c, d = train_test_split(X, y, test_size=0.3, random_state=seed)
        for terms in ("auto", "all") if seed == 1 else ("auto",):
            options = {"interactions": terms, "max_epochs": epochs}
            model, cpu = fitted(a, c, **options)
            rows.append(
                {
                    "seed": seed,
                    "interactions": terms,
                    "terms": len(model.terms_),
                    "MSE": float(((model.predict(b) - d) ** 2).mean()),
                    "R2, half present": model.masked_r2_[6],
                    "CPU s of fit": cpu,
                }
            )
    about = "Random 70/30 split of 17,379 hours, 12 columns as numbers."
    return {"title": "Bike sharing", "about": about, "rows": rows}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["independent", "correlated", "kernel", "bike"]
    parser.add_argument("--part", choices=names, action="append")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    epochs = 5 if asked.quick else 100
    work = {
        "independent": lambda: independent(epochs, asked.seeds),
        "correlated": lambda: correlated(epochs, asked.seeds),
        "kernel": lambda: kernel(epochs, 10 if asked.quick else 100),
        "bike": lambda: bike(min(epochs, 40), asked.seeds),
    }
    facts = machine(PACKAGES)
    for name in asked.part or names:
        write("insta_shap", COMMAND, facts, {name: work[name]()})
        print(f"{name}: done")


if __name__ == "__main__":
    main()
