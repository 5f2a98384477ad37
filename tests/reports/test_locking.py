"""Two who write one file at once: both changes are there, or one says why not."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

import incrowd
from incrowd.cli.randomizing import stored_key
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import replaced
from incrowd.plans.ledger import Ledger
from incrowd.reports.locking import locked, rewrite

WRITERS = 40


def appended(line, pause, path):
    """The text of a file with one more line; slow, so that others come in between."""
    text = path.read_text()
    time.sleep(pause)
    return text + line + "\n"


def append(path, line):
    rewrite(path, partial(appended, line, 0.002))


def append_without_a_lock(path, line):
    text = appended(line, 0.02, path)
    with replaced(path) as temporary:
        temporary.write_text(text)


def note(path, plan, answer):
    """Note a plan; the answer says how that ended."""
    try:
        incrowd.note(path, plan, as_planned=True)
        answer.put((plan.digest, None))
    except IncrowdError as error:
        answer.put((plan.digest, str(error)))


@pytest.fixture(scope="module")
def processes():
    """Where processes come from that have the package loaded, and no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["incrowd.planner.rounds", "tests.reports.test_locking"])
    return context


def all_at_once(context, act, arguments):
    started = [context.Process(target=act, args=each) for each in arguments]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
    assert all(process.exitcode == 0 for process in started)


@pytest.mark.slow
def test_a_hundred_writers_lose_nothing(processes, tmp_path):
    """Wrong: the same without a lock."""
    path = tmp_path / "lines"
    for act, writers, whole in ((append, WRITERS, True), (append_without_a_lock, 20, False)):
        path.write_text("")
        all_at_once(processes, act, [(path, str(i)) for i in range(writers)])
        found = path.read_text().split()
        assert (sorted(found, key=int) == [str(i) for i in range(writers)]) == whole
        assert os.listdir(tmp_path) == ["lines"]


def local_plan(name, earlier=()):
    privacy = {"epsilon": 600.0, "analysis": "local"}
    question = {"id": "a", "type": "yesno", "randomizer": {"kind": "warner", "spinner": 0.7}}
    raw = {"name": name, "crowd": 100, "privacy": privacy, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(raw), earlier=earlier)


@pytest.mark.slow
def test_many_who_note_in_one_ledger(processes, tmp_path):
    """Each plan covers those before it, so that many orders are possible, and none with all: an
    entry is there exactly if its writer was not told otherwise."""
    plans = []
    for number in range(10):
        plans.append(local_plan(f"round {number}", [plan.asked for plan in plans]))
    same = [local_plan(f"alone {number}") for number in range(WRITERS - 2 * len(plans))]
    path, answers = tmp_path / "ledger.json", processes.SimpleQueue()
    incrowd.new_ledger(path)
    arguments = [(path, plan, answers) for plan in (*plans, *plans, *same)]
    all_at_once(processes, note, arguments)
    said = [answers.get() for _ in arguments]
    noted = [digest for digest, why in said if why is None]
    found = [asked.digest for asked in Ledger.load(path).asked]
    assert sorted(found) == sorted(noted) and found
    reasons = [why for _, why in said if why]
    assert all("does not cover" in why or "already" in why for why in reasons)
    assert len(noted) + len(reasons) == WRITERS


@pytest.mark.slow
def test_rounds_that_cover_each_other_are_all_noted(processes, tmp_path):
    """Ten writers who try again until their turn has come: all entries, in order."""
    plans = []
    for number in range(10):
        plans.append(local_plan(f"round {number}", [plan.asked for plan in plans]))
    path = tmp_path / "ledger.json"
    incrowd.new_ledger(path)
    all_at_once(processes, note_in_turn, [(path, i, plan) for i, plan in enumerate(plans)])
    assert [asked.digest for asked in Ledger.load(path).asked] == [p.digest for p in plans]


def note_in_turn(path, place, plan):
    while len(Ledger.load(path).asked) < place:
        time.sleep(0.02)
    incrowd.note(path, plan, as_planned=True)


HOLD = """
import sys, time
from incrowd.reports.locking import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that has locked a file."""
    path = tmp_path / "file"
    path.write_text("as it was")
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process, path
        process.kill()


def test_who_waits_too_long_is_told(holder):
    _, path = holder
    with pytest.raises(UsageError, match="in use by another command"), locked(path, patience=0.1):
        pass
    assert path.read_text() == "as it was"


def test_a_lock_ends_with_the_process_that_held_it(holder):
    process, path = holder
    process.send_signal(signal.SIGKILL)
    process.wait()
    rewrite(path, lambda real: real.read_text() + ", and more")
    assert path.read_text() == "as it was, and more"
    assert os.listdir(path.parent) == ["file"]


def test_a_link_is_the_file_it_leads_to(tmp_path):
    (tmp_path / "real").write_text("one")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with locked(tmp_path / "link"), pytest.raises(UsageError), locked(tmp_path / "real", 0.05):
        pass
    rewrite(tmp_path / "link", lambda real: real.read_text() + " two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "one two"


def test_what_fails_changes_nothing(tmp_path):
    def fail(_):
        raise UsageError.of("field", "shared.use-one-of", value=1, choices=[2])

    (tmp_path / "file").write_text("as it was")
    with pytest.raises(UsageError, match="use one of 2"):
        rewrite(tmp_path / "file", fail)
    assert (tmp_path / "file").read_text() == "as it was"
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(UsageError, match="cannot be locked"), locked(tmp_path / "none" / "file"):
        pass


def test_a_new_key_is_shared_when_it_is_settled(tmp_path):
    """Two commands make a key at once, and the first fails: the second does not use the key that
    is then removed. (It did: its permanent responses were drawn with a secret that was gone.)"""
    path, began, fail = tmp_path / "key", threading.Event(), threading.Event()
    found = []

    def first():
        with pytest.raises(UsageError, match="no answers"), stored_key(path):
            began.set()
            fail.wait(20)
            raise UsageError.of("answers", "shared.no-path", type="no answers")

    def second():
        with stored_key(path) as key:
            found.append(key)

    threads = [threading.Thread(target=act) for act in (first, second)]
    threads[0].start()
    assert began.wait(20)
    threads[1].start()
    time.sleep(0.3)
    fail.set()
    for thread in threads:
        thread.join(20)
    assert [incrowd.DeviceKey.load(path)] == found
    assert os.listdir(tmp_path) == ["key"]


def test_a_key_in_a_folder_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    key = incrowd.DeviceKey.create()
    key.save(tmp_path / "key")
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root every folder can be written
    with stored_key(tmp_path / "key") as found:
        assert found == key


def test_the_ledger_is_json_again(tmp_path):
    incrowd.new_ledger(tmp_path / "ledger.json")
    assert json.loads((tmp_path / "ledger.json").read_text())["asked"] == []
