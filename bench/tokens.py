"""Tokens: blind signatures beside the private operations of OpenSSL, on one core, in turns."""

import os
import re
import shutil
import statistics
import subprocess
import time
from functools import partial

from bench.measure import Row, medians
from incrowd.collection.inviter.signing import new_token_key, sign_blinded
from incrowd.collection.protocol.blind import blind_all, finalize, random_blinding

SIGNED, SLOTS, ROUNDS = 400, 20, 5
MESSAGE = b"a token"


def rows():
    private = new_token_key()
    key = private.public
    salt, blinding = random_blinding(key)
    ((blinded, inverse),) = blind_all([MESSAGE], key, [(salt, blinding)])
    yield signing(blinded, private)
    drawn = [random_blinding(key) for _ in range(SLOTS)]
    messages = [MESSAGE] * SLOTS
    together = partial(blind_all, messages, key, drawn)

    def one_by_one():
        for salt, blinding in drawn:
            blind_all([MESSAGE], key, [(salt, blinding)])

    ours, theirs = (each / SLOTS for each in medians([together, one_by_one]))
    what = f"a token blinded, {SLOTS} of one key: {1 / ours:,.0f} a second"
    yield Row(what, ours, "one by one", theirs)
    answer = sign_blinded(blinded, private)
    (seconds,) = medians([partial(finalize, MESSAGE, answer, inverse, key)])
    yield Row(f"a token unblinded and verified: {1 / seconds:,.0f} a second", seconds)


def signing(blinded, private):
    """Processor time for each, so that other work on the machine counts on neither side."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_signed(blinded, private))
        if shutil.which("openssl"):
            theirs.append(_openssl())
    seconds = statistics.median(ours)
    what = f"a token signed, base blinding and fault check included: {1 / seconds:,.0f} a second"
    if not theirs:
        return Row(what, seconds)
    peer = statistics.median(theirs)
    return Row(what, seconds, f"openssl speed rsa2048: {1 / peer:,.0f} a second", peer)


def _signed(blinded, private):
    start = time.process_time()
    for _ in range(SIGNED):
        sign_blinded(blinded, private)
    return (time.process_time() - start) / SIGNED


def _openssl():
    """Seconds of one private operation: OpenSSL divides by the processor time, too."""
    command = ["openssl", "speed", "-seconds", "1", "rsa2048"]
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return 1 / float(re.search(r"^rsa 2048 bits +\S+ +\S+ +([\d.]+)", done.stdout, re.MULTILINE)[1])
