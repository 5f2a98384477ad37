"""A device: one person and one collection, from the link to the response to the upload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa

from incrowd.catalog.sentences import Keyword
from incrowd.collection.device import sending
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.memory import DeviceMemory, SealedReports
from incrowd.collection.device.promising import TermLine, UploadPromise, promised, terms
from incrowd.collection.device.sending import SendOutcome, drawn, fetched, with_code, with_tokens
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.tokens import Pending
from incrowd.collection.protocol.upload import check_code, code_field
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import PlanError, ProtocolError, UsageError
from incrowd.presentation.example import Example, examples
from incrowd.sampling.permanent import DeviceKey, remembering
from incrowd.survey import Survey
from incrowd.survey.words import look_alike_warnings

CERTIFYING = 120.0  # seconds

# Refusals by problem type: the first end an upload, which is deleted. After every other one, the
# same bytes are kept, and after the second kind they are sent with another code if there is one.
OVER = frozenset({"closed", "withdrawn", "not-found"})
OF_CODE = frozenset({"code-unknown", "code-used"})


@dataclass(frozen=True)
class UploadResult:
    """The result of an upload. outcome: "stored", or "repeated" if it was already stored.

    resumed: whether an earlier upload was sent again, so that the answers were not used.
    can_withdraw: whether the upload is stored until the collection closes, because this call or an
    earlier one asked for that. sealed_reports: including dummies. bytes: its length, the same for
    everybody.
    """

    outcome: SendOutcome
    resumed: bool
    can_withdraw: bool
    sealed_reports: int
    bytes: int


@dataclass(frozen=True)
class Device:
    """A person's device for one collection, with the pinned bundle and its certified promise.

    Before `send`, nothing is randomized and nothing of the answers leaves the device.
    """

    link: Link
    bundle: Bundle
    promise: UploadPromise
    memory: DeviceMemory
    connection: Connection

    @classmethod
    def of(
        cls,
        link: str | Link,
        memory: str | Path,
        *,
        connection: Connection | None = None,
        seconds: float = CERTIFYING,
    ) -> Device:
        """Return the device for a link. memory: the folder that records answered collections.

        seconds: how long to check the bundle and to certify its plan: anybody can write one that
        takes days. Raises UsageError for an invalid link, ProtocolError if the bundle cannot be
        fetched or is not the one that the link pins, PlanError if its plan does not keep its
        promise or takes longer.
        """
        link = Link.parse(link) if isinstance(link, str) else link
        connection = connection or Connection()
        remembered = DeviceMemory(Path(memory))
        remembered.tidy(datetime.now(UTC))
        text = fetched(link, connection)

        def checked() -> Device:
            bundle = Bundle.parse(text)
            promise = promised(bundle, remembered.has_round(bundle))
            return cls(link, bundle, promise, remembered, connection)

        return _within(seconds, checked)

    @property
    def terms(self) -> tuple[TermLine, ...]:
        """The facts that a person should know before sending: titles and texts."""
        return tuple(terms(self.bundle, self.promise))

    @property
    def example(self) -> tuple[Example, ...]:
        """Examples of what could be sent for some answers; never drawn from a person's answers."""
        return examples(self.bundle.plan)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: earlier answers that the promise does not cover; names that look alike."""
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
        """Randomize one person's answers and send everything in one upload.

        answers: one row, as a table or as a value for each question that the person is asked.
        stratum: its name, if there are several. code: the code of the invitation, unless the link
        contains it. device_key: for permanent responses. keep: store the upload until the
        collection closes, so that it can be withdrawn; it stays stored if it is sent again without.

        The noise is drawn once, and stored before anything is sent. If an earlier upload for this
        bundle is stored, because it got no response, was refused, or can be withdrawn, its bytes
        are sent again and the answers are not used. If its code was refused, it is sent with the
        code that is given now.
        Raises AnswersError if the answers do not fit, UsageError if this device already answered,
        ProtocolError if a service refuses or does not respond, or signs tokens that are not valid.
        """
        typed = code or self.link.code
        stored, resumed = self.memory.once(
            self.bundle, lambda: self._drawn(answers, stratum, typed, device_key)
        )
        try:
            length, outcome = self._sent(stored, typed)
        except ProtocolError as error:
            self._settle(error)
            raise
        if keep:
            self.memory.retain(self.bundle)
        can_withdraw = self.memory.is_retained(self.bundle)
        if not can_withdraw:
            self.memory.drop(self.bundle)
        return UploadResult(outcome, resumed, can_withdraw, self.bundle.places, length)

    @property
    def is_sealed(self) -> bool:
        """Whether answers for this bundle are stored, sealed: `send` sends them and no others."""
        return self.memory.sealed(self.bundle) is not None

    def withdraw(self) -> None:
        """Withdraw a stored upload before the collection closes. Nobody can answer again then.

        Raises UsageError if no upload is stored, ProtocolError as `send`.
        """
        upload = self.memory.stored(self.bundle)
        if upload is None:
            keep = Keyword("keep", True)
            raise UsageError.of("memory", "collection.no-stored-upload", keep=keep)
        try:
            sending.withdraw(upload, self.bundle, self.connection)
        except ProtocolError as error:
            self._settle(error)
            raise
        self.memory.drop(self.bundle)

    def _sent(self, stored: SealedReports, typed: str) -> tuple[int, SendOutcome]:
        """Send what is stored; if its code is refused and another one was typed, with that one.

        The stored code comes first: only the service knows whether it was already accepted.
        """
        try:
            return self._sent_once(stored)
        except ProtocolError as error:
            if not typed or error.problems[0].path[0] not in OF_CODE:
                raise
            corrected = with_code(stored, checked_code(self.bundle, typed), self.bundle)
            if corrected == stored:
                raise
        return self._sent_once(self.memory.exchange(self.bundle, stored, corrected))

    def _sent_once(self, stored: SealedReports) -> tuple[int, SendOutcome]:
        """Send an upload, with tokens that are stored before anything of it is sent."""
        upload = stored
        if isinstance(upload, Pending):
            assert isinstance(self.bundle, MixersBundle), "only its uploads are pending"
            new = with_tokens(upload, self.bundle, self.connection).encoded(self.bundle)
            upload = self.memory.exchange(self.bundle, upload, new)
        assert isinstance(upload, bytes), "with its tokens, it is not pending"
        return len(upload), sending.send(upload, self.bundle, self.connection)

    def _drawn(
        self,
        answers: pa.Table | Mapping[str, Any],
        stratum: str | None,
        code: str,
        key: DeviceKey | None,
    ) -> SealedReports:
        """Return a new upload, for two mixers without its tokens."""
        plan, table = self.bundle.plan, _table(answers, self.bundle.plan.survey)
        if table.num_rows != 1:
            raise UsageError.of("answers", "collection.one-row", rows=table.num_rows)
        field = checked_code(self.bundle, code)
        person = EncodedAnswers.of(plan.survey, table)
        new = drawn(
            self.bundle,
            person,
            code=field,
            stratum=int(strata_of(self.bundle, person, stratum)[0]),
            memory=remembering(plan, 1, None, key),
        )
        return new if isinstance(new, Pending) else new.encoded(self.bundle)

    def _settle(self, error: ProtocolError) -> None:
        """Delete an upload that can never be accepted anymore."""
        if error.problems[0].path[0] in OVER:
            self.memory.drop(self.bundle)


def _within(seconds: float, work: Callable[[], Device]) -> Device:
    """Return the result of work, which is not waited for any longer. Raises PlanError then.

    It runs in a thread that does not keep the program from ending.
    """
    done: Future[Device] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # of the work, for the thread that waits
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():  # at the last moment, or with a TimeoutError of its own
            return done.result()
        raise PlanError.of("plan", "collection.certifying-slow", seconds=seconds) from None


def _table(answers: pa.Table | Mapping[str, Any], survey: Survey) -> pa.Table:
    """Return answers as a table. A question that not everybody is asked may be left out."""
    if isinstance(answers, Mapping):
        given = {each.id: None for each in survey.questions if each.asked_if} | dict(answers)
        return pa.table({id: [answer] for id, answer in given.items()})
    return answers


def checked_code(bundle: Bundle, typed: str) -> bytes:
    """Return the code field of an upload. Raises UsageError or ProtocolError without the code."""
    if bundle.codes and not typed:
        raise UsageError.of("code", "collection.code-missing")
    field = code_field(typed)
    check_code(field, bundle)
    return field


def strata_of(bundle: Bundle, people: EncodedAnswers, name: str | None) -> np.ndarray:
    """Return each person's stratum number, from the open answers or else from the name.

    Raises UsageError if the name contradicts the open answers, or as `stratum_number`.
    """
    survey = bundle.plan.survey
    if not survey.open:
        return np.full(people.number, stratum_number(bundle, name))
    numbers = people.strata(survey)
    names = sorted({bundle.strata[number] for number in numbers})
    if name is not None and names != [name]:
        raise UsageError.of("stratum", "collection.stratum-of-answers", value=name, names=names)
    return numbers


def stratum_number(bundle: Bundle, name: str | None) -> int:
    """Return the number of a stratum; the name may be None if there is only one.

    Raises UsageError for an unknown name.
    """
    names = bundle.strata
    if name is None and len(names) == 1:
        return 0
    if name is None:
        raise UsageError.of("stratum", "collection.stratum-missing", names=names)
    if name not in names:
        raise UsageError.of("stratum", "shared.use-one-of", value=name, choices=names)
    return names.index(name)
