"""Prime implicants of small trees against sympy's minimal DNF."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks._boolean_tree_data import binarised, datasets, thresholds
from benchmarks._harness import cpu_time
from skinterp.trees import BooleanTreeClassifier

SIZES = range(4, 11)


class Record(NamedTuple):
    """One tree: distinct tests, CPU seconds of both, and whether sympy ended well."""

    tests: int
    ours: float
    sympy: float
    timed_out: bool
    agree: bool


def canonical_forms(limit: float, n_trees: int = 200) -> dict[str, Any]:
    """All prime implicants against sympy's one minimal DNF per class."""
    records = [measured(model, limit) for model in small_trees(n_trees)]
    groups = [("4-6", 4, 6), ("7-8", 7, 8), ("9-10", 9, 10), ("all", 4, 10)]
    return {
        "title": f"Canonical forms of {n_trees} trees against sympy",
        "about": (
            "CART trees on bootstrap samples of the four binarised data sets, 4 to "
            "10 distinct tests in equal parts. Ours: `canonical_key_`, all prime "
            "implicants of both classes, median of 5 calls. sympy: "
            "`simplify_logic(form='dnf', force=True)`, one minimal DNF per class, at "
            f"most {limit:g} s per tree. Ratios are over the trees that sympy ended. "
            "Agreement: all terms of sympy are among ours. Required: at least 100 "
            "times faster on the whole."
        ),
        "rows": [
            summary(name, [r for r in records if low <= r.tests <= high])
            for name, low, high in groups
        ],
    }


def summary(name: str, records: list[Record]) -> dict[str, Any]:
    """One line of the table."""
    done = [r for r in records if not r.timed_out]
    ours, sympy = np.array([(r.ours, r.sympy) for r in done]).T
    return {
        "distinct tests": name,
        "trees": len(records),
        "sympy timed out": len(records) - len(done),
        "ours, mean CPU s": float(np.mean([r.ours for r in records])),
        "sympy where it ended, mean CPU s": float(sympy.mean()),
        "ratio of sums": float(sympy.sum() / ours.sum()),
        "median ratio": float(np.median(sympy / ours)),
        "agreement": f"{sum(r.agree for r in done)} of {len(done)}",
    }


def measured(model: BooleanTreeClassifier, limit: float) -> Record:
    """Time both on one tree."""
    work = sympy_work(model.estimator_)
    ours = float(np.median([cpu_time(lambda: model.canonical_key_) for _ in range(5)]))
    result: list[Any] = []
    start = time.process_time()
    try:
        with time_limit(limit):
            result = work()
    except TimeoutError:
        pass
    seconds = time.process_time() - start
    agree = bool(result) and agrees(result, model.canonical_key_)
    return Record(len(model.used_features_), ours, seconds, not result, agree)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what runs too long."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def sympy_work(tree: DecisionTreeClassifier) -> Callable[[], list[Any]]:
    """Work for sympy: a minimal DNF of each class, from the leaves of a tree."""
    import sympy
    from sympy.logic.boolalg import simplify_logic

    inner = tree.tree_
    leaves: dict[int, list[Any]] = {0: [], 1: []}

    def walk(node: int, literals: list[Any]) -> None:
        if inner.children_left[node] < 0:
            label = int(inner.value[node, 0].argmax())
            leaves[label].append(sympy.And(*literals))
            return
        x = sympy.Symbol(f"x{inner.feature[node]}")
        walk(inner.children_left[node], [*literals, ~x])
        walk(inner.children_right[node], [*literals, x])

    walk(0, [])
    functions = [sympy.Or(*terms) for terms in leaves.values()]
    return lambda: [simplify_logic(f, form="dnf", force=True) for f in functions]


def agrees(result: list[Any], key: tuple[tuple[Any, Any], ...]) -> bool:
    """Whether sympy's terms are prime implicants that we found."""
    import sympy

    for label, form in enumerate(result):
        ours = {
            frozenset((f"x{j}", upper == np.inf) for j, _, upper in term)
            for term in dict(key)[label]
        }
        for term in form.args if isinstance(form, sympy.Or) else [form]:
            literals = term.args if isinstance(term, sympy.And) else [term]
            signs = [(str(next(iter(x.free_symbols))), not x.is_Not) for x in literals]
            if frozenset(signs) not in ours:
                return False
    return True


def small_trees(n_trees: int) -> list[BooleanTreeClassifier]:
    """CART trees on bootstrap samples of binary data, as many of each size."""
    data = [(binarised(X, thresholds(X, y)), y) for X, y, _ in datasets().values()]
    rng = np.random.default_rng(0)
    wanted = [SIZES[i % len(SIZES)] for i in range(n_trees)]
    found: list[BooleanTreeClassifier] = []
    turn = 0
    while wanted:
        X, y = data[turn % len(data)]
        turn += 1
        rows = rng.integers(0, len(X), len(X))
        base = DecisionTreeClassifier(
            max_leaf_nodes=int(rng.integers(5, 20)),
            random_state=int(rng.integers(1000)),
        )
        model = BooleanTreeClassifier(base).fit(X[rows], y[rows])
        if (
            len(model.used_features_) in wanted
            and len(np.unique(model.predict(X))) == 2
        ):
            wanted.remove(len(model.used_features_))
            found.append(model)
    return found
