"""InstaSHAP: additive networks that know the Shapley values of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.additive._insta_shap_core import CONSTRAINTS, InstaSHAP
from skinterp.compat import (
    HasMethods,
    StrOptions,
    check_is_fitted,
    validate_data,
)
from skinterp.neural import NeuralClassifier, NeuralRegressor

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["InstaSHAPClassifier", "InstaSHAPRegressor"]


class InstaSHAPRegressor(InstaSHAP, NeuralRegressor):
    r"""Additive network whose Shapley values are a sum of a few of its terms.

    The prediction is an intercept plus a curve per feature plus surfaces of pairs, each
    a small network. In training random features are absent, and a term counts only
    where all its features are present. So each term becomes the pure effect of its
    features, and dividing the terms among them gives the Shapley values of any row in
    one evaluation. With a ``teacher`` it is these of another model that are learnt.

    Parameters
    ----------
    order : int, default=2
        Largest number of players in a term: 1 for curves alone.
    interactions : {"auto", "all"} or list of tuple, default="auto"
        Terms of several players. "auto" takes those that interact most in a network
        trained on masked rows; "all" takes all up to ``order``; a list names them, by
        position or name, of any size.
    max_interactions : int, default=30
        How many of each size "auto" takes.
    feature_groups : list of list, or dict of {str: list}, default=None
        Columns, by position or name, that are one player, such as the indicators of a
        category. Other columns are players of their own.
    hidden_layer_sizes : sequence of int, default=(32, 24, 16)
        Units of the layers of each term's network.
    mask_distribution : {"uniform_size", "shapley"}, default="uniform_size"
        How many players are present: each number equally likely, or with the weights
        of KernelSHAP. It decides which model is best where terms are left out.
    end_weight : float, default=1.0
        Weight of none and of all players for "shapley", where single inner sets weigh
        ``(n - 1) / (C(n, s) s (n - s))``.
    masks_per_row : int or "auto", default="auto"
        Masks drawn per row and step. "auto" averages the squared error over all masks
        in closed form, and takes 4 draws for the cross entropy or beyond 1,000 terms.
        With a marginal background, copies of each row; 8 for "auto".
    unmask_schedule : tuple of float, default=(1/3, 2/3)
        Shares of the epochs where rows without masks begin to come, and where their
        share stops to grow.
    max_unmasked : float in [0, 1], default=0.5
        Share of rows without masks at the end. More predicts better, less keeps terms
        pure.
    l1 : float, default=5e-5
        Penalty on absolute weights, counted per unit.
    teacher : estimator, default=None
        A fitted model to learn from in place of y, which may then be None. Wrap it in
        ``sklearn.frozen.FrozenEstimator`` where the estimator is cloned, as searches
        do.
    background : {"conditional", "marginal"}, default="conditional"
        What an absent feature means: its distribution given those present, or that of
        the whole table whatever is present, which needs a teacher and, in ``fit``,
        rows without missing cells.
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction : object
        As in `skinterp.neural.NeuralEstimator`, with other defaults.
    patience, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    players_ : tuple of str
        Names of the players: columns, or groups of columns.
    terms_ : list of tuple of int
        Players of each term.
    intercept_ : float or ndarray of shape (n_outputs,)
        Prediction when nothing is known, about the mean of y.
    term_importances_ : ndarray of shape (n_terms,) or (n_terms, n_outputs)
        Standard deviation of each term over the training rows, in units of y.
    feature_importances_ : ndarray of shape (n_players,) or (n_players, n_outputs)
        Mean absolute Shapley value over the training rows.
    masked_r2_ : dict of int to float
        R2 on validation rows by how many players are present, chosen at random (with a
        marginal background: were present). This, not the score, shows how well the
        values explain.

    See Also
    --------
    InstaSHAPClassifier : The same for labels.
    ANOVATPNNRegressor : Terms that are identifiable whatever the features' dependence.

    Notes
    -----
    With S the present players, the model is ``G(x, S) = c + sum_{T in S} f_T(x_T)``,
    and what is minimised is the mean of ``(y - G(x, S))^2`` over rows and random S.
    The minimiser among all terms is E[y | x_S], hence f_T are the Harsanyi dividends of
    that game and the Shapley value of player i is ``sum_{T with i} f_T / |T|`` [1]_.
    Whatever was learnt, these are exactly the Shapley values of ``predict_masked``.

    A missing cell, NaN, is an absent player, in training and in prediction; a row
    without any cell is predicted by the intercept.

    Deviations from the paper: the mean over masks is computed in closed form, as the
    chance that the players of T are all present depends on their number only; masks are
    of single rows, not of batches; constants belong to terms and are switched with
    them; Adam in place of Adagrad; at most half of the rows are unmasked at the end.

    A step costs O(batch * terms * (units^2 + terms)), an explanation O(n * terms *
    units^2), as a prediction does.

    References
    ----------
    .. [1] Enouen, J., Liu, Y. (2025). "InstaSHAP: Interpretable Additive Models Explain
       Shapley Values Instantly". ICLR. arXiv:2502.14177.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.additive import InstaSHAPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = 2 * X[:, 0] - X[:, 1]
    >>> model = InstaSHAPRegressor(max_epochs=30, random_state=0).fit(X, y)
    >>> phi = model.shapley_values(X)
    >>> np.allclose(model.intercept_ + phi.sum(axis=1), model.predict(X))
    True
    >>> bool(np.abs(phi - X * [2, -1]).mean() < 0.2)
    True
    >>> model.predict([[np.nan, np.nan]]) == model.intercept_
    array([ True])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRegressor._parameter_constraints,
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        order: int = 2,
        interactions: Any = "auto",
        max_interactions: int = 30,
        feature_groups: Any = None,
        hidden_layer_sizes: Sequence[int] = (32, 24, 16),
        mask_distribution: str = "uniform_size",
        end_weight: float = 1.0,
        masks_per_row: Any = "auto",
        unmask_schedule: Sequence[float] = (1 / 3, 2 / 3),
        max_unmasked: float = 0.5,
        l1: float = 5e-5,
        teacher: Any = None,
        background: str = "conditional",
        max_epochs: int = 100,
        batch_size: int = 256,
        lr: float = 3e-3,
        optimizer: Any = "adam",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.2,
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
        self.feature_groups = feature_groups
        self.hidden_layer_sizes = hidden_layer_sizes
        self.mask_distribution = mask_distribution
        self.end_weight = end_weight
        self.masks_per_row = masks_per_row
        self.unmask_schedule = unmask_schedule
        self.max_unmasked = max_unmasked
        self.l1 = l1
        self.teacher = teacher
        self.background = background


class InstaSHAPClassifier(InstaSHAP, NeuralClassifier):
    """Additive network for labels whose Shapley values are a sum of its terms.

    The log-odds, or the logit of each class, are an intercept plus curves plus
    surfaces, trained with random features absent; see `InstaSHAPRegressor`.

    Parameters
    ----------
    order, interactions, max_interactions, feature_groups, hidden_layer_sizes, \
mask_distribution, end_weight, masks_per_row, unmask_schedule, max_unmasked, l1, \
background : object
        As in `InstaSHAPRegressor`.
    loss : {"log_loss", "brier"}, default="log_loss"
        Cross entropy of the logits, or squared error of the probabilities. What a fit
        began with, ``warm_start`` and ``partial_fit`` go on with. With "brier"
        the terms sum to probabilities, and are exactly the pure effects on them; sums
        beyond [0, 1] are clipped in ``predict_proba``.
    teacher : classifier, default=None
        A fitted classifier whose ``predict_proba`` is learnt in place of y.
    max_epochs, batch_size, lr, optimizer, scheduler, validation_fraction : object
        As in `skinterp.neural.NeuralEstimator`, with other defaults.
    patience, callbacks, device, verbose, warm_start, random_state : object
        As in `skinterp.neural.NeuralEstimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    players_ : tuple of str
        Names of the players: columns, or groups of columns.
    terms_ : list of tuple of int
        Players of each term.
    intercept_ : float or ndarray of shape (n_classes,)
        Log-odds, logits or (with "brier") probabilities when nothing is known.
    term_importances_ : ndarray of shape (n_terms,) or (n_terms, n_classes)
        Standard deviation of each term over the training rows.
    feature_importances_ : ndarray of shape (n_players,) or (n_players, n_classes)
        Mean absolute Shapley value over the training rows.
    masked_r2_ : dict of int to float
        Share of the loss explained on validation rows, by how many players are
        present; for the cross entropy the share of the deviance.

    See Also
    --------
    InstaSHAPRegressor : The same for numbers, with the equations.

    Notes
    -----
    For "log_loss" the values are exactly the Shapley values of the model's own masked
    log-odds, which are close to, but not the same as, those of the log-odds of
    P(y | x_S) if terms of high order are left out. ``decision_function`` of two classes
    is, with "brier", the probability of the second less one half.

    References
    ----------
    .. [1] Enouen, J., Liu, Y. (2025). "InstaSHAP: Interpretable Additive Models Explain
       Shapley Values Instantly". ICLR. arXiv:2502.14177.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skinterp.additive import InstaSHAPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = InstaSHAPClassifier(max_epochs=60, batch_size=16, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> model.explain(X).values.shape
    (150, 4, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **CONSTRAINTS,
        "loss": [StrOptions({"log_loss", "brier"})],
        "teacher": [HasMethods(["predict", "predict_proba"]), None],
    }

    def __init__(
        self,
        *,
        order: int = 2,
        interactions: Any = "auto",
        max_interactions: int = 30,
        feature_groups: Any = None,
        hidden_layer_sizes: Sequence[int] = (32, 24, 16),
        loss: str = "log_loss",
        mask_distribution: str = "uniform_size",
        end_weight: float = 1.0,
        masks_per_row: Any = "auto",
        unmask_schedule: Sequence[float] = (1 / 3, 2 / 3),
        max_unmasked: float = 0.5,
        l1: float = 5e-5,
        teacher: Any = None,
        background: str = "conditional",
        max_epochs: int = 100,
        batch_size: int = 256,
        lr: float = 3e-3,
        optimizer: Any = "adam",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.2,
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
        self.feature_groups = feature_groups
        self.hidden_layer_sizes = hidden_layer_sizes
        self.loss = loss
        self.mask_distribution = mask_distribution
        self.end_weight = end_weight
        self.masks_per_row = masks_per_row
        self.unmask_schedule = unmask_schedule
        self.max_unmasked = max_unmasked
        self.l1 = l1
        self.teacher = teacher
        self.background = background

    # -- targets: labels, or the probabilities of a teacher ---------------------------
    def _check_classes(self, classes: Any, *, go_on: bool) -> None:
        if self.teacher is None:  # a teacher brings its own
            super()._check_classes(classes, go_on=go_on)

    def _validate_training(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        if self.teacher is None:
            return super()._validate_training(X, y, reset=reset)
        return validate_data(  # type: ignore[no-any-return]
            self,
            X,
            y,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            multi_output=True,
        )

    def _encode_target(self, y: Any, *, first: bool) -> NDArray[Any]:
        if self.teacher is None:
            return super()._encode_target(y, first=first)
        if not np.array_equal(self.teacher.classes_, self.classes_):
            msg = (
                f"the teacher has the classes {self.teacher.classes_}, the fit before "
                f"had {self.classes_}"
            )
            raise ValueError(msg)
        return np.asarray(y)

    def _transform_target(self, target: NDArray[Any]) -> NDArray[Any]:
        if target.ndim == 1:
            return super()._transform_target(target)
        return target[:, 1:] if target.shape[1] == 2 else target

    def _strata(self, target: NDArray[Any]) -> NDArray[np.int64] | None:
        return target if target.ndim == 1 else target.argmax(axis=1)

    # -- losses -----------------------------------------------------------------------
    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._fit_inputs(X, y, sample_weight)
        self._brier_ = self.loss == "brier"  # for good: set_params may follow

    def _squared(self) -> bool:
        return self._brier_

    def _target_table(self, target: Tensor) -> Tensor:
        from torch.nn import functional

        if target.ndim == 2:
            return target
        n_classes = len(self.classes_)
        return functional.one_hot(target, n_classes).to(self._weight_dtype())

    def _weight_dtype(self) -> Any:
        import torch

        return getattr(torch, self._dtype)

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        if self._brier_:
            return (output - self._target_table(target)).square().mean(dim=1)
        return super()._loss(output, target)

    def _constant_output(self, share: Tensor) -> Tensor:
        """Best constant output for the shares of the classes."""
        if self._brier_:
            return share
        share = share.clamp(1e-6, 1 - 1e-6)
        return share.logit() if len(share) == 1 else share.log()

    def _probabilities(self, outputs: NDArray[Any]) -> NDArray[np.float64]:
        if not self._brier_:
            return super()._probabilities(outputs)
        if outputs.shape[1] == 1:
            second = outputs[:, 0].clip(0, 1)
            return np.column_stack([1 - second, second])
        shares = outputs.clip(1e-12, 1)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms; with "brier" minus infinity where a probability is zero.
        """
        check_is_fitted(self)
        if not self._brier_:
            return super().predict_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _decision_offset(self) -> float:
        two = len(self.classes_) == 2
        return -0.5 if self._brier_ and two else 0.0

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Evaluate the sum of intercept and terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; missing cells are absent.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: log-odds of ``classes_[1]``, or with "brier" its probability
            less one half. More: one logit or probability per class.
        """
        return super().decision_function(X) + self._decision_offset()
