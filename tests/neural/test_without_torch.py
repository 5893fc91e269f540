"""Without torch everything works but the work itself, which says what to install."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "skorch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""

WORK = """
import importlib, warnings
import numpy as np
from sklearn.base import clone
from skinterp import get_method, list_methods
import skinterp.neural
from skinterp.testing.mocks import LinearNetClassifier

names = [m.name for m in METHODS]
classes = [LinearNetClassifier]
for spec in METHODS:
    for target in spec.targets.values():
        module, _, name = target.partition(":")
        classes.append(getattr(importlib.import_module(module), name))
X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
for kind in classes:
    model = kind()
    assert repr(clone(model)).startswith(kind.__name__), kind
    assert model.get_params() and kind.__doc__
    model.set_params(device="cpu")
    try:
        model.fit(X, y)
    except ImportError as error:
        assert "pip install 'skinterp[torch]'" in str(error), error
        assert kind.__name__ in str(error), error
    else:
        raise AssertionError(f"{kind} was fitted without torch")
print(len(classes))
"""


def run(code, *arguments):
    """Run Python where torch and skorch cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_classes_can_be_made_shown_and_cloned_and_fit_says_what_to_install():
    head = """
from skinterp.plugins.builtin import METHODS
METHODS = [m for m in METHODS if any("torch" in r for r in m.requires)]
"""
    done = run(head + WORK)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1


@pytest.mark.parametrize("command", ["methods", "plugins", "--help"])
def test_command_works(command):
    code = "from skinterp.cli import main; main()"
    done = run(code, command)
    assert done.returncode == 0, done.stderr
    assert "torch" not in done.stderr
