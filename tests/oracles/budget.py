"""What the quick tests cost, told at their end: whoever adds a test sees when they become too slow.

It only tells. A machine that is busy or slow makes no test fail.
"""

import os
import resource
import time
from collections import Counter

import pytest

MINUTES, PROCESSOR_MINUTES = 3, 6  # of `make test`, on two idle cores
SHOWN = 10
ASKED = "TESTS_BUDGET"  # the variable by which `make test` asks for this


def measure(config):
    """Tell at the end of a run what it cost, if `make test` asks for that."""
    if ASKED in os.environ:
        config.pluginmanager.register(Costs(config))


def processor_time():
    """The seconds of this process, and of the processes that it started and that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def text(seconds, processor, costs):
    """What a run took; the most expensive tests if that is more than the limit.

    costs: processor time in seconds by test.
    """
    took = f"{seconds / 60:.1f} minutes, {processor / 60:.1f} of processor time"
    yield f"{took} (limit: {MINUTES} and {PROCESSOR_MINUTES}, see CONTRIBUTING.md)"
    if processor > 60 * PROCESSOR_MINUTES or seconds > 60 * MINUTES:
        yield "the most expensive tests, in seconds of processor time:"
        for test, cost in Counter(costs).most_common(SHOWN):
            yield f"{cost:7.2f} {test}"


class Costs:
    """A plugin that measures every test where it runs, and adds up where the run is reported."""

    def __init__(self, config):
        self.config, self.costs, self.start, self.workers = config, Counter(), time.monotonic(), 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        before = processor_time()
        result = yield
        self.costs[item.nodeid] += processor_time() - before
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["costs"] = self.costs.most_common(SHOWN)
            self.config.workeroutput["processor time"] = processor_time()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        told = getattr(node, "workeroutput", {})  # nothing of a worker that crashed
        self.costs.update(dict(told.get("costs", ())))
        self.workers += told.get("processor time", 0.0)

    def pytest_terminal_summary(self, terminalreporter):
        own = resource.getrusage(resource.RUSAGE_SELF)
        processor = self.workers + own.ru_utime + own.ru_stime
        terminalreporter.section("costs")
        for line in text(time.monotonic() - self.start, processor, self.costs):
            terminalreporter.write_line(line)
