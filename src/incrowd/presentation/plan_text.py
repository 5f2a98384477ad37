"""A plan in words: questions, messages, noise, who sees what, and assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from incrowd.accountant.analyses import analysis
from incrowd.accountant.schema import Domain, Part
from incrowd.catalog.sentences import text_list
from incrowd.guarantees.parties import AddedBy, Service, added_by
from incrowd.number_text import factor
from incrowd.plans import Guarantee, Message, Plan
from incrowd.plans.message import crowd_channel
from incrowd.plans.strata import strata
from incrowd.presentation.guarantee_text import (
    Organizations,
    TransportFacts,
    against_sentence,
    assumption_text,
    local_figures,
    mixed_twice,
    promise_lines,
    recorded_sentence,
    without_shuffler,
)
from incrowd.survey import AnyQuestion, Survey

PlanRow = tuple[str, ...]
PlanLine = tuple[str, str]

GUESS = 0.3  # the chance that a guess about an answer is right before anything is sent


def asked(survey: Survey, language: str = "") -> Iterator[PlanRow]:
    """Return the questions and their possible answers, worded in a language.

    Questions without wording and with the same answers share a line.
    """
    alike: dict[PlanLine, list[str]] = {}
    for question in survey.questions:
        answers = survey.answers_of(question.id, language)
        whom = "" if question.asked_if is None else f"; asked only if {question.asked_if}"
        texts = (wording(survey, question.id, language), f"{answers}{whom}")
        alike.setdefault(texts, []).append(question.id)
    return ((", ".join(ids), *texts) for texts, ids in alike.items())


def wording(survey: Survey, id: str, language: str = "") -> str:
    """Return the wording and the help text of a question, as people read them above its answers."""
    if survey.question(id).text is None:
        return survey.help_of(id, language)
    return f"{survey.text_of(id, language)} {survey.help_of(id, language)}".strip()


def open_named(survey: Survey) -> str:
    """Return the ids of the open questions, as "faculty and year"."""
    return " and ".join(question.id for question in survey.open)


def word_notes(survey: Survey) -> Iterator[str]:
    """Yield advice about questions whose answers are free text, to read before planning."""
    yield from (question.advice for question in survey.questions if question.advice)


def sent(plan: Plan) -> Iterator[PlanRow]:
    """Yield rows for the messages: the questions that travel together, the reports, the noise.

    Messages of one question that are otherwise alike share a line.
    """
    lines: dict[tuple[PlanLine, int | None], list[str]] = {}
    for number, message in enumerate(plan.messages):
        several, how = len(message.ids) > 1, (_reports(message), _noise(message))
        lines.setdefault((how, number if several else None), []).extend(message.ids)
    for (how, joint), ids in lines.items():
        each = "each alone: " if len(ids) > 1 and joint is None else ""
        yield f"{each}{', '.join(ids)}", *how


def _reports(message: Message) -> str:
    if message.by_services:
        exactly, cells = int(message.reports_each), message.record_bits
        which = f"one of {cells:,} cells" if cells > 1 else f"“{message.questions[0].recorded[1]}”"
        pieces = "1 piece, which names" if exactly == 1 else f"{exactly:,} pieces, each naming"
        return f"always {pieces} {which}, or is a dummy"
    if message.cells:
        about, cells = f"{message.reports_each:,.1f}", message.record_bits
        which = f"one of {cells:,} cells" if cells > 1 else f"“{message.questions[0].recorded[1]}”"
        if message.parities:
            which = f"a pair, of {cells:,} pairs of answers, of which exactly one was given"
        return f"{about} pieces on average, each naming {which}"
    bits, copies = message.bits, message.copies
    return f"{copies:,} report{'s' if copies > 1 else ''} of {bits:,} bit{'s' if bits > 1 else ''}"


def _noise(message: Message) -> str:
    """Return the planner's noise, then that of the questions with a randomizer in the survey."""
    if message.added is not None:
        return (
            "none by the device; the shuffler and the collector each add noise to the count of "
            f"each cell, with a standard deviation of {message.added.deviation:.3g} people, at "
            f"most {message.added.reach:,} up or down"
        )
    texts: list[str] = []
    if message.noise is not None:
        flipped = (message.noise.sentence, message.reused)
        texts.append(text_list(filter(None, flipped), "shared.comma"))
    channels = message.channels
    for question in message.questions:
        if question.randomizer:
            reused = ", the flips drawn once and reused" if question.randomizer.memoized else ""
            sentence = channels[question.id].sentence
            texts.append(f"{question.id} ({question.randomizer.kind}{reused}): {sentence}")
    return "; ".join(texts)


_KEY = " It keeps a secret key for the permanent responses; the key never leaves it either."


def who_sees_what(
    plan: Plan, promise: Guarantee, sealed: TransportFacts | None = None
) -> Iterator[PlanLine]:
    """Yield what the device, those who mix, the analyst and the public see. promise: what holds.
    sealed: how the reports travel, if a bundle is known."""
    adding, key = added_by(promise), _KEY if plan.memoized else ""
    leaves = "which never leave it." if adding is None else _AS_THEY_ARE[adding]
    yield "Device, or holder of the answers", f"The original answers, {leaves}{key}"
    if adding:
        yield from _adding_noise(plan, adding)
    elif mixed_twice(promise):
        yield from _services(plan, promise, sealed.organizations if sealed else {})
    else:
        yield from _one_shuffler(plan, promise)
    published = (
        "The reports may be published too: the guarantee already allows for this."
        if adding is None
        else "Only counts with all noise are published, and no reports of cells."
    )
    yield (
        "Public",
        f"The questions, this plan, who takes part, and the tables with their errors. {published}",
    )


_SEALED_CELLS = (
    "which leave it sealed and unlinked: each piece names a cell that the person is in, as it is."
)
_AS_THEY_ARE: dict[AddedBy, str] = {
    "services": _SEALED_CELLS,
    "curator": "all of them. Only counts with noise leave it.",
    "exposed": _SEALED_CELLS,
}


def _adding_noise(plan: Plan, adding: AddedBy) -> Iterator[PlanLine]:
    """Yield what those see who add noise to counts."""
    openly, strata = (" and the answers to " + open_named(plan.survey), " of each stratum")
    openly, strata = (openly, strata) if plan.survey.open else ("", "")
    if adding == "services":
        yield (
            "Shuffler",
            f"Who sends{openly}, sealed reports that it cannot read, and the published results. It "
            "adds invented reports to each cell, always as many in all, and passes on everything "
            "in random order, without names or times.",
        )
        yield (
            "Collector",
            f"The reports{strata} in random order, among them those that the shuffler invented, "
            "and how many people took part. It adds noise to the counts before it writes or shows "
            "anything.",
        )
    elif adding == "exposed":
        yield (
            "Whoever runs the services",
            "Who sends, and every answer. Noise is added to the counts before anything is "
            "published.",
        )
    if adding != "curator":
        yield "Both services together", "Every answer, and whose it is. Nothing is left then."


def _one_shuffler(plan: Plan, promise: Guarantee) -> Iterator[PlanLine]:
    openly = plan.survey.open
    if not analysis(promise.analysis).shuffled:
        yield "Shuffler", "Not relied on: what is sent may carry a name."
        yield "Analyst", "Every report, perhaps with its sender's name, but never an answer."
        return
    answers = f"the answers to {open_named(plan.survey)}, " if openly else ""
    yield (
        "Shuffler",
        f"Who sends, {answers}and the randomized reports, but never an answer"
        f"{' to another question' * bool(openly)}. It passes on only the reports, those of "
        f"each message{' and stratum' * bool(openly)} in random order, without names or times. "
        f"{could_infer(plan, 'it')}",
    )
    strata = " of each stratum" if openly else ""
    yield "Analyst", f"The reports{strata} in random order, and how many people sent them."


def _services(plan: Plan, promise: Guarantee, organizations: Organizations) -> Iterator[PlanLine]:
    """Yield what each service of a collection with two mixers sees."""
    openly = f", the answers to {open_named(plan.survey)}" if plan.survey.open else ""
    strata = " of each stratum" if plan.survey.open else ""
    seen: dict[Service, str] = {
        "inviter": "Who is invited, and which invitation was used, but no report and no address of "
        "an upload. It signs tokens without seeing what for.",
        "first mixer": f"Addresses and times of uploads{openly}, but no invitation and no report.",
        "second mixer": f"How many reports of each message{strata} there are, but no address, no "
        "invitation, and no report.",
        "collector": f"The reports{strata} in random order, but no address, time, or invitation.",
    }
    for service, text in seen.items():
        name = organizations.get(service)
        yield f"{service.capitalize()}{f', {name}' if name else ''}", text
    if analysis(promise.analysis).shuffled:
        yield "Both mixers and the collector together", could_infer(plan, "they")


def hidden_by_pieces(plan: Plan, promise: Guarantee) -> Iterator[str]:
    """Explain what hides the pieces of one person, for plans whose cells are mixed."""
    flipped = [each.noise for each in plan.messages if each.cells and each.noise]
    invented = [plan.survey.crowd * noise.q for noise in flipped]
    if not (invented and analysis(promise.analysis).shuffled):
        return
    least, most = (f"{number:,.0f}" for number in (min(invented), max(invented)))
    number = least if least == most else f"{least} to {most}"
    yield (
        "Answers travel in pieces that cannot be linked. A piece is nearly always true: what hides "
        f"it is that it is mixed with the pieces of {plan.survey.crowd:,} people. Among those that "
        f"say the same, about {number} are invented by people's devices."
    )


def could_infer(plan: Plan, who: str) -> str:
    """State what those who record names could learn from the most revealing question. who: "it" is
    a shuffler, "they" are several parties.

    By Bayes' rule, odds grow by at most e to the power of the question's local epsilon.
    """
    leaks = {q.id: leak_with_names(plan, q) for q in plan.survey.randomized}
    id, leak = max(leaks.items(), key=lambda item: item[1])
    sure = 1 / (1 + (1 - GUESS) / GUESS * math.exp(-leak))
    most = "most" if sure >= 0.8 else "some" if sure >= 0.5 else "few"
    return (
        f"If {who} cheated and recorded who sent which report, {who} could infer {most} answers: "
        f"for {id}, a guess that is right {GUESS:.0%} of the time could become one that is right "
        f"{math.ceil(100 * sure)}% of the time."
    )


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
    yield "Assumption", assumption_text(promise)
    yield "Against", str(against_sentence(promise, sealed.organizations if sealed else None))
    if sealed:
        yield "Recorded traffic", str(recorded_sentence(promise, sealed.post_quantum))
    yield "Crowd", _crowd(plan, promise)
    if plan.survey.open:
        yield "Strata", _strata(plan, promise)
    if promise.local_epsilon == math.inf:
        yield _TOGETHER[added_by(promise) or "services"], str(without_shuffler(promise))
    elif analysis(promise.analysis).shuffled:
        most = factor(promise.local_epsilon)
        odds = (
            " That is practically no protection."
            if most is None
            else f" The odds of a guess can then change by a factor of {most}."
        )
        mixers = "mixers fail" if mixed_twice(promise) else "shuffler fails"
        yield f"If the {mixers}", f"{without_shuffler(promise)}{odds}"
    rows = plan.survey.rows_per_person
    yield (
        "One person is",
        f"up to {rows:,} rows of the answers, protected together."
        if rows > 1
        else "one row of the answers; anyone with several rows is less protected.",
    )
    if plan.survey.rounds > 1:
        yield (
            "Rounds",
            f"{plan.survey.rounds:,} rounds of these questions are covered together. After fewer "
            "rounds, less of the privacy budget is spent. A ledger counts them.",
        )
    yield "Earlier rounds", _earlier(plan)
    if plan.memoized:
        yield (
            "Permanent responses",
            f"{', '.join(plan.memoized)}: the device draws the response once and repeats it "
            "whenever it is asked again. An answer that changes is not covered: the response shows "
            "the change. For rounds over a network only the local guarantee remains, since the "
            "responses can be matched with the record of who took part in which round: "
            f"{local_figures(promise)}.",
        )


_TOGETHER: dict[AddedBy, str] = {
    "services": "If both services work together",
    "curator": "The holder of the answers",
    "exposed": "Whoever runs the services",
}


def _crowd(plan: Plan, promise: Guarantee) -> str:
    survey = plan.survey
    if promise.crowd is None:
        each = " in each stratum" if survey.open else ""
        return (
            f"None is needed: the guarantee holds for any number of people. {survey.crowd:,} are "
            f"expected{each}, which affects only the errors; a release needs {plan.least:,}."
        )
    if not analysis(promise.analysis).shuffled:
        return f"{survey.crowd:,} people, which affects only the errors, not the privacy."
    each = " in each stratum that is released" if survey.open else ""
    text = f"{survey.crowd:,} people{each}, assuming that none cooperates with the analyst."
    if survey.colluding:
        text = (
            f"{survey.crowd:,} people{each}, of whom up to {survey.colluding:,} may cooperate with "
            f"the analyst: the other {survey.honest:,} hide each other."
        )
    if promise.crowd is not None and promise.crowd < survey.honest:
        text += f" An earlier round had fewer: the guarantee relies on only {promise.crowd:,}."
    return f"{text} If fewer take part, privacy is weaker and is recomputed."


def _strata(plan: Plan, promise: Guarantee) -> str:
    """Explain the strata that open questions form, and what happens to small ones."""
    survey = plan.survey
    named, number = open_named(survey), len(strata(survey))
    small = {
        "delete": "is never released",
        "merge": "is released only together with other small strata",
    }[survey.small_strata]
    return (
        f"{named} {'is' if len(survey.open) == 1 else 'are'} sent openly and not protected: "
        f"the {'first mixer' if mixed_twice(promise) else 'shuffler'} sees who gives which of "
        "these answers; everyone else sees only how many do. "
        f"Each of the {number:,} strata of people with the same open answers is mixed separately, "
        f"and a stratum with fewer than {plan.least:,} people {small}."
    )


def _earlier(plan: Plan) -> str:
    if not plan.earlier:
        return (
            "None are covered. Any other survey of the same people adds to what can be learned "
            "about them, unless it is planned together with this one (incrowd plan --ledger)."
        )
    rounds = (
        f"{asked.survey.name} ({asked.crowd:,} people, plan {asked.digest[:12]}…"
        f"{', charged as if with names' if asked.linked else ''})"
        for asked in plan.earlier
    )
    return f"Covered, together with this one: {'; '.join(rounds)}."


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
        "Guarantee": promise_lines(plan.guarantee),
        "Crowd": [_size(plan.survey)],
        **({} if plan.guarantee.crowd else {"Released": [f"from {plan.least:,} people on"]}),
        "Noise": plan.message_texts,
        "Plan, SHA-256": [plan.digest],
    }
    return {"title": plan.survey.name, "facts": facts}


def _size(survey: Survey) -> str:
    each = " in each released stratum" if survey.open else ""
    return f"{survey.crowd:,} people{each}, {survey.colluding:,} of whom may collude"
