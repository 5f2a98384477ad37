"""The guarantee card of an interview survey, for people who approve surveys."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version

from incrowd.catalog.sentences import ENGLISH, Sentence, sentence
from incrowd.guarantees.strength import GUESS
from incrowd.interviews.assignment import RandomList
from incrowd.interviews.promise import (
    GroupPromise,
    InterviewPromise,
    factor_text,
    guess_text,
    promise_of,
)
from incrowd.interviews.survey import InterviewSurvey
from incrowd.number_text import bound
from incrowd.presentation.card import Card, CardText, CardWords, Section
from incrowd.presentation.interview_kit import Kit, KitCard


def interview_card(
    survey: InterviewSurvey, name: str = "survey.toml", language: str = ENGLISH
) -> Card:
    """Return the card of a survey, computed today.

    name: the name of the survey's file, for the command on the card. language: that of the card.
    """
    promise, words = promise_of(survey, language=language), CardWords(language)
    kit, today = Kit(survey, (RandomList(1, 1, ()),), language), date.today().isoformat()
    kind = sentence("devices.card-computed", on=today, version=version("incrowd"))
    claims = words.line(promise.sentences())
    command = f"incrowd card {shlex.quote(name)}"
    return Card(
        title=survey.name,
        proved=promise.epsilon < float("inf"),
        kind=words.one(kind),
        heading=words.one(promise.heading),
        claim=claims[0],
        symbols=words.line((promise.symbols(), *_inequality(promise))),
        warnings=(),
        strength=" ".join(claims[1:]),
        sections=tuple(_sections(survey, kit, promise, words, command)),
        in_symbols=words.one(sentence("presentation.in-symbols")),
        language=language,
        facts={
            "survey": survey.name,
            "device": survey.device.model_dump(mode="json"),
            "computed": {"on": today, "version": version("incrowd")},
            "check": command,
            "guarantee": promise.facts(),
        },
    )


def _inequality(promise: InterviewPromise) -> Iterator[Sentence]:
    if promise.epsilon < float("inf"):
        yield sentence("devices.inequality", epsilon=bound(promise.epsilon, 6))


def _sections(
    survey: InterviewSurvey, kit: Kit, promise: InterviewPromise, words: CardWords, command: str
) -> Iterator[Section]:
    head = tuple(map(Sentence, ("presentation.question-column", "cards.as-read", "cards.answers")))
    asked = [(each.id, each.text, ", ".join(each.answers)) for each in kit.questions]
    yield words.section(sentence("cards.what-is-asked"), (), words.table(head, asked))
    for card in kit.cards:
        yield _done(card, words)
    rows = [row for group in promise.groups for row in _learned(group)]
    most = sentence("devices.guess-becomes", guess=GUESS)
    head = (
        sentence("presentation.question-column"),
        sentence("devices.true-answer"),
        sentence("devices.odds-rise"),
        most,
    )
    yield words.section(sentence("devices.what-is-learned"), (), words.table(head, rows))
    seen: list[tuple[CardText, ...]] = [
        (sentence("devices.respondent"), sentence("devices.respondent-sees")),
        (sentence("devices.interviewer"), sentence("devices.interviewer-sees")),
        (sentence("devices.results-reader"), sentence("devices.results-reader-sees")),
    ]
    yield words.section(sentence("cards.who-sees-what"), (), words.table((), seen))
    yield words.section(sentence("cards.rests-on"), promise.assumptions)
    check = sentence("devices.card-check"), sentence("devices.card-by-hand")
    section = words.section(sentence("cards.how-to-check"), check)
    yield section._replace(code=(command,))


def _done(card: KitCard, words: CardWords) -> Section:
    """Return what respondents do at a question."""
    title = sentence("devices.what-people-do", card=card.name)
    one = card.procedure
    texts: list[CardText] = [card.other] if isinstance(card.other, str) else []
    texts += [*one.acts, *([card.other] if card.device_asks and card.other else [])]
    rows: list[tuple[CardText, ...]] = []
    for rule in one.rules:
        for line in rule.lines:
            whose = rule.whose or sentence("devices.in-any-case")
            rows.append((whose, line.faces.words if line.faces else "", line.do))
    head = (
        sentence("devices.whose-line"),
        sentence("devices.device-shows"),
        sentence("devices.she-says"),
    )
    return words.section(title, texts, words.table(head, rows))


def _learned(group: GroupPromise) -> Iterator[tuple[CardText, ...]]:
    """Yield what can be learned about each true answer."""
    for question in group.questions:
        name: CardText = question.id
        if group.group:
            name = sentence("interviews.in-group", question=name, group=group.group)
        for answer, raised in zip(question.answers, question.evidence, strict=True):
            if raised is None:
                certain = sentence("devices.can-be-certain")
                yield name, answer, sentence("devices.can-be-proved"), certain
                continue
            certain = sentence("devices.can-be-certain")
            yield name, answer, factor_text(raised) or certain, guess_text(raised) or certain
