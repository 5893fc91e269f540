"""An explanation in a real browser: it renders, light and dark, and stays local."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from skinterp.trees import BooleanTreeClassifier

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--virtual-time-budget=3000",
    "--window-size=900,900",
    "--hide-scrollbars",
    # Whatever is asked for ends at a port where nobody listens.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
)
# Blink's own numbers for the colour scheme that the reader prefers.
SCHEMES = {"dark": 0, "light": 1}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        BROWSER is None, reason=f"needs one of {', '.join(BROWSERS)} on the PATH"
    ),
]


def open_page(page: Path, *arguments: str, scheme: str = "light") -> str:
    """Open the page without a network; return what the browser prints."""
    command = [
        str(BROWSER),
        *FLAGS,
        f"--user-data-dir={page.parent / 'profile'}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        *arguments,
        page.as_uri(),
    ]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True
    )
    return result.stdout


def requests_of(page: Path) -> list[str]:
    """List what the page, and not the browser for itself, asks the network for."""
    log = page.parent / "network.json"
    open_page(page, "--dump-dom", f"--log-net-log={log}")
    record = json.loads(log.read_text(encoding="utf-8"))
    start = record["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    params = [e.get("params", {}) for e in record["events"] if e["type"] == start]
    # An event's end repeats it without an address.
    return [p["url"] for p in params if "url" in p and asked_by_page(p["initiator"])]


def asked_by_page(initiator: str) -> bool:
    return initiator != "not an origin"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The page of a tree on columns whose names a careless page would run or lose."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(80, 3)),
        columns=["<script>document.title='hacked'</script>", "größe & weight", "x<y"],
    )
    y = np.where(X.iloc[:, 0] + X.iloc[:, 1] > 0, "<b>yes</b>", "no")
    html = BooleanTreeClassifier().fit(X, y).explain().to_html()
    path = tmp_path / "page.html"
    path.write_text(html, encoding="utf-8")
    return path


def test_page_renders_and_escapes(page: Path) -> None:
    dom = open_page(page, "--dump-dom")
    assert "<script>document.title" not in dom
    assert "&lt;script&gt;document.title" in dom
    assert "größe &amp; weight" in dom
    assert "&lt;b&gt;yes&lt;/b&gt;" in dom
    assert "<title>hacked</title>" not in dom


def test_page_asks_the_network_for_nothing(page: Path) -> None:
    assert requests_of(page) == []


def test_the_check_sees_a_page_that_asks(tmp_path: Path) -> None:
    """The control for the test above."""
    page = tmp_path / "asks.html"
    page.write_text('<img src="http://example.invalid/pixel.png">', encoding="utf-8")
    assert requests_of(page) == ["http://example.invalid/pixel.png"]


def test_page_follows_the_colour_scheme(page: Path, tmp_path: Path) -> None:
    """Its margin is bright or dark, and something stands out against it."""
    margins = {}
    for scheme in SCHEMES:
        shot = tmp_path / f"{scheme}.png"
        open_page(page, f"--screenshot={shot}", scheme=scheme)
        grey = matplotlib.image.imread(shot)[..., :3].mean(axis=-1)
        margins[scheme] = np.median(grey[:, :8])
        stands_out = np.abs(grey - margins[scheme]) > 0.4
        assert stands_out[:400].mean() > 0.002, f"nothing to read in the {scheme} page"
    assert margins["light"] > 0.8
    assert margins["dark"] < 0.2
