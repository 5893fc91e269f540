"""Checks of an explanation as an object: stored, indexed, shown."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from skinterp.testing._case import Case
from skinterp.testing._check import check
from skinterp.testing._checks_frames import frame_of, used_features
from skinterp.testing._compare import assert_soft_failure

SCRIPT = "<script>alert(1)</script>"


def explains(case: Case) -> bool:
    """Apply to what declares an explanation."""
    return bool(case.explains)


def explained(case: Case) -> Iterator[tuple[str, Any]]:
    """Yield every explanation of the fitted case, with its name."""
    for (scope, kind), one in case.explanations(case.fitted, case.Xy[0]).items():
        yield f"{scope} {kind}", one


def scripted(case: Case) -> Iterator[tuple[str, Any]]:
    """Yield explanations whose columns and classes look like HTML."""
    X, y = case.Xy
    data = X
    if case.is_tabular:
        data = frame_of(X, (SCRIPT, "<b>", "a&b", '"q"', "<img src=x onerror=y>"))
    labels = np.array([SCRIPT, "<i>x", "&amp;"])[y] if case.is_classifier else y
    estimator = case.fit(case.new(), data, labels)
    for (scope, kind), one in case.explanations(estimator, data).items():
        yield f"{scope} {kind}", one


@check(explains)
def check_json_round_trip(case: Case) -> None:
    """``to_dict`` is strict JSON, and comes back equal."""
    for what, one in explained(case):
        text = json.dumps(one.to_dict(), allow_nan=False)
        read = json.loads(text, parse_constant=_refuse_constant)
        again = type(one).from_dict(read)
        assert type(again) is type(one), f"{what} comes back as {type(again).__name__}"
        assert again == one, f"{what} does not come back equal from its JSON"


def _refuse_constant(name: str) -> None:
    msg = f"the JSON holds the literal {name}, which is no JSON"
    raise AssertionError(msg)


@check(explains)
def check_save_and_load(case: Case) -> None:
    """``save`` writes a file of strict JSON that ``load`` reads back equal."""
    from skinterp.explanation import load

    with tempfile.TemporaryDirectory() as folder:
        for what, one in explained(case):
            path = Path(folder) / "explanation.json"
            one.save(path)
            json.loads(path.read_text("utf-8"), parse_constant=_refuse_constant)
            assert load(path) == one, f"{what} does not come back equal from its file"
            assert sorted(Path(folder).iterdir()) == [path], f"{what}: other files"


@check(explains)
def check_explanation_pickles(case: Case) -> None:
    """An explanation comes back equal from pickle."""
    for what, one in explained(case):
        again = pickle.loads(pickle.dumps(one))
        assert again == one, f"{what} does not come back equal from pickle"


@check(explains)
def check_explanation_frozen(case: Case) -> None:
    """Fields cannot be set, and arrays cannot be written to."""
    for what, one in explained(case):
        try:
            one.scope = "other"
        except (AttributeError, dataclasses.FrozenInstanceError):
            pass
        else:
            msg = f"{what}: fields can be set"
            raise AssertionError(msg)
        for name, value in vars(one).items():
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable, f"{what}: {name} can be written to"


@check(explains)
def check_indexing(case: Case) -> None:
    """``len``, ``[i]``, ``[-1]``, slices and ``top(k)`` keep what they say."""
    for what, one in explained(case):
        n = len(one)
        assert n > 0, f"{what} is empty"
        assert len(one[0]) == 1, f"{what}: [0] has length {len(one[0])}"
        assert one[n - 1] == one[-1], f"{what}: [-1] is not the last"
        assert len(one[:2]) == min(2, n), f"{what}: [:2] has length {len(one[:2])}"
        assert one[:] == one, f"{what}: [:] is not equal"
        try:
            one[n]
        except IndexError:
            pass
        else:
            msg = f"{what}: [{n}] of an explanation of length {n} gives something"
            raise AssertionError(msg)
        top = one.top(1)
        assert type(top) is type(one), f"{what}: top(1) is a {type(top).__name__}"
        assert len(one.top(10**6)) == n, f"{what}: top of more than all loses some"
        assert_soft_failure(partial(one.top, 0), f"{what}: top(0)", ["k"])


@check(explains)
def check_complexity(case: Case) -> None:
    """``complexity`` is a finite number of at least zero, ``repr`` at most 10 lines."""
    for what, one in explained(case):
        value = one.complexity
        assert 0 <= value < np.inf, f"{what}: complexity is {value!r}"
        lines = repr(one).splitlines()
        assert 0 < len(lines) <= 10, f"{what}: repr takes {len(lines)} lines"


@check(explains)
def check_to_frame(case: Case) -> None:
    """``to_frame`` is a new pandas frame each time, with rows and unique columns."""
    import pandas as pd

    for what, one in explained(case):
        frame = one.to_frame()
        assert isinstance(frame, pd.DataFrame), f"{what}: a {type(frame).__name__}"
        assert len(frame) > 0, f"{what}: to_frame is empty"
        assert frame.columns.is_unique, f"{what}: columns {list(frame.columns)}"
        frame.insert(0, "changed by the user", 1)
        again = one.to_frame()
        assert "changed by the user" not in again, f"{what}: to_frame hands out its own"


@check(explains)
def check_to_text(case: Case) -> None:
    """``to_text`` says something, in lines, the same each time."""
    for what, one in explained(case):
        text = one.to_text()
        assert isinstance(text, str), f"{what}: to_text is a {type(text).__name__}"
        assert text.strip(), f"{what}: to_text is {text!r}"
        assert "object at 0x" not in text, f"{what}: to_text shows an address"
        assert "np.float64(" not in text, f"{what}: to_text shows numpy's repr"
        assert text == one.to_text(), f"{what}: to_text differs the second time"


@check(explains)
def check_html_is_escaped(case: Case) -> None:
    """Columns and classes that look like HTML are shown as text."""
    for what, one in scripted(case):
        for page in (one.to_html(), one._repr_html_()):
            tags = _Tags(page)
            assert SCRIPT not in page, f"{what}: a column's name is not escaped"
            assert "img[onerror]" not in tags.seen, f"{what}: a name becomes an image"


@check(explains)
def check_html_is_self_contained(case: Case) -> None:
    """A page needs nothing else: no address, no file, no script from elsewhere."""
    for what, one in explained(case):
        page = one.to_html()
        assert "<html" in page.lower(), f"{what}: to_html gives no page"
        outside = sorted(_Tags(page).outside)
        assert not outside, f"{what}: the page refers to {outside[0]!r}"
        fragment = one._repr_html_()
        assert fragment.strip(), f"{what}: nothing to show in a notebook"
        assert "<html" not in fragment.lower(), f"{what}: a page inside a notebook"


class _Tags(HTMLParser):
    """Collect which tags a page has, and what it would fetch from elsewhere."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: set[str] = set()
        self.outside: set[str] = set()
        self.feed(page)
        # styles fetch as well
        self.outside |= set(
            re.findall(r"(?:url\(|@import)\s*['\"]?(?!data:|#)[^)\s]+", page)
        )

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and its addresses; a link that a reader may follow is none."""
        self.seen |= {tag, *(f"{tag}[{name}]" for name, _ in attrs)}
        for name, value in attrs:
            fetched = name in ("src", "srcset", "data", "poster", "xlink:href")
            fetched |= name == "href" and tag in ("link", "image", "use", "base")
            if fetched and value and not value.startswith(("data:", "#")):
                self.outside.add(value)


@check(explains)
def check_plot(case: Case) -> None:
    """``plot`` draws on the Axes given, returns it, shows nothing, leaks no figure."""
    from matplotlib import pyplot as plt
    from matplotlib import rcParams
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for what, one in [*explained(case), *scripted(case)]:
        figure = Figure()
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        before = plt.get_fignums(), dict(rcParams)
        with mock.patch.object(plt, "show", side_effect=AssertionError("plt.show")):
            drawn = one.plot(ax)
            figure.canvas.draw()
        assert drawn is ax, f"{what}: plot(ax) returns {drawn!r}"
        after = plt.get_fignums(), dict(rcParams)
        assert after[0] == before[0], f"{what}: plot(ax) makes a figure of its own"
        assert after[1] == before[1], f"{what}: plot changes rcParams"
        panels = [ax, *ax.child_axes]
        assert any(a.has_data() for a in panels), f"{what}: plot draws nothing"
        own = one.plot()
        assert isinstance(own, Axes), f"{what}: plot() returns {type(own).__name__}"
        plt.close(own.figure.number)  # type: ignore[union-attr]


@check(lambda case: explains(case) and case.is_tabular)
def check_plot_widths(case: Case) -> None:
    """One and 200 columns are drawn and written; what is left out is told."""
    X, y = case.Xy
    rng = np.random.default_rng(0)
    wide = case.suit(np.column_stack([X, rng.normal(size=(len(X), 195))]))
    for data in (X[:, :1], wide):
        estimator = case.fit(case.new(), data, y)
        for (scope, kind), one in case.explanations(estimator, data[:4]).items():
            try:
                written = _draw(one)
                one.to_text()
                one.to_html()
            except Exception as error:
                msg = f"{scope} {kind} of {data.shape[1]} columns: {error!r}"
                raise AssertionError(msg) from error
            used = [one.feature_names[j] for j in used_features(one) or ()]
            hidden = [name for name in used if name not in written.split()]
            told = not hidden or re.search(r"\d+ (more|other)", written)
            assert told, f"{scope} {kind}: the picture hides {len(hidden)} columns"


def _draw(explanation: Any) -> str:
    """Draw an explanation and return all that is written in the picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    figure = Figure()
    FigureCanvasAgg(figure)
    explanation.plot(figure.add_subplot())
    figure.canvas.draw()
    return " ".join(text.get_text() for text in figure.findobj(Text))
