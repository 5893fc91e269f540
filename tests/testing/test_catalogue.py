"""The page of checks lists what there is."""

from pathlib import Path

import pytest

from skinterp.testing._catalogue import END, START, topics, with_listing
from skinterp.testing._check import CHECKS

PAGE = Path(__file__).resolve().parents[2] / "doc" / "testing.rst"


@pytest.mark.skipif(not PAGE.exists(), reason="needs the source tree")
def test_page_is_fresh():
    page = PAGE.read_text("utf-8")
    assert page.count(START) == page.count(END) == 1
    assert page == with_listing(page), (
        "the list of checks is stale: "
        "run `python -m skinterp.testing._catalogue doc/testing.rst`"
    )


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.name)
def test_check_says_what_it_asks_for(check):
    assert check.summary.endswith(".")
    assert 20 <= len(check.summary) <= 160


def test_every_topic_has_checks():
    assert sum(map(len, topics().values())) == len(CHECKS)
    assert {"protocol", "labels", "series", "explanations"} <= set(topics())
