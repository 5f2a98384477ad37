"""A device: one person and one collection, from the link to the receipt of her upload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from incrowd.collection.device import sending
from incrowd.collection.device.answering import sealed_answers
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.memory import Memory
from incrowd.collection.device.promising import Line, Promise, promised, terms
from incrowd.collection.device.sending import fetch
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.protocol.upload import check_code, code_field
from incrowd.encoding.records import People
from incrowd.errors import MISSING, InWords, ProtocolError, UsageError
from incrowd.presentation.example import Example, examples
from incrowd.sampling.permanent import DeviceKey, remembering
from incrowd.survey.words import look_alike_warnings

UNCERTAIN = frozenset({"closed", "code-used", "not-found"})  # it may be counted all the same


@dataclass(frozen=True)
class UploadResult:
    """What became of an upload. outcome: "stored", or "repeated" if it was there already.

    resumed: whether it was kept from before, so that no answers were looked at. sealed_reports: in
    it, dummies included. bytes: its length, the same for everybody.
    """

    outcome: sending.Outcome
    resumed: bool
    sealed_reports: int
    bytes: int


@dataclass(frozen=True)
class Device:
    """A person's device for one collection: its bundle is the pinned one, its promise certified.

    Nothing is drawn, and nothing of the answers leaves the device, before `send`.
    """

    link: Link
    bundle: Bundle
    promise: Promise
    memory: Memory
    connection: Connection

    @classmethod
    def of(
        cls, link: str | Link, memory: str | Path, *, connection: Connection | None = None
    ) -> Device:
        """The device for a link. memory: the folder in which it remembers what it answered.

        Raises UsageError if that is no link, ProtocolError if the bundle is not the one that the
        link pins or cannot be had, PlanError if its plan does not keep what it promises.
        """
        link = Link.parse(link) if isinstance(link, str) else link
        connection = connection or Connection()
        remembered = Memory(Path(memory))
        remembered.tidy(datetime.now(UTC))
        bundle = fetch(link, connection)
        return cls(
            link, bundle, promised(bundle, remembered.has_round(bundle)), remembered, connection
        )

    @property
    def terms(self) -> tuple[Line, ...]:
        """What a person should know before she sends: titles and texts."""
        return tuple(terms(self.bundle, self.promise))

    @property
    def example(self) -> tuple[Example, ...]:
        """What may be sent in the place of some answer: made up, never drawn for a person."""
        return examples(self.bundle.plan)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the promise does not cover, since it was answered before; names that look alike."""
        asked, strata = self.bundle.plan.survey.questions, self.bundle.strata
        alike = look_alike_warnings(asked, strata)
        return (*self.memory.warnings(self.bundle), *alike)

    def send(
        self,
        answers: pa.Table | Mapping[str, Any],
        *,
        stratum: str | None = None,
        code: str = "",
        device_key: DeviceKey | None = None,
        keep: bool = False,
    ) -> UploadResult:
        """Randomize one person's answers and send all of it in one upload.

        answers: one row, as a table or as a value for each question. stratum: its name, if there
        are several. code: of the invitation, unless the link has it. device_key: for permanent
        responses. keep: keep the upload until the collection closes, so that it can be withdrawn.

        The noise is drawn once. If an earlier upload for this bundle is kept, since it was not
        answered or could be withdrawn, these bytes are sent again and the answers are not looked
        at. Raises AnswersError if the answers do not fit, UsageError if this device answered
        before, ProtocolError if the shuffler says no or nothing.
        """
        upload = kept = self.memory.kept(self.bundle)
        if upload is None:
            self._check_first()
            upload = self._upload(answers, stratum, code, device_key)
            self.memory.keep(self.bundle, upload)
            self.memory.note(self.bundle)
        try:
            outcome = sending.send(upload, self.bundle, self.connection)
        except ProtocolError as error:
            self._settle(error)
            raise
        if not keep:
            self.memory.drop(self.bundle)
        return UploadResult(outcome, kept is not None, self.bundle.places, len(upload))

    def withdraw(self) -> None:
        """Take back what was sent and kept, before the collection closes.

        Raises UsageError if nothing was kept, ProtocolError as `send`.
        """
        upload = self.memory.kept(self.bundle)
        if upload is None:
            allowed = "only an upload that was kept can be withdrawn; send with keep=True"
            raise UsageError.of("memory", InWords("no upload for this collection"), allowed)
        try:
            sending.withdraw(upload, self.bundle, self.connection)
        except ProtocolError as error:
            self._settle(error)
            raise
        self.memory.forget(self.bundle)

    def _check_first(self) -> None:
        if self.memory.has(self.bundle):
            allowed = (
                "yours may already be counted, and is never drawn again; if somebody else answers "
                "on this device, name another folder"
            )
            raise UsageError.of("memory", InWords("this collection was answered before"), allowed)

    def _upload(
        self,
        answers: pa.Table | Mapping[str, Any],
        stratum: str | None,
        code: str,
        key: DeviceKey | None,
    ) -> bytes:
        """What is sent, drawn now."""
        plan, table = self.bundle.plan, _table(answers)
        if table.num_rows != 1:
            found = InWords(f"{table.num_rows:,} rows")
            raise UsageError.of("answers", found, "should be one row, with one person's answers")
        field = checked_code(self.bundle, code or self.link.code)
        person = People.of(plan.survey, table)
        made = sealed_answers(
            self.bundle,
            person,
            code=field,
            stratum=int(strata_of(self.bundle, person, stratum)[0]),
            memory=remembering(plan, 1, None, key),
        )
        return made.encoded(self.bundle)

    def _settle(self, error: ProtocolError) -> None:
        """Forget what was refused for good; keep what may still be stored."""
        kind = KINDS.get(error.problems[0].field)
        if kind is None or kind.retry:
            return
        if kind.name in UNCERTAIN:
            self.memory.drop(self.bundle)
        else:
            self.memory.forget(self.bundle)


def _table(answers: pa.Table | Mapping[str, Any]) -> pa.Table:
    if isinstance(answers, Mapping):
        return pa.table({id: [answer] for id, answer in answers.items()})
    return answers


def checked_code(bundle: Bundle, typed: str) -> bytes:
    """The code field of an upload. Raises UsageError or ProtocolError without a byte of it."""
    if bundle.codes and not typed:
        allowed = "this collection needs an invitation; give the code that stands on it"
        raise UsageError.of("code", MISSING, allowed)
    field = code_field(typed)
    check_code(field, bundle)
    return field


def strata_of(bundle: Bundle, people: People, name: str | None) -> np.ndarray:
    """The number of the stratum of each person: by her open answers, else the one of that name.

    Raises UsageError for another name than the open answers say, or as `stratum_number`.
    """
    survey = bundle.plan.survey
    if not survey.open:
        return np.full(people.number, stratum_number(bundle, name))
    found = people.strata(survey)
    said = sorted({bundle.strata[number] for number in found})
    if name is not None and said != [name]:
        allowed = f"the open answers say {', '.join(said)}; leave it out"
        raise UsageError.of("stratum", name, allowed)
    return found


def stratum_number(bundle: Bundle, name: str | None) -> int:
    """The number of a stratum by its name; it may be left out where there is only one.

    Raises UsageError for another name.
    """
    known = bundle.strata
    if name is None and len(known) == 1:
        return 0
    if name not in known:
        found = MISSING if name is None else name
        raise UsageError.of("stratum", found, f"use one of {', '.join(known)}")
    return known.index(name)
