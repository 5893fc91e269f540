"""The bridge against a bare torch loop and stock skorch: CPU time per epoch."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNetRegressor
from skorch.callbacks import EarlyStopping
from skorch.helper import predefined_split
from torch import nn

from benchmarks._harness import cpu_time, machine, write
from skinterp.neural import NeuralRegressor, TrainingData

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.neural_bridge"
PACKAGES = ["numpy", "torch", "skorch"]
ROWS, COLUMNS, BATCH, VALID = 20_000, 20, 256, 0.1
EPOCHS = (2, 6)

Floats = NDArray[np.float32]


def network(n_features: int) -> nn.Module:
    """Two hidden layers of width 256."""
    return nn.Sequential(
        nn.Linear(n_features, 256),
        nn.ReLU(),
        nn.Linear(256, 256),
        nn.ReLU(),
        nn.Linear(256, 1),
    )


class Bridged(NeuralRegressor):
    """The same network through the bridge."""

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        return {"n_features": data.n_features}

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> nn.Module:
        return network(config["n_features"])


class Data:
    """Rows, and which of them validate."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
        y = np.sin(self.X[:, 0]) + self.X[:, 1] * self.X[:, 2]
        self.y = ((y - y.mean()) / y.std()).astype(np.float32)[:, None]
        self.n_valid = int(VALID * ROWS)


def bare(data: Data, epochs: int, *, fused: bool) -> None:
    """Train as one would by hand: slices of tensors, validation, best weights."""
    torch.manual_seed(0)
    X, y = torch.from_numpy(data.X), torch.from_numpy(data.y)
    X_valid, y_valid = X[: data.n_valid], y[: data.n_valid]
    X, y = X[data.n_valid :], y[data.n_valid :]
    module = network(COLUMNS)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3, fused=fused or None)
    best, state = np.inf, {}
    for _ in range(epochs):
        module.train()
        order = torch.randperm(len(X))
        total = 0.0
        for start in range(0, len(X), BATCH):
            rows = order[start : start + BATCH]
            optimizer.zero_grad()
            loss = ((module(X[rows]) - y[rows]) ** 2).mean()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        module.eval()
        with torch.no_grad():
            valid = ((module(X_valid) - y_valid) ** 2).mean().item()
        if valid < best:
            best = valid
            state = {k: v.clone() for k, v in module.state_dict().items()}
    module.load_state_dict(state)


def bridged(data: Data, epochs: int) -> None:
    """Train through the bridge."""
    Bridged(
        max_epochs=epochs,
        batch_size=BATCH,
        validation_fraction=VALID,
        patience=None,
        random_state=0,
    ).fit(data.X, data.y[:, 0])


def stock(data: Data, epochs: int) -> None:
    """Train by skorch as it comes."""
    from skorch.dataset import Dataset

    parts = slice(data.n_valid, None), slice(data.n_valid)
    train, valid = (Dataset(data.X[part], data.y[part]) for part in parts)
    NeuralNetRegressor(
        network(COLUMNS),
        optimizer=torch.optim.Adam,
        lr=1e-3,
        batch_size=BATCH,
        iterator_train__shuffle=True,
        train_split=predefined_split(valid),
        callbacks=[EarlyStopping(patience=10**6, load_best=True)],
        max_epochs=epochs,
        verbose=0,
    ).fit(train, None)


def per_epoch(repeats: int) -> dict[str, Any]:
    """Difference of two runs that differ in the number of epochs, in turns."""
    data = Data()
    works = {
        "bare loop": lambda epochs: bare(data, epochs, fused=False),
        "bare loop, fused Adam": lambda epochs: bare(data, epochs, fused=True),
        "skinterp.neural": lambda epochs: bridged(data, epochs),
        "skorch as it comes": lambda epochs: stock(data, epochs),
    }
    for work in works.values():
        work(1)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            few, many = (cpu_time(lambda n=n, w=work: w(n)) for n in EPOCHS)
            times[name].append(((many - few) / (EPOCHS[1] - EPOCHS[0]), few))
    epoch = {
        name: float(np.median([t[0] for t in runs])) for name, runs in times.items()
    }
    short = {
        name: float(np.median([t[1] for t in runs])) for name, runs in times.items()
    }
    rows = [
        {
            "loop": name,
            "CPU ms per epoch": 1e3 * epoch[name],
            "ratio to the bare loop": epoch[name] / epoch["bare loop"],
            "ratio, fused": epoch[name] / epoch["bare loop, fused Adam"],
            f"CPU ms of a fit of {EPOCHS[0]} epochs": 1e3 * short[name],
        }
        for name in works
    ]
    return {
        "title": "CPU time per epoch",
        "about": f"n = {ROWS:,}, {COLUMNS} columns, two hidden layers of width 256, "
        f"batches of {BATCH}, {VALID:.0%} of the rows for validation, best weights "
        f"kept; one thread; median of {repeats} repeats in turns. Required: at most "
        "1.15 of the bare loop. The bridge takes Adam's fused form where torch has it.",
        "rows": rows,
    }


def main() -> None:
    """Run the benchmark and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    facts = machine(PACKAGES)
    write("neural_bridge", COMMAND, facts, {"epoch": per_epoch(repeats)})


if __name__ == "__main__":
    main()
