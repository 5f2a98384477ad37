"""The guarantee of a plan: what it promises, and whether its certificate supports that."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from incrowd.accountant.analyses import LOCAL, Analysis, plannable
from incrowd.accountant.certificates import Certificate, certify, smallest_epsilon
from incrowd.errors import PlanFileError, PrivacyError
from incrowd.guarantees.assumed import assumptions
from incrowd.plans import EarlierPlan, Guarantee, Message, Plan
from incrowd.plans.ledger import (
    Rounds,
    all_rounds,
    rounds_before,
    rounds_planned,
)
from incrowd.plans.plan import (
    smallest_crowd,
)
from incrowd.plans.sent import sent, sent_by
from incrowd.survey import Survey


def planned(
    survey: Survey, messages: Sequence[Message], earlier: Sequence[EarlierPlan] = ()
) -> Guarantee:
    """Return the certified guarantee of some messages, by the analysis of their survey.

    earlier: earlier rounds with the same people, which the guarantee covers as well. Raises
    PrivacyError as `certify` does.
    """
    by, privacy = plannable(survey.privacy.analysis), survey.privacy
    crowd, everything = smallest_crowd(survey, earlier), sent(survey, messages, earlier)
    certificate = certify(by.name, everything, crowd, privacy.epsilon)
    rounds = [*rounds_before(earlier), rounds_planned(survey, messages)]
    delta = by.promised_delta(privacy.delta)
    return _guarantee(rounds, certificate, delta, crowd, everything.local_epsilon)


def analysis_of(plan: Plan) -> Analysis:
    """Return the analysis of a plan. Raises PlanFileError if the plan promises something else."""
    guarantee, privacy = plan.guarantee, plan.survey.privacy
    try:
        by = plannable(guarantee.analysis)
    except PrivacyError as error:
        message = error.problems[0].message
        raise PlanFileError.of(("plan", "guarantee", "analysis"), message) from None
    for field, value, right in (
        ("proved", guarantee.proved, by.proved),
        ("delta", guarantee.delta, by.promised_delta(privacy.delta)),
    ):
        if value != right:
            raise PlanFileError.of(
                ("plan", "guarantee", field),
                "guarantees.other-promise",
                value=value,
                right=right,
                analysis=by.name,
            )
    return by


def recertify(plan: Plan) -> Certificate:
    """Recompute the plan's certificate from its noise, copies and crowd.

    Raises PlanFileError as `analysis_of` does.
    """
    analysis_of(plan)
    guarantee = plan.guarantee
    return certify(guarantee.analysis, sent_by(plan), guarantee.crowd, guarantee.epsilon)


def keeps(plan: Plan, certificate: Certificate) -> bool:
    """Return whether a recomputed certificate supports a plan's figures and the assumptions that it
    names."""
    promise = plan.guarantee
    return (
        certificate.delta.upper <= promise.delta * (1 + 1e-9)
        and certificate.delta.upper <= promise.certified_delta * (1 + 1e-6)
        and sent_by(plan).local_epsilon <= promise.local_epsilon * (1 + 1e-9)
        and promise.assumptions == assumptions(all_rounds(plan), certificate.assumption)
    )


def guarantee_for(plan: Plan, people: int) -> Guarantee:
    """Return the guarantee for each of `people`; the survey's `colluding` people hide no one.

    A larger crowd than planned changes nothing. For a smaller one delta stays and epsilon grows; if
    no crowd is left, or delta cannot be reached, the local guarantee remains. Raises PlanFileError
    as `analysis_of` does.
    """
    by, promise, crowd = analysis_of(plan), plan.guarantee, plan.survey.hidden(people)
    if crowd >= promise.crowd:
        return promise
    everything = sent_by(plan)
    local = everything.local_epsilon
    with suppress(PrivacyError):
        if by.shuffled:
            epsilon = smallest_epsilon(by.name, everything, crowd, promise.delta)
            if epsilon < local:
                certificate = certify(by.name, everything, crowd, epsilon)
                return _guarantee(all_rounds(plan), certificate, promise.delta, crowd, local)
    return local_guarantee(plan, crowd)


def local_guarantee(plan: Plan, crowd: int) -> Guarantee:
    """Return the guarantee without a shuffler, or if the shuffler also reads the reports."""
    everything = sent_by(plan)
    local = everything.local_epsilon
    certificate = certify(LOCAL.name, everything, 2, local)
    return _guarantee(all_rounds(plan), certificate, 0.0, max(crowd, 1), local)


def requested(survey: Survey, messages: Sequence[Message]) -> Guarantee:
    """Return what a survey requests, with the local epsilon of messages that nobody has certified.

    It is for previews: `proved` is False, so it is not a guarantee.
    """
    by, privacy = plannable(survey.privacy.analysis), survey.privacy
    everything, crowd = sent(survey, messages, ()), smallest_crowd(survey, ())
    local = everything.local_epsilon
    certificate = certify(LOCAL.name, everything, 2, local)
    delta = by.promised_delta(privacy.delta)
    shown = _guarantee([rounds_planned(survey, messages)], certificate, delta, crowd, local)
    changes = {"analysis": by.name, "epsilon": privacy.epsilon, "certified_delta": delta}
    return shown.model_copy(update={**changes, "proved": False})


def _guarantee(
    rounds: Sequence[Rounds], certificate: Certificate, delta: float, crowd: int, local: float
) -> Guarantee:
    return Guarantee(
        analysis=certificate.analysis,
        epsilon=certificate.epsilon,
        delta=delta,
        certified_delta=certificate.delta.upper,
        crowd=crowd,
        proved=certificate.proved,
        assumptions=assumptions(rounds, certificate.assumption),
        worst=certificate.worst,
        local_epsilon=local,
    )
