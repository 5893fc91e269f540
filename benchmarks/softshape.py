"""SoftShape: the paper's protocol, a table over UCR sets, tokens kept, what is said.

``--only PART ...`` runs some parts: protocol, table, sparse, experts, occlusion. Every
fit is written to ``results/softshape.jsonl`` at once, and not repeated when the command
is given again; delete the file to start anew. ``--sets``, ``--methods`` and ``--seeds``
take fewer. The peers of the table, which are aeon's, run in a Python of their own:
``--peer-python``, with ``benchmarks/requirements-softshape.txt`` installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._harness import machine, write
from skinterp.series import InterpGNClassifier, ShapeletTransformer, SoftShapeClassifier

COMMAND = (
    "SKINTERP_DATA=<folder> OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
    "python -m benchmarks.softshape"
)
PACKAGES = ["numpy", "scikit-learn", "torch", "skorch"]
RUNS = Path(__file__).parent / "results" / "softshape.jsonl"
PEER = Path(__file__).parent / "_softshape_peer.py"

# length of the windows and epochs
PROTOCOL = {"GunPoint": (32, 120), "ItalyPowerDemand": (4, 80)}
LENGTHS = (0.1, 0.25, 0.5)
RATES = (0.0, 0.3, 0.5, 0.8)
TABLE = (
    *("ItalyPowerDemand", "SonyAIBORobotSurface1", "SonyAIBORobotSurface2"),
    *("TwoLeadECG", "CBF", "GunPoint", "SyntheticControl", "BeetleFly", "BirdChicken"),
    *("Coffee", "ToeSegmentation1", "ToeSegmentation2", "ArrowHead", "Beef"),
    *("MiddlePhalanxTW", "MiddlePhalanxOutlineAgeGroup", "ProximalPhalanxTW"),
    *("ProximalPhalanxOutlineAgeGroup", "Symbols", "Lightning7", "Lightning2", "Car"),
    *("Fish", "SwedishLeaf"),
)
SPARSE = ("GunPoint", "ItalyPowerDemand", "SyntheticControl", "ArrowHead", "Lightning7")
SAID = ("GunPoint", "ItalyPowerDemand", "SyntheticControl", "CBF")


# -- data and fits that were made ------------------------------------------------------
def place(name: str) -> Path:
    """File of a UCR set."""
    folder = os.environ.get("SKINTERP_DATA")
    if not folder:
        sys.exit("Set SKINTERP_DATA to the folder that holds ts/ucr.")
    return Path(folder) / "ts" / "ucr" / f"{name}.npz"


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Training and test part of a set, as (n_cases, 1, n_timepoints)."""
    with np.load(place(name)) as file:
        X, y, X_new, y_new = (
            file[f"{part}_{split}"] for split in ("train", "test") for part in "Xy"
        )
    X, X_new = (np.asarray(a, float).reshape(len(a), 1, -1) for a in (X, X_new))
    return X, y, X_new, y_new


def kept(key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do some work, or take what it gave before."""
    lines = RUNS.read_text().splitlines() if RUNS.exists() else []
    for line in map(json.loads, lines):
        if line["key"] == key:
            return dict(line)
    found = {"key": key, **work()}
    RUNS.parent.mkdir(exist_ok=True)
    with RUNS.open("a") as file:
        file.write(json.dumps(found) + "\n")
    print(json.dumps(found), flush=True)
    return found


def measured(model: Any, data: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    """Accuracy and CPU seconds of a fit and of a prediction."""
    X, y, X_new, y_new = data
    start = time.process_time()
    model.fit(X, y)
    middle = time.process_time()
    accuracy = float((model.predict(X_new) == y_new).mean())
    return {
        "accuracy": accuracy,
        "fit": middle - start,
        "predict": time.process_time() - middle,
    }


def softshape(seed: int, **options: Any) -> SoftShapeClassifier:
    """The classifier with its defaults."""
    return SoftShapeClassifier(device="cpu", random_state=seed, **options)


# -- protocol --------------------------------------------------------------------------
def fold(name: str, number: int, epochs: int | None) -> dict[str, Any]:
    """One of five folds over both parts of a set: 60, 20 and 20 per cent."""
    length, planned = PROTOCOL[name]
    X, y, X_new, y_new = load(name)
    X, y = np.concatenate([X, X_new]), np.concatenate([y, y_new])
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    train, test = list(folds)[number]
    model = softshape(
        number,
        shape_length=length,
        warmup_epochs=40 if epochs is None else epochs // 2,
        max_epochs=planned if epochs is None else epochs,
    )
    found = measured(model, (X[train], y[train], X[test], y[test]))
    return found | {"best epoch": int(model.best_epoch_)}


def protocol(args: argparse.Namespace) -> dict[str, Any]:
    """Five folds of two sets, each from fresh weights."""
    rows = []
    for name in args.sets or PROTOCOL:
        if name not in PROTOCOL:
            continue
        tag = f"protocol {name}" + (f" {args.epochs}" if args.epochs else "")
        runs = [
            kept(f"{tag} {i}", lambda n=name, i=i: fold(n, i, args.epochs))
            for i in range(5)
        ]
        scores = [run["accuracy"] for run in runs]
        rows.append(
            {
                "set": name,
                "window": PROTOCOL[name][0],
                "accuracy": float(np.mean(scores)),
                "folds": " ".join(f"{s:.3f}" for s in scores),
                "must reach": {"GunPoint": 0.97, "ItalyPowerDemand": 0.96}[name],
                "CPU s per fold": float(np.mean([run["fit"] for run in runs])),
            }
        )
    about = (
        "Training and test part of the archive together, five stratified folds, of the "
        "rest a quarter to validate; warm-up of 40 epochs, 120 and 80 in all, batches "
        "of 32, fresh weights for each fold."
    )
    return {"title": "Five folds", "about": about, "rows": rows}


# -- table -----------------------------------------------------------------------------
def by_default(name: str, seed: int) -> dict[str, Any]:
    """Windows of a tenth of the series."""
    model = softshape(seed)
    found = measured(model, load(name))
    return found | {"tokens": model.n_tokens_, "kept": model.n_tokens_kept_}


def by_length(name: str, seed: int) -> dict[str, Any]:
    """The best of three lengths by the loss on the validation rows."""
    X, y, X_new, y_new = load(name)
    start = time.process_time()
    tried = []
    for length in LENGTHS:
        try:
            model = softshape(seed, shape_length=length).fit(X, y)
        except ValueError:  # no room for two windows
            continue
        loss = float(model.history_["valid_loss"][model.best_epoch_ - 1])
        tried.append((loss, length, model))
    _, length, model = min(tried, key=lambda t: t[0])
    middle = time.process_time()
    return {
        "accuracy": float((model.predict(X_new) == y_new).mean()),
        "fit": middle - start,
        "predict": time.process_time() - middle,
        "tokens": model.n_tokens_,
        "kept": model.n_tokens_kept_,
        "length": length,
    }


def interpgn(name: str, seed: int) -> dict[str, Any]:
    """InterpGN with its defaults."""
    return measured(InterpGNClassifier(device="cpu", random_state=seed), load(name))


def shapelets(name: str, seed: int) -> dict[str, Any]:
    """Random shapelets, and a ridge over their distances."""
    data = load(name)
    model = make_pipeline(
        ShapeletTransformer(random_state=seed),
        StandardScaler(),
        RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)),
    )
    few = np.concatenate([np.flatnonzero(data[1] == c)[:3] for c in np.unique(data[1])])
    model.fit(data[0][few], data[1][few])  # compiles
    return measured(model, data)


OURS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "SoftShape": by_default,
    "SoftShape, best length": by_length,
    "InterpGN": interpgn,
    "Shapelets + ridge": shapelets,
}
PEERS = ("MultiRocketHydra", "RDST")


def by_peer(python: str, name: str, method: str, seed: int) -> dict[str, Any]:
    """One fit of aeon's method in its own Python."""
    done = subprocess.run(
        [python, str(PEER), str(place(name)), method, str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{method} on {name} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def one_row(name: str, methods: Sequence[str], args: Any) -> dict[str, Any]:
    """All methods on one set, means over the seeds."""
    X, y, _, _ = load(name)
    row: dict[str, Any] = {
        "set": name,
        "series": len(X),
        "points": X.shape[2],
        "classes": len(np.unique(y)),
    }
    told: dict[str, Any] = {}
    for method in methods:
        runs = []
        for seed in range(args.seeds):
            work = (
                (lambda s=seed, m=method: OURS[m](name, s))
                if method in OURS
                else (lambda s=seed, m=method: by_peer(args.peer_python, name, m, s))
            )
            runs.append(kept(f"table {name} {method} {seed}", work))
        row[method] = float(np.mean([run["accuracy"] for run in runs]))
        told[f"s, {method}"] = float(np.mean([run["fit"] for run in runs]))
        if method == "SoftShape":
            row["tokens kept"] = f"{runs[0]['kept']} of {runs[0]['tokens']}"
    return row | told


def table(args: argparse.Namespace) -> dict[str, Any]:
    """Accuracy on the test part of the archive, and CPU seconds of the fit."""
    methods = args.methods or [*OURS, *(PEERS if args.peer_python else ())]
    rows = [one_row(name, methods, args) for name in args.sets or TABLE]
    if len(rows) > 1:
        mean: dict[str, Any] = dict.fromkeys(rows[0], "")
        mean["set"] = "mean"
        for method in methods:
            mean[method] = float(np.mean([row[method] for row in rows]))
            mean[f"s, {method}"] = float(np.mean([row[f"s, {method}"] for row in rows]))
        rows.append(mean)
    about = (
        "Training and test part as in the archive; behind it, CPU seconds of the fit, "
        "compilation apart. The best length is that of three (a tenth, a quarter and a "
        "half of the series) with the lowest loss on the validation rows; its time is "
        f"that of all three. Means over {args.seeds} seeds."
    )
    return {"title": "UCR sets", "about": about, "rows": rows}


# -- what is left out ------------------------------------------------------------------
def at_rate(name: str, rate: float, seed: int) -> dict[str, Any]:
    """One fit at a sparse rate."""
    model = softshape(seed, sparse_rate=rate)
    found = measured(model, load(name))
    return found | {"share": model.n_tokens_kept_ / model.n_tokens_}


def sparse(args: argparse.Namespace) -> dict[str, Any]:
    """Share of the tokens that reach the head against accuracy."""
    rows = []
    for rate in RATES:
        row: dict[str, Any] = {"sparse_rate": rate}
        runs = {
            name: [
                kept(
                    f"sparse {name} {rate} {seed}",
                    lambda n=name, s=seed, r=rate: at_rate(n, r, s),
                )
                for seed in range(args.seeds)
            ]
            for name in args.sets or SPARSE
        }
        every = [run for of_set in runs.values() for run in of_set]
        row["tokens kept"] = float(np.mean([run["share"] for run in every]))
        row["accuracy"] = float(np.mean([run["accuracy"] for run in every]))
        for name, of_set in runs.items():
            row[name] = float(np.mean([run["accuracy"] for run in of_set]))
        row["CPU s of fit"] = float(np.mean([run["fit"] for run in every]))
        rows.append(row)
    about = (
        "Share of the tokens that reach the head, the sum counted as one, and accuracy "
        f"on the test parts; windows of a tenth of the series, {args.seeds} seeds."
    )
    return {"title": "How many tokens are needed", "about": about, "rows": rows}


# -- experts ---------------------------------------------------------------------------
def loads(model: SoftShapeClassifier, X: Any) -> tuple[float, float]:
    """Entropy of the experts' loads, 1 where they are even; share of the largest."""
    import torch

    module: Any = model.module_
    seen: list[Any] = []
    hook = module.experts.register_forward_pre_hook(
        lambda _, args: seen.append(args[0])
    )
    with torch.no_grad():
        module(torch.from_numpy(model._transform_inputs(X)))
        hook.remove()
        expert, _ = module.experts.route(torch.cat([s.flatten(0, 1) for s in seen]))
    n = module.experts.router.shape[1]
    share = np.bincount(expert.numpy(), minlength=n) / len(expert)
    there = share[share > 0]
    return float(-(there * np.log(there)).sum() / np.log(n)), float(share.max())


def with_gate(name: str, normalised: bool, seed: int) -> dict[str, Any]:
    """One fit with either gate."""
    model, data = softshape(seed, normalize_gate=normalised), load(name)
    found = measured(model, data)
    entropy, largest = loads(model, data[0])
    return found | {"entropy": entropy, "largest": largest}


def experts(args: argparse.Namespace) -> dict[str, Any]:
    """Whether experts share the tokens, with the gate of either kind."""
    rows = []
    for name in args.sets or SAID:
        for normalised in (False, True):
            runs = [
                kept(
                    f"experts {name} {normalised} {seed}",
                    lambda n=name, g=normalised, s=seed: with_gate(n, g, s),
                )
                for seed in range(args.seeds)
            ]
            row: dict[str, Any] = {"set": name, "normalize_gate": normalised}
            for key in ("accuracy", "entropy", "largest"):
                row[key] = float(np.mean([run[key] for run in runs]))
            rows.append(row)
    about = (
        "Entropy of the shares of tokens that experts get, 1 where they are even, and "
        f"the largest share; means over {args.seeds} seeds."
    )
    return {"title": "Experts", "about": about, "rows": rows}


# -- occlusion -------------------------------------------------------------------------
def drops(name: str, seed: int) -> dict[str, Any]:
    """Fall of the log-probability when stretches of the series are made flat."""
    X, y, X_new, _ = load(name)
    model = softshape(seed).fit(X, y)
    X_new = X_new[:300]
    tokens = model.explain(X_new)
    rng = np.random.default_rng(seed)
    before = model.predict_log_proba(X_new)
    row = np.arange(len(X_new))
    best = before.argmax(axis=1)
    orders = {
        "contribution": tokens.contributions(),
        "score": tokens.scores,
        "chance": rng.uniform(size=tokens.scores.shape),
    }
    found: dict[str, Any] = {}
    for label, order in orders.items():
        first = order.argmax(axis=1)
        begin = model.token_starts_[first][:, None]
        time_points = np.arange(X_new.shape[2])
        inside = (time_points >= begin) & (time_points < begin + model.shape_length_)
        flat = np.where(inside[:, None, :], X_new.mean(axis=2, keepdims=True), X_new)
        after = model.predict_log_proba(flat)
        found[label] = float((before - after)[row, best].mean())
    return found


def occlusion(args: argparse.Namespace) -> dict[str, Any]:
    """Whether what is said to count counts when it is taken away."""
    rows = []
    for name in args.sets or SAID:
        runs = [
            kept(f"occlusion {name} {seed}", lambda n=name, s=seed: drops(n, s))
            for seed in range(args.seeds)
        ]
        row: dict[str, Any] = {"set": name}
        for key in ("contribution", "score", "chance"):
            row[f"by {key}"] = float(np.mean([run[key] for run in runs]))
        rows.append(row)
    about = (
        "Mean fall of the log-probability of the predicted class when one window of "
        "each test series is set to the mean of the series: the one that adds the "
        "most, the one of highest score, or any."
    )
    return {"title": "Taking windows away", "about": about, "rows": rows}


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "protocol": protocol,
    "table": table,
    "sparse": sparse,
    "experts": experts,
    "occlusion": occlusion,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=[*OURS, *PEERS])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="fewer epochs in the protocol")
    parser.add_argument("--peer-python", help="a Python with aeon")
    args = parser.parse_args()
    facts = machine(PACKAGES)
    for name in args.only:
        write("softshape", COMMAND, facts, {name: PARTS[name](args)})


if __name__ == "__main__":
    main()
