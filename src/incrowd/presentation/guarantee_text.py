"""Sentences about guarantees, looked up by the codes that plans and `incrowd.guarantees` use.

Most are for readers without mathematics. Figures are rounded towards less privacy. The texts are in
`catalog/en/promises.toml` and its twins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.accountant.channels.base import rounded_down
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.catalog.sentences import (
    ENGLISH,
    LANGUAGES,
    Sentence,
    in_words,
    joined,
    listed,
    sentence,
)
from incrowd.errors import UsageError
from incrowd.guarantees.parties import (
    EACH,
    AddedBy,
    Party,
    Service,
    Services,
    added_by,
    against,
    coalitions,
    is_undone,
)
from incrowd.guarantees.strength import (
    GUESS,
    Strength,
    guess_after,
    is_practically_none,
    strength,
    strength_of,
)
from incrowd.interviews.promise import InterviewPromise
from incrowd.number_text import bound, chance, factor, written_out
from incrowd.plans import Guarantee
from incrowd.plans.plan import Assumption, Mixing, Reduction

AnyGuarantee = Guarantee | InterviewPromise
_REDUCED: dict[Reduction, str] = {
    "one-party": "promises.one-party",
    "thinned-cells": "promises.thinned-cells",
    "permanent-responses": "promises.permanent-responses",
    "contradicted": "promises.contradicted",
    "fewer-people": "promises.fewer-people",
    "simulation": "promises.simulation",
    "rehearsal": "promises.rehearsal",
}


def promise_lines(guarantee: AnyGuarantee) -> tuple[Sentence, ...]:
    """Return a guarantee with what it assumes: heading, sentence, symbols, and warnings; of
    interviews, how the answers were randomized."""
    if isinstance(guarantee, InterviewPromise):
        claim, symbols = guarantee.whole_sentence(), guarantee.symbols()
        return guarantee.heading, claim, symbols, guarantee.method
    return (
        guarantee_heading(guarantee),
        whole_sentence(guarantee),
        guarantee_symbols(guarantee),
        *(sentence("promises.warning", text=text) for text in warnings(guarantee)),
    )


def guarantee_heading(guarantee: Guarantee) -> Sentence:
    """Return the heading of a promise: "Guarantee" only if it is proved, protects people, and holds
    for the collection."""
    if not {"simulation", "rehearsal"}.isdisjoint(guarantee.reduced_by):
        return sentence("promises.no-guarantee")
    if not guarantee.proved:
        return sentence("promises.privacy-only")
    if is_practically_none(guarantee):
        return sentence("promises.no-protection")
    reduced = bool(guarantee.reduced_by)
    return sentence("promises.reduced-guarantee" if reduced else "promises.guarantee")


def reduced_sentence(guarantee: Guarantee) -> Sentence | None:
    """State why the plan's promise does not hold for a collection; None if it holds."""
    if not guarantee.reduced_by:
        return None
    reasons = joined(
        "shared.first-then", (sentence(_REDUCED[reason]) for reason in guarantee.reduced_by)
    )
    unmixed = guarantee.epsilon < math.inf and not analysis(guarantee.analysis).shuffled
    unmixed &= {"simulation", "rehearsal"}.isdisjoint(guarantee.reduced_by)
    code = "promises.reduced-to-local" if unmixed else "promises.reduced"
    return sentence(code, reasons=reasons)


def guarantee_sentence(guarantee: Guarantee, *, language: str = ENGLISH) -> str:
    """Return the guarantee and its assumptions in plain words; figures are rounded up.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of a plan or of estimates.
    language : str
        The language of the text: "en" or "de".

    Returns
    -------
    str
        If the plan's own guarantee does not hold, the reason comes first. With two mixers, the text
        ends with who could cheat.

    Raises
    ------
    UsageError
        If the argument is not a guarantee, or there are no texts in that language.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> incrowd.guarantee_sentence(plan.guarantee).startswith("Changing any one person's answer")
    True
    """
    return in_words(whole_sentence(guarantee), checked_language(language))


def checked_language(language: str) -> str:
    """Return a language of the catalogs. Raises UsageError for any other."""
    if language not in LANGUAGES:
        choices = [*LANGUAGES]
        raise UsageError.of("language", "shared.use-one-of", value=language, choices=choices)
    return language


def whole_sentence(guarantee: AnyGuarantee) -> Sentence:
    """Return the promise and, with two mixers, who could cheat."""
    if isinstance(guarantee, InterviewPromise):
        return guarantee.whole_sentence()
    cheats = [against_sentence(guarantee)] if mixed_twice(guarantee) else []
    return in_turn(promise_sentence(guarantee), *cheats)


def guarantee_line(guarantee: AnyGuarantee) -> Sentence:
    """Return the guarantee in symbols and its strength, with what it assumes, in one line.

    The first assumption is shortened; no other is left out.
    """
    if isinstance(guarantee, InterviewPromise):
        return guarantee.line()
    if guarantee.epsilon == math.inf:
        return promise_sentence(guarantee)
    figures = {"epsilon": bound(guarantee.epsilon, 6), "delta": bound(guarantee.delta)}
    heading, pair = guarantee_heading(guarantee), sentence("promises.pair", **figures)
    words = strength_sentence(guarantee)
    if (heading.code, words.code) == ("promises.no-protection", "promises.practically-none"):
        claim = sentence("promises.in-short-alone", heading=heading, pair=pair)
    else:
        claim = sentence("promises.in-short", heading=heading, pair=pair, strength=words)
    if not guarantee.proved:
        claim = sentence("promises.by-analysis", analysis=guarantee.analysis, claim=claim)
    claim = _with_services(guarantee, claim)
    first, *others = guarantee.assumptions
    if first.code != "whole-crowd" or not guarantee.crowd:
        joint, assumed = _JOINTS[first.code], assumptions_sentence(guarantee)
    else:
        kinds, adding = guarantee.mixed_by, added_by(guarantee) or "services"
        mixed = [sentence(_UNLINKED[kind]) for kind in kinds or ("shuffler",)]
        crowd = sentence("promises.crowd-in-short", unlinked=mixed, number=guarantee.crowd)
        more = (assumption_sentence(each, kinds, adding) for each in others)
        joint, assumed = "promises.if", in_turn(crowd, *more)
    return in_turn(
        reduced_sentence(guarantee), Sentence(joint, {"claim": claim, "assumed": assumed})
    )


def in_turn(*texts: Sentence | None) -> Sentence:
    """Return sentences that follow each other; None is left out."""
    first, *others = (text for text in texts if text is not None)
    for each in others:
        first = sentence("shared.in-turn", first=first, second=each)
    return first


def mixed_twice(guarantee: Guarantee) -> bool:
    """Return whether some of the reports pass two mixers."""
    return not {"two-mixers", "two-mixers-of-cells"}.isdisjoint(guarantee.mixed_by)


def promise_sentence(guarantee: Guarantee) -> Sentence:
    """Return the same without who could cheat, for outputs that state it separately, with names."""
    if guarantee.epsilon == math.inf:
        return in_turn(reduced_sentence(guarantee), sentence("promises.exposed"))
    claim = Sentence(
        _JOINTS[guarantee.assumptions[0].code],
        {"claim": _promised(guarantee), "assumed": assumptions_sentence(guarantee)},
    )
    return in_turn(reduced_sentence(guarantee), claim)


_JOINTS = {
    "whole-crowd": "promises.provided-that",
    "every-crowd-tried": "promises.assumes",
    "crowd-alike": "promises.with-remark",
    "services-apart": "promises.provided-that",
    "nobody-trusted": "promises.with-remark",
}


def _promised(guarantee: Guarantee) -> Sentence:
    """Return the promise in plain words, without a period."""
    most = factor(guarantee.epsilon)
    if not analysis(guarantee.analysis).shuffled:
        if most is None:
            return sentence("promises.local-none")
        return sentence("promises.local", factor=most)
    published = (
        "promises.published-conclusion" if added_by(guarantee) else "promises.any-conclusion"
    )
    conclusion = sentence(published)
    if most is None:
        claim = sentence("promises.changing-none", conclusion=conclusion)
    else:
        claim = sentence(
            "promises.changing", conclusion=conclusion, factor=most, chance=chance(guarantee.delta)
        )
    if most is not None and is_practically_none(guarantee.model_copy(update=_NO_SERVICE)):
        claim = sentence("promises.large-delta-claim", claim=claim)
    if not guarantee.proved:
        claim = sentence("promises.by-analysis", analysis=guarantee.analysis, claim=claim)
    return _with_services(guarantee, claim)


_NO_SERVICE = {"service_epsilon": None}  # what one service may learn is stated by itself


def _with_services(guarantee: Guarantee, claim: Sentence) -> Sentence:
    """Add what one service alone can conclude, if that is more than what readers can."""
    alone = guarantee.service_epsilon
    if alone is None or not guarantee.epsilon < alone < math.inf:
        return claim
    most = factor(alone)
    if most is None:
        return sentence("promises.of-one-service-none", claim=claim)
    return sentence("promises.of-one-service", claim=claim, factor=most)


def guarantee_formula(guarantee: Guarantee) -> Sentence:
    """Return the promise as an inequality."""
    if guarantee.epsilon == math.inf:
        return sentence("promises.no-inequality")
    epsilon = bound(guarantee.epsilon, 6)
    if not analysis(guarantee.analysis).shuffled:
        return sentence("promises.local-inequality", epsilon=epsilon)
    crowds = guarantee.assumptions[0].code == "crowd-alike"
    return sentence(
        "promises.inequality",
        epsilon=epsilon,
        delta=bound(guarantee.delta, 12),
        crowd=sentence("promises.the-crowd" if guarantee.crowd else "promises.any-crowd"),
        alike=sentence("promises.where-alike") if crowds else "",
    )


# What a promise assumes.


def assumption_text(guarantee: Guarantee, *, language: str = ENGLISH) -> str:
    """Return all assumptions of a guarantee as a sentence.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of a plan or of estimates.
    language : str
        The language of the text: "en" or "de".

    Returns
    -------
    str
        The sentence.

    Raises
    ------
    UsageError
        If the argument is not a guarantee, or there are no texts in that language.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> text = incrowd.assumption_text(plan.guarantee)
    >>> text.startswith("The shuffler removes every link between a report and its sender")
    True
    """
    return in_words(assumptions_sentence(guarantee), checked_language(language))


def assumptions_sentence(guarantee: Guarantee) -> Sentence:
    """Return all assumptions of a guarantee."""
    kinds, adding = guarantee.mixed_by, added_by(guarantee) or "services"
    return in_turn(*(assumption_sentence(each, kinds, adding) for each in guarantee.assumptions))


def assumption_sentence(
    assumption: Assumption, mixed_by: Sequence[Mixing] = (), adding: AddedBy = "services"
) -> Sentence:
    """Return one assumption of a promise. mixed_by: as for a guarantee. adding: who adds noise to
    counts, if the assumption is about that."""
    code = _ADDED[adding] if assumption.code == "services-apart" else _ASSUMPTIONS[assumption.code]
    ids = assumption.questions
    if assumption.code == "open":
        code = "promises.open-one" if len(ids) == 1 else "promises.open-several"
    which = sentence("promises.responses-to", questions=listed(ids)) if ids else ""
    values: dict[str, Any] = {
        "unlinked": [sentence(_UNLINKED[kind]) for kind in mixed_by or ("shuffler",)],
        "number": assumption.number or 1,
        "asked": _asked(assumption),
        "questions": listed(ids) if ids else "",
        "which": which,
    }
    return Sentence(code, values)


_UNLINKED: dict[Mixing, str] = {
    "shuffler": "promises.unlinked",
    "two-mixers": "promises.two-mixers",
    "two-mixers-of-cells": "promises.two-mixers-of-cells",
    "services": "promises.unlinked",
    "curator": "promises.passed-on",
}
_ADDED: dict[AddedBy, str] = {
    "services": "promises.added-by-services",
    "curator": "promises.added-by-curator",
    "exposed": "promises.added-exposed",
}


def _asked(assumption: Assumption) -> str:
    """Return the earlier surveys of an assumption, with their questions if it names any."""
    if not any(plan.questions for plan in assumption.asked):
        return ", ".join(plan.survey for plan in assumption.asked)
    return "; ".join(f"{plan.survey}: {', '.join(plan.questions)}" for plan in assumption.asked)


_ASSUMPTIONS: dict[str, str] = {
    "whole-crowd": "promises.whole-crowd",
    "every-crowd-tried": "promises.every-crowd-tried",
    "crowd-alike": "promises.crowd-alike",
    "services-apart": "promises.added-by-services",
    "nobody-trusted": "promises.nobody-trusted",
    "rows": "promises.rows",
    "earlier-rows": "promises.earlier-rows",
    "rounds": "promises.rounds",
    "permanent-one-release": "promises.permanent-one-release",
    "permanent-linked": "promises.permanent-linked",
    "permanent-same-people": "promises.permanent-same-people",
    "permanent-same-answers": "promises.permanent-same-answers",
    "earlier-permanent-one-release": "promises.earlier-permanent-one-release",
    "earlier-permanent-same-people": "promises.earlier-permanent-same-people",
    "earlier-permanent-linked": "promises.earlier-permanent-linked",
    "earlier-linked": "promises.earlier-linked",
    "earlier-open": "promises.earlier-open",
    "open": "promises.open-several",
}


def guarantee_symbols(guarantee: Guarantee) -> Sentence:
    """Return the guarantee as an expert writes it, and what remains of it without the shuffler."""
    if guarantee.epsilon == math.inf:
        return sentence("promises.no-pair")
    figures = {"epsilon": bound(guarantee.epsilon, 6), "delta": bound(guarantee.delta)}
    pair = Sentence("promises.pair-proved" if guarantee.proved else "promises.pair", figures)
    more: Sentence | str = ""
    if analysis(guarantee.analysis).shuffled:
        more = sentence("promises.then", text=without_shuffler(guarantee))
    service = guarantee.service_epsilon
    if service is not None and guarantee.epsilon < service < math.inf:
        more = sentence("promises.one-service-alone", epsilon=bound(service, 6), more=more)
    crowd = sentence("promises.any-number")
    if guarantee.crowd:
        crowd = sentence("promises.crowd-of", number=guarantee.crowd)
    return sentence(
        "promises.symbols",
        pair=pair,
        analysis=guarantee.analysis,
        crowd=crowd,
        more=more,
    )


# The worst pair of records, for experts.


def worst_pair(worst: Sequence[WorstPair]) -> Sentence:
    """Return the worst pair of records according to the certificate, for each kind of report."""
    return sentence("promises.worst", pairs=joined("shared.first-then", map(_pair, worst)))


def _pair(worst: WorstPair) -> Sentence:
    pair = _PAIRS[worst.code](worst)
    return sentence("promises.worst-by", pair=pair, by=worst.by) if worst.by else pair


def _relation(worst: WorstPair) -> Sentence:
    """Return the records x and x', by the number of places in which each, and both,
    differ from z."""
    alike = worst.crowd == "alike"
    whose = sentence("promises.of-the-crowd" if alike else "promises.of-the-others")
    x, other = worst.x or 0, worst.other or 0
    if not x or not other:
        many = _many(x + other, worst)
        return sentence("promises.differs-from-it", whose=whose, many=many)
    same = worst.both or sentence("shared.none")
    many = _many(other, worst)
    if x == other:
        return sentence("promises.both-differ", whose=whose, many=many, same=same)
    return sentence("promises.each-differs", whose=whose, x=x, many=many, same=same)


def _many(number: int, worst: WorstPair) -> Sentence:
    code = "promises.places" if worst.place == "place" else "promises.bits"
    return sentence(code, number=number)


def _distance(worst: WorstPair) -> Sentence:
    code = "promises.far-apart" if worst.farthest else "promises.near-apart"
    return sentence(code, bits=worst.bits or 0)


def _collection(worst: WorstPair) -> Sentence:
    x, other = worst.records or ("", "")
    held = [
        sentence("promises.times-held", people=group.people, record=group.record)
        for group in worst.others or ()
    ]
    others = held or sentence("promises.nothing")
    return sentence("promises.whole-collection", x=x, other=other, others=others)


_PAIRS: dict[str, Callable[[WorstPair], Sentence]] = {
    "relation": _relation,
    "apart": _distance,
    "classes": lambda worst: sentence("promises.kinds-of-pairs", number=worst.number),
    "any-pair": lambda _: sentence("promises.any-pair"),
    "any-crowd": lambda _: sentence("promises.either-answer"),
    "collection": _collection,
    "no-crowd": lambda _: sentence("promises.no-crowd"),
    "crowd-too-small": lambda _: sentence("promises.crowd-too-small"),
    "shifted-cells": lambda worst: sentence("promises.shifted-counts", number=worst.number or 0),
    "beyond-local": lambda _: sentence("promises.beyond-local"),
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


def against_sentence(guarantee: Guarantee, organizations: Organizations | None = None) -> Sentence:
    """Return the most that each party can learn, in words and figures.

    organizations: the organizations of a collection with two mixers, if its bundle is known; one
    that runs several services has the same name for each. By default, only the services are named.
    """
    if not mixed_twice(guarantee):
        return _against_one_by_one(guarantee)
    texts: list[Sentence] = []
    for kind in guarantee.mixed_by:
        if kind == "shuffler":
            texts.append(_against_one_by_one(guarantee))
        else:
            texts += _against_two_mixers(guarantee, organizations, kind == "two-mixers-of-cells")
    return in_turn(*texts)


def _against_one_by_one(guarantee: Guarantee) -> Sentence:
    """Return the limit of each party; parties with the same limit are named together."""
    parties: dict[tuple[float, float], list[Sentence]] = {}
    limits = against(guarantee).afterwards
    for party, name in _PARTIES.items():
        if party in limits:
            figures = limits[party].epsilon, limits[party].delta
            parties.setdefault(figures, []).append(sentence(name))
    listing = (
        sentence("promises.against-party", parties=listed(names), limit=_limit(*figures))
        for figures, names in parties.items()
    )
    return sentence("promises.against", limits=joined("shared.first-then", listing))


def _against_two_mixers(
    guarantee: Guarantee, organizations: Organizations | None, cells: bool
) -> Iterator[Sentence]:
    limits = against(guarantee).afterwards
    parties: tuple[Party, Party] = ("collector", "both mixers and collector")
    mixed, local = (_limit(limits[party].epsilon, limits[party].delta) for party in parties)
    if mixed == local:
        yield sentence("promises.against-everybody", limit=mixed)
        return
    each = _services(organizations) if organizations else EACH
    (linking,) = afterwards = coalitions(each, cells=cells, planned=False)
    yield sentence(
        "promises.afterwards",
        two=sentence("promises.no-two") if len(linking) > 2 else "",
        mixed=mixed,
        who=_named(linking, organizations),
        local=local,
    )
    for group in coalitions(each, cells=cells, planned=True):
        if group not in afterwards:
            services = frozenset[Service]().union(*group)
            means = [sentence(_MEANS[s]) for s in _MEANS if s in services and _suffices(s, cells)]
            who = _named(group, organizations)
            yield sentence("promises.if-planned", who=who, means=joined("shared.or", means))
    if not organizations:
        yield sentence("promises.counts-as-all")


def _suffices(service: Service, cells: bool) -> bool:
    return is_undone(frozenset({service}), cells=cells, planned=True)


def _services(organizations: Organizations) -> tuple[Services, ...]:
    """Return the services that each organization runs."""
    return tuple(
        frozenset(service for service, name in organizations.items() if name == each)
        for each in dict.fromkeys(organizations.values())
    )


def _named(group: Sequence[Services], organizations: Organizations | None) -> str | Sentence:
    """Name some organizations with their services: "Institute (collector)"."""
    if not organizations:
        return listed([sentence(_THE[service]) for services in group for service in services])
    names = [
        name
        for name in dict.fromkeys(organizations.values())
        if any(organizations[service] == name for services in group for service in services)
    ]
    return listed(
        [
            sentence("promises.organization", name=name, services=listed(runs))
            for name in names
            if (runs := [service_name(s) for s, each in organizations.items() if each == name])
        ]
    )


def service_name(service: Service) -> Sentence:
    """Return the name of a service in a collection with two mixers."""
    return sentence(_SERVICES[service])


def _limit(epsilon: float, delta: float) -> Sentence:
    if epsilon == math.inf:
        return sentence("promises.everything-read")
    return sentence("promises.limit", epsilon=written_out(epsilon), delta=bound(delta))


_PARTIES: dict[Party, str] = {
    "collector": "promises.opens-and-counts",
    "readers": "promises.readers",
    "shuffler": "promises.shuffler-alone",
    "shuffler and collector": "promises.both-together",
    "curator": "promises.holds-answers",
}
_MEANS: dict[Service, str] = {
    "inviter": "promises.invent-people",
    "first mixer": "promises.thin-reports",
}
_SERVICES: dict[Service, str] = {
    "inviter": "promises.inviter",
    "first mixer": "promises.first-mixer",
    "second mixer": "promises.second-mixer",
    "collector": "promises.collector",
}
_THE: dict[Service, str] = {
    "inviter": "promises.the-inviter",
    "first mixer": "promises.the-first-mixer",
    "second mixer": "promises.the-second-mixer",
    "collector": "promises.the-collector",
}


def recorded_sentence(guarantee: Guarantee, post_quantum: bool) -> Sentence:
    """Return what remains if somebody records all traffic now and breaks X25519 later.

    post_quantum: whether what a device sends is sealed with X-Wing.
    """
    if post_quantum:
        return sentence("promises.x-wing")
    if guarantee.local_epsilon == math.inf:
        return sentence("promises.x25519-exposed")
    return sentence("promises.x25519", left=local_figures(guarantee))


# Other ways to send a survey.


def way_words(code: str, limit: float | None = None) -> Sentence:
    """Name a way to send a survey. limit: on reports per person, or on the local epsilon."""
    return Sentence(_WAYS[code], {"limit": limit or 0})


_WAYS = {
    "joint": "promises.joint",
    "joint-copies": "promises.joint-copies",
    "table-messages": "promises.table-messages",
    "table-messages-copies": "promises.table-messages-copies",
    "more-reports": "promises.more-reports",
    "local-epsilon": "promises.local-limit",
    "local": "promises.without-shuffler",
    "device-noise": "promises.device-noise",
}


# How strong a guarantee is.


def strength_words(strength: Strength) -> Sentence:
    """Return the strength of a guarantee in a few words: "strong protection"."""
    return sentence(_STRENGTHS[strength])


def strength_sentence(guarantee: Guarantee, people: int | None = None) -> Sentence:
    """Return the strength of a guarantee in a few words, and who can read every answer.

    people: as for `strength`.
    """
    words = strength_words(strength(guarantee, people))
    reads = _READS_ALL.get(added_by(guarantee))
    return words if reads is None else sentence(reads, strength=words)


def guess_left(guarantee: Guarantee) -> Sentence:
    """Return what a guess can become; if somebody can read every answer, that of the readers."""
    guess = guess_sentence(guarantee.epsilon, guarantee.delta)
    if added_by(guarantee) not in _READS_ALL:
        return guess
    return sentence("promises.guess-of-readers", guess=guess)


_READS_ALL: dict[AddedBy | None, str] = {
    "curator": "promises.strength-beside-curator",
    "exposed": "promises.strength-beside-operator",
}


def guess_sentence(epsilon: float, delta: float = 0.0) -> Sentence:
    """Return what a guess about one person's answer can become, rounded up, and what delta adds."""
    most = guess_after(epsilon)
    guess = (
        sentence("promises.guess-certain", guess=GUESS)
        if most is None
        else sentence("promises.guess", guess=GUESS, most=f"{100 * most:g}%")
    )
    if not delta:
        return sentence("promises.guess-without-delta", guess=guess)
    return sentence("promises.guess-with-delta", guess=guess, chance=chance(delta))


_STRENGTHS: dict[Strength, str] = {
    "strong": "promises.strong",
    "moderate": "promises.moderate",
    "weak": "promises.weak",
    "practically-none": "promises.practically-none",
}


# Without the shuffler, and warnings.


def without_shuffler(guarantee: Guarantee) -> Sentence:
    """State what remains if the shuffler fails, or works with the collector."""
    if guarantee.local_epsilon == math.inf:
        return sentence(_BOTH[added_by(guarantee) or "services"])
    return sentence("promises.linked", left=local_figures(guarantee))


_BOTH: dict[AddedBy, str] = {
    "services": "promises.both-services",
    "curator": "promises.against-curator",
    "exposed": "promises.against-operator",
}


def local_figures(guarantee: Guarantee) -> Sentence:
    """Return the local guarantee of everything a person sends, in symbols; in words, if nothing is
    left of it."""
    return left_in_words(guarantee.local_epsilon)


def left_in_words(epsilon: float) -> Sentence:
    """Return a local guarantee in symbols, or that nothing is left of it."""
    if epsilon == math.inf:
        return sentence("promises.nothing-left")
    return sentence("promises.left", epsilon=written_out(epsilon))


def warnings(guarantee: Guarantee, people: int | None = None) -> tuple[Sentence, ...]:
    """Return warnings about weak promises, for people who have to decide.

    people: those who take part, or are expected, if that is known.
    """
    texts = []
    if guarantee.delta * max(guarantee.crowd or 1, people or 1) >= 1:
        texts.append(sentence("promises.large-delta", delta=bound(guarantee.delta)))
    alone = guarantee.service_epsilon or 0.0
    if is_none(guarantee.epsilon) and guarantee.epsilon < math.inf:
        epsilon = bound(guarantee.epsilon)
        texts.append(sentence("promises.large-epsilon", epsilon=epsilon, guess=GUESS))
    if is_none(alone) and alone < math.inf:
        texts.append(sentence("promises.large-service-epsilon", epsilon=bound(alone), guess=GUESS))
    adding, local = added_by(guarantee), guarantee.local_epsilon
    if adding:
        texts.append(sentence(_TRUSTED[adding]))
    elif analysis(guarantee.analysis).shuffled and is_none(local) and local < math.inf:
        texts.append(sentence("promises.large-local-epsilon", epsilon=written_out(local)))
    return tuple(texts)


def is_none(epsilon: float) -> bool:
    """Return whether an epsilon is practically no protection."""
    return strength_of(epsilon) == "practically-none"


_TRUSTED: dict[AddedBy, str] = {
    "services": "promises.trusted-services",
    "curator": "promises.trusted-curator",
    "exposed": "promises.trusted-exposed",
}

NEARLY = 0.01  # share of delta within which both bounds count as one figure


def figure_kind(proved: bool, delta: DeltaBounds) -> str:
    """Describe the figure of an analysis in a few words."""
    if proved:
        return "guarantee"
    if delta.upper - delta.lower <= NEARLY * delta.upper:
        return "exact for homogeneous crowds; a lower bound"
    return f"upper bound for homogeneous crowds; at least {rounded_down(delta.lower)}"
