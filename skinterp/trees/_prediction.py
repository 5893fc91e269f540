"""What a Boolean tree answers, and for which rows the answer is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score

from skinterp.compat import check_parameter
from skinterp.trees import _boolean_tree_kernels as kernels
from skinterp.trees._tables import TreeTables


class PredictionMixin:
    """Predictions, for a model with `_tables` and `_validate_X`."""

    if TYPE_CHECKING:
        classes_: NDArray
        on_undetermined: str

        def _validate_X(self, X: ArrayLike) -> NDArray[np.float32]: ...
        def _tables(self) -> TreeTables: ...

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels. With ``on_undetermined="abstain"`` a masked array.

        Notes
        -----
        Tools that know no masks drop it, among them
        ``sklearn.model_selection.cross_val_predict`` and
        ``sklearn.metrics.confusion_matrix``: rows on which this abstains then look
        like certain ones.
        """
        check_parameter(self, "on_undetermined")
        if self.on_undetermined == "abstain":
            return self.predict_partial(X)
        tables = self._tables()
        labels, determined = _decide(tables, self._validate_X(X))
        if self.on_undetermined == "majority":
            labels[~determined] = tables.nodes[0, kernels.LABEL]
        return self.classes_[labels]

    def predict_partial(self, X: ArrayLike) -> np.ma.MaskedArray:
        """Predict the class of each determined row, and mask the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        MaskedArray of shape (n_samples,)
            Class labels, masked where the known cells don't determine the class.
            Below the mask lies the wrapped tree's own answer.
        """
        labels, determined = _decide(self._tables(), self._validate_X(X))
        return np.ma.MaskedArray(self.classes_[labels], mask=~determined)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy on given rows; one on which ``predict`` abstains counts as wrong.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.
        y : array-like of shape (n_samples,)
            Right class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Share of the weight on which the answer is right.
        """
        answer = self.predict(X)
        if sample_weight is None:
            sample_weight = np.ones(len(answer))
        weight = np.asarray(sample_weight, dtype=np.float64)
        right = accuracy_score(
            y,
            np.ma.getdata(answer),
            normalize=False,
            sample_weight=np.where(np.ma.getmaskarray(answer), 0, weight),
        )
        return float(right / weight.sum())

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Average the class frequencies of the leaves that each row can reach.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Frequencies, weighted by the training weight of the leaves. For a complete
            row they are those of the wrapped tree. For a row that isn't determined,
            the most probable class may differ from ``predict``.
        """
        tables = self._tables()
        weight = np.maximum(tables.weight, np.finfo(np.float64).tiny)
        return kernels.average_rows(
            self._validate_X(X), tables.nodes, tables.threshold, weight, tables.value
        )

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Take the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms; -inf where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def determined(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell which rows no value of a missing cell could give another class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing cells.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            True where the class is certain.
        """
        return _decide(self._tables(), self._validate_X(X))[1]


def _decide(
    tables: TreeTables, X: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    return kernels.decide_rows(X, tables.nodes, tables.threshold)
