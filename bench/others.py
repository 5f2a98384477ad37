"""Flips beside other libraries: they run in an environment of their own, in the same run."""

import json
import subprocess
from pathlib import Path

from bench.kernels import FLIPS, flips
from bench.measure import Row, medians
from incrowd.sampling.keystream import Keystream

HERE = Path(__file__).parent
PYTHON = HERE.parent / ".venv-peers" / "bin" / "python"
BARS = {"opendp": "at least 1,000", "multi-freq-ldpy": "at least 100"}


def rows():
    """Ours and theirs, scaled to as many reports."""
    if not PYTHON.exists():
        return
    stream = Keystream.from_system()
    (before,) = medians([lambda: flips(stream)])
    printed = subprocess.run([PYTHON, HERE / "peers.py"], capture_output=True, check=True)
    (after,) = medians([lambda: flips(stream)])
    what = f"flips, q = .35, {FLIPS:,} reports of 64 bits, one core"
    for name, each in json.loads(printed.stdout).items():
        bar = BARS.get(name.split()[0], "")
        yield Row(what, (before + after) / 2, f"{name}, scaled", each * FLIPS, bar)
