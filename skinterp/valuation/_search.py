"""From a utility to the values of its rows: initial draws, prior, then the search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from skinterp.valuation._bandit import TRACE, Rules, Search
from skinterp.valuation._posterior import (
    Posterior,
    Pulls,
    Regression,
    Variances,
    top_probability,
)
from skinterp.valuation._utility import draw_reward

DESIGN_SHARE, DESIGN_PULLS = 0.2, 3
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
EXACT_NOISE = 1e-6  # of the variance, where values are known in closed form
N_DRAWS = 2000
MISFIT = 3.0  # calibration beyond which estimates and bounds are not believed
SIZES, DESIGN, REWARDS, PROBABILITY = 10, 11, 12, 13  # what a seed is for


@dataclass(frozen=True)
class Outcome:
    """What a search found; rewards and values have the sign of the utility."""

    regression: Regression
    posterior: Posterior | None
    gap: float
    stopped: bool
    n_evaluations: int
    trace: NDArray[Any]
    n_refused: int = 0

    def values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of the values; exact ones have none."""
        pulls = self.regression.pulls
        if self.posterior is None:
            return pulls.total, np.zeros(len(pulls.total))
        return self.regression.of_arms(np.arange(len(pulls.total)))

    def probability(
        self, m: int, found: NDArray[np.bool_], words: Any
    ) -> NDArray[np.float64]:
        """Probability of each row to be one of the m."""
        if self.posterior is None:
            return found.astype(np.float64)
        seed = seed_of(words, PROBABILITY)
        return top_probability(self.posterior, m, N_DRAWS, seed)

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the values."""
        if self.posterior is not None:
            return self.posterior.cov
        return np.zeros((len(self.regression.pulls.total),) * 2)


class Draws:
    """Rewards of rows, each draw from a seed of its own."""

    def __init__(
        self, utility: Any, n: int, largest: int | None, words: Any, parallel: Any
    ) -> None:
        self.utility, self.n, self.words = utility, n, words
        self.parallel = parallel
        self.n_sizes = n if largest is None else min(n, largest + 1)
        self.offset = np.random.default_rng(seed_of(words, SIZES)).random(n)
        self.count = np.zeros(n, dtype=np.int64)
        self.made = self.refused = self.checks = 0

    def __call__(self, arms: list[int]) -> list[float]:
        tasks = []
        for arm in arms:
            seed = seed_of(self.words, REWARDS, self.made)
            size = self._size(arm)
            tasks.append(delayed(draw_reward)(self.utility, self.n, arm, size, seed))
            self.made += 1
            self.count[arm] += 1
        made = list(self.parallel(tasks))
        refused = sum(number for _, number in made)
        if refused and not self.refused:
            self.utility.check()  # one more training tells bad luck from a bad model
            self.checks = 1
        self.refused += refused
        return [reward for reward, _ in made]

    def _size(self, arm: int) -> int:
        """Size of the next coalition of a row.

        Each size is equally likely, and successive draws of one row spread over the
        sizes, as multiples of the golden ratio do over the unit interval: small
        coalitions give larger rewards, so that this takes variance off the mean.
        """
        place = (self.offset[arm] + self.count[arm] * GOLDEN) % 1.0
        return min(int(place * self.n_sizes), self.n_sizes - 1)


def seed_of(words: Any, *key: int) -> np.random.SeedSequence:
    """Seed for one purpose, the same whatever was drawn before."""
    return np.random.SeedSequence(words, spawn_key=key)


def search_values(
    params: Any, utility: Any, kernel: Any, n: int, m: int, words: Any
) -> Outcome:
    """Search the m best of n rows by draws of their contributions."""
    sign = -1.0 if params.lowest else 1.0
    with Parallel(n_jobs=params.n_jobs) as parallel:
        draws = Draws(utility, n, params.max_coalition, words, parallel)
        prior, used = _known_prior(params, utility, n)
        budget = (params.max_evaluations - used) // 2
        with _bar(params, budget) as tick:
            pulls, trace = _design(params, draws, n, budget, sign, words, tick)
            if prior is None:
                total = int(pulls.count.sum())
                prior = sign * float(pulls.total.sum()) / total if total else 0.0
            variances = _variances(params, pulls, kernel, sign * prior)
            state = {"variances": variances}

            def renew(pulls: Pulls, reestimate: bool) -> Posterior:
                if reestimate:
                    state["variances"] = _likeliest(pulls, kernel, sign * prior)
                return Posterior.given(kernel, state["variances"], sign * prior, pulls)

            search = Search(
                posterior=renew(pulls, False),
                pulls=pulls,
                rules=_rules(params, m),
                rewards=lambda arms: [sign * reward for reward in draws(arms)],
                renew=renew,
                n_before=draws.made,
                trace=trace,
            )
            for size in search.run(budget - draws.made):
                tick(size)
    steps = np.array(search.trace, dtype=TRACE)
    steps["reward"] *= sign
    natural = Pulls(pulls.count, sign * pulls.total, pulls.square)
    return Outcome(
        regression=Regression(kernel, state["variances"], prior, natural),
        posterior=search.posterior,
        gap=search.gap,
        stopped=search.stopped,
        n_evaluations=used + 2 * draws.made + draws.checks,
        trace=steps,
        n_refused=draws.refused,
    )


def exact_values(params: Any, utility: Any, kernel: Any) -> Outcome:
    """Values that are known, with a process through them for further rows."""
    n = utility.n_samples
    with _bar(params, n) as tick:
        values = utility.shapley_values()
        tick(n)
    signal = max(float(values.var()), 1e-300)
    known = Pulls(np.ones(n, dtype=np.int64), values.copy(), values**2)
    variances = Variances(signal, EXACT_NOISE * signal)
    prior = float(values.mean())
    trace = np.empty(0, dtype=TRACE)
    return Outcome(
        Regression(kernel, variances, prior, known), None, 0.0, True, 0, trace
    )


def _rules(params: Any, m: int) -> Rules:
    return Rules(
        m=m,
        epsilon=params.epsilon,
        delta=params.delta,
        beta=params.beta,
        paired=params.paired,
        pull_rule=params.pull_rule,
        batch_size=params.batch_size,
        reestimate_every=params.reestimate_every,
        adapt=params.signal_variance is None and params.noise_variance is None,
    )


def _known_prior(params: Any, utility: Any, n: int) -> tuple[float | None, int]:
    """Mean value before any draw, None if the draws have to tell; trainings used."""
    if not isinstance(params.prior_mean, str):
        return float(params.prior_mean), 0
    if params.lowest:
        return 0.0, 0  # a positive one makes rows that were not drawn look harmless
    if params.max_coalition is not None:
        return None, 0
    rows = np.arange(n)
    # a model that refuses all rows says why
    whole = utility.check() if hasattr(utility, "check") else utility(rows)
    return (float(whole) - float(utility(rows[:0]))) / n, 2


def _design(
    params: Any,
    draws: Draws,
    n: int,
    budget: int,
    sign: float,
    words: Any,
    tick: Any,
) -> tuple[Pulls, list[tuple[int, float, float]]]:
    """Draw some rows several times each, to estimate the variances."""
    pulls = Pulls.none(n)
    if params.signal_variance is not None and params.noise_variance is not None:
        return pulls, []
    most = max(2, budget // (2 * DESIGN_PULLS))
    size = min(max(2, math.ceil(DESIGN_SHARE * n)), most)
    chosen = np.random.default_rng(seed_of(words, DESIGN)).permutation(n)[:size]
    arms = np.tile(chosen, DESIGN_PULLS).tolist()
    trace = []
    for arm, reward in zip(arms, draws(arms), strict=True):
        pulls.add(arm, sign * reward)
        trace.append((arm, sign * reward, math.nan))
    tick(len(arms))
    return pulls, trace


def _variances(params: Any, pulls: Pulls, kernel: Any, prior: float) -> Variances:
    """What is given, the rest estimated from the initial draws."""
    signal, noise = params.signal_variance, params.noise_variance
    if signal is not None and noise is not None:
        return Variances(float(signal), float(noise))
    found = Variances.of_design(pulls)
    if signal is None and noise is None:
        misfit = Regression(kernel, found, prior, pulls).calibration()
        # draws may agree with each other, and not with the mean value
        return _likeliest(pulls, kernel, prior) if misfit > MISFIT else found
    return Variances(
        found.signal if signal is None else float(signal),
        found.noise if noise is None else float(noise),
    )


def _likeliest(pulls: Pulls, kernel: Any, prior: float) -> Variances:
    at = pulls.pulled
    return Variances.of_likelihood(pulls, kernel.rows(at)[:, at], prior)


@contextmanager
def _bar(params: Any, budget: int) -> Iterator[Any]:
    """Progress over the draws of the budget; the search may stop before."""
    if not params.verbose:
        yield lambda size: None
        return
    from tqdm import tqdm

    with tqdm(
        total=budget,
        desc=type(params).__name__,
        unit="row" if params.utility == "knn" else "draw",
    ) as bar:
        yield bar.update
