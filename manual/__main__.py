"""`python -m manual DIRECTORY` writes the pages of the site there, for `zensical build`."""

import sys
from pathlib import Path

from manual.stage import DeadLink, stage
from remuda.jobs import JOBS

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    try:
        stage(ROOT, Path(sys.argv[1]), JOBS)
    except DeadLink as error:
        sys.exit(f"python -m manual: {error}")
