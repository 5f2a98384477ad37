"""The laws of one question's reports, written out: every report, every record."""

from itertools import product

import numpy as np

from incrowd.accountant.channels.k_ary import KAry
from incrowd.survey import Choice, YesNo


def k_ary(keep, options):
    """P(report | answer) of a response that keeps an answer or takes one of the others."""
    other = (1 - keep) / (options - 1)
    return np.full((options, options), other) + (keep - other) * np.eye(options)


def patterns(bits):
    return np.array(list(product([0, 1], repeat=bits)))


def axis_of(question, channel):
    """P(report | record) of a question, all reports by all records, and what a record means."""
    records, meaning = records_of(question)
    if isinstance(channel, KAry):
        reports = np.eye(question.bits, dtype=int)
        law = k_ary(float(channel.matrix[0, 0]), question.bits)
        return reports, law, meaning
    reports = patterns(question.bits)
    law = channel.matrix[reports[:, None, :], records[None, :, :]].prod(axis=2)
    return reports, law, meaning


def records_of(question):
    bits = question.bits
    if isinstance(question, YesNo):
        return np.array([[0], [1]]), np.eye(2)
    if isinstance(question, Choice):
        return np.eye(bits, dtype=int), np.eye(bits)
    records = np.vstack([np.zeros(bits, int), np.eye(bits, dtype=int)])
    return records, records.T


def with_one(bits):
    """(1, the bits), one column for each row of bits."""
    return np.vstack([np.ones(len(bits)), bits.T])
