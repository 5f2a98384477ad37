"""Questions and surveys: plain frozen data, TOML in."""

from __future__ import annotations

import difflib
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from incrowd.errors import MISSING, Problem, SurveyError

NO_ANSWER = "no answer"


class Domain(NamedTuple):
    """The records one question allows: the sets of `fewest` to `most` of `bits` options.

    One yes/no question is (1, 0, 1), a choice of c options (c, 1, 1), at most m of c (c, 0, m).
    """

    bits: int
    fewest: int
    most: int

    @property
    def distance(self) -> int:
        """The largest Hamming distance between two allowed records."""
        sizes = min(max(self.bits, 2 * self.fewest), 2 * self.most)
        return min(sizes, 2 * self.bits - sizes)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class _Question(_Frozen):
    id: str = Field(min_length=1)
    optional: bool = False

    @property
    def substantive(self) -> tuple[str, ...]:
        """The answers, "no answer" left out; each type of question has its own."""
        return ()

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer a table shows, in order; one bit each, except for a plain yes/no."""
        return self.substantive + ((NO_ANSWER,) if self.optional else ())

    @property
    def domain(self) -> Domain:
        """The allowed records; by default exactly one of the answers."""
        return Domain(len(self.answers), 1, 1)


class YesNo(_Question):
    """A yes/no question: one bit. If optional, a choice of yes, no and "no answer"."""

    type: Literal["yesno"] = "yesno"

    @property
    def substantive(self) -> tuple[str, ...]:
        """No, yes."""
        return ("no", "yes")

    @property
    def domain(self) -> Domain:
        """One free bit, or one of three."""
        return super().domain if self.optional else Domain(1, 0, 1)


class _WithOptions(_Question):
    options: tuple[str, ...] = Field(min_length=2)

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        twice = [name for name, count in Counter(options).items() if count > 1]
        if twice:
            raise ValueError(f"should name each option once; {twice[0]!r} stands there twice")
        if NO_ANSWER in options:
            raise ValueError(f"should not contain {NO_ANSWER!r}; set optional = true instead")
        return options

    @property
    def substantive(self) -> tuple[str, ...]:
        """The options as the survey names them."""
        return self.options


class Choice(_WithOptions):
    """Exactly one of c options: c bits."""

    type: Literal["choice"] = "choice"


class Multi(_WithOptions):
    """At most `at_most` of c options: c bits. If optional, "no answer" is one more option."""

    type: Literal["multi"] = "multi"
    at_most: int = Field(ge=1)

    @model_validator(mode="after")
    def _few_enough(self) -> Multi:
        if self.at_most > len(self.options):
            raise ValueError(f"at_most should be at most the {len(self.options)} options")
        return self

    @property
    def domain(self) -> Domain:
        """At most m of the answers (with "no answer" a superset of what can be sent)."""
        return Domain(len(self.answers), 0, self.at_most)


class Number(_Question):
    """A number, sorted into left-closed bins; the last bin is open. Then exactly one bin."""

    type: Literal["number"] = "number"
    edges: tuple[FiniteFloat, ...] = Field(min_length=2)

    @field_validator("edges")
    @classmethod
    def _rising(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if any(b <= a for a, b in pairwise(edges)):
            raise ValueError("should rise from each edge to the next, as in [0, 1, 3]")
        return edges

    @property
    def substantive(self) -> tuple[str, ...]:
        """The bins: "0 to <1", ..., "12 or more"."""
        shown = [format(edge, ".12g") for edge in self.edges]
        bins = (f"{a} to <{b}" for a, b in pairwise(shown))
        return (*bins, f"{shown[-1]} or more")


Question = Annotated[YesNo | Choice | Multi | Number, Field(discriminator="type")]


class Privacy(_Frozen):
    """The wanted guarantee. `delta` is not used by the analysis `local`.

    `blanket` is a guarantee for every collection in which enough honest people take part;
    `outlier` is the papers' analysis, exact for homogeneous crowds and no guarantee.
    """

    epsilon: FiniteFloat = Field(gt=0)
    delta: FiniteFloat = Field(default=1e-6, gt=0, lt=1)
    analysis: Literal["blanket", "outlier", "local"] = "blanket"


class Table(_Frozen):
    """A wanted joint table of some questions."""

    questions: tuple[str, ...] = Field(min_length=1)


class Survey(_Frozen):
    """The questions, the crowd, the wanted guarantee and the wanted tables.

    colluding: people of the crowd who are assumed to work with the analyst; they hide nobody.
    """

    name: str = Field(min_length=1)
    crowd: int = Field(ge=2)
    colluding: int = Field(default=0, ge=0)
    copies: int = Field(default=1, ge=1, le=10_000)
    privacy: Privacy
    questions: tuple[Question, ...] = Field(alias="question", min_length=1)
    tables: tuple[Table, ...] = Field(alias="table", default=())

    @model_validator(mode="after")
    def _consistent(self) -> Survey:
        problems = tuple(_cross_problems(self.model_dump(by_alias=True)))
        if problems:
            raise SurveyError(*problems)
        return self

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey from a TOML file.

        Raises SurveyError with every mistake in the file at once.
        """
        try:
            raw = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise SurveyError.of(
                "survey", str(path), f"{error.strerror}; name a TOML file"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SurveyError.of("survey", str(path), f"is not TOML: {error}") from None
        return cls.of(raw)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Survey:
        """Make a survey of a mapping with the keys of the TOML file.

        Raises SurveyError with every mistake at once.
        """
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            problems = [_problem(e) for e in error.errors() if not _echo(e)]
            raise SurveyError(*problems, *_cross_problems(raw)) from None

    def question(self, id: str) -> YesNo | Choice | Multi | Number:
        """The question of that id. Raises KeyError."""
        return {q.id: q for q in self.questions}[id]

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """The tables to show: one-way tables first, in the order of the questions."""
        one_way = tuple((q.id,) for q in self.questions)
        return one_way + tuple(t.questions for t in self.tables if t.questions not in one_way)


def _cross_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong between the parts of a survey; silent on what is not even of the right kind."""
    questions = _mappings(raw.get("question"))
    ids = Counter(q["id"] for q in questions if isinstance(q.get("id"), str))
    for id, count in ids.items():
        if count > 1:
            yield Problem("question.id", id, f"stands {count} times; give each question its own id")
    crowd, colluding = raw.get("crowd"), raw.get("colluding", 0)
    if isinstance(crowd, int) and isinstance(colluding, int) and crowd >= 2 > crowd - colluding:
        yield Problem("colluding", colluding, "should leave at least 2 honest people of the crowd")
    for number, table in enumerate(_mappings(raw.get("table")), 1):
        names = table.get("questions")
        names = list(names) if isinstance(names, list | tuple) else []
        field = f"table[{number}].questions"
        for name in names:
            if name not in ids:
                yield Problem(field, name, f"names no question; use some of {', '.join(ids)}")
        if len(set(map(str, names))) < len(names):
            yield Problem(field, names, "names a question twice; name each once")


def _mappings(value: object) -> list[Mapping[str, Any]]:
    items = value if isinstance(value, list | tuple) else []
    return [item for item in items if isinstance(item, Mapping)]


def _echo(error: Any) -> bool:
    """Whether pydantic calls a list too short only because its items are wrong."""
    too_short = error["type"] == "too_short"
    return too_short and bool(len(error["input"]) >= error["ctx"]["min_length"])


def _problem(error: Any) -> Problem:
    """One pydantic error in our words."""
    if isinstance(inner := error.get("ctx", {}).get("error"), SurveyError):
        return inner.problems[0]
    field, value, message = _field(error["loc"]), error["input"], error["msg"]
    if error["type"] == "missing":
        return Problem(field, MISSING, "this key is needed")
    if error["type"] == "extra_forbidden":
        return Problem(field, value, f"is an unknown key here; {_keys(error['loc'])}")
    if error["type"] == "union_tag_not_found":
        return Problem(f"{field}.type", MISSING, "use one of yesno, choice, multi, number")
    if error["type"] == "union_tag_invalid":
        kind = value.get("type")
        return Problem(f"{field}.type", kind, "use one of yesno, choice, multi, number")
    if error["type"] == "too_short":
        return Problem(field, value, f"should have at least {error['ctx']['min_length']} entries")
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return Problem(field, value, text)


_TYPES: dict[str, type[_Question]] = {
    "yesno": YesNo,
    "choice": Choice,
    "multi": Multi,
    "number": Number,
}


def _field(location: tuple[str | int, ...]) -> str:
    """("question", 1, "choice", "options") as question[2].options."""
    tagless = [
        part
        for place, part in enumerate(location)
        if not (place == 2 and location[0] == "question" and part in _TYPES)
    ]
    text = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in tagless)
    return text.removeprefix(".")


def _keys(location: tuple[str | int, ...]) -> str:
    """The keys that would be known at that place, the likeliest first."""
    model: type[BaseModel] = Survey
    if location[0] == "question":
        model = _TYPES[str(location[2])]
    elif len(location) > 1:
        model = Privacy if location[0] == "privacy" else Table
    keys = [field.alias or name for name, field in model.model_fields.items()]
    likely = difflib.get_close_matches(str(location[-1]), keys, n=1)
    hint = f"did you mean {likely[0]}? " if likely else ""
    return f"{hint}known are {', '.join(sorted(keys))}"
