"""An explanation in a real browser: it renders, light and dark, and stays local."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
)
# Blink's own numbers for the colour scheme that the reader prefers.
SCHEMES = {"dark": 0, "light": 1}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        BROWSER is None, reason=f"needs one of {', '.join(BROWSERS)} on the PATH"
    ),
]


@pytest.fixture
def requests() -> Iterator[tuple[list[str], int]]:
    """A proxy that refuses every request and keeps its address."""
    seen: list[str] = []

    class Refuse(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_error(403)

        do_CONNECT = do_POST = do_HEAD = do_GET

        def log_message(self, *args: object) -> None:
            """Say nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuse) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield seen, server.server_port
        server.shutdown()


def open_page(page: Path, *arguments: str, port: int, scheme: str = "light") -> str:
    """Open the page with all network access through the proxy at the port."""
    command = [
        str(BROWSER),
        *FLAGS,
        f"--user-data-dir={page.parent / 'profile'}",
        f"--proxy-server=http://127.0.0.1:{port}",
        "--proxy-bypass-list=<-loopback>",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        *arguments,
        page.as_uri(),
    ]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True
    )
    return result.stdout


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


def test_page_renders_and_escapes(page: Path, requests: tuple[list[str], int]) -> None:
    dom = open_page(page, "--dump-dom", port=requests[1])
    assert "<script>document.title" not in dom
    assert "&lt;script&gt;document.title" in dom
    assert "größe &amp; weight" in dom
    assert "&lt;b&gt;yes&lt;/b&gt;" in dom
    assert "<title>hacked</title>" not in dom


def test_page_asks_the_network_for_nothing(
    page: Path, requests: tuple[list[str], int]
) -> None:
    seen, port = requests
    open_page(page, "--dump-dom", port=port)
    assert seen == []


def test_proxy_sees_a_page_that_asks(
    tmp_path: Path, requests: tuple[list[str], int]
) -> None:
    """The control for the test above."""
    seen, port = requests
    page = tmp_path / "asks.html"
    page.write_text('<img src="http://example.invalid/pixel.png">', encoding="utf-8")
    open_page(page, "--dump-dom", port=port)
    assert "http://example.invalid/pixel.png" in seen


def test_page_follows_the_colour_scheme(
    page: Path, requests: tuple[list[str], int], tmp_path: Path
) -> None:
    """The background is bright or dark, and something stands out against it."""
    backgrounds = {}
    for scheme in SCHEMES:
        shot = tmp_path / f"{scheme}.png"
        open_page(page, f"--screenshot={shot}", port=requests[1], scheme=scheme)
        grey = matplotlib.image.imread(shot)[..., :3].mean(axis=-1)
        backgrounds[scheme] = np.median(grey)
        contrast = np.abs(grey - backgrounds[scheme])
        assert (contrast > 0.4).mean() > 0.002, f"nothing to read in the {scheme} page"
    assert backgrounds["light"] > 0.8
    assert backgrounds["dark"] < 0.3
