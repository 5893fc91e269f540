"""What the two estimators of InstaSHAP share: terms, masked training, explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from skinterp.additive._insta_shap_explain import explain_model, explain_rows
from skinterp.additive._insta_shap_masks import (
    ExpectedLoss,
    draw_masks,
    masked_scores,
    size_law,
)
from skinterp.additive._insta_shap_players import (
    CONSTRAINTS,
    Float,
    Sets,
    check_hidden,
    check_schedule,
    make_players,
    make_terms,
    shapley_shares,
    taylor_shares,
    weighted_moments,
)
from skinterp.additive._insta_shap_teacher import follow_teacher, refuse_without_teacher
from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import check_is_fitted
from skinterp.neural import NeuralEstimator

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.explanation import Explanation
    from skinterp.neural import Batch, TrainingData

__all__ = ["CONSTRAINTS", "InstaSHAP"]

# Draws per row where the loss has no closed form over masks.
_DRAWS = 4
# More terms than these would make a large table of pairs of terms.
_MOST_EXACT = 1000
_CHUNK = 512


class InstaSHAP(ExplainableMixin, NeuralEstimator):
    """What the classifier and the regressor share."""

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("shape-functions", "attribution"),
        "local": ("attribution", "shape-functions"),
    }

    order: int
    interactions: Any
    max_interactions: int
    feature_groups: Any
    hidden_layer_sizes: Any
    mask_distribution: str
    end_weight: float
    masks_per_row: Any
    unmask_schedule: Any
    max_unmasked: float
    l1: float
    teacher: Any
    background: str

    # -- inputs -----------------------------------------------------------------------
    def _work(
        self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, **options: Any
    ) -> Any:
        if self.teacher is None:
            refuse_without_teacher(self, y)
        else:
            follow = follow_teacher(self, X, y, sample_weight)
            X, y, sample_weight, classes = follow
            if hasattr(self, "classes_") and options["go_on"]:
                classes = None
        return super()._work(X, y, sample_weight, classes=classes, **options)

    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        names = feature_names_of(self)
        self._columns_, self.players_ = make_players(self.feature_groups, names)
        mean, scale = weighted_moments(X, sample_weight)
        self._mean_, self._scale_ = mean, scale
        there = ~np.isnan(X)
        low = np.min(X, axis=0, where=there, initial=np.inf)
        high = np.max(X, axis=0, where=there, initial=-np.inf)
        # players whose cells say nothing have no terms
        self._used_ = [bool((high > low)[list(c)].any()) for c in self._columns_]

    def _transform_inputs(self, X: Any) -> Any:
        """Standardised cells, and which players are there."""
        there = ~np.isnan(X)
        # twice half of it: the difference of huge cells would overflow
        Z = 2 * ((X / 2 - self._mean_ / 2) / self._scale_)
        Z = np.where(there, Z, 0.0)
        # a player with a missing cell is absent as a whole
        present = np.stack([there[:, c].all(axis=1) for c in self._columns_], axis=1)
        return Z, present.astype(np.float64)

    # -- terms and module -------------------------------------------------------------
    def _law(self) -> Float:
        return size_law(self.mask_distribution, len(self.players_), self.end_weight)

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        terms = make_terms(self.order, self.interactions, self.players_)
        if terms is None:
            terms = self._choose_terms(data)
        self.terms_ = [t for t in terms if all(self._used_[p] for p in t)]
        terms = self.terms_
        return {
            "terms": tuple(terms),
            "columns": tuple(self._term_columns()),
            "n_players": len(self.players_),
            "n_features": data.n_features,
            "n_outputs": data.n_outputs,
            "hidden": check_hidden(self.hidden_layer_sizes),
        }

    def _choose_terms(self, data: TrainingData) -> Sets:
        from skinterp.additive._insta_shap_select import choose_terms

        return choose_terms(
            data,
            self._columns_,
            self._used_,
            self._law(),
            int(self.order),
            int(self.max_interactions),
            self._loss,
            int(self.max_epochs),
        )

    def _term_columns(self) -> Sets:
        """Columns of each term."""
        return [tuple(j for p in t for j in self._columns_[p]) for t in self.terms_]

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.additive._insta_shap_module import ShapeNetworks

        return ShapeNetworks(config)

    def _initialise(self, module: Any, data: TrainingData) -> None:
        module.place_kinks(data.X, data.generator)
        module.intercept.copy_(self._first_intercept(data))

    def _first_intercept(self, data: TrainingData) -> Tensor:
        """Best output when nothing is present."""
        table = self._target_table(data.target)
        if data.weight is not None:
            table = table * data.weight[:, None]
        return self._constant_output(table.mean(dim=0))

    def _constant_output(self, share: Tensor) -> Tensor:
        """Best constant output for a mean of the target."""
        return share

    def _decision_offset(self) -> float:
        """What the decision function adds to the sum of the terms."""
        return 0.0

    # -- masked training --------------------------------------------------------------
    def _target_table(self, target: Tensor) -> Tensor:
        """Target as one column per output."""
        return target

    def _squared(self) -> bool:
        """Whether the loss is the squared error, which has a closed form over masks."""
        return True

    def _full_share(self, epoch: int, max_epochs: int) -> float:
        """Probability that nothing is masked, which grows during the training."""
        start, end = check_schedule(self.unmask_schedule)
        done = epoch / max_epochs
        ramp = float(done >= end) if end == start else (done - start) / (end - start)
        return self.max_unmasked * min(max(ramp, 0.0), 1.0)

    def _training_loss(self, module: Any, batch: Batch) -> Tensor:
        full = self._full_share(batch.epoch, batch.max_epochs)
        loss = self._masked_loss(module, batch, full)
        return loss + self.l1 * module.size() if self.l1 else loss

    def _validation_loss(self, module: Any, batch: Batch) -> Tensor:
        # that of the last epochs: epochs must be comparable
        return self._masked_loss(module, batch, self.max_unmasked)

    def _masked_loss(self, module: Any, batch: Batch, full: float) -> Tensor:
        parts = module.switched_parts(*batch.inputs)
        if self.background == "marginal":  # rows are masked already
            output = parts.sum(dim=0).T + module.intercept
            return batch.mean(self._loss(output, batch.target))
        exact = self._squared() and len(parts) <= _MOST_EXACT
        if exact and self.masks_per_row == "auto":
            rest = self._target_table(batch.target) - module.intercept
            return batch.mean(self._expected_loss(module)(rest.T, parts, full))
        return self._sampled_loss(module, parts, batch, full)

    def _expected_loss(self, module: Any) -> Any:
        made = getattr(module, "expected_loss", None)
        if made is None:
            like = module.intercept.detach()
            made = ExpectedLoss(self.terms_, self._law(), like)
            module.expected_loss = made
        return made

    def _sampled_loss(
        self, module: Any, parts: Tensor, batch: Batch, full: float
    ) -> Tensor:
        """Mean over several masks per row: the networks are evaluated only once."""
        import torch

        draws = _DRAWS if self.masks_per_row == "auto" else int(self.masks_per_row)
        law, n = self._law(), len(batch.target)
        assert batch.generator is not None
        masks = draw_masks(law, draws * n, batch.generator)
        if full > 0:
            masks |= torch.rand(draws * n, 1, generator=batch.generator) < full
        on = module.switch(masks.to(parts)).reshape(len(parts), draws, n)
        output = torch.einsum("tkn,trn->rnk", parts, on) + module.intercept
        losses = [self._loss(one, batch.target) for one in output]
        return batch.mean(torch.stack(losses).mean(dim=0))

    def _after_training(self, module: Any, data: TrainingData) -> None:
        self.masked_r2_ = masked_scores(self, module, data)

    # -- what the fitted model holds --------------------------------------------------
    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        from skinterp.additive._insta_shap_explain import describe_columns

        if self.background == "marginal":  # the rows that were not masked
            whole = ~np.isnan(X).any(axis=1)
            X = X[whole]
            sample_weight = None if sample_weight is None else sample_weight[whole]
        offset, scale = self._output_scale()
        centre = self.weights_["intercept"].astype(np.float64)
        intercept = centre * scale + offset
        self.intercept_ = float(intercept[0]) if len(scale) == 1 else intercept
        parts = self._components(X)
        w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        w = w / w.sum()
        mean = np.tensordot(w, parts, axes=1)
        spread = np.tensordot(w, (parts - mean) ** 2, axes=1)
        self.term_importances_ = np.sqrt(spread)
        phi = np.abs(self._shapley_values(X))
        self.feature_importances_ = np.average(phi, axis=0, weights=sample_weight)
        self._drawn_ = describe_columns(X)

    def _output_scale(self) -> tuple[Float, Float]:
        """Offset and scale from the outputs of the network to what is predicted."""
        n = self.module_config_["n_outputs"]
        offset = getattr(self, "target_mean_", np.zeros(n))
        return offset, getattr(self, "target_scale_", np.ones(n))

    def _shares(self, X: Any, shares: Float) -> Float:
        """Weighted sums of the terms for validated X, in units of the prediction."""
        import torch

        def call(module: Any, x: Tensor, present: Tensor) -> Tensor:
            parts = module.switched_parts(x, present)
            matrix = parts.new_tensor(shares.T)
            return torch.tensordot(matrix, parts, dims=1).permute(2, 0, 1)

        _, scale = self._output_scale()
        values = self._evaluate(X, call, batch_size=_CHUNK) * scale
        return np.asarray(values[:, :, 0] if len(scale) == 1 else values)

    def _components(self, X: Any) -> Float:
        def call(module: Any, x: Tensor, present: Tensor) -> Tensor:
            return module.switched_parts(x, present).permute(2, 0, 1)

        _, scale = self._output_scale()
        values = self._evaluate(X, call, batch_size=_CHUNK) * scale
        return np.asarray(values[:, :, 0] if len(scale) == 1 else values)

    def _raw_outputs(self, X: Any) -> Float:
        outputs = self._evaluate(X, batch_size=_CHUNK)
        return np.asarray(outputs, dtype=np.float64)

    def components(self, X: Any) -> Float:
        """Value of each term for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; a term is zero where one of its players is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_outputs)
            Sums to the prediction (of classes: to the logits), less ``intercept_``.
        """
        check_is_fitted(self)
        return self._components(self._validate_X(X))

    def shapley_values(self, X: Any) -> Float:
        """Shapley values of the players for each row, without any sampling.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; a player that is missing gets zero.

        Returns
        -------
        ndarray of shape (n_samples, n_players) or (n_samples, n_players, n_outputs)
            Exactly those of the game ``predict_masked``; their sum over players is that
            of the components.
        """
        check_is_fitted(self)
        return self._shapley_values(self._validate_X(X))

    def _shapley_values(self, X: Any) -> Float:
        shares = shapley_shares(self.terms_, len(self.players_))
        return self._shares(X, shares)

    def interaction_values(self, X: Any, order: int = 2) -> tuple[Float, Sets]:
        """Shapley-Taylor interaction values for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        order : int, default=2
            Largest set of players. 1 gives the Shapley values; at the order of the
            model or above the values are its terms.

        Returns
        -------
        values : ndarray of shape (n_samples, n_sets) or (n_samples, n_sets, n_outputs)
            Sums to the prediction, less ``intercept_``. Terms of more than ``order``
            players are divided equally among their subsets of so many.
        sets : list of tuple of int
            The players of each column of ``values``.

        Raises
        ------
        ValueError
            If order is not an integer of at least 1.
        """
        check_is_fitted(self)
        wrong = isinstance(order, bool) or not isinstance(order, int | np.integer)
        if wrong or order < 1:
            msg = f"order={order!r} must be an integer of at least 1"
            raise ValueError(msg)
        sets, shares = taylor_shares(self.terms_, int(order))
        return self._shares(self._validate_X(X), shares), sets

    def predict_masked(self, X: Any, mask: Any) -> Float:
        """Predict from some of the players: the game behind the Shapley values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        mask : array-like of bool of shape (n_samples, n_players) or (n_players,)
            Which players are present, in the order of ``players_``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Intercept plus the terms whose players are all present; on the scale of
            ``components``.

        Raises
        ------
        ValueError
            If mask is not boolean or of another shape.
        """
        check_is_fitted(self)
        X = self._validate_X(X)
        mask = np.asarray(mask)
        n = len(self.players_)
        if mask.dtype != bool or mask.shape not in ((n,), (len(X), n)):
            msg = (
                f"mask must be boolean of shape ({n},) or ({len(X)}, {n}), one column "
                f"per player; got {mask.dtype} of shape {mask.shape}"
            )
            raise ValueError(msg)
        X, absent = X.copy(), ~np.broadcast_to(mask, (len(X), n))
        for player, columns in enumerate(self._columns_):
            cells = np.ix_(absent[:, player], np.array(columns))
            X[cells] = np.nan
        offset, scale = self._output_scale()
        outputs = self._raw_outputs(X) * scale + offset
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    # -- explanations -----------------------------------------------------------------
    def _explain(self, X: Any, *, kind: str) -> Explanation:
        if X is None:
            return explain_model(self, kind)
        return explain_rows(self, X, kind)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        small = {"hidden_layer_sizes": (8, 4), "max_epochs": 5, "max_interactions": 0}
        return [{**small, "batch_size": 16, "lr": 0.03}]
