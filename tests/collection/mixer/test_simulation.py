"""Nothing lost, nothing twice: random lists of what can happen, each device recognizable.

A process is killed before or after any statement, commit, file and message. After every list the
collector holds each acknowledged, not withdrawn upload exactly once, and repeats of a release are
the same bytes. Wrong shufflers, with one mistake each, are found.
"""

from unittest import mock

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test as run
from sqlalchemy import update

from incrowd.collection.mixer import keeper
from incrowd.collection.mixer.store import tables, writing
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.mixer.store.writing import UploadOutcome
from tests.conftest import slowly
from tests.oracles import services
from tests.oracles.mixing import MERGED, two_mixers
from tests.oracles.simulation import Simulation
from tests.oracles.simulation_on_postgresql import OnPostgres
from tests.oracles.wrong_services import (
    hears_nothing,
    mixes_again,
    quick,
    see,
    trusts_every_clock,
)


class OpenSimulation(Simulation):
    bundle, codes = MERGED, False


class MixersSimulation(Simulation):
    """The first of two mixers; nobody waits until everything is disposed of."""

    bundle = two_mixers()


class ServicesSimulation(Simulation):
    """The shuffler adds noise to the cells. It is killed also between drawing and sealing it."""

    bundle = services.bundle(wanted=30, strata=("north", "south"))


class Hurried(Simulation):
    """One stratum could be released from the beginning, and nobody hears that it came."""

    def __init__(self):
        super().__init__()
        self.arrive(30, 0)
        self.site.collector.answers_get_lost = True


class Swept(Hurried):
    """Somebody sends, and somebody withdraws, while the shuffler is killed at its first step, then
    at the second, and so on, until it survives."""

    def __init__(self):
        super().__init__()
        self.sweep(lambda step: self.arrive(1, 1))
        self.sweep(lambda step: self.withdraw(step, 1))

    def sweep(self, act):
        step, killed = 0, True
        while killed:
            store, self.kill = self.site.store, step
            act(step)
            step, killed = step + 1, self.site.store is not store


@pytest.mark.slow
@pytest.mark.parametrize(
    "simulation", [Simulation, *slowly(OpenSimulation, MixersSimulation, ServicesSimulation)]
)
def test_nothing_is_lost_and_nothing_is_twice(simulation):
    run(simulation, settings=quick(8))


@pytest.mark.slow
@pytest.mark.parametrize("simulation", [Simulation, OpenSimulation, MixersSimulation])
def test_nothing_is_lost_in_many_lists(simulation):
    run(simulation, settings=settings(quick(1500), stateful_step_count=50))


def killed_at(place):
    """The shuffler closes, and is killed at one of the places where it draws, seals, and writes."""
    one = ServicesSimulation()
    try:
        one.arrive(30, 0)
        one.kill = place
        for times in (1, 2):
            one.look(times, True)
            one.no_body_is_kept_that_nobody_signed()
    finally:
        one.teardown()


KILLS = range(32, 92)  # from the first draw to the header


@pytest.mark.slow
def test_a_kill_between_drawing_and_sealing_leaves_nothing():
    for place in KILLS:
        killed_at(place)


def bodies_stay():
    """A wrong shuffler: a body without a header stays beside the next one."""
    make = keeper.make_release

    def wrong(store, strata, folder, *given):
        left = {file: file.read_bytes() for file in folder.glob("*.body")}
        make(store, strata, folder, *given)
        for file, content in left.items():
            file.write_bytes(content)

    return mock.patch.object(keeper, "make_release", wrong)


@pytest.mark.slow
def test_a_body_that_stays_is_found():
    with bodies_stay(), pytest.raises(AssertionError, match="without a header is kept"):
        for place in KILLS:
            killed_at(place)


def on(server_, bundle_=None):
    """The simulation with a database of a server."""

    class Here(OnPostgres):
        server = server_
        bundle, codes = (bundle_, False) if bundle_ else (Simulation.bundle, True)

    return Here


@pytest.mark.slow
def test_on_postgresql_that_is_killed_and_has_no_room(own_postgres):
    run(on(own_postgres), settings=quick(4))


@pytest.mark.slow
@pytest.mark.parametrize("bundle", [None, MERGED], ids=["invited", "open"])
def test_on_postgresql_in_many_lists(own_postgres, bundle):
    run(on(own_postgres, bundle), settings=settings(quick(150), stateful_step_count=40))


def counter_outside():
    """The number of people is written in a transaction of its own."""
    accept = Store._accept

    def wrong(store, uploads, thorough):
        with mock.patch.object(writing, "count", lambda *_: None):
            found = accept(store, uploads, thorough)
        c = tables.counts.c
        for upload_, outcome in zip(uploads, found or (), strict=False):
            if outcome is UploadOutcome.STORED:
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
            return [UploadOutcome.STORED] * len(uploads)

    return mock.patch.object(Store, "_accept", wrong)


def code_marked_outside():
    """An invitation is marked as used in a transaction before the reports."""
    accept, mark = Store._accept, writing._mark

    def wrong(store, uploads, thorough):
        with store._writing() as connection:
            known = writing._present_of(connection, uploads, True)
            mark(connection, [u for u in uploads if u.rows[0][0] not in known])
        with mock.patch.object(writing, "_mark", lambda *_: True):
            return accept(store, uploads, thorough)

    return mock.patch.object(Store, "_accept", wrong)


def withdrawn_in_two_steps():
    """The rows go first, in a transaction of their own; a kill leaves the counter as it was."""

    def wrong(store, upload_):
        with store._writing() as connection:
            count = mock.patch.object(writing, "count", lambda *_: None)
            with count:
                open_ = writing.withdraw(connection, upload_)
        return open_

    return mock.patch.object(Store, "withdraw", wrong)


def some_are_dropped():
    """A release without the last report of the tags' order."""
    sealed_ = Store.sealed

    def wrong(store, numbers):
        *most, _ = sealed_(store, numbers)
        return iter([*most, most[0]])

    return mock.patch.object(Store, "sealed", wrong)


# Each with a simulation that sees it, and what that says of it.
WRONG = {
    counter_outside: (Swept, "the counter is wrong"),
    answered_before_commit: (Hurried, "lost, or not|nobody sent|too few were"),
    code_marked_outside: (Swept, "a right upload is refused"),
    mixes_again: (Hurried, "repeated with other bytes"),
    withdrawn_in_two_steps: (Swept, "the counter is wrong"),
    hears_nothing: (Hurried, "too few were released"),
    some_are_dropped: (Hurried, "a report is there twice"),
    trusts_every_clock: (Hurried, "by a clock that may be wrong"),
}


# Seconds each.
LONG = (
    *(counter_outside, answered_before_commit, mixes_again, withdrawn_in_two_steps),
    *(hears_nothing, some_are_dropped, trusts_every_clock),
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends anywhere
@pytest.mark.parametrize(
    "wrong",
    [*(each for each in WRONG if each not in LONG), *slowly(*LONG)],
    ids=lambda wrong: wrong.__name__,
)
def test_a_wrong_shuffler_is_found(wrong):
    simulation, why = WRONG[wrong]
    see(wrong, simulation, 300, why)
