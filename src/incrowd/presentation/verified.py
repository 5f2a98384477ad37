"""Whether a plan holds, and whether reports can come from it, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.plans import Guarantee, Plan
from incrowd.presentation import number_text
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.receipts import receipt_facts, receipt_sentences
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.shown import listed
from incrowd.presentation.view import View

if TYPE_CHECKING:
    from incrowd.estimation.results import Received
    from incrowd.verification import Verification


def view(made: Plan, found: Verification, received: Sequence[Received]) -> View:
    """Whether a plan holds, whether reports can come from it, and what their receipts say."""
    receipts = {"receipts": list(map(receipt_facts, received))} if received else {}
    facts = _verification_facts(made, found) | receipts
    return View("verification", facts, found.seed, notes=tuple(_notes(made, found, received)))


def _notes(made: Plan, found: Verification, received: Sequence[Received]) -> Iterator[str]:
    if found.reports is not None:
        yield _verdict(made, found)
    certificate, promised = found.certificate, made.guarantee
    verdict = "holds" if found.plan_holds else "DOES NOT HOLD"
    yield (
        f"the plan itself {verdict}: {certificate.analysis}, "
        f"epsilon {number_text.bound(certificate.epsilon, 6)}, "
        f"delta {number_text.bound(certificate.delta.upper, 6)} "
        f"(promised {number_text.bound(promised.delta, 6)}), "
        f"crowd {promised.crowd:,}"
    )
    yield guarantee_sentence(found.guarantee)
    yield from _reports_verified(found)
    for each in received:
        yield from receipt_sentences(each)


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
