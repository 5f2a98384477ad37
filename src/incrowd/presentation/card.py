"""A guarantee card: what a plan asks, sends and guarantees, for people who approve surveys.

Everything here is plain text; the templates convert it to HTML or Markdown, and escape it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.accountant.codes import WorstPair
from incrowd.catalog.sentences import FileDigest
from incrowd.errors import PlanError
from incrowd.guarantees.parties import added_by
from incrowd.guarantees.strength import is_practically_none
from incrowd.number_text import bound
from incrowd.plans import Guarantee, Plan
from incrowd.plans.message import message_facts
from incrowd.presentation import guarantee_text
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.example import examples
from incrowd.presentation.guarantee_text import TransportFacts
from incrowd.presentation.plan_text import (
    PlanRow,
    asked,
    hidden_by_pieces,
    rests_on,
    sent,
    who_sees_what,
    wording,
)
from incrowd.presentation.shell import rendered
from incrowd.survey import AnyQuestion, Survey
from incrowd.verification import verify

if TYPE_CHECKING:
    from incrowd.accountant.proved import Enclosure

MOST_ROWS = 40  # of a table on the card; the plan has all of them


class Certified(NamedTuple):
    """A recomputed certificate: the date, the version and the figures.

    delta: the upper bound at the plan's epsilon. worst: the pairs of records that gave it. proof:
    the enclosure in interval arithmetic, if it was computed.
    """

    on: date
    version: str
    delta: float
    worst: tuple[WorstPair, ...]
    proof: Enclosure | None = None


class CardTable(NamedTuple):
    """A table; its head can be empty. The first cell of each row is its label."""

    head: PlanRow
    rows: tuple[PlanRow, ...]


class Section(NamedTuple):
    """A heading, paragraphs, and a table, or lines to type or to compare."""

    title: str
    paragraphs: tuple[str, ...] = ()
    grid: CardTable | None = None
    code: tuple[str, ...] = ()


class Card(NamedTuple):
    """A card as plain text; facts: its figures, ready for JSON."""

    title: str
    proved: bool
    kind: str
    heading: str
    claim: str
    symbols: tuple[str, ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    facts: dict[str, Any]


def html(card: Card) -> str:
    """Return a self-contained page: no network, no script, no other file; one or two pages in
    print."""
    return rendered("card.html", title=card.title, card=card)


def markdown(card: Card) -> str:
    """Return the card as Markdown with tables (GitHub's);
    text that looks like markup is escaped."""
    return rendered("card.md", card=card)


def card(
    plan: Plan,
    certified: Certified,
    name: str = "plan.json",
    promise: Guarantee | None = None,
    sealed: TransportFacts | None = None,
) -> Card:
    """Return the card of a plan that was just certified. name: the name of the plan's file, for the
    command.

    promise, sealed: those of a collection over a network, if its bundle is known; by default the
    plan's.
    """
    promise = promise or plan.guarantee
    empty = is_practically_none(promise, plan.survey.crowd)
    kind = "Guarantee card, computed" if empty else "Guarantee card, certified"
    kind = kind if promise.proved else "Privacy card, computed"
    command = f"incrowd verify {shlex.quote(name)}"
    return Card(
        title=plan.survey.name,
        proved=promise.proved,
        kind=f"{kind} on {certified.on.isoformat()} by incrowd {certified.version}",
        heading=str(guarantee_text.guarantee_heading(promise)),
        claim=str(guarantee_text.promise_sentence(promise)),
        symbols=(
            str(guarantee_text.guarantee_symbols(promise)),
            str(guarantee_text.guarantee_formula(promise)),
            str(
                guarantee_text.worst_pair(
                    certified.worst if _is_plans(promise, plan) else promise.worst
                )
            ),
        ),
        warnings=tuple(map(str, guarantee_text.warnings(promise, plan.survey.crowd))),
        sections=tuple(_sections(plan, promise, certified, command, sealed)),
        facts=_facts(plan, promise, certified, command, sealed),
    )


_SENT = (
    "The device writes the answers as bits and changes them at random before anything leaves it. "
    "The probabilities are fixed and public."
)
_SENT_CELLS = (
    "The device seals the cells that the answers are in, as they are, and a dummy wherever they "
    "are in none, so that what it sends is always alike. The shuffler adds invented reports to "
    "each cell, and the collector adds noise to each count before it writes or shows anything. "
    "Both laws are fixed and public; they are drawn anew for each release."
)
_CURATED = (
    "The party that holds the answers counts them, and adds noise to the count of each cell before "
    "it writes or shows anything. The law of the noise is fixed and public."
)
_SEVERAL = "All reports of one person are counted together"
_UNLINKED = "; nothing may reveal which of them belong together"
_EXAMPLE = (
    "Whatever is sent could have come from any answer. The odds compare the answer that is most "
    "likely to give exactly these bits with the one that is least likely to."
)
_OWN_CELLS = (
    "A piece of cells to which the services add noise is sent as it is, with no odds to compare. "
    "What protects the person is what the two services add to its count: neither knows what the "
    "other one added."
)
_CHECK = (
    "The first line recomputes the figures from the plan alone, and fails if they do not hold. "
    "The second is the plan's SHA-256 digest: reports carry it, and a plan with another digest is "
    "another plan."
)
_PLAN_ALONE = (
    " This is about the plan alone: for this collection, the weaker guarantee above holds."
)


def _is_plans(promise: Guarantee, plan: Plan) -> bool:
    """Return whether a promise has the figures of the plan's own."""
    return promise.model_copy(update={"mixed_by": ()}) == plan.guarantee


def _sections(
    plan: Plan,
    promise: Guarantee,
    certified: Certified,
    command: str,
    sealed: TransportFacts | None,
) -> Iterator[Section]:
    yield from _asked(plan.survey)
    head: PlanRow = ("travel together", "from each person", "noise")
    several = sum(message.reports_each for message in plan.messages) > 1
    texts = (*_how_sent(plan, promise), *((_several(promise),) if several else ()))
    yield Section("What is sent", texts, _cut(head, sent(plan)))
    head = ("question", "an answer", "its bits", "may be sent as", "odds")
    named = plan.survey.label_of
    rows = (
        (
            ", ".join(e.questions),
            " / ".join(map(named, e.questions, e.answers)),
            e.record,
            e.report,
            e.odds,
        )
        for e in examples(plan)
    )
    shown = [_EXAMPLE] if _by_devices(plan) else []
    shown += [_OWN_CELLS] if plan.by_services else []
    shown += hidden_by_pieces(plan, promise)
    yield Section("A made-up example", tuple(shown), _cut(head, rows))
    yield Section("Who sees what", (), _cut((), who_sees_what(plan, promise, sealed)))
    whole = _is_plans(promise, plan)
    computed = _computed(plan, certified) + ("" if whole else _PLAN_ALONE)
    computed += _proved(certified.proof, promise)
    rest = (*rests_on(plan, promise, sealed), ("Computed", computed))
    yield Section("What it rests on", (), CardTable((), rest))
    check = _CHECK if whole else _CHECK + _PLAN_ALONE
    yield Section("How to check it", (check,), code=(command, plan.digest))


def _by_devices(plan: Plan) -> bool:
    """Return whether devices add noise to some message."""
    return not all(message.by_services for message in plan.messages)


def _how_sent(plan: Plan, promise: Guarantee) -> Iterator[str]:
    """Yield how answers become what is sent."""
    if _by_devices(plan):
        yield _SENT
    if plan.by_services:
        yield _CURATED if added_by(promise) == "curator" else _SENT_CELLS


def _asked(survey: Survey) -> Iterator[Section]:
    """Yield the questions in every language; only their ids if they have no wording."""
    if not any(wording(survey, question.id) for question in survey.questions):
        rows = ((ids, given) for ids, _, given in asked(survey))
        yield Section("What is asked", (), _cut(("question", "answers"), rows))
        return
    head = ("question", "as people read it", "answers")
    for language in survey.languages:
        several = f" ({language})" if len(survey.languages) > 1 else ""
        yield Section(f"What is asked{several}", (), _cut(head, asked(survey, language)))


def _several(promise: Guarantee) -> str:
    """Return the note for plans in which one person sends several reports."""
    return f"{_SEVERAL}{_UNLINKED if analysis(promise.analysis).shuffled else ''}."


def _cut(head: PlanRow, rows: Iterator[PlanRow]) -> CardTable:
    """Return the first rows of a table; in a long table,
    the last row states how many are left out."""
    first = tuple(rows)
    if len(first) <= MOST_ROWS:
        return CardTable(head, first)
    blank = ("",) * (len(first[0]) - 1)
    rest = (f"and {len(first) - MOST_ROWS:,} more, in the plan", *blank)
    return CardTable(head, (*first[:MOST_ROWS], rest))


def _computed(plan: Plan, certified: Certified) -> str:
    """Return the computed figure, rounded up."""
    promise = plan.guarantee
    delta = bound(certified.delta)
    allowed = f" ({bound(promise.delta, 12)} allowed)" if promise.delta else ""
    return (
        f"On {certified.on.isoformat()} by incrowd {certified.version}: δ ≤ {delta} at "
        f"ε = {bound(promise.epsilon, 6)}{allowed}."
    )


def _proved(proof: Enclosure | None, promise: Guarantee) -> str:
    """Return what an independent program proved of the guarantee on the card."""
    if proof is None:
        return ""
    shuffled = promise.crowd is not None and analysis(promise.analysis).shuffled
    crowd = f"in a crowd of {promise.crowd:,}" if shuffled else "without a crowd"
    return (
        " Of the guarantee on this card, an independent program proved "
        f"δ ≤ {proof.delta_high} at ε = {bound(float(proof.epsilon), 6)} {crowd}, in interval "
        f"arithmetic, in {proof.seconds:.1f} s."
    )


def _facts(
    plan: Plan,
    promise: Guarantee,
    certified: Certified,
    command: str,
    sealed: TransportFacts | None,
) -> dict[str, Any]:
    worst = [pair.data() for pair in certified.worst]
    certificate = certified._asdict() | {"on": certified.on.isoformat(), "worst": worst}
    del certificate["proof"]
    proof = {"proved": asdict(certified.proof)} if certified.proof else {}
    return {
        "survey": plan.survey.name,
        "digest": plan.digest,
        "certified" if promise.proved else "computed": certificate,
        **proof,
        "check": command,
        "guarantee": guarantee_facts(promise, sealed and sealed.organizations)
        | {"formula": str(guarantee_text.guarantee_formula(promise))},
        "warnings": list(map(str, guarantee_text.warnings(promise, plan.survey.crowd))),
        "people": plan.survey.crowd,
        "colluding": plan.survey.colluding,
        "rows_per_person": plan.survey.rows_per_person,
        "questions": [_question_facts(question) for question in plan.survey.questions],
        "messages": [message_facts(message) for message in plan.messages],
        "example": [e.facts for e in examples(plan)],
        "who_sees_what": dict(who_sees_what(plan, promise, sealed)),
        "rests_on": dict(rests_on(plan, promise, sealed)),
        "earlier": [{"survey": a.survey.name, "digest": a.digest} for a in plan.earlier],
        "memoized": list(plan.memoized),
    }


def _question_facts(question: AnyQuestion) -> dict[str, Any]:
    """Return a question as JSON-ready data, with its wording if it has one."""
    words = question.model_dump(include={"text", "help", "labels"})
    asked_if = {} if question.asked_if is None else {"asked_if": str(question.asked_if)}
    return {"id": question.id, "answers": question.in_words()} | asked_if | words


def certified_card(
    plan: Plan,
    name: str = "plan.json",
    promise: Guarantee | None = None,
    sealed: TransportFacts | None = None,
    proof: Enclosure | None = None,
) -> Card:
    """Return the guarantee card of a plan, with its certificate recomputed and dated today.

    name: the name of the plan's file, for the command on the card. promise: the guarantee of a
    collection by the plan, from `guarantee_of`, if that is known. sealed: how its reports travel.
    proof: an enclosure of the guarantee's delta, if it was computed. Raises PlanError if the plan
    does not keep its guarantee.
    """
    verification = verify(plan)
    if not verification.plan_holds:
        raise PlanError.of("plan", "shared.too-little-noise", value=FileDigest(plan.digest))
    figures = verification.certificate.delta.upper, verification.certificate.worst
    certified = Certified(date.today(), version("incrowd"), *figures, proof)
    return card(plan, certified, name, promise, sealed)
