"""The dashboard in Chromium: watched while one more person answers at the survey page."""

import json
import time
from subprocess import PIPE, Popen

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection import rehearsal
from incrowd.encoding.records import EncodedAnswers
from tests.oracles.node import BROWSER, node

pytestmark = pytest.mark.slow  # they start a browser, as quick tests of the survey page do

PEOPLE = 60
AXE = ("axeDoor", "axeCollecting", "axeOpened")
NUMBER = {"type": "number", "edges": [0, 1, 3]}
SURVEY = {
    "name": "Five questions",
    "crowd": rehearsal.crowd_of(PEOPLE),
    "privacy": {"epsilon": 12.0, "analysis": "local"},
    "question": [
        {"id": "limit", "type": "yesno"},
        {"id": "health", "type": "choice", "options": ["good", "poor"]},
        {"id": "chronic", **NUMBER},
        {"id": "visits", **NUMBER},
        {"id": "plan", "type": "yesno"},
    ],
}
ANSWERS = {"limit": "no", "health": "good", "chronic": 0, "visits": 2, "plan": "yes"}


class Watcher:
    """Node with a browser; the collection closes when the person in it has sent."""

    def __init__(self, shots=None):
        self.shots, self.visit, self.seen = shots, None, {}

    def arrive(self, visit):
        (program,), _ = node()
        self.visit = visit
        command = [program, "dashboard.mjs"]
        self.process = Popen(command, cwd=BROWSER, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        given = {"dashboard": visit.dashboard, "survey": visit.page, "shots": self.shots}
        self.process.stdin.write(json.dumps(given).encode())
        self.process.stdin.close()
        while not visit.came():
            assert self.process.poll() is None, self.process.stderr.read().decode()
            time.sleep(0.05)

    def leave(self):
        self.process.stdin = None
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err.decode()
        self.seen = json.loads(out)


def watched(survey, answers, folder, shots=None):
    """What was seen in the browser, and what came of the collection."""
    plan, watcher = incrowd.plan(survey), Watcher(shots)
    people = EncodedAnswers.of(plan.survey, answers)
    found = rehearsal.rehearse(plan, people, folder, advance=lambda _: None, guest=watcher)
    return watcher, found


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    if not (BROWSER / "node_modules" / "playwright-core").is_dir() or node() is None:
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    answers = pa.table({id: [answer] * PEOPLE for id, answer in ANSWERS.items()})
    return watched(incrowd.Survey.of(SURVEY), answers, tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="module")
def seen(visit):
    return visit[0].seen


@pytest.fixture(scope="module")
def address(visit):
    return visit[0].visit.dashboard.split("#")[0]


def test_the_token_is_in_no_address_and_nothing_is_kept(visit, seen, address):
    token = visit[0].visit.dashboard.split("#")[1]
    assert seen["bar"] == address and seen["typed"] == [address, ""]
    assert token not in json.dumps(seen)
    asked = {(url, referrer) for url, referrer in seen["requests"]}
    known = {address, f"{address}/state", f"{address}/estimates"}
    assert {url for url, _ in asked} == known and not any(referrer for _, referrer in asked)
    assert seen["kept"] == [0, 0, "", 0]


def test_a_wrong_token_shows_nothing_and_the_right_one_is_typed(seen):
    assert "token is not correct" in seen["refused"] and seen["hidden"] is True
    assert seen["focus"] == "H1"


def test_it_goes_on_by_itself_when_the_person_has_sent(visit, seen):
    """From people on their way to the estimates, without reloading; the person is in them."""
    _, found = visit
    assert seen["title"] == "Five questions" and seen["charts"] == 0
    assert "60 of the 60 that a release needs" in seen["saidCollecting"]
    assert "%" not in seen["saidCollecting"].replace("1% of the crowd", "")
    assert seen["sent"] == "Your answers were sent" and found.guests == 1
    assert f"{PEOPLE + 1} people" in seen["saidOpened"] and "95% intervals" in seen["saidOpened"]
    assert seen["headings"] == 1 and seen["focusKept"] is True
    documents = [url for url, _ in seen["requests"] if url.endswith("/dashboard")]
    assert len(documents) == 1


def test_everybody_can_read_it(seen):
    assert {name: seen[name] for name in AXE} == {name: [] for name in AXE}
    assert seen["tooWide"] == [False, False]
    assert seen["styled"] == 0, "the policy forbids styles of elements"
    assert seen["width"] > 300


def test_the_policy_is_kept_and_keeps_others_out(seen):
    assert seen["complaints"] == [] and seen["blocked"] == "connect-src"


def test_a_collector_that_is_away_is_said(seen):
    assert "does not respond" in seen["away"]


def test_the_invitation_of_the_guest_is_in_no_file(visit):
    """Neither in the files of the shuffler, nor in those of the collector."""
    _, found = visit
    assert found.codes_found == 0 and found.key_destroyed
