"""Crystal systems of crystals made from prototypes: seen, unseen, of unseen types.

Run ``python -m benchmarks.prototypes [PART ...] [--quick]`` in the plugin's folder.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks._harness import machine, write
from skinterp_xrd import XRDSymmetryClassifier
from skinterp_xrd.datasets import (
    XRDBenchmark,
    in_library_split,
    leave_one_prototype_out,
    make_xrd_benchmark,
    out_of_library_split,
)

COMMAND = "python -m benchmarks.prototypes"
EPOCHS = 15


def labels_of(data: XRDBenchmark) -> np.ndarray:
    """Crystal system of each pattern."""
    return data.labels["crystal_system"].to_numpy().astype(str)


def fit(X: Any, y: Any, **params: Any) -> tuple[XRDSymmetryClassifier, float]:
    """Train a classifier; gives it and its CPU seconds."""
    start = time.process_time()
    model = XRDSymmetryClassifier(max_epochs=EPOCHS, random_state=0, **params)
    model.fit(X, y)
    return model, time.process_time() - start


def row_of(name: str, model: Any, X: Any, y: Any, seconds: float) -> dict[str, Any]:
    """Figures of a model on test patterns."""
    report = model.report(X, y)
    rare = report.by_frequency.iloc[0]
    return {
        "case": name,
        "training patterns": round(model.class_counts_.sum()),
        "test patterns": len(y),
        "macro F1": report.macro_f1,
        "macro precision": report.macro_precision,
        "macro recall": report.macro_recall,
        "accuracy": report.accuracy,
        "recall of the rarest third": float(rare["macro_recall"]),
        "CPU s of fit": seconds,
    }


def splits(quick: bool) -> dict[str, Any]:
    """Known crystals under new conditions, and unseen crystals."""
    data = make_xrd_benchmark(6 if quick else 60, 5, random_state=0)
    y, rows = labels_of(data), []
    for name, (train, test) in (
        (
            "in-library: same crystals, new conditions",
            in_library_split(data.groups, 0.2, random_state=0),
        ),
        (
            "out-of-library: unseen crystals of seen prototypes",
            out_of_library_split(data.groups, data.prototypes, 0.2, random_state=0),
        ),
    ):
        model, seconds = fit(data.patterns[train], y[train])
        rows.append(row_of(name, model, data.patterns[test], y[test], seconds))
    return {
        "title": "Seen and unseen crystals",
        "about": (
            f"18 prototypes, {len(data.structures)} crystals, 5 patterns of each under "
            "random conditions (strict physics), five crystal systems; defaults of "
            f"the classifier, {EPOCHS} epochs."
        ),
        "rows": rows,
    }


def prototypes(quick: bool) -> dict[str, Any]:
    """One prototype left out at a time."""
    data = make_xrd_benchmark(3 if quick else 20, 3, random_state=1)
    X, y = data.patterns, labels_of(data)
    train, test = out_of_library_split(
        data.groups, data.prototypes, 0.3, random_state=0
    )
    model, _ = fit(X[train], y[train])
    seen = model.predict(X[test])
    told = np.empty_like(y)
    rows = []
    for name, rest, out in leave_one_prototype_out(data.prototypes):
        model, _ = fit(X[rest], y[rest])
        told[out] = model.predict(X[out])
        names, counts = np.unique(told[out], return_counts=True)
        own = data.prototypes[test] == name
        rows.append(
            {
                "prototype": name,
                "crystal system": str(y[out][0]),
                "accuracy, prototype seen": float((seen == y[test])[own].mean()),
                "accuracy, prototype left out": float((told == y)[out].mean()),
                "mostly taken for": str(names[counts.argmax()]),
            }
        )
    f1_seen = f1_score(y[test], seen, average="macro")
    f1_unseen = f1_score(y, told, average="macro")
    rows.append(
        {
            "prototype": "all: macro F1",
            "crystal system": "",
            "accuracy, prototype seen": float(f1_seen),
            "accuracy, prototype left out": float(f1_unseen),
            "mostly taken for": "",
        }
    )
    return {
        "title": "Unseen prototypes",
        "about": (
            f"{len(data.structures)} crystals, 3 patterns of each. Seen: 30 per cent "
            "of each prototype's crystals are tested on, the others trained on. Left "
            "out: no crystal of the prototype is trained on. "
            f"{EPOCHS} epochs. The last row is the macro F1 over all test patterns."
        ),
        "rows": rows,
    }


def imbalance(quick: bool) -> dict[str, Any]:
    """What is done about unequal classes, where they are very unequal."""
    data = make_xrd_benchmark(6 if quick else 30, 3, random_state=2)
    X, y = data.patterns, labels_of(data)
    train, test = out_of_library_split(
        data.groups, data.prototypes, 0.3, random_state=0
    )
    # one crystal in ten of the trigonal and hexagonal ones is kept
    rare = np.isin(y[train], ["trigonal", "hexagonal"])
    train = train[~rare | (data.groups[train] % (3 if quick else 10) == 0)]
    rows = []
    for option in (None, "logit_adjust", "balanced", "sampling"):
        model, seconds = fit(X[train], y[train], imbalance=option)
        rows.append(row_of(str(option), model, X[test], y[test], seconds))
    return {
        "title": "Unequal classes",
        "about": (
            "Unseen crystals of seen prototypes; of the hexagonal and trigonal "
            "crystals one in ten is trained on."
        ),
        "rows": rows,
    }


def explanations(quick: bool) -> dict[str, Any]:
    """Share of the attribution outside any peak, without and with a shortcut."""
    data = make_xrd_benchmark(4 if quick else 20, 3, random_state=3)
    y = labels_of(data)
    train, test = out_of_library_split(
        data.groups, data.prototypes, 0.2, random_state=0
    )
    test = test[:: max(1, len(test) // 60)]
    crystals = [data.structures[i] for i in data.groups[test]]
    places = dict(zip(np.unique(y), (11.0, 12.5, 14.0, 15.5, 17.0), strict=True))
    rows = []
    for name, height in (("as simulated", 0.0), ("with a marker of each class", 15.0)):
        centre = np.array([places[label] for label in y])
        marker = np.exp(-(((data.two_theta - centre[:, None]) / 0.3) ** 2))
        X = data.patterns + (height * marker).astype(np.float32)
        model, _ = fit(X[train], y[train])
        start = time.process_time()
        told = model.explain(X[test], structure=crystals)
        seconds = (time.process_time() - start) / len(test)
        told.check_faithful(model, X[test])
        rows.append(
            {
                "patterns": name,
                "accuracy": float((model.predict(X[test]) == y[test]).mean()),
                "median share outside any peak": float(np.median(told.outside)),
                "95 % quantile": float(np.quantile(told.outside, 0.95)),
                "alarms (above 0.3)": float((told.outside > 0.3).mean()),
                "mean coverage": float(told.coverage.mean()),
                "CPU s per explanation": seconds,
            }
        )
    return {
        "title": "Shortcuts",
        "about": (
            f"{len(test)} unseen crystals, explained with their structures. The marker "
            "is a small peak (height 15 of 100) below 18 degrees at an angle that "
            "depends on the class, and on no crystal."
        ),
        "rows": rows,
    }


PARTS = {
    "splits": splits,
    "prototypes": prototypes,
    "imbalance": imbalance,
    "explanations": explanations,
}


def main() -> None:
    """Run the parts that are asked for."""
    quick = "--quick" in sys.argv
    asked = [a for a in sys.argv[1:] if not a.startswith("-")] or list(PARTS)
    facts = machine(["torch", "numpy", "scikit-learn"])
    for name in asked:
        start = time.process_time()
        part = PARTS[name](quick)
        part["about"] += f" {time.process_time() - start:.0f} s of CPU in all."
        if quick:
            print(part)
        else:
            write("prototypes", COMMAND, facts, {name: part})


if __name__ == "__main__":
    main()
