"""Plans: everything a client must do and an analyst may conclude. Canonical JSON with a digest."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from incrowd import views
from incrowd.accountant.codes import NOT_PROVED, AnalysisName, AssumptionCode, WorstPair
from incrowd.catalog.sentences import FileDigest, Sentence, sentence, translatable
from incrowd.errors import PathPart, PlanFileError, SurveyError, Unfit, UsageError
from incrowd.plans.digests import FileKind, FileModel, canonical, digest_of, read_json
from incrowd.plans.grouping import grouping_problems
from incrowd.plans.message import SERVICES, Message, Messages, place
from incrowd.survey import Survey
from incrowd.survey.merging import Merge, merged_questions
from incrowd.survey.reasons import wording
from incrowd.survey.surveys import is_of_interviews
from incrowd.survey.toml import REGISTERED, Real

FORMAT: Final = "incrowd plan 1"
_FILES = FileKind("plan", PlanFileError, sentence("plans.no-plan"), sentence("plans.make-plan"))


# Why a collection has less than the plan's guarantee. With all but the last three, only the local
# guarantee is left.
Reduction = Literal[
    "one-party",  # the same party mixes and opens
    "thinned-cells",  # the collector's organization runs the first of two mixers as well
    "permanent-responses",  # those of an earlier round are repeated
    "contradicted",  # a mixer signed two different statements about one stratum
    "fewer-people",  # than the plan counts on
    "simulation",  # anyone who knows the seed knows the noise
    "rehearsal",  # the people are invented
]


# How reports that came over a network were mixed, or will be. It decides who could cheat.
Mixing = Literal[
    "shuffler",  # by one party, which invites people as well
    "two-mixers",  # by two, and a third one invites
    "two-mixers-of-cells",  # the same, and messages are cells, whose sets could be thinned
    "services",  # by a shuffler that adds noise to cells, as does the collector
    "curator",  # by nobody: one party holds the answers, and adds noise to their counts
]


# What a plan's guarantee assumes, in addition to what its analysis assumes.
PlanAssumption = Literal[
    "rows",  # no person has more rows of the answers than `number`
    "rounds",  # `number` rounds together, each with the whole crowd
    "permanent-one-release",  # permanent responses are covered in one release only
    "permanent-linked",  # they are charged as if they carried names; all else `number` times
    "permanent-same-people",  # they are covered while people and answers stay the same
    "permanent-same-answers",  # they are covered while answers stay the same
    "earlier-rows",  # no person had more than `number` rows in the earlier rounds `asked`
    "earlier-permanent-one-release",  # those of earlier rounds are covered in one release only
    "earlier-permanent-same-people",  # those of earlier rounds, while people and answers do
    "earlier-permanent-linked",  # those of earlier rounds are charged as if they carried names
    "earlier-linked",  # reports of the earlier rounds `asked` are charged as if they carried names
    "earlier-open",  # questions of the earlier rounds `asked` were sent openly; not covered
    "open",  # `questions` are sent openly, and are not covered
]


class AskedIn(FileModel):
    """Some questions of one survey, by its name and their ids."""

    survey: str
    questions: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)


class Assumption(FileModel):
    """One thing that a guarantee assumes: a code with its numbers and names.

    number: the number of rows or rounds, where the code needs one. questions: the questions of this
    plan; for permanent responses, only if not all are meant. asked: the surveys of earlier rounds.
    """

    code: AssumptionCode | PlanAssumption
    number: int | None = Field(default=None, ge=1, exclude_if=lambda number: number is None)
    questions: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)
    asked: tuple[AskedIn, ...] = Field(default=(), exclude_if=lambda asked: not asked)


UNBOUNDED: Final = "unbounded"  # in files, an epsilon of which nothing is left


def _read_epsilon(written: Any) -> Any:
    if isinstance(written, float | int) and not math.isfinite(written):
        return written if isinstance(written, float) and written == math.inf else None
    return math.inf if written == UNBOUNDED else written


def written_epsilon(epsilon: float) -> float | str:
    """Return an epsilon as files hold it: "unbounded" if nothing is left."""
    return UNBOUNDED if epsilon == math.inf else epsilon


LeftEpsilon = Annotated[
    float, BeforeValidator(_read_epsilon), Field(ge=0), PlainSerializer(written_epsilon)
]
WrittenPair = Annotated[WorstPair, PlainSerializer(WorstPair.data)]


class Guarantee(FileModel):
    """The promise to each person: by which analysis, for which crowd, on what assumptions.

    The promise is (epsilon, delta)-differential privacy of the collections as published; neighbors
    differ in one person's answers. crowd: honest people, without those who may collude.
    certified_delta: the accountant's upper bound of delta at epsilon. worst: for each kind of
    report, the pair of records (and the crowd) that attains it. proved: whether it holds for every
    collection; if not, it is not a guarantee. assumptions: that of the analysis first.
    crowd is None if the plan counts on none, since the services add all noise.
    local_epsilon: the epsilon (with delta 0) of all that a person sends if no crowd hides it;
    infinite, in files "unbounded", if nothing is left then.
    service_epsilon: if services add noise, the most that one of them learns alone, at delta.
    reduced_by: why the plan's promise does not hold for a collection; this is then what holds
    instead. mixed_by: how its reports are mixed, if they come over a network. All fields are codes
    and numbers; `incrowd.presentation.guarantee_text` has the words. Only `incrowd.guarantees`
    creates guarantees.
    """

    analysis: Annotated[AnalysisName, REGISTERED] = Field(min_length=1)
    epsilon: LeftEpsilon
    delta: Real = Field(ge=0, lt=1)
    certified_delta: Real = Field(ge=0, le=1)
    crowd: int | None = Field(ge=1)
    proved: bool
    assumptions: tuple[Assumption, ...] = Field(min_length=1)
    worst: tuple[WrittenPair, ...] = Field(min_length=1)
    local_epsilon: LeftEpsilon
    service_epsilon: LeftEpsilon | None = Field(
        default=None, exclude_if=lambda epsilon: epsilon is None
    )
    reduced_by: tuple[Reduction, ...] = Field(default=(), exclude_if=lambda reasons: not reasons)
    mixed_by: tuple[Mixing, ...] = Field(default=(), exclude_if=lambda kinds: not kinds)


def is_promised(analysis: str) -> bool:
    """Return whether the result of an analysis is a guarantee, which can be promised to people."""
    return analysis not in NOT_PROVED


def check_promised(analysis: str, path: PathPart | tuple[PathPart, ...]) -> None:
    """Raise UsageError if the result of an analysis is not a guarantee."""
    if not is_promised(analysis):
        raise UsageError.of(path, "plans.no-promise", value=analysis)


def message_problems(survey: Survey, messages: Sequence[Message]) -> Iterator[Sentence | str]:
    """Yield why messages do not follow from a survey."""
    randomized = set(survey.randomized)
    for message in messages:
        if not set(message.questions) <= randomized or len(set(message.ids)) < len(message.ids):
            yield sentence("plans.unknown-question")
            return
    yield from grouping_problems(survey, [message.group for message in messages])
    if survey.rows_per_person > 1 and any(message.by_services for message in messages):
        yield "messages.added"  # noise is added once to a count that several rows change
    for message in messages:
        yield from message.problems()


PlanCount = Annotated[int, Field(ge=0)]


class Collected(FileModel):
    """The way in which the reports of a round were collected.

    people, reports: those of each message, all that were accepted, also beyond the plan's crowd;
    empty if they were not counted, and as many came as planned. local_only: whether only the local
    guarantee holds, because the plan uses no shuffler, one party saw the reports with their
    senders, or mixing did not protect them (`exposed_by` in `incrowd.guarantees.collected`).
    bundle: for a collection over a network, a short form of the bundle's digest. tail: an upper
    bound of the probability that one person's reports did not fit into an upload and were drawn
    again.
    """

    people: tuple[PlanCount, ...] = ()
    reports: tuple[PlanCount, ...] = ()
    local_only: bool = False
    bundle: str | None = None
    tail: Real = Field(default=0.0, ge=0, lt=1)


AS_PLANNED = Collected()


class EarlierPlan(FileModel):
    """A round that people took part in before, by the plan with that digest.

    crowd: honest people whose reports were accepted, at most as many as planned; honest as this
    plan assumes (`crowd_without`). collected: how the reports were collected.
    """

    digest: str
    crowd: int = Field(ge=1)
    survey: Survey
    messages: Messages
    collected: Collected = Field(default=AS_PLANNED, exclude_if=AS_PLANNED.__eq__)

    @model_validator(mode="after")
    def _fits_its_survey(self) -> EarlierPlan:
        for problem in message_problems(self.survey, self.messages):
            raise Unfit("plans.does-not-follow", problem=problem)
        if self.crowd > self.survey.honest:
            most = self.survey.honest
            raise Unfit("plans.crowd-above-survey", crowd=self.crowd, most=most)
        counted = {len(self.collected.people), len(self.collected.reports)}
        if not counted <= {0, len(self.messages)}:
            raise Unfit("plans.missing-counts")
        return self

    @property
    def linked(self) -> bool:
        """Whether its reports count as if they carried the names of their senders."""
        return self.collected.local_only

    def crowd_without(self, colluding: int) -> int:
        """Return the honest people if so many collude, or more as this plan assumes; at least one.

        Those who collude in a later round may all have taken part in this one. Each had at most
        `rows_per_person` rows, so that each is one person fewer in `crowd`.
        """
        return max(self.crowd - max(colluding - self.survey.colluding, 0), 1)


def smallest_crowd(survey: Survey, earlier: Sequence[EarlierPlan]) -> int:
    """Return the honest people of a survey, or of an earlier round with fewer people.

    The survey's colluding people may all have taken part in an earlier round. Rounds without a
    shuffler do not count, nor do those in which services added all noise: there the crowd hides no
    one. Proof: docs/mathematics.md#the-crowd.
    """
    return min([survey.honest, *_hidden_before(survey, earlier)])


def _hidden_before(survey: Survey, earlier: Sequence[EarlierPlan]) -> Iterator[int]:
    """Yield the honest people of each earlier round in which a crowd hides people."""
    for asked in earlier:
        if not asked.linked and counts_on_crowd(asked.messages):
            yield asked.crowd_without(survey.colluding)


def counts_on_crowd(messages: Iterable[Message]) -> bool:
    """Return whether a crowd hides people in what they send: unless services add all noise."""
    return not all(message.by_services for message in messages)


def relied_crowd(
    survey: Survey, messages: Iterable[Message], earlier: Sequence[EarlierPlan] = ()
) -> int | None:
    """Return the honest people whom a guarantee counts on; None if the services add all noise, in
    earlier rounds as well."""
    if counts_on_crowd(messages):
        return smallest_crowd(survey, earlier)
    return min(_hidden_before(survey, earlier), default=None)


def service_epsilon(survey: Survey, messages: Iterable[Message]) -> float | None:
    """Return the most that a service which adds noise may learn alone; None if none does."""
    if not any(message.by_services for message in messages):
        return None
    return survey.privacy.service_epsilon or survey.privacy.epsilon


class Outline(FileModel):
    """A survey, and the messages that each person would send. Nothing is promised about them.

    A plan is an outline that was certified. Forecasts need no more than an outline. Who is invited
    is no part of it: it is not published, and the promise does not depend on it.
    """

    survey: Annotated[Survey, AfterValidator(operator.attrgetter("as_planned"))]
    messages: Messages

    @property
    def by_services(self) -> bool:
        """Whether services add noise, to the cells of some message."""
        return any(message.by_services for message in self.messages)

    @property
    def least(self) -> int:
        """The number of people that a release needs: the crowd, unless services add all noise."""
        return self.survey.crowd if counts_on_crowd(self.messages) else self.survey.least

    @property
    def own_draws(self) -> int:
        """How many times noise is added to each count if one party holds the answers.

        Once, since only readers have to be kept from subtracting it; twice if each service alone
        may learn more than the readers, who then need the noise of both.
        """
        return 1 if self.survey.privacy.service_epsilon is None else SERVICES

    def by_cells_alone(self, ids: Iterable[str]) -> bool:
        """Return whether only cells, and no joint report, contain the randomized ones of these
        questions."""
        wanted = self.survey.closed(ids)
        return bool(wanted) and all(m.cells for m in self.messages if m.holds(wanted))

    def pairs_in_cells(self, ids: Iterable[str]) -> bool:
        """Return whether cells contain every pair of two or more randomized questions."""
        pairs = list(combinations(ids, 2))
        sent = [message for message in self.messages if message.cells]
        return bool(pairs) and all(any(m.holds(pair) for m in sent) for pair in pairs)

    @property
    def message_texts(self) -> tuple[str, ...]:
        """A line on each message; its questions come first if there are several messages."""
        if len(self.messages) == 1:
            return (self.messages[0].text,)
        return tuple(
            translatable("plans.message-of", questions=[*each.ids], text=each.text)
            for each in self.messages
        )


AnyOutline = TypeVar("AnyOutline", bound=Outline)


class Plan(views.Notebook, Outline):
    """A certified plan: the survey, what every device sends, and what is promised.

    `plan` creates it, `dumps` returns the text of its file, and `load` reads the file.

    Attributes
    ----------
    survey : Survey
        What is asked.
    messages : tuple of Message
        What each person sends, with its noise and copies.
    format : str
        The format of the file.
    guarantee : Guarantee
        What is promised.
    earlier : tuple of EarlierPlan
        Earlier rounds with the same people; the guarantee covers them as well.

    Examples
    --------
    >>> from pathlib import Path
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> written = Path("plan.json").write_text(plan.dumps())
    >>> incrowd.Plan.load("plan.json") == plan
    True
    """

    layout: ClassVar[str] = "plan"
    format: Literal["incrowd plan 1"] = FORMAT
    guarantee: Guarantee
    earlier: tuple[EarlierPlan, ...] = ()
    _stated: str = PrivateAttr(default="")  # the digest, if this is a plan in other words

    @model_validator(mode="after")
    def _fits_its_survey(self) -> Plan:
        for problem in self._problems():
            raise Unfit("plans.does-not-follow", problem=problem)
        return self

    def _problems(self) -> Iterator[Sentence | str]:
        survey, promise = self.survey, self.guarantee
        wanted: dict[str, tuple[object, object]] = {
            "analysis": (promise.analysis, survey.privacy.analysis),
            "epsilon": (promise.epsilon, survey.privacy.epsilon),
            "crowd": (promise.crowd, relied_crowd(survey, self.messages, self.earlier)),
            "service_epsilon": (promise.service_epsilon, service_epsilon(survey, self.messages)),
            "reduced_by": (promise.reduced_by, ()),
            "mixed_by": (promise.mixed_by, ()),
        }
        if promise.delta:  # an analysis may promise delta = 0
            wanted["delta"] = (promise.delta, survey.privacy.delta)
        for field, (actual, right) in wanted.items():
            if actual != right:
                yield sentence("plans.guarantee-is", field=field, value=str(actual))
        yield from message_problems(survey, self.messages)

    def __repr__(self) -> str:
        promise = self.guarantee
        figures = f"epsilon={promise.epsilon:g}, delta={promise.delta:g}, {promise.analysis}"
        sent = f"messages={len(self.messages)}, digest={self.digest[:12]}…"
        crowd = "no crowd" if promise.crowd is None else f"crowd={promise.crowd:,}"
        return f"Plan({self.survey.name!r}, {figures}, {crowd}, {sent})"

    __str__ = __repr__

    @property
    def memoized(self) -> tuple[str, ...]:
        """The questions whose permanent responses need a device key."""
        return tuple(question.id for question in self.survey.randomized if question.memoized)

    @property
    def asked(self) -> EarlierPlan:
        """The plan as an earlier round, if as many people took part as planned."""
        return self.asked_of(self.survey.crowd)

    def asked_of(self, people: int, collected: Collected = AS_PLANNED) -> EarlierPlan:
        """Return this plan as an earlier round with a number of people.

        Parameters
        ----------
        people : int
            How many took part (rows, if one person has several). The crowd is at most as large as
            planned, and at least the one person herself.
        collected : Collected
            How the reports were collected; by default through a shuffler if the plan uses one.
        """
        if not self.guarantee.delta:  # the plan does not use a shuffler
            collected = collected.model_copy(update={"local_only": True})
        return EarlierPlan(
            digest=self.digest,
            crowd=max(min(self.survey.hidden(people), self.survey.honest), 1),
            survey=self.survey,
            messages=self.messages,
            collected=collected,
        )

    @property
    def canonical(self) -> str:
        """Canonical JSON (RFC 8785): equal plans have equal text."""
        return canonical(self.content)

    @property
    def content(self) -> dict[str, Any]:
        """The plan as JSON-ready data, without its digest."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal; of a plan in other words, of its own."""
        return self._stated or digest_of(self.content)

    def dumps(self) -> str:
        """Return the text of a plan file: the content and its digest, indented."""
        data = {"digest": self.digest, "plan": self.content}
        return json.dumps(data, sort_keys=True, indent=2, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str, name: str | None = None) -> Plan:
        """Read the text of a plan file.

        Parameters
        ----------
        text : str
            The content of the file.
        name : str, optional
            The name of the file, for messages.

        Raises
        ------
        PlanFileError
            If it is not a plan, or was edited after it was written.
        """
        with _FILES.parsing(name):
            data = read_json(text)
            content, digest = data["plan"], data["digest"]
            format = content["format"]
        if format != FORMAT:
            raise PlanFileError.of(
                ("plan", "format"),
                "plans.other-format",
                value=format,
                format=FORMAT,
                remedy=_FILES.remedy,
            )
        plan = cls._checked(content)
        with _FILES.parsing(name):  # a number from 2^53 on has no canonical form
            right = plan.digest
        if digest != right:
            raise PlanFileError.of(
                ("plan", "digest"),
                "plans.other-digest",
                value=FileDigest(str(digest)),
                right=right,
                remedy=_FILES.remedy,
            )
        return plan

    @classmethod
    def _checked(cls, content: object) -> Plan:
        """Return the plan with that content. Raises PlanFileError if it does not follow from a
        survey."""
        try:
            return cls.model_validate(content)
        except SurveyError as error:
            inner = error.problems
            raise PlanFileError(*(each.within("plan", "survey") for each in inner)) from None
        except ValidationError as error:
            first = error.errors()[0]
            raise PlanFileError.of(
                place("plan", first["loc"]),
                "plans.edited-plan",
                value=first["input"] if first["loc"] else sentence("plans.as-a-whole"),
                reason=wording(first),
                remedy=_FILES.remedy,
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file.

        Raises
        ------
        PlanFileError
            If the file cannot be read, is not a plan, or was edited after it was written.
        """
        if isinstance(path, str | Path) and is_of_interviews(path):
            raise PlanFileError.of("plan", "plans.of-interviews", value=str(path))
        return _FILES.load(path, cls.loads)


# Plans with merged answers: docs/estimates.md#merging-answers.


def with_merged(plan: AnyOutline, merge: Merge | None) -> AnyOutline:
    """Return the same plan, whose questions are read with merged answers.

    Everything that was promised and sent stays equal, including the digest. merge: for each
    question, groups of answers, or a name for each group. Raises UsageError for answers that cannot
    be merged.
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


def in_other_words(plan: Plan, survey: Survey) -> Plan:
    """Return a plan with the wording of a survey, for display; its digest stays the same."""
    copy = plan.model_copy(update={"survey": survey})
    copy._stated = plan.digest
    return copy
