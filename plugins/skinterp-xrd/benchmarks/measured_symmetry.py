"""Measured patterns with a symmetry label, told by a classifier trained on simulations.

Run ``OMP_NUM_THREADS=1 python -m benchmarks.measured_symmetry [--quick]``: ten minutes
of CPU, or two.
"""

from __future__ import annotations

import csv
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from sklearn.metrics import f1_score

from benchmarks._harness import data_folder, machine, write
from skinterp_xrd import (
    RANDOM_CONDITIONS,
    PowderXRDSimulator,
    XRDSymmetryClassifier,
    crystal_system_of,
    read_cif,
)
from skinterp_xrd.datasets import make_prototype_structures

QUICK = "--quick" in sys.argv
COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.measured_symmetry"
COMMAND += " --quick" if QUICK else ""
EPOCHS, SEEDS = (10, 1) if QUICK else (20, 2)
# Crystals of each prototype, patterns of each of these, patterns of each CIF.
N_CRYSTALS, N_PATTERNS, N_OF_CIF = (30, 2, 4) if QUICK else (40, 3, 12)
# The range that all but the three short patterns and one more hold, in degrees.
LOW, HIGH, STEP = 10.0, 59.9, 0.02
# Labels of the measured patterns as they are written there.
SYSTEMS = {
    "pm-3m": "cubic",
    "Fm-3m": "cubic",
    "I4Imcm": "tetragonal",
    "P3m1": "trigonal",
    "P61mmc": "hexagonal",
    "P21a": "monoclinic",
    "Pc": "monoclinic",
}
# Grains and zero of a laboratory diffractometer, in place of the widest draws.
LABORATORY = dict(RANDOM_CONDITIONS) | {
    "grain_size_nm": (10.0, 100.0),
    "zero_shift": (-0.3, 0.3),
}
Floats = NDArray[np.float64]


def grid() -> Floats:
    """Angles on which all patterns are taken."""
    return np.round(np.arange(LOW, HIGH + STEP / 2, STEP), 6)


def measured() -> tuple[Floats, NDArray[Any], NDArray[np.bool_], NDArray[Any]]:
    """Patterns, systems, whether they hold the whole range, and their labels."""
    folder = data_folder("xrd")
    arrays = np.load(folder / "perovskite_films_xrd.npz")
    with open(folder / "perovskite_films_xrd_labels.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    rows, whole = [], []
    for line in lines:
        angles, counts = arrays[line["key"]][:2].astype(float)
        order = np.argsort(angles, kind="stable")
        angles, counts = angles[order], counts[order]
        # what was not measured is as if nothing was there
        rows.append(np.interp(grid(), angles, counts, left=0.0, right=0.0))
        whole.append(bool(angles[0] <= LOW + 0.1 and angles[-1] >= HIGH - 0.1))
    labels = np.array([line["space_group_label"] for line in lines])
    systems = np.array([SYSTEMS[label] for label in labels])
    return np.array(rows), systems, np.array(whole), labels


def without_background(X: Floats) -> Floats:
    """Subtract a background found by clipping the peaks; nothing is below zero."""
    level = uniform_filter1d(X, 21, axis=1, mode="nearest")
    for distance in range(125, 0, -1):  # 2.5 degrees
        left = np.roll(level, distance, axis=1)
        right = np.roll(level, -distance, axis=1)
        left[:, :distance], right[:, -distance:] = level[:, :1], level[:, -1:]
        level = np.minimum(level, (left + right) / 2)
    return np.maximum(X - level, 0.0)


def cif_library() -> tuple[list[Any], list[str]]:
    """Structures of the data folder and their systems."""
    folder = data_folder("crystals")
    with open(folder / "labels.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    structures, systems, refused = [], [], 0
    for line in lines:
        try:
            structures.append(read_cif(folder / line["file"]))
        except ValueError:
            refused += 1
            continue
        systems.append(crystal_system_of(int(line["space_group"])))
    print(f"{len(structures)} CIFs, {refused} refused")
    return structures, systems


def libraries(name: str, seed: int) -> list[tuple[list[Any], list[str], int]]:
    """Crystals, their systems, and how many patterns of each, part by part."""
    parts = []
    if "prototypes" in name:
        scale = (0.85, 1.75) if "large" in name else (0.85, 1.15)
        made, table = make_prototype_structures(
            N_CRYSTALS, scale=scale, random_state=seed
        )
        parts.append((made, table["crystal_system"].tolist(), N_PATTERNS))
    if "CIFs" in name:
        parts.append((*cif_library(), N_OF_CIF))
    return parts


def training(
    name: str, seed: int, conditions: Any
) -> tuple[Floats, NDArray[Any], int, int]:
    """Simulated patterns of a library, their systems, and how many crystals."""
    simulator = PowderXRDSimulator(
        two_theta=(LOW, HIGH), step=STEP, conditions=conditions, random_state=seed
    ).fit()
    X, y, n = [], [], 0
    for structures, systems, each in libraries(name, seed):
        patterns, _, groups = simulator.simulate(structures, each)
        X.append(patterns)
        y.append(np.array(systems)[groups])
        n += len(structures)
    labels = np.concatenate(y)
    return np.concatenate(X), labels, n, len(np.unique(labels))


LIBRARIES = (
    ("prototypes", "random"),
    ("CIFs", "random"),
    ("CIFs and prototypes, cells also large", "random"),
    ("CIFs and prototypes, cells also large", "laboratory"),
)


def figures(model: Any, X: Floats, y: NDArray[Any], whole: Any) -> dict[str, float]:
    """Accuracy and macro F1; classes that are in no library count as wrong."""
    told = model.predict(X)
    net = model.predict(without_background(X))
    classes = np.unique(y)
    right = told == y
    return {
        "accuracy": float(right.mean()),
        "accuracy, whole range": float(right[whole].mean()),
        "macro F1": float(
            f1_score(y, told, labels=classes, average="macro", zero_division=0)
        ),
        "accuracy, background subtracted": float((net == y).mean()),
        "macro F1, background subtracted": float(
            f1_score(y, net, labels=classes, average="macro", zero_division=0)
        ),
        "macro recall": float(np.mean([right[y == c].mean() for c in classes])),
        **{f"recall {c}": float(right[y == c].mean()) for c in classes},
    }


def always_cubic(y: NDArray[Any], whole: NDArray[np.bool_]) -> dict[str, Any]:
    """Figures of one who knows that most patterns are cubic."""
    classes = [str(c) for c in np.unique(y)]
    most = float((y == "cubic").mean())
    return {
        "trained on": "nothing: always cubic",
        "conditions": "",
        "training patterns": 0,
        "own hold-out": "",
        "accuracy": most,
        "accuracy, whole range": float((y[whole] == "cubic").mean()),
        "macro F1": 2 * most / (1 + most) / len(classes),
        "accuracy, background subtracted": most,
        "macro F1, background subtracted": 2 * most / (1 + most) / len(classes),
        "macro recall": 1 / len(classes),
        **{f"recall {c}": float(c == "cubic") for c in classes},
        "trainings": 0,
        "sd of accuracy": 0.0,
    }


def trained(library: str, conditions: str, seed: int) -> dict[str, Any]:
    """Figures of a classifier trained on a library."""
    X, y, whole, _ = measured()
    drawn = LABORATORY if conditions == "laboratory" else "random"
    T, z, n_crystals, n_systems = training(library, seed, drawn)
    model = XRDSymmetryClassifier(
        two_theta=(LOW, HIGH), max_epochs=EPOCHS, random_state=seed
    )
    held = model.fit(T, z).confusion_
    return {
        "trained on": f"{library} ({n_crystals} crystals, {n_systems} systems)",
        "conditions": conditions,
        "training patterns": len(z),
        "own hold-out": float(np.trace(held) / held.sum()),
        **figures(model, X, y, whole),
    }


def mean_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean figures of trainings on one library, and the spread of the accuracy."""
    row = {
        name: value if isinstance(value, str | int) else None
        for name, value in runs[0].items()
    }
    for name, value in row.items():
        if value is None:
            row[name] = float(np.mean([run[name] for run in runs]))
        if name == "accuracy":
            sd = float(np.std([run[name] for run in runs]))
    return row | {"trainings": len(runs), "sd of accuracy": sd}


def part_of(rows: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Put together what is written."""
    _, y, whole, labels = measured()
    counts = {str(c): int((y == c).sum()) for c in np.unique(y)}
    return {
        "title": "Measured patterns of perovskite films",
        "about": (
            f"All {len(y)} patterns with a symmetry label: {counts}. Labels "
            f"{sorted(set(labels.tolist()))} as given. {int((~whole).sum())} do not "
            f"hold the whole range of {LOW:g} to {HIGH:g} degrees; what is missing "
            f"is taken as zero. {EPOCHS} epochs; means over trainings (other "
            "crystals, conditions and weights). Own hold-out: accuracy on simulated "
            "patterns of the training crystals under new conditions. The films are "
            "textured, some hold several phases, and nearly all have cells that no "
            f"crystal of the libraries has. {seconds:.0f} s of CPU in all."
        ),
        "rows": rows,
    }


def main() -> None:
    """Train on each library, and try the measured patterns."""
    facts = machine(["torch", "numpy", "scikit-learn"])
    _, y, whole, _ = measured()
    start = time.process_time()
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for seed in range(SEEDS):
        for one in LIBRARIES:
            runs.setdefault(one, []).append(trained(*one, seed))
            print(seed, runs[one][-1], flush=True)
            # after each, so that what takes long can be cut short
            rows = [always_cubic(y, whole), *map(mean_of, runs.values())]
            part = part_of(rows, time.process_time() - start)
            write("measured_symmetry", COMMAND, facts, {"perovskite films": part})


if __name__ == "__main__":
    main()
