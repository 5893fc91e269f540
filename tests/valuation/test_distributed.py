"""The same search with draws made on other machines gives the same numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.naive_bayes import GaussianNB

from skinterp.valuation import TopDataValues

distributed = pytest.importorskip("distributed")

pytestmark = [
    # of dask's own start and stop, not of what runs on it
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
    pytest.mark.filterwarnings("ignore:Port 8787 is already in use:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """One worker process, as on another machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as started:
            yield started


def test_draws_on_a_cluster_are_bit_equal(client: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    few = {"max_evaluations": 40, "batch_size": 4, "random_state": 0}
    here = TopDataValues(GaussianNB(), **few).fit(X, y)
    with parallel_config(backend="dask"):
        there = TopDataValues(GaussianNB(), n_jobs=2, **few).fit(X, y)
    np.testing.assert_array_equal(there.value_mean_, here.value_mean_)
    np.testing.assert_array_equal(there.trace_["reward"], here.trace_["reward"])
