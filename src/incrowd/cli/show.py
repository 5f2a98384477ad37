"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from incrowd.cli.console import out, print_json, printed_as_json, say
from incrowd.estimation.results import Estimates
from incrowd.planner.alternatives import Alternative
from incrowd.plans import Asked, Plan
from incrowd.plans.ledger import Ledger
from incrowd.presentation import comparisons, number_text, terminal
from incrowd.presentation.data import as_json, guarantee_facts, message_facts
from incrowd.presentation.guarantees import (
    guarantee_sentence,
    guarantee_symbols,
    warnings,
)
from incrowd.presentation.number_text import finite
from incrowd.presentation.terminal_plan import (
    VISIBLE,
    alternatives_table,
    beyond_budget,
    forecast_table,
    ledger_lines,
    message_table,
)
from incrowd.presentation.terminal_tables import (
    comparison_table,
    postprocessed_table,
)
from incrowd.sampling.streaming import Written
from incrowd.tally.tally import Tally
from incrowd.workflow.compare import TwoWay
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
    out.print(message_table(made))
    out.print(guarantee_sentence(made.guarantee), markup=False, highlight=False)
    out.print(guarantee_symbols(made.guarantee), style="dim", markup=False, highlight=False)
    for text in (*warnings(made.guarantee), *beyond_budget(made)):
        say(f"warning: {text}")
    expectations = ((t.questions, t.standard_error, t.visible, t.as_good_as) for t in expected)
    out.print(forecast_table(made.survey.crowd, expectations))
    say(VISIBLE)
    if others:
        out.print(alternatives_table(made, plan_error(made), others))


def ledger(known: Ledger, json: bool) -> None:
    """What a population was asked."""
    if json:
        print_json({"asked": [_asked_facts(asked, known) for asked in known.asked]})
        return
    for line in ledger_lines(known):
        say(line)


def _asked_facts(asked: Asked, known: Ledger) -> dict[str, Any]:
    return {
        "survey": asked.survey.name,
        "questions": [question.id for question in asked.survey.questions],
        "crowd": asked.crowd,
        "planned": asked.survey.honest,
        "counted": asked.digest not in known.as_planned,
        "digest": asked.digest,
    }


def _forecast_facts(item: TableForecast) -> dict[str, Any]:
    facts = dataclasses.asdict(item) | {"questions": list(item.questions)}
    return {k: None if v == float("inf") else v for k, v in facts.items()}


def plan_facts(made: Plan) -> dict[str, Any]:
    """A plan in a few numbers; those of the message once more outside, if there is only one."""
    messages = [
        message_facts(message)
        | {"distance": sum(question.distance for question in message.questions)}
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
        {"questions": list(message.ids), "reports": reports, "bits": message.bits}
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
        title = f"{', '.join(item.questions)}: {item.method}"
        out.print(postprocessed_table(title, item.answers, item.estimate, item.raw, item.bias))
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
    for line in _reports_verified(found):
        say(line)


def _verification_facts(made: Plan, found: Verification) -> dict[str, Any]:
    certificate, promised = found.certificate, made.guarantee
    return {
        "holds": found.holds,
        "plan_holds": found.plan_holds,
        "analysis": certificate.analysis,
        "by": certificate.by,
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


def comparison(found: TwoWay, json: bool) -> None:
    """What two questions have to do with each other."""
    if printed_as_json(json, lambda: _comparison_facts(found), found.seed):
        return
    say(guarantee_sentence(found.guarantee))
    out.print(comparisons.independence_words(found.independence), markup=False, highlight=False)
    out.print(comparison_table(comparisons.title(found.questions), found.figures))
    for note in comparisons.notes(found.figures):
        say(note)


def _comparison_facts(found: TwoWay) -> dict[str, Any]:
    """No infinity and no nan, null in their place: `unbounded` says on which side there is no
    limit."""
    facts: dict[str, Any] = finite(dataclasses.asdict(found))
    return facts | {"guarantee": found.guarantee.model_dump()}


def _reports_verified(found: Verification) -> Iterator[str]:
    """Whether reports can come from a plan."""
    if found.impossible is not None:
        for wrong in found.impossible:
            yield (
                f"message {wrong.message}, {wrong.question}, bit {wrong.bit}: set in "
                f"{wrong.rate:.4%} of the reports; the noise gives {wrong.low:.4%} to "
                f"{wrong.high:.4%}"
            )
        for people in found.impossible_people or ():
            yield (
                f"message {people.message}: {people.people:,} people send {people.low:,} to "
                f"{people.high:,} reports; {people.reports:,} were accepted"
            )
        cannot = found.impossible or found.impossible_people
        fit = "cannot come from" if cannot else "can come from"
        yield f"the {found.reports:,} accepted reports {fit} this plan"
    if found.rejected:
        yield (
            f"{found.rejected:,} reports were rejected: no client of the plan can have sent them"
        )
    if found.missing:
        yield f"{found.missing:,} people are missing: the promise does not hold for this crowd"
