"""Broken ways to explain."""

from dataclasses import replace

import numpy as np

from broken._table import table
from skinterp.testing.mocks import CentroidClassifier, LinearRegressor

BROKEN_EXPLAINING, breaks = table()


@breaks("check_explains_declared")
class DeclaresUnknownKind(CentroidClassifier):
    explains = {"global": ("no-such-kind",)}


@breaks("check_explain_kinds")
class LosesTheLastRow(CentroidClassifier):
    def explain(self, X=None, *, kind=None):
        explanation = super().explain(X, kind=kind)
        return explanation if X is None else explanation[:-1]


@breaks("check_explain_refusals")
class TakesAnyKind(CentroidClassifier):
    def explain(self, X=None, *, kind=None, **options):
        return super().explain(X)


@breaks("check_explain_changes_nothing")
class RemembersRows(CentroidClassifier):
    def _explain(self, X, *, kind):
        self.explained_ = X
        return super()._explain(X, kind=kind)


@breaks("check_explain_again")
class DriftsWithUse(LinearRegressor):
    def _explain(self, X, *, kind):
        self.calls_ = getattr(self, "calls_", 0) + 1
        explanation = super()._explain(X, kind=kind)
        return replace(explanation, values=explanation.values + self.calls_)


@breaks("check_explain_follows_rows")
class SortsRows(LinearRegressor):
    def _explain(self, X, *, kind):
        X = X if X is None else X[np.argsort(X[:, 0])]
        return super()._explain(X, kind=kind)


@breaks("check_explain_faithful")
class Exaggerates(LinearRegressor):
    def _explain(self, X, *, kind):
        explanation = super()._explain(X, kind=kind)
        return replace(explanation, values=2.0 * explanation.values)


@breaks("check_explanation_targets")
class NamesClassesBackwards(CentroidClassifier):
    def _explain(self, X, *, kind):
        return replace(super()._explain(X, kind=kind), target_names=self.classes_[::-1])


@breaks("check_explanation_meta")
class ForgetsItsMaking(CentroidClassifier):
    def explain(self, X=None, *, kind=None):
        return replace(super().explain(X, kind=kind), meta={})


@breaks("check_explain_in_pipeline")
class ShowsThreeColumns(LinearRegressor):
    def _explain(self, X, *, kind):
        return super()._explain(X, kind=kind).top(3)
