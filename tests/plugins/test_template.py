"""The template does what its README says: copied, renamed, installed and used."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "plugins" / "skinterp-template"
OLD, NEW = "skinterp-template", "skinterp-orchard"


def rename(folder: Path) -> None:
    """Follow step 1 of the README: replace both spellings of the name."""
    for old, new in ((OLD, NEW), (OLD.replace("-", "_"), NEW.replace("-", "_"))):
        for path in folder.rglob("*"):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(old, new), encoding="utf-8")
    (folder / "src" / OLD.replace("-", "_")).rename(
        folder / "src" / NEW.replace("-", "_")
    )


@pytest.fixture
def copy(tmp_path: Path, site: Any) -> Path:
    """Copy the template under another name, and install the copy into the site."""
    leave = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", ".*_cache")
    folder = tmp_path / NEW
    shutil.copytree(TEMPLATE, folder, ignore=leave)
    rename(folder)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    command = (sys.executable, "-m", "pip", "install", *offline)
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "--target", site.folder, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


USE = """
import pickle
import skinterp
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
Method = skinterp.get_method("shrunken-centroid")
model = make_pipeline(StandardScaler(), Method(shrinkage=2.0))
assert cross_val_score(model, X, y).mean() > 0.9
model.fit(X, y)
explanation = skinterp.explain(model, X[:5])
assert explanation.feature_names == tuple(X.columns)
assert explanation.meta["method"].startswith("skinterp_orchard.")
assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
print("used")
"""


def test_copied_renamed_installed_and_used(copy: Path, site: Any) -> None:
    done = site.run("-m", "skinterp", "methods", "--json", "--provider", NEW)
    (row,) = json.loads(done.stdout)["methods"]
    assert row["id"] == f"{NEW}:shrunken-centroid"
    assert row["version"] == "0.1.0"
    done = site.run("-W", "error", "-c", USE)
    assert done.stdout == "used\n", done.stderr
    done = site.run("-m", "skinterp", "plugins", "info", NEW)
    assert str(site.folder / "skinterp_orchard") in done.stdout
    # The battery runs once, in check_plugin; of its twin by pytest a few tests will do.
    few = "not battery or (battery and (explain or json))"
    options = ("-q", "-p", "no:cacheprovider", "-k", few)
    done = site.run("-m", "pytest", *options, str(copy))
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.rpartition(" passed")[0].split()[-1]) > 10


def test_it_says_which_interface_it_is_written_for() -> None:
    """The template changes together with the hooks."""
    from skinterp.plugins import API_VERSION

    text = (TEMPLATE / "src" / "skinterp_template" / "_plugin.py").read_text()
    assert f"API = {API_VERSION}" in text
