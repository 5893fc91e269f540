"""Top-m search over arms whose values share a Gaussian process: GPGapE."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skinterp.valuation._bandit_kernels import gap_index, most_telling
from skinterp.valuation._posterior import Posterior, Pulls

Floats = NDArray[np.float64]

SURPRISE = 6.0  # deviations; a reward beyond belies the variances
REFRESH = 500  # pulls after which the posterior is computed anew, against drift
TRACE = np.dtype([("row", "i8"), ("reward", "f8"), ("gap", "f8")])


@dataclass(frozen=True)
class Rules:
    """What decides which arm is pulled next, and when to stop."""

    m: int
    epsilon: float = 0.0
    delta: float = 0.05
    beta: float | str = "bayes"
    paired: bool = True
    pull_rule: str = "greedy"
    batch_size: int = 1
    reestimate_every: int | None = None
    adapt: bool = False

    def width(self, n: int, t: int) -> float:
        """Number of deviations that a bound spans before pull t (from 1)."""
        if not isinstance(self.beta, str):
            return float(self.beta)
        inside = n * n * math.pi**2 * t * t / (6.0 * self.delta)
        return math.sqrt(2.0 * math.log(inside))

    def choose(self, posterior: Posterior, b: int, c: int) -> int:
        """Arm to pull for a doubtful member and its challenger."""
        cov = posterior.cov
        if self.pull_rule == "greedy":
            return int(most_telling(cov, posterior.noise, b, c))
        return b if cov[b, b] >= cov[c, c] else c


@dataclass
class Search:
    """State of a search; ``run`` pulls until the rule or the budget ends it."""

    posterior: Posterior
    pulls: Pulls
    rules: Rules
    rewards: Callable[[list[int]], list[float]]
    renew: Callable[[Pulls, bool], Posterior] | None = None
    n_before: int = 0
    gap: float = math.inf
    stopped: bool = False
    surprised_at: int = 0
    trace: list[tuple[int, float, float]] = field(default_factory=list)

    def members(self) -> NDArray[np.bool_]:
        """Return the m arms of largest mean; of ties the first ones."""
        member = np.zeros(len(self.posterior.mean), dtype=np.bool_)
        order = np.argsort(-self.posterior.mean, kind="stable")
        member[order[: self.rules.m]] = True
        return member

    def index(self, t: int) -> tuple[int, int, float]:
        """Doubtful member, challenger and gap before pull t."""
        post = self.posterior
        beta = self.rules.width(len(post.mean), t)
        found = gap_index(post.mean, post.cov, self.members(), beta, self.rules.paired)
        return int(found[0]), int(found[1]), float(found[2])

    def run(self, budget: int) -> Iterator[int]:
        """Pull at most so many arms; yields how many were pulled at a time."""
        done = 0
        while True:
            b, c, self.gap = self.index(self.n_before + done + 1)
            self.stopped = self.gap <= self.rules.epsilon
            if self.stopped or done >= budget:
                return
            size = min(self.rules.batch_size, budget - done)
            arms, gains = self._plan(b, c, size, self.n_before + done + 1)
            surprised = False
            for arm, gain, reward in zip(arms, gains, self.rewards(arms), strict=True):
                surprised |= self._surprises(arm, reward, gain)
                self.pulls.add(arm, reward)
                self.posterior.learn(arm, reward, gain)
                self.trace.append((arm, reward, self.gap))
            self._refresh(done, done + size, surprised)
            done += size
            yield size

    def _plan(self, b: int, c: int, size: int, t: int) -> tuple[list[int], list[Any]]:
        """Arms of a batch: each pick shrinks the covariance before the next one."""
        arms, gains = [], []
        for k in range(size):
            if k:
                b, c, _ = self.index(t + k)
            arm = self.rules.choose(self.posterior, b, c)
            arms.append(arm)
            gains.append(self.posterior.plan(arm))
        return arms, gains

    def _surprises(self, arm: int, reward: float, gain: Floats) -> bool:
        """Whether a reward lies where, by the variances in use, none should."""
        known = max(1.0 - gain[arm], 1e-15)  # share of the noise in its variance
        deviation = math.sqrt(self.posterior.noise / known)
        return abs(reward - self.posterior.mean[arm]) > SURPRISE * deviation

    def _refresh(self, before: int, after: int, surprised: bool) -> None:
        """Compute the posterior anew where it is time, with new variances or not."""
        if self.renew is None:
            return
        every = self.rules.reestimate_every
        due = every is not None and before // every < after // every
        total = self.n_before + after
        # few initial draws may hide all noise; heavy tails must not cost a fit each
        if surprised and self.rules.adapt and total >= 2 * self.surprised_at:
            due, self.surprised_at = True, total
        if due or before // REFRESH < after // REFRESH:
            self.posterior = self.renew(self.pulls, due)
