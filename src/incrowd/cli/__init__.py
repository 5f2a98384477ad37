"""Arguments and printing only."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. An interrupt ends it quietly, also while it is still loading."""
    try:
        from incrowd.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
