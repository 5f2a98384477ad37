"""A plan in words: what is asked, what is sent and how noisy, who sees it, what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator

from incrowd.accountant.analyses import analysis
from incrowd.accountant.schema import Domain, Part
from incrowd.plans import Guarantee, Message, Plan
from incrowd.plans.message import crowd_channel
from incrowd.plans.strata import strata
from incrowd.presentation.number_text import factor, noise
from incrowd.presentation.sentences import (
    against_sentence,
    assumption_text,
    local_figures,
    without_shuffler,
)
from incrowd.survey import AnyQuestion, Survey

Row = tuple[str, ...]
Line = tuple[str, str]

GUESS = 0.3  # how often a guess about an answer is right before anything was sent


def asked(survey: Survey, language: str = "") -> Iterator[Row]:
    """The questions and the answers that can be given, as they are read in a language.

    Questions without words of their own and with the same answers share a line.
    """
    alike: dict[Line, list[str]] = {}
    for question in survey.questions:
        read = (wording(survey, question.id, language), survey.answers_of(question.id, language))
        alike.setdefault(read, []).append(question.id)
    return ((", ".join(ids), *read) for read, ids in alike.items())


def wording(survey: Survey, id: str, language: str = "") -> str:
    """What people read above the answers to a question, and what helps them."""
    if survey.question(id).text is None:
        return survey.help_of(id, language)
    return f"{survey.text_of(id, language)} {survey.help_of(id, language)}".strip()


def open_named(survey: Survey) -> str:
    """The open questions, as "faculty and year"."""
    return " and ".join(question.id for question in survey.open)


def word_notes(survey: Survey) -> Iterator[str]:
    """What a question for a word can tell, and what it costs, before anybody plans with it."""
    yield from (question.advice for question in survey.questions if question.advice)


def sent(plan: Plan) -> Iterator[Row]:
    """The messages: what travels together, how often, with how much noise.

    Messages of one question that are alike in the rest share a line.
    """
    lines: dict[tuple[Line, int | None], list[str]] = {}
    for number, message in enumerate(plan.messages):
        several, how = len(message.ids) > 1, (_reports(message), _noise(message))
        lines.setdefault((how, number if several else None), []).extend(message.ids)
    for (how, joint), ids in lines.items():
        each = "each alone: " if len(ids) > 1 and joint is None else ""
        yield f"{each}{', '.join(ids)}", *how


def message_texts(plan: Plan) -> tuple[str, ...]:
    """A line for each message; of a single one without its questions."""
    several = len(plan.messages) > 1
    return tuple(
        f"{', '.join(m.ids)}: {message_text(m)}" if several else message_text(m)
        for m in plan.messages
    )


def message_text(message: Message) -> str:
    """The noise and the copies of one message."""
    times = "" if message.copies == 1 else f", {message.copies:,} reports from each person"
    if message.cells:
        bit = "pair of answers" if message.parities else "cell"
        on_each = f"{noise(message.noise.q, 3)} on each {bit}{_kept(message)}"
        if message.parities:
            return f"{on_each}; each of which exactly one is given is a report of its own"
        return f"{on_each}; each cell that is set is a report of its own"
    fixed = [
        f"{question.id} by {question.randomizer.kind}"
        for question in message.questions
        if question.randomizer
    ]
    if message.noise is None:
        return f"{', '.join(fixed)}{times}"
    others = f", but {', '.join(fixed)}" if fixed else ""
    chance = f"{noise(message.noise.q)}{_kept(message)}"
    return f"each bit was flipped with probability {chance}{others}{times}"


def _kept(message: Message) -> str:
    """Whether the planner's flips are drawn anew in every round."""
    once = any(question.asked_memoized for question in message.questions)
    return ", drawn once and kept" if once else ""


def _reports(message: Message) -> str:
    if message.cells:
        about, cells = f"{message.reports_each:,.1f}", message.record_bits
        which = f"one of {cells:,} cells" if cells > 1 else f"“{message.questions[0].recorded[1]}”"
        if message.parities:
            which = f"that of one of {cells:,} pairs of answers exactly one was given"
        return f"{about} pieces on average, each of which says {which}"
    bits, copies = message.bits, message.copies
    return f"{copies:,} report{'s' if copies > 1 else ''} of {bits:,} bit{'s' if bits > 1 else ''}"


def _noise(message: Message) -> str:
    """The planner's noise, then that of the questions with a device of their own."""
    said = [] if message.noise is None else [message.noise.sentence + _kept(message)]
    channels = message.channels
    for question in message.questions:
        if question.randomizer:
            kept = ", the flips drawn once and kept" if question.randomizer.memoized else ""
            sentence = channels[question.id].sentence
            said.append(f"{question.id} ({question.randomizer.kind}{kept}): {sentence}")
    return "; ".join(said)


_KEY = " It keeps a secret key for the permanent responses; the key goes nowhere either."


def who_sees_what(plan: Plan, promise: Guarantee) -> Iterator[Line]:
    """What device, shuffler, analyst and public get to see. promise: what holds."""
    openly = plan.survey.open
    yield (
        "Device, or who holds the answers",
        f"The answers as they were given; they go no further.{_KEY if plan.memoized else ''}",
    )
    if not analysis(promise.analysis).shuffled:
        yield "Shuffler", "None is relied on: what is sent may bear a name."
        yield "Analyst", "Every report, perhaps with its sender's name; never an answer."
    else:
        yield (
            "Shuffler",
            f"Who sends, {_openly(plan)}and the reports with their noise; never an answer"
            f"{' to another question' * bool(openly)}. It passes on the reports alone, those of "
            f"each message{' and stratum' * bool(openly)} in random order, without names or times. "
            f"{could_infer(plan)}",
        )
        strata = " of each stratum" if openly else ""
        yield "Analyst", f"The reports{strata} in random order, and how many people sent them."
    yield (
        "Public",
        "The questions, this plan, who takes part, and the tables with their errors. The reports "
        "may be published too: the guarantee already allows for this.",
    )


def hidden_by_pieces(plan: Plan, promise: Guarantee) -> Iterator[str]:
    """What hides the pieces of one person, where a plan has messages of cells that are mixed."""
    invented = [plan.survey.crowd * each.noise.q for each in plan.messages if each.cells]
    if not (invented and analysis(promise.analysis).shuffled):
        return
    least, most = (f"{number:,.0f}" for number in (min(invented), max(invented)))
    number = least if least == most else f"{least} to {most}"
    yield (
        "Answers travel in pieces that nothing joins. A piece says nearly the truth: what hides it "
        f"is the mixing with the pieces of {plan.survey.crowd:,} people. Among those that say the "
        f"same, about {number} are invented, by everybody's devices."
    )


def could_infer(plan: Plan) -> str:
    """What whoever cheats and keeps names beside reports could learn, of the question that tells
    most: by Bayes' rule odds grow by e to the power of its local epsilon."""
    leaks = {q.id: leak_with_names(plan, q) for q in plan.survey.randomized}
    id, leak = max(leaks.items(), key=lambda item: item[1])
    sure = 1 / (1 + (1 - GUESS) / GUESS * math.exp(-leak))
    most = "most" if sure >= 0.8 else "some" if sure >= 0.5 else "few"
    return (
        f"If it cheated and kept names beside reports, it could infer {most} answers: on {id} a "
        f"guess that is right in {GUESS:.0%} of all cases could become one that is right in "
        f"{math.ceil(100 * sure)}%."
    )


def leak_with_names(plan: Plan, question: AnyQuestion) -> float:
    """The local epsilon of all that a person sends about one question, in all rounds.

    Permanent responses tell, however often they are repeated, no more than they do themselves.
    Another answer to one question changes its parities with all others.
    """
    return sum(
        (1 if question.memoized else plan.survey.rounds)
        * (len(message.ids) - 1 if message.parities else message.repeats)
        * Part(domain, crowd_channel(question) or message.channels[question.id]).local_epsilon
        for message in plan.messages
        if question.id in message.ids
        for domain in ([Domain(1, 0, 1)] if message.cells else question.domains)
    )


def rests_on(plan: Plan, promise: Guarantee, sealed: bool) -> Iterator[Line]:
    """The assumption, the crowd, and what the promise covers. promise: what holds. sealed: whether
    the reports will come over a network."""
    yield "Assumption", assumption_text(promise)
    yield "Against", against_sentence(promise, sealed=sealed)
    yield "Crowd", _crowd(plan, promise)
    if plan.survey.open:
        yield "Strata", _strata(plan.survey)
    if analysis(promise.analysis).shuffled:
        odds = f" Odds on a guess can then change by a factor of {factor(promise.local_epsilon)}."
        yield "If the shuffler fails", without_shuffler(promise) + odds
    yield "One person is", _person(plan.survey.rows_per_person)
    if plan.survey.rounds > 1:
        yield "Rounds", _rounds(plan.survey)
    yield "Earlier rounds", _earlier(plan)
    if plan.memoized:
        yield (
            "Permanent responses",
            f"{', '.join(plan.memoized)}: the device draws the response once and repeats it "
            "whenever it is asked again. An answer that changes is not covered: the response shows "
            "that it did. Of rounds over a network only the local guarantee is left, since who "
            "took part in which can be matched with the responses: "
            f"{local_figures(promise)}.",
        )


def _crowd(plan: Plan, promise: Guarantee) -> str:
    survey = plan.survey
    if not analysis(promise.analysis).shuffled:
        return f"{survey.crowd:,} people, for the errors only: nobody has to hide in a crowd."
    each = " in each stratum that is released" if survey.open else ""
    said = f"{survey.crowd:,} people{each}, assuming none cooperates with the analyst."
    if survey.colluding:
        said = (
            f"{survey.crowd:,} people{each}, of whom up to {survey.colluding:,} may cooperate with "
            f"the analyst: the other {survey.honest:,} hide each other."
        )
    if promise.crowd < survey.honest:
        said += f" An earlier round had fewer: only {promise.crowd:,} are counted on."
    return f"{said} If fewer take part, privacy is weaker, and is worked out anew."


def _openly(plan: Plan) -> str:
    """What the shuffler sees of open questions."""
    return f"the answers to {open_named(plan.survey)}, " if plan.survey.open else ""


def _strata(survey: Survey) -> str:
    """What open questions divide people into, and what becomes of small parts."""
    named, number = open_named(survey), len(strata(survey))
    small = {
        "delete": "is never released",
        "merge": "is released only together with other small ones",
    }[survey.small_strata]
    return (
        f"{named} {'is' if len(survey.open) == 1 else 'are'} sent openly and not protected: "
        "the shuffler sees who gives which of these answers, everybody else how many do. Each of "
        f"the {number:,} strata of equal answers is mixed by itself, and one with fewer than "
        f"{survey.crowd:,} people {small}."
    )


def _person(rows: int) -> str:
    if rows > 1:
        return f"up to {rows:,} rows of the answers, protected together."
    return "one row of the answers; anyone with several rows is protected less."


def _rounds(survey: Survey) -> str:
    return (
        f"{survey.rounds:,} rounds of these questions are covered together: after all of them "
        "this is what was promised, after fewer it is less. A ledger counts them."
    )


def _earlier(plan: Plan) -> str:
    if not plan.earlier:
        return (
            "None are covered. Whatever else the same people are asked adds to what is learnt "
            "about them, unless it is planned together with this (incrowd plan --ledger)."
        )
    rounds = (
        f"{asked.survey.name} ({asked.crowd:,} people, plan {asked.digest[:12]}…"
        f"{', charged as if with names' if asked.linked else ''})"
        for asked in plan.earlier
    )
    return f"Covered, together with this one: {'; '.join(rounds)}."
