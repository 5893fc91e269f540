"""What the two estimators of ANOVA-TPNN share: terms, training, explanation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.additive._anova_tpnn_explain import explain_rows, explain_terms
from skinterp.additive._anova_tpnn_inputs import (
    apply_scaler,
    density_of,
    fit_scaler,
    points_to_draw,
)
from skinterp.additive._anova_tpnn_kernels import functions_needed
from skinterp.additive._anova_tpnn_solve import solve_module
from skinterp.additive._anova_tpnn_terms import (
    check_monotone,
    check_terms,
    constant_columns,
    make_grid,
    rank_pairs,
)
from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import Integral, Interval, Real, StrOptions, check_is_fitted
from skinterp.neural import NeuralEstimator

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.explanation import Explanation
    from skinterp.neural import Batch, TrainingData

__all__ = ["CONSTRAINTS", "AdditiveNetwork"]

# Points per column on which terms of one feature, and of two, are trained.
_FINE, _COARSE = 256, 64
# Products of logistic functions per term and member by gradients; functions per feature
# by exact solution.
_BASES, _FUNCTIONS = 16, 64
# Fewer rows say nothing about curves.
_FEWEST = 20
_COUNT = Interval(Integral, 1, None, closed="left")
_WEIGHT = Interval(Real, 0, None, closed="left")
CONSTRAINTS: dict[str, list[Any]] = {
    "batch_size": [StrOptions({"auto"}), _COUNT],
    "order": [Interval(Integral, 1, 4, closed="both")],
    "interactions": [StrOptions({"auto", "all"}), list, tuple],
    "max_interactions": [Interval(Integral, 0, None, closed="left"), None],
    "n_bases": [StrOptions({"auto"}), _COUNT],
    "n_members": [_COUNT],
    "subsample": [Interval(Real, 0, 1, closed="right")],
    "init_tau_scale": [
        StrOptions({"mixed"}),
        Interval(Real, 0, None, closed="neither"),
    ],
    "shared_basis": ["boolean"],
    "monotone": [Mapping, None],
    "input_transform": [StrOptions({"quantile", "standard"}), None],
    "component_penalty": [_WEIGHT],
    "term_penalty": [_WEIGHT],
    "solver": [StrOptions({"auto", "gradient", "exact"})],
}


class AdditiveNetwork(ExplainableMixin, NeuralEstimator):
    """What the classifier and the regressor share."""

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("shape-functions",),
        "local": ("shape-functions", "attribution"),
    }

    order: int
    interactions: Any
    max_interactions: int | None
    n_bases: Any
    n_members: int
    subsample: float
    init_tau_scale: Any
    shared_basis: bool
    monotone: Any
    input_transform: str | None
    component_penalty: float
    term_penalty: float
    solver: str
    # whether to solve for all coefficients at once, and whether that was done
    _exactly: bool
    _solved_: bool

    def _work(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Any:
        go_on, one_pass = how["go_on"], how["epochs"] is None
        barriers = self._barriers(go_on=go_on, one_pass=one_pass)
        if self.solver == "exact" and barriers:
            msg = f"solver='exact' does not go with {barriers[0]}; 'gradient' does"
            raise ValueError(msg)
        self._exactly = self.solver == "exact" or (
            self.solver == "auto" and not barriers and not go_on
        )
        if self._exactly:
            how["epochs"] = 1
        # coefficients that nearly cancel are not rounded; Apple's GPUs know no float64
        double = self._exactly and not str(self.device).startswith("mps")
        self._dtype = "float64" if double else "float32"
        return super()._work(X, y, sample_weight, **how)

    def _barriers(self, *, go_on: bool, one_pass: bool) -> list[str]:
        """Name what only the training by gradients goes with."""
        wide = not isinstance(self.interactions, str) and any(
            len(term) > 2 for term in self.interactions if isinstance(term, tuple)
        )
        found = (
            (one_pass, "partial_fit"),
            (self.warm_start, "warm_start"),
            (self.monotone, f"monotone={self.monotone!r}"),
            (self.component_penalty, f"component_penalty={self.component_penalty!r}"),
            (wide, f"interactions={self.interactions!r}, of over two features"),
            (self.shared_basis, "shared_basis=True"),
            (self.callbacks is not None, "callbacks"),
        )
        return [what for there, what in found if there]

    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        X, y = super()._validate_training(X, y, reset=reset)
        if not reset and self._solved_:
            msg = (
                "this model was fitted by solver='exact', which nothing can be added "
                "to; fit it with solver='gradient' first"
            )
            raise ValueError(msg)
        return X, y

    def _encode_target(self, y: Any, *, first: bool) -> NDArray[Any]:
        made = super()._encode_target(y, first=first)
        if first and len(made) < _FEWEST:
            warnings.warn(
                f"{type(self).__name__} got {len(made)} rows; curves fitted to fewer "
                f"than {_FEWEST} say little.",
                UserWarning,
                stacklevel=2,
            )
        return made

    # -- the terms and the module -----------------------------------------------------
    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        names = feature_names_of(self)
        signs = check_monotone(self.monotone, names)
        fixed = check_terms(self.interactions, self.order, X.shape[1], signs)
        flat = constant_columns(X, names)
        self._n_rows_ = len(X)
        self._transform_ = self.input_transform
        self._scaler_ = fit_scaler(self._transform_, X, sample_weight)
        Z = self._transform_inputs(X)
        self._fine_ = make_grid(Z, sample_weight, _FINE)
        self._coarse_ = make_grid(Z, sample_weight, _COARSE)
        used = [j for j in range(X.shape[1]) if j not in flat]
        if fixed is None:
            fixed = self._choose_pairs(Z, y, sample_weight, used, signs)
        inner = [term for term in fixed if not set(term) & set(flat)]
        # by order, so that the terms of one order are one tensor
        inner.sort(key=len)
        self.terms_ = [(j,) for j in used] + inner

    def _codes_of(self, y: Any) -> tuple[int, Any]:
        """Give the number of classes, 0 for numbers, and the target for screening."""
        raise NotImplementedError

    def _choose_pairs(
        self, Z: Any, y: Any, weight: Any, used: list[int], signs: Any
    ) -> list[tuple[int, ...]]:
        if self.order == 1:
            return []
        free = [j for j in used if j not in signs]
        if self.interactions == "all":
            return [(i, j) for a, i in enumerate(free) for j in free[a + 1 :]]
        limit = self.max_interactions
        n_classes, target = self._codes_of(y)
        return rank_pairs(Z, target, weight, n_classes, free)[:limit]

    def _transform_inputs(self, X: Any) -> Any:
        return apply_scaler(self._transform_, self._scaler_, X)

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        if self._exactly:
            return self._dictionary_config(data)
        signs = np.zeros(data.n_features)
        for j, sign in check_monotone(self.monotone, feature_names_of(self)).items():
            signs[j] = sign
        return {
            "terms": tuple(self.terms_),
            "n_bases": _BASES if self.n_bases == "auto" else int(self.n_bases),
            "n_members": int(self.n_members),
            "n_outputs": data.n_outputs,
            "fine": self._fine_,
            "coarse": self._coarse_,
            "shared_basis": bool(self.shared_basis),
            "signs": signs,
        }

    def _dictionary_config(self, data: TrainingData) -> dict[str, Any]:
        limit = _FUNCTIONS if self.n_bases == "auto" else int(self.n_bases)
        return {
            "terms": tuple(self.terms_),
            "n_features": data.n_features,
            "n_functions": functions_needed(self._fine_, limit),
            "n_outputs": data.n_outputs,
        }

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.additive._anova_tpnn_dictionary import DictionaryNet
        from skinterp.additive._anova_tpnn_module import TensorProductNet

        kind = DictionaryNet if "n_functions" in config else TensorProductNet
        return kind(config)

    def _initialise(self, module: Any, data: TrainingData) -> None:
        if self._exactly:
            return
        module.start(data.X, data.generator, self.init_tau_scale)
        if data.n_classes:
            module.start_intercept(data.target, data.weight, data.n_classes)

    # -- the training -----------------------------------------------------------------
    def _training_loss(self, module: Any, batch: Batch) -> Tensor:
        if self._exactly:  # all is learnt after this
            output = module.intercept.expand(len(batch.target), -1)
            return batch.mean(self._loss(output, batch.target))
        module.confine()
        (X,) = batch.inputs
        members = module.binned(X)
        # each member has its own loss, as if it were trained alone
        losses = [self._loss(part, batch.target) for part in members.unbind(1)]
        per_row = self._stack(losses)
        if self.subsample < 1:
            per_row = per_row * module.admit(X, self.subsample)
        loss = batch.mean(per_row.mean(1))
        if self.term_penalty:
            # rows say the less the noisier they are: against the loss that is left
            strength = self.term_penalty / self._n_rows_ * loss.detach()
            loss = loss + strength * module.squares()
        if self.component_penalty:
            loss = loss + self.component_penalty * module.mean_square(X)
        return loss

    def _validation_loss(self, module: Any, batch: Batch) -> Tensor:
        if self._exactly:
            return self._training_loss(module, batch)
        output = module.binned(batch.inputs[0]).mean(1)
        return batch.mean(self._loss(output, batch.target))

    @staticmethod
    def _stack(losses: list[Tensor]) -> Tensor:
        import torch

        return torch.stack(losses, dim=1)

    def _rows_per_step(self, n_rows: int) -> int:
        if self._exactly:
            return n_rows
        if self.batch_size != "auto":
            return int(self.batch_size)
        return max(16, min(512, n_rows // 8))

    def _optimizer_options(self) -> dict[str, Any]:
        return {"betas": (0.9, 0.99)} if self.optimizer in ("adam", "adamw") else {}

    def _end_of_epoch(self, module: Any, data: TrainingData, epoch: int) -> None:
        if not self._exactly:
            module.confine()

    def _after_training(self, module: Any, data: TrainingData) -> None:
        if self._exactly:
            solution = solve_module(module, data, self._fine_)
            module.take(solution, data.X, data.weight)
            return
        module.confine()
        module.set_constants(data.X, data.weight)

    # -- what is known after the training ---------------------------------------------
    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._solved_ = self._exactly
        parts = self._components(X)
        weight = np.ones(len(parts)) if sample_weight is None else sample_weight
        # sums, not products of matrices: those differ in the last bit by memory address
        weight = (weight / weight.sum()).reshape(-1, *[1] * (parts.ndim - 1))
        mean = (weight * parts).sum(axis=0)
        variance = (weight * (parts - mean) ** 2).sum(axis=0)
        self.term_importances_ = np.sqrt(variance)
        total = variance.sum(axis=0)
        self.sobol_ = variance / np.where(total > 0, total, 1.0)
        intercept = self._in_units(self.weights_["intercept"], shift=True)
        self.intercept_ = float(intercept) if intercept.ndim == 0 else intercept
        columns = range(X.shape[1])
        self._points_ = tuple(points_to_draw(X[:, j]) for j in columns)
        self._density_ = tuple(density_of(X[:, j]) for j in columns)

    def _components(self, X: Any) -> NDArray[np.float64]:
        """Terms for validated rows; a last axis for outputs where there are several."""
        parts = self._evaluate(X, lambda module, Z: module.components(Z))
        return self._in_units(parts)

    def _in_units(self, raw: Any, *, shift: bool = False) -> NDArray[np.float64]:
        """From the module's outputs to the units of y, or logits."""
        values = np.asarray(raw, dtype=np.float64)
        scale = getattr(self, "target_scale_", None)
        if scale is not None:
            values = values * scale
            if shift:
                values = values + self.target_mean_
        return values[..., 0] if values.shape[-1] == 1 else values

    def _on_grid(self, term: tuple[int, ...], grid: Any) -> NDArray[np.float64]:
        """One term at all combinations of points of its features."""
        import torch

        rows = np.zeros((max(map(len, grid)), self.n_features_in_))
        for j, points in zip(term, grid, strict=True):
            rows[: len(points), j] = points
            rows[len(points) :, j] = points[-1]
        Z = self._transform_inputs(rows)
        module, device, dtype = self._module_on()
        axes = [
            torch.as_tensor(Z[: len(points), j], dtype=dtype, device=device)
            for j, points in zip(term, grid, strict=True)
        ]
        surface: Any = module.surface
        return self._in_units(surface(tuple(term), axes).cpu().numpy())

    def components(self, X: Any) -> NDArray[np.float64]:
        """Evaluate each term at rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_outputs)
            In the order of ``terms_``, in units of y, for a classifier in logits. With
            ``intercept_`` they sum to ``predict``, or to ``decision_function``.
        """
        check_is_fitted(self)
        return self._components(self._validate_X(X))

    def _explain(self, X: Any, *, kind: str) -> Explanation:
        if X is None:
            return explain_terms(self)
        return explain_rows(self, X, kind)

    def __skinterp_tags__(self) -> SkinterpTags:
        tags: SkinterpTags = super().__skinterp_tags__()
        if self.solver == "gradient":
            return tags
        why = "adds rows to a fitted model, which an exact solution refuses"
        excuses = {**tags.expected_failures, "check_fit_score_takes_y": why}
        return replace(tags, expected_failures=excuses)

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        return [{"max_interactions": 2, "n_bases": 4}]
