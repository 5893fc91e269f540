"""InterpGN: cost against the plain formulation, accuracy, and what shapelets decide.

``--only PART ...`` runs some parts: cost, length, basic, vowels, uea, tser. Every fit
is written to ``results/interpgn.jsonl`` at once, and not repeated when the command is
given again; delete the file to start anew. ``--sets`` and ``--seeds`` take fewer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._harness import interleaved, machine, write
from skinterp.neural import NeuralClassifier
from skinterp.series import (
    InterpGNClassifier,
    InterpGNRegressor,
    ShapeletBottleneckClassifier,
)
from skinterp.series._interpgn_deep import FCN
from skinterp.series._interpgn_module import InterpGN, l1_by_torch
from skinterp.series._interpgn_params import LENGTHS, points_of

COMMAND = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.interpgn"
PACKAGES = ["numpy", "scikit-learn", "numba", "torch", "skorch"]
RUNS = Path(__file__).parent / "results" / "interpgn.jsonl"

UEA = ("BasicMotions", "Epilepsy", "Libras", "PenDigits", "StandWalkJump")
TSER = ("Tecator", "Covid3Month")
# accuracy of FCN, SBM and InterpGN in the paper's table, stopped on the test set
PAPER = {
    "BasicMotions": (1.0, 1.0, 1.0),
    "JapaneseVowels": (0.991, 0.963, 0.990),
    "Epilepsy": (0.975, 0.993, 0.988),
    "Libras": (0.953, 0.860, 0.969),
}
BATCH, CHANNELS, POINTS, SHAPELETS, CLASSES = 32, 6, 100, 10, 4


# -- cost ------------------------------------------------------------------------------
class Plain(torch.nn.Module):
    """The straightforward formulation: windows and shapelets broadcast to a tensor."""

    def __init__(self, bank: Any) -> None:
        super().__init__()
        self.weight, self.stride = bank.weight, bank.stride

    def forward(self, x: Any, epsilon: float, distance: str) -> tuple[Any, Any, Any]:
        """Match by (batch, channels, shapelets, windows, length) differences."""
        windows = x.unfold(2, self.weight.shape[2], self.stride)[:, :, None]
        d = (windows - self.weight[None, :, :, None]).abs().mean(dim=4)
        p = torch.exp(-((epsilon * d) ** 2))
        soft = p.softmax(dim=3)
        at = p.argmax(dim=3, keepdim=True)
        hard = torch.zeros_like(p).scatter_(3, at, 1.0)
        best = ((hard + soft - soft.detach()) * p).sum(dim=3)
        least = d.gather(3, at)[..., 0]
        return best.flatten(1), least.flatten(1), at[..., 0].flatten(1)


class ByCdist(Plain):
    """Windows copied, and distances by torch."""

    def forward(self, x: Any, epsilon: float, distance: str) -> tuple[Any, Any, Any]:
        """Match by ``torch.cdist``."""
        d = l1_by_torch(x, self.weight, self.stride)
        p = torch.exp(-((epsilon * d) ** 2))
        soft = p.softmax(dim=3)
        top, at = p.max(dim=3)
        spread = (soft * p.detach()).sum(dim=3)
        best = top + spread - spread.detach()
        return best.flatten(1), d.min(dim=3).values.flatten(1), at.flatten(1)


def network(deep: str | None, points: int) -> InterpGN:
    """A network of the size that is asked for."""
    torch.manual_seed(0)
    lengths = points_of(LENGTHS, points)
    return InterpGN(
        {
            "n_channels": CHANNELS,
            "n_timepoints": points,
            "lengths": lengths,
            "strides": (1,) * len(lengths),
            "n_shapelets": SHAPELETS,
            "epsilon": 1.0,
            "distance": "l1",
            "n_classes": CLASSES,
            "regression": False,
            "deep": deep,
            "gate_threshold": 1.0,
        }
    )


def epoch(formula: type[Plain] | None, deep: str | None, points: int) -> Callable:
    """Make the work of one epoch: four steps of Adam, penalties included."""
    net = network(deep, points)
    if formula is not None:
        net.banks = torch.nn.ModuleList(formula(bank) for bank in net.banks)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, BATCH, CHANNELS, points)).astype(np.float32)
    x, y = torch.from_numpy(X), torch.arange(BATCH) % CLASSES
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3, fused=True)
    loss_of = torch.nn.functional.cross_entropy

    def work() -> None:
        for part in x:
            optimizer.zero_grad()
            said = net.answer(part, part)
            loss = loss_of(said.mixed, y) + net.penalty(0.1, 0.1)
            if deep is not None:
                loss = loss + loss_of(said.own, y)
            loss.backward()
            optimizer.step()

    return work


def cost(_: Any) -> dict[str, Any]:
    """CPU time of an epoch at the size that is asked for."""
    torch.set_num_threads(1)
    formulas = {"ours": None, "torch.cdist": ByCdist, "broadcast": Plain}
    rows = []
    for name, deep in (("ShapeletBottleneck", None), ("InterpGN", "fcn")):
        works = {key: epoch(f, deep, POINTS) for key, f in formulas.items()}
        times = interleaved(works, 7)
        rows += [
            {
                "network": name,
                "formulation": key,
                "CPU ms per epoch": 1e3 * seconds,
                "of broadcast": seconds / times["broadcast"],
            }
            for key, seconds in times.items()
        ]
    rows.append(
        {
            "network": "kernels",
            "formulation": "compiled in a fresh process",
            "CPU ms per epoch": 1e3 * compile_time(),
            "of broadcast": "-",
        }
    )
    return {
        "title": "Cost of an epoch",
        "about": f"Four batches of {BATCH} series, {CHANNELS} channels of {POINTS} "
        f"points, {SHAPELETS} shapelets per length and channel; penalties and Adam "
        "included. Required: ours at most 0.7 of broadcast.",
        "rows": rows,
    }


def compile_time() -> float:
    """CPU seconds of the first step, less those of the second, without a cache."""
    code = (
        "import time, torch; from benchmarks.interpgn import epoch\n"
        "work = epoch(None, None, 100); times = []\n"
        "for _ in range(2):\n"
        "    start = time.process_time(); work()\n"
        "    times.append(time.process_time() - start)\n"
        "print(times[0] - times[1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, check=True
        )
    return float(done.stdout)


def length(_: Any) -> dict[str, Any]:
    """CPU time of an epoch of the bottleneck over the length of the series."""
    torch.set_num_threads(1)
    rows = []
    for points in (50, 100, 200, 300):
        works = {"ours": epoch(None, None, points), "plain": epoch(Plain, None, points)}
        times = interleaved(works, 3)
        sizes = points_of(LENGTHS, points)
        largest = BATCH * CHANNELS * SHAPELETS
        rows.append(
            {
                "points": points,
                "ours, CPU ms": 1e3 * times["ours"],
                "broadcast, CPU ms": 1e3 * times["plain"],
                "ratio": times["ours"] / times["plain"],
                "numbers in the largest tensor, ours": largest
                * max(points - n + 1 for n in sizes),
                "broadcast": largest * max((points - n + 1) * n for n in sizes),
            }
        )
    about = "Both formulations cost O(sum L (T - L)); the memory differs by the length."
    return {"title": "Cost over the length", "about": about, "rows": rows}


# -- accuracy --------------------------------------------------------------------------
class FCNClassifier(NeuralClassifier):
    """The deep expert by itself, on the same standardised channels."""

    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        return np.asarray(X, dtype=np.float64), np.asarray(y)

    def _validate_X(self, X: Any) -> Any:
        return np.asarray(X, dtype=np.float64)

    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.mean_ = X.mean(axis=(0, 2))[:, None]
        self.scale_ = X.std(axis=(0, 2))[:, None]

    def _transform_inputs(self, X: Any) -> Any:
        return (X - self.mean_) / self.scale_

    def _module_config(self, data: Any) -> dict[str, Any]:
        return {"shape": data.X.shape[1:], "n_outputs": data.n_outputs}

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Any:
        return FCN(*config["shape"], config["n_outputs"])

    def _raw_outputs(self, X: Any) -> Any:
        return self._evaluate(X, batch_size=256)


def load(kind: str, name: str) -> tuple[Any, Any, Any, Any]:
    """Read a set; one that is not in the folder comes from aeon."""
    path = Path(os.environ.get("SKINTERP_DATA", ".")) / "ts" / kind / f"{name}.npz"
    if path.exists():
        held = np.load(path, allow_pickle=True)
        return tuple(held[k] for k in ("X_train", "y_train", "X_test", "y_test"))
    from aeon.datasets import load_classification

    parts = [load_classification(name, split=split) for split in ("train", "test")]
    longest = max(case.shape[1] for X, _ in parts for case in X)
    found: list[Any] = []
    for X, y in parts:
        pads = [((0, 0), (0, longest - case.shape[1])) for case in X]
        found += [np.stack([np.pad(c, p) for c, p in zip(X, pads, strict=True)]), y]
    return tuple(found)


def known_runs() -> dict[str, dict[str, Any]]:
    """Fits that are done, by what was fitted."""
    if not RUNS.exists():
        return {}
    lines = map(json.loads, RUNS.read_text().splitlines())
    return {line["key"]: line for line in lines}


def once(key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do a piece of work, or take what an earlier run has found."""
    done = known_runs()
    if key not in done:
        start = time.process_time()
        found = work()
        line = {"key": key, **found, "cpu": time.process_time() - start}
        RUNS.parent.mkdir(exist_ok=True)
        with RUNS.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        print(key, {k: v for k, v in line.items() if k != "key"}, flush=True)
        return line
    return done[key]


COMMON: dict[str, Any] = {
    "max_epochs": 300,
    "patience": 50,
    "batch_size": 32,
    "lr": 5e-3,
    "validation_fraction": 0.2,
    "device": "cpu",
}


def classified(name: str, model: str, n_shapelets: int, seed: int) -> dict[str, Any]:
    """Fit one classifier on one set; accuracies, share, and measures of the rules."""
    X, y, X_test, y_test = load("uea", name)
    shared = {**COMMON, "random_state": seed}
    if model == "FCN":
        fcn = FCNClassifier(**shared).fit(X, y)
        return {"accuracy": float(fcn.score(X_test, y_test)), "epochs": fcn.n_iter_}
    kinds = {"SBM": ShapeletBottleneckClassifier, "InterpGN": InterpGNClassifier}
    fitted: Any = kinds[model](n_shapelets=n_shapelets, **shared).fit(X, y)
    alone = fitted.predict_interpretable(X_test) == y_test
    return {
        "accuracy": float(fitted.score(X_test, y_test)),
        "rules alone": float(alone.mean()),
        "epochs": fitted.n_iter_,
        **fitted.quality(X_test, y_test),
    }


def runs_of(name: str, model: str, n_shapelets: int, seeds: int) -> list[Any]:
    """All seeds of one classifier on one set."""
    found = []
    for seed in range(seeds):
        size = "" if model == "FCN" else f" K={n_shapelets}"
        key = f"{name} {model}{size} seed={seed}"
        run = once(key, partial(classified, name, model, n_shapelets, seed))
        found.append(run)
    return found


def mean(runs: list[Any], name: str) -> float:
    """Mean over seeds."""
    return float(np.mean([run[name] for run in runs]))


def small(name: str, title: str, required: str) -> Callable[[Any], dict[str, Any]]:
    """A part with one row per fit on one of the small sets."""

    def part(arguments: Any) -> dict[str, Any]:
        rows = []
        for model in ("SBM", "InterpGN"):
            runs = runs_of(name, model, 5, arguments.seeds)
            rows += [
                {
                    "model": model,
                    "seed": str(seed),
                    "accuracy": run["accuracy"],
                    "rules alone": run["rules alone"],
                    "mean share": run["mean_share"],
                    "shapelet error": run["shapelet_error"],
                    "epochs": float(run["epochs"]),
                    "CPU s": run["cpu"],
                }
                for seed, run in enumerate(runs)
            ]
            keys = list(rows[-1])[2:]
            tail = rows[-len(runs) :]
            averages = {key: float(np.mean([r[key] for r in tail])) for key in keys}
            rows.append({"model": model, "seed": "mean", **averages})
        about = (
            "Five shapelets per length and channel, up to 300 epochs, a fifth of the "
            f"training series kept apart; accuracy on the test series. {required}"
        )
        return {"title": title, "about": about, "rows": rows}

    return part


def uea(arguments: Any) -> dict[str, Any]:
    """Accuracy of the deep expert, the rules, and both."""
    rows = []
    for name in arguments.sets or (*UEA, "JapaneseVowels"):
        models = {m: runs_of(name, m, 10, arguments.seeds) for m in ("SBM", "InterpGN")}
        models["FCN"] = runs_of(name, "FCN", 10, arguments.seeds)
        paper = PAPER.get(name)
        mixed = models["InterpGN"]
        rows.append(
            {
                "set": name,
                "FCN": mean(models["FCN"], "accuracy"),
                "SBM": mean(models["SBM"], "accuracy"),
                "InterpGN": mean(mixed, "accuracy"),
                "its rules alone": mean(mixed, "rules alone"),
                "mean share": mean(mixed, "mean_share"),
                "shapelet error": mean(mixed, "shapelet_error"),
                "paper: FCN, SBM, InterpGN": ", ".join(map(str, paper or "-")),
                "CPU s: FCN, SBM, InterpGN": ", ".join(
                    f"{mean(models[m], 'cpu'):.0f}" for m in ("FCN", "SBM", "InterpGN")
                ),
            }
        )
    about = (
        f"Means of {arguments.seeds} seeds; ten shapelets per length and channel, up "
        "to 300 epochs, patience 50, stopped on a fifth of the training series, while "
        "the paper stops on the test series."
    )
    return {"title": "UEA sets", "about": about, "rows": rows}


def regressed(name: str, model: str, seed: int) -> dict[str, Any]:
    """Fit one regressor on one set."""
    X, y, X_test, y_test = load("tser", name)
    if model == "ridge":
        flat = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 17)))
        fitted: Any = flat.fit(X.reshape(len(X), -1), y)
        rest = fitted.predict(X_test.reshape(len(X_test), -1)) - y_test
        return {"rmse": float(np.sqrt((rest**2).mean()))}
    deep = {"InterpGN": "fcn", "shapelets": None}[model]
    shared = {**COMMON, "random_state": seed, "n_shapelets": 10, "deep": deep}
    fitted = InterpGNRegressor(**shared).fit(X, y)
    rest = fitted.predict(X_test) - y_test
    own = fitted.predict_interpretable(X_test) - y_test
    return {
        "rmse": float(np.sqrt((rest**2).mean())),
        "rmse alone": float(np.sqrt((own**2).mean())),
        "share": float(fitted.gate(X_test).mean()),
        "epochs": fitted.n_iter_,
    }


def tser(arguments: Any) -> dict[str, Any]:
    """Root mean squared errors of regressions."""
    rows = []
    for name in [n for n in TSER if not arguments.sets or n in arguments.sets]:
        y_test = load("tser", name)[3]
        row: dict[str, Any] = {"set": name, "sd of the target": float(y_test.std())}
        for model in ("ridge", "shapelets", "InterpGN"):
            seeds = 1 if model == "ridge" else arguments.seeds
            runs = [
                once(
                    f"{name} {model} seed={seed}",
                    partial(regressed, name, model, seed),
                )
                for seed in range(seeds)
            ]
            row[f"RMSE {model}"] = mean(runs, "rmse")
        row["its shapelets alone"] = mean(runs, "rmse alone")
        row["mean share"] = mean(runs, "share")
        rows.append(row)
    about = (
        f"Test RMSE, means of {arguments.seeds} seeds; ridge regression on all points "
        "for comparison. Shapelets see each series off its own level and scale."
    )
    return {"title": "Regression", "about": about, "rows": rows}


PARTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "cost": cost,
    "length": length,
    "basic": small(
        "BasicMotions", "BasicMotions", "Required: at least .95, mean share .6."
    ),
    "vowels": small(
        "JapaneseVowels",
        "JapaneseVowels",
        "Padded with zeros to 29 points. Required: InterpGN .97, SBM .90, .01 apart.",
    ),
    "uea": uea,
    "tser": tser,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.only:
        facts = machine(PACKAGES)
        write("interpgn", COMMAND, facts, {name: PARTS[name](arguments)})


if __name__ == "__main__":
    main()
