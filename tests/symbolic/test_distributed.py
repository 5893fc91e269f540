"""The same call on other machines gives the same numbers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skinterp.datasets import make_feynman
from skinterp.symbolic import PANSelector

distributed = pytest.importorskip("distributed")

pytestmark = [
    # of dask's own start and stop, not of what runs on it
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
    pytest.mark.filterwarnings("ignore:Port 8787 is already in use:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CHEAP = {"n_chains": 4, "n_trees": 10, "n_burn": 60, "n_draws": 40}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes, as on two machines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
        )
        with cluster, distributed.Client(cluster) as started:
            yield started


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    found = make_feynman("I.12.5", 120, irrelevant_per_variable=10, random_state=0)
    return found.data, found.target


def test_a_search_on_a_cluster_is_bit_equal(client: Any, table: Any) -> None:
    pipeline = make_pipeline(PANSelector(**CHEAP, random_state=0), LinearRegression())
    grid = {"panselector__n_trees": [5, 10]}
    here = GridSearchCV(pipeline, grid, cv=2).fit(*table)
    with parallel_config(backend="dask"):
        there = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(*table)
    for key, values in here.cv_results_.items():
        if "time" not in key and "param" not in key:
            np.testing.assert_array_equal(there.cv_results_[key], values)
    first, second = here.best_estimator_[0], there.best_estimator_[0]
    np.testing.assert_array_equal(first.vip_, second.vip_)


def test_chains_on_a_cluster_are_bit_equal(client: Any, table: Any) -> None:
    selector = PANSelector(**CHEAP, random_state=0)
    here = selector.fit(*table).vip_
    with parallel_config(backend="dask"):
        there = PANSelector(**CHEAP, n_jobs=2, random_state=0).fit(*table)
    np.testing.assert_array_equal(there.vip_, here)


def test_the_work_is_done_by_the_workers(client: Any) -> None:
    """Else the comparisons above would compare a process with itself."""
    workers = set(client.run(os.getpid).values())
    with parallel_config(backend="dask"):
        ran = set(Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(8)))
    assert ran <= workers
    assert os.getpid() not in ran
