"""Broken ways to use seeds, workers, processes, pickles and the terminal."""

import copy
import multiprocessing
import os
import sys
import time

import joblib
import numpy as np

from broken._table import table
from skinterp.base import SkinterpTags
from skinterp.testing.mocks import (
    CenterTransformer,
    CentroidClassifier,
    LinearRegressor,
)

BROKEN_WORKING, breaks = table()
BROKEN_PROCESSES, breaks_process = table()
PID = os.getpid()
STORE = {}


def in_fresh_process():
    return sys.argv[0].endswith("_fresh.py")


# -- seeds and state ---------------------------------------------------------------


class Shifts(LinearRegressor):
    """Add ``_shift()`` to the intercept after fit."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.intercept_ = self.intercept_ + self._shift()
        return self


class ShiftsScores(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.intercept_ = self.intercept_ + self._shift()
        return self


@breaks("check_same_seed")
class DrawsUnseeded(Shifts):
    def _shift(self):
        return np.random.default_rng().normal()


@breaks("check_kinds_of_seed")
class ZeroIsNone(ShiftsScores):
    def _shift(self):
        return 0.0 if self.random_state else np.random.default_rng().normal()


@breaks("check_other_seed")
class SeedWithoutEffect(CentroidClassifier):
    def __init__(self, noise=0.0, *, metric="plain", random_state=None, n_jobs=None,
                 verbose=0):  # fmt: skip
        super().__init__(
            noise,
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )


@breaks("check_seed_without_effect")
class HidesItsNoise(CentroidClassifier):
    def __skinterp_tags__(self):
        return SkinterpTags(stochastic=False)


@breaks("check_global_state")
class SeedsTheGlobalGenerator(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        np.random.seed(0)  # noqa: NPY002
        return super().fit(X, y, sample_weight)


@breaks("check_n_jobs")
class DependsOnWorkers(ShiftsScores):
    def _shift(self):
        return 1e-9 * (self.n_jobs or 1)


@breaks("check_backends")
class DependsOnBackend(ShiftsScores):
    def _shift(self):
        return 1e-9 * joblib.effective_n_jobs(2) if self.n_jobs == 2 else 0.0


@breaks("check_verbose")
class NeverSaysAnything(CentroidClassifier):
    def fit(self, X, y, sample_weight=None):
        verbose, self.verbose = self.verbose, 0
        super().fit(X, y, sample_weight)
        self.verbose = verbose
        return self


# -- persistence -------------------------------------------------------------------


@breaks("check_pickle")
class HoldsLambda(CenterTransformer):
    def fit(self, X, y=None):
        self.link_ = lambda x: x
        return super().fit(X, y)


@breaks("check_copy")
class CopiesShallow(CentroidClassifier):
    def __deepcopy__(self, memo):
        return copy.copy(self)


@breaks("check_joblib")
class WritesToItself(CentroidClassifier):
    def predict(self, X):
        self.coef_ += 0.0
        return super().predict(X)


@breaks("check_cloudpickle")
class RefusesPickling(CenterTransformer):
    def __reduce_ex__(self, protocol):
        msg = "cannot pickle an open handle"
        raise TypeError(msg)


class Link:
    def __init__(self):
        self.scale = 1.0


@breaks("check_skops")
class HoldsUndeclaredType(CenterTransformer):
    def fit(self, X, y=None):
        self.link_ = Link()
        return super().fit(X, y)


@breaks("check_pickle_size")
class KeepsTheData(CenterTransformer):
    def fit(self, X, y=None):
        self.rows_ = [str(row) * 20 for row in np.asarray(X)]
        return super().fit(X, y)


@breaks("check_no_hidden_state")
class SetsPlainAttribute(CenterTransformer):
    def fit(self, X, y=None):
        self.rows = len(X)
        return super().fit(X, y)


# -- processes ---------------------------------------------------------------------


@breaks_process("check_fresh_process_load")
class KeepsStateInModule(Shifts):
    def _shift(self):
        STORE["shift"] = 1.0
        return 0.0

    def predict(self, X):
        return super().predict(X) + STORE.get("shift", 0.0)


@breaks_process("check_fresh_process_fit")
class DependsOnHashes(Shifts):
    def _shift(self):
        return 1e-6 * (hash("a word") % 1_000_003)


@breaks_process("check_silent")
class WritesToTerminal(CenterTransformer):
    def fit(self, X, y=None):
        os.write(1, b"fitting\n")
        return super().fit(X, y)


@breaks_process("check_fork")
class FailsInForkedChild(Shifts):
    def _shift(self):
        return float(os.getpid() != PID)


@breaks_process("check_spawn")
class FailsInSpawnedChild(Shifts):
    def _shift(self):
        child = multiprocessing.parent_process() is not None
        return float(child and os.getpid() == PID)


@breaks_process("check_process_pool")
class FailsInPool(Shifts):
    def _shift(self):
        return float("Loky" in multiprocessing.current_process().name)


class WritesFile(CenterTransformer):
    def fit(self, X, y=None):
        if in_fresh_process():
            with open("cache.txt", "w") as file:
                file.write("rows")
        return super().fit(X, y)


class HangsInFreshProcess(CenterTransformer):
    def fit(self, X, y=None):
        if in_fresh_process():
            time.sleep(3600)
        return super().fit(X, y)


class EndsFreshProcess(CenterTransformer):
    def fit(self, X, y=None):
        if in_fresh_process():
            os._exit(7)
        return super().fit(X, y)
