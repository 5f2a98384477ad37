"""Plans: everything a client must do and an analyst may conclude. Canonical JSON with a digest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from incrowd import views
from incrowd.accountant.codes import AssumptionCode, WorstPair
from incrowd.errors import InWords, PlanError, PlanFileError, Problem, SurveyError
from incrowd.plans.digests import FileKind, canonical, digest_of, read_json
from incrowd.plans.grouping import grouping_problems
from incrowd.plans.message import UNKNOWN_QUESTION, Message, Messages, place
from incrowd.survey import Survey
from incrowd.survey.merging import Merge, merged_questions
from incrowd.survey.wording import wording

FORMAT: Final = "incrowd plan 1"
_REMAKE = "make one with `incrowd plan SURVEY -o plan.json`"
_EDITED = f"the plan was edited after it was made; edit the survey instead, and {_REMAKE}"
_FILES = FileKind("plan", PlanFileError, _REMAKE)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


# Why less than the plan's promise holds for a collection. With each but the last two only the
# local guarantee is left.
Reduction = Literal[
    "one-party",  # the same party mixes and opens
    "permanent-responses",  # those of an earlier round are repeated
    "contradicted",  # the shuffler signed two releases of one stratum
    "fewer-people",  # than the plan counts on
    "simulation",  # the noise is known to whoever knows the seed
]


# What the promise of a plan rests on, beside what its analysis assumes.
PlanAssumption = Literal[
    "rows",  # no person has more rows of the answers than `number`
    "rounds",  # `number` rounds together, each with the whole crowd
    "permanent-one-release",  # permanent responses are covered in one release only
    "permanent-linked",  # they are counted as if they carried names; all else `number` times
    "permanent-same-people",  # they are covered while people and answers stay the same
    "permanent-same-answers",  # they are covered while answers stay the same
    "earlier-permanent-same-people",  # those of earlier rounds, while people and answers do
    "earlier-permanent-linked",  # those of earlier rounds are counted as if they carried names
    "earlier-linked",  # reports of the earlier rounds `asked` are counted as if they carried names
    "open",  # `questions` are sent openly, and are not covered
]


class AskedIn(_Frozen):
    """Some questions of one survey, by its name and their ids."""

    survey: str
    questions: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)


class Assumption(_Frozen):
    """One thing that a promise rests on: a code and its numbers and names.

    number: of rows or rounds, where the code needs one. questions: of this plan. asked: of earlier
    rounds.
    """

    code: AssumptionCode | PlanAssumption
    number: int | None = Field(default=None, ge=1, exclude_if=lambda number: number is None)
    questions: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)
    asked: tuple[AskedIn, ...] = Field(default=(), exclude_if=lambda asked: not asked)


class Guarantee(_Frozen):
    """What is promised to each person, by which analysis, for which crowd, on what assumptions.

    The promise is (epsilon, delta)-differential privacy of the collections as published,
    neighbors differing in one person's answers. crowd: honest people, those who may collude
    taken off. certified_delta: the upper bound that the accountant found at epsilon. worst: the
    pair of records (and the crowd) that gave it, of each kind of report. proved: whether it holds
    for every collection; if not, it is no guarantee. assumptions: what it rests on, that of the
    analysis first. local_epsilon: what remains (with delta 0) of all that a person sends if nobody
    hides it. reduced_by: of a collection for which the plan's promise does not hold, why; this is
    then what holds in its place. All is codes and numbers; `incrowd.presentation.sentences` has
    the words. `incrowd.guarantees` alone makes one.
    """

    analysis: str = Field(min_length=1)
    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    certified_delta: float = Field(ge=0, le=1)
    crowd: int = Field(ge=1)
    proved: bool
    assumptions: tuple[Assumption, ...] = Field(min_length=1)
    worst: tuple[WorstPair, ...] = Field(min_length=1)
    local_epsilon: float = Field(ge=0, allow_inf_nan=False)
    reduced_by: tuple[Reduction, ...] = Field(default=(), exclude_if=lambda reasons: not reasons)


def message_problems(survey: Survey, messages: Sequence[Message]) -> Iterator[str]:
    """Why some messages do not follow from a survey."""
    known = set(survey.randomized)
    for message in messages:
        if not set(message.questions) <= known or len(set(message.ids)) < len(message.ids):
            yield UNKNOWN_QUESTION
            return
    yield from grouping_problems(survey, [message.group for message in messages])
    for message in messages:
        yield from message.problems()


Count = Annotated[int, Field(ge=0)]


class Collected(_Frozen):
    """How the reports of a round came together.

    people, reports: of each message, all that were accepted, also beyond the plan's crowd; empty
    if nobody counted, and as many came as planned. local_only: whether nothing beyond the local
    guarantee holds: the plan counts on no shuffler, or one party saw the reports with their
    senders, or mixed and opened them. bundle: of a collection over a network, a short
    form of its digest. tail: at most the chance that one person's reports did not fit into an
    upload, and were drawn again.
    """

    people: tuple[Count, ...] = ()
    reports: tuple[Count, ...] = ()
    local_only: bool = False
    bundle: str | None = None
    tail: float = Field(default=0.0, ge=0, lt=1)


AS_PLANNED = Collected()


class Asked(_Frozen):
    """What people were asked before by the plan of that digest.

    crowd: honest people whose reports were accepted, never more than the plan counted on.
    collected: how.
    """

    digest: str
    crowd: int = Field(ge=1)
    survey: Survey
    messages: Messages
    collected: Collected = Field(default=AS_PLANNED, exclude_if=AS_PLANNED.__eq__)

    @model_validator(mode="after")
    def _fits_its_survey(self) -> Asked:
        for problem in message_problems(self.survey, self.messages):
            raise ValueError(f"it does not follow from the survey: {problem}")
        if self.crowd > self.survey.honest:
            planned = f"more than the {self.survey.honest:,} of the survey"
            raise ValueError(f"its crowd is {self.crowd:,}, {planned}")
        counted = {len(self.collected.people), len(self.collected.reports)}
        if not counted <= {0, len(self.messages)}:
            raise ValueError("it does not say of every message what came")
        return self

    @property
    def linked(self) -> bool:
        """Whether its reports count as if they carried the names of their senders."""
        return self.collected.local_only


def smallest_crowd(survey: Survey, earlier: Sequence[Asked]) -> int:
    """The honest people of a survey, or of an earlier round to which fewer came.

    A round that had no shuffler hides nobody, however many came.
    """
    return min([survey.honest, *(asked.crowd for asked in earlier if not asked.linked)])


class Plan(views.Notebook, _Frozen):
    """Survey, messages and guarantee.

    earlier: what the same people were asked before; the guarantee covers that as well.
    """

    format: Literal["incrowd plan 1"] = FORMAT
    survey: Survey
    messages: Messages
    guarantee: Guarantee
    earlier: tuple[Asked, ...] = ()

    @model_validator(mode="after")
    def _fits_its_survey(self) -> Plan:
        for problem in self._problems():
            raise ValueError(f"it does not follow from the survey: {problem}")
        return self

    def _problems(self) -> Iterator[str]:
        survey, promise = self.survey, self.guarantee
        wanted: dict[str, tuple[object, object]] = {
            "analysis": (promise.analysis, survey.privacy.analysis),
            "epsilon": (promise.epsilon, survey.privacy.epsilon),
            "crowd": (promise.crowd, smallest_crowd(survey, self.earlier)),
            "reduced_by": (promise.reduced_by, ()),
        }
        if promise.delta:  # an analysis may promise delta = 0
            wanted["delta"] = (promise.delta, survey.privacy.delta)
        for field, (found, right) in wanted.items():
            if found != right:
                yield f"guarantee.{field} is {found}"
        yield from message_problems(survey, self.messages)

    def __repr__(self) -> str:
        promise = self.guarantee
        said = f"epsilon={promise.epsilon:g}, delta={promise.delta:g}, {promise.analysis}"
        sent = f"messages={len(self.messages)}, digest={self.digest[:12]}…"
        return f"Plan({self.survey.name!r}, {said}, crowd={promise.crowd:,}, {sent})"

    __str__ = __repr__

    @property
    def memoised(self) -> tuple[str, ...]:
        """The questions whose permanent responses a device key has to remember."""
        return tuple(question.id for question in self.survey.randomized if question.memoised)

    def by_cells_alone(self, ids: Iterable[str]) -> bool:
        """Whether no joint report holds the randomized of these questions, but cells do: their
        table comes from cells."""
        wanted = self.survey.closed(ids)
        return bool(wanted) and all(m.cells for m in self.messages if m.holds(wanted))

    def pairs_in_cells(self, ids: Iterable[str]) -> bool:
        """Whether cells hold every two of some randomized questions, of which there are two."""
        pairs = list(combinations(ids, 2))
        sent = [message for message in self.messages if message.cells]
        return bool(pairs) and all(any(m.holds(pair) for m in sent) for pair in pairs)

    @property
    def asked(self) -> Asked:
        """This plan as something that people were asked, if as many came as it counts on."""
        return self.asked_of(self.survey.crowd)

    def asked_of(self, people: int, collected: Collected = AS_PLANNED) -> Asked:
        """This plan as something that so many people were asked (rows, if one has several).

        The crowd is never larger than planned, and never smaller than the one person herself.
        collected: how, by default through a shuffler if the plan counts on one.
        """
        if not self.guarantee.delta:  # as of no plan that counts on a shuffler
            collected = collected.model_copy(update={"local_only": True})
        return Asked(
            digest=self.digest,
            crowd=max(min(self.survey.hidden(people), self.survey.honest), 1),
            survey=self.survey,
            messages=self.messages,
            collected=collected,
        )

    @property
    def canonical(self) -> str:
        """Canonical JSON (RFC 8785): equal plans, equal text."""
        return canonical(self.content)

    @property
    def content(self) -> dict[str, Any]:
        """The plan as JSON-ready data, without its digest."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return digest_of(self.content)

    def dumps(self) -> str:
        """The text of a plan file: the content and its digest, indented for people."""
        data = {"digest": self.digest, "plan": self.content}
        return json.dumps(data, sort_keys=True, indent=2, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str, name: str = InWords("this text")) -> Plan:
        """Read the text of a plan file, of that name.

        Raises PlanFileError if it is no plan, PlanError if it was changed after it was made.
        """
        with _FILES.parsing(name):
            data = read_json(text)
            content, digest = data["plan"], data["digest"]
            format = content["format"]
        if format != FORMAT:
            raise PlanFileError.of("plan.format", format, f"should be {FORMAT!r}; {_REMAKE}")
        plan = cls._checked(content)
        if digest != plan.digest:
            allowed = f"it is not the digest of the content, {plan.digest}; {_EDITED}"
            raise PlanError.of("plan.digest", digest, allowed)
        return plan

    @classmethod
    def _checked(cls, content: object) -> Plan:
        """The plan of its content. Raises PlanError if no survey can have led to it."""
        try:
            return cls.model_validate(content)
        except SurveyError as error:
            found = error.problems
            problems = [Problem(f"plan.survey.{p.field}", p.value, p.allowed) for p in found]
            raise PlanError(*problems) from None
        except ValidationError as error:
            first = error.errors()[0]
            field = place("plan", first["loc"])
            value = first["input"] if first["loc"] else InWords("as a whole")
            raise PlanError.of(field, value, f"{wording(first)}; {_EDITED}") from None

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file. Raises PlanFileError if there is none, PlanError if it was changed."""
        return _FILES.load(path, cls.loads)


# A plan whose reports are read with some answers merged: docs/estimates.md#merging-answers.


def with_merged(plan: Plan, merge: Merge | None) -> Plan:
    """The same plan, whose questions are read with merged answers.

    It is equal in everything that was promised and sent, its digest included. merge: for each
    question groups of answers, or a name for each group. Raises UsageError for what cannot be
    merged.
    """
    if not merge:
        return plan
    questions = merged_questions(plan.survey.questions, merge)
    survey = plan.survey.model_copy(update={"questions": tuple(questions.values())})
    messages = tuple(
        message.model_copy(update={"questions": tuple(questions[id] for id in message.ids)})
        for message in plan.messages
    )
    return plan.model_copy(update={"survey": survey, "messages": messages})
