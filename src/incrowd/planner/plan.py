"""Survey -> Plan."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

from incrowd.accountant.analyses import analysis, plannable
from incrowd.accountant.analyses.base import Analysis
from incrowd.accountant.certificates import certify, smallest_epsilon
from incrowd.accountant.codes import AnalysisName
from incrowd.accountant.schema import AnyContribution
from incrowd.catalog.sentences import Sentence, joined, sentence
from incrowd.errors import IncrowdError, IncrowdWarning, PrecisionError, PrivacyError
from incrowd.estimation.precision import table_variances
from incrowd.guarantees.certified import planned, requested
from incrowd.planner.certification import certified_messages, limit_messages
from incrowd.planner.precision import (
    excess_of,
    expected_error,
    guessed_excess,
    least_effective_sample,
)
from incrowd.planner.search import QUICK, SearchProgress, ways
from incrowd.planner.services import service_messages
from incrowd.planner.task import PlanCandidate, SearchTask, task_of
from incrowd.planner.wanted import wanted_tables
from incrowd.plans import EarlierPlan, Message, Outline, Plan
from incrowd.plans.plan import relied_crowd, smallest_crowd
from incrowd.plans.sent import sent_before
from incrowd.plans.slots import upload_bytes
from incrowd.survey import Survey
from incrowd.survey.problems import unfit_for_services
from incrowd.survey.words import look_alike_warnings


def plan(
    survey: Survey, *, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> Plan:
    """Choose messages, copies, and noise: the most precise wanted tables that meet the guarantee.

    Parameters
    ----------
    survey : Survey
        What is asked, of how many people, and the guarantee that it has to meet.
    earlier : sequence of EarlierPlan
        What the same people were asked before (`Ledger.asked`); the guarantee covers it as well.
    progress : callable, optional
        Called with a description of every step.

    Returns
    -------
    Plan
        What every device does, and what is promised for it.

    Raises
    ------
    PrivacyError
        If no combination of messages and noise meets the guarantee.

    Warns
    -----
    IncrowdWarning
        About answers and questions that look alike, and if fewer people are invited than a release
        over a network needs.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> plan.guarantee.epsilon, plan.guarantee.delta, plan.guarantee.proved
    (1.0, 1e-06, True)
    """
    for line in look_alike_warnings(survey.questions):
        warnings.warn(line, IncrowdWarning, stacklevel=2)
    chosen = make_plan(survey, earlier, progress)
    if chosen.guarantee.crowd is not None and (unreachable := survey.unreachable_release):
        warnings.warn(f"crowd: {unreachable}", IncrowdWarning, stacklevel=2)
    return chosen


def make_plan(
    survey: Survey, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> Plan:
    """Choose and certify the messages, copies and noise with the most precise wanted tables.

    earlier: what the same people were asked before; the guarantee covers it as well. Raises
    PrivacyError if no messages meet the guarantee, or if the analysis cannot be planned with.
    """
    _checked_analysis(survey)
    _check_spent(survey, earlier)
    try:
        messages = _best_messages(survey, earlier, progress)
    except PrivacyError as error:
        if not earlier or error.problems[0].path[0] != "privacy":
            raise
        _best_messages(survey, (), progress)  # raises what is wrong with the survey alone
        raise _nearly_spent(survey, earlier) from None
    guarantee = planned(survey, messages, earlier)
    return Plan(survey=survey, messages=messages, guarantee=guarantee, earlier=tuple(earlier))


def _best_messages(
    survey: Survey, earlier: Sequence[EarlierPlan], progress: SearchProgress | None
) -> tuple[Message, ...]:
    """Return the most precise messages with the kind of noise that the survey asks for."""
    if survey.privacy.noise == "services":
        return service_messages(survey, earlier, progress)
    if survey.privacy.noise == "devices":
        return device_messages(survey, earlier, progress)
    return _better_kind(survey, earlier, progress)


def device_messages(
    survey: Survey, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> tuple[Message, ...]:
    """Return messages to which the devices add the noise.

    The large-N limit suggests the messages and how they share the leakage; the accountant finds the
    smallest noise of each suggestion that meets the guarantee; the most precise one is chosen.
    Raises PrivacyError if none meets it.
    """
    by, crowd, task = _checked_analysis(survey), smallest_crowd(survey, earlier), task_of(survey)
    messages: tuple[Message, ...] = ()
    excess, beyond = math.inf, None
    for way in _ways(survey, task, progress):
        if messages and way.excess * by.below_limit**2 >= excess:
            continue  # even with less noise than in the limit it would not be better
        try:
            candidate = certified_messages(survey, way, crowd, earlier, progress)
        except PrecisionError as error:  # fewer messages may have such a delta
            beyond = beyond or error
            continue
        if _uploadable(survey, candidate) and (reached := excess_of(task, candidate)) < excess:
            messages, excess = candidate, reached
    if beyond and not messages:
        raise beyond
    if not messages:
        most = survey.upload_bytes
        raise PrivacyError.of("upload_bytes", "planner.small-upload", value=most)
    return messages


# Who adds the noise: the devices, or services where that is clearly more precise.

CLEARLY = 1.25  # times the effective sample: from there on the other kind is worth a line


def _better_kind(
    survey: Survey, earlier: Sequence[EarlierPlan], progress: SearchProgress | None
) -> tuple[Message, ...]:
    """Return the messages of a survey that leaves the kind of noise to the planner."""
    services = possible_services(survey, earlier, progress)
    try:
        devices = device_messages(survey, earlier, progress)
    except PrivacyError:
        if services is None:
            raise
        return services
    if services is not None and is_clearly_better(survey, services, devices):
        return services
    return devices


def possible_services(
    survey: Survey, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> tuple[Message, ...] | None:
    """Return messages to which services add the noise; None if they cannot."""
    if not plannable(survey.privacy.analysis).shuffled or any(unfit_for_services(survey)):
        return None
    try:
        messages = service_messages(survey, earlier, progress)
    except PrivacyError:
        return None
    return messages if _uploadable(survey, messages) else None


def is_clearly_better(survey: Survey, some: Sequence[Message], others: Sequence[Message]) -> bool:
    """Return whether the smallest effective sample of some messages is larger by a quarter than
    that of others, and no wanted table is less precise."""
    gain = least_effective_sample(survey, some) / least_effective_sample(survey, others)
    return gain >= CLEARLY and all(
        one.largest <= other.largest
        for ids in wanted_tables(survey)
        for one, other in zip(
            table_variances(survey, some, ids), table_variances(survey, others, ids), strict=True
        )
    )


class OtherKind(NamedTuple):
    """The other kind of noise, where it would make the tables clearly more precise.

    effective: the smallest effective sample of the plan's wanted tables, and with the other kind.
    errors: the standard error of the wanted tables (`expected_error`), and with the other kind.
    """

    kind: Literal["devices", "services"]
    effective: tuple[float, float]
    errors: tuple[float, float]


def other_kind(plan: Plan) -> OtherKind | None:
    """Return what the other kind of noise would give, if it is clearly better; None otherwise, or
    if the survey rules it out."""
    survey = plan.survey
    kind: Literal["devices", "services"] = "devices" if plan.by_services else "services"
    try:
        if plan.by_services:
            others: tuple[Message, ...] | None = device_messages(survey, plan.earlier)
        else:
            others = possible_services(survey, plan.earlier)
    except PrivacyError:
        return None
    if others is None or not is_clearly_better(survey, others, plan.messages):
        return None
    now, then = (least_effective_sample(survey, each) for each in (plan.messages, others))
    error, other = (expected_error(survey, each) for each in (plan.messages, others))
    return OtherKind(kind, (now, then), (error, other))


def _checked_analysis(survey: Survey) -> Analysis:
    """Return the analysis of a survey. Raises PrivacyError if it, or its local epsilon, cannot be
    planned with."""
    by = plannable(survey.privacy.analysis)
    if (cap := survey.privacy.local_epsilon) is not None and not by.shuffled:
        path = ("privacy", "local_epsilon")
        raise PrivacyError.of(path, "planner.local-anyway", value=cap, analysis=by.name)
    return by


def _uploadable(survey: Survey, messages: Sequence[Message]) -> bool:
    most = survey.upload_bytes
    return most is None or upload_bytes(survey, messages) <= most


def _check_spent(survey: Survey, earlier: Sequence[EarlierPlan]) -> None:
    """Raise PrivacyError if earlier rounds have used up the guarantee."""
    privacy = survey.privacy
    if not earlier or not analysis(privacy.analysis).shuffled:
        return
    before, crowd, by = sent_before(earlier), _earlier_crowd(survey, earlier), privacy.analysis
    hidden = crowd is None or crowd >= 2
    if hidden and certify(by, before, crowd, privacy.epsilon).delta.upper < privacy.delta:
        return
    raise PrivacyError.of(
        "privacy",
        "planner.spent",
        request=_request(survey),
        spent=_spent(by, before, crowd, privacy.delta),
        people=_all_people(survey, earlier),
    )


def _nearly_spent(survey: Survey, earlier: Sequence[EarlierPlan]) -> IncrowdError:
    """Return the error if earlier rounds leave too little for a survey that could be planned
    without them."""
    privacy, before = survey.privacy, sent_before(earlier)
    cap = privacy.local_epsilon if analysis(privacy.analysis).shuffled else privacy.epsilon
    if cap is not None and before.local_epsilon >= cap:
        request = sentence("planner.local-epsilon", epsilon=cap)
        spent = sentence("planner.local-epsilon", epsilon=before.local_epsilon)
    else:
        crowd = _earlier_crowd(survey, earlier)
        request, spent = _request(survey), _spent(privacy.analysis, before, crowd, privacy.delta)
    return PrivacyError.of(
        "privacy",
        "planner.nearly-spent",
        request=request,
        spent=spent,
        people=_all_people(survey, earlier),
    )


def _earlier_crowd(survey: Survey, earlier: Sequence[EarlierPlan]) -> int | None:
    """Return the crowd in which earlier rounds count: that which took part, not the planned one."""
    if survey.privacy.noise == "devices":
        return smallest_crowd(survey, earlier)
    return relied_crowd(survey, (), earlier)


def _all_people(survey: Survey, earlier: Sequence[EarlierPlan]) -> str | Sentence:
    """Return how many people took part in each earlier round."""
    return joined("shared.first-then", [_people(each, survey) for each in earlier])


def _people(earlier: EarlierPlan, now: Survey) -> Sentence:
    """Return how many people took part in an earlier round, and how many were planned; also how
    many hide each other, if more people collude now."""
    survey, counted = earlier.survey, earlier.collected.people
    people = survey.hidden(min(counted)) if counted else earlier.crowd
    counts = {"name": survey.name, "people": people, "planned": survey.honest}
    if earlier.linked or now.colluding <= survey.colluding:
        return Sentence("planner.people-of-round", counts)
    more = {"hidden": earlier.crowd_without(now.colluding), "colluding": now.colluding}
    return Sentence("planner.people-of-round-hidden", counts | more)


def _spent(by: AnalysisName, before: AnyContribution, crowd: int | None, delta: float) -> Sentence:
    """Return the epsilon that earlier rounds have spent in a crowd."""
    if crowd is not None and crowd < 2:
        return sentence("planner.spent-by-one", epsilon=before.local_epsilon)
    try:
        epsilon = smallest_epsilon(by, before, crowd, delta)
    except PrivacyError:  # no epsilon reaches that delta: only the local guarantee is left
        return sentence("planner.spent-epsilon", epsilon=before.local_epsilon)
    least = min(epsilon, before.local_epsilon)
    return sentence("planner.spent-at-delta", epsilon=least, delta=delta)


def _ways(
    survey: Survey, task: SearchTask, progress: SearchProgress | None = None
) -> list[PlanCandidate]:
    """Return the ways worth certifying. Raises PrivacyError if there are none."""
    if possible := ways(task, progress):
        return possible
    budget, least = survey.reports_per_person or 1, len(task.default)
    if budget < least:
        raise PrivacyError.of(
            "reports_per_person", "planner.few-reports", value=budget, least=least
        )
    raise PrivacyError.of("privacy", "planner.no-way", request=_request(survey))


def _request(survey: Survey) -> Sentence:
    privacy, crowd = survey.privacy, survey.crowd
    return sentence("planner.request", epsilon=privacy.epsilon, delta=privacy.delta, crowd=crowd)


def limit_outline(survey: Survey) -> Outline:
    """Return the messages of a survey with the noise of the large-N limit, as they would be
    planned.

    They are not certified: a plan for a small crowd can need more noise. A local epsilon is kept.
    Raises PrivacyError if no messages meet the guarantee in the limit.
    """
    _checked_analysis(survey)
    noise = survey.privacy.noise
    if noise == "services":
        return Outline(survey=survey, messages=service_messages(survey))
    services = possible_services(survey) if noise == "auto" else None
    devices = _device_outline(survey)
    if services and is_clearly_better(survey, services, devices.messages):
        return Outline(survey=survey, messages=services)
    return devices


def _device_outline(survey: Survey) -> Outline:
    """Return the same for noise from the devices."""
    by, privacy = _checked_analysis(survey), survey.privacy
    cap = privacy.local_epsilon if by.shuffled else privacy.epsilon
    possible = ways(task_of(survey, QUICK)) or _ways(survey, task_of(survey))
    outlines = [limit_messages(survey, way, cap) for way in possible if way.excess < math.inf]
    fitting = [messages for messages in outlines if _uploadable(survey, messages)]
    if not fitting:
        raise PrivacyError.of("privacy", "planner.no-limit", request=_request(survey))
    best = min(fitting, key=lambda messages: guessed_excess(survey, messages))
    return Outline(survey=survey, messages=best)


def limit_plan(survey: Survey) -> Plan:
    """Return a plan with the noise of the large-N limit, which is not certified: for previews.

    Without a shuffler there is no crowd and no limit, and the plan is the certified one. Raises
    PrivacyError if no messages meet the guarantee even in the limit.
    """
    if not analysis(survey.privacy.analysis).shuffled:
        return make_plan(survey)
    messages = limit_outline(survey).messages
    return Plan(survey=survey, messages=messages, guarantee=requested(survey, messages))


def limit_error(survey: Survey) -> float:
    """Return the error of the wanted tables in the large-N limit;
    infinite if no plan is possible."""
    if survey.privacy.noise == "services":
        return expected_error(survey, service_messages(survey))
    possible = ways(task_of(survey))
    if not possible or possible[0].excess == math.inf:
        return math.inf
    return expected_error(survey, limit_messages(survey, possible[0]))
