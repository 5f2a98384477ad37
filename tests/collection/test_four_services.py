"""Nobody lost, nobody twice: an inviter, two mixers, a collector, and what happens to them."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test as run

from tests.oracles.four_services import FourServices


def quick(examples):
    return settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        print_blob=False,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def test_nobody_is_lost_and_nobody_counts_twice():
    run(FourServices, settings=quick(8))
