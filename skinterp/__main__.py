"""``python -m skinterp`` is the ``skinterp`` command."""

from __future__ import annotations

import sys

from skinterp.cli import main

if __name__ == "__main__":
    sys.exit(main())
