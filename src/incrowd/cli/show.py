"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from incrowd.cli.console import out, print_json, printed_as_json, say, table
from incrowd.estimation.results import Estimates
from incrowd.planner.alternatives import Alternative
from incrowd.plans import Asked, Plan
from incrowd.plans.ledger import Ledger
from incrowd.presentation import number_text, terminal
from incrowd.presentation.data import as_json, guarantee_facts, message_facts
from incrowd.presentation.guarantees import (
    guarantee_sentence,
    guarantee_symbols,
    warnings,
)
from incrowd.presentation.number_text import finite, short_percent
from incrowd.sampling.streaming import Written
from incrowd.tally.tally import Tally
from incrowd.workflow.forecast import TableForecast, forecast
from incrowd.workflow.plan import plan_error
from incrowd.workflow.postprocess import Postprocessed
from incrowd.workflow.verify import Verification


def plan(made: Plan, others: Sequence[Alternative], json: bool) -> None:
    """What was planned, and other ways to send the same survey."""
    facts, expected = plan_facts(made), forecast(made)
    if json:
        tables = {"tables": [_forecast_facts(table) for table in expected]}
        print_json(facts | tables | {"alternatives": [way._asdict() for way in others]})
        return
    out.print(made.survey.name, style="bold", markup=False)
    out.print(_messages(made))
    out.print(guarantee_sentence(made.guarantee), markup=False, highlight=False)
    out.print(guarantee_symbols(made.guarantee), style="dim", markup=False, highlight=False)
    for text in (*warnings(made.guarantee), *_beyond_budget(made)):
        say(f"warning: {text}")
    title = f"what {made.survey.crowd:,} people will tell, if all answers are alike"
    figures = ("standard error", "visible from", "as good as, asked openly")
    shown = table(title, "table", *figures)
    for item in expected:
        people = f"{item.as_good_as:,.0f} people"
        error, visible = short_percent(item.standard_error), short_percent(item.visible)
        shown.add_row(Text(", ".join(item.questions)), error, visible, people)
    out.print(shown)
    say(
        "visible from: the smallest share that is told from zero half of the time (5% for any "
        "false one in the table)"
    )
    if others:
        out.print(_alternatives(made, others))


def _beyond_budget(made: Plan) -> Iterator[str]:
    """What to know of a plan whose set bits that travel apart are more than a person may send."""
    budget, sent = made.survey.reports_per_person, sum(map(made.reports_each, made.messages))
    if budget is not None and sent > budget:
        yield (
            f"each person sends about {sent:,.0f} reports, more than reports_per_person = "
            f"{budget}: every set bit that travels apart is a report, and the promise takes that "
            "much noise"
        )


def _alternatives(made: Plan, others: Sequence[Alternative]) -> Table:
    """The same survey sent in other ways, side by side."""
    objective = made.survey.objective
    table = Table(title=f"other ways to send it: {objective} standard error of the wanted tables")
    for name in ("sent as", "messages", "reports a person", "error", "ratio"):
        left = name == "sent as"
        table.add_column(name, justify="left" if left else "right", no_wrap=left)
    sent, error = sum(message.copies for message in made.messages), plan_error(made)
    table.add_row("this plan", f"{len(made.messages):,}", f"{sent:,}", short_percent(error), "1.00")
    for way in others:
        if way.error is None:
            table.add_row(way.name, "", "", "no noise keeps the promise", "")
        else:
            numbers = (f"{way.messages:,}", f"{way.reports_per_person:,}")
            ratio = f"{way.error / error:.2f}"
            table.add_row(way.name, *numbers, short_percent(way.error), ratio)
    return table


def ledger(known: Ledger, json: bool) -> None:
    """What a population was asked."""
    if json:
        print_json({"asked": [_asked_facts(asked, known) for asked in known.asked]})
        return
    for number, asked in enumerate(known.asked, 1):
        ids = ", ".join(question.id for question in asked.survey.questions)
        say(f"{number}. {asked.survey.name}: {ids} ({_came(asked, known)})")
    if not known.asked:
        say("nothing was asked so far")


def _came(asked: Asked, known: Ledger) -> str:
    """The crowd of a plan that was carried out, beside the planned one."""
    if asked.digest in known.as_planned:
        return f"{asked.crowd:,} people as planned, not counted"
    planned = asked.survey.honest
    of = "" if asked.crowd == planned else f" of the {planned:,} planned"
    return f"{asked.crowd:,} people{of}"


def _asked_facts(asked: Asked, known: Ledger) -> dict[str, Any]:
    return {
        "survey": asked.survey.name,
        "questions": [question.id for question in asked.survey.questions],
        "crowd": asked.crowd,
        "planned": asked.survey.honest,
        "counted": asked.digest not in known.as_planned,
        "digest": asked.digest,
    }


def _messages(made: Plan) -> Table:
    """A line for each message, or for many of them each kind with its number."""
    grid = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("message", "bits", "noise", "reports from each person"):
        left = name == "message"
        grid.add_column(name, justify="left" if left else "right", overflow="fold")
    for message in made.messages:
        noise = "its own" if message.channel is None else number_text.noise(message.channel.q, 6)
        sent = f"{message.copies:,}"
        if message.apart and message.channel is not None:
            sent = f"about {made.reports_each(message):,.1f}, one for each set bit"
        names = ", ".join(message.questions)
        grid.add_row(Text(names), f"{made.bits(message):,}", noise, sent)
    return grid


def _forecast_facts(item: TableForecast) -> dict[str, Any]:
    facts = dataclasses.asdict(item) | {"questions": list(item.questions)}
    return {k: None if v == float("inf") else v for k, v in facts.items()}


def plan_facts(made: Plan) -> dict[str, Any]:
    """A plan in a few numbers; those of the message once more outside, if there is only one."""
    messages = [
        message_facts(made, message)
        | {"distance": sum(question.distance for question in made.questions(message))}
        for message in made.messages
    ]
    names = ("noise", "noise_numerator", "bits", "distance", "copies")
    single = {name: messages[0][name] for name in names} if len(messages) == 1 else {}
    return {
        **single,
        "messages": messages,
        "reports_per_person": sum(message.copies for message in made.messages),
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


def randomized(made: Plan, written: Written, json: bool) -> None:
    """What was written. Bits, reports and file are given once more outside for one message."""
    messages = [
        {"questions": list(message.questions), "reports": reports, "bits": made.bits(message)}
        | {"output": str(file)}
        for message, reports, file in zip(
            made.messages, written.reports, written.files, strict=True
        )
    ]
    single = {name: messages[0][name] for name in ("bits", "output")} if len(messages) == 1 else {}
    total = {"reports": sum(written.reports), "rows": written.rows, "people": written.rows}
    facts = total | single | {"plan": made.digest, "messages": messages}
    if printed_as_json(json, lambda: facts, written.seed):
        return
    say(f"randomised {written.rows:,} rows of answers")
    for message in messages:
        say(f"wrote {message['reports']:,} reports to {message['output']}")


def counted(found: Tally, output: Path, json: bool) -> None:
    """What was counted."""
    messages = {
        number + 1: {"accepted": counts.accepted, "rejected": counts.rejected}
        for number, counts in sorted(found.messages.items())
    }
    facts = {
        "output": str(output),
        "tables": [list(ids) for ids in found.tables],
        "messages": messages,
    }
    if printed_as_json(json, lambda: facts, found.seed):
        return
    for number, counts in messages.items():
        say(f"message {number}: {counts['accepted']:,} accepted, {counts['rejected']:,} rejected")
    say(f"wrote {output}")


def postprocessed(found: Sequence[Postprocessed], json: bool) -> None:
    """Biased shares beside the unbiased ones."""
    if printed_as_json(json, lambda: _postprocessed_facts(found), found[0].seed):
        return
    say(guarantee_sentence(found[0].guarantee))
    for item in found:
        out.print(_postprocessed_table(item))
        if len(item.log_likelihood):
            steps, last = len(item.log_likelihood) - 1, item.log_likelihood[-1]
            say(f"EM: {steps:,} steps, log-likelihood {last:,.3f}")
        for text in (item.warning, item.bias.statement if item.bias else ""):
            if text:
                say(text)
    say(found[0].statement)


def _postprocessed_facts(found: Sequence[Postprocessed]) -> dict[str, Any]:
    guarantees = ({"guarantee": guarantee_facts(item.guarantee)} for item in found)
    items = zip(map(dataclasses.asdict, found), guarantees, strict=True)
    return {"tables": finite([item | guarantee for item, guarantee in items])}


def _postprocessed_table(item: Postprocessed) -> Table:
    figures = ("post-processed", "unbiased", *(["bias"] if item.bias else []))
    shown = table(f"{', '.join(item.questions)}: {item.method}", "answer", *figures)
    for place, answer in enumerate(product(*item.answers)):
        cells = [f"{item.estimate.flat[place]:.4f}", f"{item.raw.flat[place]:.4f}"]
        if item.bias:
            bias, error = item.bias.bias.flat[place], item.bias.standard_error.flat[place]
            cells.append(f"{bias:+.4f} ± {error:.4f}")
        shown.add_row(Text(" | ".join(answer)), *cells)
    return shown


def estimates(found: Estimates, json: bool) -> None:
    """The tables."""
    if json:
        print_json(as_json(found))
    else:
        out.print(terminal.terminal(found))


def verification(made: Plan, found: Verification, json: bool) -> None:
    """Whether a plan holds, and whether reports can come from it."""
    if printed_as_json(json, lambda: _verification_facts(made, found), found.seed):
        return
    certificate, promised = found.certificate, made.guarantee
    verdict = "holds" if found.plan_holds else "DOES NOT HOLD"
    say(
        f"the plan {verdict}: {certificate.analysis}, "
        f"epsilon {number_text.bound(certificate.epsilon, 6)}, "
        f"delta {number_text.bound(certificate.delta.upper, 6)} "
        f"(promised {number_text.bound(promised.delta, 6)}), "
        f"crowd {promised.crowd:,}"
    )
    say(guarantee_sentence(promised))
    _reports_verified(found)


def _reports_verified(found: Verification) -> None:
    """Whether reports can come from a plan."""
    if found.impossible is not None:
        for wrong in found.impossible:
            say(
                f"message {wrong.message}, {wrong.question}, bit {wrong.bit}: set in "
                f"{wrong.rate:.4%} of the reports; the noise gives {wrong.low:.4%} to "
                f"{wrong.high:.4%}"
            )
        for people in found.impossible_people or ():
            say(
                f"message {people.message}: {people.people:,} people send {people.low:,} to "
                f"{people.high:,} reports; {people.reports:,} were accepted"
            )
        cannot = found.impossible or found.impossible_people
        fit = "cannot come from" if cannot else "can come from"
        say(f"the {found.reports:,} accepted reports {fit} this plan")
    if found.rejected:
        say(f"{found.rejected:,} reports were rejected: no client of the plan can have sent them")
    if found.missing:
        say(f"{found.missing:,} people are missing: the promise does not hold for this crowd")


def _verification_facts(made: Plan, found: Verification) -> dict[str, Any]:
    certificate, promised = found.certificate, made.guarantee
    return {
        "holds": found.holds,
        "plan_holds": found.plan_holds,
        "analysis": certificate.analysis,
        "epsilon": certificate.epsilon,
        "delta": float(certificate.delta.upper),
        "promised_delta": promised.delta,
        "crowd": promised.crowd,
        "guarantee": certificate.proved,
        "assumption": certificate.assumption,
        "digest": made.digest,
        "reports": found.reports,
        "rejected": found.rejected,
        "missing_people": found.missing,
        "impossible_people": found.impossible_people
        and [vars(wrong) for wrong in found.impossible_people],
        "impossible_bits": found.impossible and [vars(bit) for bit in found.impossible],
    }
