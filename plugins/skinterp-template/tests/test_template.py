import numpy as np
import pytest
from skinterp.testing import check_plugin, parametrize_with_methods
from sklearn.datasets import load_iris
from sklearn.neighbors import NearestCentroid

from skinterp_template import CentroidClassifier


@parametrize_with_methods([CentroidClassifier()])
def test_battery(estimator, check):
    check(estimator)


def test_plugin():
    check_plugin("skinterp-template")


@pytest.mark.parametrize("shrinkage", [0.0, 1.0, 5.0])
def test_centres_are_those_of_scikit_learn(shrinkage):
    X, y = load_iris(return_X_y=True)
    peer = NearestCentroid(shrink_threshold=shrinkage or None).fit(X, y)
    model = CentroidClassifier(shrinkage=shrinkage).fit(X, y)
    np.testing.assert_allclose(
        model.mean_ + model.scale_ * model.coef_, peer.centroids_
    )


def test_features_that_do_not_help_are_left_out():
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(X), 20))
    model = CentroidClassifier(shrinkage=3.0).fit(np.hstack([X, noise]), y)
    assert (model.coef_[:, 4:] == 0).mean() > 0.9
    assert model.coef_[:, 2:4].any(axis=0).all()  # the petals
