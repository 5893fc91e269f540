"""From a torch module and a loss to a scikit-learn estimator.

A method derives from `NeuralClassifier` or `NeuralRegressor` and says how its module is
built and what its loss is; epochs, batches, early stopping, devices, seeds, labels,
weights of rows and persistence are the bridge's, by way of skorch. Nothing here imports
torch before ``fit``.
"""

from skinterp.neural._data import Batch, TrainingData
from skinterp.neural._estimator import NeuralEstimator
from skinterp.neural._tasks import NeuralClassifier, NeuralRegressor

__all__ = [
    "Batch",
    "NeuralClassifier",
    "NeuralEstimator",
    "NeuralRegressor",
    "TrainingData",
]
