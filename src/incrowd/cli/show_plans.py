"""Plans and ledgers for people (rich tables) or machines (JSON); nothing that reads reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.cli.console import out, print_json, say
from incrowd.guarantees import spent
from incrowd.planner.alternatives import Alternative
from incrowd.planner.forecast import TableForecast, forecast
from incrowd.planner.precision import least_effective_sample
from incrowd.plans import Plan
from incrowd.plans.ledger import Ledger
from incrowd.presentation import regressions
from incrowd.presentation.advice import first_line, odds_seen, of_no_use, sharper, shuffler_trade
from incrowd.presentation.data import guarantee_facts, message_facts, of_the_only
from incrowd.presentation.number_text import finite
from incrowd.presentation.plan_text import word_notes
from incrowd.presentation.regressions import expected_facts
from incrowd.presentation.sentences import (
    guarantee_sentence,
    guarantee_symbols,
    warnings,
    way_words,
    worst_pair,
)
from incrowd.presentation.terminal_tables import (
    VISIBLE,
    Expected,
    alternatives_table,
    assumed_words,
    beyond_budget,
    forecast_table,
    ledger_lines,
    mean_error,
    message_table,
    numbers_table,
    open_table_lines,
    sent_each,
    spent_line,
)

if TYPE_CHECKING:
    from incrowd.estimation.regression.results import Regression


def plan(made: Plan, others: Sequence[Alternative], solved: str | None, json: bool) -> None:
    """What was planned, and other ways to send the same survey. solved: what was looked for."""
    expected, models = forecast(made), _regressions(made)
    effective = least_effective_sample(made.survey, made.messages)
    ways = [(way_words(way.code, way.limit), *way[1:5]) for way in others]
    advice = [first_line(made, expected, models, solved=solved), *sharper(made, effective, ways)]
    capped = [shown for way, shown in zip(others, ways, strict=True) if way.code == "local-epsilon"]
    advice += shuffler_trade(made, effective, capped)
    advice += odds_seen(made, models)
    doubts = [*warnings(made.guarantee), *beyond_budget(made), *of_no_use(made, expected)]
    doubts += word_notes(made.survey)
    if json:
        facts = plan_facts(made) | {"advice": advice, "warnings": doubts}
        tables = [finite(dataclasses.asdict(table)) for table in expected]
        more = {"tables": tables, "assumed": assumed_words(made.survey)}
        more["regressions"] = finite(list(map(expected_facts, models)))
        more["alternatives"] = [
            finite(way._asdict()) | {"name": shown[0]}
            for way, shown in zip(others, ways, strict=True)
        ]
        if openly := list(open_table_lines(made.survey)):
            more["open_tables"] = openly
        print_json(facts | more)
        return
    for text in advice:
        out.print(text, markup=False, highlight=False)
    out.print(made.survey.name, style="bold", markup=False)
    out.print(message_table(made))
    out.print(guarantee_sentence(made.guarantee), markup=False, highlight=False)
    symbols = f"{guarantee_symbols(made.guarantee)} {worst_pair(made.guarantee.worst)}"
    out.print(symbols, style="dim", markup=False, highlight=False)
    for text in doubts:
        say(f"warning: {text}")
    out.print(forecast_table(made.survey, map(_expectations, expected)))
    say(assumed_words(made.survey))
    say(VISIBLE)
    for text in open_table_lines(made.survey):
        say(text)
    for table in expected:
        if table.mean_error is not None:
            say(mean_error(made.survey, table.questions[0], table.mean_error))
    for model in models:
        _regression(model)
    if others:
        out.print(alternatives_table(made, effective, ways))


def _regressions(made: Plan) -> Sequence[Regression]:
    """What to expect of the wanted regressions."""
    if not made.survey.regressions:
        return ()
    from incrowd.planner.regression_forecast import forecast_regressions  # slow to load

    return forecast_regressions(made)


def _expectations(table: TableForecast) -> Expected:
    """The figures of a table that people are shown."""
    return (
        table.questions,
        table.standard_error_even,
        table.standard_error_uneven,
        table.minimum_detectable_share,
        table.effective_sample_size,
        table.effective_sample_size_uneven,
    )


def _regression(model: Regression) -> None:
    view = regressions.view(model)
    for numbers in view.tables:
        out.print(numbers_table(numbers))
    for text in view.notes:
        say(text)


def ledger(known: Ledger, json: bool) -> None:
    """What a population was asked, what that has spent, and what is left of planned rounds."""
    found = spent(known)
    if not json:
        for line in [*ledger_lines(known), *([spent_line(found)] if found else [])]:
            say(line)
        return
    facts = [
        {
            "survey": asked.survey.name,
            "questions": [question.id for question in asked.survey.questions],
            "crowd": asked.crowd,
            "planned": asked.survey.honest,
            "counted": bool(asked.collected.people),
            "linked": asked.linked,
            "bundle": asked.collected.bundle,
            "tail": asked.collected.tail,
            "digest": asked.digest,
        }
        for asked in known.asked
    ]
    spending = {"spent": {"epsilon": found.epsilon, "delta": found.delta}} if found else {}
    rounds = {"rounds": found._asdict()} if found and found.rounds > 1 else {}
    print_json({"asked": facts} | spending | rounds)


def plan_facts(made: Plan) -> dict[str, Any]:
    """A plan in a few numbers; those of the message once more outside, if there is only one."""
    messages = [
        message_facts(message)
        | {"distance": sum(question.distance for question in message.questions)}
        for message in made.messages
    ]
    return {
        **of_the_only(messages, "noise", "noise_numerator", "bits", "distance", "copies"),
        "messages": messages,
        "reports_per_person": sent_each(made),
        "crowd": made.guarantee.crowd,
        "epsilon": made.guarantee.epsilon,
        "delta": made.guarantee.delta,
        "analysis": made.guarantee.analysis,
        "local_epsilon": made.guarantee.local_epsilon,
        "guarantee": guarantee_facts(made.guarantee),
        "warnings": list(warnings(made.guarantee)),
        "earlier": [plan.digest for plan in made.earlier],
        "digest": made.digest,
    }
