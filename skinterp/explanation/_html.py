"""Explanations as HTML: words first, then the picture, the table, the record."""

from __future__ import annotations

import base64
import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from skinterp.explanation._drawing import own_figure

if TYPE_CHECKING:
    import jinja2

    from skinterp.explanation._base import Explanation

MAX_TABLE_ROWS = 200


def render(explanation: Explanation, *, standalone: bool) -> str:
    """HTML of an explanation that needs no other file and no network."""
    method = str(explanation.meta.get("method", "")).rpartition(".")[2]
    return _template().render(
        standalone=standalone,
        method=method,
        kind=explanation.kind.replace("-", " "),
        scope=explanation.scope,
        unit=explanation.unit,
        n=len(explanation),
        text=explanation.to_text(),
        picture=_picture(explanation),
        **_table(explanation),
        record=_record(explanation.meta),
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skinterp.explanation"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("explanation.html.jinja")


def _picture(explanation: Explanation) -> str:
    """Picture as base64-coded PNG, sized to what is drawn."""
    figure = own_figure(8.0, 4.0)
    ax = figure.subplots()
    explanation.plot(ax)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=130)
    return base64.b64encode(stream.getvalue()).decode("ascii")


def _table(explanation: Explanation) -> dict[str, Any]:
    frame = explanation.to_frame()
    shown = frame.head(MAX_TABLE_ROWS)
    rows = [[_cell(value) for value in row] for row in shown.itertuples(index=False)]
    return {
        "columns": [str(column) for column in frame.columns],
        "rows": rows,
        "left_out": len(frame) - len(shown),
    }


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _record(meta: Any) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for key, value in meta.items():
        if isinstance(value, dict):
            lines += [(f"{key}: {name}", str(item)) for name, item in value.items()]
        elif isinstance(value, list | tuple):
            lines.append((key, ", ".join(map(str, value))))
        else:
            lines.append((key, str(value)))
    return lines
