"""When strata are released or deleted: pure decisions, from what the store counts and the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from incrowd.collection.mixer.store.store import StratumState
from incrowd.collection.mixer.store.writing import FINAL, OPEN
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.plans.strata import Group, releases


def due(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> list[Group]:
    """The releases that are due: enough people, and the time or the wanted number."""
    still = [stratum for stratum in strata if stratum.state == OPEN]
    least, wanted = bundle.least_people, bundle.wanted
    if now < as_time(bundle.closes):
        return [(s.number,) for s in still if wanted is not None and s.people >= wanted]
    return releases({s.number: s.people for s in still}, least, bundle.small_strata)


def outdated(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> Group:
    """The strata that nobody will release any more."""
    if now < as_time(bundle.disposes):
        return ()
    released = {number for group in due(strata, now, bundle) for number in group}
    return tuple(s.number for s in strata if s.state == OPEN and s.number not in released)


def groups(strata: Sequence[StratumState], state: str) -> list[Group]:
    """The releases that are in a state, each with its strata."""
    firsts = sorted({s.release for s in strata if s.state == state and s.release is not None})
    return [tuple(s.number for s in strata if s.release == first) for first in firsts]


def is_over(strata: Sequence[StratumState]) -> bool:
    """Whether nothing is open, and nothing waits for the collector."""
    return all(stratum.state in FINAL for stratum in strata)
