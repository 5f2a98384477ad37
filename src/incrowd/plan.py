"""Plans: everything a client must do and an analyst may conclude. Canonical JSON with a digest."""

from __future__ import annotations

import hashlib
import json
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import MISSING, PlanError
from incrowd.survey import Survey


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Frozen):
    """The questions that travel together in one report, and the noise on each of their bits."""

    questions: tuple[str, ...] = Field(min_length=1)
    noise_numerator: int = Field(gt=0, lt=DENOMINATOR // 2)
    copies: int = Field(ge=1)

    @property
    def channel(self) -> BitFlip:
        """What happens to each bit."""
        return BitFlip(self.noise_numerator)


class Guarantee(_Frozen):
    """What is promised to each person, by which analysis, for which crowd, on what assumption.

    The promise is (epsilon, delta)-differential privacy of the collections as published,
    neighbours differing in one person's answers. crowd: honest people, those who may collude
    taken off. certified_delta: the upper bound that the accountant found at epsilon. worst: the
    pair of records (and the crowd) that gave it. proved: whether it holds for every collection;
    if not, it is no guarantee, and the assumption says what it is.
    """

    analysis: Literal["blanket", "outlier", "local"]
    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    certified_delta: float = Field(ge=0, le=1)
    crowd: int = Field(ge=1)
    proved: bool
    assumption: str
    worst: str


class Plan(_Frozen):
    """Survey, messages and guarantee."""

    format: Literal["incrowd plan 1"] = "incrowd plan 1"
    survey: Survey
    messages: tuple[Message, ...] = Field(min_length=1)
    guarantee: Guarantee

    @model_validator(mode="after")
    def _fits_its_survey(self) -> Plan:
        survey, promise = self.survey, self.guarantee
        wanted = {
            "guarantee.analysis": (promise.analysis, survey.privacy.analysis),
            "guarantee.epsilon": (promise.epsilon, survey.privacy.epsilon),
            "guarantee.crowd": (promise.crowd, survey.crowd - survey.colluding),
            "guarantee.proved": (promise.proved, promise.analysis != "outlier"),
            "messages": (
                [(set(m.questions), len(m.questions), m.copies) for m in self.messages],
                [({q.id for q in survey.questions}, len(survey.questions), survey.copies)],
            ),
        }
        if promise.analysis != "local":
            wanted["guarantee.delta"] = (promise.delta, survey.privacy.delta)
        for field, (found, right) in wanted.items():
            if found != right:
                raise ValueError(f"{field} does not follow from the survey")
        return self

    def layout(self, message: Message) -> dict[str, slice]:
        """Which bits of the message's reports hold which question."""
        ends = list(accumulate(self.survey.question(id).domain.bits for id in message.questions))
        return dict(zip(message.questions, map(slice, [0, *ends], ends), strict=False))

    def bits(self, message: Message) -> int:
        """The number of bits in one report of the message."""
        return sum(self.survey.question(id).domain.bits for id in message.questions)

    @property
    def canonical(self) -> str:
        """JSON with sorted keys, no white space and shortest floats: equal plans, equal text."""
        return json.dumps(self.content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def content(self) -> dict[str, Any]:
        """The plan as JSON-ready data, without its digest."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def dumps(self) -> str:
        """The text of a plan file: the content and its digest, indented for people."""
        data = {"digest": self.digest, "plan": self.content}
        return json.dumps(data, sort_keys=True, indent=2, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str, name: str = "plan") -> Plan:
        """Read the text of a plan file.

        Raises PlanError if it is no plan, or if it was changed after it was made.
        """
        try:
            data = json.loads(text)
            plan = cls.model_validate(data["plan"])
            digest = data["digest"]
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, ("plan", *first["loc"])))
            raise PlanError.of(field, first["input"], f"{first['msg']}; {_REMAKE}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise PlanError.of(name, MISSING, f"this file holds no plan; {_REMAKE}") from None
        if digest != plan.digest:
            raise PlanError.of(
                f"{name}.digest", digest, f"does not fit the content ({plan.digest}): {_EDITED}"
            )
        return plan

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file. Raises PlanError if there is none or it was changed."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise PlanError.of("plan", str(path), f"{error.strerror}; {_REMAKE}") from None
        except UnicodeDecodeError:
            raise PlanError.of("plan", str(path), f"is not a plan; {_REMAKE}") from None
        return cls.loads(text, str(path))


_REMAKE = "make one with `incrowd plan SURVEY -o plan.json`"
_EDITED = f"it was edited after it was made. Edit the survey and {_REMAKE}"
