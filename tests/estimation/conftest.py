"""Settings from which whole collections are drawn, at the level of counts."""

import itertools
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.cells import CellCounts, CellsReading, FalseReports
from incrowd.estimation.decoders import channel_matrix, question_decoder
from incrowd.estimation.regression.levels import level_decoder, level_rows
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.pairs import MessageRows
from incrowd.estimation.tables import along_axes, combined, estimate_table
from incrowd.plans import CellsMessage
from incrowd.survey import Choice, Multi, YesNo
from tests.oracles.axes import axis_of, patterns, with_one

ONE_REPORT = FalseReports(lambda _: 1, shared=True)  # what a sender can send


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
        cells = generator.multinomial(self.people, self.shares.ravel(), size=trials)
        return self.reports_of(cells, generator)

    def reports_of(self, cells, generator):
        """Histograms of the reports of so many people in each cell."""
        law = reduce(np.kron, [law for _, law, _ in self.axes])
        total = np.zeros((len(cells), len(law)), int)
        for cell, column in enumerate(law.T):
            total += generator.multinomial(self.copies * cells[:, cell], column / column.sum())
        return total.reshape(len(cells), *(len(reports) for reports, _, _ in self.axes))

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
        decoders = [question_decoder(*pair, margin) for pair in pairs]
        return [
            estimate_table(self.ids, decoders, counts, self.copies, covariance=True)
            for counts in self.counts(histograms, with_pairs)
        ]


def with_pairs(bits):
    """(1, the bits, the products of two bits), one column for each row of bits."""
    first, second = np.triu_indices(bits.shape[1], 1)
    return np.vstack([with_one(bits), (bits[:, first] * bits[:, second]).T])


FLIP = BitFlip.at_least(0.2)
TRIALS = 4000
Z = norm.ppf(0.975)

SEX = Choice(id="sex", options=("f", "m", "x"))
SMOKES = YesNo(id="smokes")
USES = Multi(id="uses", options=("u", "v", "w"), at_most=2)
MIXED = (SMOKES, SEX, USES)


def records():
    """All allowed records, and which cells (with margins) they lie in."""
    one_hot = np.eye(3, dtype=int)
    sets = [s for s in patterns(3) if s.sum() <= 2]
    for a, b, c in itertools.product([0, 1], range(3), sets):
        cells = [np.eye(2)[a], one_hot[b], c]
        ends = [np.append(cell, 1) for cell in cells]
        yield np.concatenate([[a], one_hot[b], c]), reduce(np.multiply.outer, ends).ravel()


def kronecker(questions):
    return reduce(np.kron, [channel_matrix(q, FLIP.matrix) for q in questions])


def drawn_histograms(questions, shares, people, copies, seed, trials=TRIALS):
    """Histograms of collections: people drawn from the shares, each report drawn from its person's
    cell. Independent of the library's own bootstrap."""
    generator, channel = np.random.default_rng(seed), kronecker(questions)
    sizes = [1 << q.domain.bits for q in questions]
    cells = generator.multinomial(people, np.ravel(shares), size=trials)
    total = np.zeros((trials, len(channel)), int)
    for cell, column in enumerate(channel.T):
        total += generator.multinomial(copies * cells[:, cell], column / column.sum())
    return total.reshape(trials, *sizes)


def joint_estimates(questions, counts, copies=1, margin=False):
    """The estimate of every collection, from its histogram."""
    met = [with_pairs(patterns(q.domain.bits)) for q in questions]
    moments = np.moveaxis(along_axes(met, np.moveaxis(np.asarray(counts), 0, -1)), -1, 0)
    decoders, ids = (
        [question_decoder(q, FLIP, margin) for q in questions],
        [q.id for q in questions],
    )
    return [estimate_table(ids, decoders, each, copies, covariance=True) for each in moments]


def nominal(coverage):
    """The check that right intervals pass and the wrong variants fail."""
    return bool(np.all((coverage >= 0.935) & (coverage <= 0.965)))


TWO_WAY = ((SMOKES, SEX), np.array([[0.30, 0.22, 0.10], [0.12, 0.18, 0.08]]))


def numeric_gradient(function, point):
    steps = np.eye(len(point)) * 1e-6
    return np.array([(function(point + s) - function(point - s)) / 2e-6 for s in steps])


# --- regression ------------------------------------------------------------------------------


class Mailing(NamedTuple):
    """A message: how its bits are flipped, how often a person sends it, how much it weighs."""

    channels: tuple
    copies: int = 1
    weight: float = 1.0


class Stratum(NamedTuple):
    """People who gave the same answers in clear: those, their table, their number."""

    clear: dict
    shares: np.ndarray
    people: int


class Crowd(NamedTuple):
    """A model, the strata of people, and the messages in which all of them answer."""

    model: Model
    strata: tuple
    mailings: tuple

    @property
    def questions(self):
        return tuple(variable.question for variable in self.model.randomized)

    def settings(self, stratum):
        return [
            Setting(self.questions, each.channels, stratum.shares, stratum.people, each.copies)
            for each in self.mailings
        ]

    def histograms(self, stratum, seed, trials):
        """For each message the histograms of collections, all of the same people."""
        generator = np.random.default_rng(seed)
        cells = generator.multinomial(stratum.people, stratum.shares.ravel(), size=trials)
        return [each.reports_of(cells, generator) for each in self.settings(stratum)]

    def tables(self, stratum, seed, trials, copies=None, sampled=True):
        """The joint estimate of every collection; copies: wrongly taken to be."""
        found = []
        pairs = zip(
            self.mailings,
            self.settings(stratum),
            self.histograms(stratum, seed, trials),
            strict=True,
        )
        for mailing, setting, histograms in pairs:
            decoders = [
                level_decoder(*each)
                for each in zip(self.model.randomized, mailing.channels, strict=True)
            ]
            counted = setting.counts(histograms, with_pairs)
            each = copies or mailing.copies
            found.append(
                [
                    estimate_table(setting.ids, decoders, c, each, covariance=True, unbiased=True)
                    for c in counted
                ]
            )
        weights = [mailing.weight for mailing in self.mailings]
        return [combined(each, weights, unbiased=True) for each in zip(*found, strict=True)]

    def collections(self, seed, trials, **wrong):
        """What `fit_tables` takes, for every collection."""
        made = [
            self.tables(stratum, seed + place, trials, **wrong)
            for place, stratum in enumerate(self.strata)
        ]
        clear = [stratum.clear for stratum in self.strata]
        return [list(zip(clear, tables, strict=True)) for tables in zip(*made, strict=True)]

    def rows(self, stratum, seed):
        """What the reports of one collection say of all levels, one by one, for each message."""
        for mailing, setting, (histogram,) in zip(
            self.mailings, self.settings(stratum), self.histograms(stratum, seed, 1), strict=True
        ):
            shown = np.repeat(
                np.argwhere(histogram > 0), histogram[histogram > 0].astype(int), axis=0
            )
            axes = zip(self.model.randomized, mailing.channels, setting.axes, shown.T, strict=True)
            yield np.hstack(
                [
                    with_one(reports[place]).T @ level_rows(variable, channel).T
                    for variable, channel, (reports, _, _), place in axes
                ]
            )

    def sent(self, seed):
        """What `pairs_of_stratum` takes, for each stratum of one collection."""
        for place, stratum in enumerate(self.strata):
            pairs = zip(self.rows(stratum, seed + place), self.mailings, strict=True)
            yield (
                stratum.clear,
                [
                    MessageRows(
                        partial(lambda r: iter(np.array_split(r, 3)), rows),
                        m.copies,
                        m.copies,
                        m.weight,
                    )
                    for rows, m in pairs
                ],
            )


def covered(fits, truth):
    """For each coefficient the share of intervals that hold the truth; all have to be there."""
    assert all(fit.coefficients for fit in fits), {fit.reason for fit in fits}
    ends = np.array([[(c.low, c.high) for c in fit.coefficients] for fit in fits])
    return np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1]), axis=0)


def cells_of(questions, flip):
    """A message of the cells of some questions."""
    return CellsMessage(questions=tuple(questions), noise_numerator=flip.numerator)


def table_of_cells(questions, counts, people, flip, noise_only=False):
    """The table of all questions of one message of cells. counts: the reports of each cell."""
    part = CellCounts(cells_of(questions, flip), people, np.asarray(counts))
    return CellsReading((part,), 1.0).table(questions, noise_only, ONE_REPORT)
