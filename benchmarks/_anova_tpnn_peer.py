"""One fit of an explainable boosting machine, in an environment of its own.

Reads arrays from the file named first, writes results to the one named second.
"""

import json
import sys
import time

import numpy as np


def main() -> None:
    """Fit with the defaults on one core, and evaluate prediction and terms."""
    from interpret.glassbox import (
        ExplainableBoostingClassifier,
        ExplainableBoostingRegressor,
    )

    given = np.load(sys.argv[1])
    classify, seed = bool(given["classify"]), int(given["seed"])
    kind = ExplainableBoostingClassifier if classify else ExplainableBoostingRegressor
    model = kind(n_jobs=1, random_state=seed)
    start = time.process_time()
    model.fit(given["X"], given["y"])
    cpu = time.process_time() - start
    rows = given["rows"]
    output = model.predict_proba(rows)[:, 1] if classify else model.predict(rows)
    np.savez(
        sys.argv[2],
        cpu=cpu,
        output=output,
        parts=model.eval_terms(rows),
        terms=json.dumps([list(map(int, t)) for t in model.term_features_]),
    )


if __name__ == "__main__":
    main()
