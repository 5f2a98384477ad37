"""A second mixer's folder, and the batch of a first mixer: 24 people in the
north, 23 in the south."""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from incrowd.collection.mixer.second.keeper import SecondKeeper
from incrowd.collection.protocol.bundle import OUTER_LABEL
from incrowd.collection.protocol.mixing import Batch, MixedRelease
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.signed import Signed, sign
from incrowd.collection.protocol.tokens import open_envelope
from incrowd.collection.settings import SecondMixerSettings
from incrowd.collection.steady import CertainClock
from incrowd.collection.taking import Taking
from incrowd.files import write_private
from tests.oracles import mixers

BUNDLE = mixers.bundle(strata=("north", "south"), second=mixers.SECOND_CLASSICAL)
SIZE = BUNDLE.envelope_length
PEOPLE = {0: 24, 1: 23}
CLOSED = datetime(2026, 12, 1, tzinfo=UTC)
DISPOSED = datetime(2026, 12, 31, tzinfo=UTC)


@pytest.fixture(scope="session")
def uploads():
    """With dummies only: nobody but the collector sees the difference."""
    return [mixers.upload(BUNDLE, stratum=n) for n, many in PEOPLE.items() for _ in range(many)]


@pytest.fixture(scope="session")
def batch(uploads):
    """Signed header and body."""
    return mixers.batch(BUNDLE, uploads)


def in_order(body, stratum):
    """The envelopes of a stratum in the body of a batch."""
    start = sum(PEOPLE[n] for n in range(stratum)) * BUNDLE.places
    at = range(start * SIZE, (start + PEOPLE[stratum] * BUNDLE.places) * SIZE, SIZE)
    return [body[i : i + SIZE] for i in at]


def opened(envelopes, stratum):
    """What the second mixer sees in envelopes, in their order."""
    key = mixers.SECOND_CLASSICAL
    return [open_envelope(each, key, BUNDLE, stratum) for each in envelopes]


def sealed(report, stratum):
    """A report with its token as an envelope."""
    binding = BUNDLE.binding(stratum)
    return seal(report.encoded, BUNDLE.second_key, binding, OUTER_LABEL)


def resigned(envelopes):
    """A batch of these envelopes by stratum: the first mixer signs what it likes."""
    body = b"".join(each for n in PEOPLE for each in envelopes[n])
    header = Batch(BUNDLE.digest, tuple(PEOPLE.items()), hashlib.sha256(body).digest())
    return sign(header, mixers.FIRST), body


def settings_in(folder):
    """A folder with keys and bundle."""
    settings = SecondMixerSettings(folder=folder, workers=1)
    write_private(settings.secret_file, mixers.SECOND_CLASSICAL.secret)
    write_private(settings.signing_file, mixers.SECOND.private_bytes_raw())
    write_private(settings.bundle_file, BUNDLE.encoded)
    return settings


@dataclass
class Mixer:
    """A second mixer; what it sends, and which keys existed then."""

    settings: SecondMixerSettings
    answers: bool = True
    now: datetime = CLOSED
    sent: list = field(default_factory=list)
    keys: list = field(default_factory=list)

    def __post_init__(self):
        self.keeper = SecondKeeper(
            self.settings, BUNDLE, CertainClock(lambda: self.now), self.deliver
        )

    def deliver(self, start, body):
        self.sent.append((start, body.read_bytes()))
        self.keys += [path for path in self.settings.private_files if path.exists()]
        return self.answers

    def take(self, batch):
        signed, body = batch
        with Taking(BUNDLE, self.keeper.shelf) as taking:
            taking.add(signed.encoded + body)
            return taking.done()

    def released(self, batch):
        """Take a batch and do all that is due; what the collector gets, by stratum."""
        self.take(batch)
        self.keeper.look()
        return releases(self.sent)


def releases(sent):
    """Headers and rows by stratum, checked as a collector does; nothing is sent in two versions."""
    found = {}
    for start, body in sent:
        signed, end = Signed.parse(MixedRelease, start)
        assert end == len(start)
        signed.check(BUNDLE)
        assert len(body) == signed.header.length(BUNDLE)
        assert hashlib.sha256(body).digest() == signed.header.body
        width = BUNDLE.row_length
        rows = [body[at : at + width] for at in range(0, len(body), width)]
        assert found.setdefault(signed.header.stratum, (signed.header, rows)) == (
            signed.header,
            rows,
        )
    return found


def files(settings):
    """All files in a folder, by their path in it."""
    root = settings.folder
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def mixer(tmp_path):
    return Mixer(settings_in(tmp_path / "second"))
