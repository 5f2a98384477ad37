"""Candidate -> messages with the smallest noise that meets a survey's guarantee, certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from incrowd.accountant.analyses import analysis
from incrowd.accountant.certificates import clearly_keeps, smallest_noise
from incrowd.accountant.channels.base import rounded_up
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.schema import AnyContribution, Part
from incrowd.catalog.sentences import translatable
from incrowd.errors import PrivacyError
from incrowd.planner.precision import guessed_excess
from incrowd.planner.search import SearchProgress
from incrowd.planner.task import PlanCandidate
from incrowd.plans import CellsMessage, EarlierPlan, JointReport, Message
from incrowd.plans.message import crowd_channel
from incrowd.plans.sent import sent
from incrowd.plans.slots import TAIL
from incrowd.survey import Survey

PERMANENT_SHARES = (0.75, 0.95)  # of epsilon, for permanent responses that no crowd hides


def certified_messages(
    survey: Survey,
    way: PlanCandidate,
    crowd: int,
    earlier: Sequence[EarlierPlan] = (),
    progress: SearchProgress | None = None,
) -> tuple[Message, ...]:
    """Return the messages of a way, with the smallest noise that meets the survey's guarantee.

    Raises PrivacyError if no noise meets it.
    """
    if progress:
        copies = sum(message.copies for message in way.messages)
        messages = len(way.messages)
        progress(translatable("planner.certifying", messages=messages, reports=copies))
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
    way: PlanCandidate,
    crowd: int,
    earlier: Sequence[EarlierPlan],
    permanent: BitFlip | None,
) -> tuple[Message, ...]:
    """Return the messages with the smallest noise that meets the guarantee.

    permanent: the noise of permanent responses, if it is fixed.
    """

    messages = _messages(survey, way)

    def with_noise(reference: BitFlip) -> tuple[Message, ...]:
        return _with_noise(messages, way, reference, permanent)

    def everything(reference: BitFlip) -> AnyContribution:
        return sent(survey, with_noise(reference), earlier)

    privacy, least = survey.privacy, BitFlip(1)
    guarantee = crowd, privacy.epsilon, privacy.delta
    if privacy.local_epsilon is not None:
        least = _least_local(everything, privacy.local_epsilon, survey.rounds * TAIL)
        if clearly_keeps(privacy.analysis, everything(least), *guarantee):
            return with_noise(least)
    return with_noise(max(smallest_noise(privacy.analysis, everything, *guarantee), least))


def _least_local(
    everything: Callable[[BitFlip], AnyContribution], cap: float, redraws: float
) -> BitFlip:
    """Return the smallest noise whose local epsilon is at most `cap`.

    redraws: the addition to the local epsilon by noise that is drawn again. Raises PrivacyError if
    no noise is large enough.
    """

    def beyond(numerator: int) -> bool:
        return everything(BitFlip(numerator)).local_epsilon + redraws > cap

    low, high = 1, DENOMINATOR // 2 - 1
    if beyond(high):
        least = rounded_up(everything(BitFlip(high)).local_epsilon, 3)
        path = ("privacy", "local_epsilon")
        raise PrivacyError.of(path, "planner.fixed-local-epsilon", value=cap, least=least)
    if not beyond(low):
        return BitFlip(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) else (low, middle)
    return BitFlip(high)


def _permanent_noises(survey: Survey, way: PlanCandidate) -> list[BitFlip | None]:
    """Return noises to try for permanent responses that no crowd hides.

    They need much more noise than responses that are drawn anew and hide in a crowd, for which a
    small share of epsilon can be enough. Several shares are tried. `None` stands for noise that is
    chosen together with that of all other messages.
    """
    privacy, each = survey.privacy, survey.randomized
    questions = [each[i] for message in way.messages for i in message.order]
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


def limit_messages(
    survey: Survey, way: PlanCandidate, cap: float | None = None
) -> tuple[Message, ...]:
    """Return the messages with the noise of the large-N limit, which is not certified; with more
    noise if their local epsilon would exceed `cap`."""
    messages, redraws = _messages(survey, way), survey.rounds * TAIL
    if cap is None or sent(survey, messages, ()).local_epsilon + redraws <= cap:
        return messages

    def everything(reference: BitFlip) -> AnyContribution:
        return sent(survey, _with_noise(messages, way, reference), ())

    return _with_noise(messages, way, _least_local(everything, cap, redraws))


def _messages(survey: Survey, way: PlanCandidate) -> tuple[Message, ...]:
    """Return the messages with the noise of the large-N limit."""
    messages: list[Message] = []
    for order, kind, copies, distance, v in way.messages:
        questions = tuple(survey.randomized[i] for i in order)
        noise = BitFlip.from_excess(1 / v).numerator if distance else None
        if kind == "joint":
            messages.append(JointReport(questions=questions, noise_numerator=noise, copies=copies))
        else:
            pairs = kind == "parities"
            messages.append(
                CellsMessage(questions=questions, noise_numerator=noise, parities=pairs)
            )
    return tuple(messages)


def _with_noise(
    messages: Sequence[Message],
    way: PlanCandidate,
    reference: BitFlip,
    permanent: BitFlip | None = None,
) -> tuple[Message, ...]:
    """Return the messages if the first one whose noise can be chosen has the noise `reference`.

    The leaks phi^d - 1 of all messages keep their proportions, except for permanent responses with
    the fixed noise `permanent`.
    """
    fixed = [bool(permanent) and message.questions[0].memoized for message in messages]
    distances = [message.distance for message in way.messages]
    leaks = [_leak(message.distance, 1 / message.v) for message in way.messages]
    first = next((i for i, d in enumerate(distances) if d and not fixed[i]), 0)

    def with_noise(i: int) -> Message:
        if not distances[i]:
            return messages[i]
        if fixed[i] and permanent:
            noise = permanent
        elif i == first:
            noise = reference
        else:
            leak = leaks[i] * (_leak(distances[first], reference.excess) / leaks[first])
            noise = BitFlip.from_excess(math.expm1(math.log1p(leak) / distances[i]))
        return messages[i].model_copy(update={"noise_numerator": noise.numerator})

    return tuple(map(with_noise, range(len(messages))))


def _leak(distance: int, excess: float) -> float:
    """Return phi^d - 1, from phi - 1."""
    return math.expm1(min(distance * math.log1p(excess), 600.0))
