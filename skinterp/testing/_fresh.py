"""Entry of the fresh process: ``python -m skinterp.testing._fresh FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from skinterp.testing._fresh_work import main

if __name__ == "__main__":
    main(Path(sys.argv[1]))
