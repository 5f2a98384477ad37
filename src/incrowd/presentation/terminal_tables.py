"""Tables and lines for people at a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from incrowd.plans import EarlierPlan, Plan
from incrowd.plans.ledger import Ledger, Spent, repeated, rounds_before
from incrowd.presentation import number_text
from incrowd.presentation.advice import Way, error_ratio
from incrowd.presentation.number_text import bound, short_percent
from incrowd.presentation.view import Numbers
from incrowd.survey import Survey

# Questions, standard errors if answers are even and if they are uneven, detectable share, effective
# samples if they are even and uneven.
Expected = tuple[Sequence[str], float, float, float, float, float]

LIGHT: dict[str, Any] = {"box": None, "header_style": "dim"}  # no lines, a quiet head
EVEN_OR_NOT = (
    "if all answers are equally common, and if they are uneven (one yes in ten; otherwise each "
    "answer half as common as the one before)"
)
VISIBLE = (
    "detectable share: detected in half of all surveys or more, whichever answers it is of (5% "
    "false alarms in a table); effective sample: as precise as so many people asked without privacy"
)
MANY = 30  # tables, above which those with the same figures share a line
UNDETECTED = "none"  # where even a share of 100% would be taken for noise


def table(title: str | Text | None, *names: str, whole: Sequence[str] = (), **look: Any) -> Table:
    """An empty table for 80 columns: figures on the right, and before them what they are of.

    whole: columns that no narrow terminal breaks.
    """
    made = Table(title=Text(title) if isinstance(title, str) else title, **look)
    for number, name in enumerate(names):
        justify: Any = "right" if number else "left"
        made.add_column(name, justify=justify, overflow="fold", no_wrap=name in whole)
    return made


def numbers_table(numbers: Numbers) -> Table:
    """The figures of a view."""
    look: dict[str, Any] = {"padding": (0, numbers.spaces, 0, 0), **LIGHT} if numbers.spaces else {}
    shown = table(numbers.title, *numbers.headings, whole=numbers.whole, **look)
    for line in numbers.lines:
        shown.add_row(*map(Text, line))
    return shown


def beside(title: str, text: str) -> Table:
    """A title, and beside it a text that others wrote: none of its lines begins like a title."""
    row = Table.grid()
    row.add_row(Text(title, no_wrap=True), Text(text))
    return row


def message_table(made: Plan) -> Table:
    """A line for each message: what travels together, and with how much noise."""
    names = ("message", "sent", "noise", "reports from each person")
    shown = table(None, *names, padding=(0, 2, 0, 0), **LIGHT)
    for message in made.messages:
        noise = "its own" if message.noise is None else number_text.noise(message.noise.q)
        kind, reports = (
            f"{message.bits:,} bit{'s' * (message.bits > 1)} together",
            f"{message.copies:,}",
        )
        if message.cells:
            which = "pairs of answers" if message.parities else "cells"
            kind = f"{message.record_bits:,} {which}"
            reports = f"about {message.reports_each:,.1f}, one for each that is set"
        shown.add_row(Text(", ".join(message.ids)), kind, noise, reports)
    return shown


def sent_each(made: Plan) -> float:
    """How many reports a person sends by a plan, on average."""
    return sum(message.reports_each for message in made.messages)


def count(reports: float) -> str:
    """How many reports, with a decimal where it is a mean."""
    return f"{reports:,.0f}" if reports == round(reports) else f"{reports:,.1f}"


def beyond_budget(made: Plan) -> Iterator[str]:
    """What to know of a plan whose cells are more reports than a person may send."""
    budget = made.survey.reports_per_person
    sent = sent_each(made)
    if budget is not None and sent > budget:
        yield (
            f"each person sends about {sent:,.0f} reports, more than reports_per_person = "
            f"{budget}: every cell that is set is a report, and the promise takes that "
            "much noise"
        )


def forecast_table(survey: Survey, expected: Iterable[Expected]) -> Table:
    """How precise each table will be, of the smallest stratum where questions are open.

    Of many tables, those with the same figures share a line.
    """
    whose = " in the smallest stratum" if survey.open else ""
    title = f"expected precision with {survey.crowd:,} people{whose}"
    names = ("table", "standard error", "detectable share", "effective sample")
    shown = table(title, *names, whole=(names[1], names[3]))
    lines: dict[tuple[int, tuple[str, str, str]], list[str]] = {}
    tables = list(expected)
    for number, (questions, even, uneven, detectable, *people) in enumerate(tables):
        kind = len(questions) if len(tables) > MANY else number
        visible = UNDETECTED if detectable > 1 else short_percent(detectable)
        errors = " to ".join(dict.fromkeys(map(short_percent, sorted((even, uneven)))))
        effective = " to ".join(dict.fromkeys(map(_people, sorted(people))))
        figures = (errors, visible, effective)
        lines.setdefault((kind, figures), []).append(", ".join(questions))
    for (_, figures), alike in lines.items():
        more = f" and {len(alike) - 1:,} more like it" if len(alike) > 1 else ""
        shown.add_row(Text(alike[0] + more), *figures)
    return shown


def _people(number: float) -> str:
    return f"{number:,.0f}" if number >= 1 else "below 1"


def assumed_words(survey: Survey) -> str:
    """What the forecasts of tables assume."""
    stated = " and ".join(survey.shares)
    if all(question.id in survey.shares for question in survey.randomized):
        return "standard error: of the least precise cell, with the stated shares of the answers"
    as_stated = f"; the shares of {stated} are as stated" if stated else ""
    return f"standard error: of the least precise cell, {EVEN_OR_NOT}{as_stated}"


def open_table_lines(survey: Survey) -> Iterator[str]:
    """Where the forecast of a wanted table stands that names an open question."""
    for ids in survey.wanted:
        closed, name = survey.closed(ids), ", ".join(ids)
        if not closed:
            yield f"{name}: sent openly, so known without noise"
        elif closed != ids:
            yield f"{name}: in each stratum as sharp as {', '.join(closed)}"


def mean_error(survey: Survey, id: str, error: float) -> str:
    """How sharp the mean of an amount will be, in its unit and as a share of its range."""
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


def alternatives_table(made: Plan, effective: float, others: Sequence[Way]) -> Table:
    """The same survey sent in other ways, side by side. effective: the sample of this plan, with
    whose errors those of the others are compared."""
    title = f"other ways to send it: effective sample of {_LEAST[made.survey.objective]}"
    names = ("sent as", "messages", "reports each", "effective", "errors", "local ε")
    shown = table(title, *names, whole=names[1:])
    local = made.guarantee.local_epsilon
    own: Way = "this plan", len(made.messages), sent_each(made), effective, local
    for name, messages, reports, other, left in [own, *others]:
        if other is None:
            shown.add_row(f"{name}: no noise keeps the promise", *[""] * 5)
        else:
            numbers = (f"{messages:,}", count(reports), f"{other:,.0f}")
            ratio = f"× {error_ratio(other, effective):.2f}"
            shown.add_row(name, *numbers, ratio, bound(left, 3))
    return shown


def ledger_lines(known: Ledger) -> Iterator[str]:
    """What a population was asked, and how many came."""
    for number, asked in enumerate(known.asked, 1):
        ids = ", ".join(question.id for question in asked.survey.questions)
        yield f"{number}. {asked.survey.name}: {ids} ({_came(asked)})"
    if not known.asked:
        yield "nothing was asked so far"
    for each in sorted(repeated(rounds_before(known.asked)).exposed):
        yield (
            f"permanent responses of {each.survey} to {each.question} are charged as if they "
            "carried names: it is not known that the same people were in all rounds, and the "
            "difference of two can be one person's response"
        )


def spent_line(found: Spent) -> str:
    """What was spent; of a plan of several rounds how many were carried out, and are left."""
    if found.rounds == 1:
        return f"epsilon spent so far {bound(found.epsilon)} (delta {found.delta:g}), all together"
    left = f"{found.left:,} left" if found.left else "nothing is left"
    return (
        f"{found.done:,} of {found.rounds:,} rounds of {found.name}; epsilon spent so far "
        f"{bound(found.epsilon)} of {found.promised:g} (delta {found.delta:g}); {left}"
    )


def _came(asked: EarlierPlan) -> str:
    """The crowd of a plan that was carried out, beside the planned one, and how it was."""
    collected, planned = asked.collected, asked.survey.honest
    people = asked.survey.hidden(min(collected.people)) if collected.people else asked.crowd
    of = f" of the {planned:,} planned" if people < planned else f", {planned:,} planned"
    of = of if people != planned else ""
    said = f"{people:,} people{of if collected.people else ' as planned, not counted'}"
    if collected.bundle:
        said += f", over a network, bundle {collected.bundle}"
    return f"{said}, without a shuffler: charged as if with names" if asked.linked else said
