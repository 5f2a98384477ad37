"""Nothing lost, nothing twice: random lists of what can happen, each device recognizable.

A process is killed before or after any statement, commit, file and message. After every list the
collector holds each acknowledged, not withdrawn upload exactly once, and repeats of a release are
the same bytes. Wrong shufflers, with one mistake each, are found.
"""

import gc
import re
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import run_state_machine_as_test as run
from sqlalchemy import update

from incrowd.collection.mixer.keeper import Keeper
from incrowd.collection.mixer.store import tables, writing
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.mixer.store.writing import Outcome
from tests.conftest import slowly
from tests.oracles.mixing import MERGED, two_mixers
from tests.oracles.simulation import Simulation
from tests.oracles.simulation_on_postgresql import OnPostgres

LISTS = 30


class OpenSimulation(Simulation):
    bundle, codes = MERGED, False


class MixersSimulation(Simulation):
    """The first of two mixers; nobody waits until everything is disposed of."""

    bundle = two_mixers()


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


@pytest.mark.parametrize("simulation", [Simulation, OpenSimulation, MixersSimulation])
def test_nothing_is_lost_and_nothing_is_twice(simulation):
    run(simulation, settings=quick(8))


@pytest.mark.slow
@pytest.mark.parametrize("simulation", [Simulation, OpenSimulation, MixersSimulation])
def test_nothing_is_lost_in_many_lists(simulation):
    run(simulation, settings=settings(quick(1500), stateful_step_count=50))


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
        with mock.patch.object(writing, "_mark", lambda *_, **__: True):
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


# What a race breaks may not break, or draw as much, when the same events are run again.
FOUND = AssertionError, ExceptionGroup, FlakyStrategyDefinition


LONG = (counter_outside, made_anew, withdrawn_in_two_steps)  # several seconds each


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends anywhere
@pytest.mark.parametrize(
    "wrong",
    [*(each for each in WRONG if each not in LONG), *slowly(*LONG)],
    ids=lambda wrong: wrong.__name__,
)
def test_a_wrong_shuffler_is_found(wrong):
    thorough = settings(quick(300), report_multiple_bugs=False, phases=[Phase.generate])
    with wrong(), pytest.raises(FOUND) as found:
        run(Hurried, settings=thorough)
    text = said(found.value)
    del found  # with it go the sites that were left as they stood
    gc.collect()
    assert re.search(WRONG[wrong], text)


def said(error):
    """Also if a list of events fails in one way, and in another when it is run again."""
    before = [error.__context__] if error.__context__ else []
    return " ".join([str(error), *map(said, [*getattr(error, "exceptions", ()), *before])])
