"""``skinterp demo``: real figures, and a page that holds the rules."""

import re

import pytest

from skinterp.cli import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Page and text of one run."""
    import contextlib
    import io

    page = tmp_path_factory.mktemp("demo") / "page.html"
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert main(["demo", "--output", str(page)]) == 0
    return page, text.getvalue()


def test_the_tuned_model_beats_the_larger_class(demo):
    held_out, majority = re.search(
        r"held-out rows ([\d.]+) \(always the larger class: ([\d.]+)\)", demo[1]
    ).groups()
    assert float(held_out) > 0.88
    assert float(majority) < 0.7


def test_lost_cells_leave_many_rows_decidable_and_none_wrong(demo):
    decidable, right, changed = map(
        float,
        re.search(r"([\d.]+)% of.*?([\d.]+)% of.*?([\d.]+)% of", _lost(demo)).groups(),
    )
    assert 50 < decidable < 90
    assert right == 100
    assert changed > 1


def test_the_page_is_named_and_holds_the_rules(demo):
    page, text = demo
    assert str(page) in text
    rule = re.search(r"- (.*?)  \(support", text).group(1)
    assert rule.replace("<", "&lt;").replace(">", "&gt;") in page.read_text("utf-8")


def _lost(demo):
    return next(x for x in demo[1].splitlines() if x.startswith("Lost")).split(
        "lost", 1
    )[1]
