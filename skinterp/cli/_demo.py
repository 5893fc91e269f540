"""What ``skinterp demo`` does: tune, explain, lose cells, write a page."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import skinterp

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation import Explanation

LOST = 0.3
N_DRAWS = 20
DEFAULT_PAGE = Path("skinterp-demo.html")


def run(output: Path | None, open_browser: bool) -> None:
    """Explain a model of the breast cancer data that scikit-learn ships.

    Parameters
    ----------
    output : pathlib.Path or None
        The page to write; None writes ``skinterp-demo.html`` in the current folder.
    open_browser : bool
        Whether to show the page.
    """
    page = _writable(output or DEFAULT_PAGE)
    X, y, X_test, y_test = _read_data()
    _say("Data", f"{len(X)} + {len(X_test)} tumours, {X.shape[1]} measurements each")
    search = _tune(X, y)
    chosen = ", ".join(
        f"{k.split('__')[-1]}={v}" for k, v in search.best_params_.items()
    )
    majority = (y_test == y_test.mode()[0]).mean()
    _say(
        "Tuned",
        f"a pipeline (scaler, Boolean tree) by cross-validation: {chosen}; "
        f"accuracy on held-out rows {search.score(X_test, y_test):.3f} "
        f"(always the larger class: {majority:.3f})",
    )
    rules = skinterp.explain(search)
    rules.check_faithful(search, X_test)
    _say("Rules", "in the units of the data, checked against predict on held-out rows")
    typer.echo(_indent(rules.to_text()))
    _tell_reason(search, X_test)
    _tell_lost_cells(search.best_estimator_, X_test)
    _write_page(rules, page, open_browser)


def _writable(path: Path) -> Path:
    """Refuse a page that cannot be written before the work for it."""
    if path.is_dir():
        msg = f"--output must name a file to write, got the folder {str(path)!r}"
        raise ValueError(msg)
    if not path.parent.is_dir():
        msg = f"--output must lie in a folder that exists, got {str(path)!r}"
        raise ValueError(msg)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        msg = f"--output must name a file that can be written, got {str(path)!r}"
        raise ValueError(msg)
    return path


def _read_data() -> tuple[pd.DataFrame, pd.Series, pd.DataFrame, pd.Series]:
    data = load_breast_cancer(as_frame=True)
    y = data.target.map(dict(enumerate(data.target_names)))
    X, X_test, y, y_test = train_test_split(
        data.data, y, test_size=0.4, stratify=y, random_state=0
    )
    return X, y, X_test, y_test


def _tune(X: pd.DataFrame, y: pd.Series) -> GridSearchCV:
    boolean_tree = skinterp.get_method("boolean-tree")
    tree = boolean_tree(DecisionTreeClassifier(random_state=0))
    pipeline = Pipeline([("scale", StandardScaler()), ("model", tree)])
    grid = {
        "model__estimator__max_depth": [2, 3, 4],
        "model__estimator__min_samples_leaf": [1, 5, 10],
    }
    return GridSearchCV(pipeline, grid, cv=5).fit(X, y)


def _tell_reason(search: GridSearchCV, X: pd.DataFrame) -> None:
    _say("One row", "the measurements that alone settle the first held-out tumour")
    typer.echo(_indent(skinterp.explain(search, X[:1]).to_text()))


def _tell_lost_cells(model: Pipeline, X: pd.DataFrame) -> None:
    """Print what is still certain when cells are lost, and what a plain tree says."""
    complete = model.predict(X)
    tree = model[-1].estimator_
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(N_DRAWS):
        holes = model[:-1].transform(X.mask(rng.random(X.shape) < LOST))
        certain = model[-1].determined(holes)
        agrees = model[-1].predict(holes) == complete
        changed = tree.predict(holes) != complete
        shares.append((certain.mean(), agrees[certain].mean(), changed.mean()))
    certain, agrees, changed = np.mean(shares, axis=0)
    _say(
        "Lost cells",
        f"with {LOST:.0%} of the cells lost ({N_DRAWS} draws), {certain:.1%} of "
        f"the rows stay decidable, and {agrees:.1%} of these get the answer of the "
        f"complete row; the plain tree answers every row and silently changes "
        f"{changed:.1%} of them",
    )


def _write_page(rules: Explanation, path: Path, open_browser: bool) -> None:
    path.write_text(rules.to_html(), encoding="utf-8")
    _say("Page", str(path.resolve()))
    if open_browser:
        webbrowser.open(path.resolve().as_uri())


def _say(head: str, text: str) -> None:
    typer.secho(f"{head}: ", bold=True, nl=False)
    typer.echo(text)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
