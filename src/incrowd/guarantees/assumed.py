"""The assumptions of a guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from incrowd.accountant.analyses import analysis
from incrowd.accountant.codes import AssumptionCode
from incrowd.plans.ledger import (
    Permanent,
    Repeated,
    Rounds,
    permanent,
    repeated,
)
from incrowd.plans.plan import (
    AskedIn,
    Assumption,
    PlanAssumption,
)


def assumptions(
    plans: Sequence[Rounds], by: AssumptionCode, beside: Iterable[AssumptionCode] = ()
) -> tuple[Assumption, ...]:
    """Return what a guarantee assumes, by its analysis, the survey and the earlier rounds.

    plans: the rounds of each plan that the guarantee covers, its own rounds last. by, beside: the
    assumptions of its certificate.
    """
    return (*(Assumption(code=code) for code in (by, *beside)), *_assumed(plans))


def _assumed(plans: Sequence[Rounds]) -> Iterator[Assumption]:
    *before, now = plans
    survey, repeating = now[0].survey, repeated(plans)
    if survey.rows_per_person > 1:
        yield Assumption(code="rows", number=survey.rows_per_person)
    if survey.rounds > 1:
        yield Assumption(code="rounds", number=survey.rounds)
    yield from _permanent(now, repeating.exposed)
    yield from earlier_assumptions(before, repeating)
    if survey.open:
        yield Assumption(code="open", questions=tuple(question.id for question in survey.open))


def _permanent(now: Rounds, exposed: frozenset[Permanent]) -> Iterator[Assumption]:
    """Yield what is assumed of a plan's own permanent responses. exposed: those that the difference
    of two releases can show."""
    survey, names = now[0].survey, _given([now])
    if names and not analysis(survey.privacy.analysis).shuffled:
        yield Assumption(code="permanent-same-answers", number=survey.rounds)
        return
    linked = tuple(name.question for name in names if name in exposed)
    others = tuple(name.question for name in names if name not in exposed)
    if linked:
        which = linked if others else ()
        yield Assumption(code="permanent-linked", number=survey.rounds, questions=which)
    if others and survey.open and survey.rounds == 1:
        yield Assumption(code="permanent-one-release")
    elif others:
        which = others if linked else ()
        yield Assumption(code="permanent-same-people", number=survey.rounds, questions=which)


def earlier_assumptions(before: Sequence[Rounds], repeating: Repeated) -> Iterator[Assumption]:
    """Yield what is assumed of the rounds that were carried out.

    repeating: the permanent responses that occur in several releases which the guarantee covers.
    """
    surveys, names = [rounds[0].survey for rounds in before], _given(before)
    hidden, exposed = repeating
    for rows in sorted({survey.rows_per_person for survey in surveys} - {1}):
        several = [(survey.name, ()) for survey in surveys if survey.rows_per_person == rows]
        yield Assumption(code="earlier-rows", number=rows, asked=_asked_in(several))
    groups: dict[PlanAssumption, frozenset[Permanent]] = {
        "earlier-permanent-one-release": frozenset(names) - hidden - exposed,
        "earlier-permanent-same-people": hidden,
        "earlier-permanent-linked": exposed,
    }
    for code, group in groups.items():
        if given := [(name.survey, (name.question,)) for name in names if name in group]:
            yield Assumption(code=code, asked=_asked_in(given))
    linked = [rounds[0].survey for rounds in before if any(release.linked for release in rounds)]
    if linked:
        asked = _asked_in((survey.name, ()) for survey in linked)
        yield Assumption(code="earlier-linked", asked=asked)
    if openly := [(s.name, tuple(question.id for question in s.open)) for s in surveys if s.open]:
        yield Assumption(code="earlier-open", asked=_asked_in(openly))


def _given(plans: Sequence[Rounds]) -> list[Permanent]:
    """Return the permanent responses that plans give, without repeats."""
    each = (
        permanent(rounds[0].survey, message) for rounds in plans for message in rounds[0].messages
    )
    return list(dict.fromkeys(chain.from_iterable(each)))


def _asked_in(asked: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[AskedIn, ...]:
    """Return each survey once, with all of its questions. asked: names and ids."""
    together: dict[str, tuple[str, ...]] = {}
    for name, ids in asked:
        together[name] = tuple(dict.fromkeys((*together.get(name, ()), *ids)))
    return tuple(AskedIn(survey=name, questions=ids) for name, ids in together.items())
