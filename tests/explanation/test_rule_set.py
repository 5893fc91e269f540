"""Rule sets: what they cover, decide, keep, say and refuse."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeClassifier

from skinterp.explanation import Explanation, RuleSet, load

INF = np.inf
NAMES = ("size", "age", "<script>")


def make_rules(**changes):
    """Four rules of three classes on three columns."""
    fields = {
        "lower": [[-INF, -INF, 0.1], [2.5, -INF, -INF], [-INF, 3, -INF], [2.5, 3, 0]],
        "upper": [[2.5, 3, INF], [INF, 7, 0.1], [INF, INF, INF], [2.8, 4, 0.2]],
        "target": [0, 1, 1, 2],
        "support": [5, 20, 10, 1],
        "feature_names": NAMES,
        "target_names": ["small", "large", "huge"],
    }
    return RuleSet.from_boxes(**(fields | changes))


def make_local():
    return make_rules(
        scope="local",
        row_offsets=[0, 1, 1, 4],
        prediction=[0, -1, 1],
        target=[0, 1, 1, 1],
        relevant_missing=[[0, 0, 0], [1, 0, 1], [0, 0, 0]],
    )


def leaf_rules(tree, feature_names=None):
    """Rules of a fitted tree, a leaf each."""
    t, n = tree.tree_, tree.n_features_in_
    boxes, stack = [], [(0, np.full(n, -INF), np.full(n, INF))]
    while stack:
        node, low, high = stack.pop()
        if t.children_left[node] < 0:
            boxes.append((low, high, t.value[node][0].argmax(), t.n_node_samples[node]))
            continue
        j, cut = t.feature[node], t.threshold[node]
        left, right = high.copy(), low.copy()
        left[j], right[j] = min(cut, high[j]), max(cut, low[j])
        stack += [
            (t.children_left[node], low, left),
            (t.children_right[node], right, high),
        ]
    low, high, target, support = zip(*boxes, strict=True)
    return RuleSet.from_boxes(
        low,
        high,
        target=target,
        support=support,
        feature_names=feature_names or [f"x{i}" for i in range(n)],
        target_names=tree.classes_,
    )


@given(
    st.integers(0, 10_000),
    st.lists(st.tuples(*[st.floats(-4, 8, width=32)] * 3), min_size=1, max_size=6),
)
def test_covers_equals_a_plain_loop(seed, rows):
    rules = make_rules()
    X = np.array(rows)
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    held = rules.covers(X)
    for i, row in enumerate(X):
        for r in range(rules.n_rules):
            expected = all(
                x.lower < np.float32(row[x.feature]) <= x.upper
                for x in rules.literals(r)
            )
            assert held[i, r] == expected


def test_leaf_rules_of_a_tree_are_faithful():
    X, y = np.random.default_rng(0).normal(size=(2, 200, 4))
    y = (X[:, 0] * X[:, 1] > y[:, 0]).astype(int)
    tree = DecisionTreeClassifier(max_depth=4).fit(X, y)
    rules = leaf_rules(tree)
    rules.check_faithful(tree, X)
    assert (rules.decide(X) == tree.predict(X)).all()
    assert rules.support.sum() == len(X)


def test_unfaithful_rules_are_caught():
    X = np.linspace(-1, 1, 20)[:, None]
    tree = DecisionTreeClassifier().fit(X, X[:, 0] > 0)
    rules = leaf_rules(tree)
    shifted = rules._with(upper=rules.upper + 0.3, lower=rules.lower + 0.3)
    with pytest.raises(AssertionError, match="rules and predict disagree for row 10"):
        shifted.check_faithful(tree, X)
    with pytest.raises(AssertionError, match="no rule holds for the complete row"):
        rules[:1]._with(complete=True).check_faithful(tree, X)
    overlapping = rules._with(upper=np.full_like(rules.upper, INF))
    with pytest.raises(AssertionError, match="rules of two classes hold"):
        overlapping.check_faithful(tree, X)


def test_unfaithful_local_rules_are_caught():
    X = np.array([[0.0], [1.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 1])
    rules = leaf_rules(tree)
    order = np.argsort(rules.target)
    local = rules[order]._with(scope="local", row_offsets=[0, 1, 2], prediction=[0, 1])
    local.check_faithful(tree, X)
    with pytest.raises(AssertionError, match="does not hold for row 0"):
        local.check_faithful(tree, X[::-1])
    with pytest.raises(AssertionError, match="another class than the prediction"):
        local._with(prediction=np.array([1, 1])).check_faithful(tree, X)
    wrong = local._with(target=np.array([1, 0]), prediction=np.array([1, 0]))
    with pytest.raises(AssertionError, match="rules and predict disagree"):
        wrong.check_faithful(tree, X)


def test_decide_without_a_rule_that_holds():
    rules = make_rules()
    assert rules.decide([[np.nan, np.nan, np.nan]]).tolist() == [-1]
    none = rules[np.zeros(4, dtype=bool)]
    assert none.n_rules == 0
    assert none.decide(np.zeros((2, 3))).tolist() == [-1, -1]


def test_rules_read_a_frame_by_name():
    frame = pd.DataFrame({"<script>": [0.2], "other": [9.0], "age": [1], "size": [2]})
    assert make_rules().covers(frame)[0].tolist() == [True, False, False, False]
    with pytest.raises(ValueError, match=r"column 'age' is not in X.*'<script>'"):
        make_rules().covers(frame.drop(columns="age"))


def test_round_trip_is_exact(tmp_path):
    for rules in (make_rules(), make_local(), make_rules(support=None)):
        rules.save(tmp_path / "rules.json")
        assert load(tmp_path / "rules.json") == rules
        json.loads((tmp_path / "rules.json").read_text(), parse_constant=pytest.fail)
        assert pickle.loads(pickle.dumps(rules)) == rules


def test_equality_sees_every_field():
    rules = make_rules()
    assert rules == make_rules()
    assert rules != make_rules(support=[5, 20, 10, 2])
    assert rules != rules._with(unit="series")
    assert rules != "rules"


def test_arrays_cannot_be_changed_even_after_pickling():
    for rules in (make_rules(), pickle.loads(pickle.dumps(make_rules()))):
        with pytest.raises(ValueError, match="read-only"):
            rules.lower[0] = 1
    lower = np.zeros((1, 1))
    rules = RuleSet.from_boxes(
        lower, lower + 1, target=[0], feature_names=["x"], target_names=["a"]
    )
    lower[0] = 5
    assert rules.lower[0] == 0


def test_top_of_all_rules_takes_the_largest():
    rules = make_rules()
    assert rules.top(2).support.tolist() == [20, 10]
    assert rules.top(9) == rules
    assert not rules.top(2).complete
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="k="):
            rules.top(k)


def test_top_of_rows_takes_the_first_rules():
    local = make_local().top(1)
    assert local.n_rules == 2
    assert len(local) == 3


def test_indexing_rows():
    local = make_local()
    assert len(local[2]) == 1
    assert local[2].n_rules == 3
    assert local[-1] == local[2]
    assert local[[2, 0]].prediction.tolist() == [1, 0]
    assert local[local.prediction < 0].relevant_missing.tolist() == [
        [True, False, True]
    ]
    assert [len(row) for row in local] == [1, 1, 1]
    with pytest.raises(IndexError, match="index 3 is out of range"):
        local[3]


def test_words():
    text = make_local().to_text()
    assert text.splitlines() == [
        "row 0: small, because size <= 2.5 and age <= 3 and <script> > 0.1",
        "row 1: not determined: it hangs on the missing size, <script>",
        "row 2: large, because size > 2.5 and age <= 7 and <script> <= 0.1"
        " (and by 2 further rules)",
    ]
    assert "2.5 < size <= 2.8" in make_rules().to_text()


def test_frame_has_a_line_per_rule_and_per_row_without_one():
    frame = make_local().to_frame()
    assert frame.columns.tolist() == [
        "row",
        "target",
        "condition",
        "n_literals",
        "support",
    ]
    assert frame["row"].tolist() == [0, 1, 2, 2, 2]
    assert frame["target"].tolist() == ["small", None, "large", "large", "large"]
    assert frame["condition"][1] == "not determined"
    decided = make_local()[[0, 2]].to_frame()
    assert decided["row"].tolist() == [0, 1, 1, 1]


def test_always_and_never():
    rules = RuleSet.from_boxes(
        np.empty((1, 0)),
        np.empty((1, 0)),
        target=[0],
        feature_names=[],
        target_names=[True],
    )
    assert rules.conditions() == ("always",)
    assert rules.decide(np.empty((2, 0))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": [0, 1, 1, 3]}, r"target must lie in \[0, 3\)"),
        ({"target": [0, 1]}, "support has shape"),
        ({"scope": "whole"}, "scope='whole'"),
        ({"scope": "local"}, "needs row_offsets"),
        ({"prediction": [0]}, "global rule set has no prediction"),
        ({"relevant_missing": np.zeros((4, 3))}, "has no relevant_missing"),
        ({"target": ["small"] * 4}, "target must hold positions"),
        ({"target": [0.5, 1, 1, 2]}, "target must hold positions"),
        ({"target": [[0], [1], [1], [2]]}, "target must be one-dimensional"),
        ({"target_names": [["small"], ["large"], ["huge"]]}, "sequence of labels"),
        ({"lower": np.full((4, 3), np.nan)}, "lower holds NaN"),
        ({"upper": np.full((4, 3), np.nan)}, "upper holds NaN"),
        ({"lower": 1.0}, r"lower has shape \(\), expected"),
        ({"feature_dtype": "int"}, "feature_dtypes"),
        ({"lower": [[0.0]] * 4}, "lower has shape"),
        (
            {"scope": "local", "row_offsets": [0, 3], "prediction": [0]},
            "row_offsets must rise from 0 to 4",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make_rules(**changes)


def test_from_dict_says_what_is_wrong(tmp_path):
    content = make_rules().to_dict()
    with pytest.raises(ValueError, match=r"kind='rule'.*'rules'"):
        Explanation.from_dict(content | {"kind": "rule"})
    with pytest.raises(ValueError, match="schema_version=99"):
        Explanation.from_dict(content | {"schema_version": 99})
    with pytest.raises(ValueError, match="schema_version=True"):
        Explanation.from_dict(content | {"schema_version": True})
    with pytest.raises(ValueError, match=r"unknown \['color'\]"):
        Explanation.from_dict(content | {"color": 1})
    with pytest.raises(TypeError, match=r"mapping, got \[1\]"):
        Explanation.from_dict([1])
    for broken in ({"dtype": "<f8"}, 3, {"dtype": "?!", "shape": [], "data": []}):
        with pytest.raises(ValueError, match="field 'lower' of a stored explanation"):
            Explanation.from_dict(content | {"lower": {"$array": broken}})
    for name in ("meta", "feature_names", "categories"):
        with pytest.raises(ValueError, match=f"{name.split('_')[0]}.* must "):
            Explanation.from_dict(content | {name: None if name[0] == "f" else ["ab"]})
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ValueError, match="not a JSON file"):
        load(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(ValueError, match="does not hold an explanation"):
        load(tmp_path / "x.json")


@pytest.mark.parametrize("X", [[1.0, 2, 3], [], [[1.0]], np.ones((2, 4)), 5, "abc"])
def test_tables_of_another_shape_are_refused(X):
    with pytest.raises(ValueError, match=r"X must have the shape \(n_rows, 3\)"):
        make_rules().decide(X)


def test_cells_that_cannot_be_compared_name_their_column():
    moments = pd.to_datetime(["2020-01-01"])
    for cell in (["x"], moments, [1j], pd.Categorical(["x"])):
        X = pd.DataFrame({"size": cell, "age": 1, "<script>": 1})
        with pytest.raises(ValueError, match="column 'size' cannot be read as float32"):
            make_rules().decide(X)
    with pytest.raises(TypeError, match="X is sparse"):
        make_rules().decide(csr_array(np.ones((1, 3))))
    when = make_rules(feature_dtype="date")
    with pytest.raises(ValueError, match="numbers such as 20200101 are no dates"):
        when.decide(pd.DataFrame({"size": [20200101], "age": moments, "<script>": 1}))


def test_names_that_stand_twice_are_told_by_position_or_refused():
    rules = make_rules(feature_names=["a", "a", "b"])
    X = pd.DataFrame([[1, 2, 3], [3, 5, 0]], columns=["a", "a", "b"])
    assert rules.decide(X).tolist() == make_rules().decide(X.to_numpy()).tolist()
    for columns in (["a", "b", "a"], ["b", "a", "c"]):
        with pytest.raises(ValueError, match="column 'a' is ambiguous"):
            rules.decide(X.set_axis(columns, axis=1))


def test_lists_of_numbers_and_texts_keep_their_types():
    rules = RuleSet.from_boxes(
        [[0, 0]], [[1, 1]], target=[0], feature_names=["n", "t"], target_names=["in"]
    )._with(categories=[(1,), ("x",)])
    assert rules.decide([[1, "x"], [2, "x"]]).tolist() == [0, -1]


def test_literals_of_a_rule_counted_from_the_end():
    rules = make_rules()
    assert rules.literals(-1) == rules.literals(3) != ()
    for rule in (4, -5):
        with pytest.raises(IndexError, match=f"rule {rule} is out of range"):
            rules.literals(rule)


@pytest.mark.parametrize("index", [True, None, [[0, 1]]])
def test_indices_of_more_dimensions_are_refused(index):
    with pytest.raises(IndexError, match="is not an integer, a slice"):
        make_rules()[index]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (20240105.5, "20240105.5"),
        (123457.5, "123457.5"),
        (-1234567.25, "-1234567.2"),
        (100000.0, "100000"),
        (1e15 + 0.5, "1000000000000000.5"),
        (0.123456789, "0.123457"),
        (1e300, "1e+300"),
    ],
)
def test_thresholds_between_whole_numbers_are_said_exactly(value, words):
    rules = RuleSet.from_boxes(
        [[value]], [[INF]], target=[0], feature_names=["x"], target_names=["a"]
    )
    assert rules.conditions() == (f"x > {words}",)


def test_names_that_utf_8_cannot_code_are_stored(tmp_path):
    rules = make_rules(feature_names=["\ud800", "\udc80b", "c"])
    rules.save(tmp_path / "x.json")
    assert load(tmp_path / "x.json") == rules
