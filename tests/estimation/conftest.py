"""Settings from which whole collections are drawn, at the level of counts."""

from functools import reduce
from typing import NamedTuple

import numpy as np

from incrowd.estimation.covariance import estimate_joint, question_pair_decoder
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.tables import along_axes, estimate_table
from tests.oracles.axes import axis_of, with_one


class Setting(NamedTuple):
    """A table, its true shares, the people of a collection and the reports of each."""

    questions: tuple
    channels: tuple
    shares: np.ndarray
    people: int
    copies: int = 1

    @property
    def ids(self):
        return [question.id for question in self.questions]

    @property
    def axes(self):
        return [axis_of(*pair) for pair in zip(self.questions, self.channels, strict=True)]

    def collections(self, seed, trials=4000):
        """Histograms of reports: people from the shares, each report from its person's cell."""
        generator = np.random.default_rng(seed)
        law = reduce(np.kron, [law for _, law, _ in self.axes])
        cells = generator.multinomial(self.people, self.shares.ravel(), size=trials)
        total = np.zeros((trials, len(law)), int)
        for cell, column in enumerate(law.T):
            total += generator.multinomial(self.copies * cells[:, cell], column / column.sum())
        return total.reshape(trials, *(len(reports) for reports, _, _ in self.axes))

    def counts(self, histograms, conditions):
        """The counts of what the reports meet: the conditions of each question's bits."""
        met = [conditions(reports) for reports, _, _ in self.axes]
        return np.moveaxis(along_axes(met, np.moveaxis(histograms, 0, -1)), -1, 0)

    def tables(self, histograms, channels=None, copies=None):
        """The estimate of every collection."""
        pairs = zip(self.questions, channels or self.channels, strict=True)
        decoders = [question_decoder(*pair) for pair in pairs]
        return [
            estimate_table(self.ids, decoders, counts, copies or self.copies)
            for counts in self.counts(histograms, with_one)
        ]

    def joints(self, histograms, margin=False):
        """The estimate of every collection with the covariance of its cells."""
        pairs = zip(self.questions, self.channels, strict=True)
        decoders = [question_pair_decoder(*pair, margin) for pair in pairs]
        return [
            estimate_joint(self.ids, decoders, counts, self.copies)
            for counts in self.counts(histograms, with_pairs)
        ]


def with_pairs(bits):
    """(1, the bits, the products of two bits), one column for each row of bits."""
    first, second = np.triu_indices(bits.shape[1], 1)
    return np.vstack([with_one(bits), (bits[:, first] * bits[:, second]).T])
