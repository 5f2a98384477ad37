"""Nobody lost, nobody twice: an inviter, two mixers, a collector, and what happens to them.

Random lists: people ask for tokens (some twice), send, and withdraw; answers get lost; clocks step
over opening, closing and disposal; any service or device is killed at any step. After every list,
the collector's reports are exactly those of the people who were confirmed. Wrong services, with
one mistake each, are seen.
"""

from contextlib import ExitStack
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test as run

from incrowd.collection.collector import keeper as collecting
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.inviter.keeper import InviterKeeper
from incrowd.collection.inviter.store import CodeState, InviterStore, decide, states
from incrowd.collection.mixer import keeper
from incrowd.collection.mixer.second import keeper as second
from incrowd.collection.mixer.second import releasing
from incrowd.collection.mixer.second.keeper import SecondKeeper, load_keys
from incrowd.collection.mixer.store import writing
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.mixer.store.writing import OPEN
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.mixing import Batch, Invitations, MixedRelease
from incrowd.collection.protocol.signed import sign
from incrowd.collection.taking import Taking
from tests.conftest import slowly
from tests.oracles import mixers
from tests.oracles.four_services import BUNDLE, NAMES, FourServices
from tests.oracles.wrong_services import (
    hears_nothing,
    mixes_again,
    quick,
    see,
    trusts_every_clock,
)


class Hurried(FourServices):
    """From the beginning, there is a crowd in one stratum, too few with tokens in another, and too
    few in the third; and nobody hears the answers of the second mixer and the collector."""

    def __init__(self):
        super().__init__()
        for count, stratum, spoils in ((24, 0, False), (2, 1, False), (22, 1, True)):
            self.people_take_part(count, stratum, spoils)
        self.parties["inviter"].deaf = True
        self.people_take_part(2, 2, False)
        self.parties["inviter"].deaf = False
        self.a_service_is("second", False, True)
        self.a_service_is("collector", False, True)


class Late(Hurried):
    """The second mixer has the batch, and has not looked at it yet."""

    def __init__(self):
        super().__init__()
        self.it_is_time("closes")
        self.services_look(["inviter", "first"])


class Swept(Hurried):
    """After closing, each service is killed at its first step, then at the second, and so on, until
    it survives."""

    def __init__(self):
        super().__init__()
        self.it_is_time("closes")
        for name in NAMES:
            step, survives = 0, False
            while not survives:
                self.kill = step
                with self.armed():
                    survives = self.parties[name].work()
                step += 1


def test_nobody_is_lost_and_nobody_counts_twice():
    run(FourServices, settings=quick(4))


@pytest.mark.slow
@pytest.mark.parametrize("simulation", [FourServices, Hurried, Late, Swept])
def test_nobody_is_lost_in_many_lists(simulation):
    run(simulation, settings=settings(quick(400), stateful_step_count=50))


# --- wrong services, each with what the simulation says of it ------------------------------------


def inviter_forgets():
    """Codes that got tokens are not written down."""

    def wrong(store, requests):
        unused = decide(requests, dict.fromkeys((each.tag for each in requests), CodeState()))
        return unused[0]

    return mock.patch.object(InviterStore, "take", wrong)


def inviter_keeps_its_keys():
    return mock.patch.object(InviterKeeper, "_end", lambda keeper: None)


def inviter_counts_again():
    """Nothing is closed before it is acknowledged: the statement is made when it is sent."""
    deliver = InviterKeeper._deliver

    def wrong(keeper):
        with keeper.store._writing() as connection:
            issued, used = keeper.store._count(connection)
            start = sign(Invitations(BUNDLE.digest, issued, used), mixers.INVITER).encoded
            connection.execute(states.update().values(start=start))
        deliver(keeper)

    return mock.patch.object(InviterKeeper, "_deliver", wrong)


def first_mixer_releases_small_strata():
    def wrong(strata, now, bundle):
        closed = now >= as_time(bundle.closes)
        group = tuple(s.number for s in strata if s.state == OPEN and s.people)
        return [group] if closed and group else []

    stack = ExitStack()
    stack.enter_context(mock.patch.object(keeper, "due", wrong))
    stack.enter_context(mock.patch.object(Batch, "check", lambda *_: None))
    return stack


def first_mixer_answers_before_it_stores():
    """An upload is confirmed, and lost."""

    def wrong(store, uploads, thorough):
        with store._writing() as connection:
            outcomes = writing.store(connection, uploads, thorough)
            connection.rollback()
            return outcomes

    return mock.patch.object(Store, "_accept", wrong)


def takes_without_storing(kind):
    """What arrives is acknowledged before it is on disk; here, it never is."""
    done = Taking.done

    def wrong(taking):
        if taking.shelf.kind is not kind:
            return done(taking)
        return taking.signed

    return mock.patch.object(Taking, "done", wrong)


def second_mixer_forgets():
    return takes_without_storing(Batch)


def second_mixer_keeps_its_keys():
    return mock.patch.object(SecondKeeper, "_settle", lambda keeper: None)


def second_mixer_destroys_early():
    """The keys are gone before the releases are on disk: a kill between the two loses all."""
    make = SecondKeeper._make

    def wrong(keeper, batch):
        keys = load_keys(keeper.settings, keeper.bundle)
        keeper._destroy_keys()
        with mock.patch.object(second, "load_keys", lambda *_: keys):
            make(keeper, batch)

    return mock.patch.object(SecondKeeper, "_make", wrong)


def second_mixer_releases_small_strata():
    stack = ExitStack()
    stack.enter_context(mock.patch.object(releasing, "is_enough", lambda *_: True))
    stack.enter_context(mock.patch.object(MixedRelease, "check", lambda *_: None))
    return stack


def collector_forgets():
    return takes_without_storing(MixedRelease)


def collector_destroys_early():
    """As soon as a release has arrived."""

    def wrong(places, bundle, now):
        return bool(places.releases(bundle).received())

    return mock.patch.object(collecting, "is_complete", wrong)


def device_draws_again():
    """What is sent is not stored before it has its tokens."""

    def once(memory, bundle, draw):
        upload = memory.stored(bundle)
        return (draw(), False) if upload is None else (upload, True)

    def exchange(memory, bundle, _, upload):
        memory.keep(bundle, upload)
        return upload

    return mock.patch.multiple(DeviceMemory, once=once, exchange=exchange)


WRONG = {
    inviter_forgets: (Hurried, "two requests for one code|used invitations"),
    inviter_keeps_its_keys: (Hurried, "a key outlives the first byte"),
    inviter_counts_again: (Hurried, "two statements|used invitations|than it invited"),
    hears_nothing: (Hurried, "lost|too early"),
    mixes_again: (Hurried, "two statements"),
    first_mixer_releases_small_strata: (Hurried, "too few are released"),
    first_mixer_answers_before_it_stores: (Hurried, "is lost"),
    second_mixer_forgets: (Hurried, "lost|too early"),
    second_mixer_keeps_its_keys: (Hurried, "a key outlives the first byte"),
    second_mixer_destroys_early: (Swept, "too early|lost|cannot start again"),
    second_mixer_releases_small_strata: (Late, "fewer than a crowd"),
    collector_forgets: (Late, "lost|too early"),
    collector_destroys_early: (Late, "too early|keeps a key|acknowledged is lost"),
    trusts_every_clock: (Hurried, "too early|lost|a right request is refused: closed"),
    device_draws_again: (Hurried, "a right request is refused: code-used"),
}
QUICK = (second_mixer_forgets,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends anywhere
@pytest.mark.parametrize(
    "wrong",
    [*QUICK, *slowly(*(each for each in WRONG if each not in QUICK))],
    ids=lambda wrong: wrong.__name__,
)
def test_a_wrong_service_is_seen(wrong):
    simulation, why = WRONG[wrong]
    see(wrong, simulation, 200, why)
