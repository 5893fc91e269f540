"""ANOVA-TPNN: additive networks whose terms are identifiable by construction."""

from __future__ import annotations

from collections.abc import Mapping
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
from skinterp.additive._anova_tpnn_terms import (
    check_monotone,
    check_terms,
    constant_columns,
    make_grid,
    rank_pairs,
)
from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import Integral, Interval, Real, StrOptions, check_is_fitted
from skinterp.neural import NeuralClassifier, NeuralRegressor

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from skinterp.explanation import Explanation
    from skinterp.neural import Batch, TrainingData

__all__ = ["ANOVATPNNClassifier", "ANOVATPNNRegressor"]

# Points per column on which terms of one feature, and of two, are trained.
_FINE, _COARSE = 256, 64
_COUNT = Interval(Integral, 1, None, closed="left")
_WEIGHT = Interval(Real, 0, None, closed="left")
_CONSTRAINTS: dict[str, list[Any]] = {
    "order": [Interval(Integral, 1, 4, closed="both")],
    "interactions": [StrOptions({"auto", "all"}), list, tuple],
    "max_interactions": [Interval(Integral, 0, None, closed="left"), None],
    "n_bases": [_COUNT],
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
}


class _ANOVATPNN(ExplainableMixin):
    """What the classifier and the regressor share."""

    explains: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "global": ("shape-functions",),
        "local": ("shape-functions", "attribution"),
    }

    # -- the terms and the module -----------------------------------------------------
    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        names = feature_names_of(self)
        signs = check_monotone(self.monotone, names)
        fixed = check_terms(self.interactions, self.order, X.shape[1], signs)
        flat = constant_columns(X, names)
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

    def _choose_pairs(
        self, Z: Any, y: Any, weight: Any, used: list[int], signs: Any
    ) -> list[tuple[int, ...]]:
        if self.order == 1:
            return []
        free = [j for j in used if j not in signs]
        if self.interactions == "all":
            return [(i, j) for a, i in enumerate(free) for j in free[a + 1 :]]
        limit = self.max_interactions
        limit = 2 * len(used) if limit is None else limit
        n_classes, target = self._codes_of(y)
        return rank_pairs(Z, target, weight, n_classes, free)[:limit]

    def _transform_inputs(self, X: Any) -> Any:
        return apply_scaler(self._transform_, self._scaler_, X)

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        signs = np.zeros(data.n_features)
        for j, sign in check_monotone(self.monotone, feature_names_of(self)).items():
            signs[j] = sign
        return {
            "terms": tuple(self.terms_),
            "n_bases": int(self.n_bases),
            "n_members": int(self.n_members),
            "n_outputs": data.n_outputs,
            "fine": self._fine_,
            "coarse": self._coarse_,
            "shared_basis": bool(self.shared_basis),
            "signs": signs,
        }

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.additive._anova_tpnn_module import TensorProductNet

        return TensorProductNet(config)

    def _initialise(self, module: Module, data: TrainingData) -> None:
        module.start(data.X, data.generator, self.init_tau_scale)
        if data.n_classes:
            module.start_intercept(data.target, data.weight, data.n_classes)

    # -- the training -----------------------------------------------------------------
    def _training_loss(self, module: Module, batch: Batch) -> Tensor:
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
            loss = loss + self.term_penalty * module.norm()
        if self.component_penalty:
            loss = loss + self.component_penalty * module.mean_square(X)
        return loss

    def _validation_loss(self, module: Module, batch: Batch) -> Tensor:
        output = module.binned(batch.inputs[0]).mean(1)
        return batch.mean(self._loss(output, batch.target))

    @staticmethod
    def _stack(losses: list[Tensor]) -> Tensor:
        import torch

        return torch.stack(losses, dim=1)

    def _optimizer_options(self) -> dict[str, Any]:
        return {"betas": (0.9, 0.99)} if self.optimizer in ("adam", "adamw") else {}

    def _end_of_epoch(self, module: Module, data: TrainingData, epoch: int) -> None:
        module.confine()

    def _after_training(self, module: Module, data: TrainingData) -> None:
        module.confine()
        module.set_constants(data.X, data.weight)

    # -- what is known after the training ---------------------------------------------
    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        parts = self._components(X)
        mean = np.average(parts, axis=0, weights=sample_weight)
        variance = np.average((parts - mean) ** 2, axis=0, weights=sample_weight)
        self.term_importances_ = np.sqrt(variance)
        total = variance.sum(axis=0)
        self.sobol_ = variance / np.where(total > 0, total, 1.0)
        intercept = self._in_units(self.weights_["intercept"], shift=True)
        self.intercept_ = float(intercept) if intercept.ndim == 0 else intercept
        columns = range(X.shape[1])
        self._points_ = tuple(points_to_draw(X[:, j]) for j in columns)
        self._density_ = tuple(density_of(X[:, j]) for j in columns)

    def _components(self, X: Any) -> NDArray[np.float64]:
        """Terms for validated rows, of shape (n, n_terms) or (n, n_terms, n_outputs)."""
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
        return self._in_units(module.surface(tuple(term), axes).cpu().numpy())

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

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        cheap = {"max_epochs": 4, "n_bases": 4, "lr": 0.05}
        return [{**cheap, "max_interactions": 2}]


_PARAMETERS = """Parameters"""


class ANOVATPNNRegressor(_ANOVATPNN, NeuralRegressor):
    """Additive network of curves and surfaces that are the same in every refit.

    The prediction is an intercept plus a curve per feature plus surfaces of pairs of
    features, each a sum of products of logistic functions that average to zero over
    each of their features. Hence a surface cannot hide a curve, and the terms are
    determined by the function alone: no purification afterwards.

    Parameters
    ----------
    order : int, default=2
        Largest number of features in a term: 1 for curves alone. Terms of three or
        four features have to be listed in ``interactions``.
    interactions : {"auto", "all"} or list of tuple of int, default="auto"
        Terms of several features. "auto" takes the pairs that explain most of what
        curves leave, found by step functions on 16 x 16 cells; "all" takes all pairs.
    max_interactions : int, default=None
        Number of pairs that "auto" takes. None takes twice as many as features.
    n_bases : int, default=16
        Products of logistic functions per term and member.
    n_members : int, default=8
        Number of networks that are trained side by side, from other starts, and
        averaged term by term, so that there is one curve or surface per term.
    subsample : float in (0, 1], default=0.8
        Share of the training rows that each member sees.
    init_tau_scale : float or "mixed", default="mixed"
        Width of the logistic functions at the start, in ranges of the feature. "mixed"
        spreads them from 1/16 to 1, so that both smooth and bumpy functions are found.
    shared_basis : bool, default=False
        Whether all terms of one order use the same logistic functions, with
        coefficients of their own: fewer parameters for wide tables.
    monotone : dict of {int or str: {-1, 1}}, default=None
        Features, by position or name, whose curve must rise (1) or fall (-1). They
        are left out of pairs.
    input_transform : {"quantile", "standard"} or None, default="quantile"
        What is done to features first: map ranks to [-1, 1], standardise, or nothing.
    component_penalty : float, default=0.0
        Weight of the mean over terms of their squared norms in the loss.
    term_penalty : float, default=0.01
        Weight of the sum over terms of the norms of their coefficients in the loss,
        which takes needless terms to zero.
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction, patience, \
callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    terms_ : list of tuple of int
        Features of each term.
    intercept_ : float or ndarray of shape (n_outputs,)
        Mean of the prediction, if features were independent.
    term_importances_ : ndarray of shape (n_terms,) or (n_terms, n_outputs)
        Standard deviation of each term over the training rows, in units of y.
    sobol_ : ndarray of shape (n_terms,) or (n_terms, n_outputs)
        Variance of each term over the sum of these: the Sobol indices where features
        are independent.

    See Also
    --------
    ANOVATPNNClassifier : The same for labels.
    stability_score : How much terms differ between refits.

    Notes
    -----
    With sigma the logistic function, term S is

    .. math::
        f_S(x) = \\sum_k \\beta_{Sk} \\prod_{j \\in S}
        \\left(1 - \\sigma((x_j - t_{Skj}) / \\tau_{Skj}) / m_{Skj}\\right),

    m being the mean of the logistic function over the training rows [1]_. Deviations
    from the paper: there is an intercept; m is that of all training rows during the
    training too, on at most 256 points per feature (64 for pairs), to which cells are
    rounded until the training is over; coefficients are those of functions scaled to
    unit variance; several outputs and classes share their logistic functions.

    A step costs O(terms x bases x points) for curves, times points for pairs, plus one
    look-up per row and term: hardly more for large batches. A prediction costs
    O(n x terms x bases). With correlated features the variances of terms do not add up
    to that of the prediction.

    References
    ----------
    .. [1] Park et al., Tensor Product Neural Networks for Functional ANOVA Model,
       ICML 2025, :arxiv:`2502.15215`.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.additive import ANOVATPNNRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 3))
    >>> y = X[:, 0] + X[:, 1] * X[:, 2]
    >>> model = ANOVATPNNRegressor(max_epochs=30, random_state=0).fit(X, y)
    >>> model.terms_[:4]
    [(0,), (1,), (2,), (1, 2)]
    >>> parts = model.components(X)
    >>> np.allclose(model.intercept_ + parts.sum(axis=1), model.predict(X))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRegressor._parameter_constraints,
        **_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        order: int = 2,
        interactions: Any = "auto",
        max_interactions: int | None = None,
        n_bases: int = 16,
        n_members: int = 8,
        subsample: float = 0.8,
        init_tau_scale: Any = "mixed",
        shared_basis: bool = False,
        monotone: Any = None,
        input_transform: str | None = "quantile",
        component_penalty: float = 0.0,
        term_penalty: float = 0.01,
        max_epochs: int = 100,
        batch_size: int = 256,
        lr: float = 0.02,
        optimizer: Any = "adam",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.1,
        patience: int | None = None,
        callbacks: Any = None,
        device: str = "auto",
        verbose: int = 0,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            max_epochs=max_epochs,
            batch_size=batch_size,
            lr=lr,
            optimizer=optimizer,
            scheduler=scheduler,
            validation_fraction=validation_fraction,
            patience=patience,
            callbacks=callbacks,
            device=device,
            verbose=verbose,
            warm_start=warm_start,
            random_state=random_state,
        )
        self.order = order
        self.interactions = interactions
        self.max_interactions = max_interactions
        self.n_bases = n_bases
        self.n_members = n_members
        self.subsample = subsample
        self.init_tau_scale = init_tau_scale
        self.shared_basis = shared_basis
        self.monotone = monotone
        self.input_transform = input_transform
        self.component_penalty = component_penalty
        self.term_penalty = term_penalty

    def _codes_of(self, y: Any) -> tuple[int, Any]:
        return 0, y


class ANOVATPNNClassifier(_ANOVATPNN, NeuralClassifier):
    """Additive network for labels, of curves and surfaces alike in every refit.

    The log-odds, or the logit of each class, are an intercept plus a curve per feature
    plus surfaces of pairs; see `ANOVATPNNRegressor` for how their terms are made
    identifiable. The classes share the logistic functions and have coefficients of
    their own.

    Parameters
    ----------
    order, interactions, max_interactions, n_bases, n_members, subsample, \
init_tau_scale, shared_basis, monotone, input_transform, component_penalty, term_penalty : object
        As in `ANOVATPNNRegressor`. ``monotone`` is for two classes only, in favour of
        the second.
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction, patience, \
callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    terms_ : list of tuple of int
        Features of each term.
    intercept_ : float or ndarray of shape (n_classes,)
        Mean of the logits, if features were independent.
    term_importances_ : ndarray of shape (n_terms,) or (n_terms, n_classes)
        Standard deviation of each term over the training rows, in logits.
    sobol_ : ndarray of shape (n_terms,) or (n_terms, n_classes)
        Variance of each term over the sum of these.

    See Also
    --------
    ANOVATPNNRegressor : The same for numbers, with the equations.
    stability_score : How much terms differ between refits.

    References
    ----------
    .. [1] Park et al., Tensor Product Neural Networks for Functional ANOVA Model,
       ICML 2025, :arxiv:`2502.15215`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skinterp.additive import ANOVATPNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ANOVATPNNClassifier(order=1, max_epochs=30, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> model.explain().output
    'decision_function'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        order: int = 2,
        interactions: Any = "auto",
        max_interactions: int | None = None,
        n_bases: int = 16,
        n_members: int = 8,
        subsample: float = 0.8,
        init_tau_scale: Any = "mixed",
        shared_basis: bool = False,
        monotone: Any = None,
        input_transform: str | None = "quantile",
        component_penalty: float = 0.0,
        term_penalty: float = 0.01,
        max_epochs: int = 100,
        batch_size: int = 256,
        lr: float = 0.02,
        optimizer: Any = "adam",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.1,
        patience: int | None = None,
        callbacks: Any = None,
        device: str = "auto",
        verbose: int = 0,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            max_epochs=max_epochs,
            batch_size=batch_size,
            lr=lr,
            optimizer=optimizer,
            scheduler=scheduler,
            validation_fraction=validation_fraction,
            patience=patience,
            callbacks=callbacks,
            device=device,
            verbose=verbose,
            warm_start=warm_start,
            random_state=random_state,
        )
        self.order = order
        self.interactions = interactions
        self.max_interactions = max_interactions
        self.n_bases = n_bases
        self.n_members = n_members
        self.subsample = subsample
        self.init_tau_scale = init_tau_scale
        self.shared_basis = shared_basis
        self.monotone = monotone
        self.input_transform = input_transform
        self.component_penalty = component_penalty
        self.term_penalty = term_penalty

    def _codes_of(self, y: Any) -> tuple[int, Any]:
        return len(self.classes_), np.searchsorted(self.classes_, y)

    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self.monotone and len(self.classes_) > 2:
            msg = (
                f"monotone={self.monotone!r} is for two classes, y has "
                f"{len(self.classes_)}: what rises for one falls for another"
            )
            raise ValueError(msg)
        super()._fit_inputs(X, y, sample_weight)
