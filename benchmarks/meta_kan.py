"""MetaKAN: accuracy with few parameters, memory of the optimiser, time per epoch."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from kan import KAN as PyKAN
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._harness import cpu_time, machine, write
from benchmarks._recursive_kan import network
from skinterp.datasets import make_feynman
from skinterp.kan import (
    KANClassifier,
    KANRegressor,
    MetaKANClassifier,
    MetaKANRegressor,
)
from skinterp.kan._kan_module import KANModule, MetaKANModule

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.meta_kan"
PACKAGES = ["numpy", "scikit-learn", "torch", "skorch", "pykan"]
SEEDS = range(3)
ROWS = 128
# Equations of the KAN paper's table, the first twelve.
EQUATIONS = (
    *("I.6.2", "I.6.2b", "I.9.18", "I.12.11", "I.13.12", "I.15.3x", "I.16.6"),
    *("I.18.4", "I.26.2", "I.27.6", "I.29.16", "I.30.3"),
)


def config(widths: tuple[int, ...], **changes: Any) -> dict[str, Any]:
    """Describe a network with the settings of the classification experiments."""
    shape = {"widths": widths, "grid_size": 5, "spline_order": 3}
    grid = {"low": -1.0, "high": 1.0, "base": "silu", "squash": False}
    meta = {"code_dim": 1, "meta_hidden": 32, "meta_activation": "relu"}
    groups = tuple(range(len(widths) - 1))
    return {**shape, **grid, **meta, "groups": groups, "checkpoint": False, **changes}


def pykan(widths: tuple[int, ...], fast: bool) -> Any:
    """Make pykan's network, without the files that it writes."""
    made = PyKAN(width=list(widths), grid=5, k=3, seed=0, auto_save=False)
    return made.speed() if fast else made


# -- accuracy --------------------------------------------------------------------------


def digits() -> dict[str, Any]:
    """Accuracy on new rows of the digits, 64-32-10."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    common = {"hidden_layer_sizes": (32,), "batch_size": 128, "max_epochs": 40}
    makers: dict[str, Callable[[int], Any]] = {
        "MetaKANClassifier": lambda s: MetaKANClassifier(**common, random_state=s),
        "KANClassifier": lambda s: KANClassifier(**common, random_state=s),
        "MLPClassifier, 3,085 parameters": lambda s: make_pipeline(
            StandardScaler(), MLPClassifier(hidden_layer_sizes=(41,), random_state=s)
        ),
    }
    rows = []
    for name, make in makers.items():
        models = [make(seed).fit(X, y) for seed in SEEDS]
        scores = [100 * model.score(X_new, y_new) for model in models]
        rows.append(
            {
                "model": name,
                "parameters": getattr(models[0], "n_parameters_", 41 * 75 + 10),
                "test accuracy, %": float(np.mean(scores)),
                "lowest": float(min(scores)),
                "highest": float(max(scores)),
            }
        )
    share = rows[0]["parameters"] / rows[1]["parameters"]
    gap = rows[0]["test accuracy, %"] - rows[1]["test accuracy, %"]
    return {
        "title": "Digits, 64-32-10",
        "about": (
            f"70 % of the rows to train, mean of {len(SEEDS)} seeds, defaults with 40 "
            f"epochs. Parameters of MetaKAN over those of KAN: {share:.3f}; difference "
            f"of accuracy {gap:+.2f} points. Required: 96.5 %, 0.15, -1 point."
        ),
        "rows": rows,
    }


FUNCTIONS = {
    "x*y": lambda X: X[:, 0] * X[:, 1],
    "exp(sin(pi*x) + y^2)": lambda X: np.exp(np.sin(np.pi * X[:, 0]) + X[:, 1] ** 2),
}


def functions() -> dict[str, Any]:
    """Error on new rows of two functions of two variables, 2-5-1."""
    X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    small = {"hidden_layer_sizes": (5,), "grid_size": 3}
    makers: dict[str, Callable[[int], Any]] = {
        "MetaKANRegressor, one meta-learner": lambda s: MetaKANRegressor(
            **small, meta_hidden=16, share="all", random_state=s
        ),
        "MetaKANRegressor, one per layer": lambda s: MetaKANRegressor(
            **small, meta_hidden=16, random_state=s
        ),
        "KANRegressor": lambda s: KANRegressor(**small, random_state=s),
    }
    rows = []
    for name, function in FUNCTIONS.items():
        y = function(X)
        for what, make in makers.items():
            errors, times = [], []
            for seed in SEEDS:
                model = make(seed)
                times.append(cpu_time(partial(model.fit, X[:1000], y[:1000])))
                errors.append(rmse(model.predict(X[1000:]), y[1000:]))
            rows.append(
                {
                    "function": name,
                    "model": what,
                    "parameters": model.n_parameters_,
                    "median RMSE": float(np.median(errors)),
                    "largest RMSE": float(max(errors)),
                    "CPU s per fit": float(np.median(times)),
                }
            )
    return {
        "title": "Two functions, 2-5-1, three intervals",
        "about": (
            f"1,000 rows to train, 1,000 new ones, {len(SEEDS)} seeds, L-BFGS by "
            "default. Required: 5e-3 for the product."
        ),
        "rows": rows,
    }


def rmse(a: Any, b: Any) -> float:
    """Root of the mean squared difference."""
    return float(np.sqrt(np.mean((a - b) ** 2)))


def feynman(n_seeds: int) -> dict[str, Any]:
    """Relative error on new rows of twelve equations, three networks."""
    rows = []
    for name in EQUATIONS:
        X, y = make_feynman(
            name, 2000, irrelevant_per_variable=0, random_state=0, return_X_y=True
        )
        errors: dict[str, list[float]] = {"KAN": [], "MetaKAN": [], "MLP": []}
        sizes = {}
        for seed in range(n_seeds):
            for what, model in three(X.shape[1], seed).items():
                model.fit(X[:1000], y[:1000])
                error = rmse(model.predict(X[1000:]), y[1000:]) / y.std()
                errors[what].append(error)
                sizes[what] = n_parameters(model)
        row: dict[str, Any] = {"equation": name, "variables": X.shape[1]}
        row |= {f"{what}, parameters": sizes[what] for what in errors}
        rows.append(row | {w: float(np.median(e)) for w, e in errors.items()})
    best = sum(row["MetaKAN"] <= row["MLP"] for row in rows)
    near = sum(row["MetaKAN"] <= 1.5 * row["KAN"] for row in rows)
    return {
        "title": "Twelve Feynman equations",
        "about": (
            "RMSE on 1,000 new rows over the standard deviation of the target; 1,000 "
            f"rows to train, no noise, median of {n_seeds} seeds. KAN and MetaKAN have "
            "10 hidden nodes and 100 steps of L-BFGS; MetaKAN shares one meta-learner "
            "of 16 units. MLP: scikit-learn's, tanh, L-BFGS up to 2,000 steps, "
            "standardised, of as many parameters as MetaKAN. MetaKAN is no worse than "
            f"the MLP on {best} of {len(rows)}, and within 1.5 times KAN on {near}."
        ),
        "rows": rows,
    }


def three(d: int, seed: int) -> dict[str, Any]:
    """KAN, MetaKAN, and an MLP of as many parameters as the latter."""
    shape = {"hidden_layer_sizes": (10,), "max_epochs": 100, "random_state": seed}
    n_meta = 10 * (d + 1) + 2 * 16 + 17 * 9
    width = max(1, round((n_meta - 1) / (d + 2)))
    mlp = MLPRegressor(
        hidden_layer_sizes=(width,),
        activation="tanh",
        solver="lbfgs",
        max_iter=2000,
        random_state=seed,
    )
    scaled = TransformedTargetRegressor(mlp, transformer=StandardScaler())
    return {
        "KAN": KANRegressor(**shape),
        "MetaKAN": MetaKANRegressor(**shape, share="all", meta_hidden=16),
        "MLP": make_pipeline(StandardScaler(), scaled),
    }


def n_parameters(model: Any) -> int:
    """Count the trained numbers of any of the models."""
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_)
    inner = model[-1].regressor_
    return sum(part.size for part in [*inner.coefs_, *inner.intercepts_])


# -- memory and time -------------------------------------------------------------------


def state_bytes(module: Any, rows: int = 32) -> dict[str, Any]:
    """Bytes of parameters, of gradients and of AdamW's states after a step."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    saved: dict[int, int] = {}

    def note(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    step, _ = training_step(module, optimizer, rows, note)
    step()
    states = [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if torch.is_tensor(value)
    ]
    parameters = list(module.parameters())
    return {
        "parameters": sum(p.numel() for p in parameters),
        "gradients, KiB": sum(p.grad.nbytes for p in parameters) / 1024,
        "AdamW states, KiB": sum(s.nbytes for s in states) / 1024,
        f"kept for the backward pass of {rows} rows, KiB": sum(saved.values()) / 1024,
    }


def training_step(
    module: Any, optimizer: Any, rows: int, note: Any = None
) -> tuple[Callable[[], None], Any]:
    """One step on rows drawn once; how many inputs is read off the module."""
    n_in = module.n_in if hasattr(module, "n_in") else module.widths[0]
    X = torch.rand(rows, n_in, generator=torch.Generator().manual_seed(0)) * 2 - 1
    y = torch.arange(rows) % 10

    def step() -> None:
        optimizer.zero_grad()
        if note is None:
            loss = torch.nn.functional.cross_entropy(module(X), y)
        else:
            with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
                loss = torch.nn.functional.cross_entropy(module(X), y)
        loss.backward()
        optimizer.step()

    return step, X


def memory() -> dict[str, Any]:
    """What training holds at 784-256-10, beside the coefficients themselves."""
    widths = (784, 256, 10)
    makers = {
        "MetaKAN": lambda: MetaKANModule(config(widths)),
        "MetaKAN, checkpoint=True": lambda: MetaKANModule(
            config(widths, checkpoint=True)
        ),
        "KAN": lambda: KANModule(config(widths)),
    }
    rows = [{"network": name} | state_bytes(make()) for name, make in makers.items()]
    ratio = rows[0]["AdamW states, KiB"] / rows[2]["AdamW states, KiB"]
    return {
        "title": "Memory of training, 784-256-10",
        "about": (
            f"States of MetaKAN over those of KAN: {ratio:.4f}. Required: at most 0.2. "
            "Of what is kept for the backward pass, the features grow with the rows: "
            "codes do not change that, `checkpoint` does."
        ),
        "rows": rows,
    }


def step_times(widths: tuple[int, ...], repeats: int) -> dict[str, float]:
    """Median CPU milliseconds per step of 128 rows, the networks in turns."""
    recursive = network(widths)
    modules = {
        "MetaKAN": MetaKANModule(config(widths)),
        "KAN": KANModule(config(widths)),
        "recursive layer": recursive,
        "pykan, speed()": pykan(widths, fast=True),
        "pykan": pykan(widths, fast=False),
    }
    steps = {}
    for name, module in modules.items():
        module.n_in = widths[0]
        fused = not name.startswith("pykan")  # its parameters are not all used
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=fused)
        steps[name], _ = training_step(module, optimizer, ROWS)
        steps[name]()
    times: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in range(repeats):
        for name, step in steps.items():
            slow = name == "pykan"
            if slow and repeat >= 3:
                continue  # hundreds of times the others
            count = 1 if slow else 5
            start = time.process_time()
            for _ in range(count):
                step()
            times[name].append((time.process_time() - start) / count * 1e3)
    return {name: float(np.median(values)) for name, values in times.items()}


def speed(repeats: int, shapes: tuple[tuple[int, ...], ...]) -> dict[str, Any]:
    """CPU time of training, per step of 128 rows."""
    rows = []
    for widths in shapes:
        times = step_times(widths, repeats)
        ours = times["MetaKAN"]
        row: dict[str, Any] = {"shape": "-".join(map(str, widths))}
        row |= {f"{name}, ms": value for name, value in times.items()}
        row |= {
            "pykan / MetaKAN": times["pykan"] / ours,
            "pykan, speed() / MetaKAN": times["pykan, speed()"] / ours,
            "recursive / MetaKAN": times["recursive layer"] / ours,
        }
        rows.append(row)
    return {
        "title": "CPU time of a training step of 128 rows",
        "about": (
            "Forward, backward and AdamW (fused, but for pykan), float32, one thread, "
            "in turns; an epoch is a number of these for all alike. `recursive layer`: "
            "`benchmarks/_recursive_kan.py`. `speed()` switches pykan's symbolic edges "
            "off. Required: pykan / MetaKAN at least 5, recursive / MetaKAN at least 1."
        ),
        "rows": rows,
    }


def bridge() -> dict[str, Any]:
    """CPU time per epoch of the estimators, from fits of different length."""
    X, y = load_digits(return_X_y=True)
    rows = []
    for make in (MetaKANClassifier, KANClassifier):
        slopes = []
        for seed in SEEDS:
            spent = []
            for epochs in (2, 12):
                model = make((32,), max_epochs=epochs, patience=None, random_state=seed)
                spent.append(cpu_time(partial(model.fit, X, y)))
            slopes.append((spent[1] - spent[0]) / 10 * 1e3)
        rows.append(
            {"estimator": make.__name__, "CPU ms per epoch": float(np.median(slopes))}
        )
    return {
        "title": "Estimators: CPU time per epoch of digits, 64-32-10",
        "about": "1,617 rows in 13 steps, validation and best weights included.",
        "rows": rows,
    }


def main() -> None:
    """Run all parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer seeds and repeats")
    names = ["digits", "functions", "feynman", "memory", "speed", "bridge"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="This network is too small")
    warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
    quick = chosen.quick
    shapes = ((64, 32, 10), (784, 32, 10))
    parts = {
        "digits": digits,
        "functions": functions,
        "feynman": partial(feynman, 1 if quick else 3),
        "memory": memory,
        "speed": partial(speed, 3 if quick else 9, shapes),
        "bridge": bridge,
    }
    for name in chosen.only:
        facts = machine(PACKAGES)
        write("meta_kan", COMMAND, facts, {name: parts[name]()})


if __name__ == "__main__":
    main()
