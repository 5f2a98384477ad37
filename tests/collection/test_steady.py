"""A clock that is wrong for a while destroys nothing; a right one does, in due time."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.collection import machine, steady
from incrowd.collection.steady import NEVER, SteadyClock, confirm, steadiness, waiting
from incrowd.errors import UsageError
from tests.oracles.clocks import Clocks

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def clocks():
    return Clocks(START)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "clock.json"


def counts(clock):
    return clock.confirmed() != NEVER


def test_a_time_counts_after_an_hour_and_not_before(clocks, file):
    clock = SteadyClock(file, clocks.read)
    assert not counts(clock)
    clocks.time_passes(seconds=3599.9)
    assert not counts(clock)
    clocks.time_passes(seconds=0.1)
    assert clock.confirmed() == clocks.now == START + timedelta(hours=1)


@pytest.mark.parametrize("seconds", [11.0, -11.0, 2.5 * 86_400, -86_400.0 * 400])
def test_a_jump_stops_it_for_an_hour_also_when_it_is_taken_back(clocks, file, seconds, caplog):
    clock = SteadyClock(file, clocks.read)
    clock.confirmed()
    clocks.time_passes(hours=24)
    assert counts(clock)
    clocks.jump(seconds=seconds)
    assert not counts(clock)
    assert f"the clock jumped by {seconds:+,.0f} seconds" in caplog.messages[-1]
    clocks.time_passes(seconds=2.5)
    clocks.jump(seconds=-seconds)
    assert not counts(clock) and len(caplog.messages) == 2
    clocks.time_passes(hours=1)
    assert counts(clock) and len(caplog.messages) == 2


def test_a_clock_may_be_adjusted_a_little_but_not_in_many_small_steps(clocks, file):
    clock = SteadyClock(file, clocks.read)
    clock.confirmed()
    clocks.time_passes(hours=2)
    for _ in range(5):
        clocks.jump(seconds=2)
        assert counts(clock)
    clocks.jump(seconds=2)
    assert not counts(clock)


def test_the_hour_goes_on_when_a_process_starts_again(clocks, file):
    for _ in range(6):  # it never lives for an hour
        clock = SteadyClock(file, clocks.read)
        assert not counts(clock)
        clocks.time_passes(minutes=10)
    assert counts(SteadyClock(file, clocks.read))


@pytest.mark.parametrize("wall_goes_on", [True, False])
def test_the_hour_begins_again_when_the_machine_starts_again(clocks, file, wall_goes_on, caplog):
    """Also if its clock shows the same as at the last start, so that both clocks agree."""
    SteadyClock(file, clocks.read).confirmed()
    clocks.time_passes(hours=5)
    clocks.start_again(off=wall_goes_on)
    if not wall_goes_on:
        clocks.show(START)
    clocks.time_passes(minutes=50)
    assert not counts(clock := SteadyClock(file, clocks.read))
    assert not caplog.text, "that is no fault"
    clocks.time_passes(minutes=60)
    assert counts(clock)


def test_without_an_id_of_the_boot_the_clocks_themselves_show_that_the_machine_started(file):
    """As in a unit of systemd, which hides it."""
    clocks = Clocks(START)
    read = lambda: clocks.read()._replace(boot="")  # noqa: E731
    SteadyClock(file, read).confirmed()
    clocks.time_passes(hours=5)
    clocks.start_again()
    clocks.time_passes(hours=2)
    assert not counts(SteadyClock(file, read))


BROKEN = ["", "[]", "{", '{"format": "incrowd clock 1"}', "null", b"\xff".decode("latin-1")]
WHOLE = '{"format": "%s", "time": %s, "seconds": %s, "boot": "1"}'
BROKEN += [
    WHOLE % given
    for given in (
        ("incrowd clock 2", '"2026-11-01T00:00:00+00:00"', -9e4),
        ("incrowd clock 1", '"yesterday"', -9e4),
        ("incrowd clock 1", "7", -9e4),
        ("incrowd clock 1", '"2026-11-01T12:00:00+00:00"', "NaN"),
        ("incrowd clock 1", '"2026-11-01T12:00:00+00:00"', '"-Infinity"'),
        ("incrowd clock 1", '"0001-01-01T00:00:00+14:00"', "0"),
    )
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_counts_for_nothing(clocks, file, content):
    file.write_text(content)
    clock = SteadyClock(file, clocks.read)
    assert not counts(clock)
    clocks.time_passes(hours=1)
    assert counts(clock)


def test_without_a_file_the_hour_is_kept_in_memory_and_an_old_file_is_not_trusted(
    clocks, file, monkeypatch
):
    """The disk is full: a wrong clock was stored, is corrected, and wrong again."""
    clock = SteadyClock(file, clocks.read)
    clocks.time_passes(days=40)
    clock.confirmed()
    clocks.time_passes(hours=1)
    assert counts(clock)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(steady, "write_private", full)
    clocks.jump(days=-40)
    assert not counts(clock)
    clocks.jump(days=40)
    assert not counts(clock)
    clocks.time_passes(hours=1)
    assert counts(clock)
    monkeypatch.undo()
    assert counts(clock) and file.exists()


def test_two_processes_share_the_hour(clocks, file):
    one, other = SteadyClock(file, clocks.read), SteadyClock(file, clocks.read)
    one.confirmed()
    clocks.time_passes(hours=1)
    assert counts(other)
    clocks.jump(hours=7)
    assert not counts(other)
    clocks.jump(hours=-7)
    assert not counts(one), "the other one noticed a jump"


# --- lists of jumps ------------------------------------------------------------------------------


EVENTS = st.one_of(
    st.tuples(st.just("time_passes"), st.sampled_from([2.5, 60.0, 1800.0, 3599.0, 3600.0, 9e4])),
    st.tuples(st.just("jump"), st.sampled_from([-4e6, -7200.0, -60.0, 60.0, 7200.0, 4e6])),
    st.tuples(st.sampled_from(["start_again", "process"]), st.none()),
)


def wrong_time(events, kind, tmp_path_factory):
    """Whether a time counted that was not steady for an hour, by the account of `Clocks`."""
    clocks, file = Clocks(START), tmp_path_factory.mktemp("c") / "clock.json"
    clock = kind(file, clocks.read)
    for name, seconds in events:
        if name == "process":
            clock = kind(file, clocks.read)
        else:
            getattr(clocks, name)(**({} if seconds is None else {"seconds": seconds}))
        if clock.confirmed() > clocks.counted:
            return True
    return False


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(events=st.lists(EVENTS, max_size=12))
def test_no_time_counts_that_was_not_steady_for_an_hour(events, tmp_path_factory):
    assert not wrong_time(events, SteadyClock, tmp_path_factory)


class Trusting(SteadyClock):
    """The wrong variant, as it was: whatever the clock shows counts."""

    def confirmed(self):
        return self()


class Forgetful(SteadyClock):
    """The wrong variant: two readings an hour apart are enough, whatever the clock did between."""

    def confirmed(self):
        now, first = self._read(), self._first or steady.load_reading(self.file)
        self._first = first or now
        steady._store(self.file, self._first)
        return now.time if now.seconds - self._first.seconds >= steady.HOUR else NEVER


@pytest.mark.parametrize("kind", [Trusting, Forgetful])
def test_a_wrong_rule_is_found(kind, tmp_path_factory):
    passes, jump = ("time_passes", 3600.0), ("jump", 4e6)
    lists = itertools.product([passes, jump], repeat=3)
    assert any(wrong_time(events, kind, tmp_path_factory) for events in lists)


def test_a_right_clock_counts_in_time_whatever_happened_before(clocks, file):
    for number in range(20):
        clock = SteadyClock(file, clocks.read)
        clocks.jump(days=(-1) ** number * 40)
        clock.confirmed()
        clocks.time_passes(minutes=7)
        clock.confirmed()
    clocks.time_passes(minutes=60)
    assert counts(clock)


# --- this machine, and a person ------------------------------------------------------------------


def test_both_clocks_of_this_machine_advance_together():
    first, second = machine.read_clocks(), machine.read_clocks()
    assert first.boot and steady.is_steady(first, second)
    assert abs((first.time - datetime.now(UTC)).total_seconds()) < 60
    assert 0 < first.seconds <= second.seconds


def test_two_clocks_are_read_again_if_the_process_slept_in_between(monkeypatch):
    since_boot = iter([0.0, 500.0, 500.0, 500.5])
    monkeypatch.setattr(machine.time, "clock_gettime", lambda _: next(since_boot))
    assert machine.read_clocks().seconds == 500.5


def test_a_person_who_has_another_clock_confirms_this_one(file, caplog):
    clock = SteadyClock(file)
    assert not counts(clock)
    now = datetime.now(UTC)
    with pytest.raises(UsageError, match="correct it first"):
        confirm(file, now + timedelta(minutes=3))
    assert not counts(clock)
    confirm(file, now + timedelta(minutes=1))
    assert counts(clock) and not caplog.messages
    assert [finding.good for finding in steadiness(file)] == [True]


def test_a_check_states_how_long_it_takes(clocks, file, monkeypatch):
    monkeypatch.setattr(machine, "read_clocks", clocks.read)

    def check():
        [finding] = steadiness(file)
        return finding.good, finding.text

    assert check() == (True, "counts an hour after the service has started")
    assert not file.exists()
    SteadyClock(file).confirmed()
    clocks.time_passes(minutes=20)
    assert check() == (True, "counts in 40 minutes")
    clocks.time_passes(minutes=40)
    assert check() == (True, "has been steady for an hour")
    clocks.jump(hours=1)
    good, text = check()
    assert not good and text.startswith("the clock jumped by +3,600 seconds; ")


def test_only_its_owner_reads_the_file(clocks, file):
    SteadyClock(file, clocks.read).confirmed()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_start_states_what_waits_if_it_is_due_soon(clocks, file, monkeypatch):
    monkeypatch.setattr(machine, "read_clocks", clocks.read)
    soon = clocks.now + timedelta(minutes=30)
    assert waiting(file, soon + timedelta(days=1)) == []
    [line] = waiting(file, soon)
    assert line.startswith("the clock counts from 2026-11-01T13:00:00Z: ")
    SteadyClock(file).confirmed()
    clocks.time_passes(minutes=40)
    assert waiting(file, soon) == [line]
    clocks.time_passes(minutes=20)
    assert waiting(file, soon) == []
