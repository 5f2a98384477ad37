"""What is said of randomness, of device keys and of arrays of bits."""

import os
from unittest import mock

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.kernels.axes import transform
from incrowd.kernels.codes import histogram
from incrowd.kernels.counts import count_bits
from incrowd.kernels.gaps import join_digits, set_bits
from incrowd.sampling.flips import flip_mask, gaps
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import permanent_bits
from incrowd.sampling.records import KeystreamCoins, respond
from tests.messages.shared import file, made, people, survey
from tests.oracles import service_plans

BYTES = np.zeros((2, 1), np.uint8)
STREAM = Keystream.for_simulation(1)
K_ARY = KAry.from_probabilities(0.7, 3)
KEY = incrowd.DeviceKey.create()


def key(change, mode=0o600):
    """A key file that was changed after it was written."""

    def call(folder):
        KEY.save(folder / "key")
        text = (folder / "key").read_bytes()
        os.chmod(file(folder, "key", change(text)), mode)
        return incrowd.DeviceKey.load(folder / "key")

    return call


def full_disk(folder):
    """A key that is not written because the disk is full."""
    with mock.patch("os.fsync", side_effect=OSError(28, os.strerror(28))):
        KEY.save(folder / "key")


def forked(_):
    """A stream of a simulation that goes on in another process."""
    stream = Keystream.for_simulation(1)
    with mock.patch("os.getpid", lambda: 1):
        stream.words(1)


def remembered(rows, **options):
    """Answers to a memoized question."""
    device = {"kind": "rappor", "f": 0.5, "memoized": True}
    asked = survey({"id": "a", "type": "yesno", "randomizer": device})
    answers = pa.table({"a": ["yes"] * rows})
    return lambda _: incrowd.randomize(incrowd.plan(asked), answers, **options)


def fewer_than_a_release(_):
    """Nine people, whose counts a data owner would publish."""
    answers = pa.table({"smokes": ["yes"] * 9, "team": ["a"] * 9})
    incrowd.randomize(service_plans.plan_of(service_plans.survey_of()), answers)


CASES = {
    "fewer people than a release needs": fewer_than_a_release,
    "a negative number of rows": lambda _: flip_mask(1, (-1, 3), STREAM),
    "records of another shape": lambda _: respond(BYTES, 9, BitFlip(1), STREAM),
    "a padding bit": lambda _: respond(BYTES + 255, 3, BitFlip(1), STREAM),
    "a mask with a noise of zero": lambda _: gaps(0, 1, STREAM, 10),
    "gaps without a limit": lambda _: gaps(1, 1, STREAM, 0),
    "a code of no option": lambda _: K_ARY.chosen(np.array([3]), KeystreamCoins(STREAM)),
    "a negative seed": lambda _: incrowd.randomize(made(), people(), simulation_seed=-1),
    "a simulation in another process": forked,
    "no device key": remembered(1),
    "no column of the devices": remembered(2, device_key=KEY),
    "a short secret": lambda _: incrowd.DeviceKey(b"short"),
    "a key that is there": lambda folder: KEY.save(file(folder, "key")),
    "a key in no folder": lambda folder: KEY.save(folder / "none" / "key"),
    "a key on a full disk": full_disk,
    "no key file": lambda folder: incrowd.DeviceKey.load(folder / "key"),
    "a key file that is no text": key(lambda _: b"\xff"),
    "a key file of something else": key(lambda _: b"name = 1"),
    "a key file with other digits": key(lambda text: text.replace(b"\n", b"\nx", 1)),
    "a key file with fewer digits": key(lambda text: b"incrowd device key 1\n00\n00\n"),
    "a key file open to others": key(lambda text: text, 0o644),
    "a key file that was changed": key(
        lambda text: text[: text.index(b"\n") + 1] + b"0" * 64 + text[text.index(b"\n") + 65 :]
    ),
    "bits that are none": lambda _: permanent_bits(KEY, [2], BitFlip(1), "", "a", "x"),
    "a matrix of another axis": lambda _: transform([np.eye(3)], np.zeros(2)),
    "too many columns": lambda _: histogram(BYTES, range(40)),
    "a column beyond the record": lambda _: histogram(BYTES, [8]),
    "too many bits": lambda _: count_bits(BYTES, 9),
    "too many numbers": lambda _: join_digits(np.zeros((1, 1), np.uint64), 65),
    "a position beyond the record": lambda _: set_bits(BYTES, 8, np.array([16])),
}
