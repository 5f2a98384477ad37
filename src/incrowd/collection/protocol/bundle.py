"""The bundle: everything that device, shuffler and collector agree on, under one digest."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Annotated, Any, ClassVar, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import AfterValidator, Field, ValidationError, model_validator

from incrowd.characters import hidden, texts
from incrowd.collection.protocol.addresses import checked_address, host, is_loopback, location
from incrowd.collection.protocol.blind import SIGNATURE_BYTES, TokenKey, check_roots
from incrowd.collection.protocol.plaintext import Shape
from incrowd.collection.protocol.sealed import LABEL, KeyConfiguration, sealed_length
from incrowd.errors import IncrowdError, Problem, ProtocolError, Unfit
from incrowd.plans import Plan
from incrowd.plans.digests import FileModel, canonical, read_json
from incrowd.plans.plan import is_promised
from incrowd.plans.slots import Lane, Pools, lanes, separate, shared, slots, slots_of_messages
from incrowd.plans.strata import strata
from incrowd.survey.participation import least_reserve
from incrowd.survey.reasons import wording

MOST_BYTES = 1 << 24
MOST_STRATA = 1 << 16
MOST_SLOTS = 1 << 16
TIME = "%Y-%m-%dT%H:%M:%SZ"
DIGEST_BYTES = 32
CODE_BYTES = 16
LANE_BYTES = 2
SIGNING_KEY_BYTES = 32


def reserve_of(plan: Plan) -> int:
    """Return the least reserve of a plan's collection; 0 if its guarantee counts on no crowd."""
    return 0 if plan.guarantee.crowd is None else least_reserve(plan.survey.crowd)


def as_time(text: str) -> datetime:
    """Parse a UTC time such as "2026-11-22T08:00:00Z". Raises Unfit for other text."""
    try:
        time = datetime.strptime(text, TIME).replace(tzinfo=UTC)
    except ValueError:
        time = None
    if not time or time.strftime(TIME) != text:
        raise Unfit("collection.no-time")
    return time


def _time(text: str) -> str:
    as_time(text)
    return text


def _bytes(text: str) -> bytes:
    """Parse lowercase hexadecimal digits. Raises Unfit for other text."""
    if not re.fullmatch("([0-9a-f]{2})*", text):
        raise Unfit("collection.no-hexadecimal-digits")
    return bytes.fromhex(text)


def signing_key(text: str) -> Ed25519PublicKey:
    """Return a public Ed25519 key."""
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))


def _key_configuration(text: str) -> str:
    KeyConfiguration.parse(_bytes(text))
    return text


def _key(text: str) -> str:
    if len(_bytes(text)) != SIGNING_KEY_BYTES:
        raise Unfit("collection.no-signing-key", bytes=SIGNING_KEY_BYTES)
    return text


BundleText = Annotated[str, Field(min_length=1, max_length=200)]
Time = Annotated[str, AfterValidator(_time)]
Address = Annotated[str, AfterValidator(checked_address)]
KeyText = Annotated[str, AfterValidator(_key)]
KeyConfigurationText = Annotated[str, AfterValidator(_key_configuration)]


class Wording(FileModel):
    """The texts that people read. language: a BCP 47 tag. questions: their texts by id."""

    language: str = Field(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=35)
    title: BundleText
    introduction: str = ""
    questions: dict[str, Annotated[str, Field(min_length=1)]]


class Bundle(FileModel, ABC):
    """Everything about one collection: one key, one period, one release for each stratum.

    `ShufflerBundle` and `MixersBundle` add who mixes. opens, closes, disposes: when uploads are
    accepted, and when strata that are too small are deleted; UTC. strata: their names; a stratum's
    number is its index. small_strata: whether strata with too few uploads are deleted, or merged
    into one release if they are enough together. codes: whether a person needs an invitation.
    colluding: as in the plan, repeated here because an open survey depends on it. reserve: uploads
    that a release needs beyond the plan's crowd, or beyond the least number of people that it asks
    for. slots: places in an upload for the reports of each pool of messages
    (`incrowd.plans.slots`). Keys are in hexadecimal.

    Everything that follows from the plan is checked against it: the slots and, if the survey has
    open questions, the strata and small_strata.
    """

    formats: ClassVar[dict[str, type[Bundle]]] = {}

    format: str
    plan: Plan
    wording: Wording
    period: BundleText
    opens: Time
    closes: Time
    disposes: Time
    strata: tuple[BundleText, ...] = Field(min_length=1, max_length=MOST_STRATA)
    small_strata: Literal["delete", "merge"]
    codes: bool
    colluding: int
    reserve: int
    slots: tuple[int, ...]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Register the format of a kind of bundle."""
        Bundle.formats[cls.model_fields["format"].default] = cls

    @model_validator(mode="after")
    def _consistent(self) -> Bundle:
        checks = self._of_the_plan(), self._unlike_the_plan(), self._of_itself()
        if problem := next(chain.from_iterable(checks), None):
            raise ProtocolError(problem.within("bundle"))
        return self

    def _of_the_plan(self) -> Iterator[Problem]:
        """Yield what makes the plan unfit for any bundle."""
        plan, by = self.plan, self.plan.guarantee.analysis
        if not is_promised(by):
            yield Problem(("plan", "guarantee", "analysis"), "plans.no-promise", value=by)
        if (rows := plan.survey.rows_per_person) != 1:
            yield Problem(
                ("plan", "survey", "rows_per_person"), "collection.several-rows", rows=rows
            )
        if (sent := sum(message.reports_each for message in plan.messages)) > MOST_SLOTS:
            yield Problem(
                ("plan", "messages"),
                "collection.reports-many",
                reports=sent,
                most=MOST_SLOTS,
            )

    def _unlike_the_plan(self) -> Iterator[Problem]:
        """Yield what does not follow from the plan."""
        survey, asked = self.plan.survey, sorted(self.wording.questions)
        if asked != (ids := sorted(question.id for question in survey.questions)):
            path = ("wording", "questions")
            yield Problem(path, "collection.unlike-the-survey", value=tuple(asked), names=ids)
        for name in ("colluding", *(["small_strata"] if survey.open else [])):
            if (value := getattr(self, name)) != (right := getattr(survey, name)):
                yield Problem(name, "collection.unlike-the-plan", value=value, right=right)
        if self.reserve < (least := reserve_of(self.plan)):
            yield Problem("reserve", "collection.at-least", value=self.reserve, least=least)
        if (names := strata(survey)) and self.strata != names:
            yield Problem("strata", "collection.unlike-the-survey", value=self.strata, names=names)
        if self.slots != (needed := self._needed_slots):
            yield Problem("slots", "collection.slots-of-the-plan", value=self.slots, right=needed)

    def _of_itself(self) -> Iterator[Problem]:
        """Yield how parts of the bundle contradict each other, or cannot be shown."""
        if self.opens >= self.closes:
            yield Problem("closes", "collection.not-after", value=self.closes, time=self.opens)
        if self.closes > self.disposes:
            yield Problem("disposes", "collection.before", value=self.disposes, time=self.closes)
        if len(set(self.strata)) < len(self.strata):
            yield Problem("strata", "collection.strata-alike", strata=self.strata)
        for path, text in texts(self._content):
            read = path[:2] in (("wording", "introduction"), ("wording", "questions"))
            if path[:2] != _CHECKED and (character := hidden(text, paragraphs=read)):
                yield Problem(path, "survey.hidden-character", character=character)

    @classmethod
    def parse(cls, data: bytes) -> Bundle:
        """Parse a peer's bytes, which must be exactly the canonical JSON of a bundle.

        Raises ProtocolError for other bytes, and if the bundle contradicts itself.
        """
        if len(data) > MOST_BYTES:
            size = len(data)
            raise ProtocolError.of("bundle", "collection.bundle-large", bytes=size, most=MOST_BYTES)
        try:
            content = read_json(data.decode())
            plan = {"plan": content.pop("plan"), "digest": content.pop("plan_digest")}
            kind = cls.formats[content["format"]]
            bundle = kind.model_validate(content | {"plan": Plan.loads(canonical(plan))})
            same = bundle.encoded == data
        except ProtocolError:
            raise
        except ValidationError as error:
            first = error.errors()[0]
            raise ProtocolError.of(
                ("bundle", *first["loc"]),
                "survey.unfit",
                value=first["input"],
                reason=wording(first),
            ) from None
        except IncrowdError as error:
            raise ProtocolError(error.problems[0].within("bundle")) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ProtocolError.of("bundle", "collection.unreadable-bundle") from None
        if not same:
            raise ProtocolError.of("bundle", "collection.bundle-not-canonical")
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
    def shape(self) -> Shape:
        """The layout of plaintexts."""
        return Shape.of(self.plan)

    @property
    @abstractmethod
    def upload_address(self) -> str:
        """The address for uploads."""

    @property
    def link_address(self) -> str:
        """The address that links lead to, unless they lead to a survey page: that of the inviting
        service."""
        return self.upload_address

    @property
    @abstractmethod
    def collector_address(self) -> str:
        """The address for releases."""

    @property
    @abstractmethod
    def key(self) -> KeyConfiguration:
        """The collector's public key configuration, for which reports are sealed."""

    @property
    @abstractmethod
    def label(self) -> bytes:
        """The label of the layer that is sealed for the collector."""

    @abstractmethod
    def binding(self, stratum: int, lane: int = 0) -> bytes:
        """Return what every sealed layer of a stratum's uploads is bound to; if the bundle has
        lanes, what a report in one of them is bound to."""

    @property
    @abstractmethod
    def envelope_key(self) -> KeyConfiguration:
        """The key configuration for the outermost layer of what an upload contains."""

    @property
    @abstractmethod
    def envelope_length(self) -> int:
        """The length of what an upload contains for each slot, in bytes."""

    @property
    @abstractmethod
    def entry_length(self) -> int:
        """The length of what admits an upload: a code, or an entry token; in bytes."""

    @property
    @abstractmethod
    def row_length(self) -> int:
        """The length of a report in the body of a release to the collector, in bytes."""

    @property
    @abstractmethod
    def one_party(self) -> bool:
        """Whether one party mixes and collects, so that only the local guarantee holds."""

    @property
    def pools(self) -> Pools:
        """The messages that share slots, for each number of `slots`."""
        return shared(self.plan.messages)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes of uploads and releases, in order; none unless services add noise."""
        return ()

    @cached_property
    def slot_spans(self) -> tuple[range, ...]:
        """The places in an upload that share one random order: those of each lane, or all."""
        return _consecutive([lane.slots for lane in self.lanes] or [self.places])

    def spans(self, people: int) -> tuple[range, ...]:
        """Return the places in the body of a release that share one random order: those of the
        sealed reports in each lane, or all. people: how many the release has."""
        each = [people * lane.slots + lane.invented for lane in self.lanes]
        return _consecutive(each or [people * self.places])

    @cached_property
    def slot_lanes(self) -> tuple[int, ...]:
        """The lane of each slot of an upload; 0 without lanes."""
        return tuple(lane for lane, span in enumerate(self.slot_spans) for _ in span)

    @property
    def groups(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The messages, and their slots, of the reports that a release counts separately.

        With one shuffler, the reports of all messages look the same, and are one group.
        """
        return ((tuple(range(len(self.plan.messages))), self.places),)

    @property
    def mixers(self) -> Literal[1, 2]:
        """The number of parties that mix."""
        return 1

    @property
    def thinned(self) -> bool:
        """Whether the collector's organization could pass on single reports of many people."""
        return False

    @property
    def enough(self) -> int | None:
        """The number of uploads at which a stratum may be released before closing, or None."""
        return None

    @property
    @abstractmethod
    def _needed_slots(self) -> tuple[int, ...]:
        """The slots that the plan requires."""

    @cached_property
    def sealed_length(self) -> int:
        """The length of every report that is sealed for the collector, in bytes."""
        return sealed_length(self.shape.length, self.key.kem)

    @cached_property
    def places(self) -> int:
        """The number of sealed reports in every upload."""
        return sum(self.slots)

    def rounded(self, people: int) -> int:
        """Round a number of people down, for publication: to a multiple of the reserve.

        Without a reserve, to a multiple of the one that the crowd would need: at least 20 and 1% of
        the crowd, so no single person is visible.
        """
        step = self.reserve or least_reserve(self.plan.survey.crowd)
        return people // step * step

    @property
    def least_people(self) -> int:
        """The number of uploads that a release needs: the plan's crowd plus the reserve, or the
        least number of people that a plan asks for whose guarantee counts on no crowd."""
        counts_on_none = self.plan.guarantee.crowd is None
        return (self.plan.least if counts_on_none else self.plan.survey.crowd) + self.reserve


def _consecutive(sizes: Iterable[int]) -> tuple[range, ...]:
    ends = accumulate(sizes, initial=0)
    return tuple(range(start, end) for start, end in pairwise(ends))


class Addresses(FileModel):
    """The addresses for uploads (shuffler) and for releases (collector)."""

    shuffler: Address
    collector: Address


class ShufflerBundle(Bundle):
    """A collection with one shuffler, which invites and mixes.

    wanted: number of uploads at which a stratum may be released before closing, or None.
    local_only: whether shuffler and collector are the same party, so that only the local guarantee
    holds. key_configuration: the collector's. shuffler_key: Ed25519.
    """

    format: Literal["incrowd bundle 1"] = "incrowd bundle 1"
    wanted: int | None
    local_only: bool
    key_configuration: KeyConfigurationText
    shuffler_key: KeyText
    addresses: Addresses

    def _of_itself(self) -> Iterator[Problem]:
        yield from super()._of_itself()
        if self.plan.by_services and self.small_strata == "merge":
            yield Problem("small_strata", "collection.services-merge-no-strata")
        if self.wanted is not None and self.wanted < self.least_people:
            least = self.least_people
            yield Problem("wanted", "collection.wanted-few", value=self.wanted, least=least)
        shuffler, collector = host(self.addresses.shuffler), host(self.addresses.collector)
        if shuffler == collector and not self.local_only:
            yield Problem("local_only", "collection.same-host", value=self.local_only)

    @cached_property
    def key(self) -> KeyConfiguration:
        """The collector's public key configuration, for which reports are sealed."""
        return KeyConfiguration.parse(bytes.fromhex(self.key_configuration))

    @cached_property
    def signer(self) -> Ed25519PublicKey:
        """The shuffler's public key, with which releases are verified."""
        return signing_key(self.shuffler_key)

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes of uploads and releases, in order; none unless services add noise."""
        return lanes(self.plan) if self.plan.by_services else ()

    def binding(self, stratum: int, lane: int = 0) -> bytes:
        """Return the digest; if services add noise, also the stratum and the lane: a report that
        counts twice would reveal its cell."""
        place = stratum.to_bytes(2) + lane.to_bytes(LANE_BYTES) if self.lanes else b""
        return self.digest + place

    @property
    def upload_address(self) -> str:
        """The address for uploads."""
        return self.addresses.shuffler

    @property
    def collector_address(self) -> str:
        """The address for releases."""
        return self.addresses.collector

    @property
    def label(self) -> bytes:
        """The label of the layer that is sealed for the collector."""
        return LABEL

    @property
    def envelope_key(self) -> KeyConfiguration:
        """The key configuration for the outermost layer of what an upload contains."""
        return self.key

    @property
    def envelope_length(self) -> int:
        """The length of what an upload contains for each slot, in bytes."""
        return self.sealed_length

    @property
    def row_length(self) -> int:
        """The length of a report in the body of a release, in bytes."""
        return self.sealed_length

    @property
    def entry_length(self) -> int:
        """The length of what admits an upload, in bytes."""
        return CODE_BYTES

    @property
    def one_party(self) -> bool:
        """Whether one party mixes and collects."""
        return self.local_only

    @property
    def enough(self) -> int | None:
        """The number of uploads at which a stratum may be released before closing."""
        return self.wanted

    @property
    def _needed_slots(self) -> tuple[int, ...]:
        return slots(self.plan)


# Two mixers, an inviter and a collector: no organization has to be trusted alone.

INNER_LABEL = b"incrowd inner 2\x00"
OUTER_LABEL = b"incrowd outer 2\x00"
NONCE_BYTES = 32
MESSAGE_BYTES = 2
TO_DELIVER = timedelta(days=1)
Role = Literal["inviter", "first", "second", "collector"]


class TokenKeyText(FileModel):
    """An RSA key for blind signatures (e = 65537), which the inviter uses for one bundle only.

    modulus: 2,048 bits. roots: 16 of them prove that blinding hides what is signed
    (`incrowd.collection.protocol.blind.check_roots`).
    """

    modulus: str
    roots: tuple[str, ...]

    @model_validator(mode="after")
    def _proved(self) -> TokenKeyText:
        check_roots(self.key, [_bytes(root) for root in self.roots])
        return self

    @cached_property
    def key(self) -> TokenKey:
        """The public key."""
        return TokenKey.parse(_bytes(self.modulus))


class Inviter(FileModel):
    """Invites people and signs tokens blindly. key: Ed25519. entry: signs the token that admits an
    upload. messages: sign those of its slots, a key for each message of the plan."""

    address: Address
    key: KeyText
    entry: TokenKeyText
    messages: tuple[TokenKeyText, ...]


class FirstMixer(FileModel):
    """Receives uploads, and sees where they come from. key: Ed25519."""

    address: Address
    key: KeyText


class SecondMixer(FileModel):
    """Removes the outer layer, and sees no addresses. key: Ed25519."""

    address: Address
    key: KeyText
    key_configuration: KeyConfigurationText


class CollectorParty(FileModel):
    """Opens and counts the reports."""

    address: Address
    key_configuration: KeyConfigurationText


class Runs(FileModel):
    """The organization that runs each service, in words that people recognize."""

    inviter: BundleText
    first: BundleText
    second: BundleText
    collector: BundleText

    def same(self, one: Role, other: Role) -> bool:
        """Return whether one organization runs two services, as far as their names tell.

        White space and the case of A to Z do not count; docs/protocol.md, "Bundle with two mixers".
        """
        names = ("".join(getattr(self, role).split()) for role in (one, other))
        return len({name.encode().lower() for name in names}) == 1  # lower() of bytes is ASCII


class MixersBundle(Bundle):
    """A collection with an inviter, two mixers and a collector. Every person needs an invitation,
    and strata that are too small are deleted.

    disposes: when everything is deleted that was not delivered, at least a day after closing. A
    mixer that reaches nobody tries again within an hour, and an operator has time to help.
    Its guarantee depends on who works together, and so on `runs`; see `incrowd.guarantees`.
    """

    format: Literal["incrowd bundle 2"] = "incrowd bundle 2"
    codes: Literal[True]
    small_strata: Literal["delete"]
    runs: Runs
    inviter: Inviter
    first: FirstMixer
    second: SecondMixer
    collector: CollectorParty

    def _of_the_plan(self) -> Iterator[Problem]:
        if self.plan.by_services:
            yield Problem(("plan", "survey", "privacy", "noise"), "collection.services-of-mixers")
        if (rule := self.plan.survey.small_strata) != self.small_strata:
            path = ("plan", "survey", "small_strata")
            yield Problem(path, "collection.mixers-merge-no-strata", value=rule)
        yield from super()._of_the_plan()

    def _of_itself(self) -> Iterator[Problem]:
        yield from super()._of_itself()
        if as_time(self.disposes) - as_time(self.closes) < TO_DELIVER:
            yield Problem(
                "disposes",
                "collection.no-time-to-deliver",
                value=self.disposes,
                hours=TO_DELIVER // timedelta(hours=1),
                closes=self.closes,
            )
        messages, keys = len(self.plan.messages), self.inviter.messages
        if len(keys) != messages:
            yield Problem(
                ("inviter", "messages"),
                "collection.keys-for-messages",
                keys=len(keys),
                messages=messages,
            )
        moduli = {text.key.modulus for text in (self.inviter.entry, *keys)}
        if len(moduli) < 1 + len(keys):
            yield Problem(("inviter", "messages"), "collection.token-keys-alike")
        yield from self._shared()

    def _shared(self) -> Iterator[Problem]:
        """Yield what several services share although each should have its own."""
        signing = (self.inviter.key, self.first.key, self.second.key)
        if len(set(signing)) < len(signing):
            yield Problem("keys", "collection.services-alike", value=signing)
        if self.second_key.public == self.key.public:
            yield Problem(("second", "key_configuration"), "collection.key-of-collector")
        parties = (self.inviter, self.first, self.second, self.collector)
        hosts = tuple(location(party.address) for party in parties)
        if len(set(hosts)) < len(hosts):
            yield Problem("addresses", "collection.services-alike", value=hosts)
        if self.runs.same("inviter", "collector"):
            path = ("runs", "collector")
            yield Problem(path, "collection.collector-invites", value=self.runs.inviter)

    @cached_property
    def key(self) -> KeyConfiguration:
        """The collector's public key configuration, for which reports are sealed."""
        return KeyConfiguration.parse(bytes.fromhex(self.collector.key_configuration))

    @cached_property
    def second_key(self) -> KeyConfiguration:
        """The second mixer's public key configuration, for the outer layer."""
        return KeyConfiguration.parse(bytes.fromhex(self.second.key_configuration))

    @cached_property
    def token_keys(self) -> tuple[TokenKey, ...]:
        """The key of each token that a person requests: entry, then each slot of each message."""
        slots = zip(self.inviter.messages, self.slots, strict=True)
        return (self.inviter.entry.key, *(text.key for text, many in slots for _ in range(many)))

    @cached_property
    def slot_messages(self) -> tuple[int, ...]:
        """The message that each slot belongs to, in the order of `token_keys` after the entry."""
        return tuple(message for message, many in enumerate(self.slots) for _ in range(many))

    def binding(self, stratum: int, lane: int = 0) -> bytes:
        """Return the digest and the stratum: nobody can move a report to another stratum."""
        return self.digest + stratum.to_bytes(2)

    @property
    def rehearsal(self) -> bool:
        """Whether all services are on one machine, so that one party sees everything."""
        parties = (self.inviter, self.first, self.second, self.collector)
        return all(is_loopback(party.address) for party in parties)

    @property
    def one_party(self) -> bool:
        """Whether the collector's organization runs both mixers, or everything is a rehearsal."""
        both = self.runs.same("first", "collector") and self.runs.same("second", "collector")
        return both or self.rehearsal

    @property
    def thinned(self) -> bool:
        """Whether the collector's organization runs the first mixer, and messages are cells."""
        cells = any(message.cells for message in self.plan.messages)
        return cells and self.runs.same("first", "collector")

    @property
    def pools(self) -> Pools:
        """Each message has slots of its own."""
        return separate(self.plan.messages)

    @property
    def groups(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Each message with its slots: a token names the message of its report."""
        return tuple(zip(self.pools, self.slots, strict=True))

    @property
    def mixers(self) -> Literal[1, 2]:
        """The number of parties that mix."""
        return 2

    @property
    def upload_address(self) -> str:
        """The address for uploads."""
        return self.first.address

    @property
    def link_address(self) -> str:
        """The inviter's address."""
        return self.inviter.address

    @property
    def collector_address(self) -> str:
        """The address for releases."""
        return self.collector.address

    @property
    def label(self) -> bytes:
        """The label of the layer that is sealed for the collector."""
        return INNER_LABEL

    @property
    def envelope_key(self) -> KeyConfiguration:
        """The key configuration for the outermost layer of what an upload contains."""
        return self.second_key

    @property
    def entry_length(self) -> int:
        """The length of what admits an upload, in bytes."""
        return NONCE_BYTES + SIGNATURE_BYTES

    @property
    def row_length(self) -> int:
        """The length of a report in the body of a release, in bytes."""
        return MESSAGE_BYTES + SIGNATURE_BYTES + self.sealed_length

    @cached_property
    def envelope_length(self) -> int:
        """The length of what an upload contains for each slot, in bytes."""
        return sealed_length(self.row_length, self.second_key.kem)

    @property
    def _needed_slots(self) -> tuple[int, ...]:
        return slots_of_messages(self.plan)


_CHECKED = ("plan", "survey")  # checked with the survey, which allows paragraphs in other texts
