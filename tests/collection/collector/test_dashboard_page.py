"""The dashboard in Chromium: watched while one more person answers at the survey page."""

import json
import subprocess

import incrowd
from incrowd.cli.trying import _example
from incrowd.collection import rehearsal
from incrowd.encoding.people import People
from tests.oracles.node import BROWSER, node

PEOPLE = 120


class Watcher:
    """Node with a browser; the collection closes when the person in it has sent."""

    def __init__(self, shots=None):
        self.shots, self.visit, self.seen = shots, None, {}

    def arrive(self, visit):
        (program,), _ = node()
        self.visit = visit
        command = [program, "dashboard.mjs"]
        self.process = subprocess.Popen(
            command,
            cwd=BROWSER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        given = {"dashboard": visit.dashboard, "survey": visit.page, "shots": self.shots}
        self.process.stdin.write(json.dumps(given).encode())
        self.process.stdin.close()
        while not visit.came():
            assert self.process.poll() is None, self.process.stderr.read().decode()

    def leave(self):
        self.process.stdin = None
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err.decode()
        self.seen = json.loads(out)


def watched(folder, people=PEOPLE, shots=None):
    survey = incrowd.Survey.load(_example("health.toml"))
    answers = incrowd.load_answers(_example("rand_hie.csv"), survey).slice(0, people)
    plan = incrowd.plan(survey.model_copy(update={"crowd": rehearsal.crowd_of(people)}))
    everybody, watcher = People.of(plan.survey, answers), Watcher(shots)
    found = rehearsal.rehearse(plan, everybody, folder, advance=lambda _: None, guest=watcher)
    return watcher, found
