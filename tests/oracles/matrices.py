"""Explicit matrices of reports by records: blankets and collections of any channel, listed."""

from functools import reduce
from itertools import product

import numpy as np


def records_of(domain):
    every = product((0, 1), repeat=domain.bits)
    return [record for record in every if domain.fewest <= sum(record) <= domain.most]


def matrix_of(part):
    """P(report | record) of one question: columns of allowed records."""
    if part.channel.of_answers:
        return part.channel.matrix
    bits = part.channel.matrix
    columns = [reduce(np.kron, (bits[:, bit] for bit in record)) for record in records_of(part[0])]
    return np.stack(columns, axis=1)


def matrix(parts):
    return reduce(np.kron, map(matrix_of, parts))
