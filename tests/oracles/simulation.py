"""Random lists of what can happen to a shuffler, each device recognizable."""

import os
import shutil
import tempfile
from collections import Counter
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import event, func, select

from incrowd.collection import grouping
from incrowd.collection.mixer import inventing
from incrowd.collection.mixer.store import tables
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.writing import ACKNOWLEDGED, CLOSING, DELETED, OPEN, RELEASED
from incrowd.collection.protocol.bundle import MixersBundle, as_time
from incrowd.collection.protocol.upload import Upload
from incrowd.collection.steady import SteadyClock
from incrowd.plans.slots import invented
from tests.oracles.clocks import Clocks
from tests.oracles.mixing import INVITED, OCTETS, Site, admission, sealed, upload

IN, OUT, UNKNOWN = "in", "out", "unknown"
MOST_PEOPLE = 300
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a disk would only be slower


class Inline(Executor):
    """Does at once what it is given: one list of events is one history, whatever threads do."""

    def __init__(self, *_):
        super().__init__()

    def submit(self, work, *given):
        done = Future()
        try:
            done.set_result(work(*given))
        except BaseException as error:  # also of who is killed
            done.set_exception(error)
        return done


class Alone(Site):
    """A shuffler without a thread of its own, whose clock can be wrong."""

    def __init__(self, folder, bundle, *given, **settings):
        self.clocks = Clocks(as_time(bundle.opens))
        super().__init__(folder, bundle, *given, **settings)
        self.clocks.watch = self.watch

    def watch(self):
        """Read the clock, and do nothing else."""
        self.keeper.clock.confirmed()

    def clock(self):
        return SteadyClock(self.settings.clock_file, self.clocks.read)

    def start(self):
        with mock.patch.object(grouping, "ThreadPoolExecutor", Inline):
            super().start()


class Simulation(RuleBasedStateMachine):
    """Devices, a shuffler and a collector; `known` is what each device can know of its upload."""

    bundle, codes = INVITED, True
    unanswered = (None, 507)  # what tells a device nothing, and is explained

    def is_explained(self, status):
        """By the clock it is too late, but the clock may be wrong: a device is told to wait."""
        if status == 503 and self.site.clocks.now >= as_time(self.bundle.closes):
            return True
        return status in self.unanswered and (status != 507 or self.faults.full)

    def is_too_early(self, status):
        """By the clock, the collection has not begun."""
        return status == 403 and self.site.clocks.now < as_time(self.bundle.opens)

    def given(self):
        """More settings of the shuffler."""
        return {}

    @property
    def invented(self):
        """How many reports the shuffler adds to a release."""
        return invented(self.bundle.plan)

    def new_faults(self):
        return Faults()

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.site = Alone(
            self.folder, self.bundle, MOST_PEOPLE if self.codes else 0, **self.given()
        )
        self.faults = self.new_faults()
        self.faults.watch(self.site.store.engine)
        self.uploads, self.known, self.kill = [], [], None
        self.site.keeper.look()
        self.withdrawn = set()
        self.was_enough = set()

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
        self.withdraw(data.draw(st.integers(0, len(self.uploads) - 1)), 1 + again)

    def withdraw(self, number, times):
        for _ in range(times):
            answer = self.answers([("DELETE", self.uploads[number])])
            if answer == [204]:
                self.known[number] = OUT
                self.withdrawn.add(number)
            elif answer not in ([410], [503]) and self.known[number] == IN:
                self.known[number] = UNKNOWN

    @rule(what=st.sampled_from(["short", "bundle", "stratum", "key", "twice", "unknown"]))
    def nonsense_comes(self, what):
        reports = sealed(self.bundle, "nonsense")
        known = admission(self.bundle, MOST_PEOPLE)
        right = Upload(known, 0, reports).encoded(self.bundle)
        size, start = len(reports[0]), len(right) - len(b"".join(reports))
        data = {
            "short": right[:-1],
            "bundle": bytes(32) + right[32:],
            "stratum": Upload(known, 7, reports).encoded(self.bundle),
            "key": right[:start] + b"\x08" + right[start + 1 :],
            "twice": right[:-size] + right[start : start + size],
            "unknown": Upload(known[:-1] + b"?", 0, reports).encoded(self.bundle),
        }[what]
        status = self.site.request("POST", "/upload", data).status_code
        assert 400 <= status < 500 or self.is_explained(status)

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def somebody_sends_anothers_reports(self, data):
        victim = self.uploads[data.draw(st.integers(0, len(self.uploads) - 1))]
        fresh = sealed(self.bundle, "thief")[1:]
        invitation = admission(self.bundle, MOST_PEOPLE - 1) if self.codes else victim.entry
        thief = Upload(invitation, victim.stratum, (victim.sealed[0], *fresh))
        known = self.known[self.uploads.index(victim)]
        if len(self.uploads) < MOST_PEOPLE and known == IN:
            status = self.site.post(thief)[0]
            assert status in (422, 410) or self.is_explained(status) or self.is_too_early(status)

    @rule(data=st.data())
    def somebody_withdraws_anothers_reports(self, data):
        """With an invitation of her own; where there are none with one of her own reports."""
        # Drawn first and always: who is in depends on the shuffler's own randomness.
        first, second = (data.draw(st.integers(0, 10**6)) for _ in range(2))
        there = [n for n, known in enumerate(self.known) if known == IN]
        if len(there) < 2:
            return
        thief = self.uploads[there.pop(first % len(there))]
        victim = self.uploads[there[second % len(there)]]
        own = () if self.codes else thief.sealed[:1]
        taken = Upload(thief.entry, victim.stratum, (*own, *victim.sealed[len(own) :]))
        status = self.answers([("DELETE", taken)])[0]
        assert status in (204, 410) or self.is_explained(status)

    @rule(hours=st.sampled_from([0, 1, 24 * 31]))
    def time_passes(self, hours):
        self.site.clocks.time_passes(hours=hours)

    @rule(
        days=st.sampled_from([-31, -1, 31, 62]),
        before=st.booleans(),
        seconds=st.sampled_from([2.5, 3599.0]),
        after=st.booleans(),
    )
    def the_clock_is_wrong_for_a_while(self, days, before, seconds, after):
        """Work is done by it, or not, at the beginning and at the end; then it is right again."""
        self.site.clocks.jump(days=days)
        self.look(1, before)
        self.site.clocks.time_passes(seconds=seconds)
        self.look(1, after)
        self.site.clocks.jump(days=-days)
        with self.ended_by_kill():
            self.site.watch()

    @rule(days=st.sampled_from([-31, 31]))
    def the_clock_jumps(self, days):
        self.site.clocks.jump(days=days)

    @rule()
    def the_machine_starts_again(self):
        self.site.clocks.start_again()
        self.restart()

    @rule(times=st.integers(1, 3))
    def the_shuffler_looks(self, times):
        self.look(times, True)

    def look(self, times, looks):
        for _ in range(times * looks):
            enough = self.bundle.enough
            with self.looking() as connection:
                states = self.site.store._states(connection)
            self.was_enough |= {s.number for s in states if enough and s.people >= enough}
            with self.ended_by_kill(), suppress(StoreError, OSError):
                self.site.keeper.look()
            self.site.clocks.time_passes(hours=times > 1)

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
                assert number not in self.withdrawn, "what was withdrawn is stored again"
                self.known[number] = IN
            elif status is None or status >= 500:
                assert self.is_explained(status), "no fault is unexplained"
                if self.known[number] == OUT and status != 503:
                    self.known[number] = UNKNOWN
            else:
                assert status == 410 or self.is_too_early(status), "a right upload is refused"

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
        with self.looking() as connection:
            rows = dict(
                connection.execute(select(r.stratum, func.count()).group_by(r.stratum)).all()
            )
            counts = dict(connection.execute(select(c.stratum, c.people)).all())
        right = {n: p * self.bundle.places for n, p in counts.items() if p} == rows
        assert right, "the counter is wrong"

    @invariant()
    def a_wrong_clock_closes_and_deletes_nothing(self):
        """Unless it was wrong for an hour. Reached numbers do not wait for a clock."""
        counted, two = self.site.clocks.counted, isinstance(self.bundle, MixersBundle)
        with self.looking() as connection:
            states = connection.execute(select(tables.strata.c.number, tables.strata.c.state)).all()
        for number, state in states:
            closed = counted >= as_time(self.bundle.closes) or number in self.was_enough
            assert state == OPEN or closed, "it closed by a clock that may be wrong"
            moment = self.bundle.closes if two else self.bundle.disposes
            may_delete = counted >= as_time(moment)
            assert state != DELETED or may_delete, "it deleted by a clock that may be wrong"

    @invariant()
    def no_body_is_kept_that_nobody_signed(self):
        """Two bodies with the same people and other noise would show that noise."""
        with self.looking() as connection:
            strata = [each for each in self.site.store._states(connection) if each.people]
        states = Counter(each.state for each in strata)
        unsigned = len(self.site.bodies()) - states[RELEASED] - states[ACKNOWLEDGED]
        assert unsigned <= states[CLOSING], "a body without a header is kept"

    def looking(self):
        """A connection to the database, for the test's own eyes."""
        return self.site.store.engine.connect()

    # --- after every list ------------------------------------------------------------------------

    def finish(self):
        """Everything works again, and time goes on; what came is compared with what left."""
        self.faults.full = self.site.collector.away = False
        self.site.collector.answers_get_lost = False
        for moment in (self.bundle.closes, self.bundle.disposes):
            self.site.clocks.go_on_to(max(self.site.clocks.now, as_time(moment)))
            self.look_with_patience()
        released = self.site.collector.releases()
        self.compare(released)
        assert not self.site.settings.secret_file.exists()
        assert {s.state for s in self.site.store.strata()} <= {"acknowledged", "deleted"}
        assert not list(self.site.settings.releases.glob("*.body"))

    def look_with_patience(self):
        for _ in range(3):
            self.site.clocks.time_passes(hours=2)
            self.site.keeper.look()

    def compare(self, released):
        by_stratum = {n: reports for strata, (_, reports) in released.items() for n in strata}
        heads = {n: signed.header for strata, (signed, _) in released.items() for n in strata}
        came = Counter(each for _, reports in released.values() for each in reports)
        assert set(came.values()) <= {1}, "a report is there twice"
        sent = {each for upload in self.uploads for each in upload.sealed}
        unknown = len(came.keys() - sent)
        assert unknown == self.invented * len(released), "a report is there that nobody sent"
        for upload_, known in zip(self.uploads, self.known, strict=True):
            there = sum(each in came for each in upload_.sealed)
            assert there in (0, self.bundle.places), "a part of an upload is there"
            if upload_.stratum in by_stratum:
                assert known == UNKNOWN or (there > 0) == (known == IN), "lost, or not withdrawn"
        for signed, reports in released.values():
            assert signed.header.people * self.bundle.places + self.invented == len(reports)
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


class Killed(BaseException):
    """The process ends here: nothing of it runs any more."""


class Faults:
    """Counts the points at which a process can end, and ends it at one of them."""

    # Names and contents of files reach the disk in steps, too.
    # Noise is drawn, and sealed, in steps as well.
    steps = (
        (os, "fsync"),
        (Path, "replace"),
        (Path, "unlink"),
        (os, "posix_fallocate"),
        (inventing, "draw"),
        (inventing.Sealer, "__call__"),
    )

    def __init__(self):
        self.left, self.full = None, False

    def point(self, *_, **__):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def watch(self, engine):
        """Before each statement, before and after each commit; and whether the disk is full."""
        event.listen(engine, "before_cursor_execute", self.point)
        commit = engine.dialect.do_commit

        def committed(connection):
            self.point()
            commit(connection)
            self.point()

        engine.dialect.do_commit = committed
        event.listen(engine, "checkout", self._limit)

    def _limit(self, connection, *_):
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA max_page_count={1 if self.full else 1 << 30}")
        cursor.close()

    @contextmanager
    def armed(self, after):
        """It ends the process after so many points of a block, or never."""
        self.left = after
        with ExitStack() as stack:
            for owner, name in self.steps:
                stack.enter_context(mock.patch.object(owner, name, self.around(owner, name)))
            try:
                yield
            finally:
                self.left = None

    def around(self, owner, name):
        """The function, which can end before and after its work."""
        right = getattr(owner, name)

        def watched(*args, **named):
            if str(args[0]).endswith(".lock"):  # a kernel drops the locks of who is killed
                return right(*args, **named)
            self.point()
            result = right(*args, **named)
            self.point()
            return result

        return watched
