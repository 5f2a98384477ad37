"""Simulate a crowd from a file of answers: every row is a device with its own connection.

For tests, measurements and demonstrations; real people send from their own devices.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from incrowd.collection.device.connection import Connection
from incrowd.collection.device.sending import drawn, send, with_tokens
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.tokens import Pending
from incrowd.collection.protocol.upload import upload_length
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import ProtocolError, UsageError
from incrowd.sampling.permanent import DeviceKeys

AT_ONCE = 8


@dataclass(frozen=True)
class CrowdUploads:
    """The results of a crowd's uploads.

    people: number of senders. stored, repeated: accepted uploads. refused: their number by problem
    type. sealed_reports: in all accepted uploads. bytes: the bytes of each upload. seconds: in
    total.
    """

    people: int
    stored: int
    repeated: int
    refused: Mapping[str, int]
    sealed_reports: int
    bytes: int
    seconds: float

    @property
    def uploads_per_second(self) -> float:
        """Accepted uploads per second."""
        return (self.stored + self.repeated) / max(self.seconds, 1e-9)

    def with_others(self, other: CrowdUploads) -> CrowdUploads:
        """Return the results of both, which sent to one collection at the same time."""
        return CrowdUploads(
            people=self.people + other.people,
            stored=self.stored + other.stored,
            repeated=self.repeated + other.repeated,
            refused=Counter(self.refused) + Counter(other.refused),
            sealed_reports=self.sealed_reports + other.sealed_reports,
            bytes=self.bytes,
            seconds=max(self.seconds, other.seconds),
        )


def send_each(
    bundle: Bundle,
    people: EncodedAnswers,
    connection: Connection,
    *,
    codes: Sequence[bytes],
    strata: Sequence[int] | None = None,
    memory: DeviceKeys | None = None,
    at_once: int = AT_ONCE,
    progress: Callable[[int], None] | None = None,
) -> CrowdUploads:
    """Send each row of the answers as one person, several at a time.

    codes: code fields, one for each row. strata: the stratum number of each row, by default 0.
    memory: a secret for each row, for permanent responses. progress: called with 1 after each
    upload. Refused uploads are counted and do not stop the others. Raises UsageError unless there
    is a code for each row.
    """
    if len(codes) < people.number:
        raise UsageError.of("codes", "collection.codes-few", codes=len(codes), rows=people.number)

    def one(row: int) -> str:
        person, secret = people.take(np.array([row])), memory and memory[row : row + 1]
        try:
            stratum = 0 if strata is None else int(strata[row])
            upload = drawn(bundle, person, code=codes[row], stratum=stratum, memory=secret)
            if isinstance(upload, Pending):
                assert isinstance(bundle, MixersBundle), "only its uploads are pending"
                upload = with_tokens(upload, bundle, connection)
            outcome: str = send(upload.encoded(bundle), bundle, connection)
        except ProtocolError as error:
            outcome = str(error.problems[0].path[0])
        if progress:
            progress(1)
        return outcome

    begun = time.monotonic()
    outcomes = Counter(_all(one, people.number, at_once))
    seconds = time.monotonic() - begun
    stored, repeated = outcomes.pop("stored", 0), outcomes.pop("repeated", 0)
    sealed = (stored + repeated) * bundle.places
    length = upload_length(bundle)
    return CrowdUploads(people.number, stored, repeated, dict(outcomes), sealed, length, seconds)


def _all(one: Callable[[int], str], people: int, at_once: int) -> Iterator[str]:
    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield from pool.map(one, range(people))
        except BaseException:  # an interrupt: start no more uploads
            pool.shutdown(wait=False, cancel_futures=True)
            raise
