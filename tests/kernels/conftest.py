"""What the tests of several kernels share: packed arrays of any layout, both ways to work."""

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.conftest import examples

BOTH = pytest.mark.parametrize("machine_code", [False, True], ids=["numpy", "machine code"])

THOROUGH = examples(200)

SEEDS = st.integers(0, 2**32)


def unpacked(packed):
    return np.unpackbits(np.ascontiguousarray(packed), axis=1, bitorder="little")


def laid_out(rows, width, offset, gap, backwards, seed):
    """Random rows at any address, with unused bytes between them, read-only, in either order."""
    size = offset + rows * (width + gap)
    memory = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    packed = memory[offset:].reshape(rows, width + gap)[:: -1 if backwards else 1, :width]
    packed.flags.writeable = False
    return packed


class Source:
    """Random words of a seed, at any address and read-only; notes how many each call asks for."""

    def __init__(self, seed, offset=0):
        self.generator, self.offset, self.sizes = np.random.default_rng(seed), offset, []

    def draw(self, count):
        self.sizes.append(count)
        memory = np.zeros(self.offset + 8 * count, np.uint8)
        words = memory[self.offset :].view(np.uint64)
        words[:] = self.generator.integers(0, 2**64, count, dtype=np.uint64)
        words.flags.writeable = False
        return words
