"""The verb ``explain``: what it refuses, checks and records."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from skinterp.base import ExplainableMixin, SkinterpTags, feature_names_of
from skinterp.compat import optional_import, validate_data
from skinterp.explanation import Attribution

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
Y = np.array([0, 1, 1])


class Probe(ExplainableMixin, ClassifierMixin, BaseEstimator):
    """Explains rows by zeros; ``calls`` records each piece of work."""

    explains = {"local": ("attribution", "rules")}

    def __init__(self, random_state=None, n_rows_off=0, kind_returned=Attribution):
        self.random_state = random_state
        self.n_rows_off = n_rows_off
        self.kind_returned = kind_returned

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.calls_ = []
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def decision_function(self, X):
        return np.zeros(len(X))

    def _explain(self, X, *, kind, budget=10, order=None):
        self.calls_.append((kind, budget, order))
        n = len(X) + self.n_rows_off
        return self.kind_returned(
            scope="local",
            feature_names=feature_names_of(self),
            target_names=self.classes_,
            values=np.zeros((n, 2)),
            base_values=np.zeros(n),
            output="decision_function",
        )


class TokenProbe(Probe):
    def __skinterp_tags__(self):
        return SkinterpTags(unit="token")


@pytest.fixture
def probe():
    return Probe(random_state=3).fit(X, Y)


def test_before_fit_names_the_class():
    with pytest.raises(NotFittedError, match="Probe"):
        Probe().explain(X)


def test_undeclared_scope_is_refused_before_any_work(probe):
    with pytest.raises(ValueError, match=r"Probe gives no global.*\['local'\].*pass X"):
        probe.explain()
    assert probe.calls_ == []


def test_undeclared_kind_is_refused_before_any_work(probe):
    with pytest.raises(ValueError, match=r"kind='shapes'.*\['attribution', 'rules'\]"):
        probe.explain("not even data", kind="shapes")
    assert probe.calls_ == []


def test_unknown_option_names_the_allowed_ones(probe):
    with pytest.raises(TypeError, match=r"'budgte'.*\['kind', 'budget', 'order'\]"):
        probe.explain(X, budgte=3)
    assert probe.calls_ == []


def test_options_arrive_and_are_recorded(probe):
    explanation = probe.explain(X, budget=np.int64(3))
    assert probe.calls_ == [("attribution", 3, None)]
    assert explanation.meta["options"] == {"budget": 3}


def test_x_is_validated_like_in_predict(probe):
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        probe.explain(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        probe.explain([[np.nan, 1.0]])


def test_meta_records_method_versions_parameters_and_seed(probe):
    meta = probe.explain(X).meta
    assert meta["method"].endswith(".Probe")
    assert meta["seed"] == 3
    assert meta["parameters"]["n_rows_off"] == 0
    assert set(meta["versions"]) >= {"skinterp", "scikit-learn", "numpy", "python"}


def test_meta_cannot_be_changed(probe):
    meta = probe.explain(X).meta
    with pytest.raises(TypeError, match="cannot be changed"):
        meta["seed"] = 4
    with pytest.raises(TypeError, match="cannot be changed"):
        meta["versions"].update(numpy="0")


def test_unit_comes_from_the_tags():
    assert TokenProbe().fit(X, Y).explain(X).unit == "token"


def test_a_method_that_returns_other_rows_is_caught():
    with pytest.raises(RuntimeError, match="4 rows for 3"):
        Probe(n_rows_off=1).fit(X, Y).explain(X)


def test_a_method_that_returns_another_kind_is_caught(probe):
    with pytest.raises(RuntimeError, match=r"'attribution'.*not.*'rules'"):
        probe.explain(X, kind="rules")


def test_feature_names_of_a_frame_and_of_an_array(probe):
    import pandas as pd

    assert feature_names_of(probe) == ("x0", "x1")
    frame = pd.DataFrame(X, columns=["pi", "x<y"])
    assert feature_names_of(clone(probe).fit(frame, Y)) == ("pi", "x<y")


def test_doc_link_only_for_our_own_classes(probe):
    assert probe._doc_link_template == ""


def test_optional_import_says_what_to_install():
    with pytest.raises(ImportError, match=r"Probe needs.*'no_such'.*skinterp\[torch\]"):
        optional_import("no_such.module", extra="torch", who="Probe")


def test_optional_import_of_a_plugin_names_its_own_distribution():
    with pytest.raises(ImportError, match=r"pip install 'skinterp-xrd\[cif\]'"):
        optional_import(
            "no_such", extra="cif", who="Reading", distribution="skinterp-xrd"
        )
