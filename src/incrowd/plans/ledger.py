"""A ledger: what a population has been asked so far, in order, and how many of it came."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from incrowd.accountant.channels.bit_flip import BitFlip, is_flip
from incrowd.errors import (
    MISSING,
    IncrowdError,
    InWords,
    PlanError,
    PlanFileError,
    ReportsError,
    SurveyError,
)
from incrowd.plans.digests import EDITED, FileKind, read_json, sealed, unsealed
from incrowd.plans.message import Message, place
from incrowd.plans.plan import AS_PLANNED, Asked, Collected, Plan
from incrowd.survey import Survey

FORMAT: Final = "incrowd ledger 1"
_MAKE = "make a new one with `incrowd ledger --new LEDGER`, or name the one you have"
_FILES = FileKind("ledger", PlanFileError, _MAKE)


class Ledger(BaseModel):
    """What the same people were asked, the earliest first.

    A plan of several rounds stands there once for each. collections: the random names of the
    reports that were noted, so that none are noted twice.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal["incrowd ledger 1"] = FORMAT
    asked: tuple[Asked, ...] = ()
    collections: tuple[str, ...] = Field(default=(), exclude_if=lambda found: not found)

    def with_plan(
        self,
        plan: Plan,
        people: int | None,
        collections: Iterable[str] = (),
        collected: Collected = AS_PLANNED,
    ) -> Ledger:
        """The ledger after a plan was carried out.

        people: who came, the smallest number of any message (rows, if one person has several);
        None if nobody counted, and the planned crowd is taken at its word. collections: the names
        of the reports. collected: what came of each message, and how. Raises PlanError if the plan
        is in it already, or does not cover what is in it as it was, ReportsError if reports were
        noted before.
        """
        self.check_next(plan)
        if again := sorted({*self.collections} & {*collections}):
            allowed = "they are in the ledger already; name those of the next round"
            raise ReportsError.of("reports", again[0], allowed)
        if people is not None and not collected.people:
            everybody = (people,) * len(plan.messages)
            collected = collected.model_copy(update={"people": everybody})
        asked = plan.asked_of(plan.survey.crowd if people is None else people, collected)
        return Ledger(
            asked=(*self.asked, asked), collections=(*self.collections, *sorted(collections))
        )

    def rounds_of(self, digest: str) -> int:
        """How many rounds of a plan were carried out."""
        return sum(asked.digest == digest for asked in self.asked)

    def check_next(self, plan: Plan) -> None:
        """Raises PlanError if a round of a plan cannot be the next thing asked.

        All its rounds may be in the ledger already, or it does not cover what else is in it.
        """
        done, rounds = self.rounds_of(plan.digest), plan.survey.rounds
        if done >= rounds:
            said = "it is in the ledger already; note each plan once"
            if rounds > 1:
                said = (
                    f"all its {rounds:,} rounds are in the ledger; nothing is left of its promise"
                )
            raise PlanError.of("plan", plan.digest, said)
        others = [asked for asked in self.asked if asked.digest != plan.digest]
        covered: dict[str, list[Asked]] = {}
        for each in reversed(plan.earlier):
            covered.setdefault(each.digest, []).append(each)
        for asked in others:
            found = covered.get(asked.digest)
            _check_covered(plan, asked, found.pop() if found else None)
        _check_people(plan, others)

    def dumps(self) -> str:
        """The text of a ledger file: the content and its digest, indented for people."""
        content = self.model_dump(mode="json", by_alias=True)
        return json.dumps(sealed(content), indent=2, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str, name: str = InWords("this text")) -> Ledger:
        """Read the text of a ledger file, of that name.

        Raises PlanFileError if it is no ledger of today's format, PlanError if it was changed after
        it was written.
        """
        with _FILES.parsing(name):
            content = _content(read_json(text), name)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            field = place("ledger", error.errors()[0]["loc"])
            raise _FILES.refused(name, f"it is not a ledger: {field} is wrong") from None
        except SurveyError:
            raise _FILES.refused(name, "it is not a ledger") from None

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read a ledger file. Raises as `loads`, and PlanFileError if there is none."""
        return _FILES.load(path, cls.loads)


def _check_covered(plan: Plan, asked: Asked, covered: Asked | None) -> None:
    """Raises PlanError unless a plan covers what was asked, in a crowd no larger than it was."""
    name = asked.survey.name
    if covered is None:
        why = f"it does not cover {name!r}"
    elif asked.linked and not covered.linked:
        why = f"it counts on a shuffler in {name!r}, where there was none"
    elif covered.crowd > asked.crowd and not covered.linked:
        why = f"it counts on {covered.crowd:,} people in {name!r}, where {asked.crowd:,} came"
    elif (covered.survey, covered.messages) != (asked.survey, asked.messages):
        why = f"it does not say of {name!r} what the ledger says"
    elif asked.collected.tail > covered.collected.tail:
        why = f"it does not count noise that was drawn again in {name!r}"
    else:
        return
    raise _uncovered(plan, why)


def _check_people(plan: Plan, others: Sequence[Asked]) -> None:
    """Raises PlanError if a plan hides permanent responses that rounds showed, as they were."""
    own = rounds_planned(plan.survey, plan.messages)
    shown = repeated([*rounds_before(others), own]).exposed
    if more := sorted(shown - repeated(all_rounds(plan)).exposed):
        why = "it counts on the same people in the rounds of permanent responses to"
        raise _uncovered(plan, f"{why} {more[0].question!r}, which others gave")


def _uncovered(plan: Plan, why: str) -> IncrowdError:
    return PlanError.of("plan", plan.digest, f"{why}; plan it with earlier=LEDGER")


def _content(data: dict[str, Any], name: str) -> dict[str, Any]:
    """What a ledger says. Raises PlanError if its digest is another's."""
    if data["format"] != FORMAT:
        raise _FILES.refused(name, "it is of another format")
    content, fits = unsealed(data)
    if not fits:
        found = data.get("digest", MISSING)
        raise PlanError.of("ledger.digest", found, f"{EDITED}; use an unchanged copy")
    return content


# Several rounds: what they spend, and which permanent responses repeat those of an earlier one.


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


class Permanent(NamedTuple):
    """The permanent responses of everybody to one question: they repeat in every release that has
    the same series and question. survey: its name, which is part of the series."""

    series: str
    question: str
    survey: str


def permanent(survey: Survey, message: Message) -> Iterator[Permanent]:
    """The permanent responses in a message."""
    for question in message.questions:
        if question.memoised:
            noise = message.channels[question.id].permanent_stage
            assert is_flip(noise)  # RAPPOR's, or the planner's
            yield Permanent(series(survey.name, message, noise), question.id, survey.name)


class Repeated(NamedTuple):
    """Permanent responses that come in several releases.

    hidden: all releases are made of one multiset of responses, if the same people take part; then
    they tell no more than one. exposed: the difference of two releases can be one person's
    response, which counts as if it carried her name.
    """

    hidden: frozenset[Permanent]
    exposed: frozenset[Permanent]


def repeated(plans: Iterable[Rounds]) -> Repeated:
    """The permanent responses that some plans repeat, in their rounds or each other's.

    They are exposed where the people can differ from release to release: in strata (who moves, or
    is merged, is in one release and not in the other), where another number came, and over a
    network, where nobody signs who came; and where one release had no shuffler.
    Proof: docs/mathematics.md#memoised-rounds.
    """
    given: defaultdict[Permanent, list[tuple[Release, int]]] = defaultdict(list)
    for rounds in plans:
        for number, message in enumerate(rounds[0].messages):
            for name in permanent(rounds[0].survey, message):
                given[name] += [(release, number) for release in rounds]
    several = {name: releases for name, releases in given.items() if len(releases) > 1}
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
    before, and are not counted as if they carried names already.
    """
    return bool(repeated(all_rounds(plan)).hidden)
