"""The keystream: the published vectors, seeds, and what a forked process draws."""

import os
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from incrowd.sampling.keystream import Keystream
from tests.sampling.conftest import simulation


def test_words_are_the_published_aes_256_counter_vector():
    # NIST SP 800-38A, F.5.5: the output blocks are the keystream.
    key = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
    counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
    plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    sent = "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    expected = bytes(a ^ b for a, b in zip(bytes.fromhex(plain), bytes.fromhex(sent), strict=True))
    words = Keystream(bytes.fromhex(key), bytes.fromhex(counter)).words(4)
    assert words.dtype == np.uint64
    assert b"".join(int(word).to_bytes(8, "little") for word in words) == expected


def test_words_agree_with_the_cipher_over_many_pieces():
    key, counter = bytes(range(32)), bytes(range(16))
    cipher = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    expected = cipher.update(bytes(8 * 100_001))
    assert Keystream(key, counter).words(100_001).astype("<u8").tobytes() == expected


@pytest.mark.parametrize("parts", [(3, 7), (1, 0, 9), (10, 0), (8191, 1, 8193)])
def test_words_continue_from_call_to_call(parts):
    stream = simulation(1)
    pieces = np.concatenate([stream.words(part) for part in parts])
    np.testing.assert_array_equal(pieces, simulation(1).words(sum(parts)))


def test_streams_differ_unless_the_seed_is_the_same():
    assert (Keystream.from_system().words(8) != Keystream.from_system().words(8)).all()
    assert (simulation(1).words(8) != simulation(2).words(8)).all()
    assert (simulation(1).words(8) == simulation(1).words(8)).all()


def test_only_a_simulation_says_that_it_is_one():
    assert (simulation(7).simulation, simulation(7).seed) == (True, 7)
    assert (Keystream.from_system().simulation, Keystream.from_system().seed) == (False, None)


FORK = """
import os
from incrowd.errors import UsageError
from incrowd.sampling.keystream import Keystream
def answer(stream):
    try:
        return stream.words(4).tobytes().hex()
    except UsageError as error:
        return "refused " + str(error)
stream = {stream}
stream.words(1)
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, answer(stream).encode())
    os._exit(0)
os.waitpid(child, 0)
print(answer(stream))
print(os.read(reader, 1000).decode())
"""


def after_fork(stream):
    command = [sys.executable, "-c", FORK.format(stream=stream)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_of_a_system_stream_draws_other_words():
    parent, child = after_fork("Keystream.from_system()")
    assert len(parent) == len(child) == 64
    assert parent != child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_of_a_simulation_refuses():
    parent, child = after_fork("Keystream.for_simulation(12)")
    assert parent == simulation(12).words(5)[1:].tobytes().hex()
    assert child.startswith("refused simulation_seed: got 12;")
