"""How good the estimates of a plan are: many collections drawn, randomised and estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.encoding.people import People
from incrowd.encoding.records import pack
from incrowd.errors import UsageError
from incrowd.estimation.readings import table_of
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.truth import theoretical_error, true_table
from incrowd.planner.sources import sources
from incrowd.plans import Message, Plan
from incrowd.reports.collection import Collection
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.records import randomize_records
from incrowd.survey import Survey, Text
from incrowd.workflow.estimate import count, readings
from incrowd.workflow.plan import plan
from incrowd.workflow.randomize import randomize_message
from incrowd.workflow.truth import true_moments

MOST_SEED = 2**63


@dataclass(frozen=True)
class TableQuality:
    """What the trials show of one table; every array has the shape of the table.

    coverage: share of trials whose interval holds the truth. joint_coverage: share of trials in
    which all intervals of the table hold at once. bias: mean estimate less truth. bias_error: its
    standard error, from the number of trials. mean_standard_error: what the estimates say of
    themselves (root mean square). empirical_standard_error: how far they really spread.
    theoretical_error: what the truth and the noise say they should. efficiency: theoretical over
    empirical variance, summed over cells; 1 but for the error of the simulation.
    """

    questions: tuple[str, ...]
    coverage: np.ndarray
    joint_coverage: float
    bias: np.ndarray
    bias_error: np.ndarray
    mean_standard_error: np.ndarray
    empirical_standard_error: np.ndarray
    theoretical_error: np.ndarray

    @property
    def efficiency(self) -> float:
        """Theoretical over empirical variance, of all cells together."""
        found = float((self.empirical_standard_error**2).sum())
        return float((self.theoretical_error**2).sum()) / found if found > 0 else 1.0


@dataclass(frozen=True)
class Simulation:
    """The quality of every table over a number of trials."""

    plan: Plan
    trials: int
    fixed_people: bool
    tables: tuple[TableQuality, ...]
    seed: int


def simulate(
    survey: Survey,
    answers: pa.Table,
    *,
    trials: int = 1000,
    fixed_people: bool = False,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Plan once; in each trial draw people, randomise, estimate; compare with the true shares.

    Each trial draws `crowd` people from the answers with replacement and uses the errors of noise
    plus sampling; `fixed_people` draws them once, keeps them, and uses the errors of the noise
    alone. Text questions are left out. progress: called with 1 after every trial. The randomness
    is repeatable (`seed`). Raises UsageError for fewer than 2 trials, a negative seed, or if
    there are fewer fixed people than the crowd.
    """
    if trials < 2:
        raise UsageError.of("trials", trials, "should be at least 2")
    if not 0 <= seed < MOST_SEED:
        raise UsageError.of("seed", seed, "should be at least 0 and below 2^63")
    made = plan(survey)
    everybody = People.of(survey, answers)
    if fixed_people and everybody.number < survey.crowd:
        allowed = f"only {everybody.number} answers to keep fixed"
        raise UsageError.of("crowd", survey.crowd, allowed)
    generator, keystream = np.random.default_rng(seed), Keystream.for_simulation(seed)
    if fixed_people:
        chosen = np.sort(generator.permutation(everybody.number)[: survey.crowd])
        everybody = everybody.take(chosen)
    trial = Trial.of(made, everybody, fixed_people)
    truth = [true_moments(made, everybody, ids) for ids in trial.wanted]
    collected = []
    for _ in range(trials):
        collected.append(trial.run(generator, keystream))
        if progress:
            progress(1)
    tables = tuple(
        _quality(made, ids, true, [found[number] for found in collected])
        for number, (ids, true) in enumerate(zip(trial.wanted, truth, strict=True))
    )
    return Simulation(made, trials, fixed_people, tables, seed)


class Trial(NamedTuple):
    """What all trials share: the plan, the people, and their records where those never change."""

    plan: Plan
    people: People
    records: tuple[np.ndarray | None, ...]
    fixed_people: bool
    wanted: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, made: Plan, people: People, fixed_people: bool) -> Trial:
        """Pack the records of every message without text questions and without wide ones."""
        text = {q.id for q in made.survey.questions if isinstance(q, Text)}

        def packed(message: Message) -> np.ndarray | None:
            if message.unlinked or text & set(message.ids):
                return None
            return pack(message.questions, people.encoded, people.number)

        records = tuple(packed(message) for message in made.messages)
        wanted = tuple(ids for ids in made.survey.wanted if ids[0] not in text)
        return cls(made, people, records, fixed_people, wanted)

    def run(self, generator: np.random.Generator, keystream: Keystream) -> list[TableEstimate]:
        """Every wanted table from one collection."""
        size = self.plan.survey.crowd
        drawn = (
            np.arange(self.people.number)
            if self.fixed_people
            else generator.integers(self.people.number, size=size)
        )
        reports = [self._reports(number, drawn, keystream) for number in range(len(self.records))]
        counted = count(self.plan, reports, tables=self.wanted)
        return [
            table_of(self.plan, readings(self.plan, counted, ids), ids, self.fixed_people)
            for ids in self.wanted
        ]

    def _reports(self, number: int, drawn: np.ndarray, keystream: Keystream) -> Collection:
        message, records = self.plan.messages[number], self.records[number]
        if records is None:
            people = self.people.take(drawn)
            packed = randomize_message(self.plan, message, people, keystream)
        else:
            packed = randomize_records(records[drawn], self.plan, message, keystream)
        return Collection(
            plan=self.plan.digest,
            message=number,
            bits=message.bits,
            packed=packed,
            seed=keystream.seed,
            id=str(number),
            people=message.declared(len(drawn)),
        )


def _quality(
    made: Plan, ids: tuple[str, ...], shares: np.ndarray, trials: list[TableEstimate]
) -> TableQuality:
    truth = true_table(made, ids, shares)
    estimates = np.array([table.estimate for table in trials])
    errors = np.array([table.standard_error for table in trials])
    holds = np.array([(table.low <= truth) & (truth <= table.high) for table in trials])
    weights = [(source.message, source.weight) for source in sources(made, ids)]
    spread = np.std(estimates, axis=0, ddof=1)
    return TableQuality(
        questions=ids,
        coverage=np.mean(holds, axis=0),
        joint_coverage=float(np.mean(holds.reshape(len(trials), -1).all(axis=1))),
        bias=np.mean(estimates, axis=0) - truth,
        bias_error=spread / np.sqrt(len(trials)),
        mean_standard_error=np.sqrt(np.mean(errors**2, axis=0)),
        empirical_standard_error=spread,
        theoretical_error=theoretical_error(made, weights, ids, shares, trials[0].errors),
    )
