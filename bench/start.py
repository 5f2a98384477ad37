"""What the start of a command costs: processor time beside that of importing its framework."""

import resource
import statistics
import subprocess
import sys

from bench.measure import Row

FRAMEWORK = "import typer, rich, pydantic"
HELP = "import sys; from incrowd.cli import main; sys.argv = ['incrowd', *{}]; main()"
BARS = {(): 1.2, ("plan",): 3.0, ("estimate",): 3.0, ("regress",): 3.0, ("shuffler",): 3.0}
RUNS = 10


def processor_seconds(code):
    """User and system time of a Python of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows():
    """Medians; all take turns, after a round that is not counted, which compiles."""
    codes = {words: HELP.format([*words, "--help"]) for words in BARS}
    seconds = {words: [] for words in BARS}
    framework = []
    for _ in range(RUNS + 1):
        framework.append(processor_seconds(FRAMEWORK))
        for words, code in codes.items():
            seconds[words].append(processor_seconds(code))
    peer = statistics.median(framework[1:])
    for words, bar in BARS.items():
        name = " ".join(["incrowd", *words, "--help"])
        median = statistics.median(seconds[words][1:])
        yield Row(f"{name}, processor time", median, FRAMEWORK, peer, f"at least {1 / bar:.2f}")
