"""Nothing lost, nothing twice: random lists of what can happen, each device recognizable.

A process is killed before or after any statement, commit, file and message. After every list the
collector holds each acknowledged, not withdrawn upload exactly once, and repeats of a release are
the same bytes. Wrong shufflers, with one mistake each, are found.
"""

import re
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run
from sqlalchemy import func, select, update

from incrowd.collection.shuffler.keeper import Keeper
from incrowd.collection.store import tables, writing
from incrowd.collection.store.deciding import Outcome
from incrowd.collection.store.errors import StoreError
from incrowd.collection.store.store import Store
from incrowd.collection.wire.bundle import as_time
from incrowd.collection.wire.upload import Upload
from tests.collection.shuffler.conftest import (
    INVITED,
    MERGED,
    OCTETS,
    Faults,
    Killed,
    Site,
    code,
    sealed,
    upload,
)

IN, OUT, UNKNOWN = "in", "out", "unknown"
MOST_PEOPLE = 300
LISTS = 30
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a disk would only be slower


class Simulation(RuleBasedStateMachine):
    """Devices, a shuffler and a collector; `known` is what each device can know of its upload."""

    bundle, codes = INVITED, True

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.site = Site(self.folder, self.bundle, MOST_PEOPLE if self.codes else 0)
        self.faults = Faults()
        self.faults.watch(self.site.store.engine)
        self.uploads, self.known, self.kill = [], [], None
        self.least_ever = [0, 0]

    def teardown(self):
        try:
            self.finish()
        finally:
            self.site.close()
            shutil.rmtree(self.folder)

    # --- what happens ----------------------------------------------------------------------------

    @rule(count=st.sampled_from([1, 3, 24, 26]), stratum=st.integers(0, 1))
    def people_send(self, count, stratum):
        self.arrive(count, stratum)

    def arrive(self, count, stratum):
        first = len(self.uploads)
        count = min(count, MOST_PEOPLE - first)
        for number in range(first, first + count):
            invitation = number if self.codes else None
            self.uploads.append(upload(self.bundle, number, stratum, invitation))
            self.known.append(OUT)
        self.send(range(first, first + count))

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def some_send_again(self, data):
        which = st.lists(st.integers(0, len(self.uploads) - 1), min_size=1, max_size=8)
        self.send(data.draw(which))

    @precondition(lambda self: self.uploads)
    @rule(data=st.data(), again=st.booleans())
    def one_withdraws(self, data, again):
        number = data.draw(st.integers(0, len(self.uploads) - 1))
        for _ in range(1 + again):
            answer = self.answers([("DELETE", self.uploads[number])])
            if answer == [204]:
                self.known[number] = OUT
            elif answer != [410] and self.known[number] == IN:
                self.known[number] = UNKNOWN

    @rule(what=st.sampled_from(["short", "bundle", "stratum", "key", "twice", "unknown"]))
    def nonsense_comes(self, what):
        right = Upload(code(9999), 0, sealed(self.bundle, "nonsense")).encoded(self.bundle)
        size = self.bundle.sealed_length
        data = {
            "short": right[:-1],
            "bundle": bytes(32) + right[32:],
            "stratum": right[:48] + b"\0\7" + right[50:],
            "key": right[:50] + b"\x08" + right[51:],
            "twice": right[:-size] + right[50 : 50 + size],
            "unknown": right,
        }[what]
        status = self.site.request("POST", "/upload", data).status_code
        assert 400 <= status < 500 or (self.faults.full and status == 507)

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def somebody_sends_anothers_reports(self, data):
        victim = self.uploads[data.draw(st.integers(0, len(self.uploads) - 1))]
        fresh = sealed(self.bundle, "thief")[1:]
        invitation = code(MOST_PEOPLE - 1) if self.codes else victim.code
        thief = Upload(invitation, victim.stratum, (victim.sealed[0], *fresh))
        known = self.known[self.uploads.index(victim)]
        if len(self.uploads) < MOST_PEOPLE and known == IN:
            assert self.site.post(thief)[0] in (422, 410, 507)

    @rule(hours=st.sampled_from([0, 1, 24 * 31]))
    def time_passes(self, hours):
        self.site.now += timedelta(hours=hours)

    @rule(times=st.integers(1, 3))
    def the_shuffler_looks(self, times):
        for _ in range(times):
            with self.ended_by_kill(), suppress(StoreError, OSError):
                self.site.keeper.look()
            self.site.now += timedelta(hours=times > 1)

    @rule(after=st.integers(0, 40))
    def a_kill_comes(self, after):
        self.kill = after

    @rule(away=st.booleans(), lost=st.booleans())
    def the_collector_is(self, away, lost):
        self.site.collector.away, self.site.collector.answers_get_lost = away, lost

    @rule(full=st.booleans())
    def the_disk_is(self, full):
        self.faults.full = full

    # --- how it is watched -----------------------------------------------------------------------

    def send(self, numbers):
        """Whoever gets no answer, or a fault, knows nothing; 4xx changes nothing."""
        sent = [("POST", self.uploads[number]) for number in numbers]
        answers = self.answers(sent)
        for number, status in zip(numbers, answers, strict=True):
            if status in (200, 201):
                self.known[number] = IN
            elif status is None or status >= 500:
                assert status in (None, 507), "no fault is unexplained"
                if self.known[number] == OUT:
                    self.known[number] = UNKNOWN
            else:
                assert status == 410, "a right upload is refused only when it is too late"

    def answers(self, sent):
        requests = [(m, "/upload", each.encoded(self.bundle), OCTETS) for m, each in sent]
        found = [None] * len(sent)
        with self.ended_by_kill():
            found = [answer.status_code for answer in self.site.together(requests)]
        return found

    @contextmanager
    def ended_by_kill(self):
        """What is killed starts again from what is on disk."""
        after, self.kill = self.kill, None
        try:
            with self.faults.armed(after):
                yield
        except Killed:
            self.restart()

    def restart(self):
        full, self.faults.full = self.faults.full, False
        self.site.start()
        self.faults.watch(self.site.store.engine)
        self.faults.full = full

    @invariant()
    def the_counter_is_right(self):
        r, c = tables.reports.c, tables.counts.c
        with self.site.store.engine.connect() as connection:
            rows = dict(
                connection.execute(select(r.stratum, func.count()).group_by(r.stratum)).all()
            )
            counts = dict(connection.execute(select(c.stratum, c.people)).all())
        right = {n: p * self.bundle.places for n, p in counts.items() if p} == rows
        assert right, "the counter is wrong"

    # --- after every list ------------------------------------------------------------------------

    def finish(self):
        """Everything works again, and time goes on; what came is compared with what left."""
        self.faults.full = self.site.collector.away = False
        self.site.collector.answers_get_lost = False
        self.site.now = max(self.site.now, as_time(self.bundle.closes))
        self.look_with_patience()
        self.site.now = max(self.site.now, as_time(self.bundle.disposes))
        self.look_with_patience()
        released = self.site.collector.releases()
        self.compare(released)
        assert not self.site.settings.secret_file.exists()
        assert {s.state for s in self.site.store.strata()} <= {"acknowledged", "deleted"}
        assert not list(self.site.settings.releases.glob("*.body"))

    def look_with_patience(self):
        for _ in range(3):
            self.site.now += timedelta(hours=2)
            self.site.keeper.look()

    def compare(self, released):
        by_stratum = {n: reports for strata, (_, reports) in released.items() for n in strata}
        heads = {n: signed.header for strata, (signed, _) in released.items() for n in strata}
        came = Counter(each for _, reports in released.values() for each in reports)
        assert set(came.values()) <= {1}, "a report is there twice"
        sent = {each for upload in self.uploads for each in upload.sealed}
        assert came.keys() <= sent, "a report is there that nobody sent"
        for upload_, known in zip(self.uploads, self.known, strict=True):
            there = sum(each in came for each in upload_.sealed)
            assert there in (0, self.bundle.places), "a part of an upload is there"
            if upload_.stratum in by_stratum:
                assert known == UNKNOWN or (there > 0) == (known == IN), "lost, or not withdrawn"
        for signed, reports in released.values():
            assert signed.header.people * self.bundle.places == len(reports)
        self.check_kept_back(heads)

    def check_kept_back(self, heads):
        """What was not released was not enough."""
        kept = [n for n in range(2) if n not in heads]
        surely = [
            sum(u.stratum == n and k == IN for u, k in zip(self.uploads, self.known, strict=True))
            for n in kept
        ]
        assert all(people < self.bundle.least_people for people in surely), "too few were released"
        if self.bundle.small_strata == "merge":
            assert sum(surely) < self.bundle.least_people, "a merged release is missing"


class OpenSimulation(Simulation):
    bundle, codes = MERGED, False


class Hurried(Simulation):
    """One stratum could be released from the beginning, and nobody hears that it came."""

    def __init__(self):
        super().__init__()
        self.arrive(30, 0)
        self.site.collector.answers_get_lost = True


def quick(examples=LISTS):
    return settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        print_blob=False,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("simulation", [Simulation, OpenSimulation])
def test_nothing_is_lost_and_nothing_is_twice(simulation):
    run(simulation, settings=quick())


@pytest.mark.slow
@pytest.mark.parametrize("simulation", [Simulation, OpenSimulation])
def test_nothing_is_lost_in_many_lists(simulation):
    run(simulation, settings=settings(quick(1500), stateful_step_count=50))


def counter_outside():
    """The number of people is written in a transaction of its own."""
    accept = Store._accept

    def wrong(store, uploads, thorough):
        with mock.patch.object(writing, "count", lambda *_: None):
            found = accept(store, uploads, thorough)
        c = tables.counts.c
        for upload_, outcome in zip(uploads, found or (), strict=False):
            if outcome is Outcome.STORED:
                with store._writing() as connection:
                    change = update(tables.counts).where(c.stratum == upload_.stratum)
                    connection.execute(change.values(people=c.people + 1))
        return found

    return mock.patch.object(Store, "_accept", wrong)


def answered_before_commit():
    """201 is said although the transaction was not committed."""
    accept = Store._accept

    def wrong(store, uploads, thorough):
        try:
            return accept(store, uploads, thorough)
        except StoreError:
            return [Outcome.STORED] * len(uploads)

    return mock.patch.object(Store, "_accept", wrong)


def code_marked_outside():
    """An invitation is marked as used in a transaction before the reports."""
    accept, mark = Store._accept, writing._mark

    def wrong(store, uploads, thorough):
        with store._writing() as connection:
            known = writing._present_of(connection, uploads, True)
            mark(connection, [u for u in uploads if u.rows[0][0] not in known], used=True)
        with mock.patch.object(writing, "_mark", lambda *_, **__: None):
            return accept(store, uploads, thorough)

    return mock.patch.object(Store, "_accept", wrong)


def made_anew():
    """A release that was not acknowledged is mixed and signed again."""
    deliver = Keeper._deliver

    def wrong(keeper, group):
        with keeper.store._writing() as connection:
            connection.execute(tables.releases.delete())
        keeper._make(group)
        deliver(keeper, group)

    return mock.patch.object(Keeper, "_deliver", wrong)


def withdrawn_in_two_steps():
    """The rows go first, in a transaction of their own; a kill leaves the counter as it was."""

    def wrong(store, upload_):
        with store._writing() as connection:
            count = mock.patch.object(writing, "count", lambda *_: None)
            with count:
                open_ = writing.withdraw(connection, upload_)
        return open_

    return mock.patch.object(Store, "withdraw", wrong)


def acknowledged_unheard():
    """Whatever becomes of a release, it is taken as delivered."""
    return mock.patch.object(
        Keeper, "_deliver", lambda keeper, group: keeper.store.acknowledge(group)
    )


def some_are_dropped():
    """A release without the last report of the tags' order."""
    sealed_ = Store.sealed

    def wrong(store, numbers):
        *most, _ = sealed_(store, numbers)
        return iter([*most, most[0]])

    return mock.patch.object(Store, "sealed", wrong)


# Each with what the simulation says of it.
WRONG = {
    counter_outside: "the counter is wrong",
    answered_before_commit: "lost, or not|nobody sent|too few were",
    code_marked_outside: "a right upload is refused",
    made_anew: "repeated with other bytes",
    withdrawn_in_two_steps: "the counter is wrong",
    acknowledged_unheard: "too few were released",
    some_are_dropped: "a report is there twice",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends anywhere
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_a_wrong_shuffler_is_found(wrong):
    thorough = settings(quick(300), report_multiple_bugs=False, phases=[Phase.generate])
    with wrong(), pytest.raises((AssertionError, ExceptionGroup)) as found:
        run(Hurried, settings=thorough)
    assert re.search(WRONG[wrong], said(found.value))


def said(error):
    """Also if a list of events fails in one way, and in another when it is run again."""
    return " ".join([str(error), *map(said, getattr(error, "exceptions", ()))])
