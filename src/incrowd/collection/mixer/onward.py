"""The statement that a mixer signs and passes on, and its receiver: its bundle decides.

A shuffler signs a release of each group of strata, in one random order, for the collector. The
first of two mixers signs a single batch, in which each stratum has its own random order, for the
second mixer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from incrowd.collection.delivery import Courier, courier
from incrowd.collection.handover import sender
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.release import Header
from incrowd.plans.strata import StratumGroup

Passed = Header | Batch  # what a mixer signs


@dataclass(frozen=True)
class Onward(ABC):
    """The statement that a mixer signs for a bundle,
    with its body and the address to post it to."""

    kind: ClassVar[type[Passed]]

    bundle: Bundle

    @abstractmethod
    def courier(self, folder: Path) -> Courier:
        """Return how what was signed is passed on. folder: that of the mixer."""

    @abstractmethod
    def parts(self, group: StratumGroup) -> list[StratumGroup]:
        """Return the parts of a group of strata, each of which is in one random order."""

    @abstractmethod
    def statement(self, people: Mapping[StratumGroup, int], issued: int, body: bytes) -> Passed:
        """Return what is signed. people: uploads in each part. body: the SHA-256 of the reports."""


class ToCollector(Onward):
    """A shuffler's release of a group of strata."""

    kind = Header

    def courier(self, folder: Path) -> Courier:
        """Return how releases are passed on to the collector."""
        return sender(self.bundle.collector_address, "/release", folder)

    def parts(self, group: StratumGroup) -> list[StratumGroup]:
        """Return the whole group: its strata are mixed with each other."""
        return [group]

    def statement(self, people: Mapping[StratumGroup, int], issued: int, body: bytes) -> Header:
        """Return the header of a release."""
        ((strata, count),) = people.items()
        return Header(
            bundle=self.bundle.digest,
            people=count,
            issued=issued if self.bundle.codes else 0,
            used=count if self.bundle.codes else 0,
            reports=self.bundle.spans(count)[-1].stop,
            body=body,
            strata=strata,
        )


@dataclass(frozen=True)
class ToSecondMixer(Onward):
    """The only batch of the first of two mixers."""

    kind = Batch

    bundle: MixersBundle

    def courier(self, folder: Path) -> Courier:
        """Return how the batch is passed on to the second mixer."""
        return courier(self.bundle.second.address + "/batch")

    def parts(self, group: StratumGroup) -> list[StratumGroup]:
        """Return each stratum: the second mixer releases them separately."""
        return [(stratum,) for stratum in group]

    def statement(self, people: Mapping[StratumGroup, int], issued: int, body: bytes) -> Batch:
        """Return the header of the batch."""
        return Batch(self.bundle.digest, tuple((n, count) for (n,), count in people.items()), body)


def onward(bundle: Bundle) -> Onward:
    """Return what a mixer passes on for a bundle."""
    return ToSecondMixer(bundle) if isinstance(bundle, MixersBundle) else ToCollector(bundle)
