"""Survey -> Plan."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from incrowd.accountant.analyses import analysis, plannable
from incrowd.accountant.certificates import certify, clearly_keeps, smallest_epsilon, smallest_noise
from incrowd.accountant.channels.base import rounded_up
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.numerics.extrema import root
from incrowd.accountant.schema import AnySent, Part
from incrowd.errors import MISSING, IncrowdWarning, InWords, PrivacyError, UsageError
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.guarantees import planned
from incrowd.planner.cell_ways import ways
from incrowd.planner.groups import Grouping, Progress
from incrowd.planner.precision import expected_error, guessed_excess, plan_error
from incrowd.plans import Cells, EarlierPlan, JointReport, Message, Plan
from incrowd.plans.grouping import joint_groups, wide
from incrowd.plans.message import crowd_channel
from incrowd.plans.plan import smallest_crowd
from incrowd.plans.sent import sent, sent_before
from incrowd.plans.slots import TAIL, upload_bytes
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.words import look_alike_warnings

# Survey -> plan: which questions travel together, how often, with how much noise.


PERMANENT_SHARES = (0.75, 0.95)  # of epsilon, for permanent responses no crowd hides


def make_plan(
    survey: Survey, earlier: Sequence[EarlierPlan] = (), progress: Progress | None = None
) -> Plan:
    """The messages, copies and noise with which the wanted tables are sharpest, certified.

    earlier: what the same people were asked before; the promise covers it as well. The large-N
    limit says which messages are worth a try and how they share what may leak; the accountant
    settles for each the smallest noise that keeps the promise; the sharpest is the plan. Raises
    PrivacyError if none keeps it, or if no plan can rest on the analysis.
    """
    by = plannable(survey.privacy.analysis)
    if (cap := survey.privacy.local_epsilon) is not None and not by.shuffled:
        allowed = f"the analysis {by.name} promises epsilon without a shuffler; leave it out"
        raise PrivacyError.of("privacy.local_epsilon", cap, allowed)
    crowd = smallest_crowd(survey, earlier)
    _check_spent(survey, earlier, crowd)
    messages: tuple[Message, ...] = ()
    excess = math.inf
    for way in _ways(survey, progress):
        if messages and way.allocation.excess * by.below_limit**2 >= excess:
            continue  # no noise makes it so much better than the limit says
        tried = certified_messages(survey, way, crowd, earlier, progress)
        if _uploadable(survey, tried) and guessed_excess(survey, tried) < excess:
            messages, excess = tried, guessed_excess(survey, tried)
    if not messages:
        allowed = "no messages are so small; allow more, or want fewer tables"
        raise PrivacyError.of("upload_bytes", survey.upload_bytes, allowed)
    guarantee = planned(survey, messages, earlier)
    return Plan(survey=survey, messages=messages, guarantee=guarantee, earlier=tuple(earlier))


def _uploadable(survey: Survey, messages: Sequence[Message]) -> bool:
    most = survey.upload_bytes
    return most is None or upload_bytes(survey, messages) <= most


def _check_spent(survey: Survey, earlier: Sequence[EarlierPlan], crowd: int) -> None:
    """Raises PrivacyError if what people were asked before leaves nothing of the promise.

    The earlier rounds count as they were: with the crowd that came, not the one that was planned.
    """
    privacy = survey.privacy
    if not earlier or not analysis(privacy.analysis).shuffled:
        return
    before = sent_before(earlier)
    if crowd >= 2:
        if certify(privacy.analysis, before, crowd, privacy.epsilon).delta.upper < privacy.delta:
            return
        found = _leaked(privacy.analysis, before, crowd, privacy.delta)
    else:
        found = f"epsilon {before.local_epsilon:.4g}, since a crowd of 1 hides nobody"
    came = "; ".join(f"{asked.survey.name!r} {_people(asked)}" for asked in earlier)
    raise PrivacyError.of(
        "privacy",
        _asked(survey),
        f"the earlier rounds alone have spent {found} (people who came: {came}); promise more "
        "than that for all rounds together, or ask other people",
    )


def _people(asked: EarlierPlan) -> str:
    """How many came to an earlier round, and how many were planned."""
    survey, counted = asked.survey, asked.collected.people
    people = survey.hidden(min(counted)) if counted else asked.crowd
    return f"{people:,}, {survey.honest:,} planned"


def _leaked(by: str, before: AnySent, crowd: int, delta: float) -> str:
    """What some rounds have spent, in a crowd."""
    try:
        epsilon = smallest_epsilon(by, before, crowd, delta)
    except PrivacyError:  # no epsilon reaches that delta: what is left is the local guarantee
        return f"epsilon {before.local_epsilon:.4g}"
    return f"epsilon {min(epsilon, before.local_epsilon):.4g} at delta {delta:g}"


def certified_messages(
    survey: Survey,
    way: Grouping,
    crowd: int,
    earlier: Sequence[EarlierPlan] = (),
    progress: Progress | None = None,
) -> tuple[Message, ...]:
    """The messages of a way, with the smallest noise that keeps the promise.

    Raises PrivacyError if none keeps it.
    """
    if progress:
        reports = sum(share.copies for share in way.allocation.shares)
        progress(f"certifying {len(way.groups):,} messages, {reports:,} reports a person")
    found, failed = [], None
    for kept in _permanent_noises(survey, way):
        try:
            found.append(_with_smallest_noise(survey, way, crowd, earlier, kept))
        except PrivacyError as error:
            failed = error
    if failed and not found:
        raise failed
    return min(found, key=lambda messages: guessed_excess(survey, messages))


def _with_smallest_noise(
    survey: Survey, way: Grouping, crowd: int, earlier: Sequence[EarlierPlan], kept: BitFlip | None
) -> tuple[Message, ...]:
    """kept: the noise of permanent responses, if it is fixed."""

    def everything(reference: BitFlip) -> AnySent:
        return sent(survey, _messages(survey, way, reference, kept), earlier)

    privacy, least = survey.privacy, BitFlip(1)
    promise = crowd, privacy.epsilon, privacy.delta
    if privacy.local_epsilon is not None:
        least = _least_local(everything, privacy.local_epsilon, survey.rounds * TAIL)
        if clearly_keeps(privacy.analysis, everything(least), *promise):
            return _messages(survey, way, least, kept)
    noise = max(smallest_noise(privacy.analysis, everything, *promise), least)
    return _messages(survey, way, noise, kept)


def _least_local(everything: Callable[[BitFlip], AnySent], cap: float, redraws: float) -> BitFlip:
    """The smallest noise that leaves at most `cap` without a shuffler.

    redraws: what noise that is drawn again adds to it. Raises PrivacyError if no noise does.
    """

    def beyond(numerator: int) -> bool:
        return everything(BitFlip(numerator)).local_epsilon + redraws > cap

    low, high = 1, DENOMINATOR // 2 - 1
    if beyond(high):
        least = rounded_up(everything(BitFlip(high)).local_epsilon, 3)
        allowed = f"what is fixed already leaves {least}; allow more than that"
        raise PrivacyError.of("privacy.local_epsilon", cap, allowed)
    if not beyond(low):
        return BitFlip(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) else (low, middle)
    return BitFlip(high)


def _permanent_noises(survey: Survey, way: Grouping) -> list[BitFlip | None]:
    """Noises to try for permanent responses that are charged as if they carried names.

    They need much more noise than what is drawn anew and hides in a crowd, whose share of epsilon
    can be small: several shares are tried. None where all messages share out what may leak.
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


def _ways(survey: Survey, progress: Progress | None) -> list[Grouping]:
    """The survey's own messages, or those worth a try. Raises PrivacyError if there are none."""
    budget, found = survey.reports_per_person or 1, ways(survey, progress)
    if found:
        return found
    least = len(joint_groups(survey)) + len(wide(survey))
    if budget < least:
        allowed = f"cells and memoized questions need messages of their own; allow {least}"
        raise PrivacyError.of("reports_per_person", budget, allowed)
    allowed = "no messages and no noise keep that; allow more epsilon or delta, or ask more people"
    raise PrivacyError.of("privacy", _asked(survey), allowed)


def _asked(survey: Survey) -> InWords:
    privacy, crowd = survey.privacy, survey.crowd
    return InWords(f"epsilon {privacy.epsilon:g}, delta {privacy.delta:g}, a crowd of {crowd:,}")


def _messages(
    survey: Survey, chosen: Grouping, reference: BitFlip, kept: BitFlip | None = None
) -> tuple[Message, ...]:
    """The messages when the first that has noise to choose has the noise `reference`.

    All leaks phi^d - 1 keep their proportions to each other, but for permanent responses whose
    noise is fixed, `kept`.
    """
    questions = [tuple(map(survey.question, ids)) for ids in chosen.groups]
    distances, shares = list(map(_distance, questions, chosen.cells)), chosen.allocation.shares
    fixed = [bool(kept) and asked[0].memoized for asked in questions]
    first = next((i for i, d in enumerate(distances) if d and not fixed[i]), 0)
    leaks = [_leak(d, 1 / share.v) for d, share in zip(distances, shares, strict=True)]

    def noise(i: int) -> BitFlip | None:
        if not distances[i]:
            return None
        if fixed[i]:
            return kept
        if i == first:
            return reference
        leak = leaks[i] * (_leak(distances[first], reference.excess) / leaks[first])
        return BitFlip.from_excess(math.expm1(math.log1p(leak) / distances[i]))

    return _with_noise(survey, chosen, [noise(i) for i in range(len(questions))])


def limit_messages(survey: Survey, way: Grouping) -> tuple[Message, ...]:
    """The messages with the noise that the large-N limit gives them, which nobody certifies."""
    questions = [tuple(map(survey.question, ids)) for ids in way.groups]
    distances, shares = map(_distance, questions, way.cells), way.allocation.shares
    noises = [
        BitFlip.from_excess(1 / share.v) if distance else None
        for distance, share in zip(distances, shares, strict=True)
    ]
    return _with_noise(survey, way, noises)


def _with_noise(
    survey: Survey, way: Grouping, noises: Sequence[BitFlip | None]
) -> tuple[Message, ...]:
    """The messages of a way. noises: None where all questions have randomizers of their own."""
    messages: list[Message] = []
    parts = zip(way.groups, way.cells, way.allocation.shares, noises, strict=True)
    for number, (ids, cells, share, noise) in enumerate(parts):
        questions, pairs = tuple(map(survey.question, ids)), number in way.parities
        if cells and noise:
            messages.append(
                Cells(questions=questions, noise_numerator=noise.numerator, parities=pairs)
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
    """Bits with the planner's noise in which two records of a report can differ.

    Cells are collections of one bit.
    """
    if cells:
        return 1
    return sum(question.distance for question in questions if question.randomizer is None)


# Which crowd, epsilon or delta gives a wanted error.


# Natural logarithms between which the answer is sought.
RANGES = {
    "crowd": (math.log(10), math.log(1e12)),
    "epsilon": (math.log(1e-3), math.log(50)),
    "delta": (math.log(1e-30), math.log(0.5)),
}
UNKNOWNS = tuple(RANGES)
CLOSE = 0.002  # of the wanted error
STEPS = 8


class Wish(NamedTuple):
    """A wanted precision, a proportion: a standard error, or a margin, half of an interval."""

    name: Literal["error", "margin"]
    value: float

    @property
    def error(self) -> float:
        """The standard error that is wanted."""
        return self.value / self._errors

    def shown(self, error: float) -> str:
        """Another standard error as this one was given, rounded up."""
        return rounded_up(error * self._errors, 3)

    @property
    def _errors(self) -> float:
        return HALF_WIDTH if self.name == "margin" else 1.0


def solved(survey: Survey, unknown: str, wish: Wish, progress: Progress | None = None) -> Plan:
    """The plan of the smallest crowd, epsilon or delta whose tables are as precise as wished.

    wish: of the largest standard error of the wanted tables, or their mean. Solved in
    the large-N limit, then corrected until the certified plan just keeps it. Raises UsageError for
    an unknown that cannot be solved for, PrivacyError if no value in a wide range gives the error,
    saying which error is nearest.
    """
    if unknown not in UNKNOWNS:
        raise UsageError.of("unknown", unknown, f"use one of {', '.join(UNKNOWNS)}")
    if not 0 < wish.value < 1:
        raise UsageError.of(wish.name, wish.value, "should be a proportion between 0 and 1")
    aim, best, error = wish.error, None, wish.error
    for _ in range(STEPS):
        value = _in_the_limit(survey, unknown, aim, wish)
        if progress:
            progress(f"trying {unknown} {value:,.6g}")
        made = make_plan(_with(survey, unknown, value), progress=progress)
        found = plan_error(made)
        if found <= error:
            best = made
            if found > error * (1 - CLOSE):
                break
        aim *= error * (1 - CLOSE / 2) / found
    if best is None:
        allowed = f"no {unknown} was found that reaches it; ask for a larger one"
        raise PrivacyError.of(wish.name, wish.value, allowed)
    return best


def _in_the_limit(survey: Survey, unknown: str, aim: float, wish: Wish) -> float:
    """The value at which the large-N error is the one aimed at."""

    def excess(log_value: float) -> float:
        return math.log(limit_error(_with(survey, unknown, math.exp(log_value))) / aim)

    low, high = RANGES[unknown]
    if unknown == "crowd":  # two honest people besides those who may collude
        low = max(low, math.log(survey.rows_per_person * (survey.colluding + 2)))
    if excess(low) <= 0:
        return math.exp(low)
    if excess(high) > 0 and aim < wish.error:  # a correction went too far
        return math.exp(high)
    if excess(high) > 0:
        nearest = wish.shown(limit_error(_with(survey, unknown, math.exp(high))))
        allowed = f"no {unknown} up to {math.exp(high):.3g} reaches it; ask for {nearest} or more"
        if unknown != "crowd":
            allowed += ", for more people (unknown='crowd'), or for fewer tables"
        raise PrivacyError.of(wish.name, wish.value, allowed)
    return math.exp(root(excess, low, high, close=1e-4))


def limit_error(survey: Survey) -> float:
    """The error of the wanted tables in the large-N limit; infinite if no plan is possible."""
    found = ways(survey)
    if not found or found[0].allocation.excess == math.inf:
        return math.inf
    return expected_error(survey, limit_messages(survey, found[0]))


def with_budget(survey: Survey, reports_per_person: int) -> Survey:
    """The survey with joint reports that the planner groups.

    Raises SurveyError for a wrong budget.
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
    survey: Survey, *, earlier: Sequence[EarlierPlan] = (), progress: Progress | None = None
) -> Plan:
    """Choose messages, copies and noise so that the wanted tables are sharpest under the promise.

    earlier: what the same people were asked before (`Ledger.asked`); the promise covers it too.
    progress: called with a few words at every step. Raises PrivacyError if nothing keeps the
    promise. Warns of answers and questions that look alike.
    """
    for line in look_alike_warnings(survey.questions):
        warnings.warn(line, IncrowdWarning, stacklevel=2)
    return make_plan(survey, earlier, progress)


def solve(
    survey: Survey,
    unknown: str,
    *,
    error: float | None = None,
    margin: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The plan of the smallest "crowd", "epsilon" or "delta" that gives a wanted standard error.

    error: a proportion, the largest of the wanted tables or their mean, as the survey's objective
    says. margin: in its place half of a 95% interval. Raises UsageError for another unknown, or
    unless one of them is given, PrivacyError if no value gives the error.
    """
    if margin is not None and error is None:
        return solved(survey, unknown, Wish("margin", margin), progress)
    if error is None:
        raise UsageError.of("error", MISSING, "name the wanted error, or a margin=0.02")
    if margin is not None:
        raise UsageError.of("margin", margin, "error= says the same; leave one of them out")
    return solved(survey, unknown, Wish("error", error), progress)
