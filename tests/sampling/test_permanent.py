"""Permanent responses, repeated by the same device and answer, and the key that they hang on."""

import hashlib
import os

import numpy as np
import pytest
from scipy import stats

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.rappor import Rappor
from incrowd.errors import AnswersError, UsageError
from incrowd.sampling import permanent
from incrowd.sampling.permanent import DeviceKey, permanent_bits
from incrowd.sampling.records import respond
from tests.conftest import pack
from tests.sampling.conftest import FALSE_ALARM, simulation, unpack

KEY = DeviceKey(bytes(range(32)))

NOISE = BitFlip.at_least(0.25)


def flips_of(key=KEY, survey="survey", question="question", value="yes", bits=64, noise=NOISE):
    return permanent_bits(key, [0] * bits, noise, survey, question, value)


def hmac_sha256(secret, message):
    """RFC 2104 from SHA-256 alone."""
    block = secret.ljust(64, b"\0")
    inside = hashlib.sha256(bytes(b ^ 0x36 for b in block) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inside).digest()


def test_the_numbers_are_hmacs_of_framed_fields():
    message = b""
    for text in (b"incrowd permanent response 1", b"survey", "Straße".encode(), b"yes"):
        message += len(text).to_bytes(8, "big") + text
    digests = [hmac_sha256(KEY.secret, message + i.to_bytes(8, "big")) for i in range(64)]
    expected = [int.from_bytes(d[:4], "big") < NOISE.numerator for d in digests]
    assert flips_of(question="Straße").tolist() == expected


def test_the_comparison_is_exact_at_the_numerator(monkeypatch):
    numbers = [0, NOISE.numerator - 1, NOISE.numerator, 2**32 - 1]
    monkeypatch.setattr(permanent, "uniform_number", lambda key, prefix, index: numbers[index])
    assert flips_of(bits=4).tolist() == [1, 1, 0, 0]


def test_the_same_answer_gives_the_same_bits_and_keeps_its_own():
    again = [permanent_bits(KEY, np.tile([0, 1], 32), NOISE, "s", "q", "yes") for _ in range(3)]
    assert all(np.array_equal(again[0], other) for other in again)
    flips = permanent_bits(KEY, [0] * 64, NOISE, "s", "q", "yes")
    assert np.array_equal(again[0] ^ np.tile([0, 1], 32), flips)


@pytest.mark.parametrize(
    "other",
    [
        {"key": DeviceKey(bytes(32))},
        {"survey": "surveyq", "question": "uestion"},  # the same text, cut elsewhere
        {"question": "questionyes", "value": ""},
        {"value": "no"},
    ],
)
def test_any_other_field_gives_other_bits(other):
    """Two unrelated rows of 64 agree with probability (5/8)^64 < 1e-13."""
    assert not np.array_equal(flips_of(), flips_of(**other))


def test_longer_answers_begin_alike():
    assert np.array_equal(flips_of(bits=64)[:10], flips_of(bits=10))


def number_fits(ones, total, chance):
    return stats.binomtest(int(ones), total, chance).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_flips_have_the_right_rate_and_are_independent_over_values_and_bits():
    """10,000 values of 8 bits. Wrong: 5% off."""
    rows = np.array([flips_of(value=str(v), bits=8) for v in range(10_000)])
    assert number_fits(rows.sum(), rows.size, NOISE.q)
    assert not number_fits(rows.sum(), rows.size, NOISE.q * 1.05)
    agree = NOISE.p**2 + NOISE.q**2
    for left, right in [(rows[1:], rows[:-1]), (rows[:, 1:], rows[:, :-1])]:
        assert number_fits((left == right).sum(), left.size, agree)
    # Wrong: a key that is used for one bit of the row only.
    repeated = np.tile(rows[:, :1], 8)
    assert not number_fits((repeated[:, 1:] == repeated[:, :-1]).sum(), 7 * len(rows), agree)


def test_flips_are_independent_over_devices():
    keys = [DeviceKey(hashlib.sha256(bytes([i % 256, i // 256])).digest()) for i in range(2500)]
    rows = np.array([flips_of(key=key, bits=8) for key in keys])
    agree = NOISE.p**2 + NOISE.q**2
    assert number_fits(rows.sum(), rows.size, NOISE.q)
    assert number_fits((rows[1:] == rows[:-1]).sum(), rows[1:].size, agree)


def test_averaging_many_rounds_reveals_the_permanent_bits_and_no_more():
    """4,000 rounds of 64 bits: the mean of a bit lies within 5.5 errors of its own rate; over 64
    bits the false alarms are below 3e-6. Without memory the mean would reveal the answer."""
    device, answer = Rappor.from_probabilities(0.5, 0.25, 0.75), np.tile([0, 1], 32)
    remembered = permanent_bits(KEY, answer, device.permanent, "s", "q", "yes")
    assert (remembered != answer).any()
    rounds = np.tile(pack([remembered]), (4000, 1))
    reports = respond(rounds, 64, device.instantaneous, simulation(13))
    mean = unpack(reports, 64).mean(axis=0)
    error = np.sqrt(0.25 * 0.75 / 4000)
    assert (np.abs(mean - np.where(remembered, 0.75, 0.25)) < 5.5 * error).all()
    afresh = respond(np.tile(pack([answer]), (4000, 1)), 64, device, simulation(14))
    assert np.array_equal(unpack(afresh, 64).mean(axis=0) > 0.5, answer == 1)


@pytest.mark.parametrize("bits", [[0, 2], [[0, 1]], [0.5], [-1]])
def test_bits_that_are_none_are_refused(bits):
    with pytest.raises(AnswersError, match="row of 0 and 1"):
        permanent_bits(KEY, bits, NOISE, "s", "q", "v")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_saved_key_is_its_owners_alone_and_comes_back(tmp_path, umask):
    before = os.umask(umask)
    try:
        key = DeviceKey.create()
        key.save(tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert DeviceKey.load(tmp_path / "key") == key
    assert np.array_equal(flips_of(key=DeviceKey.load(str(tmp_path / "key"))), flips_of(key=key))


def test_keys_are_new_and_never_shown():
    one, other = DeviceKey.create(), DeviceKey.create()
    assert one != other
    assert len(one.secret) == 32
    assert one.secret.hex() not in repr(one)
    assert repr(one.secret) not in repr(one)


def test_a_key_is_never_overwritten(tmp_path):
    KEY.save(tmp_path / "key")
    with pytest.raises(UsageError, match="exists"):
        DeviceKey.create().save(tmp_path / "key")
    assert DeviceKey.load(tmp_path / "key") == KEY


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o620])
def test_a_key_that_others_may_use_is_refused(tmp_path, mode):
    KEY.save(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(UsageError, match=f"mode {mode:o}"):
        DeviceKey.load(tmp_path / "key")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"incrowd device key 1\n",
        b"incrowd device key 1\n" + b"zz" * 32 + b"\n" + b"00" * 8,
        b"incrowd device key 1\n" + b"00 " * 21 + b"0\n" + b"00" * 8,
        b"incrowd device key 1\n" + b"00" * 32,
        b"incrowd device key 1\n" + b"00" * 33 + b"\n" + b"00" * 8,
        b"\xff\xfe",
    ],
)
def test_files_that_hold_no_key_are_refused(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(UsageError) as caught:
        DeviceKey.load(tmp_path / "key")
    assert "00000000" not in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path):
    for act in (DeviceKey.load, KEY.save):
        with pytest.raises(UsageError, match="none/key"):
            act(tmp_path / "none" / "key")
    with pytest.raises(UsageError, match="device_key"):
        DeviceKey.load(tmp_path)


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(33), "0" * 32])
def test_secrets_of_another_length_are_refused_and_not_shown(secret):
    with pytest.raises(UsageError, match="32 bytes") as caught:
        DeviceKey(secret)
    assert repr(secret) not in str(caught.value) or not secret


def test_a_key_that_was_not_copied_right_is_refused(tmp_path):
    """Another secret would draw all permanent responses anew, which leaks."""
    key, path = DeviceKey(bytes(range(32))), tmp_path / "key"
    key.save(path)
    assert DeviceKey.load(path) == key
    header, digits, check, _ = path.read_text().split("\n")
    for place in range(0, 64, 7):
        other = "0" if digits[place] != "0" else "1"
        changed = digits[:place] + other + digits[place + 1 :]
        path.write_text(f"{header}\n{changed}\n{check}\n")
        with pytest.raises(UsageError, match="it was changed"):
            DeviceKey.load(path)
    path.write_text(f"{header}\n{digits}\n")
    with pytest.raises(UsageError, match="it is not a key file"):
        DeviceKey.load(path)
    path.write_text(f"incrowd device key 9\n{digits}\n{check}\n")
    with pytest.raises(UsageError, match="it is not a key file"):
        DeviceKey.load(path)
