"""A person's answers, as everything that she sends: drawn once, sealed, in one upload."""

from __future__ import annotations

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.plaintext import filled
from incrowd.collection.protocol.upload import Upload, sealed_upload
from incrowd.encoding.records import People
from incrowd.plans.slots import fit, most_reports
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import Memory
from incrowd.sampling.randomize import randomize_message, rounded
from incrowd.sampling.shuffle import permutation


def sealed_answers(
    bundle: Bundle, person: People, *, code: bytes, stratum: int, memory: Memory | None = None
) -> Upload:
    """The upload of one person, with randomness of the operating system.

    person: the encoded answers of exactly one. memory: of her device, for permanent responses.
    """
    keystream = Keystream.from_system()
    made = plaintexts(bundle, person, keystream, memory)
    order = permutation(bundle.places, keystream).tolist()
    return sealed_upload(bundle, code, stratum, made, order)


def plaintexts(
    bundle: Bundle, person: People, keystream: Keystream, memory: Memory | None = None
) -> list[bytes]:
    """The plaintexts of one person, dummies included, before they are put in random order.

    Amounts are rounded once. If there are more reports of some pool than slots, all noise of
    all messages is drawn again, except for permanent responses, which keep to the slots by
    themselves; what that costs is in the promise. Proof: docs/protocol.md, "Slots".
    """
    plan, person = bundle.plan, rounded(person, keystream)
    most = most_reports(plan.messages, bundle.slots)
    shapes = list(zip(plan.messages, most, strict=True))
    while True:
        drawn = [randomize_message(plan, m, person, keystream, memory, n) for m, n in shapes]
        reports = [[report.tobytes() for report in packed] for packed in drawn]
        if fit(plan.messages, bundle.slots, [len(packed) for packed in reports]):
            return filled(bundle.shape, sum(bundle.slots), reports)
