"""Make the small networks importable, also for processes that unpickle them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
