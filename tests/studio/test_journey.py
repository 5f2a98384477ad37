"""A researcher's first hour, in Chromium: from an SPSS file to a rehearsed collection.

The pictures of the manual come from here: STUDIO_PICTURES=docs/pictures pytest -m slow THIS_FILE.
"""

import json
import os
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas
import pyreadstat
import pytest

import incrowd
from tests.oracles.node import BROWSER, has_browser, node

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
PEOPLE = 1200  # rows of the file
REHEARSING = 400
PAGES = ("design", "precision", "publish", "publish/rehearsal", "watch", "results")


def spss_file(path):
    """Coming to work although ill: invented answers, with 9 for those who refused."""
    generator = np.random.default_rng(20261126)
    sector = generator.integers(1, 4, PEOPLE)
    age = generator.integers(18, 66, PEOPLE)
    ill = generator.random(PEOPLE) < np.array([0.2, 0.35, 0.6])[sector - 1]
    refused = generator.random(PEOPLE) < 0.06
    columns = {
        "ill_at_work": np.where(refused, 9, ill).astype(float),
        "sector": sector.astype(float),
        "age": age.astype(float),
    }
    labels = {
        "ill_at_work": {0.0: "No", 1.0: "Yes", 9.0: "refused"},
        "sector": {1.0: "Care", 2.0: "School", 3.0: "Office"},
    }
    pyreadstat.write_sav(
        pandas.DataFrame(columns), str(path), variable_value_labels=labels, file_label="Ill at work"
    )


@contextmanager
def running_studio(folder):
    """The command in a process of its own; yields its address."""
    command = [sys.executable, "-m", "incrowd", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    """What the researcher read, and the folder that the studio has written."""
    folder = tmp_path_factory.mktemp("journey")
    spss_file(folder / "ill_at_work.sav")
    (program,), _ = node()
    with running_studio(folder / "surveys") as address:
        told = {
            "address": address,
            "data": str(folder / "ill_at_work.sav"),
            "shots": os.environ.get("STUDIO_PICTURES"),
            "people": REHEARSING,
            "narrow": ["/", *(f"/p/ill-at-work/{page}" for page in PAGES)],
        }
        run = subprocess.run(
            [program, str(BROWSER / "studio.mjs")],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), folder


def test_it(journey):
    seen, folder = journey
    print(json.dumps(seen, indent=1)[:6000])
    print(sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))[:80])
