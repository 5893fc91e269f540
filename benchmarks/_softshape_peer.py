"""One fit of a peer in an environment of its own: file, method, seed in, JSON out."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def make(method: str, seed: int) -> Any:
    """Make the peer with its defaults."""
    if method == "MultiRocketHydra":
        from aeon.classification.convolution_based import MultiRocketHydraClassifier

        return MultiRocketHydraClassifier(random_state=seed)
    from aeon.classification.shapelet_based import RDSTClassifier

    return RDSTClassifier(random_state=seed)


def main() -> None:
    """Compile on a few series, then fit and score."""
    path, method, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with np.load(path) as file:
        X, y, X_new, y_new = (
            file[f"{part}_{split}"] for split in ("train", "test") for part in "Xy"
        )
    X, X_new = (np.asarray(a, float).reshape(len(a), 1, -1) for a in (X, X_new))
    start = time.process_time()
    few = np.concatenate([np.flatnonzero(y == c)[:4] for c in np.unique(y)[:2]])
    make(method, seed).fit(X[few], y[few]).predict(X_new[:2])
    middle = time.process_time()
    model = make(method, seed).fit(X, y)
    fitted = time.process_time()
    accuracy = float((model.predict(X_new) == y_new).mean())
    found = {
        "accuracy": accuracy,
        "compile": middle - start,
        "fit": fitted - middle,
        "predict": time.process_time() - fitted,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
