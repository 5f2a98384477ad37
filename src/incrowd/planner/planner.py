"""Survey -> plan: which questions travel together, how often, with how much noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from incrowd.accounting.analyses import analysis, plannable
from incrowd.accounting.calibration import clearly_keeps, smallest_epsilon, smallest_noise
from incrowd.accounting.certificates import certify
from incrowd.accounting.schema import AnySent, Part
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.channels.rounding import rounded_up
from incrowd.errors import InWords, PrivacyError
from incrowd.guarantees import planned
from incrowd.planner.expectation import guessed_excess
from incrowd.planner.groups import Grouping, Progress
from incrowd.planner.ways import ways
from incrowd.plans import Asked, Cells, JointReport, Message, Plan
from incrowd.plans.fixed_channels import crowd_channel
from incrowd.plans.grouping import joint_groups, wide
from incrowd.plans.plan import smallest_crowd
from incrowd.plans.sent import sent, sent_before
from incrowd.plans.slots import TAIL, upload_bytes
from incrowd.survey import AnyQuestion, Survey

PERMANENT_SHARES = (0.75, 0.95)  # of epsilon, for permanent responses no crowd hides


def make_plan(
    survey: Survey, earlier: Sequence[Asked] = (), progress: Progress | None = None
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


def _check_spent(survey: Survey, earlier: Sequence[Asked], crowd: int) -> None:
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


def _people(asked: Asked) -> str:
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
    earlier: Sequence[Asked] = (),
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
    survey: Survey, way: Grouping, crowd: int, earlier: Sequence[Asked], kept: BitFlip | None
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
    planned = [q for q in questions if q.asked_memoised]
    others = [q for q in questions if not q.memoised and q.randomizer is None]
    if not (planned and others and survey.open and survey.rounds > 1 and shuffled):
        return [None]
    fixed = sum(
        Part(domain, channel).local_epsilon
        for q in questions
        if q.memoised and (channel := crowd_channel(q))
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
        allowed = f"cells and memoised questions need messages of their own; allow {least}"
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
    fixed = [bool(kept) and asked[0].memoised for asked in questions]
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
