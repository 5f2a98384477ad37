"""How good the estimates of a plan are: many collections drawn, randomised and estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from incrowd.encoding.answers import check_columns
from incrowd.encoding.records import encode
from incrowd.errors import UsageError
from incrowd.plan import Plan
from incrowd.randomize.keystream import Keystream
from incrowd.reports.collection import Collection
from incrowd.survey import Survey
from incrowd.workflow.estimate import estimate, true_tables
from incrowd.workflow.plan import plan
from incrowd.workflow.randomize import randomize_records


@dataclass(frozen=True)
class TableQuality:
    """What the trials show of one table; every array has the shape of the table.

    coverage: share of trials whose interval holds the truth. bias: mean estimate less truth.
    mean_standard_error: what the estimates say of themselves (root mean square).
    empirical_standard_error: how far they really spread.
    """

    questions: tuple[str, ...]
    coverage: np.ndarray
    bias: np.ndarray
    mean_standard_error: np.ndarray
    empirical_standard_error: np.ndarray


@dataclass(frozen=True)
class Simulation:
    """The quality of every table over a number of trials."""

    plan: Plan
    trials: int
    fixed_people: bool
    tables: tuple[TableQuality, ...]


def simulate(
    survey: Survey,
    answers: pa.Table,
    trials: int = 1000,
    fixed_people: bool = False,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Plan once; in each trial draw people, randomise, estimate; compare with the true shares.

    Each trial draws `crowd` people from the answers with replacement and uses the errors of noise
    plus sampling; `fixed_people` draws them once, keeps them, and uses the errors of the noise
    alone. progress: called with 1 after every trial. The randomness is repeatable (`seed`).
    Raises UsageError for fewer than 2 trials, or if there are fewer fixed people than the crowd.
    """
    if trials < 2:
        raise UsageError.of("trials", trials, "should be at least 2")
    made = plan(survey)
    records = _records(made, check_columns(answers, survey))
    if fixed_people and len(records) < survey.crowd:
        raise UsageError.of("crowd", survey.crowd, f"only {len(records)} answers to keep fixed")
    people, keystream = np.random.default_rng(seed), Keystream.for_simulation(seed)
    if fixed_people:
        records = records[people.permutation(len(records))[: survey.crowd]]
    truth = true_tables(made, records, survey.wanted)
    collected = []
    for _ in range(trials):
        drawn = (
            records if fixed_people else records[people.integers(len(records), size=survey.crowd)]
        )
        collected.append(_trial(made, drawn, keystream, fixed_people))
        if progress:
            progress(1)
    tables = tuple(
        _quality(ids, true, [trial[number] for trial in collected])
        for number, (ids, true) in enumerate(zip(survey.wanted, truth, strict=True))
    )
    return Simulation(made, trials, fixed_people, tables)


def _records(made: Plan, answers: pa.Table) -> np.ndarray:
    return encode([made.survey.question(id) for id in made.messages[0].questions], answers)


Trial = list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


def _trial(made: Plan, drawn: np.ndarray, keystream: Keystream, fixed_people: bool) -> Trial:
    """Estimate, standard error, low and high of every table."""
    message = made.messages[0]
    packed = randomize_records(drawn, made, message, keystream)
    reports = Collection(made.digest, 0, made.bits(message), packed, keystream.seed)
    tables = estimate(made, reports, noise_only=fixed_people).tables
    return [(t.estimate, t.standard_error, t.low, t.high) for t in tables]


def _quality(ids: tuple[str, ...], truth: np.ndarray, trials: Trial) -> TableQuality:
    estimates, errors, lows, highs = (np.array(part) for part in zip(*trials, strict=True))
    return TableQuality(
        questions=ids,
        coverage=np.mean((lows <= truth) & (truth <= highs), axis=0),
        bias=np.mean(estimates, axis=0) - truth,
        mean_standard_error=np.sqrt(np.mean(errors**2, axis=0)),
        empirical_standard_error=np.std(estimates, axis=0, ddof=1),
    )
