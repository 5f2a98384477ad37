"""Plans and ledgers for people (rich tables) or machines (JSON), without loading the reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.cli.console import out, print_json, say
from incrowd.estimation.intervals import POWER
from incrowd.guarantees.rounds import spent
from incrowd.number_text import finite
from incrowd.planner.alternatives import Alternative
from incrowd.planner.forecast import TableForecast, forecast
from incrowd.planner.plan import other_kind
from incrowd.planner.precision import least_effective_sample
from incrowd.plans import Plan
from incrowd.plans.ledger import Ledger
from incrowd.plans.message import message_facts
from incrowd.plans.plan import written_epsilon
from incrowd.plans.slots import invented
from incrowd.presentation.advice import (
    asked_words,
    first_line,
    odds_seen,
    of_hardly_anybody,
    of_no_use,
    other_noise,
    refusals,
    sharper,
    shuffler_trade,
    without_cells,
)
from incrowd.presentation.data import guarantee_facts, plain
from incrowd.presentation.guarantee_text import (
    assumption_sentence,
    guarantee_line,
    guarantee_sentence,
    guarantee_symbols,
    warnings,
    way_words,
    worst_pair,
)
from incrowd.presentation.plan_text import word_notes
from incrowd.presentation.terminal_tables import (
    Expected,
    alternatives_table,
    assumed_words,
    beyond_budget,
    detectable_words,
    forecast_table,
    ledger_lines,
    mean_error,
    message_table,
    numbers_table,
    open_table_lines,
    sealing,
    sent_each,
    spent_line,
)
from incrowd.views import of_the_only

if TYPE_CHECKING:
    from incrowd.estimation.regression.results import Regression

MORE = "-v shows the noise, what the figures mean, and other ways to send the survey"
MORE_PEOPLE = "(--solve crowd --margin 5% finds how many)"


def plan(
    plan: Plan,
    others: Sequence[Alternative],
    solved: str | None,
    json: bool,
    people: Sequence[str] = (),
    verbose: bool = False,
    power: float = POWER,
) -> None:
    """Show a plan, and other ways to send the same survey.

    solved: the unknown of --solve. people: what follows from who is invited. verbose: whether to
    show the messages, the worst pair, what the figures mean, and the other ways. power: of what is
    called detectable.
    """
    expected, models = forecast(plan, power=power), _regressions(plan, power)
    effective = least_effective_sample(plan.survey, plan.messages)
    ways = [(str(way_words(way.code, way.limit)), *way[1:5]) for way in others]
    advice = [*refusals(models), first_line(plan, expected, models, solved=solved)]
    advice += [*people, *sharper(plan, effective, ways)]
    capped = [shown for way, shown in zip(others, ways, strict=True) if way.code == "local-epsilon"]
    if json or verbose:  # a warning says that the protection comes from the mixing
        advice += shuffler_trade(plan, effective, capped)
    advice += [*other_noise(other_kind(plan)), *odds_seen(plan, models), *sealing(plan)]
    sentences = [*warnings(plan.guarantee), *beyond_budget(plan)]
    sentences += [*of_no_use(plan, expected, MORE_PEOPLE), *of_hardly_anybody(expected)]
    doubts = [*map(str, [*sentences, *without_cells(plan)]), *word_notes(plan.survey)]
    if json:
        facts = plan_facts(plan) | {"advice": advice, "warnings": doubts}
        tables = [finite(dataclasses.asdict(table)) for table in expected]
        more = {"tables": tables, "assumed": assumed_words(plan.survey)}
        more["regressions"] = plain([model.expected_facts() for model in models])
        more["alternatives"] = [
            finite(way._asdict()) | _left(way) | {"name": shown[0]}
            for way, shown in zip(others, ways, strict=True)
        ]
        if openly := list(open_table_lines(plan.survey)):
            more["open_tables"] = openly
        print_json(facts | more)
        return
    for text in advice:
        out.print(text, markup=False, highlight=False)
    _promise(plan, verbose)
    for text in doubts:
        say(f"warning: {text}")
    out.print(forecast_table(plan.survey, map(_expectations, expected), verbose=verbose))
    if verbose:
        say(assumed_words(plan.survey))
        say(detectable_words(power))
    for text in open_table_lines(plan.survey):
        say(text)
    for table in expected:
        _of_some(plan, table)
    for model in models:
        _regression(model)
    _other_ways(plan, effective, ways, verbose)


def _other_ways(
    plan: Plan, effective: float, ways: Sequence[tuple[Any, ...]], verbose: bool
) -> None:
    """Show other ways to send the survey; or how to see them, and everything else."""
    if not verbose:
        say(MORE)
    elif ways:
        out.print(alternatives_table(plan, effective, ways))


def _promise(plan: Plan, verbose: bool) -> None:
    """Show the guarantee in one line; or in full, with the messages and the worst pair."""
    if not verbose:
        out.print(str(guarantee_line(plan.guarantee)), markup=False, highlight=False)
        return
    out.print(plan.survey.name, style="bold", markup=False)
    out.print(message_table(plan))
    out.print(guarantee_sentence(plan.guarantee), markup=False, highlight=False)
    symbols = f"{guarantee_symbols(plan.guarantee)} {worst_pair(plan.guarantee.worst)}"
    out.print(symbols, style="dim", markup=False, highlight=False)


def _left(way: Alternative) -> dict[str, Any]:
    """Return the local epsilon of a way that keeps the guarantee, as files hold it."""
    possible = way.effective_sample_size is not None
    return {"local_epsilon": written_epsilon(way.local_epsilon)} if possible else {}


def _regressions(plan: Plan, power: float) -> Sequence[Regression]:
    """Return forecasts of the wanted regressions."""
    if not plan.survey.regressions:
        return ()
    from incrowd.planner.regression_forecast import forecast_regressions  # slow to load

    return forecast_regressions(plan, power=power)


def _of_some(plan: Plan, table: TableForecast) -> None:
    """Show the precision of an amount's mean, and among those who are asked a question."""
    if table.mean_error is not None:
        say(mean_error(plan.survey, table.questions[0], table.mean_error))
    if table.asked is not None:
        say(asked_words(table.questions[0], table.asked))


def _expectations(table: TableForecast) -> Expected:
    """Return the figures of a table that are shown to people."""
    return (
        table.questions,
        table.standard_error_even,
        table.standard_error_uneven,
        table.minimum_detectable_share,
        table.effective_sample_size,
        table.effective_sample_size_uneven,
    )


def _regression(model: Regression) -> None:
    view = model.view()
    for text in view.above:
        say(text)
    for numbers in view.tables:
        out.print(numbers_table(numbers))
    for text in view.notes:
        say(text)


def ledger(record: Ledger, json: bool) -> None:
    """Show what people were asked, the privacy spent, and the planned rounds that are left."""
    spending = spent(record)
    if not json:
        for line in ledger_lines(record):
            say(line)
        if spending:
            say(" ".join(str(assumption_sentence(each)) for each in spending.assumptions))
            say(spent_line(spending))
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
        for asked in record.asked
    ]
    result: dict[str, Any] = {"asked": facts}
    if spending:
        figures = spending._asdict()
        assumed = [each.model_dump(mode="json") for each in figures.pop("assumptions")]
        about = {"epsilon": spending.epsilon, "delta": spending.delta, "assumptions": assumed}
        result |= {"spent": about} | ({"rounds": figures} if spending.rounds > 1 else {})
    print_json(result)


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return the figures of a plan. For one message, its figures are repeated at the top level."""
    messages = [
        message_facts(message)
        | {"distance": sum(question.distance for question in message.questions)}
        for message in plan.messages
    ]
    return {
        **of_the_only(messages, "noise", "noise_numerator", "bits", "distance", "copies"),
        "messages": messages,
        "reports_per_person": sent_each(plan),
        "invented_reports": invented(plan),
        "crowd": plan.guarantee.crowd,
        "least": plan.least,
        "epsilon": plan.guarantee.epsilon,
        "delta": plan.guarantee.delta,
        "analysis": plan.guarantee.analysis,
        "local_epsilon": written_epsilon(plan.guarantee.local_epsilon),
        "guarantee": guarantee_facts(plan.guarantee),
        "warnings": list(map(str, warnings(plan.guarantee))),
        "earlier": [plan.digest for plan in plan.earlier],
        "digest": plan.digest,
    }
