"""Sentences about guarantees, looked up by the codes that plans and `incrowd.guarantees` use.

Most are for readers without mathematics. Figures are rounded towards less privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.accountant.channels.base import rounded_down
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.guarantees.parties import (
    EACH,
    AddedBy,
    Against,
    Party,
    Service,
    Services,
    added_by,
    against,
    coalitions,
    is_undone,
)
from incrowd.number_text import bound, chance, factor, written_out
from incrowd.plans import Guarantee
from incrowd.plans.plan import Assumption, Mixing, Reduction
from incrowd.views import with_and

_REDUCED: dict[Reduction, str] = {
    "one-party": "one party both mixes and opens the reports",
    "thinned-cells": (
        "the organization that opens the reports also runs the first mixer, which could pass on "
        "single reports of many people; for tables of cells, nothing else is proved then"
    ),
    "permanent-responses": (
        "permanent responses are repeated from round to round, and can be matched with the record "
        "of who took part in which rounds"
    ),
    "contradicted": (
        "one party signed two different statements about the same reports, which proves that it "
        "cheated"
    ),
    "fewer-people": "fewer people took part than the promise requires",
    "simulation": (
        "the reports come from a simulation and protect nobody; what follows applies to reports "
        "made without a seed"
    ),
}


def promise_lines(guarantee: Guarantee) -> tuple[str, ...]:
    """Return a guarantee with what it assumes: heading, sentence, symbols, and warnings."""
    return (
        guarantee_heading(guarantee),
        guarantee_sentence(guarantee),
        guarantee_symbols(guarantee),
        *(f"Warning: {text}." for text in warnings(guarantee)),
    )


def guarantee_heading(guarantee: Guarantee) -> str:
    """Return the heading of a promise: "Guarantee" only if it is proved and holds for the
    collection."""
    if "simulation" in guarantee.reduced_by:
        return "No guarantee"
    if not guarantee.proved:
        return "Privacy, no guarantee"
    return "Reduced guarantee" if guarantee.reduced_by else "Guarantee"


def reduced_sentence(guarantee: Guarantee) -> str:
    """State why the plan's promise does not hold for a collection; "" if it holds."""
    if not guarantee.reduced_by:
        return ""
    reasons = "; ".join(_REDUCED[reason] for reason in guarantee.reduced_by)
    unmixed = guarantee.epsilon < math.inf and not analysis(guarantee.analysis).shuffled
    unmixed &= guarantee.reduced_by != ("simulation",)
    local = " Only the local guarantee remains." if unmixed else ""
    return f"The plan's promise does not hold for this collection: {reasons}.{local}"


def guarantee_sentence(guarantee: Guarantee) -> str:
    """Return the guarantee and its assumptions in plain words; figures are rounded up.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of a plan or of estimates.

    Returns
    -------
    str
        If the plan's own guarantee does not hold, the reason comes first. With two mixers, the text
        ends with who could cheat.

    Raises
    ------
    UsageError
        If the argument is not a guarantee.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> incrowd.guarantee_sentence(plan.guarantee).startswith("Changing any one person's answer")
    True
    """
    cheats = f" {against_sentence(guarantee)}" if mixed_twice(guarantee) else ""
    return f"{promise_sentence(guarantee)}{cheats}"


def mixed_twice(guarantee: Guarantee) -> bool:
    """Return whether some of the reports pass two mixers."""
    return not {"two-mixers", "two-mixers-of-cells"}.isdisjoint(guarantee.mixed_by)


def promise_sentence(guarantee: Guarantee) -> str:
    """Return the same without who could cheat, for outputs that state it separately, with names."""
    if guarantee.epsilon == math.inf:
        return f"{reduced_sentence(guarantee)} {_EXPOSED}".strip()
    assumed = assumption_text(guarantee)
    joint = _JOINTS[guarantee.assumptions[0].code]
    claim = f"{_promised(guarantee)}{joint}{assumed[:1].lower()}{assumed[1:]}"
    return f"{reduced_sentence(guarantee)} {claim}".strip()


_EXPOSED = "Nothing is left of it: what a person sends shows her answers."
_JOINTS = {
    "whole-crowd": ". This holds provided that ",
    "every-crowd-tried": "; this assumes: ",
    "crowd-alike": "; ",
    "services-apart": ". This holds provided that ",
    "nobody-trusted": "; ",
}


def _promised(guarantee: Guarantee) -> str:
    """Return the promise in plain words, without a period."""
    if not analysis(guarantee.analysis).shuffled:
        return (
            "What a person sends can change the odds of any guess about that person's answers by a "
            f"factor of at most {factor(guarantee.epsilon)}"
        )
    beginning = (
        "Changing" if guarantee.proved else f'By the analysis "{guarantee.analysis}": changing'
    )
    published = " from the published results" if added_by(guarantee) else ""
    return (
        f"{beginning} any one person's answer changes the probability of any conclusion{published} "
        f"by at most a factor of {factor(guarantee.epsilon)}, plus {chance(guarantee.delta)}"
        f"{_of_services(guarantee)}"
    )


def _of_services(guarantee: Guarantee) -> str:
    """Return what one service alone can conclude, if that is more than what readers can."""
    alone = guarantee.service_epsilon
    if alone is None or not guarantee.epsilon < alone < math.inf:
        return ""
    return (
        f"; for what the shuffler alone, or the collector alone, can conclude, the factor is "
        f"{factor(alone)}"
    )


def guarantee_formula(guarantee: Guarantee) -> str:
    """Return the promise as an inequality."""
    if guarantee.epsilon == math.inf:
        return "No inequality holds: what a person sends shows her answers."
    factor = f"e^{bound(guarantee.epsilon, 6)}"
    if not analysis(guarantee.analysis).shuffled:
        return (
            "For all answers x and x′ of one person, and every set S of what that person can send: "
            f"P[sent(x) ∈ S] ≤ {factor} · P[sent(x′) ∈ S]."
        )
    alike = ", where all others gave the same answer"
    crowds = alike if guarantee.assumptions[0].code == "crowd-alike" else ""
    whose = "the crowd" if guarantee.crowd else "any crowd, however small,"
    return (
        f"For all answers D and D′ of {whose} that differ in one person's{crowds}, and "
        "every set S of what can be published: "
        f"P[published(D) ∈ S] ≤ {factor} · P[published(D′) ∈ S] + {bound(guarantee.delta, 12)}."
    )


# What a promise assumes.


def assumption_text(guarantee: Guarantee) -> str:
    """Return all assumptions of a guarantee as a sentence.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of a plan or of estimates.

    Returns
    -------
    str
        The sentence.

    Raises
    ------
    UsageError
        If the argument is not a guarantee.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> text = incrowd.assumption_text(plan.guarantee)
    >>> text.startswith("The shuffler removes every link between a report and its sender")
    True
    """
    kinds, adding = guarantee.mixed_by, added_by(guarantee) or "services"
    return " ".join(assumption_sentence(each, kinds, adding) for each in guarantee.assumptions)


def assumption_sentence(
    assumption: Assumption, mixed_by: Sequence[Mixing] = (), adding: AddedBy = "services"
) -> str:
    """Return one assumption of a promise. mixed_by: as for a guarantee. adding: who adds noise to
    counts, if the assumption is about that."""
    number = assumption.number or 1
    text = _ASSUMPTIONS[assumption.code].format(
        added=_ADDED[adding],
        unlinked=", ".join(map(_UNLINKED.__getitem__, mixed_by or ("shuffler",))),
        number=f"{number:,}",
        times=f"{number:,} rounds" if number > 1 else "one round",
        asked=_asked(assumption),
        questions=" and ".join(assumption.questions),
        which=f" to {with_and(assumption.questions)}" if assumption.questions else "",
        are="is" if len(assumption.questions) == 1 else "are",
        them="it" if len(assumption.questions) == 1 else "them",
    )
    return f"{text[:1].upper()}{text[1:]}"


_TWO = "the two mixers do not both work with the collector, the inviter admits real people only"
_UNLINKED: dict[Mixing, str] = {
    "shuffler": "the shuffler removes every link between a report and its sender",
    "two-mixers": _TWO,
    "two-mixers-of-cells": f"{_TWO}, the first mixer passes on whole uploads only",
    "services": "the shuffler removes every link between a report and its sender",
    "curator": "the party that holds the answers passes on the reports in random order",
}
_ANY_NUMBER = (
    "These counts need no crowd: this holds for any number of people, whatever they answer"
)
_ADDED: dict[AddedBy, str] = {
    "services": (
        "the shuffler and the collector each add noise to the counts, as the plan specifies, and "
        "do not work together: both together could remove the noise and read every answer. "
        f"{_ANY_NUMBER}."
    ),
    "curator": (
        "the party that holds the answers adds noise to the counts, as the plan specifies, and "
        "publishes nothing else. This protects people from readers of the results, and not from "
        f"that party, which can read every answer. {_ANY_NUMBER}."
    ),
    "exposed": (
        "noise is added to the counts, as the plan specifies, and nothing else is published. This "
        "protects people from readers of the results, and not from whoever runs the services, who "
        f"can read every answer. {_ANY_NUMBER}."
    ),
}


def _asked(assumption: Assumption) -> str:
    """Return the earlier surveys of an assumption, with their questions if it names any."""
    if not any(plan.questions for plan in assumption.asked):
        return ", ".join(plan.survey for plan in assumption.asked)
    return "; ".join(f"{plan.survey}: {', '.join(plan.questions)}" for plan in assumption.asked)


_LINKED = (
    "are charged as if they carried names, since the difference between two releases can be one "
    "person's response"
)
_ASSUMPTIONS: dict[str, str] = {
    "whole-crowd": (
        "{unlinked}, and the whole crowd of honest people sends as the plan specifies; nothing is "
        "assumed about their answers."
    ),
    "every-crowd-tried": (
        "{unlinked}, and at least the stated number of honest people take part, each sending as "
        "the plan specifies. Every possible collection of their answers was checked."
    ),
    "crowd-alike": (
        "This is exact for homogeneous crowds, in which everybody else holds the same record; it "
        "is only a lower bound on the worst case, and therefore not a guarantee. It also "
        "assumes that {unlinked}."
    ),
    "services-apart": "{added}",
    "nobody-trusted": (
        "Nobody needs to be trusted: this holds for everything a person sends, even with a name on "
        "it."
    ),
    "rows": "No person has more than {number} rows in the answers.",
    "earlier-rows": "No person had more than {number} rows in the answers of {asked}.",
    "rounds": (
        "The promise covers {number} rounds together, and that crowd takes part in each of them."
    ),
    "permanent-one-release": (
        "Permanent responses are covered in one release only: the difference between two releases "
        "can be the response of one person who moved to another stratum."
    ),
    "permanent-linked": (
        f"Permanent responses{{which}} {_LINKED}. All rounds are covered for as long as a person's "
        "answers to these questions stay the same; everything else is covered for {times}."
    ),
    "permanent-same-people": (
        "Permanent responses{which} are repeated in every round. All rounds are covered for as "
        "long as the same people take part and their answers to these questions stay the same; "
        "everything else is covered for {times}."
    ),
    "permanent-same-answers": (
        "Permanent responses are repeated in every round. All rounds are covered for as long as a "
        "person's answers to these questions stay the same; everything else is covered for {times}."
    ),
    "earlier-permanent-one-release": (
        "Permanent responses of earlier rounds ({asked}) are covered in one release only."
    ),
    "earlier-permanent-same-people": (
        "Permanent responses of earlier rounds ({asked}) are covered for as long as the same "
        "people took part in all of these rounds and their answers stayed the same."
    ),
    "earlier-permanent-linked": (
        f"Permanent responses of earlier rounds ({{asked}}) {_LINKED}. They are covered for as "
        "long as a person's answers to these questions stayed the same."
    ),
    "earlier-linked": (
        "Reports of earlier rounds that mixing did not protect ({asked}) are charged as if they "
        "carried names."
    ),
    "earlier-open": (
        "The guarantee does not cover what was sent openly in earlier rounds ({asked})."
    ),
    "open": (
        "The guarantee does not cover {questions}, which {are} sent openly: people who answer "
        "{them} alike form a crowd of their own."
    ),
}


def guarantee_symbols(guarantee: Guarantee) -> str:
    """Return the guarantee as an expert writes it, and what remains of it without the shuffler."""
    if guarantee.epsilon == math.inf:
        return "No (ε, δ) holds."
    pair = f"(ε, δ) = ({bound(guarantee.epsilon, 6)}, {bound(guarantee.delta)})"
    kind = f"{pair}-differential privacy" if guarantee.proved else pair
    shuffled = analysis(guarantee.analysis).shuffled
    alone = f" {without_shuffler(guarantee)}" if shuffled else ""
    crowd = f"a crowd of {guarantee.crowd:,}" if guarantee.crowd else "any number of people"
    service = guarantee.service_epsilon
    if service is not None and guarantee.epsilon < service < math.inf:
        alone = f" The shuffler alone, and the collector alone: ε = {bound(service, 6)}.{alone}"
    return (
        f'{kind} by the analysis "{guarantee.analysis}", for {crowd}; '
        f"neighboring collections differ in one person's answers.{alone}"
    )


# The worst pair of records, for experts.


def worst_pair(worst: Sequence[WorstPair]) -> str:
    """Return the worst pair of records according to the certificate, for each kind of report."""
    return f"Worst pair: {'; '.join(map(_pair, worst))}."


def _pair(worst: WorstPair) -> str:
    by = f" (by {worst.by})" if worst.by else ""
    return f"{_PAIRS[worst.code](worst)}{by}"


def _relation(worst: WorstPair) -> str:
    """Return the records x and x', by the number of places in which each, and both,
    differ from z."""
    whose = "the crowd's" if worst.crowd == "alike" else "the others'"
    x, other, place = worst.x or 0, worst.other or 0, worst.place or "bit"
    if not x or not other:
        return f"{whose} record, and one that differs from it in {_many(x + other, place)}"
    if x == other:
        differ = f"two records that each differ from {whose} in {_many(x, place)}"
    else:
        differ = f"two records that differ from {whose} in {x} and in {_many(other, place)}"
    return f"{differ}, {worst.both or 'none'} of them the same"


def _distance(worst: WorstPair) -> str:
    which = "the farthest pair" if worst.farthest else "a nearer pair"
    return f"two records {_many(worst.bits or 0, 'bit')} apart, {which}"


def _collection(worst: WorstPair) -> str:
    x, other = worst.records or ("", "")
    others = ", ".join(f"{group.people:,} times {group.record}" for group in worst.others or ())
    return f"x = {x}, x' = {other}, the others hold {others or 'nothing'}"


def _shifted(worst: WorstPair) -> str:
    return f"any two answers that shift {_many(worst.number or 0, 'count')} by one"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


_PAIRS: dict[str, Callable[[WorstPair], str]] = {
    "relation": _relation,
    "apart": _distance,
    "classes": lambda worst: f"any of {worst.number} kinds of pairs",
    "any-pair": lambda _: "any pair of records, in any crowd",
    "any-crowd": lambda _: "either answer, in any crowd",
    "collection": _collection,
    "no-crowd": lambda _: "the farthest pair, without a crowd",
    "crowd-too-small": lambda _: "any; the crowd is too small to hide the report",
    "shifted-cells": _shifted,
    "beyond-local": lambda _: "none: this bound holds without a crowd",
}


# Against whom.

Organizations = Mapping[Service, str]  # the name of the one that runs each service


class TransportFacts(NamedTuple):
    """The statements of a bundle about how reports travel.

    organizations: as for `against_sentence`; empty with one shuffler. post_quantum: whether the
    layer that a recorder of traffic sees is sealed with X-Wing.
    """

    organizations: Organizations
    post_quantum: bool


def against_sentence(guarantee: Guarantee, organizations: Organizations | None = None) -> str:
    """Return the most that each party can learn, in words and figures.

    organizations: the organizations of a collection with two mixers, if its bundle is known; one
    that runs several services has the same name for each. By default, only the services are named.
    """
    if not mixed_twice(guarantee):
        return _against_one_by_one(guarantee)
    texts = (
        _against_one_by_one(guarantee)
        if kind == "shuffler"
        else " ".join(_against_two_mixers(guarantee, organizations, kind == "two-mixers-of-cells"))
        for kind in guarantee.mixed_by
    )
    return " ".join(texts)


def _against_one_by_one(guarantee: Guarantee) -> str:
    """Return the limit of each party; parties with the same limit are named together."""
    parties: dict[str, list[str]] = {}
    limits = against(guarantee).afterwards
    for party, name in _PARTIES.items():
        if party in limits:
            parties.setdefault(_limit(limits[party]), []).append(name)
    listed = (f"{with_and(names)}: {figures}" for figures, names in parties.items())
    text = "; ".join(listed)
    return f"{text[:1].upper()}{text[1:]}."


def _against_two_mixers(
    guarantee: Guarantee, organizations: Organizations | None, cells: bool
) -> Iterator[str]:
    limits = against(guarantee).afterwards
    mixed, local = (_limit(limits[party]) for party in ("collector", "both mixers and collector"))
    if mixed == local:
        yield f"Against everybody, whoever works together: {mixed}."
        return
    each = _services(organizations) if organizations else EACH
    (linking,) = afterwards = coalitions(each, cells=cells, planned=False)
    two = " and no two together" if len(linking) > 2 else ""
    yield (
        f"Afterwards, from everything that was recorded, no single party{two} can learn more than "
        f"this: {mixed}. Only {_named(linking, organizations)} together can: {local}."
    )
    for group in coalitions(each, cells=cells, planned=True):
        if group not in afterwards:
            services = frozenset[Service]().union(*group)
            means = (_MEANS[s] for s in _MEANS if s in services and _suffices(s, cells))
            yield (
                f"If planned from the start, {_named(group, organizations)} could "
                f"{' or '.join(means)}, and then learn as much, even from the results alone."
            )
    if not organizations:
        yield "An organization that runs several of these services counts as all of them."


def _suffices(service: Service, cells: bool) -> bool:
    return is_undone(frozenset({service}), cells=cells, planned=True)


def _services(organizations: Organizations) -> tuple[Services, ...]:
    """Return the services that each organization runs."""
    return tuple(
        frozenset(service for service, name in organizations.items() if name == each)
        for each in dict.fromkeys(organizations.values())
    )


def _named(group: Sequence[Services], organizations: Organizations | None) -> str:
    """Name some organizations with their services: "Institute (collector)"."""
    if not organizations:
        return with_and([f"the {service}" for services in group for service in services])
    return with_and(
        [
            f"{name} ({with_and([s for s, runs in organizations.items() if runs == name])})"
            for name in dict.fromkeys(organizations.values())
            if any(organizations[service] == name for services in group for service in services)
        ]
    )


def _limit(limit: Against) -> str:
    if limit.epsilon == math.inf:
        return "nothing is left, every answer can be read"
    return f"ε = {written_out(limit.epsilon)}, δ = {bound(limit.delta)}"


_PARTIES: dict[Party, str] = {
    "collector": "the party that opens and counts the reports",
    "readers": "everyone who reads the results",
    "shuffler": "the shuffler alone",
    "shuffler and collector": "both together",
    "curator": "whoever holds the answers",
}
_MEANS: dict[Service, str] = {
    "inviter": "invent the people that hide a person",
    "first mixer": "pass on single reports of many people, about which nothing is proved",
}


def recorded_sentence(guarantee: Guarantee, post_quantum: bool) -> str:
    """Return what remains if somebody records all traffic now and breaks X25519 later.

    post_quantum: whether what a device sends is sealed with X-Wing.
    """
    if post_quantum:
        return (
            "Reports are sealed with X-Wing: recorded traffic reveals nothing more even if quantum "
            "computers break X25519."
        )
    left = f"is left with the local guarantee: {local_figures(guarantee)}"
    if guarantee.local_epsilon == math.inf:
        left = "can read every answer"
    return (
        "Reports are sealed with X25519. Whoever records the traffic and breaks X25519 later, as "
        f"quantum computers may, {left}."
    )


# Other ways to send a survey.


def way_words(code: str, limit: float | None = None) -> str:
    """Name a way to send a survey. limit: on reports per person, or on the local epsilon."""
    return _WAYS[code].format(limit=limit or 0)


_WAYS = {
    "joint": "one joint report",
    "joint-copies": "joint, with copies",
    "table-messages": "a message per table",
    "table-messages-copies": "a message per table, with copies",
    "more-reports": "up to {limit:g} reports",
    "local-epsilon": "local ε at most {limit:g}",
    "local": "no shuffler (local)",
    "device-noise": "noise from the devices",
}


# Without the shuffler, and warnings.


def without_shuffler(guarantee: Guarantee) -> str:
    """State what remains if the shuffler fails, or works with the collector."""
    if guarantee.local_epsilon == math.inf:
        return _BOTH[added_by(guarantee) or "services"]
    return (
        "If reports can be linked to their senders, what remains is the local guarantee: "
        f"{local_figures(guarantee)}."
    )


_BOTH: dict[AddedBy, str] = {
    "services": (
        "If the shuffler and the collector work together, nothing is left: they can read every "
        "answer."
    ),
    "curator": "Nothing protects the answers from whoever holds them.",
    "exposed": "Whoever runs the services can read every answer.",
}


def local_figures(guarantee: Guarantee) -> str:
    """Return the local guarantee of everything a person sends, in symbols; in words, if nothing is
    left of it."""
    return left_in_words(guarantee.local_epsilon)


def left_in_words(epsilon: float) -> str:
    """Return a local guarantee in symbols, or that nothing is left of it."""
    return NOTHING_LEFT if epsilon == math.inf else f"ε = {written_out(epsilon)}, δ = 0"


NOTHING_LEFT = "nothing is left"


def warnings(guarantee: Guarantee) -> tuple[str, ...]:
    """Return warnings about weak promises, for people who have to decide."""
    texts = []
    if guarantee.delta * (guarantee.crowd or 1) >= 1:
        texts.append(
            f"delta {bound(guarantee.delta)} is at least 1 / crowd: publishing one person's "
            "answers outright would satisfy this guarantee; choose a smaller delta"
        )
    texts += [
        f"{name} {bound(epsilon)} lets odds change by a factor of {factor(epsilon)}, which is "
        "almost no protection"
        for name, epsilon in (
            ("epsilon", guarantee.epsilon),
            ("service_epsilon", guarantee.service_epsilon or 0.0),
        )
        if 10 < epsilon < math.inf
    ]
    adding = added_by(guarantee)
    if adding:
        texts.append(_TRUSTED[adding])
    elif analysis(guarantee.analysis).shuffled and 10 < guarantee.local_epsilon < math.inf:
        texts.append(
            f"without mixing, almost no protection remains: epsilon "
            f"{written_out(guarantee.local_epsilon)} lets odds change by a factor of "
            f"{factor(guarantee.local_epsilon)}"
        )
    return tuple(texts)


_TRUSTED: dict[AddedBy, str] = {
    "services": (
        "the shuffler and the collector together can read every answer: different organizations "
        "must run them"
    ),
    "curator": "whoever holds the answers can read them; only readers of the results cannot",
    "exposed": "whoever runs the services can read every answer; only readers of the results "
    "cannot",
}

NEARLY = 0.01  # share of delta within which both bounds count as one figure


def figure_kind(proved: bool, delta: DeltaBounds) -> str:
    """Describe the figure of an analysis in a few words."""
    if proved:
        return "guarantee"
    if delta.upper - delta.lower <= NEARLY * delta.upper:
        return "exact for homogeneous crowds; a lower bound"
    return f"upper bound for homogeneous crowds; at least {rounded_down(delta.lower)}"
