"""The promise of a bundle to the sender, computed on the device from the plan itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incrowd.collection.claims import bundle_guarantee, sealed_by
from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.errors import PlanError
from incrowd.plans import Guarantee
from incrowd.plans.slots import tail
from incrowd.presentation.guarantee_text import (
    against_sentence,
    guarantee_symbols,
    promise_sentence,
    recorded_sentence,
)
from incrowd.verification import verify

TermLine = tuple[str, str]


@dataclass(frozen=True)
class UploadPromise:
    """The guarantee of an upload, including the cost of redraws.

    tail: upper bound of the probability that one person's reports do not fit into the slots.
    """

    guarantee: Guarantee
    tail: float

    @property
    def sentence(self) -> str:
        """The promise in plain words."""
        return str(promise_sentence(self.guarantee))

    @property
    def symbols(self) -> str:
        """The promise in symbols."""
        return str(guarantee_symbols(self.guarantee))


def promised(bundle: Bundle, repeated: bool = False) -> UploadPromise:
    """Return the promise of a bundle after certifying its plan again.

    repeated: whether the device already gave these permanent responses, which the plan may not
    state. Raises PlanError if the plan does not keep its promise.
    """
    plan = bundle.plan
    if not verify(plan).plan_holds:
        raise PlanError.of("plan", "collection.promise-broken")
    beyond = tail(plan, bundle.slots, bundle.pools)
    return UploadPromise(bundle_guarantee(bundle, repeated=repeated), beyond)


def terms(bundle: Bundle, promise: UploadPromise) -> Iterator[TermLine]:
    """Yield what a person should know before sending, as titles and texts."""
    wording = bundle.wording
    yield "Collection", f"{wording.title}, {bundle.period}"
    if wording.introduction:
        yield "Introduction", wording.introduction
    yield "Bundle", f"{short(bundle.digest)} (compare it with your printed invitation)"
    yield "Promise", promise.sentence
    yield "In symbols", promise.symbols
    sealed = sealed_by(bundle)
    for service, name in sealed.organizations.items():
        yield service.capitalize(), name
    yield "Against", str(against_sentence(promise.guarantee, sealed.organizations))
    yield "Recorded traffic", str(recorded_sentence(promise.guarantee, sealed.post_quantum))
    yield "Released", _released(bundle)
    yield "Who may send", _senders(bundle)
    if isinstance(bundle, MixersBundle):
        yield "Run by", _runs(bundle)
    if bundle.one_party:
        added = bundle.plan.by_services
        yield "Who mixes", _BOTH_SERVICES if added else _ONE_PARTY[bundle.mixers]
    if bundle.plan.memoized:
        yield "Permanent responses", _PERMANENT
    if survey := bundle.plan.survey.open:
        named = " and ".join(question.id for question in survey)
        yield "Sent openly", f"your answer to {named}, to {_SEES_OPENLY[bundle.mixers]}: {_OPENLY}"
    yield "Sent", _sent(bundle)


def _sent(bundle: Bundle) -> str:
    if bundle.places == 1:
        as_it_is = _AS_THEY_ARE if bundle.plan.by_services else ""
        return f"1 sealed report, whatever you answer{as_it_is}"
    text = f"{bundle.places:,} sealed reports, including dummies, whatever you answer"
    return f"{text}{_AS_THEY_ARE}" if bundle.plan.by_services else text


def _runs(bundle: MixersBundle) -> str:
    runs = bundle.runs
    return (
        f"{runs.inviter} (invitations), {runs.first} (first mixer), {runs.second} (second mixer), "
        f"{runs.collector} (collector)"
    )


def _released(bundle: Bundle) -> str:
    small = {
        "delete": "with fewer people, everything is deleted unread",
        "merge": "strata with fewer people are released together, or deleted unread",
    }[bundle.small_strata]
    early = "" if bundle.enough is None else f"as soon as {bundle.enough:,} people have sent, or "
    return (
        f"{early}after {bundle.closes}, to {bundle.collector_address}, if at least "
        f"{bundle.least_people:,} people have sent; {small} by {bundle.disposes}"
    )


def _senders(bundle: Bundle) -> str:
    if bundle.plan.guarantee.crowd is None:
        return f"{'invited people' if bundle.codes else 'anybody'}; {_NO_CROWD}"
    taken = f"{bundle.colluding:,} of them may work with the analyst and are not counted on"
    if bundle.codes:
        return f"invited people; {taken}"
    return f"anybody; {taken}; anyone who invents more people than that breaks the promise"


_OPENLY = "no noise is added, and the promise does not cover it"
_SEES_OPENLY = {
    1: "the shuffler and the analyst",
    2: "the first mixer, which sees your address, the second mixer, and the analyst",
}
_ONE_PARTY = {
    1: "the shuffler and the collector are the same party, so only the local promise holds",
    2: "both mixers and the collector are the same party, so only the local promise holds",
}
_BOTH_SERVICES = (
    "the shuffler and the collector are the same party, which can read your answers; the promise "
    "holds only towards readers of the results"
)
_AS_THEY_ARE = (
    "; cells are sealed as they are; the shuffler and the collector each add noise to the counts"
)
_NO_CROWD = "how many there are, and whether some of them work with the analyst, does not matter"
_PERMANENT = (
    "from the second time you answer these questions, only the local guarantee holds: responses "
    "that stay the same can be matched with who sent when"
)
