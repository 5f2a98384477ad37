"""Survey -> messages of cells to which services add noise, certified.

The large-crowd limit suggests which questions are crossed and how the noise is shared, as for bits
that the devices flip; where few cells shift, other crossings can be better, so that each step is
compared with certified noise. Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from incrowd.accountant.added import added_noise
from incrowd.accountant.schema import AnyContribution, Contribution, alternatives
from incrowd.catalog.sentences import translatable
from incrowd.errors import PrivacyError
from incrowd.planner.covers import without_contained
from incrowd.planner.loads import LARGE, VariableSet
from incrowd.planner.precision import excess_of
from incrowd.planner.search import SearchProgress, evaluate, inflations, search
from incrowd.planner.task import SearchTask, task_of
from incrowd.plans import CellsMessage, EarlierPlan
from incrowd.plans.message import SERVICES
from incrowd.plans.plan import relied_crowd
from incrowd.plans.sent import sent_before
from incrowd.survey import Survey

Crossed = Sequence[VariableSet]  # the variables of each message
MOST_TRIED = 60  # certified sets of messages
MOVES = 6  # certified in one step: those that are likely the best
GAIN = 1e-3  # the least relative gain for which a search goes on


def service_messages(
    survey: Survey,
    earlier: Sequence[EarlierPlan] = (),
    progress: SearchProgress | None = None,
) -> tuple[CellsMessage, ...]:
    """Return messages of cells with the smallest noise of services that meets a survey's guarantee.

    earlier: earlier rounds with the same people, which the guarantee covers as well. Raises
    PrivacyError if a wanted table cannot be counted in cells, or no noise meets the guarantee.
    """
    task = task_of(survey)
    if task.given is not None:
        given = [frozenset(order) for order, _, _ in task.given]
        return _certified(survey, replace(task, tables=task.wanted), given, earlier)
    for beside in task.beside:
        ids = task.names(beside.ids)
        raise PrivacyError.of(("privacy", "noise"), "planner.not-in-cells", questions=ids)
    if progress:
        progress(translatable("planner.searching-tables"))
    tried: dict[frozenset[VariableSet], tuple[float, tuple[CellsMessage, ...]]] = {}

    def of(crossed: Crossed) -> float:
        """Return the objective of some messages; infinite if they send too many reports."""
        key = frozenset(crossed)
        if key not in tried:
            messages = _certified(survey, task, crossed, earlier)
            reports = sum(message.reports_each for message in messages)
            excess = excess_of(task, messages) if reports <= task.limits.reports else math.inf
            tried[key] = excess, messages
        return tried[key][0]

    def guess(crossed: Crossed) -> float:
        return _guess(task, crossed, survey.privacy.epsilon)

    best = min(_starts(task), key=of)
    while len(tried) < MOST_TRIED:
        likely = heapq.nsmallest(MOVES, _moves(task, best), key=guess)
        next_best = min(likely, key=of, default=best)
        if of(next_best) >= of(best) * (1 - GAIN):
            break
        best = next_best
    excess, messages = tried[frozenset(best)]
    if excess == math.inf:
        budget, least = survey.reports_per_person or 1, len(best)
        raise PrivacyError.of(
            "reports_per_person", "planner.few-reports", value=budget, least=least
        )
    return messages


def _guess(task: SearchTask, crossed: Crossed, epsilon: float) -> float:
    """Return roughly the objective of some messages with equal noise: that of a Laplace or a
    Gaussian law, whichever is smaller."""
    shifts, signal = sum(task.facts(ids).load.times for ids in crossed), task.limits.leak
    variance = min(2 * (shifts / epsilon) ** 2, shifts * task.people / signal)
    leaks = [task.people / (SERVICES * variance)] * len(crossed)
    each = inflations(task, crossed, leaks)
    return sum(each) / len(each) if task.mean else max(each)


def _starts(task: SearchTask) -> Iterator[Crossed]:
    """Yield messages to start from: one for each table, all questions crossed, and those that the
    large-crowd limit suggests."""
    yield (*task.small, *task.large)
    everything = frozenset().union(*task.small)
    if task.small and _crossable(task, everything):
        yield (everything, *task.large)
    half = task.limits._replace(leak=task.limits.leak / SERVICES, slots=math.inf)
    if suggested := search(replace(task, limits=half)):
        yield suggested.messages


def _moves(task: SearchTask, crossed: Crossed) -> Iterator[Crossed]:
    """Yield the same messages with two of them crossed, or with one divided into its tables."""
    for one, other in combinations(crossed, 2):
        if _crossable(task, one | other):
            rest = tuple(ids for ids in crossed if not ids <= one | other)
            yield (*rest, one | other)
    for message in crossed:
        inside = [table for table in (*task.small, *task.large) if table <= message]
        others = [ids for ids in crossed if ids != message]
        divided = without_contained([*others, *inside])
        if frozenset(divided) != frozenset(crossed):
            yield tuple(divided)


def _crossable(task: SearchTask, ids: VariableSet) -> bool:
    facts = task.facts(ids)
    return facts.crossable and facts.size <= LARGE


def _certified(
    survey: Survey, task: SearchTask, crossed: Crossed, earlier: Sequence[EarlierPlan]
) -> tuple[CellsMessage, ...]:
    """Return messages with the smallest noise that meets the guarantee: the better one of noise
    that is shared as in the large-crowd limit, and equal noise."""
    ordered = sorted(crossed, key=sorted)
    shared = _shares(task, ordered)
    each = [_with_noise(survey, task, ordered, variances, earlier) for variances in shared]
    return min(each, key=lambda messages: excess_of(task, messages))


def _shares(task: SearchTask, crossed: Sequence[VariableSet]) -> list[list[float]]:
    """Return variances of the noise of each message, in proportion, that are worth certifying."""
    equal = [1.0] * len(crossed)
    small = [ids for ids in crossed if not task.is_large(ids)]
    if len(small) < len(crossed) or len(crossed) < 2 or not task.small:
        return [equal]
    limit = evaluate(replace(task, larger=()), small)
    places = {ids: leak for ids, leak in zip(limit.messages, limit.leaks, strict=True)}
    variances = [1 / max(places[ids], 1e-300) for ids in crossed]
    least = min(variances)
    return [equal, [each / least for each in variances]]


def _with_noise(
    survey: Survey,
    task: SearchTask,
    crossed: Sequence[VariableSet],
    variances: Sequence[float],
    earlier: Sequence[EarlierPlan],
) -> tuple[CellsMessage, ...]:
    privacy, before = survey.privacy, _largest(sent_before(earlier)) if earlier else None
    laws = added_noise(
        [task.facts(ids).load.times for ids in crossed],
        variances,
        privacy.epsilon,
        privacy.delta,
        service_epsilon=privacy.service_epsilon,
        beside=before,
        crowd=relied_crowd(survey, (), earlier),
    )
    return tuple(
        CellsMessage(questions=tuple(survey.randomized[i] for i in sorted(ids)), added=law)
        for ids, law in zip(crossed, laws, strict=True)
    )


def _largest(sent: AnyContribution) -> Contribution:
    """Return what a person sends at most: the most reports of each kind, over all alternatives."""
    first, *others = alternatives(sent)
    for other in others:
        most = dict(first.reports)
        for schema, copies in other.reports:
            most[schema] = max(copies, most.get(schema, 0))
        first = replace(first, reports=tuple(most.items()))
    return first
