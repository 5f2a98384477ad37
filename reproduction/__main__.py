"""`python -m reproduction`; an interrupt ends it without a traceback, even while it is loading."""

from __future__ import annotations

import sys

try:
    from incrowd.cli.app import guarded
    from reproduction.command import app

    guarded(app, "python -m reproduction")
except KeyboardInterrupt:
    sys.exit(130)
