"""What a shuffler loads before it listens: a service in a crash loop should be back quickly."""

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest
from starlette.applications import Starlette

from incrowd.collection import serving
from incrowd.collection.mixer import setup
from incrowd.collection.settings import ShufflerSettings
from incrowd.plans.slots import slots
from tests.conftest import local_plan, slowly
from tests.oracles import make_vectors
from tests.oracles.make_vectors import SHUFFLER

# Each takes a tenth of a second or more, and nothing that a shuffler does at its start needs it.
SLOW = {"scipy", "numba", "altair", "httpx", "pandas", "pyspark", "sqlalchemy.dialects.postgresql"}
SLOW |= {"scipy.optimize", "incrowd.planner", "incrowd.estimation"}
START = """
import json, sys
from pathlib import Path
from incrowd.cli import shuffler
from incrowd.collection import serving
serving.serve = lambda *started: None
shuffler.run(Path(sys.argv[1]))
json.dump(sorted(sys.modules), sys.stdout)
"""


def loaded(folder, bundle):
    setup.install(ShufflerSettings(folder=folder), bundle, SHUFFLER)
    start = [sys.executable, "-c", START, folder]
    anywhere = os.environ | {"INCROWD_SHUFFLER_PORT": "0"}
    done = subprocess.run(start, capture_output=True, check=True, env=anywhere)
    return set(json.loads(done.stdout))


def linked():
    """A bundle without a message of cells."""
    plan = local_plan({"id": "smokes", "type": "yesno"})
    words = {"language": "en", "title": "One", "questions": {"smokes": "Do you smoke?"}}
    changes = {"plan": plan, "wording": words, "slots": slots(plan), "colluding": 0}
    return make_vectors.bundle(**changes, reserve=50)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [False, *slowly(True)])
def test_a_shuffler_that_starts_loads_nothing_slow(tmp_path, cells):
    """For cells a check of the bundle's slots needs one function of scipy."""
    bundle = make_vectors.INVITED if cells else linked()
    needed = {"scipy"} if cells else set()
    assert loaded(tmp_path / "shuffler", bundle) & SLOW <= needed


@pytest.mark.parametrize("wrong", [False, True])
def test_a_service_that_is_stopped_as_soon_as_it_listens_ends_without_an_error(monkeypatch, wrong):
    """The wrong one says that it listens before it handles signals."""

    class Early(serving.Server):
        def run(self, sockets):
            self.announce()
            super().run(sockets)

    def stop():
        signal.raise_signal(signal.SIGTERM)

    if wrong:
        monkeypatch.setattr(serving, "Server", Early)
    monkeypatch.setattr(serving, "collect_garbage_seldom", lambda: None)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as the commands do
    expected = pytest.raises(SystemExit) if wrong else nullcontext()
    try:
        with expected, serving.listening("shuffler", "127.0.0.1", 0) as door:
            serving.serve(Starlette(), door, stop)
    finally:
        signal.signal(signal.SIGTERM, before)
