"""From rows to the explanation: chunks, weights, what is best along a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from skinterp.base import feature_names_of
from skinterp.counterfactual._descent import GradientSearch
from skinterp.counterfactual._exact import ExactSearch
from skinterp.counterfactual._search import BlackBoxSearch
from skinterp.counterfactual._setting import ANY, Found, Labels, Setting
from skinterp.counterfactual._table import Floats
from skinterp.explanation import Counterfactuals

if TYPE_CHECKING:
    from skinterp.counterfactual._brace_explainer import BraceExplainer

MAX_CELLS = 4_000_000  # that a chunk of rows holds at once
Search = Callable[..., Found]


def weights_of(lam: Any) -> Floats:
    """Check one weight, or several."""
    try:
        weights = np.asarray(lam, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.zeros(0)
    if weights.ndim > 1 or not weights.size or not (weights >= 0).all():
        msg = f"lam must be a number of at least 0, or several, got {lam!r}"
        raise ValueError(msg)
    return weights


def wanted_classes(classes: NDArray[Any], target: Any, n: int) -> Labels:
    """Positions of the classes that are asked for; ANY where none is."""
    if target is None:
        return np.full(n, ANY, dtype=np.intp)
    labels: Any = np.asarray(target)
    if labels.ndim == 0:
        labels = np.full(n, labels)
    if labels.shape != (n,):
        msg = f"target must be one label, or {n} for the rows, got {labels.shape}"
        raise ValueError(msg)
    known = classes.tolist()
    out = np.empty(n, dtype=np.intp)
    for i, label in enumerate(labels.tolist()):
        if label not in known:
            msg = f"target={label!r} is not one of the classes {known}"
            raise ValueError(msg)
        out[i] = known.index(label)
    return out


def search_all(
    explainer: BraceExplainer,
    setting: Setting,
    Z: Floats,
    target: Labels,
    weights: Floats,
) -> Counterfactuals:
    """Search for all rows and weights, chunk by chunk."""
    search = _search_of(explainer, setting)
    reference = max(explainer._reference.size, 1)
    size = int(np.clip(MAX_CELLS // reference, 16, 256))
    starts = range(0, len(Z), size)
    bar: Any = starts
    if explainer.verbose:
        from tqdm.auto import tqdm

        bar = tqdm(starts, desc="counterfactuals", unit="chunk")
    # chunks do not depend on n_jobs, so that the answers do not either
    parts = Parallel(n_jobs=explainer.n_jobs, prefer="threads")(
        delayed(_chunk)(setting, search, Z[i : i + size], target[i : i + size], weights)
        for i in bar
    )
    present = _joined([p[0] for p in parts], np.zeros(0, dtype=np.intp))
    found = [_join_found([p[1][k] for p in parts], Z[:0]) for k in range(weights.size)]
    return _explanation(explainer, setting, Z, present, target, weights, found)


def _search_of(explainer: BraceExplainer, setting: Setting) -> Search:
    if explainer.solver_ == "exact":
        return ExactSearch(setting, explainer.score_coef_)
    coarse = BlackBoxSearch(
        setting, explainer._reference, explainer._reference_labels, explainer.n_starts
    )
    return GradientSearch(coarse) if explainer.solver_ == "gradient" else coarse


def _chunk(
    setting: Setting, search: Search, Z: Floats, target: Labels, weights: Floats
) -> tuple[Labels, list[Found]]:
    """Search for some rows, for one weight after the other."""
    present = setting.label(Z)
    U = setting.causal.abduct(Z)
    todo = np.flatnonzero(present != target)
    out, hints = [], None
    for lam in np.ravel(weights):
        found = Found.nothing(Z)
        found.status[:], found.gap[:] = "already", 0.0
        if not len(setting.movable):
            found.status[todo] = "unreachable"
        elif len(todo):
            part = search(
                Z[todo], U[todo], present[todo], target[todo], float(lam), hints
            )
            found.put(todo, part)
            rows = found.rows[todo][None]
            hints = rows if hints is None else np.vstack([hints, rows])
        out.append(found)
    if not isinstance(search, ExactSearch) and len(out) > 1:
        _best_of_path(setting, out, Z, U, weights)
    return present, out


def _best_of_path(
    setting: Setting, path: list[Found], Z: Floats, U: Floats, weights: Floats
) -> None:
    """Give each weight the best answer that was found for any of them."""
    rows = np.stack([found.rows for found in path])
    valid = np.stack([found.status == "found" for found in path])
    n, every = len(Z), np.arange(len(Z))
    for found, lam in zip(path, np.ravel(weights), strict=True):
        cost = np.stack([setting.objective(Z, U, r, float(lam)) for r in rows])
        best = np.where(valid, cost, np.inf).argmin(axis=0)
        known = valid[best, np.arange(n)]
        found.rows[known] = rows[best, every][known]
        found.status[known] = "found"


def _joined(parts: list[Any], empty: Any) -> Any:
    return np.concatenate(parts) if parts else empty


def _join_found(parts: list[Found], empty: Floats) -> Found:
    if not parts:
        return Found.nothing(empty)
    names = ("rows", "status", "gap", "n_iter")
    return Found(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))


def _explanation(
    explainer: BraceExplainer,
    setting: Setting,
    Z: Floats,
    present: Labels,
    target: Labels,
    weights: Floats,
    found: list[Found],
) -> Counterfactuals:
    U = setting.causal.abduct(Z)
    answers = [
        _answer(setting, explainer.tol, Z, U, present, target, float(lam), one)
        for lam, one in zip(np.ravel(weights), found, strict=True)
    ]
    joined: dict[str, Any] = {
        name: np.stack([a[name] for a in answers]) if weights.ndim else answers[0][name]
        for name in answers[0]
    }
    edges = [(j, i) for i, causes in enumerate(setting.causal.parents) for j in causes]
    nominal = list(setting.table.texts)
    noise = U.copy()
    noise[:, nominal] = np.nan
    joined["counterfactual_noise"][..., nominal] = np.nan
    return Counterfactuals(
        scope="local",
        feature_names=feature_names_of(explainer),
        target_names=explainer.classes_,
        rows=setting.table.cells(Z),
        noise=noise,
        source=present,
        lam=weights,
        held=explainer.held_,
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        **joined,
    )


def _answer(
    setting: Setting,
    tol: float,
    Z: Floats,
    U: Floats,
    present: Labels,
    target: Labels,
    lam: float,
    found: Found,
) -> dict[str, ArrayLike]:
    """What the explanation says of one weight."""
    noise = _noise_after(setting, Z, U, found.rows)
    steps = setting.steps(Z, found.rows)
    own = setting.steps(U, noise)
    first, second = setting.distances(steps, own)
    objective = second if np.isinf(lam) else first + lam * second
    known = np.isin(found.status, ("found", "already"))
    for values in (first, second, objective):
        values[~known] = np.nan
    proved = found.gap <= tol * np.maximum(1.0, np.nan_to_num(objective))
    reached = np.where(
        found.status == "found", setting.label(found.rows), np.where(known, present, -1)
    )
    return {
        "counterfactuals": setting.table.cells(found.rows),
        "counterfactual_noise": noise,
        "steps": steps,
        "own_steps": own,
        "target": np.where(target == ANY, reached, target),
        "status": found.status,
        "certified": proved & (found.status != "not found"),
        "gap": found.gap,
        "distance_x": first,
        "distance_u": second,
        "objective": objective,
    }


def _noise_after(setting: Setting, Z: Floats, U: Floats, after: Floats) -> Floats:
    """Noise of the counterfactuals; a column that is held keeps its own."""
    noise = setting.causal.abduct(after)
    still = np.ones(Z.shape[1], bool)
    still[setting.movable] = False
    noise[:, still] = U[:, still]
    return noise
