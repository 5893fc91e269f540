"""What all estimators of the domain share: inputs, penalties, importances, answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.preprocessing import MinMaxScaler

from skinterp.base import ExplainableMixin, feature_names_of
from skinterp.compat import Interval, StrOptions, check_is_fitted
from skinterp.explanation import Attribution
from skinterp.explanation._edge_curves import EdgeCurves
from skinterp.kan._importance import describe_nodes, input_shares
from skinterp.neural import NeuralEstimator

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch.nn import Module

    from skinterp.neural import Batch, TrainingData

SMALL = 5000  # training rows up to which L-BFGS is tried on a regression
CLEAN = 0.01  # of the target's variance, below which what is left is no noise
CLEARLY = 0.5  # of the other's loss: what tells more than the validation rows' luck
MARGIN = 0.1  # of the width of the grid, beyond which inputs are clipped
NAMED = 5  # columns that a warning names
N_REFERENCES = 256
N_BASELINES = 32  # references that attributions are measured from
AT_ONCE = 2**22  # features of a layer that are held at once

_COUNT = Interval(Integral, 1, None, closed="left")
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


class KANMixin(ExplainableMixin, NeuralEstimator):
    """Scaling, training choices and explanations of networks of curves."""

    hidden_layer_sizes: Any
    grid_size: int
    spline_order: int
    base_activation: str | None
    weight_decay: float
    l1: float
    entropy: float
    squash: bool
    input_range: Any
    checkpoint: bool
    weights_: dict[str, NDArray[Any]]
    module_config_: dict[str, Any]

    explains: ClassVar = {
        "global": ("edge-curves", "attribution"),
        "local": ("attribution", "edge-curves"),
    }

    _shared_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like", _COUNT],
        "grid_size": [_COUNT],
        "spline_order": [Interval(Integral, 0, 10, closed="both")],
        "base_activation": [StrOptions({"silu"}), None],
        "weight_decay": [_NOT_NEGATIVE],
        "l1": [_NOT_NEGATIVE],
        "entropy": [_NOT_NEGATIVE],
        "squash": ["boolean"],
        "input_range": [tuple, list],
        "checkpoint": ["boolean"],
        "optimizer": [
            StrOptions({"auto", "adam", "adamw", "sgd", "adagrad", "rmsprop", "lbfgs"}),
            callable,
        ],
    }

    # -- training ---------------------------------------------------------------------
    def _fit_inputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        low, high = self._grid_range()
        self._hidden_widths()
        self.scaler_ = MinMaxScaler(feature_range=(low, high)).fit(X)

    def _transform_inputs(self, X: Any) -> Any:
        low, high = self.scaler_.feature_range  # the parameter may have changed
        beyond = MARGIN * (high - low)
        return np.clip(self.scaler_.transform(X), low - beyond, high + beyond)

    def _validate_X(self, X: Any) -> Any:
        X = NeuralEstimator._validate_X(self, X)  # the bridge's: in float64
        self._warn_beyond(X)
        return X

    def _warn_beyond(self, X: NDArray[np.float64]) -> None:
        """Say once per call that cells are clipped, unless ``fit`` has seen such."""
        low, high = self.input_ranges_.T
        beyond = MARGIN * (self.scaler_.data_max_ - self.scaler_.data_min_)
        low = np.minimum(low, self.scaler_.data_min_ - beyond)
        high = np.maximum(high, self.scaler_.data_max_ + beyond)
        wrong = ~((low <= X) & (high >= X)).all(axis=0)
        if wrong.any():
            names = [feature_names_of(self)[j] for j in np.flatnonzero(wrong)[:NAMED]]
            more = f" and {wrong.sum() - NAMED} more" if wrong.sum() > NAMED else ""
            warnings.warn(
                f"X holds cells beyond the training range in {', '.join(names)}{more}; "
                "they are clipped, as the curves end there.",
                UserWarning,
                stacklevel=4,
            )

    def _grid_range(self) -> tuple[float, float]:
        try:
            low, high = map(float, self.input_range)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not (np.isfinite([low, high]).all() and low < high):
            msg = (
                f"input_range={self.input_range!r} must be two finite numbers, the "
                "lower one first, such as (-1, 1)"
            )
            raise ValueError(msg)
        return low, high

    def _hidden_widths(self) -> tuple[int, ...]:
        sizes: Any = self.hidden_layer_sizes
        sizes = (sizes,) if isinstance(sizes, Integral) else tuple(sizes)
        if not all(
            isinstance(s, int | np.integer) and not isinstance(s, bool) and s >= 1
            for s in sizes
        ):
            msg = (
                f"hidden_layer_sizes={self.hidden_layer_sizes!r} must hold integers of "
                "at least 1, such as (16,); () has no hidden layer"
            )
            raise ValueError(msg)
        return tuple(int(s) for s in sizes)

    def _module_config(self, data: TrainingData) -> dict[str, Any]:
        low, high = self._grid_range()
        return {
            "widths": (data.n_features, *self._hidden_widths(), data.n_outputs),
            "grid_size": int(self.grid_size),
            "spline_order": int(self.spline_order),
            "low": low,
            "high": high,
            "base": self.base_activation,
            "squash": bool(self.squash),
            "checkpoint": bool(self.checkpoint),
        }

    def _next_attempt(
        self, data: TrainingData, losses: list[float]
    ) -> dict[str, Any] | int:
        """Try L-BFGS on few rows; AdamW too where what is left may be noise.

        L-BFGS follows smooth functions to many digits, and noise as well. Where it is
        not clearly better on the validation rows, which may be few, AdamW it is.
        """
        by_search = {"optimizer": "lbfgs", "scheduler": None}  # of the step lengths
        if self.optimizer != "auto":
            plain = by_search if self.optimizer == "lbfgs" else {}
            return 0 if losses else plain
        few = len(data.target) <= SMALL
        if data.valid_inputs is None or not (few and is_regressor(self)):
            return 0 if losses else {"optimizer": "adamw"}
        if not losses:
            return by_search
        if len(losses) == 1:
            return 0 if losses[0] < CLEAN else {"optimizer": "adamw"}
        return 0 if losses[0] < CLEARLY * losses[1] else 1

    def _after_training(self, module: Any, data: TrainingData) -> None:
        chosen = self.optimizer
        named = isinstance(chosen, str)
        self.optimizer_ = chosen if named else getattr(chosen, "func", chosen).__name__

    def _parameter_groups(self, module: Module) -> Iterable[dict[str, Any]]:
        decay = self.weight_decay
        return [{"params": list(module.parameters()), "weight_decay": decay}]

    def _training_loss(self, module: Any, batch: Batch) -> Tensor:
        if self.l1 == 0 and self.entropy == 0:
            return super()._training_loss(module, batch)
        output, sizes = module.forward_with_sizes(*batch.inputs)
        loss = batch.mean(self._loss(output, batch.target))
        for size in sizes:
            total = size.sum()
            share = size / (total + 1e-12)
            disorder = -(share * (share + 1e-12).log()).sum()
            loss = loss + self.l1 * total + self.entropy * disorder
        return loss

    def _finish_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if hasattr(self, "input_ranges_"):
            self._warn_beyond(X)  # the grid is that of the first rows
        else:
            self.input_ranges_ = np.stack([X.min(axis=0), X.max(axis=0)], axis=1)
        step = self._rows_at_once()
        parts = (self._nodes(X[i : i + step]) for i in range(0, len(X), step))
        edges = self._all_coefficients()
        found = describe_nodes(parts, edges, sample_weight, self.module_)
        self.node_ranges_, self.edge_importances_ = found
        self.feature_importances_ = input_shares(self.edge_importances_)[0]
        order = np.argsort(self._raw_outputs(X)[:, 0], kind="stable")
        chosen = np.linspace(0, len(X) - 1, min(N_REFERENCES, len(X))).round()
        self.references_ = np.array(X[order[chosen.astype(int)]])

    def _rows_at_once(self) -> int:
        config = self.module_config_
        features = config["grid_size"] + config["spline_order"] + 1
        return max(32, AT_ONCE // (features * max(config["widths"])))

    def _raw_outputs(self, X: Any) -> NDArray[np.float64]:
        outputs = self._evaluate(X, batch_size=self._rows_at_once())
        return np.asarray(outputs, dtype=np.float64)

    # -- what the fitted network holds ------------------------------------------------
    @property
    def n_parameters_(self) -> int:
        """Number of trained parameters."""
        return sum(value.size for value in self.weights_.values())

    @property
    def n_parameters_kan_(self) -> int:
        """Number of parameters of a network of this shape without a meta-learner."""
        config = self.module_config_
        widths = config["widths"]
        edges = sum(a * b for a, b in pairwise(widths))
        return edges * (config["grid_size"] + config["spline_order"] + 1)

    def coefficients(self, layer: int) -> NDArray[np.float64]:
        """Give the coefficients of the edges of a layer.

        Parameters
        ----------
        layer : int
            Number of the layer, from 0.

        Returns
        -------
        ndarray of shape (n_out, n_in, grid_size + spline_order + 1)
            Of the B-splines in the order of their supports, then the weight of the
            base function.

        Raises
        ------
        ValueError
            If there is no such layer.
        """
        check_is_fitted(self)
        n_layers = len(self.module_config_["widths"]) - 1
        if isinstance(layer, bool) or layer not in range(n_layers):
            msg = f"layer={layer!r} is none of the {n_layers} layers, counted from 0"
            raise ValueError(msg)
        module: Any = self.module_
        made = module.coefficients(int(layer))
        return np.asarray(made.detach().cpu().numpy(), dtype=np.float64)

    def _all_coefficients(self) -> list[NDArray[np.float64]]:
        n_layers = len(self.module_config_["widths"]) - 1
        return [self.coefficients(layer) for layer in range(n_layers)]

    # -- explanations -----------------------------------------------------------------
    def _explain(self, X: Any, *, kind: str) -> Any:
        if kind == "attribution":
            return self._importances() if X is None else self._attribution(X)
        return self._edge_curves(X)

    def _target_labels(self) -> NDArray[Any]:
        labels = getattr(self, "classes_", None)
        if labels is not None:
            return labels
        if self.n_outputs_ == 1:
            return np.array(["y"])
        return np.array([f"y{i}" for i in range(self.n_outputs_)])

    def _output_scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Offset and scale from the outputs of the network to what is predicted."""
        n = self.module_config_["widths"][-1]
        offset = getattr(self, "target_mean_", np.zeros(n))
        return offset, getattr(self, "target_scale_", np.ones(n))

    def _output_method(self) -> str:
        return "decision_function" if hasattr(self, "classes_") else "predict"

    def _edge_curves(self, X: Any) -> EdgeCurves:
        config = self.module_config_
        low, high = config["low"], config["high"]
        beyond = MARGIN * (high - low)
        offset, scale = self._output_scale()
        edges = self._all_coefficients()
        codes = self._codes()
        return EdgeCurves(
            scope="global" if X is None else "local",
            feature_names=feature_names_of(self),
            target_names=self._target_labels(),
            widths=np.array(config["widths"]),
            coefficients=np.concatenate([c.reshape(-1, c.shape[2]) for c in edges]),
            sizes=np.concatenate([s.ravel() for s in self.edge_importances_]),
            codes=None
            if codes is None
            else np.concatenate([c.reshape(-1, c.shape[2]) for c in codes]),
            ranges=np.concatenate(self.node_ranges_),
            grid_size=config["grid_size"],
            spline_order=config["spline_order"],
            grid_range=np.array([low, high]),
            clip=np.array([low - beyond, high + beyond]),
            base=config["base"] or "none",
            squash=config["squash"],
            input_scale=self.scaler_.scale_,
            input_offset=self.scaler_.min_,
            output_scale=scale,
            output_offset=offset,
            output=self._output_method(),
            activations=None if X is None else np.hstack(self._nodes(X)),
        )

    def _codes(self) -> list[NDArray[np.float64]] | None:
        return None

    def _nodes(self, X: Any) -> tuple[NDArray[np.float64], ...]:
        """Values of all nodes, per layer, inputs included."""
        nodes: tuple[NDArray[np.float64], ...] = self._evaluate(
            X,
            lambda module, x: tuple(module.nodes(x)),
            batch_size=self._rows_at_once(),
        )
        return nodes

    def _importances(self) -> Attribution:
        return Attribution(
            scope="global",
            feature_names=feature_names_of(self),
            target_names=self._target_labels(),
            values=self.feature_importances_,
        )

    def _attribution(self, X: Any) -> Attribution:
        from skinterp.kan._attribution import attribute

        offset, scale = self._output_scale()
        step = max(1, len(self.references_) // N_BASELINES)
        baselines = self.references_[::step][:N_BASELINES]
        curves = self._edge_curves(None)
        values, base = attribute(curves, self._nodes(X), self._nodes(baselines))
        values, base = values * scale, base * scale + offset
        if values.shape[2] == 1:
            values, base = values[:, :, 0], base[:, 0]
        return Attribution(
            scope="local",
            feature_names=feature_names_of(self),
            target_names=self._target_labels(),
            values=values,
            base_values=base,
            output=self._output_method(),
            data=X,
        )

    def edge_formulas(self, *, top: int = 3) -> pd.DataFrame:
        """Fit simple functions to the edges.

        Each edge is fitted by ``a * f(b * x + c) + d`` with every function f of a small
        library, at the values that its node takes for some training rows.

        Parameters
        ----------
        top : int, default=3
            Number of functions to give per edge, the best first.

        Returns
        -------
        pandas.DataFrame
            A line per edge and function: ``layer``, ``source``, ``target`` (positions
            of the nodes), ``function``, ``a``, ``b``, ``c``, ``d`` and ``r2``.
        """
        from skinterp.kan._symbolic import edge_table

        check_is_fitted(self)
        return edge_table(self._edge_curves(None), self._nodes(self.references_), top)

    @staticmethod
    def _build_module(config: Mapping[str, Any]) -> Module:
        from skinterp.kan._kan_module import KANModule

        return KANModule(config)


class FormulaMixin(KANMixin):
    """The formula of a regressor, where its edges have simple ones."""

    explains_if: ClassVar = {"global": ("expression",)}

    def _explain(
        self, X: Any, *, kind: str, min_r2: float = 0.99, prune: float = 0.01
    ) -> Any:
        if kind != "expression":
            return super()._explain(X, kind=kind)
        from skinterp.kan._symbolic import find_formula

        if self.n_outputs_ != 1:
            msg = (
                f"kind='expression' needs one output, but y had {self.n_outputs_}: fit "
                "one model per output"
            )
            raise ValueError(msg)
        nodes = self._nodes(self.references_)
        return find_formula(self._edge_curves(None), nodes, min_r2, prune)
