"""Plans and ledgers for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from incrowd.plans import Asked, Plan
from incrowd.plans.ledger import Ledger
from incrowd.presentation import number_text
from incrowd.presentation.number_text import short_percent
from incrowd.presentation.terminal_tables import table

# Name, messages, reports a person, and the error of the wanted tables; None if there is none.
Way = tuple[str, int, int, float | None]
# Questions, standard error, smallest share that is told from zero, effective sample.
Expected = tuple[Sequence[str], float, float, float]
VISIBLE = (
    "visible from: the smallest share that is told from zero half of the time (5% for any "
    "false one in the table)"
)


def message_table(made: Plan) -> Table:
    """A line for each message, or for many of them each kind with its number."""
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("message", "bits", "noise", "reports from each person"):
        left = name == "message"
        grid.add_column(name, justify="left" if left else "right", overflow="fold")
    for message in made.messages:
        noise = "its own" if message.noise is None else number_text.noise(message.noise.q, 6)
        sent = f"{message.copies:,}"
        if message.unlinked:
            sent = f"about {message.reports_each:,.1f}, one for each set bit"
        names = ", ".join(message.ids)
        grid.add_row(Text(names), f"{message.bits:,}", noise, sent)
    return grid


def beyond_budget(made: Plan) -> Iterator[str]:
    """What to know of a plan whose unlinked set bits are more than a person may send."""
    budget = made.survey.reports_per_person
    sent = sum(message.reports_each for message in made.messages)
    if budget is not None and sent > budget:
        yield (
            f"each person sends about {sent:,.0f} reports, more than reports_per_person = "
            f"{budget}: every unlinked set bit is a report, and the promise takes that "
            "much noise"
        )


def forecast_table(crowd: int, expected: Iterable[Expected]) -> Table:
    """How sharp each table will be."""
    title = f"what {crowd:,} people will tell, if all answers are alike"
    figures = ("standard error", "visible from", "as good as, asked openly")
    shown = table(title, "table", *figures)
    for questions, error, visible, people in expected:
        numbers = (short_percent(error), short_percent(visible), f"{people:,.0f} people")
        shown.add_row(Text(", ".join(questions)), *numbers)
    return shown


def alternatives_table(made: Plan, error: float, others: Sequence[Way]) -> Table:
    """The same survey sent in other ways, side by side; error: of this plan."""
    objective = made.survey.objective
    table = Table(title=f"other ways to send it: {objective} standard error of the wanted tables")
    for name in ("sent as", "messages", "reports a person", "error", "ratio"):
        left = name == "sent as"
        table.add_column(name, justify="left" if left else "right", no_wrap=left)
    sent = sum(message.copies for message in made.messages)
    table.add_row("this plan", f"{len(made.messages):,}", f"{sent:,}", short_percent(error), "1.00")
    for name, messages, reports, other in others:
        if other is None:
            table.add_row(name, "", "", "no noise keeps the promise", "")
        else:
            numbers = (f"{messages:,}", f"{reports:,}", short_percent(other))
            table.add_row(name, *numbers, f"{other / error:.2f}")
    return table


def ledger_lines(known: Ledger) -> Iterator[str]:
    """What a population was asked, and how many came."""
    for number, asked in enumerate(known.asked, 1):
        ids = ", ".join(question.id for question in asked.survey.questions)
        yield f"{number}. {asked.survey.name}: {ids} ({_came(asked, known)})"
    if not known.asked:
        yield "nothing was asked so far"


def _came(asked: Asked, known: Ledger) -> str:
    """The crowd of a plan that was carried out, beside the planned one."""
    if asked.digest in known.as_planned:
        return f"{asked.crowd:,} people as planned, not counted"
    planned = asked.survey.honest
    of = "" if asked.crowd == planned else f" of the {planned:,} planned"
    return f"{asked.crowd:,} people{of}"
