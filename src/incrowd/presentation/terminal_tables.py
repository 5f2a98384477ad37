"""Tables and lines for people at a terminal of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from incrowd import number_text
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import quantity
from incrowd.number_text import bound, short_percent
from incrowd.plans import EarlierPlan, Plan
from incrowd.plans.ledger import Ledger, Spent
from incrowd.plans.slots import invented
from incrowd.presentation.advice import Way, error_ratio, margin_text, range_text
from incrowd.survey import Survey
from incrowd.views import Numbers

# Questions, standard errors if answers are even and if they are uneven, detectable share, effective
# samples if they are even and uneven.
Expected = tuple[Sequence[str], float, float, float, float, float]

LIGHT: dict[str, Any] = {"box": None, "header_style": "dim"}  # no lines, a quiet head
EVEN_OR_NOT = (
    "if all answers are equally common, and if they are uneven (one yes in ten; otherwise each "
    "answer half as common as the one before)"
)
MANY = 30  # number of tables above which those with the same figures share a line
UNLIMITED = "unbounded"  # a local epsilon of which nothing is left
UNDETECTED = "none"  # even a share of 100% would look like noise


def table(title: str | Text | None, *names: str, whole: Sequence[str] = (), **look: Any) -> Table:
    """Start a table for 80 columns: labels in the first column, figures right-aligned.

    whole: columns that a narrow terminal must not wrap.
    """
    empty = Table(title=Text(title) if isinstance(title, str) else title, **look)
    for number, name in enumerate(names):
        justify: Any = "right" if number else "left"
        empty.add_column(name, justify=justify, overflow="fold", no_wrap=name in whole)
    return empty


def numbers_table(numbers: Numbers) -> Table:
    """Return the terminal table of a view's figures."""
    look: dict[str, Any] = {"padding": (0, numbers.spaces, 0, 0), **LIGHT} if numbers.spaces else {}
    shown = table(numbers.title, *numbers.headings, whole=numbers.whole, **look)
    for line in numbers.lines:
        shown.add_row(*map(Text, line))
    return shown


def beside(title: str, text: str) -> Table:
    """Return a title beside untrusted text, indented so that none of its lines can look like a
    title."""
    row = Table.grid()
    row.add_row(Text(title, no_wrap=True), Text(text))
    return row


def message_table(plan: Plan) -> Table:
    """Return a table of the messages: questions, size, noise and reports."""
    names = ("message", "sent", "noise", "reports from each person")
    shown = table(None, *names, padding=(0, 2, 0, 0), **LIGHT)
    for message in plan.messages:
        noise = "its own" if message.noise is None else number_text.noise(message.noise.q)
        kind, reports = (
            f"{message.bits:,} bit{'s' * (message.bits > 1)} together",
            f"{message.copies:,}",
        )
        if message.cells:
            which = "pairs of answers" if message.parities else "cells"
            kind = f"{message.record_bits:,} {which}" if message.record_bits > 1 else "1 cell"
            reports = f"about {message.reports_each:,.1f}, one for each set cell"
        if message.added is not None:
            noise = f"± {message.added.deviation:.3g} people by each service"
            reports = f"{message.reports_each:,.0f}, dummies included"
        shown.add_row(Text(", ".join(message.ids)), kind, noise, reports)
    return shown


SEAL_SECONDS = 1.5e-4  # about, for one sealed report on one core


def sealing(plan: Plan) -> Iterator[str]:
    """State how many reports the shuffler invents for each release, and how long that takes."""
    if number := invented(plan):
        each = "stratum" if plan.survey.open else "release"
        yield (
            f"for each {each}, the shuffler seals {quantity(number, 'invented reports')}, dummies "
            f"included, which takes about {number * SEAL_SECONDS:.2g} seconds"
        )


def sent_each(plan: Plan) -> float:
    """Return the mean number of reports that one person sends under a plan."""
    return sum(message.reports_each for message in plan.messages)


def count(reports: float) -> str:
    """Return a number of reports as text, with one decimal if it is a mean."""
    return f"{reports:,.0f}" if reports == round(reports) else f"{reports:,.1f}"


def beyond_budget(plan: Plan) -> Iterator[Sentence]:
    """Note that a plan's cells take more reports than `reports_per_person`."""
    budget = plan.survey.reports_per_person
    sent = sent_each(plan)
    if budget is not None and sent > budget:
        yield sentence("forecasts.beyond-budget", sent=sent, budget=budget)


def forecast_table(survey: Survey, expected: Iterable[Expected], *, verbose: bool = True) -> Table:
    """Return the expected precision of each table; with open questions, in the smallest stratum.

    If there are many tables, those with the same figures share a line. verbose: whether to show
    standard errors, detectable shares and effective samples; otherwise, how exact the shares are
    under the less favorable assumption.
    """
    whose = " in the smallest stratum" if survey.open else ""
    title = f"expected precision with {survey.crowd:,} people{whose}"
    detailed = ("table", "standard error", "detectable share", "effective sample")
    names = detailed if verbose else ("table", "each share is accurate to")
    shown = table(title, *names, whole=(names[1], names[-1]))
    lines: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    tables = list(expected)
    for number, (questions, even, uneven, detectable, *people) in enumerate(tables):
        kind = len(questions) if len(tables) > MANY else number
        visible = UNDETECTED if detectable > 1 else short_percent(detectable)
        errors = sorted((even, uneven))
        effective = range_text(*map(_people, sorted(people)))
        figures: tuple[str, ...] = (range_text(*map(short_percent, errors)), visible, effective)
        if not verbose:
            figures = (f"{margin_text(errors[-1])} points",)
        lines.setdefault((kind, figures), []).append(", ".join(questions))
    for (_, figures), alike in lines.items():
        more = f" and {len(alike) - 1:,} more like it" if len(alike) > 1 else ""
        shown.add_row(Text(alike[0] + more), *figures)
    return shown


def _people(number: float) -> str:
    return f"{number:,.0f}" if number >= 1 else "below 1"


def detectable_words(power: float) -> str:
    """State what a detectable share and an effective sample are."""
    return (
        f"detectable share: detected in at least {100 * power:.3g}% of all surveys, whichever "
        "answer it belongs to (5% false alarms per table); effective sample: the number of people "
        "who, asked without privacy, would give the same precision"
    )


def assumed_words(survey: Survey) -> str:
    """State what the forecasts of tables assume."""
    stated = " and ".join(survey.shares)
    if all(question.id in survey.shares for question in survey.randomized):
        return "standard error: of the least precise cell, with the stated shares of the answers"
    as_stated = f"; the shares of {stated} are as stated" if stated else ""
    return f"standard error: of the least precise cell, {EVEN_OR_NOT}{as_stated}"


def open_table_lines(survey: Survey) -> Iterator[str]:
    """Explain where to find the forecast of each wanted table with an open question."""
    for ids in survey.wanted:
        closed, name = survey.closed(ids), ", ".join(ids)
        if not closed:
            yield f"{name}: sent openly, so there is no noise"
        elif closed != ids:
            yield f"{name}: in each stratum, as precise as {', '.join(closed)}"


def mean_error(survey: Survey, id: str, error: float) -> str:
    """Return the expected error of an amount's mean, in its unit and as a share of its range."""
    question = survey.question(id)
    first, *_, last = question.values or (0.0, 1.0)
    width = last - first
    return (
        f"{id}: standard error of the mean {error:.3g}, {short_percent(error / width)} of the range"
    )


_LEAST = {
    "largest": "the least precise wanted table, if all answers are equally common",
    "mean": "the wanted tables, by their mean inflation, if all answers are equally common",
}


def alternatives_table(plan: Plan, effective: float, others: Sequence[Way]) -> Table:
    """Compare the plan with other ways to send the same survey.

    effective: the effective sample of this plan, with whose errors the others are compared.
    """
    title = f"other ways to send it: effective sample of {_LEAST[plan.survey.objective]}"
    names = ("sent as", "messages", "reports each", "effective", "errors", "local ε")
    shown = table(title, *names, whole=names[1:])
    local = plan.guarantee.local_epsilon
    this: Way = "this plan", len(plan.messages), sent_each(plan), effective, local
    for name, messages, reports, other, remaining in [this, *others]:
        if other is None:
            shown.add_row(f"{name}: no noise level gives the guarantee", *[""] * 5)
        else:
            numbers = (f"{messages:,}", count(reports), f"{other:,.0f}")
            ratio = f"× {error_ratio(other, effective):.2f}"
            left = UNLIMITED if remaining == math.inf else bound(remaining, 3)
            shown.add_row(name, *numbers, ratio, left)
    return shown


def ledger_lines(ledger: Ledger) -> Iterator[str]:
    """Yield the surveys in a ledger, with the number of people who took part."""
    for number, plan in enumerate(ledger.asked, 1):
        ids = ", ".join(question.id for question in plan.survey.questions)
        yield f"{number}. {plan.survey.name}: {ids} ({_participation(plan)})"
    if not ledger.asked:
        yield "no survey has been recorded yet"


def spent_line(spent: Spent) -> str:
    """Return the privacy budget spent; for a plan of several rounds,
    with the rounds done and left."""
    if spent.rounds == 1:
        return f"epsilon spent so far {bound(spent.epsilon)} (delta {spent.delta:g}), in total"
    remaining = f"{spent.left:,} left" if spent.left else "none left"
    return (
        f"{spent.done:,} of {spent.rounds:,} rounds of {spent.name}; epsilon spent so far "
        f"{bound(spent.epsilon)} of {spent.promised:g} (delta {spent.delta:g}); {remaining}"
    )


def _participation(asked: EarlierPlan) -> str:
    """Return the crowd of a completed plan, beside the planned one, and how it was collected."""
    collected, planned = asked.collected, asked.survey.honest
    people = asked.survey.hidden(min(collected.people)) if collected.people else asked.crowd
    of = f" of the {planned:,} planned" if people < planned else f", {planned:,} planned"
    of = of if people != planned else ""
    text = f"{quantity(people, 'people')}{of if collected.people else ' as planned, not counted'}"
    if collected.bundle:
        text += f", over a network, bundle {collected.bundle}"
    return f"{text}, not protected by mixing: charged as if with names" if asked.linked else text
