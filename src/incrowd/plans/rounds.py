"""Several rounds: what they spend, and which permanent responses repeat those of an earlier one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from incrowd.channels.bit_flip import BitFlip, is_flip
from incrowd.plans.message import Message
from incrowd.plans.plan import Asked, Collected, Plan
from incrowd.survey import Survey


class Spent(NamedTuple):
    """What a ledger has spent of the promise of a plan in it, and how many rounds are left.

    name: of the survey. done, rounds, left: carried out, planned, still covered. epsilon: what all
    that stands in the ledger has spent at delta; promised: what it may.
    """

    name: str
    done: int
    rounds: int
    left: int
    epsilon: float
    promised: float
    delta: float


class Release(NamedTuple):
    """One round: what was asked, what was sent, and how it came together; None if it is to come."""

    survey: Survey
    messages: tuple[Message, ...]
    collected: Collected | None = None

    @property
    def linked(self) -> bool:
        """Whether its reports count as if they carried the names of their senders."""
        return bool(self.collected and self.collected.local_only)


Rounds = Sequence[Release]  # of one plan, one at least


def rounds_before(earlier: Iterable[Asked]) -> list[Rounds]:
    """The rounds of each plan that was carried out."""
    found: dict[str, list[Release]] = {}
    for asked in earlier:
        found.setdefault(asked.digest, []).append(
            Release(asked.survey, asked.messages, asked.collected)
        )
    return list(found.values())


def rounds_planned(survey: Survey, messages: Sequence[Message]) -> Rounds:
    """The rounds of a plan, all to come: nobody can tell which one is being carried out."""
    return [Release(survey, tuple(messages))] * survey.rounds


def all_rounds(plan: Plan) -> list[Rounds]:
    """The rounds of all that a plan's promise covers, its own at the end."""
    return [*rounds_before(plan.earlier), rounds_planned(plan.survey, plan.messages)]


def series(survey: str, message: Message, noise: BitFlip) -> str:
    """What names a series of reports that repeat each other's responses. survey: its name.

    Another noise must draw anew: one number compared with two thresholds tells the answer. So must
    another message: responses that stand in two of them would link both reports of a person. So do
    parities, whose numbers mean something else than those of the cells of the same questions.
    """
    questions = "; ".join(
        f"{question.id}: {', '.join(question.answers)}" for question in message.questions
    )
    pairs = " in pairs" * message.parities
    return f"{survey}, noise {noise.numerator}, with {questions}{pairs}"


def permanent(survey: Survey, message: Message) -> Iterator[str]:
    """The names of the permanent responses in a message: a series, and the question."""
    for question in message.questions:
        if question.memoised:
            noise = message.channels[question.id].permanent_stage
            assert is_flip(noise)  # RAPPOR's, or the planner's
            yield f"{series(survey.name, message, noise)}: {question.id}"


class Repeated(NamedTuple):
    """Permanent responses that come in several releases, by name.

    hidden: all releases are made of one multiset of responses, if the same people take part; then
    they tell no more than one. exposed: the difference of two releases can be one person's
    response, which counts as if it carried her name.
    """

    hidden: frozenset[str]
    exposed: frozenset[str]


def repeated(plans: Iterable[Rounds]) -> Repeated:
    """The permanent responses that some plans repeat, in their rounds or each other's.

    They are exposed where the people can differ from release to release: in strata (who moves, or
    is merged, is in one release and not in the other), where another number came, and over a
    network, where nobody signs who came; and where one release had no shuffler.
    Proof: docs/mathematics.md#memoised-rounds.
    """
    found: defaultdict[str, list[tuple[Release, int]]] = defaultdict(list)
    for rounds in plans:
        for number, message in enumerate(rounds[0].messages):
            for name in permanent(rounds[0].survey, message):
                found[name] += [(release, number) for release in rounds]
    several = {name: releases for name, releases in found.items() if len(releases) > 1}
    exposed = {name for name, releases in several.items() if not _of_the_same_people(releases)}
    return Repeated(frozenset(several.keys() - exposed), frozenset(exposed))


def _of_the_same_people(releases: Iterable[tuple[Release, int]]) -> bool:
    """Whether nothing says that a message was of other people in one release than in another.

    releases: each with the number of the message in it.
    """
    people: set[int] = set()
    reports: set[int] = set()
    for release, number in releases:
        collected = release.collected
        if release.linked or release.survey.open or (collected and collected.bundle):
            return False
        if collected:
            people.add(collected.people[number] if collected.people else release.survey.crowd)
            reports |= set(collected.reports[number : number + 1])
    return len(people) <= 1 and len(reports) <= 1


def repeats(plan: Plan) -> bool:
    """Whether what a plan promises counts on the same people in several rounds.

    So it does if permanent responses come more than once, in its own rounds or in any that were
    before, and are not charged as if they carried names already.
    """
    return bool(repeated(all_rounds(plan)).hidden)
