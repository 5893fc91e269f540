"""Networks that tests of the bridge train, and their data."""

from __future__ import annotations

import numpy as np

from skinterp.neural import NeuralClassifier, NeuralRegressor


def table(n_rows=200, seed=0):
    """Rows, a target that is not linear in them, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, y, np.where(y > 0, "high", "low")


class Perceptron:
    """Two layers; with dropout, so that masks are drawn in the training."""

    dropout = 0.0

    def _module_config(self, data):
        return {
            "n_in": data.n_features,
            "n_out": data.n_outputs,
            "dropout": self.dropout,
        }

    @staticmethod
    def _build_module(config):
        from torch import nn

        return nn.Sequential(
            nn.Linear(config["n_in"], 16),
            nn.Tanh(),
            nn.Dropout(config["dropout"]),
            nn.Linear(16, config["n_out"]),
        )


class PerceptronRegressor(Perceptron, NeuralRegressor):
    """A small network for numbers."""


class PerceptronClassifier(Perceptron, NeuralClassifier):
    """A small network for labels."""


class DropoutRegressor(Perceptron, NeuralRegressor):
    """A network that draws in its forward pass."""

    dropout = 0.5


class LineRegressor(NeuralRegressor):
    """One layer, whose answer is known."""

    def _module_config(self, data):
        return {"n_in": data.n_features, "n_out": data.n_outputs}

    @staticmethod
    def _build_module(config):
        from torch import nn

        return nn.Linear(config["n_in"], config["n_out"])
