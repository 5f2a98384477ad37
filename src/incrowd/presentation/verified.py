"""The verification of a plan and its reports, for people and programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from incrowd import number_text
from incrowd.accountant.analyses import analysis
from incrowd.errors import quantity
from incrowd.estimation.receipts import receipt_sentences, unaccounted
from incrowd.estimation.results import first_names
from incrowd.plans import Guarantee, Plan
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.guarantee_text import guarantee_sentence, left_in_words
from incrowd.views import View, with_and

if TYPE_CHECKING:
    from incrowd.accountant.proved import Enclosure
    from incrowd.estimation.receipts import Received
    from incrowd.reports.consistency import PublishedSum
    from incrowd.verification import Verification


def facts(
    plan: Plan,
    verification: Verification,
    received: Sequence[Received],
    proof: Enclosure | str | None = None,
) -> dict[str, Any]:
    """Return a verification as JSON-ready data: the plan, the reports, and their receipts.

    proof: the enclosure of the delta of what holds, or why there is none; None if nobody asked for
    it.
    """
    receipts = {"receipts": [each.facts for each in received]} if received else {}
    proved = {} if proof is None else {"proved": proof_facts(proof)}
    return _verification_facts(plan, verification) | receipts | proved


def view(
    plan: Plan,
    verification: Verification,
    received: Sequence[Received],
    proof: Enclosure | str | None = None,
) -> View:
    """Return the view of a verification. Arguments: as for `facts`."""
    notes = [*_notes(plan, verification, received)]
    if proof is not None:
        notes.append(proof_sentence(proof, verification.guarantee))
    return View("verification", notes=tuple(notes))


def proof_facts(proof: Enclosure | str) -> dict[str, Any]:
    """Return an enclosure as JSON-ready data: numbers as decimal text, or the reason why there is
    none."""
    return {"reason": proof} if isinstance(proof, str) else asdict(proof)


def proof_sentence(proof: Enclosure | str, holds: Guarantee) -> str:
    """Return what was proved in interval arithmetic of a guarantee, or why nothing was."""
    if isinstance(proof, str):
        return f"there is no proof in interval arithmetic: it {proof}"
    shuffled = holds.crowd is not None and analysis(holds.analysis).shuffled
    crowd = f" in a crowd of {holds.crowd:,}" if shuffled else ""
    proved = (
        f"delta is at most {proof.delta_high}: proved by interval arithmetic in "
        f"{proof.seconds:.1f} s, for epsilon {number_text.bound(holds.epsilon, 6)}{crowd}"
    )
    promised = repr(holds.delta)
    if proof.at_most(promised):
        return proved
    if Decimal(proof.delta_low) > Decimal(promised):
        return f"{proved}; IT IS AT LEAST {proof.delta_low}, ABOVE the promised {promised}"
    return (
        f"{proved}; the promised {promised} is neither proved nor disproved, since bounds of this "
        "program can be a few percent above the certificate"
    )


def _notes(plan: Plan, verification: Verification, received: Sequence[Received]) -> Iterator[str]:
    if verification.impossible is not None:
        yield _verdict(plan, verification)
    certificate, promised = verification.certificate, plan.guarantee
    verdict = "holds" if verification.plan_holds else "DOES NOT HOLD"
    yield (
        f"the plan itself {verdict}: {_named(certificate.analysis, certificate.proved)}, "
        f"epsilon {number_text.bound(certificate.epsilon, 6)}, "
        f"delta {number_text.bound(certificate.delta.upper, 6)} "
        f"(promised {number_text.bound(promised.delta, 6)}), "
        f"{_crowd_of(promised)}"
    )
    yield guarantee_sentence(verification.guarantee)
    yield from _reports_verified(plan, verification)
    for each in received:
        yield from receipt_sentences(each)
    yield from unaccounted(received)


def _verdict(plan: Plan, verification: Verification) -> str:
    """State what holds for the people who sent these reports."""
    holds, promised = verification.guarantee, plan.guarantee
    if verification.promise_holds:
        return f"the plan's promise holds for these reports: {_figures(holds)}"
    verdict = f"the plan's promise ({_figures(promised)}) DOES NOT HOLD for these reports"
    if not verification.plan_holds or verification.seed is not None:
        return f"{verdict}; no promise holds"
    return f"{verdict}; the promise that holds is: {_figures(holds)}"


def _figures(guarantee: Guarantee) -> str:
    named = _named(guarantee.analysis, guarantee.proved)
    if guarantee.epsilon == math.inf:
        return f"{named}, {left_in_words(math.inf)}"
    epsilon, delta = number_text.bound(guarantee.epsilon, 6), number_text.bound(guarantee.delta, 6)
    return f"{named}, epsilon {epsilon}, delta {delta}, {_crowd_of(guarantee)}"


def _crowd_of(guarantee: Guarantee) -> str:
    return "any crowd" if guarantee.crowd is None else f"crowd {guarantee.crowd:,}"


def _named(analysis: str, proved: bool) -> str:
    """Return the analysis, marked if its result is not a guarantee."""
    return analysis if proved else f"{analysis} (not a guarantee)"


def _verification_facts(plan: Plan, verification: Verification) -> dict[str, Any]:
    """Return the verification as JSON-ready data.

    guarantee: what holds for the reports, or the plan's own without reports. certificate: what was
    recomputed from the plan, regardless of how its reports were collected.
    """
    certificate, promised = verification.certificate, plan.guarantee
    return {
        "holds": verification.holds,
        "plan_holds": verification.plan_holds,
        "promise_holds": verification.promise_holds,
        "guarantee": guarantee_facts(verification.guarantee)
        | {"promise_holds": verification.promise_holds},
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
        "digest": plan.digest,
        "reports": verification.reports,
        "rejected": verification.rejected,
        "missing_people": verification.missing,
        "messages_without_reports": list(verification.absent),
        "contradicted": verification.contradicted,
        **(
            {"strata": [_crowd(*each) for each in verification.people.items()]}
            if verification.people
            else {}
        ),
        **({"published_sums": _sums(verification)} if verification.sums else {}),
        "impossible_people": verification.impossible_people
        and [vars(wrong) for wrong in verification.impossible_people],
        "impossible_bits": verification.impossible
        and [vars(bit) for bit in verification.impossible],
    }


def _sums(verification: Verification) -> list[dict[str, Any]]:
    return [vars(each) | {"z": each.z, "possible": each.possible} for each in verification.sums]


def _crowd(names: Sequence[str], people: int) -> dict[str, Any]:
    return {"strata": list(names), "people": people}


def _reports_verified(plan: Plan, verification: Verification) -> Iterator[str]:
    """State whether the reports can come from the plan, with all deviations."""
    if verification.impossible is not None:
        for wrong in verification.impossible:
            yield (
                f"message {wrong.message}, {wrong.question}, bit {wrong.bit}: set in "
                f"{wrong.rate:.4%} of the reports; the noise allows {wrong.low:.4%} to "
                f"{wrong.high:.4%}"
            )
        for people in verification.impossible_people or ():
            yield (
                f"message {people.message}: {quantity(people.people, 'people send')} "
                f"{people.low:,} to {quantity(people.high, 'reports')}; {people.reports:,} were "
                "accepted"
            )
        if verification.reports is not None:
            cannot = verification.impossible or verification.impossible_people
            fit = "cannot come from" if cannot else "can come from"
            yield f"the {quantity(verification.reports, 'accepted reports')} {fit} this plan"
        yield from map(_sum, verification.sums)
    if verification.rejected:
        yield (
            f"{quantity(verification.rejected, 'reports were')} rejected: no device that "
            "follows the plan could have sent them"
        )
    for names, number in (verification.people or {}).items():
        yield f"stratum {first_names(names)}: {quantity(number, 'people')}"
    if verification.missing:
        yield _missing(plan, verification)


def _sum(of: PublishedSum) -> str:
    """State what published counts add up to, and whether noise can explain the difference."""
    where = f", stratum {first_names(of.strata)}" if of.strata else ""
    verdict = "noise explains the difference" if of.possible else "NOISE CANNOT EXPLAIN THAT"
    return (
        f"message {of.message}{where}: {quantity(of.counts, 'published counts')} of "
        f"{quantity(of.people, 'people')} add up to {of.total:,} (z = {of.z:+.1f}): {verdict}"
    )


def _missing(plan: Plan, verification: Verification) -> str:
    """State how many people are missing, and why: files that were not named, or too few people."""
    missing, crowd = verification.missing, plan.least
    if verification.absent:
        absent = with_and(list(map(str, verification.absent)))
        messages = "messages" if len(verification.absent) > 1 else "message"
        return (
            f"no reports of {messages} {absent} were given, so {quantity(missing, 'people are')} "
            f"missing: name the reports of all {len(plan.messages)} messages, or their folder"
        )
    stratum = " in each stratum" if plan.survey.open else ""
    return (
        f"{quantity(missing, 'people are')} missing: the plan requires {crowd:,}{stratum}, and "
        f"these reports come from {crowd - missing:,}; if there are more reports, name all of them"
    )
