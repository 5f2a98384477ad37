"""What the flips of any sampler have to pass: rates everywhere."""

import math

import numpy as np

from incrowd.accountant.channels.bit_flip import DENOMINATOR

BYTE_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")


def column_counts(mask, bits):
    """Flips at each bit position, without unpacking."""
    counts = [np.bincount(column, minlength=256) @ BYTE_BITS for column in mask.T]
    return np.concatenate(counts)[:bits]


def rates_fit(mask, bits, numerator):
    """The overall rate and each position's are within 5 standard errors of numerator / 2^32.

    False alarms: 5.7e-7 (bits + 1), at most 3.8e-5 for 64 bits.
    """
    q, rows = numerator / DENOMINATOR, len(mask)
    counts = column_counts(mask, bits)
    scale = math.sqrt(rows * q * (1 - q))
    overall = abs(counts.sum() - rows * bits * q) <= 5 * scale * math.sqrt(bits)
    return bool(overall and (np.abs(counts - rows * q) <= 5 * scale).all())
