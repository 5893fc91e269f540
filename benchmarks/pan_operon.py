"""Screening before a symbolic search: PAN + pyoperon against pyoperon alone.

Twelve Feynman equations among 50 irrelevant columns per variable, ten draws of each.
Every fit is written to ``results/pan_operon.jsonl`` at once, and not repeated when the
command is given again; the tables are made of what the file holds.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import r2_score

from skinterp.datasets import feynman_equations, make_feynman
from skinterp.symbolic import PANSymbolicRegressor
from skinterp.symbolic._engines import default_engine

COMMAND = "python -m benchmarks.pan_operon"
RUNS = Path(__file__).parent / "results" / "pan_operon.jsonl"

# The four that the method was developed on, then eight of other sizes and forms.
EQUATIONS = ("I.12.1", "I.13.4", "I.38.12", "I.9.18", "I.11.19", "I.18.4")
EQUATIONS += ("I.24.6", "I.29.16", "I.34.14", "I.40.1", "II.2.42", "II.36.38")
SEEDS = (11284, 11964, 15795, 21575, 22118, 23654, 29802, 5390, 6265, 860)
ARMS = {
    "alone": "pyoperon on all columns",
    "PAN": "pyoperon on the columns that PANSelector keeps",
    "boosting": "pyoperon on the k columns of largest importance in gradient boosting, "
    "k the true number",
    "PAN, bic": "as PAN, with the formula that PANSymbolicRegressor chooses itself",
    "truth": "pyoperon on the true columns",
}
# What is shown together: the draws that have all of these arms.
TABLES = (
    ("spread", ("alone", "PAN", "PAN, bic", "boosting")),
    ("standard", ("alone", "PAN")),
    ("spread", ("truth",)),
    ("standard", ("truth",)),
)
N_TRAIN, N_TEST, N_POINTS = 1000, 334, 5000


def model_of(arm: str, seed: int, n_true: int, scale: str) -> PANSymbolicRegressor:
    """Give the unfitted model of an arm; budget and seed of the search are shared."""
    selectors: dict[str, Any] = {
        "alone": "passthrough",
        "truth": "passthrough",
        "PAN": None,
        "PAN, bic": None,
        "boosting": SelectFromModel(
            GradientBoostingRegressor(random_state=seed),
            max_features=n_true,
            threshold=-np.inf,
        ),
    }
    # in the other arms the formula that pyoperon itself would choose
    return PANSymbolicRegressor(
        default_engine().set_params(random_state=seed),
        selector=selectors[arm],
        scale=scale,
        choose="bic" if arm == "PAN, bic" else "engine",
        random_state=seed,
    )


def solved(model: PANSymbolicRegressor, found: Any, columns: Any, seed: int) -> bool:
    """Say whether the formula is the equation, up to a constant or a factor.

    Tried on points of ranges widened by half on either end, where a formula that only
    approximates the equation leaves it.
    """
    random = np.random.default_rng(seed)
    ranges = found.equation.ranges
    points = {
        name: random.uniform(low / 1.5, high * 1.5, N_POINTS)
        for name, (low, high) in ranges.items()
    }
    wide = random.uniform(1.0, 5.0, (N_POINTS, len(columns)))
    for name, values in points.items():
        wide[:, list(columns).index(name)] = values
    with np.errstate(all="ignore"):
        truth, got = found.equation.evaluate(points), model.explain().evaluate(wide)
        defined = np.isfinite(truth)
        truth, got = truth[defined], got[defined]
        if not np.isfinite(got).all():
            return False
        gap, ratio = got - truth, got / truth
    spread = np.quantile(truth, 0.95) - np.quantile(truth, 0.05)
    middle = np.median(ratio)
    return bool(
        np.ptp(_most(gap)) < 1e-3 * spread or np.ptp(_most(ratio)) < 1e-3 * abs(middle)
    )


def _most(values: np.ndarray) -> np.ndarray:
    """Leave out the hundredth at either end, where a pole may be near."""
    return np.sort(values)[len(values) // 100 : -len(values) // 100]


def run(arm: str, equation: str, seed: int, scale: str) -> dict[str, Any]:
    """Fit once, and measure on fresh rows."""
    found = make_feynman(equation, N_TRAIN + N_TEST, random_state=seed)
    X, y, names = found.data, found.target, list(found.feature_names)
    true = found.true_columns
    if arm == "truth":
        X, names = X[:, true], found.true_names
        true = np.arange(len(true))
    model = model_of(arm, seed, len(true), scale)
    start, wall = time.process_time(), time.perf_counter()
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    seconds = time.process_time() - start
    wall = time.perf_counter() - wall
    predicted = model.predict(X[N_TRAIN:])
    finite = bool(np.isfinite(predicted).all())
    r2 = float(r2_score(y[N_TRAIN:], predicted)) if finite else -np.inf
    return {
        "arm": arm,
        "equation": equation,
        "seed": seed,
        "scale": scale,
        "r2": max(r2, -1e9),
        "solved": r2 > 0.5 and solved(model, found, names, seed),
        "complexity": model.explain().complexity,
        "kept": int(model.support_.sum()),
        "true_kept": int(model.support_[true].sum()),
        "n_true": len(true),
        "cpu_s": seconds,
        "wall_s": wall,
        "formula": model.explain().to_text().splitlines()[0][:300],
    }


def stored() -> list[dict[str, Any]]:
    """Read the fits made so far."""
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def key(record: dict[str, Any]) -> tuple[Any, ...]:
    """Name a fit."""
    return tuple(record[k] for k in ("arm", "equation", "seed", "scale"))


def wanted(given: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """List the fits asked for, draw by draw, so that a part is balanced."""
    for seed in SEEDS[: given.draws]:
        for equation in given.equations:
            for arm in given.arms:
                yield arm, equation, seed, given.scale


def fit_all(given: argparse.Namespace) -> None:
    """Make the fits that are not stored, as long as the time lasts."""
    done = {key(record) for record in stored()}
    end = time.monotonic() + 60 * given.minutes
    RUNS.parent.mkdir(exist_ok=True)
    for one in wanted(given):
        if one in done:
            continue
        if time.monotonic() > end:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = run(*one)
        with RUNS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(
            f"{record['arm']:9}{record['equation']:10}{record['seed']:7} "
            f"R2 {record['r2']:.4f} solved {record['solved']!s:6}"
            f"{record['kept']:4} columns {record['cpu_s']:.1f} s",
            flush=True,
        )


# -- tables ----------------------------------------------------------------------------


def interval(values: np.ndarray, draws: int = 4000) -> tuple[float, float]:
    """Give the 95 % interval of the mean, drawing anew within each equation.

    ``values`` has a row per equation and a column per draw.
    """
    random = np.random.default_rng(0)
    n, m = values.shape
    picked = random.integers(m, size=(draws, n, m))
    means = np.take_along_axis(values[None], picked, axis=2).mean(axis=(1, 2))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def complete(records: list[dict[str, Any]], arms: list[str]) -> dict[str, np.ndarray]:
    """Give the fits of the seeds for which all arms and equations are there."""
    by_key = {(r["arm"], r["equation"], r["seed"]): r for r in records}
    seeds = [
        seed
        for seed in SEEDS
        if all((a, e, seed) in by_key for a in arms for e in EQUATIONS)
    ]
    return {
        arm: np.array([[by_key[arm, e, s] for s in seeds] for e in EQUATIONS])
        for arm in arms
    }


def field(runs: np.ndarray, name: str) -> np.ndarray:
    """Take one number of each fit."""
    return np.array([[float(run[name]) for run in row] for row in runs])


def summary(runs: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Make one line per arm, with the gain over the search alone where that was run."""
    return [_line(arm, records, runs.get("alone")) for arm, records in runs.items()]


def _line(arm: str, records: np.ndarray, alone: np.ndarray | None) -> dict[str, Any]:
    rate, r2 = field(records, "solved"), np.maximum(field(records, "r2"), 0.0)
    lost = field(records, "n_true") - field(records, "true_kept")
    row: dict[str, Any] = {"arm": arm, "fits": rate.size}
    row |= {"solved %": _with_interval(100 * rate), "R2 test": _with_interval(r2, 3)}
    if alone is not None:
        base_rate = field(alone, "solved")
        base_r2 = np.maximum(field(alone, "r2"), 0.0)
        row["gain"] = _with_interval(100 * (rate - base_rate))
        row["R2 gain"] = _with_interval(r2 - base_r2, 3)
    return row | {
        "R2 > 0.999 %": float(100 * (r2 > 0.999).mean()),
        "complexity": float(np.median(field(records, "complexity"))),
        "columns": float(field(records, "kept").mean()),
        "lost a true one": int((lost > 0).sum()),
        "CPU s": float(field(records, "cpu_s").mean()),
    }


def _with_interval(values: np.ndarray, digits: int = 1) -> str:
    low, high = interval(values)
    return f"{values.mean():.{digits}f} ({low:.{digits}f}, {high:.{digits}f})"


def by_equation(runs: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Make one line per equation: solved fits and mean R2 of each arm."""
    known = feynman_equations()
    rows = []
    for i, equation in enumerate(EQUATIONS):
        row: dict[str, Any] = {
            "equation": equation,
            "columns": 51 * len(known[equation].ranges),
        }
        for arm, records in runs.items():
            rate = int(field(records, "solved")[i].sum())
            r2 = np.maximum(field(records, "r2"), 0.0)[i].mean()
            row[arm] = f"{rate}/{records.shape[1]}, {r2:.3f}"
        rows.append(row)
    return rows


def report() -> None:
    """Write the tables of the fits stored."""
    from benchmarks._harness import machine, write

    parts: dict[str, Any] = {}
    for scale, arms in TABLES:
        records = [record for record in stored() if record["scale"] == scale]
        runs = complete(records, list(arms))
        n_draws = runs[arms[0]].shape[1]
        if not n_draws:
            continue
        name = f"{scale}: {', '.join(arms)}"
        parts[name] = {
            "title": f"scale={scale!r}, arms {', '.join(arms)}",
            "about": _about(arms, n_draws),
            "rows": summary(runs),
        }
        parts[f"{name}, by equation"] = {
            "title": f"scale={scale!r}, by equation",
            "about": "Fits solved, and mean R2 on fresh rows.",
            "rows": by_equation(runs),
        }
    facts = machine(["numpy", "scikit-learn", "numba", "sympy", "pyoperon"])
    write(Path(__file__).stem, COMMAND, facts, parts)


def _about(arms: tuple[str, ...], n_draws: int) -> str:
    said = "; ".join(f"{arm}: {ARMS[arm]}" for arm in arms)
    return (
        f"{n_draws} draws of {len(EQUATIONS)} equations without noise, {N_TRAIN} "
        f"training rows. {said}. Search: 200,000 evaluations, one thread, one seed per "
        "draw. Solved: the formula minus the equation, or their ratio, is constant to "
        "0.1 % on 5,000 points of ranges widened by half, and R2 > 0.5 on "
        f"{N_TEST} fresh rows. Mean with the 95 % interval of draws within equations; "
        "R2 below 0 counts as 0. CPU seconds of the whole fit."
    )


def main() -> None:
    """Make the fits asked for, then the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--equations", nargs="+", default=list(EQUATIONS))
    parser.add_argument("--draws", type=int, default=len(SEEDS))
    parser.add_argument("--minutes", type=float, default=1e6, help="time for new fits")
    parser.add_argument("--scale", default="spread", choices=["standard", "spread"])
    parser.add_argument("--no-report", action="store_true")
    given = parser.parse_args()
    fit_all(given)
    if not given.no_report:
        report()


if __name__ == "__main__":
    main()
