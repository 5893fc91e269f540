"""The work of a finder of slices: reading tables, searching, writing down."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d

from skinterp.base import feature_names_of
from skinterp.compat import check_is_fitted, check_sample_weight, validate_data
from skinterp.slices import _error_slice_finder_kernels as kernels
from skinterp.slices import _evidence as evidence
from skinterp.slices import _performance as performance
from skinterp.slices._report import say_tags
from skinterp.slices._search import Found, Rows, n_conceivable, search, unpack
from skinterp.slices._tags import learn_columns, positions
from skinterp.slices._unseen import propose, read_similarity

GAP = 0.2
FIGURES = ("performance", "gap", "p_value", "q_value")
HELD = ("held_size", *(f"held_{name}" for name in FIGURES))
RECORD = np.dtype(
    [
        ("size", np.int64),
        *((name, np.float64) for name in (*FIGURES, "error_share")),
        ("order", np.int64),
        ("held_size", np.int64),
        *((name, np.float64) for name in HELD[1:]),
    ]
)


class Finding(BaseEstimator):
    """What a finder does between its public methods; holds no parameters."""

    # -- input -------------------------------------------------------------------------
    def _read(self, X: Any, *, reset: bool) -> Any:
        """Table of tags: a frame as it is, anything else as an array."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if X.shape[0] == 0 or X.shape[1] == 0:
                msg = f"found array with 0 sample(s) or feature(s), shape {X.shape}"
                raise ValueError(msg)
            return X
        return validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )

    def _read_target(self, y: ArrayLike, name: str = "y") -> NDArray[Any]:
        if y is None:
            who = type(self).__name__
            msg = f"{who} requires y to be passed, but the target y is None"
            raise ValueError(msg)
        target = column_or_1d(np.asarray(y) if isinstance(y, list) else y, warn=True)
        lacking = pd.isna(target)
        if lacking.any():
            row = int(lacking.argmax())
            msg = f"{name} holds NaN, first in row {row}; leave such rows out"
            raise ValueError(msg)
        return target

    def _read_scores(self, scores: ArrayLike, table: Any) -> NDArray[np.float64]:
        try:
            values = np.asarray(self._read_target(scores, "scores"), dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = f"scores have to be one number per row: {error}"
            raise ValueError(msg) from error
        check_consistent_length(table, values)
        if not np.isfinite(values).all():
            msg = "scores hold infinity; leave such rows out"
            raise ValueError(msg)
        outside = values[(values < 0) | (values > 1)]
        if self.metric in ("auto", "accuracy") and len(outside):
            msg = (
                f"scores must lie in [0, 1], got {outside[0]}; for losses set "
                "metric='loss'"
            )
            raise ValueError(msg)
        return values

    def _read_weight(self, weight: Any, table: Any) -> NDArray[np.float64]:
        checked = check_sample_weight(
            weight, np.empty((len(table), 1)), dtype=np.float64
        )
        if (checked < 0).any() or not checked.any():
            msg = f"sample_weight must be at least 0, and not all 0; got {weight!r}"
            raise ValueError(msg)
        # weights that are all the same are none
        return np.asarray(checked / checked.max())

    def _check_rows(self, n: int) -> None:
        n_searched = n - round(n * self.holdout)
        least = max(self.min_size if self.min_size >= 1 else 1, 2)
        if n_searched < least:
            msg = (
                f"n_samples={n} leaves {n_searched} rows to search "
                f"(holdout={self.holdout}); at least {least} are needed "
                f"(min_size={self.min_size})"
            )
            raise ValueError(msg)

    # -- work --------------------------------------------------------------------------
    @property
    def _loss(self) -> bool:
        return bool(self.metric_ != "accuracy")

    def _units(self, value: Any) -> Any:
        """Inside, larger is better; users read losses as they are."""
        return 0.0 - value if self._loss else value

    def _find(
        self,
        table: Any,
        scores: NDArray[np.float64],
        weight: NDArray[np.float64],
        metric: Any,
        split: int,
    ) -> Self:
        self.metric_ = performance.name_of(metric)
        n = len(scores)
        order = np.random.RandomState(split).permutation(n)
        self.n_held_ = round(n * self.holdout)
        held, searched = np.sort(order[: self.n_held_]), np.sort(order[self.n_held_ :])
        names, part = feature_names_of(self), rows_of(table, searched)
        size = self.min_size
        least = int(size) if size >= 1 else max(1, int(np.ceil(size * len(searched))))
        self.min_rows_ = least
        chosen = () if self.multi_hot is None else tuple(self.multi_hot)
        self.present_ = positions(chosen, names)
        self.columns_ = learn_columns(
            part,
            names,
            n_bins=self.n_bins,
            min_size=least,
            present=self.present_,
        )
        rows = Rows(self._bits(part), self._units(scores[searched]), weight[searched])
        self.overall_, self.n_rows_ = float(self._units(rows.overall)), len(searched)
        self.gap_ = self._choose_gap()
        found = self._search(rows, least)
        self.cover_, self.cover_errors_, self.cover_rows_ = evidence.cover(
            found, rows.bits, evidence.error_of(rows, loss=self._loss), self.coverage
        )
        self.unseen_ = self._propose(found, rows, least, names)
        self.offsets_, self.tags_ = found.offsets, found.tags
        slices = self._records(found, rows)
        self.held_overall_ = float("nan")
        if self.n_held_:
            bits = self._bits(rows_of(table, held))
            others = Rows(bits, self._units(scores[held]), weight[held])
            self.held_overall_ = float(self._units(others.overall))
            self._estimate_again(slices, others)
        self.slices_ = slices
        return self

    def _choose_gap(self) -> float:
        if self.gap is not None:
            return float(self.gap)
        if self._loss:
            return abs(self.overall_) / 2 or 1.0
        return GAP

    def _search(self, rows: Rows, min_size: int) -> Found:
        owner = self._owner()
        several = np.array([self.columns_[c].several for c in owner], dtype=bool)
        found = search(
            rows,
            owner,
            several,
            max_order=self.max_order,
            min_size=min_size,
            gap=self.gap_,
            bound=self.bound,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.n_found_ = len(found.size)
        self.n_candidates_, self.n_large_ = found.n_evaluated, found.n_large
        self.n_evaluated_ = int(found.n_evaluated.sum())
        self.n_pruned_by_bound_ = found.n_pruned
        self.n_tests_ = int(found.n_large.sum())
        if self.bound and rows.binary:
            # what the bound left aside was not counted; no more than this exists
            order = min(self.max_order, len(owner))
            self.n_tests_ = n_conceivable(owner, several, order)
        found = found.take(evidence.sort_slices(found, self.order_by))
        return evidence.distinct(found, self.max_slices, self.redundancy)

    def _propose(
        self, found: Found, rows: Rows, min_size: int, names: tuple[str, ...]
    ) -> list[Any] | None:
        near = read_similarity(self.tag_similarity, self.columns_, names)
        if self.unseen == "none":
            return None
        listed = propose(
            found, rows, self.columns_, self._owner(), near, min_size=min_size
        )
        return [(*row[:3], float(self._units(row[3]))) for row in listed]

    def _owner(self) -> NDArray[np.int64]:
        """Column, by its place in ``columns_``, of each tag."""
        counts = [len(column.kept) for column in self.columns_]
        return np.repeat(np.arange(len(counts)), counts)

    def _bits(self, table: Any) -> NDArray[np.uint64]:
        names = feature_names_of(self)
        if hasattr(table, "columns") and not hasattr(self, "feature_names_in_"):
            names = tuple(map(str, table.columns))  # by place, as in an array
        nothing = np.empty((0, -(-len(table) // 64)), dtype=np.uint64)
        parts = [column.masks(table, names) for column in self.columns_]
        return np.concatenate([nothing, *parts])

    def _membership(self, table: Any) -> sparse.csr_matrix:
        bits, n = self._bits(table), len(table)
        rows = [
            np.flatnonzero(unpack(kernels.row_set(bits, self._tags_of(s)), n))
            for s in range(len(self.slices_))
        ]
        ends = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
        places = np.concatenate([np.empty(0, np.int64), *rows])
        held = np.ones(len(places), dtype=bool)
        shape = (n, len(rows))
        by_slice = sparse.csc_matrix((held, places, ends.astype(np.int64)), shape=shape)
        return by_slice.tocsr()

    def _records(self, found: Found, rows: Rows) -> NDArray[Any]:
        slices = np.zeros(len(found.size), dtype=RECORD)
        slices["order"] = np.diff(found.offsets)
        error = evidence.error_of(rows, loss=self._loss)
        inside = kernels.slice_sums(
            rows.bits, found.offsets, found.tags, np.ones(rows.n_rows), error
        )
        slices["error_share"] = inside[:, 3] / (error.sum() or 1.0)
        self._fill(slices, "", rows, found.offsets, found.tags, self.n_tests_)
        for name in HELD:
            slices[name] = np.nan if name != "held_size" else 0
        return slices

    def _estimate_again(self, slices: NDArray[Any], rows: Rows) -> None:
        self._fill(slices, "held_", rows, self.offsets_, self.tags_, len(slices))

    def _fill(
        self,
        slices: NDArray[Any],
        prefix: str,
        rows: Rows,
        offsets: NDArray[np.int64],
        tags: NDArray[np.int64],
        n_tests: int,
    ) -> None:
        """Write size, performance and evidence of each slice on some rows."""
        value, scale, centre = rows.centred()
        sums = kernels.slice_sums(rows.bits, offsets, tags, rows.weight, value)
        with np.errstate(invalid="ignore"):
            mean = sums[:, 3] / sums[:, 1] * scale + centre
        p = evidence.p_values(sums, rows.overall if rows.binary else None)
        slices[f"{prefix}size"] = sums[:, 0]
        slices[f"{prefix}performance"] = self._units(mean)
        slices[f"{prefix}gap"] = rows.overall - mean
        slices[f"{prefix}p_value"] = p
        slices[f"{prefix}q_value"] = evidence.adjust(p, n_tests)

    def _measure(self, X: Any, y: ArrayLike, tags: Any) -> tuple[Any, Rows]:
        check_is_fitted(self)
        table = self._read(X if tags is None else tags, reset=False)
        if self.estimator_ is None:
            scores = self._read_scores(y, table)
        else:
            target = self._read_target(y)
            check_consistent_length(table, X, target)
            metric = self.metric if callable(self.metric) else self.metric_
            scores = performance.measure(self.estimator_, X, target, metric)
        return table, Rows(self._bits(table), self._units(scores), np.ones(len(scores)))

    def _tags_of(self, s: int) -> NDArray[np.int64]:
        return self.tags_[self.offsets_[s] : self.offsets_[s + 1]]

    def _say(self, tags: Any) -> str:
        return say_tags(self.columns_, tags, feature_names_of(self))


def rows_of(table: Any, rows: NDArray[np.intp]) -> Any:
    """Take rows of a frame, an array or a list."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "columns") or hasattr(table, "shape"):
        return table[rows]
    return [table[i] for i in rows]
