"""Kolmogorov-Arnold networks: each edge a curve with coefficients of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from skinterp.kan._network import FormulaMixin, KANMixin
from skinterp.neural import NeuralClassifier, NeuralRegressor

__all__ = ["KANClassifier", "KANRegressor"]


class KANRegressor(FormulaMixin, KANMixin, NeuralRegressor):
    """Regressor whose network has a curve on each edge.

    A node is the sum of the curves that enter it; a curve is a spline of the value of
    the node where it starts. So the whole network can be drawn and read.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(16,)
        Nodes of the hidden layers; ``()`` has none, which makes an additive model.
    grid_size : int, default=5
        Intervals between the knots of a curve.
    spline_order : int, default=3
        Degree of the splines, 0 to 10.
    base_activation : {"silu", None}, default="silu"
        Function that each edge adds, with a weight of its own, to its spline.
    weight_decay : float, default=1e-4
        Decay of the parameters per step; not used by L-BFGS.
    l1 : float, default=0.0
        Penalty on the standard deviations of the edges' values: makes edges vanish.
    entropy : float, default=0.0
        Penalty on the entropy of these: makes few edges of a layer carry it.
    squash : bool, default=False
        Whether hidden nodes pass on the tanh of their sum, which stays on the grid.
    input_range : tuple of float, default=(-1, 1)
        Range of the grid. Columns are scaled to it by their training rows; beyond a
        tenth of its width, cells are clipped.
    checkpoint : bool, default=False
        Whether to compute the features of a layer again in the backward pass instead
        of keeping them: less memory, about a third more time.
    max_epochs : int, default=200
        Passes over the rows; steps of L-BFGS.
    batch_size : int, default=128
        Rows per step.
    lr : float, default=1e-2
        Learning rate.
    optimizer : {"auto", "adam", "adamw", "sgd", "adagrad", "rmsprop", "lbfgs"} or \
callable, default="auto"
        "auto" tries "lbfgs" on up to 5,000 rows, and "adamw" too where more than a
        hundredth of the variance of the validation rows is left; "lbfgs" is kept if
        its error is less than half. With more rows, or none to validate, "adamw".
    scheduler : {"cosine", "exponential", "plateau"} or LRScheduler, default="cosine"
        Course of the learning rate; none with L-BFGS.
    validation_fraction : float in [0, 1), default=0.1
        Share of the rows kept apart to judge the epochs by.
    patience : int, default=20
        Stop when the validation has not improved for so many epochs.
    callbacks : list of callback or (name, callback), default=None
        Callbacks of skorch.
    device : str, default="auto"
        Where to train.
    verbose : int, default=0
        Whether to show a bar over the epochs.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last weights.
    random_state : int, RandomState instance or None, default=None
        Seeds everything that is drawn.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of the outputs, passed back along the edges.
    edge_importances_ : list of ndarray of shape (n_out, n_in)
        Standard deviation of each edge over the training rows, per layer.
    node_ranges_ : list of ndarray of shape (n_in, 2)
        Lowest and highest value of the nodes where edges start, per layer.
    references_ : ndarray of shape (n_references, n_features_in_)
        Training rows that attributions and formulas are measured on, 256 at most.
    optimizer_ : str
        The optimiser whose training was kept.
    input_ranges_ : ndarray of shape (n_features_in_, 2)
        Lowest and highest value of each column in ``fit``; a warning names columns in
        which later cells are clipped.
    scaler_ : MinMaxScaler
        How columns are scaled to the grid.
    module_ : torch.nn.Module
        The network.
    weights_ : dict of str to ndarray
        Its parameters.
    history_ : dict of str to ndarray
        Losses and learning rate per epoch.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    MetaKANRegressor : The same with far fewer parameters.

    Notes
    -----
    An edge computes ``sum_g c_g B_g(x) + w silu(x)``. One step on n rows costs
    ``O(n * n_edges * (grid_size + spline_order))``.

    References
    ----------
    .. [1] Liu, Z. et al. (2025). "KAN: Kolmogorov-Arnold Networks". ICLR.
       arXiv:2404.19756.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.kan import KANRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> model = KANRegressor(hidden_layer_sizes=(), grid_size=3, random_state=0)
    >>> model.fit(X, np.sin(3 * X[:, 0]) + X[:, 1]).score(X, X[:, 1]) < 0.9
    True
    >>> model.coefficients(0).shape
    (1, 2, 7)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRegressor._parameter_constraints,
        **KANMixin._shared_constraints,
    }

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (16,),
        *,
        grid_size: int = 5,
        spline_order: int = 3,
        base_activation: str | None = "silu",
        weight_decay: float = 1e-4,
        l1: float = 0.0,
        entropy: float = 0.0,
        squash: bool = False,
        input_range: tuple[float, float] = (-1, 1),
        checkpoint: bool = False,
        max_epochs: int = 200,
        batch_size: int = 128,
        lr: float = 1e-2,
        optimizer: Any = "auto",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.1,
        patience: int | None = 20,
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
        self.hidden_layer_sizes = hidden_layer_sizes
        self.grid_size = grid_size
        self.spline_order = spline_order
        self.base_activation = base_activation
        self.weight_decay = weight_decay
        self.l1 = l1
        self.entropy = entropy
        self.squash = squash
        self.input_range = input_range
        self.checkpoint = checkpoint

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        small = {"hidden_layer_sizes": (3,), "grid_size": 3, "max_epochs": 3}
        return [{**small, "lr": 0.05}]


class KANClassifier(KANMixin, NeuralClassifier):
    """Classifier whose network has a curve on each edge.

    A node is the sum of the curves that enter it; a curve is a spline of the value of
    the node where it starts. So the whole network can be drawn and read.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(16,)
        Nodes of the hidden layers; ``()`` has none, which makes an additive model.
    grid_size : int, default=5
        Intervals between the knots of a curve.
    spline_order : int, default=3
        Degree of the splines, 0 to 10.
    base_activation : {"silu", None}, default="silu"
        Function that each edge adds, with a weight of its own, to its spline.
    weight_decay : float, default=1e-4
        Decay of the parameters per step; not used by L-BFGS.
    l1 : float, default=0.0
        Penalty on the standard deviations of the edges' values: makes edges vanish.
    entropy : float, default=0.0
        Penalty on the entropy of these: makes few edges of a layer carry it.
    squash : bool, default=False
        Whether hidden nodes pass on the tanh of their sum, which stays on the grid.
    input_range : tuple of float, default=(-1, 1)
        Range of the grid. Columns are scaled to it by their training rows; beyond a
        tenth of its width, cells are clipped.
    checkpoint : bool, default=False
        Whether to compute the features of a layer again in the backward pass instead
        of keeping them: less memory, about a third more time.
    max_epochs : int, default=200
        Passes over the rows; steps of L-BFGS.
    batch_size : int, default=128
        Rows per step.
    lr : float, default=1e-2
        Learning rate.
    optimizer : {"auto", "adam", "adamw", "sgd", "adagrad", "rmsprop", "lbfgs"} or \
callable, default="auto"
        "auto" is "adamw".
    scheduler : {"cosine", "exponential", "plateau"} or LRScheduler, default="cosine"
        Course of the learning rate; none with L-BFGS.
    validation_fraction : float in [0, 1), default=0.1
        Share of the rows kept apart to judge the epochs by.
    patience : int, default=20
        Stop when the validation has not improved for so many epochs.
    callbacks : list of callback or (name, callback), default=None
        Callbacks of skorch.
    device : str, default="auto"
        Where to train.
    verbose : int, default=0
        Whether to show a bar over the epochs.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last weights.
    random_state : int, RandomState instance or None, default=None
        Seeds everything that is drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of the outputs, passed back along the edges.
    edge_importances_ : list of ndarray of shape (n_out, n_in)
        Standard deviation of each edge over the training rows, per layer.
    node_ranges_ : list of ndarray of shape (n_in, 2)
        Lowest and highest value of the nodes where edges start, per layer.
    references_ : ndarray of shape (n_references, n_features_in_)
        Training rows that attributions and formulas are measured on, 256 at most.
    optimizer_ : str
        The optimiser whose training was kept.
    input_ranges_ : ndarray of shape (n_features_in_, 2)
        Lowest and highest value of each column in ``fit``; a warning names columns in
        which later cells are clipped.
    scaler_ : MinMaxScaler
        How columns are scaled to the grid.
    module_ : torch.nn.Module
        The network.
    weights_ : dict of str to ndarray
        Its parameters.
    history_ : dict of str to ndarray
        Losses and learning rate per epoch.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    See Also
    --------
    MetaKANClassifier : The same with far fewer parameters.

    Notes
    -----
    An edge computes ``sum_g c_g B_g(x) + w silu(x)``. One step on n rows costs
    ``O(n * n_edges * (grid_size + spline_order))``.

    References
    ----------
    .. [1] Liu, Z. et al. (2025). "KAN: Kolmogorov-Arnold Networks". ICLR.
       arXiv:2404.19756.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skinterp.kan import KANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KANClassifier(hidden_layer_sizes=(), max_epochs=30, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **KANMixin._shared_constraints,
    }

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (16,),
        *,
        grid_size: int = 5,
        spline_order: int = 3,
        base_activation: str | None = "silu",
        weight_decay: float = 1e-4,
        l1: float = 0.0,
        entropy: float = 0.0,
        squash: bool = False,
        input_range: tuple[float, float] = (-1, 1),
        checkpoint: bool = False,
        max_epochs: int = 200,
        batch_size: int = 128,
        lr: float = 1e-2,
        optimizer: Any = "auto",
        scheduler: Any = "cosine",
        validation_fraction: float | None = 0.1,
        patience: int | None = 20,
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
        self.hidden_layer_sizes = hidden_layer_sizes
        self.grid_size = grid_size
        self.spline_order = spline_order
        self.base_activation = base_activation
        self.weight_decay = weight_decay
        self.l1 = l1
        self.entropy = entropy
        self.squash = squash
        self.input_range = input_range
        self.checkpoint = checkpoint

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        small = {"hidden_layer_sizes": (3,), "grid_size": 3, "max_epochs": 3}
        return [{**small, "lr": 0.05}]
