"""What the tests of several samplers share: simulated and scripted streams of random words."""

import numpy as np

from incrowd.sampling.keystream import Keystream

FALSE_ALARM = 1e-6


def simulation(seed):
    return Keystream.for_simulation(seed)


class Scripted:
    """A keystream that answers each call from a script: a function of the call and its size."""

    def __init__(self, script):
        self.script, self.sizes = script, []

    def words(self, count):
        self.sizes.append(count)
        return np.asarray(self.script(len(self.sizes) - 1, count), dtype=np.uint64)


def pack(bits):
    return np.packbits(np.asarray(bits, np.uint8), axis=1, bitorder="little")


def unpack(packed, bits):
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little")
