"""What a bundle promises to whoever sends: worked out on the device, from the plan itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incrowd.collection.claims import bundle_guarantee
from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import InWords, PlanError
from incrowd.plans import Guarantee
from incrowd.plans.slots import tail
from incrowd.presentation.sentences import against_sentence, guarantee_sentence, guarantee_symbols
from incrowd.verification import verify

Line = tuple[str, str]


@dataclass(frozen=True)
class Promise:
    """What holds for what is sent, the noise that is drawn again counted in.

    tail: at most the chance that one person's reports do not fit into the slots.
    """

    guarantee: Guarantee
    tail: float

    @property
    def sentence(self) -> str:
        """In plain words."""
        return guarantee_sentence(self.guarantee)

    @property
    def symbols(self) -> str:
        """As an expert writes it."""
        return guarantee_symbols(self.guarantee)


def promised(bundle: Bundle, repeated: bool = False) -> Promise:
    """The promise of a bundle, its plan certified anew: a digest alone can be made by anybody.

    repeated: whether the device gave these permanent responses before, which the plan need not say.
    Raises PlanError if the plan does not keep what it says.
    """
    plan = bundle.plan
    if not verify(plan).plan_holds:
        allowed = "its noise is too small for what it promises; nothing should be sent"
        raise PlanError.of("plan", InWords("does not keep its promise"), allowed)
    return Promise(bundle_guarantee(bundle, repeated=repeated), tail(plan, bundle.slots))


def terms(bundle: Bundle, promise: Promise) -> Iterator[Line]:
    """What a person should know before she sends, in lines of a title and a text."""
    wording = bundle.wording
    yield "Collection", f"{wording.title}, {bundle.period}"
    if wording.introduction:
        yield "Introduction", wording.introduction
    yield "Bundle", f"{short(bundle.digest)} (compare it with what is printed)"
    yield "Promise", promise.sentence
    yield "In symbols", promise.symbols
    yield "Against", against_sentence(promise.guarantee, sealed=True)
    yield "Released", _released(bundle)
    yield "Who may send", _senders(bundle)
    if bundle.local_only:
        yield "Who mixes", _ONE_PARTY
    if bundle.plan.memoized:
        yield "Permanent responses", _PERMANENT
    if survey := bundle.plan.survey.open:
        named = " and ".join(question.id for question in survey)
        yield "Sent openly", f"your answer to {named}, to the shuffler and the analyst: {_OPENLY}"
    yield "Sent", _sent(bundle)


def _sent(bundle: Bundle) -> str:
    if bundle.places == 1:
        return "1 sealed report, whatever you answer"
    return f"{bundle.places:,} sealed reports, dummies among them, whatever you answer"


def _released(bundle: Bundle) -> str:
    small = {
        "delete": "with fewer it is deleted unread",
        "merge": "parts with fewer are released together, or deleted unread",
    }[bundle.small_strata]
    early = "" if bundle.wanted is None else f"as soon as {bundle.wanted:,} people sent, or "
    return (
        f"{early}after {bundle.closes}, to {bundle.addresses.collector}, if at least "
        f"{bundle.least_people:,} people sent; {small} by {bundle.disposes}"
    )


def _senders(bundle: Bundle) -> str:
    taken = f"{bundle.colluding:,} of them may cooperate with the analyst: they are not counted on"
    if bundle.codes:
        return f"those who were invited; {taken}"
    return f"anybody; {taken}, and who invents more people than that breaks the promise"


_OPENLY = "no noise is on it, and no promise covers it"
_ONE_PARTY = "one party is shuffler and collector: only the local promise holds"
_PERMANENT = (
    "from the second time on that you answer these questions, what is promised is the local "
    "guarantee alone: who sent when can be matched with responses that stay the same"
)
