"""A finder of data values that finds the wrong end."""

import numpy as np

from broken._table import table
from skinterp.explanation import DataValues
from skinterp.testing.mocks import CenterTransformer

BROKEN_VALUING, breaks_valuing = table()


@breaks_valuing("check_additive_game")
class FindsTheWrongEnd(CenterTransformer):
    """It says of the rows of lowest weight that theirs are the highest."""

    explains = {"global": ("data-values",)}

    def __init__(self, utility=None):
        self.utility = utility

    def fit(self, X, y):
        super().fit(X)
        n = len(X)
        self.value_ = np.array([self.utility([i]) for i in range(n)])
        return self

    def _explain(self, X, *, kind):
        n = len(self.value_)
        return DataValues(
            scope="global",
            feature_names=[f"x{j}" for j in range(len(self.mean_))],
            target_names=["y"],
            row=np.arange(n),
            value=self.value_,
            std=np.zeros(n),
            selected=self.value_ <= np.sort(self.value_)[4],
            probability=np.ones(n),
            pulls=np.ones(n),
        )
