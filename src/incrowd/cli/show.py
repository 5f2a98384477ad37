"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from incrowd.cli.console import out, print_json, printed_as_json, say
from incrowd.estimation.correlations import Correlations
from incrowd.estimation.postprocess import Postprocessed
from incrowd.estimation.results import Estimates, Received
from incrowd.estimation.shares_apart import ShareDifference
from incrowd.estimation.two_way import TwoWay
from incrowd.estimation.weighting.margins import weights_facts
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import Release
from incrowd.plans.strata import left_out
from incrowd.presentation import comparisons, number_text, terminal
from incrowd.presentation.correlations import facts as correlation_facts
from incrowd.presentation.correlations import notes as correlation_notes
from incrowd.presentation.data import as_json, guarantee_facts, of_the_only
from incrowd.presentation.number_text import finite
from incrowd.presentation.receipts import receipt_facts, receipt_sentences, without_receipt
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.shown import listed, said_each, titled
from incrowd.presentation.terminal_tables import (
    comparison_table,
    correlations_table,
    crosstab_table,
    postprocessed_table,
)
from incrowd.reports.tally import Tally
from incrowd.sampling.streaming import Written
from incrowd.survey import Survey
from incrowd.verification import Verification


def randomized(made: Plan, written: Written, json: bool) -> None:
    """What was written. Bits, reports and file are given once more outside for one message."""
    whose = [{"strata": list(names)} for names in written.strata] or [{}] * len(written.files)
    messages = [
        {"questions": list(m.ids), "reports": reports, "bits": m.bits, "output": str(file)} | names
        for m, reports, file, names in zip(
            cycle(made.messages), written.reports, written.files, whose, strict=False
        )
    ]
    facts = {
        "reports": sum(written.reports),
        "rows": written.rows,
        "people": written.rows,
        **of_the_only(messages, "bits", "output"),
        "plan": made.digest,
        "messages": messages,
    }
    if made.survey.open:
        facts["not_released"] = list(left_out(made.survey, written.strata))
    if printed_as_json(json, facts, written.seed):
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
    facts = {"output": str(output), "tables": found.tables, "messages": messages}
    if printed_as_json(json, facts, found.seed):
        return
    for number, counts in messages.items():
        say(f"message {number}: {counts['accepted']:,} accepted, {counts['rejected']:,} rejected")
    say(f"wrote {output}")


def postprocessed(found: Sequence[Postprocessed], survey: Survey, json: bool) -> None:
    """Biased shares beside the unbiased ones."""
    tables = [
        finite(dataclasses.asdict(item)) | {"guarantee": guarantee_facts(item.guarantee)}
        for item in found
    ]
    if printed_as_json(json, {"tables": tables}, found[0].seed):
        return
    say(guarantee_sentence(found[0].guarantee))
    for item in found:
        read = titled([survey.text_of(id) for id in item.questions], item.questions)
        title = f"{read}: {item.method}"
        answers = [
            said_each(survey, *pair) for pair in zip(item.questions, item.answers, strict=True)
        ]
        out.print(postprocessed_table(title, answers, item.estimate, item.raw, item.bias))
        if len(item.log_likelihood):
            steps, last = len(item.log_likelihood) - 1, item.log_likelihood[-1]
            say(f"EM: {steps:,} steps, log-likelihood {last:,.3f}")
        for text in (item.warning, item.bias.statement if item.bias else ""):
            if text:
                say(text)
    say(found[0].statement)


def estimates(found: Estimates, json: bool) -> None:
    """The tables."""
    if json:
        print_json(as_json(found))
    else:
        out.print(terminal.terminal(found))


def verification(made: Plan, found: Verification, received: Sequence[Received], json: bool) -> None:
    """Whether a plan holds, whether reports can come from it, and what their receipts say."""
    facts = _verification_facts(made, found)
    facts |= {"receipts": list(map(receipt_facts, received))} if received else {}
    if printed_as_json(json, facts, found.seed):
        return
    if found.reports is not None:
        say(_verdict(made, found))
    certificate, promised = found.certificate, made.guarantee
    verdict = "holds" if found.plan_holds else "DOES NOT HOLD"
    say(
        f"the plan itself {verdict}: {certificate.analysis}, "
        f"epsilon {number_text.bound(certificate.epsilon, 6)}, "
        f"delta {number_text.bound(certificate.delta.upper, 6)} "
        f"(promised {number_text.bound(promised.delta, 6)}), "
        f"crowd {promised.crowd:,}"
    )
    say(guarantee_sentence(found.guarantee))
    for line in _reports_verified(found):
        say(line)
    receipts(received)


def receipts(received: Sequence[Received], releases: Iterable[Release] = ()) -> None:
    """What the receipts say of reports that came over a network, in those releases."""
    for each in received:
        for text in receipt_sentences(each):
            say(text)
    for text in without_receipt(releases, received):
        say(text)


def _verdict(made: Plan, found: Verification) -> str:
    """What holds for the people whose reports these are."""
    holds, promised = found.guarantee, made.guarantee
    if found.promise_holds:
        return f"the plan's promise holds for these reports: {_figures(holds)}"
    said = f"the plan's promise ({_figures(promised)}) DOES NOT HOLD for these reports"
    if not found.plan_holds or found.seed is not None:
        return f"{said}; nothing is promised"
    return f"{said}; what does hold: {_figures(holds)}"


def _figures(guarantee: Guarantee) -> str:
    epsilon, delta = number_text.bound(guarantee.epsilon, 6), number_text.bound(guarantee.delta, 6)
    return f"{guarantee.analysis}, epsilon {epsilon}, delta {delta}, crowd {guarantee.crowd:,}"


def _verification_facts(made: Plan, found: Verification) -> dict[str, Any]:
    """guarantee: what holds for the reports (of a plan alone: its own); certificate: what was
    computed anew from the plan, however its reports were collected."""
    certificate, promised = found.certificate, made.guarantee
    return {
        "holds": found.holds,
        "plan_holds": found.plan_holds,
        "promise_holds": found.promise_holds,
        "guarantee": guarantee_facts(found.guarantee) | {"promise_holds": found.promise_holds},
        "certificate": {
            "analysis": certificate.analysis,
            "by": certificate.by,
            "epsilon": certificate.epsilon,
            "delta": float(certificate.delta.upper),
            "promised_delta": promised.delta,
            "crowd": promised.crowd,
            "proved": certificate.proved,
            "assumption": certificate.assumption,
        },
        "digest": made.digest,
        "reports": found.reports,
        "rejected": found.rejected,
        "missing_people": found.missing,
        "contradicted": found.contradicted,
        **({"strata": [_crowd(*each) for each in found.people.items()]} if found.people else {}),
        "impossible_people": found.impossible_people
        and [vars(wrong) for wrong in found.impossible_people],
        "impossible_bits": found.impossible and [vars(bit) for bit in found.impossible],
    }


def _crowd(names: Sequence[str], people: int) -> dict[str, Any]:
    return {"strata": list(names), "people": people}


def comparison(found: TwoWay, json: bool) -> None:
    """What two questions have to do with each other.

    JSON has no infinity: it is null, and `unbounded` says on which side there is no limit.
    """
    guarantee = {"guarantee": guarantee_facts(found.guarantee)}
    facts = finite(dataclasses.asdict(found)) | guarantee
    if not found.wording:
        del facts["wording"]
    facts |= weights_facts(facts.pop("weighted_to"), facts.pop("error_ratio"))
    if printed_as_json(json, facts, found.seed):
        return
    for line in found.wording:
        out.print(line, markup=False, highlight=False)
    say(guarantee_sentence(found.guarantee))
    out.print(comparisons.independence_words(found.independence), markup=False, highlight=False)
    out.print(crosstab_table(found))
    out.print(comparison_table(found))
    for note in comparisons.said_below(found):
        say(note)


def share_difference(found: ShareDifference, json: bool) -> None:
    """How far apart two shares are."""
    facts = finite(dataclasses.asdict(found)) | {"guarantee": guarantee_facts(found.guarantee)}
    if printed_as_json(json, facts, found.seed):
        return
    say(guarantee_sentence(found.guarantee))
    name, estimate, interval = comparisons.row(found.figure, "difference")
    line = f"{name}: {estimate}, 95% interval {interval}"
    out.print(line, markup=False, highlight=False)
    if found.figure.reason:
        say(found.figure.reason)
    say(comparisons.POINTS)


def correlations(found: Correlations, json: bool) -> None:
    """All pairs, and whether they form a correlation matrix."""
    if printed_as_json(json, correlation_facts(found), found.seed):
        return
    say(guarantee_sentence(found.guarantee))
    out.print(correlations_table(found))
    for note in correlation_notes(found):
        say(note)


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
    for names, number in (found.people or {}).items():
        yield f"stratum {listed(names)}: {number:,} people"
    if found.missing:
        yield f"{found.missing:,} people are missing: the plan counts on more than came"
