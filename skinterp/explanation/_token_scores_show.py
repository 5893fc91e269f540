"""Windows with scores as text and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from skinterp.explanation._token_scores import Floats, TokenScores

MAX_TARGETS = 12
MAX_ROWS = 20
PER_LINE = 3


def window_table(tokens: TokenScores) -> pd.DataFrame:
    """A line per class, or row, and window that is shown."""
    import pandas as pd

    assert tokens.shown is not None
    shown = tokens.shown
    n = len(tokens.target_names) if tokens.scores is None else len(tokens)
    places: dict[str, Any] = {
        "token": np.tile(shown, n),
        "start": np.tile(tokens.starts[shown], n),
        "end": np.tile(tokens.starts[shown] + tokens.length, n),
    }
    if tokens.scores is None:
        assert tokens.mean_scores is not None
        assert tokens.kept_share is not None
        table = {
            "target": np.repeat(tokens.target_names, len(shown)),
            **places,
            "mean_score": tokens.mean_scores[:, shown].ravel(),
            "kept_share": tokens.kept_share[:, shown].ravel(),
        }
        return pd.DataFrame(table)
    scores, kept, _, prediction, _ = tokens._rows()
    table = {
        tokens.unit: np.repeat(np.arange(n), len(shown)),
        "prediction": np.repeat(tokens.target_names[prediction], len(shown)),
        **places,
        "score": scores[:, shown].ravel(),
        "kept": kept[:, shown].ravel(),
        "contribution": tokens.contributions()[:, shown].ravel(),
    }
    return pd.DataFrame(table)


def example_table(tokens: TokenScores) -> pd.DataFrame:
    """A line per window of a training series."""
    import pandas as pd

    if tokens.example_start is None:
        msg = "a local explanation has no examples; explain() without X has them"
        raise ValueError(msg)
    table = {
        "target": tokens.target_names[tokens.example_target],
        "series": tokens.example_source,
        "start": tokens.example_start,
        "end": tokens.example_start + tokens.length,
        "score": tokens.example_score,
    }
    return pd.DataFrame(table)


def say_windows(tokens: TokenScores) -> str:
    """The windows that count most, for each class or in each row."""
    return _say_model(tokens) if tokens.scores is None else _say_rows(tokens)


def _say_model(tokens: TokenScores) -> str:
    assert tokens.mean_scores is not None
    assert tokens.kept_share is not None
    assert tokens.shown is not None
    n = len(tokens.starts)
    lines = [f"{_windows(n)} of {tokens.length} time points, by mean score:"]
    for t, name in enumerate(tokens.target_names[:MAX_TARGETS]):
        mean, share = tokens.mean_scores[t], tokens.kept_share[t]
        order = tokens.shown[np.argsort(-mean[tokens.shown], kind="stable")]
        best = ", ".join(
            f"{tokens.name_of(j)} ({mean[j]:.2g}, kept in {share[j]:.0%})"
            for j in order[:PER_LINE]
        )
        lines.append(f"  {name}: {best}{_example(tokens, t)}")
    if len(tokens.target_names) > MAX_TARGETS:
        lines.append(f"  ... {len(tokens.target_names) - MAX_TARGETS} more classes")
    return "\n".join(lines)


def _windows(n: int) -> str:
    return f"{n} window{'s' * (n != 1)}"


def _example(tokens: TokenScores, target: int) -> str:
    assert tokens.example_target is not None
    assert tokens.example_source is not None
    assert tokens.example_start is not None
    assert tokens.example_score is not None
    own = np.flatnonzero(tokens.example_target == target)
    if not len(own):
        return ""
    i = own[0]
    place = tokens._name_from(int(tokens.example_start[i]))
    return (
        f"; the highest is {tokens.example_score[i]:.2g}, in training series "
        f"{tokens.example_source[i]} at {place}"
    )


def _say_rows(tokens: TokenScores) -> str:
    _, kept, _, _, _ = tokens._rows()
    parts, counts = tokens.contributions(), kept.sum(axis=1)
    lines = []
    for i in range(min(len(tokens), MAX_ROWS)):
        lines.append(_say_row(tokens, i, parts[i]))
        how = "on its own" if counts[i] == 1 else "on their own"
        lines.append(f"  {counts[i]} of {_windows(len(kept[i]))} kept {how}")
    if len(tokens) > MAX_ROWS:
        lines.append(f"... {len(tokens) - MAX_ROWS} more {tokens.unit}s")
    return "\n".join(lines)


def _say_row(tokens: TokenScores, row: int, parts: Floats) -> str:
    scores, _, _, prediction, _ = tokens._rows()
    assert tokens.shown is not None
    order = np.argsort(-np.abs(parts[tokens.shown]), kind="stable")
    best = tokens.shown[order[:PER_LINE]]
    said = [
        f"{parts[j]:+.3g} ({tokens.name_of(j)}, score {scores[row, j]:.2g})"
        for j in best
    ]
    rest = len(parts) - len(best)
    if rest:
        others = parts.sum() - parts[best].sum()
        said.append(f"{others:+.3g} ({rest} more)")
    name = tokens.target_names[prediction[row]]
    return f"{tokens.unit} {row}: {name}, {parts.sum():.3g} = {' '.join(said)}"
