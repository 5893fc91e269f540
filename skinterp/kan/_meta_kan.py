"""Kolmogorov-Arnold networks whose coefficients are made from codes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skinterp.compat import Integral, Interval, Real, StrOptions, check_is_fitted
from skinterp.kan._kan import KANClassifier, KANRegressor
from skinterp.kan._network import FormulaMixin, KANMixin
from skinterp.neural import NeuralClassifier, NeuralRegressor

if TYPE_CHECKING:
    from torch.nn import Module

    from skinterp.neural import TrainingData

__all__ = ["MetaKANClassifier", "MetaKANRegressor"]

_COUNT = Interval(Integral, 1, None, closed="left")
_CODED = ("code_dim", "meta_hidden", "meta_activation", "groups")


class MetaKANMixin(KANMixin):
    """What both estimators share: codes, meta-learners, two learning rates."""

    code_dim: int
    meta_hidden: int
    share: str | int
    meta_activation: str | None
    lr_code: float

    _constraints: ClassVar[dict[str, list[Any]]] = {
        **KANMixin._shared_constraints,
        "code_dim": [_COUNT],
        "meta_hidden": [_COUNT],
        "share": [StrOptions({"layer", "all"}), _COUNT],
        "meta_activation": [StrOptions({"relu"}), None],
        "lr_code": [Interval(Real, 0, None, closed="neither")],
    }

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        shape = super()._module_config(data)
        return {
            **shape,
            "code_dim": int(self.code_dim),
            "meta_hidden": int(self.meta_hidden),
            "meta_activation": self.meta_activation,
            "groups": share_learners(shape["widths"], self.share),
        }

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.kan._kan_module import MetaKANModule

        return MetaKANModule(config)

    def _parameter_groups(self, module: Any) -> Iterable[dict[str, Any]]:
        decay = self.weight_decay
        learners, codes = module.learners.parameters(), module.codes.parameters()
        return [
            {"params": list(learners), "lr": self.lr, "weight_decay": decay},
            {"params": list(codes), "lr": self.lr_code, "weight_decay": decay},
        ]

    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._finish_fit(X, y, sample_weight)
        n_layers = len(self.module_config_["widths"]) - 1
        self.codes_ = [
            self.weights_[f"codes.{layer}"].astype(np.float64)
            for layer in range(n_layers)
        ]
        if self.n_parameters_ > self.n_parameters_kan_:
            warnings.warn(
                f"This network is too small for a meta-learner: it has "
                f"{self.n_parameters_} parameters, without one it would have "
                f"{self.n_parameters_kan_}. Set share='all', lower meta_hidden, or "
                f"take {type(self).__name__.removeprefix('Meta')}.",
                UserWarning,
                stacklevel=5,
            )

    def _codes(self) -> list[NDArray[np.float64]]:
        return self.codes_

    def _frozen(self, kind: type[Any]) -> Any:
        check_is_fitted(self)
        known = kind().get_params(deep=False)
        own = self.get_params(deep=False)
        model = kind(**{name: own[name] for name in known if name != "lr"})
        for name, value in vars(self).items():
            if name.endswith("_") and name != "codes_":
                setattr(model, name, value)
        config = self.module_config_
        model.module_config_ = {k: v for k, v in config.items() if k not in _CODED}
        model.weights_ = {
            f"edges.{layer}": values
            for layer, values in enumerate(self._all_coefficients())
        }
        return model

    @classmethod
    def _test_params(cls) -> list[dict[str, Any]]:
        small = {"hidden_layer_sizes": (3,), "grid_size": 3, "max_epochs": 5}
        fast = {"batch_size": 16, "lr": 0.02, "lr_code": 0.1}
        # so small that the meta-learners do not outweigh what they save
        return [{**small, **fast, "meta_hidden": 2, "share": "all"}]


def share_learners(widths: Sequence[int], share: Any) -> tuple[int, ...]:
    """Number of the meta-learner of each layer, counted in order of appearance."""
    n_layers = len(widths) - 1
    if share == "layer":
        return tuple(range(n_layers))
    if share == "all":
        return (0,) * n_layers
    if share > n_layers:
        msg = (
            f"share={share!r} clusters are more than the {n_layers} layers of edges; "
            "allowed are 'layer', 'all' or at most so many"
        )
        raise ValueError(msg)
    from sklearn.cluster import KMeans

    shapes = np.log(np.stack([widths[:-1], widths[1:]], axis=1))
    distinct = len(np.unique(shapes, axis=0))
    # equal layers cannot be told apart
    fitted = KMeans(min(int(share), distinct), n_init=10, random_state=0).fit(shapes)
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(int(label), len(seen)) for label in fitted.labels_)


class MetaKANRegressor(FormulaMixin, MetaKANMixin, NeuralRegressor):
    """Regressor with a curve on each edge, made from one number per edge.

    A Kolmogorov-Arnold network: a node is the sum of the curves that enter it, and a
    curve is a spline of the value of the node where it starts. Here an edge holds a
    short code only; a small network, the meta-learner, makes the spline's coefficients
    of it. So a wide network has about ``grid_size + spline_order + 1`` times fewer
    parameters to train than without, and as many gradients and optimiser states less.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(16,)
        Nodes of the hidden layers; ``()`` has none, which makes an additive model.
    grid_size : int, default=5
        Intervals between the knots of a curve.
    spline_order : int, default=3
        Degree of the splines, 0 to 10.
    code_dim : int, default=1
        Numbers of a code. With one, a meta-learner is a chain of lines, which is fast.
    meta_hidden : int, default=32
        Hidden units of a meta-learner.
    share : "layer", "all" or int, default="layer"
        Which layers share a meta-learner: none, all, or those of one of so many
        clusters of layers of similar width.
    meta_activation : {"relu", None}, default="relu"
        Activation of the meta-learner. None reproduces the published classification
        code, in which all curves of a layer are ``u(x) + z * v(x)``.
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
    lr : float, default=1e-3
        Learning rate of the meta-learners.
    lr_code : float, default=1e-2
        Learning rate of the codes, which are many and start small.
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
    codes_ : list of ndarray of shape (n_out, n_in, code_dim)
        Code of each edge, per layer. Codes of two fits cannot be compared.
    n_parameters_ : int
        Number of trained parameters.
    n_parameters_kan_ : int
        What it would be without meta-learners.
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
    KANRegressor : The same without codes; ``freeze`` makes one.

    Notes
    -----
    An edge computes ``sum_g c_g B_g(x) + w silu(x)`` with ``(c, w) = W2 relu(W1 z + b1)
    + b2``, where z is its code. A scalar code needs no hidden units in the
    computation: between the kinks of the meta-learner the coefficients are a line in z,
    which is looked up. Gradients are exactly those of the network.

    One step on n rows costs ``O(n * n_edges * (grid_size + spline_order))``, and
    ``O(n_edges * (grid_size + spline_order))`` to make the coefficients.

    Deviations from the paper: inputs are scaled to the grid, targets standardised, one
    optimiser has two learning rates, and the meta-learner always has its ReLU. The
    penalties use standard deviations, which constants in the curves do not change.

    References
    ----------
    .. [1] Zhao, Z., Shu, J., Meng, D., Xu, Z. (2025). "Improving Memory Efficiency for
       Training KANs via Meta Learning". ICML. arXiv:2506.07549.

    Examples
    --------
    >>> import numpy as np
    >>> from skinterp.kan import MetaKANRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 6))
    >>> model = MetaKANRegressor(share="all", meta_hidden=16, random_state=0)
    >>> model.fit(X, X[:, 0] * X[:, 1]).score(X, X[:, 0] * X[:, 1]) > 0.95
    True
    >>> model.n_parameters_, model.n_parameters_kan_
    (297, 1008)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRegressor._parameter_constraints,
        **MetaKANMixin._constraints,
    }

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (16,),
        *,
        grid_size: int = 5,
        spline_order: int = 3,
        code_dim: int = 1,
        meta_hidden: int = 32,
        share: str | int = "layer",
        meta_activation: str | None = "relu",
        base_activation: str | None = "silu",
        weight_decay: float = 1e-4,
        l1: float = 0.0,
        entropy: float = 0.0,
        squash: bool = False,
        input_range: tuple[float, float] = (-1, 1),
        checkpoint: bool = False,
        max_epochs: int = 200,
        batch_size: int = 128,
        lr: float = 1e-3,
        lr_code: float = 1e-2,
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
        self.code_dim = code_dim
        self.meta_hidden = meta_hidden
        self.share = share
        self.meta_activation = meta_activation
        self.lr_code = lr_code
        self.base_activation = base_activation
        self.weight_decay = weight_decay
        self.l1 = l1
        self.entropy = entropy
        self.squash = squash
        self.input_range = input_range
        self.checkpoint = checkpoint

    def freeze(self) -> KANRegressor:
        """Make a network with the coefficients themselves in place of the codes.

        Returns
        -------
        KANRegressor
            Fitted, with the same predictions and explanations. It can be trained on
            with ``warm_start=True``.
        """
        return self._frozen(KANRegressor)


class MetaKANClassifier(MetaKANMixin, NeuralClassifier):
    """Classifier with a curve on each edge, made from one number per edge.

    A Kolmogorov-Arnold network: a node is the sum of the curves that enter it, and a
    curve is a spline of the value of the node where it starts. Here an edge holds a
    short code only; a small network, the meta-learner, makes the spline's coefficients
    of it. So a wide network has about ``grid_size + spline_order + 1`` times fewer
    parameters to train than without, and as many gradients and optimiser states less.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(16,)
        Nodes of the hidden layers; ``()`` has none, which makes an additive model.
    grid_size : int, default=5
        Intervals between the knots of a curve.
    spline_order : int, default=3
        Degree of the splines, 0 to 10.
    code_dim : int, default=1
        Numbers of a code. With one, a meta-learner is a chain of lines, which is fast.
    meta_hidden : int, default=32
        Hidden units of a meta-learner.
    share : "layer", "all" or int, default="layer"
        Which layers share a meta-learner: none, all, or those of one of so many
        clusters of layers of similar width.
    meta_activation : {"relu", None}, default="relu"
        Activation of the meta-learner. None reproduces the published classification
        code, in which all curves of a layer are ``u(x) + z * v(x)``.
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
    lr : float, default=1e-3
        Learning rate of the meta-learners.
    lr_code : float, default=1e-2
        Learning rate of the codes, which are many and start small.
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
    codes_ : list of ndarray of shape (n_out, n_in, code_dim)
        Code of each edge, per layer. Codes of two fits cannot be compared.
    n_parameters_ : int
        Number of trained parameters.
    n_parameters_kan_ : int
        What it would be without meta-learners.
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
    KANClassifier : The same without codes; ``freeze`` makes one.

    Notes
    -----
    An edge computes ``sum_g c_g B_g(x) + w silu(x)`` with ``(c, w) = W2 relu(W1 z + b1)
    + b2``, where z is its code. A scalar code needs no hidden units in the
    computation: between the kinks of the meta-learner the coefficients are a line in z,
    which is looked up. Gradients are exactly those of the network.

    One step on n rows costs ``O(n * n_edges * (grid_size + spline_order))``, and
    ``O(n_edges * (grid_size + spline_order))`` to make the coefficients.

    Deviations from the paper: inputs are scaled to the grid, one optimiser has two
    learning rates, and the meta-learner always has its ReLU. The
    penalties use standard deviations, which constants in the curves do not change.

    References
    ----------
    .. [1] Zhao, Z., Shu, J., Meng, D., Xu, Z. (2025). "Improving Memory Efficiency for
       Training KANs via Meta Learning". ICML. arXiv:2506.07549.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skinterp.kan import MetaKANClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = MetaKANClassifier(max_epochs=40, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.n_parameters_, model.n_parameters_kan_
    (978, 2304)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralClassifier._parameter_constraints,
        **MetaKANMixin._constraints,
    }

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (16,),
        *,
        grid_size: int = 5,
        spline_order: int = 3,
        code_dim: int = 1,
        meta_hidden: int = 32,
        share: str | int = "layer",
        meta_activation: str | None = "relu",
        base_activation: str | None = "silu",
        weight_decay: float = 1e-4,
        l1: float = 0.0,
        entropy: float = 0.0,
        squash: bool = False,
        input_range: tuple[float, float] = (-1, 1),
        checkpoint: bool = False,
        max_epochs: int = 200,
        batch_size: int = 128,
        lr: float = 1e-3,
        lr_code: float = 1e-2,
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
        self.code_dim = code_dim
        self.meta_hidden = meta_hidden
        self.share = share
        self.meta_activation = meta_activation
        self.lr_code = lr_code
        self.base_activation = base_activation
        self.weight_decay = weight_decay
        self.l1 = l1
        self.entropy = entropy
        self.squash = squash
        self.input_range = input_range
        self.checkpoint = checkpoint

    def freeze(self) -> KANClassifier:
        """Make a network with the coefficients themselves in place of the codes.

        Returns
        -------
        KANClassifier
            Fitted, with the same predictions and explanations. It can be trained on
            with ``warm_start=True``.
        """
        return self._frozen(KANClassifier)
