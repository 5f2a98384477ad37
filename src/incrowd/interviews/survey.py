"""Surveys whose answers a device in the person's hand randomizes, during an interview. TOML in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, SerializeAsAny, ValidationError, field_validator

from incrowd.catalog.sentences import Sentence, likely, sentence, translatable
from incrowd.errors import Of, PathPart, Problem, SurveyError, UsageError
from incrowd.interviews.designs import (
    DESIGNS,
    REPORT_TEXTS,
    ItemDesign,
    ResponseDesign,
    design_of,
)
from incrowd.interviews.devices import DEVICES, HandDevice
from incrowd.interviews.procedures import procedure
from incrowd.survey import AnyQuestion, Codes, Survey
from incrowd.survey.codes import code_text, with_codes
from incrowd.survey.options_files import KEY as OPTIONS_FILE
from incrowd.survey.options_files import with_options
from incrowd.survey.problems import mistakes
from incrowd.survey.questions import Question, type_of
from incrowd.survey.reasons import known_keys, wording
from incrowd.survey.surveys import INTERVIEWS as DEVICE
from incrowd.survey.toml import Frozen, Mistake, Real, read_toml
from incrowd.survey.words import (
    LANGUAGE,
    Tag,
    hidden_problems,
    in_language,
    with_labels,
    word_problems,
)

_CODE_KEYS = ("values", "missing", "column")
_DESIGN_KEYS = ("design", "designs", "truth")
_WORDING_KEYS = ("id", "type", "text", "help", "labels")


def device_of(raw: Any) -> HandDevice:
    """Return the device in a table of a survey. Raises ValidationError or Mistake."""
    if isinstance(raw, HandDevice):
        return raw
    kind = raw.get("kind") if isinstance(raw, Mapping) else None
    if not isinstance(kind, str) or kind not in DEVICES:
        if kind is None:
            raise Mistake("kind", "survey.no-type", types=list(DEVICES))
        raise Mistake("kind", "shared.use-one-of", value=kind, choices=list(DEVICES))
    return DEVICES[kind].model_validate(raw)


def _codes(values: Any) -> Any:
    """Return codes as text; numbers in TOML become text."""
    return tuple(map(code_text, values)) if isinstance(values, list | tuple) else values


class InterviewColumns(Frozen):
    """The names of columns in files of answers.

    weight: of survey weights. cluster: of what was drawn together, such as a village. group: of the
    group, if the survey has groups. missing: codes for a missing value, in every column. factors:
    columns of codes that are names, not numbers. numbers: columns that are numbers although all
    their codes have labels.
    """

    weight: str | None = Field(default=None, strict=True)
    cluster: str | None = Field(default=None, strict=True)
    group: str | None = Field(default=None, strict=True)
    missing: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @field_validator("missing", mode="before")
    @classmethod
    def _as_text(cls, missing: Any) -> Any:
        return _codes(missing)

    @property
    def named(self) -> dict[str, str]:
        """The columns that the survey names, by their keys."""
        stated = {"weight": self.weight, "cluster": self.cluster, "group": self.group}
        return {key: name for key, name in stated.items() if name is not None}


class InterviewGroups(Frozen):
    """Groups of interviews with different probabilities. codes: in the column of groups."""

    codes: tuple[str, ...] = Field(min_length=2)

    @field_validator("codes", mode="before")
    @classmethod
    def _as_text(cls, codes: Any) -> Any:
        return _codes(codes)


class InterviewAim(Frozen):
    """What the survey is meant to find out, for planning.

    people: the number of interviews. margin: half the width of the interval. share: the expected
    share. difference: between two groups. power: the probability of finding it. level: of
    intervals and tests. epsilon: the largest local epsilon.
    """

    people: int | None = Field(default=None, ge=1, strict=True)
    margin: Real | None = Field(default=None, gt=0, lt=1)
    share: Real | None = Field(default=None, ge=0, le=1)
    difference: Real | None = Field(default=None, gt=0, lt=1)
    power: Real | None = Field(default=None, gt=0, lt=1)
    level: Real | None = Field(default=None, gt=0, lt=1)
    epsilon: Real | None = Field(default=None, gt=0)


class WrittenInterviews(Frozen):
    """The fields of a survey of interviews, without the designs of its questions."""

    name: str = Field(min_length=1)
    language: Tag = LANGUAGE
    device: Annotated[SerializeAsAny[HandDevice], PlainValidator(device_of)]
    columns: InterviewColumns = InterviewColumns()
    groups: InterviewGroups | None = None
    aim: InterviewAim = InterviewAim()
    questions: tuple[Question, ...] = Field(alias="question", min_length=1)
    codes: tuple[Codes, ...] = ()


@dataclass(frozen=True)
class InterviewItem:
    """A question of an interview, and how its answers are randomized.

    design: one design for each group. codes: in files of answers. truth: the answer that is true
    for everybody, of an anchor question.
    """

    question: AnyQuestion
    design: ItemDesign
    codes: Codes
    truth: str | None = None

    @property
    def id(self) -> str:
        """The id of the question."""
        return self.question.id

    @property
    def drawn(self) -> tuple[str, ...]:
        """The names of the reports of one draw, in all groups."""
        names = (design.drawn_reports(self.design.answers) for design in self.design.designs)
        return tuple(dict.fromkeys(chain.from_iterable(names)))


@dataclass(frozen=True)
class InterviewSurvey:
    """A survey of interviews in which a device in the person's hand randomizes the answers.

    Use `load` or `of` to create it: both list every mistake at once.

    Attributes
    ----------
    name : str
        Its name.
    language : str
        Of texts that have only one language.
    device : HandDevice
        The die, spinner, cards, coin, or birthday.
    columns : InterviewColumns
        The names of columns in files of answers.
    groups : tuple of str
        The codes of groups of interviews with different probabilities; () if there are none.
    aim : InterviewAim
        What the survey is meant to find out, for planning.
    items : tuple of InterviewItem
        The questions with their designs.
    content : mapping
        The survey as it was written.
    shown_in : str
        The language of labels in results; "" for that of the survey.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> survey.item("smokes").design.ratio
    Fraction(5, 1)
    """

    name: str
    language: str
    device: HandDevice
    columns: InterviewColumns
    groups: tuple[str, ...]
    aim: InterviewAim
    items: tuple[InterviewItem, ...]
    content: Mapping[str, Any] = field(repr=False, compare=False)
    shown_in: str = field(default="", repr=False, compare=False)

    def __repr__(self) -> str:
        asked = ", ".join(each.id for each in self.items)
        return f"InterviewSurvey({self.name!r}, device={self.device.kind!r}, questions: {asked})"

    @classmethod
    def load(cls, path: str | Path) -> InterviewSurvey:
        """Read a survey from a TOML file.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        SurveyError
            With every mistake in the file at once.
        """
        filled, missing = with_options(read_toml(path), Path(path).parent)
        try:
            return cls.of(filled)
        except SurveyError as error:  # a question without its options has lost its design, too
            unread = {each.path[-1] for each in missing}
            others = (each for each in error.problems if each.path[-1] not in unread)
            raise SurveyError(*missing, *others) from None

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> InterviewSurvey:
        """Create a survey from data.

        Parameters
        ----------
        raw : mapping
            With the keys of a TOML file.

        Raises
        ------
        SurveyError
            With every mistake at once.
        """
        if not isinstance(raw, Mapping) or DEVICE not in raw:
            raise SurveyError.of(DEVICE, "interviews.no-device", kinds=list(DEVICES))
        asked, problems = _with_known_keys(raw)
        plain = {**asked, "question": [_without_design(each) for each in _questions(asked)]}
        filled = with_labels(with_codes(plain if _questions(asked) else asked))
        problems += [*_id_problems(asked), *hidden_problems(raw)]
        designs, wrong = _designs(asked)
        try:
            written = WrittenInterviews.model_validate(filled)
        except ValidationError as error:
            others = mistakes(error, filled, WrittenInterviews, _parts(raw))
            raise SurveyError(*problems, *others, *wrong) from None
        problems += [*wrong, *_cross_problems(written)]
        if problems:
            raise SurveyError(*problems)
        codes = {each.question: each for each in written.codes}
        items = tuple(
            InterviewItem(
                question,
                design,
                codes.get(question.id, Codes(question=question.id)),
                table.get("truth"),
            )
            for question, design, table in zip(
                written.questions, designs, _questions(asked), strict=True
            )
        )
        problems += [*_shared_problems(written.device, items), *_code_problems(items)]
        if problems:
            raise SurveyError(*problems)
        return cls(
            name=written.name,
            language=written.language,
            device=written.device,
            columns=written.columns,
            groups=written.groups.codes if written.groups else (),
            aim=written.aim,
            items=items,
            content=raw,
        )

    def dumps(self) -> str:
        """Return the survey as JSON, which `of` reads after `json.loads`."""
        return json.dumps(self.content, default=str, ensure_ascii=False)

    @property
    def questions(self) -> tuple[AnyQuestion, ...]:
        """The questions."""
        return tuple(each.question for each in self.items)

    def item(self, id: str) -> InterviewItem:
        """Return the question with an id, and its designs.

        Parameters
        ----------
        id : str
            The id of the question.

        Raises
        ------
        UsageError
            If there is no such question.
        """
        ids = [each.id for each in self.items]
        if id not in ids:
            raise UsageError.of(
                "question", "interviews.no-such-question", value=id, hint=likely(id, ids), ids=ids
            )
        return self.items[ids.index(id)]

    def text_of(self, id: str, language: str = "") -> str:
        """Return the wording of a question, in the language of results or another; or its id."""
        return self._in_language(self.item(id).question.text, language) or id

    def label_of(self, id: str, answer: str, language: str = "") -> str:
        """Return the label of an answer or of a report, or what it is called without one."""
        question = self.item(id).question
        label = self._in_language((question.labels or {}).get(answer), language)
        return label or report_text(question, answer)

    def _in_language(self, words: str | dict[str, str] | None, language: str) -> str:
        chosen = language or self.shown_in or self.language
        return in_language(words, chosen, self.language) if words else ""


def report_text(question: AnyQuestion, report: str) -> str:
    """Return what a report is called without a label; designs and yes/no questions have names that
    can be translated."""
    named = report in REPORT_TEXTS and report not in question.choices
    return translatable(REPORT_TEXTS[report]) if named else question.spoken(report)


# --- reading and checking ---------------------------------------------------------------------


def _questions(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the raw tables of questions; none if they are not tables."""
    questions = raw.get("question")
    tables = isinstance(questions, list | tuple) and all(isinstance(q, Mapping) for q in questions)
    return list(questions) if tables and questions else []


def _place(question: Mapping[str, Any], number: int, *keys: PathPart) -> tuple[PathPart, ...]:
    """Return the path of a key of a question."""
    id = question.get("id")
    of = (Of(id),) if isinstance(id, str) and id else ()
    return ("question", *(keys if of else (number, *keys)), *of)


def _with_known_keys(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Return a raw survey without the keys that only other surveys have, and a problem for each."""
    problems = []
    others = {field.alias or name for name, field in Survey.model_fields.items()}
    others -= {field.alias or name for name, field in WrittenInterviews.model_fields.items()}
    for key in others & raw.keys():
        problems.append(Problem(key, "interviews.key-of-others", device=DEVICE))
    rest = {key: value for key, value in raw.items() if key not in others}
    if asked := _questions(raw):
        rest["question"] = []
        for number, question in enumerate(asked):
            keys = _keys_of(question)
            unknown = [key for key in question if keys and key not in keys]
            for key in unknown:
                path, elsewhere = _place(question, number, key), _is_of_others(key)
                hint = known_keys(key, keys)
                problems.append(
                    Problem(path, "interviews.key-of-others", device=DEVICE)
                    if elsewhere
                    else Problem(path, "survey.unknown-key", value=question[key], hint=hint)
                )
            rest["question"].append({k: v for k, v in question.items() if k not in unknown})
    return rest, problems


def _keys_of(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that a question may have; () if its type is unknown."""
    kind = type_of(question)
    if kind is None:
        return ()
    options = (OPTIONS_FILE,) if "options" in kind.own_keys() else ()
    return (*_WORDING_KEYS, *kind.own_keys(), *options, *_CODE_KEYS, *_DESIGN_KEYS)


def _is_of_others(key: str) -> bool:
    """Return whether questions of other surveys have a key."""
    fields = AnyQuestion.model_fields.items()
    return key in {field.alias or name for name, field in fields}


def _without_design(question: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in question.items() if key not in _DESIGN_KEYS}


def _parts(raw: Mapping[str, Any]) -> dict[str, type[Frozen]]:
    """Return the models of the parts of a survey, by their keys."""
    device = raw.get(DEVICE)
    kind = device.get("kind") if isinstance(device, Mapping) else None
    model = DEVICES.get(kind, HandDevice) if isinstance(kind, str) else HandDevice
    return {
        DEVICE: model,
        "columns": InterviewColumns,
        "groups": InterviewGroups,
        "aim": InterviewAim,
        "codes": Codes,
    }


def _designs(raw: Mapping[str, Any]) -> tuple[list[ItemDesign], list[Problem]]:
    """Return the designs of all questions, and what is wrong with them."""
    groups = raw.get("groups")
    codes = groups.get("codes") if isinstance(groups, Mapping) else ()
    number = len(codes) if isinstance(codes, list | tuple) else 0
    try:
        device = device_of(raw[DEVICE])
    except (ValidationError, Mistake):  # listed where the survey is validated
        device = None
    designs: list[ItemDesign] = []
    problems: list[Problem] = []
    for place, question in enumerate(_questions(raw)):
        try:
            designs.append(_item_design(question, place, number, device))
        except SurveyError as error:
            problems += error.problems
    return designs, problems


def _item_design(
    raw: Mapping[str, Any], place: int, groups: int, device: HandDevice | None
) -> ItemDesign:
    """Return the designs of a question, one for each group. Raises SurveyError."""
    designs: list[ResponseDesign] = []
    # By the path: a design that serves all groups has each problem once.
    problems: dict[tuple[PathPart, ...], Sentence] = {}
    written = _written_designs(raw, place, groups)
    for keys, each in written:
        try:
            designs.append(design_of(each))
        except ValidationError as error:
            for path, message in _mistakes_in(error, each):
                problems[*keys, *path] = message
        except Mistake as mistake:
            problems[*keys, *mistake.path] = mistake.message
    kind = type_of(raw)
    question = kind.without_wording(raw) if kind else None
    if question is not None and not problems:
        item = ItemDesign(question.choices, tuple(designs))
        for unfit in item.problems():
            group, *rest = unfit.path
            problems[*written[int(str(group))][0], *rest] = unfit.message
        for (keys, _), design in zip(written, designs, strict=True):
            if device and not problems and (why := unrealizable(device, design, item.answers)):
                problems[*keys, *why.path] = why.message
        if not problems:
            _check_truth(raw, place, question)
            return item
    raise SurveyError(*(Problem(_place(raw, place, *at), why) for at, why in problems.items()))


def _written_designs(
    raw: Mapping[str, Any], place: int, groups: int
) -> list[tuple[tuple[PathPart, ...], Any]]:
    """Return the raw design of each group, with its path. Raises SurveyError."""
    kind = type_of(raw)
    if kind and not (kind.exclusive and kind.named and not kind.of_numbers):
        raise SurveyError.of(_place(raw, place, "type"), "interviews.no-choice", value=raw["type"])
    one, several = raw.get("design"), raw.get("designs")
    if (one is None) == (several is None):
        kinds = list(DESIGNS)
        raise SurveyError.of(_place(raw, place, "design"), "interviews.one-design", kinds=kinds)
    if several is None:
        return [(("design",), one)] * max(1, groups)
    path = _place(raw, place, "designs")
    if not groups:
        raise SurveyError.of(path, "interviews.no-groups")
    if not isinstance(several, list | tuple) or len(several) != groups:
        raise SurveyError.of(path, "interviews.number-of-designs", value=several, groups=groups)
    return [(("designs", number), each) for number, each in enumerate(several)]


def _mistakes_in(
    error: ValidationError, raw: Any
) -> Iterator[tuple[tuple[PathPart, ...], Sentence]]:
    """Yield the places and messages of what pydantic finds in a design."""
    for each in error.errors():
        path, value, inner = each["loc"], each["input"], each.get("ctx", {}).get("error")
        if isinstance(inner, Mistake):
            yield (*path, *inner.path), inner.message
        elif each["type"] == "missing":
            yield path, sentence("survey.missing-key")
        elif each["type"] == "extra_forbidden":
            hint = known_keys(str(path[-1]), DESIGNS[raw["kind"]].model_fields)
            yield path, sentence("survey.unknown-key", value=value, hint=hint)
        else:
            yield path, sentence("survey.unfit", value=value, reason=wording(each))


def unrealizable(
    device: HandDevice, design: ResponseDesign, answers: Sequence[str]
) -> Problem | None:
    """Return why a device cannot carry out a design; None if it can.

    A birthday is the same at each repetition. The share of people for whom a statement holds is a
    fact, unless the device is its subject.
    """
    if device.personal and design.repeats > 1:
        repeated = {"value": design.repeats, "kind": device.kind}
        return Problem("repeats", "interviews.not-redrawn", **repeated)
    has_statement = "statement" in type(design).model_fields
    if has_statement and (statement_of(design) or not device.personal):
        return None
    for step in (step for true in range(len(answers)) for step in design.steps(answers, true)):
        if not device.realizes(step.probability):
            below, above = map(str, device.nearest(step.probability))
            return Problem(
                (),
                "interviews.not-realized",
                value=str(step.probability),
                kind=device.kind,
                outcomes=device.outcomes,
                below=below,
                above=above,
            )
    return None


def statement_of(design: ResponseDesign) -> Any:
    """Return the wording of the statement or question of a design that is not sensitive, if it is
    stated."""
    return getattr(design, "statement", None) or getattr(design, "question", None)


def _check_truth(raw: Mapping[str, Any], place: int, question: AnyQuestion) -> None:
    """Raise SurveyError if the answer that is true for everybody is not an answer."""
    truth, answers = raw.get("truth"), question.choices
    if truth is not None and truth not in answers:
        path = _place(raw, place, "truth")
        raise SurveyError.of(path, "interviews.no-answer", value=truth, answers=answers)


def _id_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield ids that several questions have."""
    for id, count in Counter(str(each.get("id")) for each in _questions(raw)).items():
        if count > 1:
            yield Problem(("question", "id"), "survey.same-id", value=id, count=count)


def _cross_problems(written: WrittenInterviews) -> Iterator[Problem]:
    """Yield mistakes between the parts of a survey."""
    ids = {question.id for question in written.questions}
    for question in written.questions:
        yield from word_problems(question, written.language)
    for key, name in written.columns.named.items():
        if name in ids:
            yield Problem(("columns", key), "interviews.column-of-question", value=name)
    if written.groups and written.columns.group is None:
        codes = written.groups.codes
        yield Problem("columns", "interviews.no-group-column", codes=codes)
    if written.columns.group and not written.groups:
        yield Problem("groups", "interviews.no-group-codes", value=written.columns.group)
    twice = [c for c, n in Counter(written.groups.codes if written.groups else ()).items() if n > 1]
    if twice:
        yield Problem(("groups", "codes"), "interviews.code-twice", value=twice[0])


def _shared_problems(device: HandDevice, items: Sequence[InterviewItem]) -> Iterator[Problem]:
    """Yield questions whose answers would share their randomization, or reveal it.

    A birthday does not change between two questions, and neither does the answer to an unrelated
    question: with the same one, the reports of a person are not independent given her answers. If
    the survey asks that question as well, what people say to it reveals what decided.
    """
    facts = [_facts(device, item) for item in items]
    asked = [_texts(item.question.text) for item in items]
    for place, item in enumerate(items):
        path = ("question", "design", Of(item.id))
        for other in range(place):
            if facts[place] & facts[other]:
                yield Problem(path, "interviews.same-statement", other=items[other].id)
        for other, texts in enumerate(asked):
            if facts[place] & texts:
                yield Problem(path, "interviews.statement-asked", other=items[other].id)


def _facts(device: HandDevice, item: InterviewItem) -> set[str]:
    """Return what decides about the reports to a question and does not change; "" for a birthday,
    and for what is not stated."""
    facts: set[str] = set()
    for design in item.design.designs:
        each = procedure(design, device, item.design.answers)
        if each.has_fact:
            facts |= _texts(statement_of(design)) or {""}
            facts |= {""} if device.personal and each.uses_device else set()
    return facts


def _texts(words: str | Mapping[str, str] | None) -> set[str]:
    """Return a text in all its languages, without differences of spaces and capitals."""
    texts = () if not words else (words,) if isinstance(words, str) else tuple(words.values())
    return {" ".join(text.casefold().split()) for text in texts} - {""}


def _code_problems(items: Sequence[InterviewItem]) -> Iterator[Problem]:
    """Yield codes in files of answers that stand for no report."""
    for item in items:
        names = item.drawn
        for code, report in item.codes.values.items():
            if report not in names:
                path, given = ("values", Of(item.id)), {"code": code, "answer": report}
                yield Problem(path, "survey.code-of-no-answer", **given, answers=names)
        for code in item.codes.missing:
            if code in item.codes.values or code in names:
                path = ("missing", Of(item.id))
                yield Problem(path, "survey.missing-and-answer", value=code)
