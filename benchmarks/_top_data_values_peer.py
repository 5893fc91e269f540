"""Truncated Monte Carlo by pyDVL, in an environment of its own (it needs numpy < 2).

Reads a case as npz from the first argument, prints as JSON which rows are lowest after
so many trainings. Imports nothing of the library.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")

from pydvl.utils.status import Status  # noqa: E402
from pydvl.valuation import Dataset, TMCShapleyValuation  # noqa: E402
from pydvl.valuation.stopping import StoppingCriterion  # noqa: E402
from pydvl.valuation.utility.base import UtilityBase  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402


class Counted(UtilityBase):
    """The utility of the case, with a count of what was evaluated."""

    def __init__(self, case):
        self.case, self.calls = case, 0
        self.counter = [0]
        self._training_data = Dataset(case["X"], case["y"])
        gaps = case["X_val"][:, None] - case["X"][None]
        self.order = np.argsort((gaps**2).sum(-1), axis=1, kind="stable")
        self.match = case["y"][self.order] == case["y_val"][:, None]
        # what no row at all is worth: the larger class, as ours
        common = np.bincount(case["y"]).argmax()
        self.empty = float(np.mean(case["y_val"] == common))

    def __call__(self, sample):
        knn = self.case["utility"] == "knn"
        if sample is None or len(sample.subset) == 0:
            return 0.0 if knn else self.empty
        self.counter[0] += 1  # shared by the copies that pyDVL makes
        rows = np.sort(np.asarray(sample.subset))
        return self._knn(rows) if knn else self._model(rows)

    def _knn(self, rows, k=5):
        member = np.zeros(len(self.case["y"]), dtype=bool)
        member[rows] = True
        inside = member[self.order]
        near = inside & (np.cumsum(inside, axis=1) <= k)
        return float((near & self.match).sum() / (k * len(self.match)))

    def _model(self, rows):
        X, y = self.case["X"][rows], self.case["y"][rows]
        if (y == y[0]).all():
            return float(np.mean(self.case["y_val"] == y[0]))
        model = LogisticRegression(max_iter=1000).fit(X, y)
        return float(np.mean(model.predict(self.case["X_val"]) == self.case["y_val"]))


class AtBudgets(StoppingCriterion):
    """Note the lowest rows whenever a budget of trainings is reached.

    pyDVL hands over the marginals of a permutation when all of it is done. Each of
    them is dated by the training that it needed, so that no budget is charged with
    trainings that came after.
    """

    def __init__(self, utility, budgets, m):
        super().__init__()
        self.utility, self.budgets, self.m = utility, list(budgets), m
        self.seen, self.start, self.end, self.found = 0, 1, 1, {}

    def note(self, result):
        """Note the ranks after one marginal was taken in."""
        n = len(result)
        if self.seen % n == 0:
            self.start, self.end = self.end, self.utility.counter[0]
        spent = min(self.start + self.seen % n + 1, self.end)
        self.seen += 1
        values = np.asarray(result.values)
        lowest = np.argsort(values, kind="stable")[: self.m]
        for budget in self.budgets:
            if spent <= budget:  # the last one within the budget stays
                self.found[str(budget)] = lowest.tolist()

    def _check(self, result):
        enough = self.utility.counter[0] >= max(self.budgets)
        return Status.Converged if enough else Status.Pending


def hook(sampler, note):
    """Call back after each marginal, which pyDVL takes in one by one."""
    make = sampler.result_updater

    def made(result):
        updater = make(result)
        process = updater.process

        def processed(update):
            changed = process(update)
            note(changed)
            return changed

        updater.process = processed
        return updater

    sampler.result_updater = made


def main():
    """Run one case."""
    case = dict(np.load(sys.argv[1]))
    utility = Counted(case)
    at = AtBudgets(utility, case["budgets"].tolist(), int(case["m"]))
    start = time.process_time()
    valuation = TMCShapleyValuation(utility, is_done=at, seed=int(case["seed"]))
    hook(valuation.sampler, at.note)
    valuation.fit(Dataset(case["X"], case["y"]))
    print(json.dumps({"cpu": time.process_time() - start, "found": at.found}))


if __name__ == "__main__":
    main()
