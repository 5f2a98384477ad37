"""The bundle: everything that device, shuffler and collector agree on, under one digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Final, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from incrowd.characters import hidden, texts
from incrowd.collection.protocol.addresses import checked_address
from incrowd.collection.protocol.plaintext import Shape
from incrowd.collection.protocol.sealed import KeyConfiguration, sealed_length
from incrowd.errors import IncrowdError, InWords, ProtocolError
from incrowd.plans import Plan
from incrowd.plans.digests import canonical, read_json
from incrowd.plans.message import place
from incrowd.plans.plan import FORMAT as PLAN_FORMAT
from incrowd.plans.slots import slots
from incrowd.plans.strata import strata
from incrowd.survey.wording import wording
from incrowd.survey.words import VISIBLE

FORMAT: Final = "incrowd bundle 1"
MOST_BYTES = 1 << 24
MOST_STRATA = 1 << 16
MOST_SLOTS = 1 << 16
TIME = "%Y-%m-%dT%H:%M:%SZ"
DIGEST_BYTES = 32
SIGNER_BYTES = 32  # of an Ed25519 key


def least_reserve(crowd: int) -> int:
    """Return the least reserve: 1% of the crowd, at least 20, so that a few may send garbage."""
    return max(20, -(-crowd // 100))


def as_time(text: str) -> datetime:
    """Parse a UTC time such as "2026-11-22T08:00:00Z". Raises ValueError for other text."""
    try:
        time = datetime.strptime(text, TIME).replace(tzinfo=UTC)
    except ValueError:
        time = None
    if not time or time.strftime(TIME) != text:
        raise ValueError("should be a time written as 2026-11-22T08:00:00Z")
    return time


def _time(text: str) -> str:
    as_time(text)
    return text


def _bytes(text: str) -> bytes:
    """Parse lowercase hexadecimal digits. Raises ValueError for other text."""
    if not re.fullmatch("([0-9a-f]{2})*", text):
        raise ValueError("should be hexadecimal digits in lower case, two for each byte")
    return bytes.fromhex(text)


def _key_configuration(text: str) -> str:
    KeyConfiguration.parse(_bytes(text))
    return text


def _shuffler_key(text: str) -> str:
    if len(_bytes(text)) != SIGNER_BYTES:
        raise ValueError(f"should be an Ed25519 key of {SIGNER_BYTES} bytes")
    return text


Name = Annotated[str, Field(min_length=1, max_length=200)]
Time = Annotated[str, AfterValidator(_time)]
Address = Annotated[str, AfterValidator(checked_address)]


Check = tuple[bool, str, object, str]  # passed, field, value, what would be allowed


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wording(_Frozen):
    """The texts that people read. language: a BCP 47 tag. questions: their texts by id."""

    language: str = Field(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=35)
    title: Name
    introduction: str = ""
    questions: dict[str, Annotated[str, Field(min_length=1)]]


class Addresses(_Frozen):
    """The addresses for uploads (shuffler) and for releases (collector)."""

    shuffler: Address
    collector: Address


class Bundle(_Frozen):
    """Everything about one collection: one key, one period, one release for each stratum.

    opens, closes, disposes: when uploads are accepted, and when strata that are too small are
    deleted; UTC. wanted: number of uploads at which a stratum may be released before closing, or
    None. strata: their names; a stratum's number is its index. small_strata: whether strata with
    too few uploads are deleted, or merged into one release if they are enough together. codes:
    whether an upload needs an invitation. colluding: as in the plan, repeated here because an open
    survey depends on it. reserve: uploads beyond the plan's crowd that a release needs. local_only:
    whether shuffler and collector are the same party, so that only the local guarantee holds.
    slots: places in an upload for the reports of each pool of messages (`incrowd.plans.slots`).
    Keys are in hexadecimal.

    Everything that follows from the plan is checked against it: the slots and, if the survey has
    open questions, the strata and small_strata.
    """

    format: Literal["incrowd bundle 1"] = FORMAT
    plan: Plan
    wording: Wording
    period: Name
    opens: Time
    closes: Time
    disposes: Time
    wanted: int | None
    strata: tuple[Name, ...] = Field(min_length=1, max_length=MOST_STRATA)
    small_strata: Literal["delete", "merge"]
    codes: bool
    colluding: int
    reserve: int
    local_only: bool
    slots: tuple[int, ...]
    key_configuration: Annotated[str, AfterValidator(_key_configuration)]
    shuffler_key: Annotated[str, AfterValidator(_shuffler_key)]
    addresses: Addresses

    @model_validator(mode="after")
    def _consistent(self) -> Bundle:
        for holds, field, value, allowed in chain(self._about_the_plan(), self._about_itself()):
            if not holds:
                raise ProtocolError.of(f"bundle.{field}", value, allowed)
        return self

    def _about_the_plan(self) -> Iterator[Check]:
        plan, survey = self.plan, self.plan.survey
        rows, ids = survey.rows_per_person, {question.id for question in survey.questions}
        yield (
            plan.format == PLAN_FORMAT,
            "plan.format",
            plan.format,
            "make the plan again with this version",
        )
        yield (
            rows == 1,
            "plan.survey.rows_per_person",
            rows,
            "should be 1, since a device sends one row",
        )
        stated = ", ".join(sorted(self.wording.questions))
        allowed = f"should be the survey's: {', '.join(sorted(ids))}"
        yield set(self.wording.questions) == ids, "wording.questions", stated, allowed
        allowed = f"should be {survey.colluding}, as in the plan"
        yield self.colluding == survey.colluding, "colluding", self.colluding, allowed
        least = least_reserve(survey.crowd)
        yield self.reserve >= least, "reserve", self.reserve, f"should be at least {least:,}"
        sent = sum(message.reports_each for message in plan.messages)
        allowed = f"should be at most {MOST_SLOTS:,} reports"
        yield sent <= MOST_SLOTS, "plan.messages", InWords(f"about {sent:,.0f} reports"), allowed
        if names := strata(survey):
            stated, allowed = ", ".join(self.strata), f"should be the survey's: {', '.join(names)}"
            yield self.strata == names, "strata", stated, allowed
            rule, allowed = self.small_strata, f"should be {survey.small_strata}, as in the plan"
            yield rule == survey.small_strata, "small_strata", rule, allowed
        needed = slots(plan)
        stated, allowed = (", ".join(map(str, slots)) for slots in (self.slots, needed))
        yield self.slots == needed, "slots", stated, f"should be {allowed}, as the plan requires"

    def _about_itself(self) -> Iterator[Check]:
        yield self.opens < self.closes, "closes", self.closes, f"should be after {self.opens}"
        yield (
            self.closes <= self.disposes,
            "disposes",
            self.disposes,
            f"should be {self.closes} or later",
        )
        enough = self.wanted is None or self.wanted >= self.least_people
        allowed = f"should be null or at least {self.least_people:,}, the crowd and the reserve"
        yield enough, "wanted", self.wanted, allowed
        differ = len(set(self.strata)) == len(self.strata)
        yield differ, "strata", ", ".join(self.strata), "should differ"
        for path, text in texts(self._content):
            read = path[:2] in (("wording", "introduction"), ("wording", "questions"))
            character = "" if path[:2] == _CHECKED else hidden(text, paragraphs=read)
            yield not character, ".".join(map(str, path)), InWords(f"contains {character}"), VISIBLE

    @classmethod
    def parse(cls, data: bytes) -> Bundle:
        """Parse a peer's bytes, which must be exactly the canonical JSON of a bundle.

        Raises ProtocolError for other bytes, and if the bundle contradicts itself.
        """
        if len(data) > MOST_BYTES:
            raise ProtocolError.of("bundle", InWords(f"has {len(data):,} bytes"), _LARGE)
        try:
            content = read_json(data.decode())
            plan = {"plan": content.pop("plan"), "digest": content.pop("plan_digest")}
            bundle = cls.model_validate(content | {"plan": Plan.loads(canonical(plan))})
            same = bundle.encoded == data
        except ProtocolError:
            raise
        except ValidationError as error:
            first = error.errors()[0]
            field, value = place("bundle", first["loc"]), first["input"]
            raise ProtocolError.of(field, value, wording(first)) from None
        except IncrowdError as error:
            inner = error.problems[0]
            field = f"bundle.{inner.field}"
            raise ProtocolError.of(field, inner.value, inner.allowed) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ProtocolError.of("bundle", InWords("cannot be read"), _CANONICAL) from None
        if not same:
            raise ProtocolError.of("bundle", InWords("is not in canonical form"), _CANONICAL)
        return bundle

    @cached_property
    def encoded(self) -> bytes:
        """Canonical JSON (RFC 8785), UTF-8: the bytes that are sent and hashed."""
        return canonical(self._content).encode()

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = self.model_dump(mode="json", by_alias=True, exclude={"plan"})
        return content | {"plan": self.plan.content, "plan_digest": self.plan.digest}

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the encoded bundle."""
        return hashlib.sha256(self.encoded).digest()

    @cached_property
    def key(self) -> KeyConfiguration:
        """The collector's public key configuration."""
        return KeyConfiguration.parse(bytes.fromhex(self.key_configuration))

    @cached_property
    def signer(self) -> Ed25519PublicKey:
        """The shuffler's public key, with which releases are verified."""
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.shuffler_key))

    @cached_property
    def shape(self) -> Shape:
        """The layout of plaintexts."""
        return Shape.of(self.plan)

    @cached_property
    def sealed_length(self) -> int:
        """The length of every sealed report, in bytes."""
        return sealed_length(self.shape.length, self.key.kem)

    @cached_property
    def places(self) -> int:
        """The number of sealed reports in every upload."""
        return sum(self.slots)

    def rounded(self, people: int) -> int:
        """Round a number of people down to a multiple of the reserve, for publication.

        The reserve is at least 20 and 1% of the crowd, so no single person is visible.
        """
        return people // self.reserve * self.reserve

    @property
    def least_people(self) -> int:
        """The number of uploads that a release needs: the plan's crowd plus the reserve."""
        return self.plan.survey.crowd + self.reserve


_CHECKED = ("plan", "survey")  # checked with the survey, which allows paragraphs in other texts
_LARGE = f"should have at most {MOST_BYTES:,}"
_CANONICAL = "should be exactly the canonical JSON (RFC 8785) of a bundle"
