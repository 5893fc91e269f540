"""Explanations that are stored or shown in broken ways."""

import json
from dataclasses import fields
from pathlib import Path

from broken._table import table
from skinterp.explanation import Attribution
from skinterp.testing.mocks import LinearRegressor

BROKEN_SHOWING, breaks_showing = table()


def breaks(check):
    """Enter a regressor that explains by the decorated kind of attribution."""

    def enter(kind):
        class Shows(LinearRegressor):
            def _explain(self, X, *, kind):
                made = super()._explain(X, kind=kind)
                content = {f.name: getattr(made, f.name) for f in fields(made)}
                return self.shown(**content)

        Shows.__name__ = Shows.__qualname__ = f"Shows{kind.__name__}"
        Shows.shown = kind
        globals()[Shows.__name__] = Shows
        breaks_showing(check)(Shows)
        return kind

    return enter


@breaks("check_json_round_trip")
class NanInJson(Attribution):
    def to_dict(self):
        return super().to_dict() | {"unit": float("nan")}


@breaks("check_save_and_load")
class SavesHalf(Attribution):
    def save(self, path):
        text = json.dumps(self[: len(self) // 2].to_dict())
        Path(path).write_text(text, "utf-8")


@breaks("check_explanation_pickles")
class PicklesWithoutMeta(Attribution):
    def __getstate__(self):
        return self.__dict__ | {"meta": {}}


@breaks("check_explanation_frozen")
class StaysWriteable(Attribution):
    def _freeze_arrays(self):
        pass


@breaks("check_indexing")
class IndexKeepsAll(Attribution):
    def _take(self, indices):
        return self


@breaks("check_complexity")
class ComplexityIsNan(Attribution):
    @property
    def complexity(self):
        return float("nan")


@breaks("check_to_frame")
class HandsOutItsFrame(Attribution):
    def to_frame(self):
        if "_frame" not in self.__dict__:
            self._set("_frame", super().to_frame())
        return self._frame


@breaks("check_to_text")
class SaysNothing(Attribution):
    def to_text(self):
        return " "


@breaks("check_html_is_escaped")
class WritesNamesRaw(Attribution):
    def to_html(self, *, standalone=True):
        return super().to_html(standalone=standalone) + " ".join(self.feature_names)


@breaks("check_html_is_self_contained")
class FetchesScript(Attribution):
    def to_html(self, *, standalone=True):
        page = super().to_html(standalone=standalone)
        return page + '<script src="https://example.org/plot.js"></script>'


@breaks("check_plot")
class DrawsElsewhere(Attribution):
    def plot(self, ax=None):
        return super().plot()


@breaks("another fault for check_plot_widths")
class HidesTheRest(Attribution):
    def plot(self, ax=None):
        ax = super().plot(ax)
        ax.set_xlabel("importance")
        return ax


HidesColumns = BROKEN_SHOWING.pop("another fault for check_plot_widths")


@breaks("check_plot_widths")
class FailsWhenWide(Attribution):
    def plot(self, ax=None):
        if len(self.feature_names) > 100:
            msg = "too many"
            raise IndexError(msg)
        return super().plot(ax)
