"""Contexts from scores: recovery, pooling, normalising, cutting, and measures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import skinterp
from skinterp.lattice import (
    ConceptLattice,
    MLMContext,
    context_scores,
    ranking_scores,
)

ANIMALS = ["wren", "bat", "carp", "frog", "hen", "owl"]
VERBS = ["fly", "swim", "lay eggs", "hunt at night"]
GOLD = np.array(
    [
        [1, 0, 1, 0],
        [1, 0, 0, 1],
        [0, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 0, 1, 0],
        [1, 0, 1, 1],
    ],
    dtype=bool,
)
PATTERNS = ["The [MASK] can {attribute}.", "Every [MASK] is able to {attribute}."]


class GoldScorer:
    """Gives the known table plus noise that depends on the sentence alone."""

    def __init__(self, noise=0.0):
        self.noise, self.sentences = noise, []

    def __call__(self, sentence, objects):
        self.sentences.append(sentence)
        verb = next(j for j, v in enumerate(VERBS) if sentence.endswith(f"{v}."))
        rng = np.random.default_rng(len(sentence))
        base = GOLD[[ANIMALS.index(name) for name in objects], verb]
        return base + self.noise * rng.normal(size=len(objects))


def model(**params):
    given = {"attributes": VERBS, "patterns": PATTERNS, "scorer": GoldScorer()}
    return MLMContext(**(given | params))


def test_known_table_is_recovered():
    context = model().fit(ANIMALS)
    assert (context.context_ == GOLD).all()
    found = context_scores(context.scores_, GOLD)
    assert found["f1"].tolist() == [1.0]
    assert found["map"] == 1.0


def test_one_call_per_pattern_and_attribute():
    scorer = GoldScorer()
    model(scorer=scorer).fit(ANIMALS)
    assert len(scorer.sentences) == 8
    assert scorer.sentences[0] == "The [MASK] can fly."


def test_noise_makes_it_worse():
    quiet = context_scores(model().fit(ANIMALS).scores_, GOLD)
    loud = context_scores(model(scorer=GoldScorer(2.0)).fit(ANIMALS).scores_, GOLD)
    assert loud["map"] < quiet["map"]


@pytest.mark.parametrize(
    ("pooling", "expected"), [("max", [0.9, 0.8]), ("mean", [0.5, 0.6])]
)
def test_pooling(pooling, expected):
    scores = np.array([[[0.1], [0.4]], [[0.9], [0.8]]])
    pooled = MLMContext(pooling=pooling, normalize="none").fit(scores).scores_
    assert pooled[:, 0] == pytest.approx(expected)


def test_normalising_by_column_and_over_all():
    scores = np.array([[0.0, 10.0], [0.5, 20.0], [1.0, 15.0]])
    by_column = MLMContext().fit(scores)
    assert by_column.scores_.tolist() == [[0, 0], [0.5, 1], [1, 0.5]]
    # exactly one half is not above one half
    assert by_column.context_.tolist() == [[0, 0], [0, 1], [1, 0]]
    over_all = MLMContext(normalize="global").fit(scores)
    assert over_all.scores_[1].tolist() == [0.025, 1.0]


def test_constant_attribute_belongs_to_no_object():
    context = MLMContext().fit(np.array([[0.97, 0.1], [0.97, 0.2]]))
    assert context.context_.tolist() == [[False, False], [False, True]]


def test_other_objects_are_set_against_training():
    context = MLMContext().fit(np.array([[0.0], [1.0]]))
    assert context.score_attributes(np.array([[2.0]])).tolist() == [[2.0]]
    assert (model().fit(ANIMALS[:4]).transform(["owl"]) == GOLD[5:]).all()


@pytest.mark.parametrize(
    ("params", "X", "message"),
    [
        ({"patterns": ["no gap {attribute}"]}, ANIMALS, r"without \[MASK\]"),
        ({"attributes": ["fly", "fly"]}, ANIMALS, "attributes must be a sequence"),
        ({"attributes": None}, ANIMALS, "attributes must be a sequence"),
        ({"scorer": lambda s, o: [1.0]}, ANIMALS, r"scorer gave the shape \(1,\)"),
        ({"scorer": lambda s, o: [np.nan] * 6}, ANIMALS, "holds NaN"),
        ({"scorer": lambda s, o: dict.fromkeys(o, 1)}, ANIMALS, "scorer gave dict"),
        ({"scorer": lambda s, o: ["high"] * 6}, ANIMALS, "scorer gave list"),
        ({"scorer": lambda s, o: 1.0}, ANIMALS, r"scorer gave the shape \(\)"),
        ({"attributes": set(VERBS)}, ANIMALS, "attributes must be a sequence"),
        ({"scorer": None}, np.ones((0, 2, 4)), "without the scores of any pattern"),
        ({"scorer": None}, np.ones((1, 2, 0)), "2 objects .* 0 attributes"),
        ({"scorer": None}, [[-1.7e308] * 4, [1.7e308] * 4], "range of the scores"),
        ({"scorer": None}, ANIMALS, "where scorer=None"),
        ({"scorer": None}, np.ones((2, 3)), "attributes holds 4 names"),
        ({}, "wren", "must be a sequence of names"),
        ({}, ["wren", 3], "X holds 3"),
        ({}, [], "0 objects"),
    ],
)
def test_wrong_input_is_refused(params, X, message):
    with pytest.raises(ValueError, match=message):
        model(**params).fit(X)


def test_what_a_scorer_refuses_is_refused():
    def scorer(sentence, objects):
        msg = "'polar bear' is no single token"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="polar bear"):
        model(scorer=scorer).fit(ANIMALS)


def test_explanation_names_objects_and_attributes():
    context = model().fit(ANIMALS)
    told = context.explain()
    assert told.object_names == tuple(ANIMALS)
    assert told.attribute_names == tuple(VERBS)
    told.check_faithful(context, ANIMALS)
    local = context.explain(["owl"])
    assert local.unit == "object"
    assert local.intent(local.row_concept[0]) == ("fly", "lay eggs", "hunt at night")
    iceberg = context.explain(min_support=0.5)
    assert len(iceberg) < len(told)


def test_a_frame_of_scores_names_objects_and_attributes():
    scores = pd.DataFrame(GOLD.astype(float), index=ANIMALS, columns=VERBS)
    told = MLMContext().fit(scores).explain()
    assert told.attribute_names == tuple(VERBS)
    assert told.object_names == tuple(ANIMALS)
    assert model(scorer=None).fit(scores).context_.tolist() == GOLD.tolist()
    with pytest.raises(ValueError, match="X has the columns"):
        model(scorer=None).fit(scores[VERBS[::-1]])
    with pytest.raises(ValueError, match="X has the columns"):
        MLMContext().fit(scores).transform(scores[VERBS[::-1]])


def test_pipeline_to_the_lattice():
    for first in (model(), model().set_output(transform="pandas")):
        told = skinterp.explain(make_pipeline(first, ConceptLattice()).fit(ANIMALS))
        assert told.attribute_names == tuple(VERBS)
        assert len(told) == len(ConceptLattice().fit(GOLD).intents_)


def test_ranking_by_hand():
    found = ranking_scores([[0.9, 0.8, 0.1]], [[0, 1, 1]], hits=[2])
    assert found["mrr"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found["hit@2"] == 0.5
    # equal scores share their mean rank: no credit for the order of the columns
    assert ranking_scores([[1.0, 1.0, 1.0]], [[1, 0, 0]])["mrr"] == 0.5


def test_curve_over_thresholds_and_its_baseline():
    scores = np.where(GOLD, 0.8, 0.2)
    found = context_scores(scores, GOLD, thresholds=[0.1, 0.5, 0.9])
    assert found["f1"][1] == 1.0
    assert found["f1"][0] == found["f1_all"]
    assert found["f1"][2] == 0.0
    assert found["map_all"] == pytest.approx(GOLD.mean())


def test_measures_refuse_what_cannot_be_compared():
    with pytest.raises(ValueError, match="one shape"):
        ranking_scores(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="no true pair"):
        context_scores(np.ones((2, 2)), np.zeros((2, 2)))
    for measure in (ranking_scores, context_scores):
        with pytest.raises(ValueError, match="scores holds NaN"):
            measure([[np.nan, 1.0]], [[1, 0]])
        with pytest.raises(ValueError, match="truth must hold truth values"):
            measure([[0.5, 1.0]], [[7, 0]])
