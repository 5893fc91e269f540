"""ANOVA-TPNN: additive networks whose terms are identifiable by construction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skinterp.additive._anova_tpnn_core import CONSTRAINTS, AdditiveNetwork
from skinterp.neural import NeuralClassifier, NeuralRegressor

__all__ = ["ANOVATPNNClassifier", "ANOVATPNNRegressor"]


class ANOVATPNNRegressor(AdditiveNetwork, NeuralRegressor):
    r"""Additive network of curves and surfaces that are the same in every refit.

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
    max_interactions : int, default=50
        Number of pairs that "auto" takes at most. None sets no limit.
    n_bases : int or "auto", default="auto"
        By gradients, products of logistic functions per term and member; "auto" takes
        16. By exact solution, logistic functions per feature, of which surfaces take
        all products; "auto" takes up to 64.
    n_members : int, default=16
        By gradients, number of networks that are trained side by side, from other
        starts, and averaged term by term.
    subsample : float in (0, 1], default=0.6
        Share of the training rows that each member sees.
    init_tau_scale : float or "mixed", default="mixed"
        Width of the logistic functions at the start, in ranges of the feature. "mixed"
        spreads them from 1/64 to 1, so that both smooth and bumpy functions are found.
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
    term_penalty : float, default=200.0
        How strongly coefficients are pulled to zero: as by so many rows, as noisy as
        the loss that is left, that say zero; and ten times as strongly per further
        feature of a term.
    solver : {"auto", "exact", "gradient"}, default="auto"
        "exact" fixes the logistic functions, up to 64 per feature, and solves for all
        coefficients at once by ridge regression, for classes by Newton steps. How
        strong the ridge is for each term, the marginal likelihood of up to 2000 rows
        says, so that terms without use vanish. It goes with neither ``monotone``,
        ``component_penalty``, ``shared_basis``, ``callbacks``, ``warm_start``,
        ``partial_fit`` nor terms of over two features, and ignores what concerns
        members, epochs and rates. "gradient" trains logistic functions too. "auto" is
        exact wherever that goes.
    batch_size : int or "auto", default="auto"
        Rows per step. "auto" takes an eighth of the rows, from 16 to 512.
    max_epochs, lr, optimizer, scheduler, validation_fraction : object
        As in `skinterp.neural.NeuralEstimator`, with other defaults.
    patience, callbacks, device, verbose, warm_start, random_state : object
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
        f_S(x) = \sum_k \beta_{Sk} \prod_{j \in S}
        \left(1 - \sigma((x_j - t_{Skj}) / \tau_{Skj}) / m_{Skj}\right),

    m being the mean of the logistic function over the training rows [1]_. Deviations
    from the paper: there is an intercept; m is that of all training rows during the
    training too, on at most 256 points per feature (64 for pairs), to which cells are
    rounded until the training is over; coefficients are those of functions scaled to
    unit variance; several outputs and classes share their logistic functions.

    An exact solution costs O(terms x 2000^2 + 2000^3) for the variances and a few dozen
    steps of O(n x terms). A step by gradients costs O(terms x bases x points) for
    curves, times points for pairs, plus one look-up per row and term. A prediction
    costs O(n x terms x bases). With correlated features the variances of terms do not
    add up to that of the prediction.

    References
    ----------
    .. [1] Park et al., Tensor Product Neural Networks for Functional ANOVA Model,
       ICML 2025, arXiv:2502.15215.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.additive import ANOVATPNNRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 3))
    >>> y = X[:, 0] + X[:, 1] * X[:, 2]
    >>> model = ANOVATPNNRegressor(random_state=0).fit(X, y)
    >>> model.terms_[:4]
    [(0,), (1,), (2,), (1, 2)]
    >>> parts = model.components(X)
    >>> np.allclose(model.intercept_ + parts.sum(axis=1), model.predict(X))
    True
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
        max_interactions: int | None = 50,
        n_bases: Any = "auto",
        n_members: int = 16,
        subsample: float = 0.6,
        init_tau_scale: Any = "mixed",
        shared_basis: bool = False,
        monotone: Any = None,
        input_transform: str | None = "quantile",
        component_penalty: float = 0.0,
        term_penalty: float = 200.0,
        solver: str = "auto",
        max_epochs: int = 60,
        batch_size: Any = "auto",
        lr: float = 0.05,
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
        self.solver = solver

    def _codes_of(self, y: Any) -> tuple[int, Any]:
        return 0, y


class ANOVATPNNClassifier(AdditiveNetwork, NeuralClassifier):
    """Additive network for labels, of curves and surfaces alike in every refit.

    The log-odds, or the logit of each class, are an intercept plus a curve per feature
    plus surfaces of pairs; see `ANOVATPNNRegressor` for how their terms are made
    identifiable. The classes share the logistic functions and have coefficients of
    their own.

    Parameters
    ----------
    order, interactions, max_interactions, n_bases, n_members, subsample, \
init_tau_scale, shared_basis, monotone, input_transform, component_penalty, \
term_penalty, solver : object
        As in `ANOVATPNNRegressor`. ``monotone`` is for two classes only, in favour of
        the second.
    batch_size : int or "auto", default="auto"
        Rows per step. "auto" takes an eighth of the rows, from 16 to 512.
    max_epochs, lr, optimizer, scheduler, validation_fraction : object
        As in `skinterp.neural.NeuralEstimator`, with other defaults.
    patience, callbacks, device, verbose, warm_start, random_state : object
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
       ICML 2025, arXiv:2502.15215.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skinterp.additive import ANOVATPNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ANOVATPNNClassifier(order=1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> model.explain().output
    'decision_function'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        order: int = 2,
        interactions: Any = "auto",
        max_interactions: int | None = 50,
        n_bases: Any = "auto",
        n_members: int = 16,
        subsample: float = 0.6,
        init_tau_scale: Any = "mixed",
        shared_basis: bool = False,
        monotone: Any = None,
        input_transform: str | None = "quantile",
        component_penalty: float = 0.0,
        term_penalty: float = 200.0,
        solver: str = "auto",
        max_epochs: int = 60,
        batch_size: Any = "auto",
        lr: float = 0.05,
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
        self.solver = solver

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
