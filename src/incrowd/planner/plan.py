"""Survey -> Plan."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from incrowd.accountant.analyses import analysis, plannable
from incrowd.accountant.analyses.base import Analysis
from incrowd.accountant.certificates import certify, clearly_keeps, smallest_epsilon, smallest_noise
from incrowd.accountant.channels.base import rounded_up
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.numerics.extrema import root
from incrowd.accountant.schema import AnyContribution, Part
from incrowd.errors import (
    MISSING,
    IncrowdWarning,
    InWords,
    PrecisionError,
    PrivacyError,
    UsageError,
    quantity,
)
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.guarantees.certified import planned, requested
from incrowd.planner.cell_ways import likely_ways, ways
from incrowd.planner.groups import Grouping, SearchProgress
from incrowd.planner.precision import expected_error, guessed_excess, plan_error
from incrowd.plans import CellsMessage, EarlierPlan, JointReport, Message, Outline, Plan
from incrowd.plans.grouping import joint_groups, wide
from incrowd.plans.message import crowd_channel
from incrowd.plans.plan import smallest_crowd
from incrowd.plans.sent import sent, sent_before
from incrowd.plans.slots import TAIL, upload_bytes
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.words import look_alike_warnings

PERMANENT_SHARES = (0.75, 0.95)  # of epsilon, for permanent responses that no crowd hides


def make_plan(
    survey: Survey, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> Plan:
    """Choose and certify the messages, copies and noise with the most precise wanted tables.

    earlier: what the same people were asked before; the guarantee covers it as well. The large-N
    limit suggests the messages and how they share the leakage; the accountant finds the smallest
    noise of each suggestion that meets the guarantee; the most precise one becomes the plan. Raises
    PrivacyError if none meets it, or if the analysis cannot be planned with.
    """
    by = _checked_analysis(survey)
    crowd = smallest_crowd(survey, earlier)
    _check_spent(survey, earlier, crowd)
    messages: tuple[Message, ...] = ()
    excess, beyond = math.inf, None
    for way in _ways(survey, progress):
        if messages and way.allocation.excess * by.below_limit**2 >= excess:
            continue  # even with less noise than in the limit it would not be better
        try:
            candidate = certified_messages(survey, way, crowd, earlier, progress)
        except PrecisionError as error:  # fewer messages may have such a delta
            beyond = beyond or error
            continue
        if _uploadable(survey, candidate) and guessed_excess(survey, candidate) < excess:
            messages, excess = candidate, guessed_excess(survey, candidate)
    if beyond and not messages:
        raise beyond
    if not messages:
        allowed = "no messages are that small; allow more bytes, or request fewer tables"
        raise PrivacyError.of("upload_bytes", survey.upload_bytes, allowed)
    guarantee = planned(survey, messages, earlier)
    return Plan(survey=survey, messages=messages, guarantee=guarantee, earlier=tuple(earlier))


def _checked_analysis(survey: Survey) -> Analysis:
    """The analysis of a survey. Raises PrivacyError if it, or its local epsilon, cannot be planned
    with."""
    by = plannable(survey.privacy.analysis)
    if (cap := survey.privacy.local_epsilon) is not None and not by.shuffled:
        allowed = f"the analysis {by.name} guarantees epsilon without a shuffler; leave it out"
        raise PrivacyError.of("privacy.local_epsilon", cap, allowed)
    return by


def _uploadable(survey: Survey, messages: Sequence[Message]) -> bool:
    most = survey.upload_bytes
    return most is None or upload_bytes(survey, messages) <= most


def _check_spent(survey: Survey, earlier: Sequence[EarlierPlan], crowd: int) -> None:
    """Raise PrivacyError if earlier rounds have used up the guarantee.

    Earlier rounds count with the crowd that took part, not with the planned one.
    """
    privacy = survey.privacy
    if not earlier or not analysis(privacy.analysis).shuffled:
        return
    before = sent_before(earlier)
    if crowd >= 2:
        if certify(privacy.analysis, before, crowd, privacy.epsilon).delta.upper < privacy.delta:
            return
        spent = _spent(privacy.analysis, before, crowd, privacy.delta)
    else:
        spent = f"epsilon {before.local_epsilon:.4g}, since a crowd of 1 hides nobody"
    people = "; ".join(f"{each.survey.name!r} {_people(each, survey)}" for each in earlier)
    raise PrivacyError.of(
        "privacy",
        _request(survey),
        f"the earlier rounds alone have spent {spent} (people who took part: {people}); request a "
        "weaker guarantee for all rounds together, or ask other people",
    )


def _people(earlier: EarlierPlan, now: Survey) -> str:
    """How many people took part in an earlier round, and how many were planned; also how many hide
    each other, if more people collude now."""
    survey, counted = earlier.survey, earlier.collected.people
    people = survey.hidden(min(counted)) if counted else earlier.crowd
    text = f"{people:,}, {survey.honest:,} planned"
    if earlier.linked or now.colluding <= survey.colluding:
        return text
    hidden = earlier.crowd_without(now.colluding)
    return f"{text}, {hidden:,} if {now.colluding:,} of them collude"


def _spent(by: str, before: AnyContribution, crowd: int, delta: float) -> str:
    """The epsilon that earlier rounds have spent in a crowd."""
    try:
        epsilon = smallest_epsilon(by, before, crowd, delta)
    except PrivacyError:  # no epsilon reaches that delta: only the local guarantee is left
        return f"epsilon {before.local_epsilon:.4g}"
    return f"epsilon {min(epsilon, before.local_epsilon):.4g} at delta {delta:g}"


def certified_messages(
    survey: Survey,
    way: Grouping,
    crowd: int,
    earlier: Sequence[EarlierPlan] = (),
    progress: SearchProgress | None = None,
) -> tuple[Message, ...]:
    """The messages of a grouping, with the smallest noise that meets the survey's guarantee.

    Raises PrivacyError if no noise meets it.
    """
    if progress:
        reports = sum(share.copies for share in way.allocation.shares)
        messages = quantity(len(way.groups), "messages")
        progress(f"certifying {messages}, {quantity(reports, 'reports')} per person")
    candidates, failure = [], None
    for permanent in _permanent_noises(survey, way):
        try:
            candidates.append(_with_smallest_noise(survey, way, crowd, earlier, permanent))
        except PrivacyError as error:
            failure = error
    if failure and not candidates:
        raise failure
    return min(candidates, key=lambda messages: guessed_excess(survey, messages))


def _with_smallest_noise(
    survey: Survey,
    way: Grouping,
    crowd: int,
    earlier: Sequence[EarlierPlan],
    permanent: BitFlip | None,
) -> tuple[Message, ...]:
    """permanent: the noise of permanent responses, if it is fixed."""

    def everything(reference: BitFlip) -> AnyContribution:
        return sent(survey, _messages(survey, way, reference, permanent), earlier)

    privacy, least = survey.privacy, BitFlip(1)
    guarantee = crowd, privacy.epsilon, privacy.delta
    if privacy.local_epsilon is not None:
        least = _least_local(everything, privacy.local_epsilon, survey.rounds * TAIL)
        if clearly_keeps(privacy.analysis, everything(least), *guarantee):
            return _messages(survey, way, least, permanent)
    noise = max(smallest_noise(privacy.analysis, everything, *guarantee), least)
    return _messages(survey, way, noise, permanent)


def _least_local(
    everything: Callable[[BitFlip], AnyContribution], cap: float, redraws: float
) -> BitFlip:
    """The smallest noise whose local epsilon is at most `cap`.

    redraws: what noise that is drawn again adds to the local epsilon. Raises PrivacyError if no
    noise is large enough.
    """

    def beyond(numerator: int) -> bool:
        return everything(BitFlip(numerator)).local_epsilon + redraws > cap

    low, high = 1, DENOMINATOR // 2 - 1
    if beyond(high):
        least = rounded_up(everything(BitFlip(high)).local_epsilon, 3)
        allowed = f"fixed randomizers alone have a local epsilon of {least}; allow more than that"
        raise PrivacyError.of("privacy.local_epsilon", cap, allowed)
    if not beyond(low):
        return BitFlip(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) else (low, middle)
    return BitFlip(high)


def _permanent_noises(survey: Survey, way: Grouping) -> list[BitFlip | None]:
    """Noises to try for permanent responses that no crowd hides.

    They need much more noise than responses that are drawn anew and hide in a crowd, for which a
    small share of epsilon can be enough. Several shares are tried. `None` stands for noise that is
    chosen together with that of all other messages.
    """
    privacy, questions = survey.privacy, [survey.question(id) for g in way.groups for id in g]
    shuffled = analysis(privacy.analysis).shuffled
    planned = [q for q in questions if q.asked_memoized]
    others = [q for q in questions if not q.memoized and q.randomizer is None]
    if not (planned and others and survey.open and survey.rounds > 1 and shuffled):
        return [None]
    fixed = sum(
        Part(domain, channel).local_epsilon
        for q in questions
        if q.memoized and (channel := crowd_channel(q))
        for domain in q.domains
    )
    left = [share * privacy.epsilon - fixed for share in PERMANENT_SHARES]
    bits = sum(question.distance for question in planned)
    return [BitFlip.from_epsilon(each / bits) for each in left if each > 0] or [None]


def _ways(survey: Survey, progress: SearchProgress | None) -> list[Grouping]:
    """The groupings worth certifying. Raises PrivacyError if there are none."""
    if groupings := ways(survey, progress):
        return groupings
    budget = survey.reports_per_person or 1
    least = len(joint_groups(survey)) + len(wide(survey))
    if budget < least:
        allowed = f"cells and memoized questions need separate messages; allow {least}"
        raise PrivacyError.of("reports_per_person", budget, allowed)
    allowed = (
        "no combination of messages and noise meets it; allow more epsilon or delta, or ask more "
        "people"
    )
    raise PrivacyError.of("privacy", _request(survey), allowed)


def _request(survey: Survey) -> InWords:
    privacy, crowd = survey.privacy, survey.crowd
    return InWords(f"epsilon {privacy.epsilon:g}, delta {privacy.delta:g}, a crowd of {crowd:,}")


def _messages(
    survey: Survey, way: Grouping, reference: BitFlip, permanent: BitFlip | None = None
) -> tuple[Message, ...]:
    """The messages if the first one whose noise can be chosen has the noise `reference`.

    The leaks phi^d - 1 of all messages keep their proportions, except for permanent responses with
    the fixed noise `permanent`.
    """
    questions = [tuple(map(survey.question, ids)) for ids in way.groups]
    distances, shares = list(map(_distance, questions, way.cells)), way.allocation.shares
    fixed = [bool(permanent) and group[0].memoized for group in questions]
    first = next((i for i, d in enumerate(distances) if d and not fixed[i]), 0)
    leaks = [_leak(d, 1 / share.v) for d, share in zip(distances, shares, strict=True)]

    def noise(i: int) -> BitFlip | None:
        if not distances[i]:
            return None
        if fixed[i]:
            return permanent
        if i == first:
            return reference
        leak = leaks[i] * (_leak(distances[first], reference.excess) / leaks[first])
        return BitFlip.from_excess(math.expm1(math.log1p(leak) / distances[i]))

    return _with_noise(survey, way, [noise(i) for i in range(len(questions))])


def limit_messages(survey: Survey, way: Grouping) -> tuple[Message, ...]:
    """The messages with the noise of the large-N limit, which is not certified."""
    questions = [tuple(map(survey.question, ids)) for ids in way.groups]
    distances, shares = map(_distance, questions, way.cells), way.allocation.shares
    noises = [
        BitFlip.from_excess(1 / share.v) if distance else None
        for distance, share in zip(distances, shares, strict=True)
    ]
    return _with_noise(survey, way, noises)


def limit_outline(survey: Survey) -> Outline:
    """The messages of a survey with the noise of the large-N limit, as they would be planned.

    They are not certified: a plan for a small crowd can need more noise. A local epsilon is kept.
    Raises PrivacyError if no messages meet the guarantee in the limit.
    """
    _checked_analysis(survey)
    groupings = likely_ways(survey) or _ways(survey, None)
    possible = [way for way in groupings if way.allocation.excess < math.inf]
    outlines = [_limit_messages_within(survey, way) for way in possible]
    fitting = [messages for messages in outlines if _uploadable(survey, messages)]
    if not fitting:
        allowed = (
            "there is no estimate for that; ask more people, or allow more epsilon or more bytes"
        )
        raise PrivacyError.of("privacy", _request(survey), allowed)
    best = min(fitting, key=lambda messages: guessed_excess(survey, messages))
    return Outline(survey=survey, messages=best)


def _limit_messages_within(survey: Survey, way: Grouping) -> tuple[Message, ...]:
    """The messages of the limit, with more noise if the local epsilon is limited, as it always is
    without a shuffler."""
    messages, privacy = limit_messages(survey, way), survey.privacy
    shuffled = analysis(privacy.analysis).shuffled
    cap, redraws = privacy.local_epsilon if shuffled else privacy.epsilon, survey.rounds * TAIL
    if cap is None or sent(survey, messages, ()).local_epsilon + redraws <= cap:
        return messages

    def everything(reference: BitFlip) -> AnyContribution:
        return sent(survey, _messages(survey, way, reference), ())

    return _messages(survey, way, _least_local(everything, cap, redraws))


def limit_plan(survey: Survey) -> Plan:
    """A plan with the noise of the large-N limit, which is not certified: for previews.

    Without a shuffler there is no crowd and no limit, and the plan is the certified one. Raises
    PrivacyError if no messages meet the guarantee even in the limit.
    """
    if not analysis(survey.privacy.analysis).shuffled:
        return make_plan(survey)
    messages = limit_outline(survey).messages
    return Plan(survey=survey, messages=messages, guarantee=requested(survey, messages))


def _with_noise(
    survey: Survey, way: Grouping, noises: Sequence[BitFlip | None]
) -> tuple[Message, ...]:
    """The messages of a grouping. noises: None where all questions have fixed randomizers."""
    messages: list[Message] = []
    parts = zip(way.groups, way.cells, way.allocation.shares, noises, strict=True)
    for number, (ids, cells, share, noise) in enumerate(parts):
        questions, pairs = tuple(map(survey.question, ids)), number in way.parities
        if cells and noise:
            messages.append(
                CellsMessage(questions=questions, noise_numerator=noise.numerator, parities=pairs)
            )
        else:
            numerator = noise and noise.numerator
            messages.append(
                JointReport(questions=questions, noise_numerator=numerator, copies=share.copies)
            )
    return tuple(messages)


def _leak(distance: int, excess: float) -> float:
    """phi^d - 1, from phi - 1."""
    return math.expm1(min(distance * math.log1p(excess), 600.0))


def _distance(questions: Sequence[AnyQuestion], cells: bool) -> int:
    """The number of bits with the planner's noise in which two records of a report can differ.

    1 for cells, since each cell is a collection of one bit.
    """
    if cells:
        return 1
    return sum(question.distance for question in questions if question.randomizer is None)


# Solving for the crowd, epsilon or delta that gives a target error.

# The natural logarithms between which the solution is sought, and how far they may be from it:
# within that, the error changes by about `CLOSE`.
RANGES = {
    "crowd": (math.log(10), math.log(1e12), 4e-3),
    "epsilon": (math.log(1e-3), math.log(50), 2e-3),
    "delta": (math.log(1e-30), math.log(0.5), 1e-1),
}
UNKNOWNS = tuple(RANGES)
CLOSE = 0.002  # relative distance from the target error
STEPS = 16


class Target(NamedTuple):
    """A target precision, as a proportion: a standard error, or a margin, half of an interval."""

    name: Literal["error", "margin"]
    value: float

    @classmethod
    def of(cls, error: float | None, margin: float | None) -> Target:
        """Read the one that is given. Raises UsageError unless it is one proportion."""
        if error is not None and margin is not None:
            allowed = "error= sets the same target; leave one of them out"
            raise UsageError.of("margin", margin, allowed)
        if error is not None:
            target = cls("error", error)
        elif margin is not None:
            target = cls("margin", margin)
        else:
            raise UsageError.of("error", MISSING, "name a target error, or a margin=0.02")
        if not 0 < target.value < 1:
            raise UsageError.of(target.name, target.value, "should be a proportion between 0 and 1")
        return target

    @property
    def error(self) -> float:
        """The target as a standard error."""
        return self.value / self._unit

    def shown(self, error: float) -> str:
        """Show another standard error in the unit of the target, rounded up."""
        return rounded_up(error * self._unit, 3)

    @property
    def _unit(self) -> float:
        return HALF_WIDTH if self.name == "margin" else 1.0


def solve(
    survey: Survey,
    unknown: str,
    *,
    error: float | None = None,
    margin: float | None = None,
    progress: SearchProgress | None = None,
) -> Plan:
    """Find the plan with the smallest "crowd", "epsilon" or "delta" that gives a target error.

    error: the target standard error of the wanted tables, a proportion: the largest of all tables
    or their mean, depending on the survey's objective. margin: half of a 95% interval instead. The
    large-N limit is solved first, then corrected until the certified plan just meets the target.
    progress: called with a description of every step. Raises UsageError for any other unknown, and
    unless exactly one target is given; PrivacyError, with the nearest error, if no value in a wide
    range reaches the target.
    """
    target = Target.of(error, margin)
    if unknown not in UNKNOWNS:
        raise UsageError.of("unknown", unknown, f"use one of {', '.join(UNKNOWNS)}")
    failing, holding = _range(survey, unknown)
    width, limit = RANGES[unknown][2], target.error
    best, reason = None, None
    for step in range(STEPS):
        value = _in_the_limit(survey, unknown, limit, target)
        if step and not failing < value < holding:
            value = (failing + holding) / 2
        if progress:
            progress(f"trying {unknown} {math.exp(value):,.6g}")
        candidate, reached = None, math.inf
        try:
            candidate = make_plan(_with(survey, unknown, math.exp(value)), progress=progress)
            reached = plan_error(candidate)
        except PrecisionError as error:  # a delta that is too small
            reason = error
        if reached <= target.error:
            best, holding = candidate, value
        else:
            failing = value
        if target.error * (1 - CLOSE) < reached <= target.error or holding - failing <= width:
            break
        if candidate:
            limit *= target.error * (1 - CLOSE / 2) / reached
    if best is None:
        allowed = f"no {unknown} was found that reaches it; ask for a larger one"
        raise reason or PrivacyError.of(target.name, target.value, allowed)
    return best


def _range(survey: Survey, unknown: str) -> tuple[float, float]:
    """The logarithms between which an unknown is sought."""
    low, high, _ = RANGES[unknown]
    if unknown == "crowd":  # at least two honest people besides those who may collude
        low = max(low, math.log(survey.rows_per_person * (survey.colluding + 2)))
    return low, high


def _in_the_limit(survey: Survey, unknown: str, error: float, target: Target) -> float:
    """The logarithm of the unknown that gives an error in the large-N limit."""

    def excess(log_value: float) -> float:
        return math.log(limit_error(_with(survey, unknown, math.exp(log_value))) / error)

    low, high = _range(survey, unknown)
    if excess(low) <= 0:
        return low
    if excess(high) > 0 and error < target.error:  # a correction went too far
        return high
    if excess(high) > 0:
        nearest = target.shown(limit_error(_with(survey, unknown, math.exp(high))))
        allowed = f"no {unknown} up to {math.exp(high):.3g} reaches it; ask for {nearest} or more"
        if unknown != "crowd":
            allowed += ", for more people (unknown='crowd'), or for fewer tables"
        raise PrivacyError.of(target.name, target.value, allowed)
    return root(excess, low, high, close=1e-4)


def crowd_in_the_limit(
    survey: Survey, *, error: float | None = None, margin: float | None = None
) -> int:
    """The crowd that gives a target error in the large-N limit, which is not certified.

    error, margin, exceptions: as for `solve`.
    """
    target = Target.of(error, margin)
    return math.ceil(math.exp(_in_the_limit(survey, "crowd", target.error, target)))


def limit_error(survey: Survey) -> float:
    """The error of the wanted tables in the large-N limit; infinite if no plan is possible."""
    groupings = ways(survey)
    if not groupings or groupings[0].allocation.excess == math.inf:
        return math.inf
    return expected_error(survey, limit_messages(survey, groupings[0]))


def with_budget(survey: Survey, reports_per_person: int) -> Survey:
    """The survey with joint reports that the planner groups within a budget of reports.

    Raises SurveyError for an invalid budget.
    """
    raw = survey.model_dump(by_alias=True) | {"message": (), "copies": 1, "tables": "any"}
    return Survey.of(raw | {"reports_per_person": reports_per_person})


def _with(survey: Survey, unknown: str, value: float) -> Survey:
    """The survey with another crowd (rounded up), epsilon or delta."""
    raw: dict[str, Any] = survey.model_dump(by_alias=True)
    if unknown == "crowd":
        raw["crowd"] = math.ceil(value)
    else:
        raw["privacy"] = raw["privacy"] | {unknown: value}
    return Survey.of(raw)


def plan(
    survey: Survey, *, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> Plan:
    """Choose messages, copies and noise: the most precise wanted tables that meet the guarantee.

    earlier: what the same people were asked before (`Ledger.asked`); the guarantee covers it as
    well. progress: called with a description of every step. Raises PrivacyError if no combination
    of messages and noise meets the guarantee. Warns about answers and questions that look alike.
    """
    for line in look_alike_warnings(survey.questions):
        warnings.warn(line, IncrowdWarning, stacklevel=2)
    return make_plan(survey, earlier, progress)
