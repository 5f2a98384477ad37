"""A guarantee card: what a plan asks, sends and guarantees, for people who approve surveys.

Everything here is plain text in one language; the templates convert it to HTML or Markdown, and
escape it. Facts, for JSON, are in English.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.accountant.codes import WorstPair
from incrowd.catalog.sentences import ENGLISH, FileDigest, Sentence, sentence, translated
from incrowd.errors import PlanError
from incrowd.guarantees.parties import added_by
from incrowd.guarantees.strength import strength
from incrowd.number_text import bound
from incrowd.plans import Guarantee, Plan
from incrowd.plans.message import message_facts
from incrowd.presentation import guarantee_text
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.example import examples
from incrowd.presentation.guarantee_text import TransportFacts
from incrowd.presentation.plan_text import (
    PlanLine,
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
from incrowd.views import Line

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


CardText = str | Sentence


class CardTable(NamedTuple):
    """A table; its head can be empty. The first cell of each row is its label."""

    head: Line
    rows: tuple[Line, ...]


class Section(NamedTuple):
    """A heading, paragraphs, and a table, or lines to type or to compare."""

    title: str
    paragraphs: Line = ()
    grid: CardTable | None = None
    code: Line = ()


class CardWords(NamedTuple):
    """The language of a card."""

    language: str

    def one(self, text: CardText) -> str:
        """Return a text in the language."""
        return str(translated(text, self.language))

    def line(self, texts: Iterable[CardText]) -> Line:
        """Return texts in the language."""
        return tuple(translated(text, self.language) for text in texts)

    def section(
        self, title: Sentence, texts: Iterable[CardText] = (), grid: CardTable | None = None
    ) -> Section:
        """Return a section without code."""
        return Section(translated(title, self.language), self.line(texts), grid)

    def table(self, head: PlanRow, rows: Iterable[PlanRow]) -> CardTable:
        """Return the first rows of a table; in a long table, the last row states how many are left
        out."""
        first = tuple(rows)
        if len(first) > MOST_ROWS:
            blank = ("",) * (len(first[0]) - 1)
            rest = sentence("cards.more-rows", number=len(first) - MOST_ROWS)
            first = *first[:MOST_ROWS], (rest, *blank)
        return CardTable(self.line(head), tuple(map(self.line, first)))


class Card(NamedTuple):
    """A card as plain text; facts: its figures, ready for JSON."""

    title: str
    proved: bool
    kind: str
    heading: str
    claim: str
    symbols: tuple[str, ...]
    warnings: tuple[str, ...]
    strength: str
    sections: tuple[Section, ...]
    in_symbols: str
    language: str
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
    language: str = ENGLISH,
) -> Card:
    """Return the card of a plan that was just certified. name: the name of the plan's file, for the
    command. language: that of the card's own texts.

    promise, sealed: those of a collection over a network, if its bundle is known; by default the
    plan's.
    """
    promise, words, people = promise or plan.guarantee, CardWords(language), plan.survey.crowd
    word = strength(promise, people)
    kind = "cards.computed-guarantee" if word == "practically-none" else "cards.certified"
    kind = kind if promise.proved else "cards.computed"
    command = f"incrowd verify {shlex.quote(name)}"
    heading, claim, kind_text, shown, symbols = words.line(
        (
            guarantee_text.guarantee_heading(promise),
            guarantee_text.promise_sentence(promise),
            Sentence(kind, {"on": certified.on.isoformat(), "version": certified.version}),
            _strength(promise, people),
            sentence("presentation.in-symbols"),
        )
    )
    worst = certified.worst if _is_plans(promise, plan) else promise.worst
    return Card(
        title=plan.survey.name,
        proved=promise.proved and word != "practically-none",
        kind=kind_text,
        heading=heading,
        claim=claim,
        symbols=words.line(
            (
                guarantee_text.guarantee_symbols(promise),
                guarantee_text.guarantee_formula(promise),
                guarantee_text.worst_pair(worst),
            )
        ),
        warnings=words.line(
            sentence("promises.warning", text=text)
            for text in guarantee_text.warnings(promise, people)
        ),
        strength=shown if promise.proved else "",
        sections=tuple(_sections(plan, promise, certified, command, sealed, words)),
        in_symbols=symbols,
        language=language,
        facts=_facts(plan, promise, certified, command, sealed),
    )


def _strength(promise: Guarantee, people: int) -> Sentence:
    """Return how strong a promise is, and what that leaves to a guess."""
    words = guarantee_text.strength_sentence(promise, people)
    return sentence("cards.strength", strength=words, guess=guarantee_text.guess_left(promise))


def _is_plans(promise: Guarantee, plan: Plan) -> bool:
    """Return whether a promise has the figures of the plan's own."""
    return promise.model_copy(update={"mixed_by": ()}) == plan.guarantee


def _sections(
    plan: Plan,
    promise: Guarantee,
    certified: Certified,
    command: str,
    sealed: TransportFacts | None,
    words: CardWords,
) -> Iterator[Section]:
    yield from _asked(plan.survey, words)
    head: PlanRow = _head("cards.travel-together", "cards.from-each", "cards.noise")
    texts = [*_how_sent(plan, promise)]
    if sum(message.reports_each for message in plan.messages) > 1:
        shuffled = analysis(promise.analysis).shuffled
        texts.append(sentence("cards.counted-unlinked" if shuffled else "cards.counted-together"))
    yield words.section(sentence("cards.what-is-sent"), texts, words.table(head, sent(plan)))
    head = _head(
        "presentation.question-column",
        "cards.an-answer",
        "cards.its-bits",
        "cards.may-be-sent",
        "presentation.odds",
    )
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
    shown = [sentence("cards.any-answer")] if _by_devices(plan) else []
    shown += [sentence("cards.cells-as-they-are")] if plan.by_services else []
    shown += hidden_by_pieces(plan, promise)
    yield words.section(sentence("cards.example"), shown, words.table(head, rows))
    seen = words.table((), who_sees_what(plan, promise, sealed))
    yield words.section(sentence("cards.who-sees-what"), (), seen)
    whole = _is_plans(promise, plan)
    computed = _of_plan(_computed(plan, certified), whole)
    computed = _proved(computed, certified.proof, promise)
    rest = *rests_on(plan, promise, sealed), (sentence("cards.computed-row"), computed)
    yield words.section(sentence("cards.rests-on"), (), words.table((), rest))
    check = _of_plan(sentence("cards.check"), whole)
    section = words.section(sentence("cards.how-to-check"), (check,))
    yield section._replace(code=(command, plan.digest))


def _head(*codes: str) -> PlanRow:
    return tuple(map(Sentence, codes))


def _of_plan(text: Sentence, whole: bool) -> Sentence:
    """Add that a text is about the plan alone, unless its promise holds as a whole."""
    return text if whole else sentence("cards.plan-alone", text=text)


def _by_devices(plan: Plan) -> bool:
    """Return whether devices add noise to some message."""
    return not all(message.by_services for message in plan.messages)


def _how_sent(plan: Plan, promise: Guarantee) -> Iterator[Sentence]:
    """Yield how answers become what is sent."""
    if _by_devices(plan):
        yield sentence("cards.sent-randomized")
    if plan.by_services:
        curated = added_by(promise) == "curator"
        yield sentence("cards.sent-curated" if curated else "cards.sent-cells")


def _asked(survey: Survey, words: CardWords) -> Iterator[Section]:
    """Yield the questions in every language; only their ids if they have no wording."""
    if not any(wording(survey, question.id) for question in survey.questions):
        rows = ((ids, given) for ids, _, given in asked(survey))
        grid = words.table(_head("presentation.question-column", "cards.answers"), rows)
        yield words.section(sentence("cards.what-is-asked"), (), grid)
        return
    head = _head("presentation.question-column", "cards.as-read", "cards.answers")
    for language in survey.languages:
        title = sentence("cards.what-is-asked")
        if len(survey.languages) > 1:
            title = sentence("cards.what-is-asked-in", language=language)
        yield words.section(title, (), words.table(head, asked(survey, language)))


def _computed(plan: Plan, certified: Certified) -> Sentence:
    """Return the computed figure, rounded up."""
    promise = plan.guarantee
    figures = {
        "on": certified.on.isoformat(),
        "version": certified.version,
        "delta": bound(certified.delta),
        "epsilon": bound(promise.epsilon, 6),
        "allowed": bound(promise.delta, 12),
    }
    return Sentence("cards.recomputed-allowed" if promise.delta else "cards.recomputed", figures)


def _proved(text: Sentence, proof: Enclosure | None, promise: Guarantee) -> Sentence:
    """Add what an independent program proved of the guarantee on the card."""
    if proof is None:
        return text
    crowd = sentence("cards.without-crowd")
    if promise.crowd is not None and analysis(promise.analysis).shuffled:
        crowd = sentence("cards.in-a-crowd", number=promise.crowd)
    return sentence(
        "cards.proved",
        text=text,
        delta=str(proof.delta_high),
        epsilon=bound(float(proof.epsilon), 6),
        crowd=crowd,
        seconds=proof.seconds,
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
        "who_sees_what": _in_english(who_sees_what(plan, promise, sealed)),
        "rests_on": _in_english(rests_on(plan, promise, sealed)),
        "earlier": [{"survey": a.survey.name, "digest": a.digest} for a in plan.earlier],
        "memoized": list(plan.memoized),
    }


def _in_english(lines: Iterable[PlanLine]) -> dict[str, str]:
    return {str(name): str(text) for name, text in lines}


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
    language: str = ENGLISH,
) -> Card:
    """Return the guarantee card of a plan, with its certificate recomputed and dated today.

    name: the name of the plan's file, for the command on the card. promise: the guarantee of a
    collection by the plan, from `guarantee_of`, if that is known. sealed: how its reports travel.
    language: that of the card. proof: an enclosure of the guarantee's delta, if it was computed.
    Raises PlanError if the plan does not keep its guarantee.
    """
    verification = verify(plan)
    if not verification.plan_holds:
        raise PlanError.of("plan", "shared.too-little-noise", value=FileDigest(plan.digest))
    figures = verification.certificate.delta.upper, verification.certificate.worst
    certified = Certified(date.today(), version("incrowd"), *figures, proof)
    return card(plan, certified, name, promise, sealed, language)
