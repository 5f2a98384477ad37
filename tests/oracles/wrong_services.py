"""Services with one mistake each that several simulations have to see, and how they are seen."""

import gc
import re
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import run_state_machine_as_test as run

from incrowd.collection.mixer.keeper import Keeper
from incrowd.collection.mixer.store import tables
from incrowd.collection.steady import SteadyClock

# What a race breaks may not break, or draw as much, when the same events are run again.
SEEN = AssertionError, ExceptionGroup, FlakyStrategyDefinition


def quick(examples):
    """So many short lists, the same in each run."""
    return settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        print_blob=False,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def see(wrong, simulation, examples, why):
    """Check that a simulation fails with a wrong service, for that reason, a regular expression."""
    once = settings(quick(examples), report_multiple_bugs=False, phases=[Phase.generate])
    with wrong(), pytest.raises(SEEN) as failure:
        run(simulation, settings=once)
    text = said(failure.value)
    del failure  # with it go the sites that were left as they stood
    gc.collect()
    assert re.search(why, text)


def said(error):
    """Also if a list of events fails in one way, and in another when it is run again."""
    before = [error.__context__] if error.__context__ else []
    return " ".join([str(error), *map(said, [*getattr(error, "exceptions", ()), *before])])


def mixes_again():
    """What was not acknowledged is mixed and signed again."""
    deliver = Keeper._deliver

    def wrong(keeper, group):
        with keeper.store._writing() as connection:
            connection.execute(tables.releases.delete())
        keeper._make(group)
        deliver(keeper, group)

    return mock.patch.object(Keeper, "_deliver", wrong)


def trusts_every_clock():
    """What a clock shows counts at once."""
    return mock.patch.object(SteadyClock, "confirmed", SteadyClock.__call__)


def hears_nothing():
    """Whatever becomes of what was sent, it is taken as delivered."""
    return mock.patch.object(
        Keeper, "_deliver", lambda keeper, group: keeper.store.acknowledge(group)
    )
