"""The second mixer: envelopes beside bare HPKE and RSA on one core; a million reports permuted."""

import os
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.hashes import SHA384

from bench import services
from bench.measure import Row, medians
from incrowd.collection.mixer.second.opening import PIECE_ENVELOPES, EnvelopeOpener, Piece, pieces
from incrowd.collection.mixer.second.releasing import release_stratum
from incrowd.collection.protocol.blind import SALT_BYTES
from incrowd.collection.protocol.bundle import OUTER_LABEL
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.sealed import HEADER, info
from incrowd.collection.protocol.signed import sign
from incrowd.collection.protocol.tokens import TokenReport, slot_text
from tests.oracles import mixers

PEOPLE, MILLION = 50, 1_000_000  # people whose envelopes are opened; reports that are permuted
STEP = 1 << 14


def rows():
    for key in (mixers.SECOND_CLASSICAL, mixers.SECOND_KEY):
        yield opening(key)
    with tempfile.TemporaryDirectory() as folder:
        seconds, megabytes = services.alone(permuting, Path(folder), MILLION)
    what = f"{MILLION:,} opened reports permuted and signed; at most {megabytes:,.0f} MB"
    yield Row(what, seconds)


def opening(private):
    """Everything about an envelope beside the two operations that it cannot do without."""
    bundle = mixers.bundle(second=private)
    batch, body = mixers.batch(bundle, [mixers.upload(bundle) for _ in range(PEOPLE)])
    envelopes = np.frombuffer(body, np.uint8).reshape(-1, bundle.envelope_length)
    given = list(pieces(envelopes, batch.header, bundle.places))
    assert len(envelopes) < PIECE_ENVELOPES
    work = EnvelopeOpener(bundle, private)
    about = info(bundle.second_key.header, bundle.binding(0), OUTER_LABEL)
    ciphertexts = [each.tobytes()[HEADER.size :] for each in envelopes]
    plain = (private.kem.suite.decrypt(each, private.key, about) for each in ciphertexts)
    reports = list(map(TokenReport.parse, plain))
    texts = [slot_text(bundle.digest, 0, each.message, each.inner) for each in reports]
    keys = [bundle.inviter.messages[each.message].key.public for each in reports]
    padding = PSS(MGF1(SHA384()), SALT_BYTES)

    def ours():
        (piece,) = map(work, given)
        assert len(piece.rows) == len(envelopes) * bundle.row_length

    def bare():
        for ciphertext, report, text, key in zip(ciphertexts, reports, texts, keys, strict=True):
            private.kem.suite.decrypt(ciphertext, private.key, about)
            key.verify(report.token, text, padding, SHA384())

    spent, alone = (each / len(envelopes) for each in medians([ours, bare], runs=5))
    rate, peer = (f"{1 / each:,.0f} a second" for each in (spent, alone))
    what = f"an envelope opened and its token verified, {private.kem.name}: {rate}"
    return Row(what, spent, f"HPKE and RSA alone: {peer}", alone, "at least .80")


def permuting(folder, many):
    """Release a stratum whose reports look sealed."""
    bundle = mixers.bundle(second=mixers.SECOND_CLASSICAL)
    people = -(-many // bundle.places)
    batch = sign(Batch(bundle.digest, ((0, people),), sha256(os.urandom(8)).digest()), mixers.FIRST)
    labels = np.array(bundle.slot_messages * people, ">u2").view(np.uint8).reshape(-1, 2)

    def opened():
        for at in range(0, len(labels), STEP):
            some = labels[at : at + STEP]
            rest = np.frombuffer(os.urandom(len(some) * (bundle.row_length - 2)), np.uint8)
            rows = np.hstack([some, rest.reshape(len(some), -1)])
            yield Piece(0, rows.tobytes(), Counter())

    release_stratum(0, opened(), batch, bundle, mixers.SECOND, folder)
    assert (folder / "0.body").stat().st_size == len(labels) * bundle.row_length
