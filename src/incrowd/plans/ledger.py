"""A ledger: what the same people have been asked so far, in order, and how many took part."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from incrowd.accountant.channels.bit_flip import BitFlip, is_flip
from incrowd.catalog.sentences import FileDigest, Keyword, Placeholder, Sentence, sentence
from incrowd.errors import (
    IncrowdError,
    PlanError,
    PlanFileError,
    ReportsError,
    SurveyError,
    spelled,
)
from incrowd.plans.digests import FileKind, read_json, sealed, unsealed
from incrowd.plans.message import Message, place
from incrowd.plans.plan import AS_PLANNED, Assumption, Collected, EarlierPlan, Plan
from incrowd.survey import Survey

FORMAT: Final = "incrowd ledger 1"
WITH_LEDGER = Keyword("earlier", Placeholder("LEDGER"))
_FILES = FileKind(
    "ledger", PlanFileError, sentence("plans.no-ledger"), sentence("plans.make-ledger")
)


class Ledger(BaseModel):
    """The rounds that the same people took part in, the earliest first.

    `new_ledger` creates its file, and `note` records plans in it.

    Attributes
    ----------
    format : str
        The format of the file.
    asked : tuple of EarlierPlan
        The plans; one of several rounds appears once for each round.
    collections : tuple of str
        The random names of the reports that were recorded, so that none is recorded twice.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> ledger = incrowd.Ledger().with_plan(plan, people=20_190)
    >>> ledger.asked[0].crowd  # at most as planned
    20000
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal["incrowd ledger 1"] = FORMAT
    asked: tuple[EarlierPlan, ...] = ()
    collections: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)

    def with_plan(
        self,
        plan: Plan,
        people: int | None,
        collections: Iterable[str] = (),
        collected: Collected = AS_PLANNED,
    ) -> Ledger:
        """Return the ledger after a round of a plan was carried out.

        Parameters
        ----------
        plan : Plan
            The plan.
        people : int or None
            How many took part, the smallest number of any message (rows, if one person has
            several). None if this was not counted, and the planned crowd is assumed.
        collections : iterable of str
            The names of the reports.
        collected : Collected
            What came of each message, and how.

        Raises
        ------
        PlanError
            If all rounds of the plan are in the ledger, or the plan does not cover the ledger.
        ReportsError
            If reports were recorded before.
        """
        self.check_next(plan)
        if again := sorted({*self.collections} & {*collections}):
            name = FileDigest(again[0])
            raise ReportsError.of("reports", "plans.reports-recorded", value=name)
        if people is not None and not collected.people:
            everybody = (people,) * len(plan.messages)
            collected = collected.model_copy(update={"people": everybody})
        asked = plan.asked_of(plan.survey.crowd if people is None else people, collected)
        return Ledger(
            asked=(*self.asked, asked), collections=(*self.collections, *sorted(collections))
        )

    def rounds_of(self, digest: str) -> int:
        """Return how many rounds of a plan were carried out."""
        return sum(asked.digest == digest for asked in self.asked)

    def check_next(self, plan: Plan) -> None:
        """Raise PlanError if a round of a plan cannot come next.

        Either all its rounds are in the ledger, or it does not cover what else is in the ledger.
        """
        done, rounds = self.rounds_of(plan.digest), plan.survey.rounds
        if done >= rounds:
            name = FileDigest(plan.digest)
            if rounds > 1:
                raise PlanError.of("plan", "plans.rounds-recorded", value=name, rounds=rounds)
            raise PlanError.of("plan", "plans.plan-recorded", value=name)
        others = [asked for asked in self.asked if asked.digest != plan.digest]
        covered: dict[str, list[EarlierPlan]] = {}
        for each in reversed(plan.earlier):
            covered.setdefault(each.digest, []).append(each)
        for asked in others:
            entries = covered.get(asked.digest)
            _check_covered(plan, asked, entries.pop() if entries else None)
        _check_people(plan, others)

    def dumps(self) -> str:
        """Return the text of a ledger file: the content and its digest, indented."""
        content = self.model_dump(mode="json", by_alias=True)
        return json.dumps(sealed(content), indent=2, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str, name: str | None = None) -> Ledger:
        """Read the text of a ledger file.

        Parameters
        ----------
        text : str
            The content of the file.
        name : str, optional
            The name of the file, for messages.

        Raises
        ------
        PlanFileError
            If it is not a ledger of the current format, or was edited after it was written.
        """
        with _FILES.parsing(name):
            content = _content(read_json(text), name)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            field = spelled(place("ledger", error.errors()[0]["loc"]))
            raise _FILES.refused(name, sentence("plans.wrong-ledger", field=field)) from None
        except SurveyError:
            raise _FILES.refused(name, _FILES.other) from None

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read a ledger file.

        Raises
        ------
        PlanFileError
            If the file cannot be read, is not a ledger, or was edited after it was written.
        """
        return _FILES.load(path, cls.loads)


def _check_covered(plan: Plan, asked: EarlierPlan, covered: EarlierPlan | None) -> None:
    """Raise PlanError unless a plan covers a round, with a crowd no larger than it had."""
    name = asked.survey.name
    if covered is None:
        why = sentence("plans.not-covered", name=name)
    elif asked.linked and not covered.linked:
        why = sentence("plans.relies-on-mixing", name=name)
    elif covered.crowd > asked.crowd and not covered.linked:
        people = {"planned": covered.crowd, "people": asked.crowd}
        why = sentence("plans.relies-on-people", name=name, **people)
    elif (covered.survey, covered.messages) != (asked.survey, asked.messages):
        why = sentence("plans.differs-from-ledger", name=name)
    elif asked.collected.tail > covered.collected.tail:
        why = sentence("plans.redraws-not-counted", name=name)
    else:
        return
    raise _uncovered(plan, why)


def _check_people(plan: Plan, others: Sequence[EarlierPlan]) -> None:
    """Raise PlanError if a plan assumes that permanent responses are hidden which the rounds
    expose."""
    planned = rounds_planned(plan.survey, plan.messages)
    shown = repeated([*rounds_before(others), planned]).exposed
    if more := sorted(shown - repeated(all_rounds(plan)).exposed):
        raise _uncovered(plan, sentence("plans.other-people", id=more[0].question))


def _uncovered(plan: Plan, why: Sentence) -> IncrowdError:
    return PlanError.of(
        "plan", "plans.uncovered", value=FileDigest(plan.digest), reason=why, option=WITH_LEDGER
    )


def _content(data: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Return the content of a ledger. Raises PlanFileError if its digest does not match."""
    if data["format"] != FORMAT:
        raise _FILES.refused(name, sentence("plans.unsupported-format"))
    content, fits = unsealed(data)
    if not fits:
        digest = data.get("digest")
        why = (
            sentence("plans.edited-ledger", value=FileDigest(str(digest)))
            if digest
            else sentence("plans.ledger-without-digest")
        )
        raise PlanFileError.of(("ledger", "digest"), why)
    return content


# Several rounds: what they spend, and which permanent responses repeat those of earlier rounds.


class Spent(NamedTuple):
    """The part of a plan's guarantee that a ledger has spent, and the number of rounds that are
    left.

    name: the name of the survey. done, rounds, left: rounds carried out, planned, still covered.
    epsilon: what everything in the ledger has spent at delta. promised: the epsilon of the plan.
    assumptions: what that epsilon assumes of the rounds.
    """

    name: str
    done: int
    rounds: int
    left: int
    epsilon: float
    promised: float
    delta: float
    assumptions: tuple[Assumption, ...]


class Round(NamedTuple):
    """One round: what is asked and sent, and how it was collected; None for a future round."""

    survey: Survey
    messages: tuple[Message, ...]
    collected: Collected | None = None

    @property
    def linked(self) -> bool:
        """Whether its reports count as if they carried the names of their senders."""
        return bool(self.collected and self.collected.local_only)


Rounds = Sequence[Round]  # of one plan, one at least


def rounds_before(earlier: Iterable[EarlierPlan]) -> list[Rounds]:
    """Return the rounds of each plan that was carried out.

    A digest alone does not make them rounds of one plan, since it is not computed here: rounds with
    other questions or noise are those of another plan.
    """
    plans: list[tuple[str, list[Round]]] = []
    for asked in earlier:
        release = Round(asked.survey, asked.messages, asked.collected)
        for digest, rounds in plans:
            if digest == asked.digest and rounds[0][:2] == release[:2]:
                rounds.append(release)
                break
        else:
            plans.append((asked.digest, [release]))
    return [rounds for _, rounds in plans]


def rounds_planned(survey: Survey, messages: Sequence[Message]) -> Rounds:
    """Return the rounds of a plan, all in the future: a plan does not know which one is current."""
    return [Round(survey, tuple(messages))] * survey.rounds


def all_rounds(plan: Plan) -> list[Rounds]:
    """Return the rounds of everything that a plan's guarantee covers, its own rounds last."""
    return [*rounds_before(plan.earlier), rounds_planned(plan.survey, plan.messages)]


def series(survey: str, message: Message, noise: BitFlip) -> str:
    """Return the name of a series of reports that repeat the same responses. survey: its name.

    With another noise, responses must be drawn anew: one number compared with two thresholds
    reveals the answer. So must those in another message: responses that occur in two messages would
    link a person's reports. So must parities, whose numbers have another meaning than those of the
    cells of the same questions.
    """
    questions = "; ".join(
        f"{question.id}: {', '.join(question.answers)}" for question in message.questions
    )
    pairs = " in pairs" * message.parities
    return f"{survey}, noise {noise.numerator}, with {questions}{pairs}"


class Permanent(NamedTuple):
    """The permanent responses of all people to one question, repeated in every release with the
    same series and question. survey: its name, which is part of the series."""

    series: str
    question: str
    survey: str


def permanent(survey: Survey, message: Message) -> Iterator[Permanent]:
    """Yield the permanent responses in a message."""
    for question in message.questions:
        if question.memoized:
            noise = message.channels[question.id].permanent_stage
            assert is_flip(noise)  # RAPPOR's, or the planner's
            yield Permanent(series(survey.name, message, noise), question.id, survey.name)


class Repeated(NamedTuple):
    """Permanent responses that occur in several releases.

    hidden: if the same people take part, all releases contain the same multiset of responses, and
    so reveal no more than one release. exposed: the difference of two releases can be one person's
    response, which counts as if it carried her name.
    """

    hidden: frozenset[Permanent]
    exposed: frozenset[Permanent]


def repeated(plans: Iterable[Rounds]) -> Repeated:
    """Return the permanent responses that plans repeat, in their own rounds or in each other's.

    They are exposed if the people can differ from release to release: with strata (a person who
    moves, or is merged, is in one release and not in the other), if the number of people differs,
    over a network, where no signature says who took part; and if one release had no shuffler.
    Proof: docs/mathematics.md#memoized-rounds.
    """
    given: defaultdict[Permanent, list[tuple[Round, int]]] = defaultdict(list)
    for rounds in plans:
        for number, message in enumerate(rounds[0].messages):
            for name in permanent(rounds[0].survey, message):
                given[name] += [(release, number) for release in rounds]
    several = {name: releases for name, releases in given.items() if len(releases) > 1}
    exposed = {name for name, releases in several.items() if not _of_the_same_people(releases)}
    return Repeated(frozenset(several.keys() - exposed), frozenset(exposed))


def _of_the_same_people(releases: Iterable[tuple[Round, int]]) -> bool:
    """Return whether a message may have come from the same people in all releases.

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
    """Return whether a plan's guarantee assumes the same people in several rounds.

    It does if permanent responses occur more than once, in its own rounds or in earlier ones, and
    are not already charged as if they carried names.
    """
    return bool(repeated(all_rounds(plan)).hidden)


def shows_responses(plan: Plan, people: int) -> bool:
    """Return whether a round of a plan with that many people exposes permanent responses of earlier
    rounds that its guarantee counts as hidden.

    Another number of people than before shows that they were not the same.
    """
    collected = Collected(people=(people,) * len(plan.messages))
    now = [Round(plan.survey, plan.messages, collected)]
    exposed = repeated([*rounds_before(plan.earlier), now]).exposed
    return not exposed <= repeated(all_rounds(plan)).exposed
