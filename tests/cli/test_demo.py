"""``skinterp demo``: real figures, and a page that holds the rules."""

import os
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


def test_a_page_that_cannot_be_written_is_refused_before_the_work(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("skinterp.cli._demo._read_data", lambda: pytest.fail("works"))
    (tmp_path / "file").touch()
    sealed = tmp_path / "sealed.html"
    real = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode: (path, mode) != (sealed, os.W_OK) and real(path, mode),
    )
    sealed.touch()
    for page, words in [
        (tmp_path, "got the folder"),
        (tmp_path / "no" / "page.html", "a folder that exists"),
        (tmp_path / "file" / "page.html", "a folder that exists"),
        (sealed, "a file that can be written"),
    ]:
        assert main(["demo", "--output", str(page)]) == 1
        error = capsys.readouterr().err
        assert error.startswith("Error: --output must ")
        assert words in error
        assert repr(str(page)) in error


def _lost(demo):
    return next(x for x in demo[1].splitlines() if x.startswith("Lost")).split(
        "lost", 1
    )[1]
