"""A machine on which time has passed, for processes that find this folder on PYTHONPATH.

Both clocks, that of the day and that since boot, are TESTS_SECONDS_LATER seconds ahead.
"""

import os
from datetime import timedelta

from incrowd.collection import machine

PASSED = timedelta(seconds=float(os.environ["TESTS_SECONDS_LATER"]))
now, clocks = machine.system, machine.read_clocks


def system():
    return now() + PASSED


def read_clocks():
    time, seconds, boot = clocks()  # its time is that of `system`, which is ahead
    return machine.ClockReading(time, seconds + PASSED.total_seconds(), boot)


machine.system, machine.read_clocks = system, read_clocks
