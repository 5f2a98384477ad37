"""Collections of cells at the level of counts, by their exact law.

People are drawn from a law of their answers: the numbers of people in all combinations are
multinomial. Given these, the reports of each cell are those of the people who are in it, each with
probability 1 - q, and of the others, each with probability q, all independent: the sum of two
binomial numbers. Nothing else of a collection reaches an estimate.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import incrowd
from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.reports.tally import MessageTally, Tally


@dataclass(frozen=True)
class CellCollections:
    """A plan of cells and the people who answer.

    law: the share of people with each combination of answers, an axis for each question of the
    survey in its order; all answers exclusive. noises: of each message.
    """

    questions: tuple
    tables: tuple
    noises: tuple
    law: np.ndarray

    @property
    def ids(self):
        return [question["id"] for question in self.questions]

    @cached_property
    def plan(self):
        """A plan with these messages; what it promises is of no matter here."""
        messages = [{"questions": list(ids), "cells": True} for ids in self.tables]
        raw = {"name": "s", "crowd": 100, "privacy": {"epsilon": 30.0, "analysis": "local"}}
        made = incrowd.plan(
            incrowd.Survey.of(raw | {"question": list(self.questions), "message": messages})
        )
        noisy = [
            message.model_copy(update={"noise_numerator": round(q * DENOMINATOR)})
            for message, q in zip(made.messages, self.noises, strict=True)
        ]
        return made.model_copy(update={"messages": tuple(noisy)})

    def shares(self, ids):
        """The true shares of a table, its axes in the order of the ids."""
        return summed(self.law, self.ids, ids)

    def people(self, number, trials, generator):
        """How many of so many people give each combination of answers."""
        cells = generator.multinomial(number, self.law.ravel(), size=trials)
        return cells.reshape(trials, *self.law.shape)

    def inside(self, people):
        """For each message how many people are in its cells, shape (trials, cells)."""
        for ids, message in zip(self.tables, self.plan.messages, strict=True):
            cells = summed(people, ["", *self.ids], ["", *ids]).reshape(len(people), -1)
            yield cells[:, -message.record_bits :]  # of a yes/no question alone, "yes"

    def reports(self, people, generator):
        """For each message the reports of its cells, shape (trials, cells)."""
        number = people[0].sum()
        for cells, message in zip(self.inside(people), self.plan.messages, strict=True):
            q = message.noise.q
            yield generator.binomial(cells, 1 - q) + generator.binomial(number - cells, q)

    def tallies(self, number, trials, seed):
        """The tally of each of so many collections of so many people."""
        generator = np.random.default_rng(seed)
        people = self.people(number, trials, generator)
        sent = list(self.reports(people, generator))
        tables = tuple(message.ids for message in self.plan.messages)
        empty = Tally(self.plan.digest, tables, "pairs")
        for trial in range(trials):
            messages = {
                place: MessageTally(
                    accepted=int(counts[trial].sum()),
                    rejected=0,
                    declared=number,
                    tables={ids: np.append(number, counts[trial])},
                )
                for place, (ids, counts) in enumerate(zip(tables, sent, strict=True))
            }
            yield replace(empty, messages=messages)


def noise_of(cell, number):
    """The probability q of a flip with which the noise of a cell, sqrt(N q (1 - q)) / (1 - 2 q), is
    so many of N people."""
    return (1 - 1 / np.sqrt(1 + 4 * cell**2 / number)) / 2


def summed(table, axes, kept):
    """A table summed over all axes but some, these in the order given."""
    rest = tuple(place for place, name in enumerate(axes) if name not in kept)
    left = [name for name in axes if name in kept]
    return np.transpose(table.sum(axis=rest), [left.index(name) for name in kept])
