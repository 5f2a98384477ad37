"""The failing steps of a service: logged when a failure begins, changes or ends, and a metric.

A service repeats its work every few seconds, and devices send again. So a failure is not logged
each time. No line states anything about a person.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client.core import GaugeMetricFamily, Metric

from incrowd.errors import IncrowdError

LOG = logging.getLogger("incrowd.service")  # what failed, never for whom
STORING, KEYS, WORKING = "storing", "finding the keys", "working"  # of services with a store


class ServiceSteps:
    """The steps of a service's work, and why each one that currently fails does so.

    names: the names of all steps, for the metric.
    """

    def __init__(self, *names: str) -> None:
        self.names, self.failing = names, dict[str, str]()
        self._last: Exception | None = None

    @contextmanager
    def __call__(self, name: str, done: str = "") -> Iterator[None]:
        """Run a step in this block; log why it fails, or that it succeeds again.

        done: logged when it succeeded.
        """
        try:
            yield
        except Exception as error:
            if error is not self._last:  # it was not logged by a step within this one
                self._last = error
                self.fail(name, error)
            raise
        self.succeed(name)
        if done:
            LOG.info("%s", done)

    def fail(self, name: str, error: Exception) -> None:
        """Note that a step fails; log it unless it failed for the same reason before."""
        reason = log_text(error)
        if self.failing.get(name) != reason:
            self.failing[name] = reason
            LOG.error("%s failed: %s", name, reason)

    def succeed(self, name: str) -> None:
        """Note that a step succeeds; log it if it failed before."""
        if self.failing.pop(name, None) is not None:
            LOG.warning("%s succeeds again", name)

    def metrics(self) -> Iterator[Metric]:
        """Return a metric of the steps that fail."""
        text = "1 while a step of the service's work fails; the log states why."
        family = GaugeMetricFamily("incrowd_failing", text, labels=["step"])
        for name in self.names:
            family.add_metric([name], name in self.failing)
        yield family


def log_text(error: Exception) -> str:
    """Return the text for the log: our own message, which names no row, or only the error type."""
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"
    return str(error) if isinstance(error, IncrowdError) else type(error).__name__


def numbers(strata: Iterable[int]) -> str:
    """Return the numbers of strata for the log."""
    return "strata " + ", ".join(map(str, strata))
