"""Against whom a guarantee protects a person, and how well."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import Literal, NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.plans import Guarantee

Service = Literal["inviter", "first mixer", "second mixer", "collector"]  # with two mixers
Party = Literal[
    "collector",
    "readers",
    "shuffler",
    "shuffler and collector",
    "inviter",
    "first mixer",
    "second mixer",
    "both mixers",
    "second mixer and collector",
    "first mixer and collector",
    "inviter and collector",
    "both mixers and collector",
    "curator",  # whoever holds the answers, and adds noise to their counts
]
Services = frozenset[Service]

MIXERS: Services = frozenset({"first mixer", "second mixer"})
EACH: tuple[Services, ...] = tuple(
    frozenset[Service]({service})
    for service in ("inviter", "first mixer", "second mixer", "collector")
)
_TOGETHER: dict[Party, Services] = {
    "collector": frozenset({"collector"}),
    "readers": frozenset(),
    "inviter": frozenset({"inviter"}),
    "first mixer": frozenset({"first mixer"}),
    "second mixer": frozenset({"second mixer"}),
    "both mixers": MIXERS,
    "second mixer and collector": frozenset({"second mixer", "collector"}),
    "first mixer and collector": frozenset({"first mixer", "collector"}),
    "inviter and collector": frozenset({"inviter", "collector"}),
    "both mixers and collector": MIXERS | {"collector"},
}


class Against(NamedTuple):
    """The most that one party can learn. proved: whether that is a guarantee."""

    epsilon: float
    delta: float
    proved: bool


# Who adds noise to counts: two services; a curator, who holds the answers; or services that hide
# nothing from those who run them, since one party runs both or one of them cheated.
AddedBy = Literal["services", "curator", "exposed"]


def added_by(guarantee: Guarantee) -> AddedBy | None:
    """Return who adds noise to counts; None if the devices add all noise."""
    if guarantee.service_epsilon is None:
        return None
    if "curator" in guarantee.mixed_by:
        return "curator"
    return "exposed" if guarantee.service_epsilon == math.inf else "services"


class PartyLimits(NamedTuple):
    """The most that parties can learn about a person.

    afterwards: from everything that they recorded, if they followed the protocol. planned: if they
    deviated from it from the start; empty for a single shuffler, which has to be trusted not to.
    """

    afterwards: dict[Party, Against]
    planned: dict[Party, Against]


def against(guarantee: Guarantee) -> PartyLimits:
    """Return the most that each party can learn about a person, as the reports are mixed.

    If only the local guarantee holds, it holds against everybody.
    """
    kinds = guarantee.mixed_by
    limits = PartyLimits({}, {})
    if guarantee.service_epsilon is not None:
        limits.afterwards.update(_against_services(guarantee, guarantee.service_epsilon))
        return limits
    if "shuffler" in kinds or not kinds:
        limits.afterwards.update(_against_shuffler(guarantee, sealed=bool(kinds)))
    for kind in kinds:  # one plan has cells or not, so that there is at most one such kind
        if kind != "shuffler":
            cells = kind == "two-mixers-of-cells"
            for parties, planned in ((limits.afterwards, False), (limits.planned, True)):
                parties.update(against_two_mixers(guarantee, cells=cells, planned=planned))
    return limits


def _against_shuffler(guarantee: Guarantee, *, sealed: bool) -> dict[Party, Against]:
    """Return the most that each party can learn about a person if it acts alone and honestly.

    collector: opens and counts the reports. readers: of the tables, or of published reports.
    shuffler: knows the senders; it cannot open sealed reports, and then learns what readers do. The
    last party is both together, who can link names and reports. sealed: whether the reports come
    over a network.
    """
    mixed, local = _limits(guarantee)
    return {
        "collector": mixed,
        "readers": mixed,
        "shuffler": mixed if sealed else local,
        "shuffler and collector": local,
    }


def _against_services(guarantee: Guarantee, service: float) -> dict[Party, Against]:
    """Return the most that each party can learn if services add noise to counts.

    Each service knows its own noise, and faces that of the other. Whoever knows both, or holds the
    answers, can subtract all noise.
    """
    mixed, local = _limits(guarantee)
    alone = mixed._replace(epsilon=service)
    if "curator" in guarantee.mixed_by:
        return {"readers": mixed, "curator": local}
    return {
        "collector": alone,
        "readers": mixed,
        "shuffler": alone,
        "shuffler and collector": local,
    }


def against_two_mixers(guarantee: Guarantee, *, cells: bool, planned: bool) -> dict[Party, Against]:
    """Return the most that parties of a collection with two mixers can learn together.

    cells: whether messages are cells. planned: whether they deviate from the protocol from the
    start; otherwise, from their records afterwards.
    """
    mixed, local = _limits(guarantee)
    return {
        party: local if is_undone(services, cells=cells, planned=planned) else mixed
        for party, services in _TOGETHER.items()
    }


def is_undone(services: Services, *, cells: bool, planned: bool) -> bool:
    """Return whether the parties that run some services can undo the mixing, and only the local
    guarantee is left against them. Everybody knows the results, which may contain all reports.

    Both mixers know which sealed report came from where, and the collector opens it. An inviter can
    invent the people that hide a person, and then subtracts their reports from the results. A first
    mixer can pass on single reports of many people: nothing is proved about such sets of cells. See
    docs/protocol.md, "Who could cheat".
    """
    linked = services >= MIXERS | {"collector"}
    return linked or (planned and ("inviter" in services or (cells and "first mixer" in services)))


def coalitions(
    organizations: Iterable[Services] = EACH, *, cells: bool, planned: bool
) -> tuple[tuple[Services, ...], ...]:
    """Return the smallest groups of organizations that can undo the mixing together.

    organizations: the services that each one runs; by default, each runs one.
    """
    each = tuple(organizations)
    groups = (group for size in range(len(each)) for group in combinations(each, size + 1))
    undoing: list[tuple[Services, ...]] = []
    for group in groups:  # the smallest ones first
        services = frozenset[Service]().union(*group)
        larger = any({*smaller} <= {*group} for smaller in undoing)
        if not larger and is_undone(services, cells=cells, planned=planned):
            undoing.append(group)
    return tuple(undoing)


def _limits(guarantee: Guarantee) -> tuple[Against, Against]:
    """Return the limits with mixing and without it; the same if the guarantee is a local one."""
    mixed = Against(guarantee.epsilon, guarantee.delta, guarantee.proved)
    local = Against(guarantee.local_epsilon, 0.0, True)
    return mixed, local if analysis(guarantee.analysis).shuffled else mixed
