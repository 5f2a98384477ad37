"""The guarantee of a plan: what it promises, and whether its certificate supports that."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from incrowd.accountant.analyses import LOCAL, Analysis, plannable
from incrowd.accountant.certificates import Certificate, certify, smallest_epsilon
from incrowd.accountant.codes import AnalysisName, WorstPair
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.schema import AnyContribution
from incrowd.errors import PlanFileError, PrivacyError
from incrowd.guarantees.assumed import assumptions
from incrowd.plans import EarlierPlan, Guarantee, Message, Plan
from incrowd.plans.ledger import (
    Rounds,
    all_rounds,
    rounds_before,
    rounds_planned,
)
from incrowd.plans.plan import Assumption, counts_on_crowd, relied_crowd, service_epsilon
from incrowd.plans.sent import CountsView, sent, sent_by
from incrowd.survey import Survey


def planned(
    survey: Survey, messages: Sequence[Message], earlier: Sequence[EarlierPlan] = ()
) -> Guarantee:
    """Return the certified guarantee of some messages, by the analysis of their survey.

    earlier: earlier rounds with the same people, which the guarantee covers as well. Raises
    PrivacyError as `certify` does.
    """
    by, privacy = plannable(survey.privacy.analysis), survey.privacy
    crowd, service = relied_crowd(survey, messages, earlier), service_epsilon(survey, messages)

    def seen(view: CountsView) -> AnyContribution:
        return sent(survey, messages, earlier, view)

    certificate = certified(by.name, seen, crowd, privacy.epsilon, service)
    rounds = [*rounds_before(earlier), rounds_planned(survey, messages)]
    delta, local = by.promised_delta(privacy.delta), seen("service").local_epsilon
    return _guarantee(rounds, certificate, delta, crowd, local, service)


def certified(
    by: AnalysisName,
    seen: Callable[[CountsView], AnyContribution],
    crowd: int | None,
    epsilon: float,
    service: float | None,
) -> Certificate:
    """Return the certificate of everything that a person sends, towards everybody.

    seen: what each party sees. service: the epsilon of one service that adds noise; None if none
    does. Readers face more noise than a service, so that they matter only at a smaller epsilon.
    """
    alone = certify(by, seen("service"), crowd, epsilon if service is None else service)
    if alone.epsilon == epsilon:
        return alone
    readers = certify(by, seen("readers"), crowd, epsilon)
    worst = max(readers, alone, key=lambda certificate: certificate.delta.upper)
    return replace(worst, epsilon=epsilon)


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
    promise = plan.guarantee
    figures = promise.crowd, promise.epsilon, promise.service_epsilon
    return certified(promise.analysis, partial(sent_by, plan), *figures)


def keeps(plan: Plan, certificate: Certificate) -> bool:
    """Return whether a recomputed certificate supports a plan's figures and the assumptions that it
    names."""
    promise = plan.guarantee
    return (
        certificate.delta.upper <= promise.delta * (1 + 1e-9)
        and certificate.delta.upper <= promise.certified_delta * (1 + 1e-6)
        and sent_by(plan).local_epsilon <= promise.local_epsilon * (1 + 1e-9)
        and promise.assumptions == _assumptions(all_rounds(plan), certificate)
    )


def guarantee_for(plan: Plan, people: int) -> Guarantee:
    """Return the guarantee for each of `people`; the survey's `colluding` people hide no one.

    A larger crowd than planned changes nothing, nor does any number of people if services add all
    noise. For a smaller one delta stays and epsilon grows; if no crowd is left, or delta cannot
    be reached, the local guarantee remains. Raises PlanFileError as `analysis_of` does.
    """
    by, promise, crowd = analysis_of(plan), plan.guarantee, plan.survey.hidden(people)
    if not counts_on_crowd(plan.messages) or promise.crowd is None or crowd >= promise.crowd:
        return promise
    seen, delta, local = partial(sent_by, plan), promise.delta, promise.local_epsilon
    with suppress(PrivacyError):
        if by.shuffled:
            epsilon = smallest_epsilon(by.name, seen("readers"), crowd, delta)
            service = promise.service_epsilon
            if service is not None:
                service = smallest_epsilon(by.name, seen("service"), crowd, delta)
            if epsilon < local:
                certificate = certified(by.name, seen, crowd, epsilon, service)
                return _guarantee(all_rounds(plan), certificate, delta, crowd, local, service)
    return local_guarantee(plan, crowd)


def local_guarantee(plan: Plan, crowd: int | None) -> Guarantee:
    """Return the guarantee without a shuffler, or if the shuffler also reads the reports.

    If services add all noise, readers keep their guarantee, but nothing is left towards whoever
    runs both services.
    """
    if plan.guarantee.crowd is None and plan.by_services:
        return plan.guarantee.model_copy(update={"service_epsilon": math.inf})
    everything = sent_by(plan)
    local = everything.local_epsilon
    certificate = _without_crowd(everything)
    return _guarantee(all_rounds(plan), certificate, 0.0, max(crowd or 1, 1), local)


def _without_crowd(everything: AnyContribution) -> Certificate:
    """Return the certificate of everything that a person sends if nobody hides it; with an infinite
    epsilon if nothing is left."""
    local = everything.local_epsilon
    if local < math.inf:
        return certify(LOCAL.name, everything, 2, local)
    worst, nothing = (WorstPair(code="no-crowd"),), DeltaBounds(0.0, 0.0, 0.0)
    basis = LOCAL.assumption, LOCAL.proved, LOCAL.name
    return Certificate(LOCAL.name, local, nothing, worst, *basis)


def requested(survey: Survey, messages: Sequence[Message]) -> Guarantee:
    """Return what a survey requests, with the local epsilon of messages that nobody has certified.

    It is for previews: `proved` is False, so it is not a guarantee.
    """
    by, privacy = plannable(survey.privacy.analysis), survey.privacy
    everything, crowd = sent(survey, messages), relied_crowd(survey, messages)
    local, service = everything.local_epsilon, service_epsilon(survey, messages)
    certificate = _without_crowd(everything)
    delta, rounds = by.promised_delta(privacy.delta), [rounds_planned(survey, messages)]
    shown = _guarantee(rounds, certificate, delta, crowd, local, service)
    changes = {"analysis": by.name, "epsilon": privacy.epsilon, "certified_delta": delta}
    return shown.model_copy(update={**changes, "proved": False})


def _assumptions(rounds: Sequence[Rounds], certificate: Certificate) -> tuple[Assumption, ...]:
    return assumptions(rounds, certificate.assumption, certificate.beside)


def _guarantee(
    rounds: Sequence[Rounds],
    certificate: Certificate,
    delta: float,
    crowd: int | None,
    local: float,
    service: float | None = None,
) -> Guarantee:
    return Guarantee(
        analysis=certificate.analysis,
        epsilon=certificate.epsilon,
        delta=delta,
        certified_delta=certificate.delta.upper,
        crowd=crowd,
        proved=certificate.proved,
        assumptions=_assumptions(rounds, certificate),
        worst=certificate.worst,
        local_epsilon=local,
        service_epsilon=service,
    )
