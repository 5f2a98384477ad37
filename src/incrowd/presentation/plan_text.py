"""A plan in words: questions, messages, noise, who sees what, and assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from incrowd.accountant.analyses import analysis
from incrowd.accountant.schema import Domain, Part
from incrowd.catalog.sentences import Sentence, joined, listed, sentence
from incrowd.guarantees.parties import AddedBy, Service, added_by
from incrowd.number_text import factor
from incrowd.plans import Guarantee, Message, Plan
from incrowd.plans.message import crowd_channel
from incrowd.plans.strata import strata
from incrowd.presentation.guarantee_text import (
    Organizations,
    TransportFacts,
    against_sentence,
    assumptions_sentence,
    local_figures,
    mixed_twice,
    promise_lines,
    recorded_sentence,
    service_name,
    without_shuffler,
)
from incrowd.survey import AnyQuestion, Survey

PlanRow = tuple[str | Sentence, ...]
PlanLine = tuple[Sentence, Sentence]

GUESS = 0.3  # the chance that a guess about an answer is right before anything is sent


def asked(survey: Survey, language: str = "") -> Iterator[PlanRow]:
    """Return the questions and their possible answers, worded in a language.

    Questions without wording and with the same answers share a line.
    """
    alike: dict[str, tuple[PlanRow, list[str]]] = {}
    for question in survey.questions:
        answers: str | Sentence = survey.answers_of(question.id, language)
        if question.asked_if is not None:
            condition = str(question.asked_if)
            answers = sentence("cards.asked-only-if", answers=answers, condition=condition)
        texts = wording(survey, question.id, language), answers
        alike.setdefault(f"{texts[0]} {answers}", (texts, []))[1].append(question.id)
    return ((", ".join(ids), *texts) for texts, ids in alike.values())


def wording(survey: Survey, id: str, language: str = "") -> str:
    """Return the wording and the help text of a question, as people read them above its answers."""
    if survey.question(id).text is None:
        return survey.help_of(id, language)
    return f"{survey.text_of(id, language)} {survey.help_of(id, language)}".strip()


def word_notes(survey: Survey) -> Iterator[str]:
    """Yield advice about questions whose answers are free text, to read before planning."""
    yield from (question.advice for question in survey.questions if question.advice)


def sent(plan: Plan) -> Iterator[PlanRow]:
    """Yield rows for the messages: the questions that travel together, the reports, the noise.

    Messages of one question that are otherwise alike share a line.
    """
    lines: dict[tuple[str, int | None], tuple[PlanRow, list[str]]] = {}
    for number, message in enumerate(plan.messages):
        several = len(message.ids) > 1
        how: PlanRow = (_reports(message), _noise(message))
        key = f"{how[0]} {how[1]}", number if several else None
        lines.setdefault(key, (how, []))[1].extend(message.ids)
    for (_, joint), (how, ids) in lines.items():
        alone = len(ids) > 1 and joint is None
        named = sentence("cards.each-alone", ids=ids) if alone else ", ".join(ids)
        yield named, *how


def _reports(message: Message) -> Sentence:
    if not message.cells:
        return sentence("cards.bits-of-reports", copies=message.copies, bits=message.bits)
    cells = message.record_bits
    if message.parities and not message.by_services:
        cell = sentence("cards.pair-of-answers", cells=cells)
    elif cells > 1:
        cell = sentence("cards.one-of-cells", cells=cells)
    else:
        cell = sentence("cards.this-answer", answer=message.questions[0].recorded[1])
    if not message.by_services:
        about = f"{message.reports_each:,.1f}"
        return sentence("cards.pieces-on-average", about=about, cell=cell)
    exactly = int(message.reports_each)
    if exactly == 1:
        return sentence("cards.piece", cell=cell)
    return sentence("cards.pieces", number=exactly, cell=cell)


def _noise(message: Message) -> str | Sentence:
    """Return the planner's noise, then that of the questions with a randomizer in the survey."""
    if message.added is not None:
        law = message.added
        return sentence("cards.noise-of-services", deviation=law.deviation, reach=law.reach)
    texts: list[Sentence] = []
    if message.noise is not None:
        text = message.noise.sentence
        texts.append(sentence("cards.drawn-once", text=text) if message.reused else text)
    channels = message.channels
    for question in message.questions:
        if question.randomizer:
            memoized, kind = question.randomizer.memoized, question.randomizer.kind
            code = "cards.of-question-once" if memoized else "cards.of-question"
            texts.append(
                sentence(code, id=question.id, kind=kind, text=channels[question.id].sentence)
            )
    return joined("shared.first-then", texts)


def who_sees_what(
    plan: Plan, promise: Guarantee, sealed: TransportFacts | None = None
) -> Iterator[PlanLine]:
    """Yield what the device, those who mix, the analyst and the public see. promise: what holds.
    sealed: how the reports travel, if a bundle is known."""
    adding = added_by(promise)
    leaves = sentence("cards.never-leave" if adding is None else _AS_THEY_ARE[adding])
    if plan.memoized:
        leaves = sentence("cards.keeps-key", text=leaves)
    yield sentence("cards.device"), leaves
    if adding:
        yield from _adding_noise(plan, adding)
    elif mixed_twice(promise):
        yield from _services(plan, promise, sealed.organizations if sealed else {})
    else:
        yield from _one_shuffler(plan, promise)
    published = "cards.public-reports" if adding is None else "cards.public-counts"
    yield sentence("cards.public"), sentence(published)


_AS_THEY_ARE: dict[AddedBy, str] = {
    "services": "cards.leave-sealed",
    "curator": "cards.leave-counted",
    "exposed": "cards.leave-sealed",
}


def _open_ids(plan: Plan) -> str | Sentence:
    """Return the ids of the open questions as a list; "" if there are none."""
    ids = [question.id for question in plan.survey.open]
    return listed(ids) if ids else ""


def _of(plan: Plan, code: str, openly: str, **more: Any) -> Sentence:
    """Return the sentence with the first code, or the second one if questions are open."""
    return Sentence(openly if plan.survey.open else code, {"ids": _open_ids(plan), **more})


def _adding_noise(plan: Plan, adding: AddedBy) -> Iterator[PlanLine]:
    """Yield what those see who add noise to counts."""
    if adding == "services":
        yield (
            sentence("cards.shuffler"),
            _of(plan, "cards.shuffler-adds", "cards.shuffler-adds-open"),
        )
        yield (
            sentence("cards.collector"),
            _of(plan, "cards.collector-adds", "cards.collector-adds-open"),
        )
    elif adding == "exposed":
        yield sentence("cards.operator"), sentence("cards.operator-sees")
    if adding != "curator":
        yield sentence("cards.both-services"), sentence("cards.both-see")


def _one_shuffler(plan: Plan, promise: Guarantee) -> Iterator[PlanLine]:
    if not analysis(promise.analysis).shuffled:
        yield sentence("cards.shuffler"), sentence("cards.not-relied-on")
        yield sentence("cards.analyst"), sentence("cards.analyst-local")
        return
    infers = could_infer(plan, "cards.it-infers")
    yield (
        sentence("cards.shuffler"),
        _of(plan, "cards.shuffler-sees", "cards.shuffler-sees-open", infers=infers),
    )
    yield sentence("cards.analyst"), _of(plan, "cards.analyst-sees", "cards.analyst-sees-open")


_SEEN: dict[Service, tuple[str, str]] = {  # without open questions, and with them
    "inviter": ("cards.inviter-sees", "cards.inviter-sees"),
    "first mixer": ("cards.first-sees", "cards.first-sees-open"),
    "second mixer": ("cards.second-sees", "cards.second-sees-open"),
    "collector": ("cards.collector-sees", "cards.collector-sees-open"),
}


def _services(plan: Plan, promise: Guarantee, organizations: Organizations) -> Iterator[PlanLine]:
    """Yield what each service of a collection with two mixers sees."""
    for service, codes in _SEEN.items():
        name, called = organizations.get(service), service_name(service)
        yield (
            sentence("cards.service-named", service=called, name=name)
            if name
            else sentence("cards.service", service=called),
            _of(plan, *codes),
        )
    if analysis(promise.analysis).shuffled:
        yield sentence("cards.mixers-and-collector"), could_infer(plan, "cards.they-infer")


def hidden_by_pieces(plan: Plan, promise: Guarantee) -> Iterator[Sentence]:
    """Explain what hides the pieces of one person, for plans whose cells are mixed."""
    flipped = [each.noise for each in plan.messages if each.cells and each.noise]
    invented = [plan.survey.crowd * noise.q for noise in flipped]
    if not (invented and analysis(promise.analysis).shuffled):
        return
    least, most = (f"{number:,.0f}" for number in (min(invented), max(invented)))
    number = sentence("cards.from-to", least=least, most=most)
    if least == most:
        number = sentence("cards.figure", number=least)
    yield sentence("cards.hidden-by-pieces", people=plan.survey.crowd, number=number)


def could_infer(plan: Plan, code: str) -> Sentence:
    """State what those who record names could learn from the most revealing question. code: of the
    text; it is about a shuffler, or about several parties.

    By Bayes' rule, odds grow by at most e to the power of the question's local epsilon.
    """
    leaks = {q.id: leak_with_names(plan, q) for q in plan.survey.randomized}
    id, leak = max(leaks.items(), key=lambda item: item[1])
    sure = 1 / (1 + (1 - GUESS) / GUESS * math.exp(-leak))
    most = "cards.most-answers" if sure >= 0.8 else "cards.some-answers"
    answers = sentence(most if sure >= 0.5 else "cards.few-answers")
    rounded = math.ceil(100 * sure) / 100
    return Sentence(code, {"answers": answers, "id": id, "guess": GUESS, "sure": rounded})


def leak_with_names(plan: Plan, question: AnyQuestion) -> float:
    """Return the local epsilon of everything a person sends about one question, in all rounds.

    Repeating a permanent response reveals nothing new. Changing the answer to one question changes
    its parities with all others.
    """
    return sum(
        (1 if question.memoized else plan.survey.rounds)
        * (len(message.ids) - 1 if message.parities else message.repeats)
        * Part(domain, crowd_channel(question) or message.channels[question.id]).local_epsilon
        for message in plan.messages
        if question.id in message.ids
        for domain in ([Domain(1, 0, 1)] if message.cells else question.domains)
    )


def rests_on(plan: Plan, promise: Guarantee, sealed: TransportFacts | None) -> Iterator[PlanLine]:
    """Yield rows for the assumption, the crowd, and what the promise covers.

    promise: what holds. sealed: how the reports travel, if a bundle is known.
    """
    yield sentence("cards.assumption"), assumptions_sentence(promise)
    against = against_sentence(promise, sealed.organizations if sealed else None)
    yield sentence("cards.against"), against
    if sealed:
        recorded = recorded_sentence(promise, sealed.post_quantum)
        yield sentence("cards.recorded-traffic"), recorded
    yield sentence("estimation.fact-crowd"), _crowd(plan, promise)
    if plan.survey.open:
        yield sentence("estimation.fact-strata"), _strata(plan, promise)
    if promise.local_epsilon == math.inf:
        yield sentence(_TOGETHER[added_by(promise) or "services"]), without_shuffler(promise)
    elif analysis(promise.analysis).shuffled:
        fails = "cards.if-mixers-fail" if mixed_twice(promise) else "cards.if-shuffler-fails"
        text, most = without_shuffler(promise), factor(promise.local_epsilon)
        yield (
            sentence(fails),
            sentence("cards.odds-none", text=text)
            if most is None
            else sentence("cards.odds-change", text=text, factor=most),
        )
    rows = plan.survey.rows_per_person
    yield (
        sentence("cards.one-person"),
        sentence("cards.rows-together", rows=rows) if rows > 1 else sentence("cards.one-row"),
    )
    if plan.survey.rounds > 1:
        rounds = sentence("cards.rounds-together", rounds=plan.survey.rounds)
        yield sentence("cards.rounds"), rounds
    yield sentence("cards.earlier-rounds"), _earlier(plan)
    if plan.memoized:
        left = local_figures(promise)
        responses = sentence("cards.responses", ids=list(plan.memoized), left=left)
        yield sentence("cards.permanent"), responses


_TOGETHER: dict[AddedBy, str] = {
    "services": "cards.if-services-work-together",
    "curator": "cards.holder",
    "exposed": "cards.operator",
}


def _crowd(plan: Plan, promise: Guarantee) -> Sentence:
    survey = plan.survey
    people, openly = survey.crowd, bool(survey.open)
    if promise.crowd is None:
        code = "cards.no-crowd-open" if openly else "cards.no-crowd"
        return sentence(code, people=people, least=plan.least)
    if not analysis(promise.analysis).shuffled:
        return sentence("cards.crowd-local", people=people)
    text = sentence("cards.crowd-honest-open" if openly else "cards.crowd-honest", people=people)
    if survey.colluding:
        text = sentence(
            "cards.crowd-colluding-open" if openly else "cards.crowd-colluding",
            people=people,
            colluding=survey.colluding,
            honest=survey.honest,
        )
    if promise.crowd < survey.honest:
        text = sentence("cards.crowd-earlier", text=text, number=promise.crowd)
    return sentence("cards.crowd-fewer", text=text)


def _strata(plan: Plan, promise: Guarantee) -> Sentence:
    """Explain the strata that open questions form, and what happens to small ones."""
    survey = plan.survey
    small = "cards.small-deleted" if survey.small_strata == "delete" else "cards.small-merged"
    who = "promises.the-first-mixer" if mixed_twice(promise) else "cards.the-shuffler"
    return sentence(
        "cards.sent-openly-one" if len(survey.open) == 1 else "cards.sent-openly-several",
        ids=_open_ids(plan),
        who=sentence(who),
        number=len(strata(survey)),
        least=plan.least,
        small=sentence(small),
    )


def _earlier(plan: Plan) -> Sentence:
    if not plan.earlier:
        return sentence("cards.none-covered")
    rounds = (
        sentence(
            "cards.earlier-round-linked" if asked.linked else "cards.earlier-round",
            name=asked.survey.name,
            people=asked.crowd,
            digest=asked.digest[:12],
        )
        for asked in plan.earlier
    )
    return sentence("cards.covered", rounds=joined("shared.first-then", rounds))


# --- pages of notebooks -----------------------------------------------------------------------


def survey_parts(survey: Survey) -> dict[str, Any]:
    """Return the questions of a survey, its crowd, and the guarantee and tables it requests."""
    privacy = survey.privacy
    delta = f", delta {privacy.delta:g}" if privacy.delta else ""
    noise = "" if privacy.noise == "devices" else f", noise {privacy.noise}"
    wanted = list(map(str, survey.regressions))
    facts = {
        "Crowd": [_size(survey)],
        "Wanted guarantee": [
            f"epsilon {privacy.epsilon:g}{delta}, analysis {privacy.analysis}{noise}"
        ],
        "Questions": [_question(survey, question) for question in survey.questions],
        "Wanted tables": [" × ".join(ids) for ids in survey.wanted],
        **({"Wanted regressions": wanted} if wanted else {}),
    }
    return {"title": survey.name, "facts": facts}


def _question(survey: Survey, question: AnyQuestion) -> str:
    words = wording(survey, question.id)
    return f"{question.id}: {words}{' – ' if words else ''}{survey.answers_of(question.id)}"


def plan_parts(plan: Plan) -> dict[str, Any]:
    """Return the guarantee of a plan and its noise."""
    facts = {
        "Guarantee": tuple(map(str, promise_lines(plan.guarantee))),
        "Crowd": [_size(plan.survey)],
        **({} if plan.guarantee.crowd else {"Released": [f"from {plan.least:,} people on"]}),
        "Noise": plan.message_texts,
        "Plan, SHA-256": [plan.digest],
    }
    return {"title": plan.survey.name, "facts": facts}


def _size(survey: Survey) -> str:
    each = " in each released stratum" if survey.open else ""
    return f"{survey.crowd:,} people{each}, {survey.colluding:,} of whom may collude"
