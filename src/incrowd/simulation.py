"""The accuracy of a plan's estimates: draw, randomize, and estimate many collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd import views
from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.encoding.answers import load_answers
from incrowd.encoding.records import Encoded, EncodedAnswers, asked_rows, pack, read_column
from incrowd.errors import UsageError, quantity
from incrowd.estimation.decoders import decoder, merging
from incrowd.estimation.displayed import JOINT
from incrowd.estimation.estimate import TableOptions, count, figures
from incrowd.estimation.precision import theoretical_error
from incrowd.estimation.quality import TableQuality, quality
from incrowd.estimation.readings import check_tables, open_axis, open_of, sources, table
from incrowd.estimation.simultaneous import SimultaneousIntervals, check_method
from incrowd.estimation.tables import OpenAxis, TableEstimate
from incrowd.estimation.weighting.known_margins import known_margins
from incrowd.estimation.weighting.weighting import TableChange, counted_for, wide_alone
from incrowd.guarantees.collected import guarantee_of
from incrowd.kernels.axes import transform as along_axes
from incrowd.methods import SimultaneousMethod
from incrowd.planner.plan import plan
from incrowd.plans import Message, Plan
from incrowd.plans.message import SERVICES
from incrowd.plans.strata import StratumNames, label, releases_by_answer
from incrowd.reports.collection import Collection
from incrowd.reports.moments import moments
from incrowd.reports.tally import as_counts
from incrowd.sampling.added import people_in_cells, with_noise
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import people_of_file, randomize_message, rounded, unrounded
from incrowd.sampling.records import randomize_records
from incrowd.sampling.strata import released, rows_of
from incrowd.survey import UNANSWERED, AnyQuestion, Codes, Survey
from incrowd.survey.question import QuestionIds
from incrowd.views import Numbers, Sheet, View, with_and

# The true shares in the answers themselves, for demonstrations and simulations.


MOST_TRIALS = 10**6  # they take days
MOST_NUMBERS = 1 << 22  # held at a time: 32 MiB


def truth(
    plan: Plan, answers: Any, *, tables: Sequence[Sequence[str]] | None = None
) -> tuple[np.ndarray, ...]:
    """Compute the true shares in the answers, to compare estimates with.

    Parameters
    ----------
    plan : Plan
        The plan. If questions are open, only the people whom `randomize` would release count.
    answers : str, Path, file object, or data frame
        As for `load_answers`. Each edge of an amount counts with its probability.
    tables : sequence of sequences of str, optional
        Lists of question ids; by default those that the survey requests.

    Returns
    -------
    tuple of ndarray
        One array per table; text questions have none.

    Raises
    ------
    AnswersError
        If there are no such people, or the answers do not fit the survey.
    TableError
        For tables that cannot be estimated.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> incrowd.truth(plan, "examples/rand_hie.csv")[0].round(2)
    array([0.88, 0.12])
    """
    wanted = [ids for ids in check_tables(plan, tables) if ids[0] not in plan.survey.texts]
    read = load_answers(answers, plan.survey)
    everybody = Everybody.of(plan, people_of_file(plan.survey, read))
    return tuple(everybody.cells(plan, ids) for ids in wanted)


class ReleasedPeople(NamedTuple):
    """People who gave one answer to open questions, and in how many releases they are."""

    people: EncodedAnswers
    releases: int


class Everybody(NamedTuple):
    """People with their true answers, and the releases they belong to.

    releases: the rows of each release; empty if no question is open.
    """

    people: EncodedAnswers
    releases: Mapping[StratumNames, np.ndarray]

    @classmethod
    def of(cls, plan: Plan, people: EncodedAnswers) -> Everybody:
        """Return the people of all releases."""
        if not plan.survey.open:
            return cls(people, {})
        groups = released(plan.survey, people.strata(plan.survey), plan.least)
        rows = np.sort(np.concatenate(list(rows_of(plan, people, groups))))
        included = people.take(rows)
        return cls(included, dict(zip(groups, rows_of(plan, included, groups), strict=True)))

    def parts(self, plan: Plan, ids: QuestionIds) -> tuple[OpenAxis, list[ReleasedPeople]]:
        """Return the open axis of a table, and the people who gave each of its answers."""
        names = releases_by_answer(plan.survey, open_of(plan.survey, ids), list(self.releases))
        groups = list(names.values())
        rows = [np.concatenate([self.releases[name] for name in group]) for group in groups]
        axis = open_axis(plan.survey, ids, tuple(names), tuple(map(len, rows)))
        parts = zip(map(self.people.take, rows), map(len, groups), strict=True)
        return axis, [ReleasedPeople(*part) for part in parts]

    def who_answered(self, plan: Plan, ids: QuestionIds) -> Everybody:
        """Return the people who answered all of the given questions."""
        answered = np.ones(self.people.number, bool)
        for question in map(plan.survey.question, ids):
            encoded = self.people.encoded[question.id]
            silent = np.isin(encoded.places, [*map(question.recorded.index, question.unanswered)])
            answered[encoded.rows[silent]] = False
        places = np.cumsum(answered) - 1
        releases = {names: places[rows[answered[rows]]] for names, rows in self.releases.items()}
        return Everybody(self.people.take(np.flatnonzero(answered)), releases)

    def cells(self, plan: Plan, ids: QuestionIds) -> np.ndarray:
        """Return the true shares of a table."""
        closed = plan.survey.closed(ids)
        if closed == ids:
            return true_table(plan, ids, true_moments(plan, self.people, ids))
        axis, parts = self.parts(plan, ids)
        one = np.array(1.0)
        shares = [
            true_table(plan, closed, true_moments(plan, part.people, closed)) if closed else one
            for part in parts
        ]
        return np.stack(
            [w * cells for w, cells in zip(axis.shares, shares, strict=True)], axis.place
        )


def true_table(plan: Plan, ids: QuestionIds, shares: np.ndarray) -> np.ndarray:
    """Return the cells of a table from its joint shares of set bits, without noise."""
    first = plan.survey.question(ids[0])
    if len(ids) == 1 and first.wide:
        return np.asarray(merging(first) @ shares[1:])
    decoders = [decoder(plan.survey.question(id), np.eye(2)) for id in ids]
    return along_axes([d.mean for d in decoders], shares)


def true_moments(plan: Plan, people: EncodedAnswers, ids: QuestionIds) -> np.ndarray:
    """Return the joint shares of set bits in the answers, as `incrowd.reports.moments` counts
    them."""
    questions = [plan.survey.question(id) for id in ids]
    if len(ids) == 1 and questions[0].wide:
        counts = np.bincount(people.encoded[ids[0]].places, minlength=questions[0].bits)
        return np.append(people.number, counts) / people.number
    ends = np.cumsum([0, *(question.bits for question in questions)]).tolist()
    axes = [slice(a, b) for a, b in pairwise(ends)]
    if any(people.encoded[id].up is not None for id in ids):
        return _expected_moments(questions, people)
    return moments(pack(questions, people.encoded, people.number), axes) / people.number


def _expected_moments(questions: Sequence[AnyQuestion], people: EncodedAnswers) -> np.ndarray:
    """Return `true_moments` of amounts before rounding: each edge counts with its probability."""
    total = np.zeros([1 + question.bits for question in questions])
    each = max(1, MOST_NUMBERS // total.size)
    for start in range(0, people.number, each):
        some = people.take(np.arange(start, min(start + each, people.number)))
        held = np.ones((some.number, 1))
        for question in questions:
            chances = np.hstack([np.ones((some.number, 1)), _chances(question, some)])
            held = (held[:, :, None] * chances[:, None]).reshape(some.number, -1)
        total += held.sum(axis=0).reshape(total.shape)
    return total / people.number


def _chances(question: AnyQuestion, people: EncodedAnswers) -> np.ndarray:
    """Return the probability that each bit of each person is set, shape (people, bits)."""
    encoded = people.encoded[question.id]
    up = np.zeros(len(encoded.rows)) if encoded.up is None else encoded.up / DENOMINATOR
    chances = np.zeros((people.number, question.bits + 1))  # the first column means no bit
    chances[encoded.rows, encoded.places + 1] = 1 - up
    above = up > 0
    chances[encoded.rows[above], encoded.places[above] + 2] = up[above]
    return chances[:, 1:]


# Invented people, for rehearsals.


WORDS = tuple(f"word{number}" for number in range(1, 7))  # the invented answers to text questions


def invented(survey: Survey, people: int, rng: np.random.Generator) -> pa.Table:
    """Return made-up answers, one row per person: a simulation that says nothing about anybody.

    Every question is answered independently of all others by those who are asked. Its answers are
    as common as the survey expects (`shares`); where it states nothing, each is half as common as
    the previous one, a twentieth of the people gives no answer to an optional question, and the
    answers to an open question are equally common. The result can be written to a file of answers
    for the survey.
    """
    columns: dict[str, pa.Array] = {}
    encoded: dict[str, Encoded] = {}
    for question in survey.questions:
        column = _invented(question, people, rng)
        asked = asked_rows(question, survey.questions, encoded, people)
        if asked is not None:
            column = pc.if_else(pa.array(asked), column, pa.scalar(None, column.type))
        columns[question.id] = column
        codes = Codes(question=question.id)
        encoded[question.id] = read_column(question, codes, column, asked).encoded
    return pa.table(columns)


def _invented(question: AnyQuestion, people: int, rng: np.random.Generator) -> pa.Array:
    """Return a column of texts, of numbers, or of lists of texts."""
    if not question.exclusive:
        return _some_of(question, people, rng)
    choices = WORDS if question.hashed else question.choices
    if question.stated_shares is not None:
        shares = np.array(question.stated_shares[: len(choices) + question.optional])
    elif question.open:
        shares = np.ones(len(choices) + question.optional)
    else:
        shares = np.append(0.5 ** np.arange(len(choices)), [0.0] * question.optional)
        shares[-1] = shares.sum() / 19 if question.optional else shares[-1]
    values: list[Any] = list(question.values if question.of_numbers else choices)  # type: ignore[arg-type]
    drawn = rng.choice(len(shares), people, p=shares / shares.sum())
    values += [None] * question.optional
    return pa.array([values[place] for place in drawn.tolist()])


def _some_of(question: AnyQuestion, people: int, rng: np.random.Generator) -> pa.Array:
    """Return lists of options, each given independently of the others as far as that is allowed."""
    options, most = len(question.choices), question.domain.most
    stated = question.stated_shares or (*question.uneven_shares, *([0.05] * question.optional))
    given = rng.random((people, options)) < np.array(stated[:options])
    rank = np.where(given, rng.random(given.shape), 2.0).argsort(axis=1).argsort(axis=1)
    given &= rank < most  # of too many, some at random
    silent = rng.random(people) < (stated[options] if question.optional else 0.0)
    rows = [
        None if none else [question.choices[place] for place in np.flatnonzero(row)]
        for row, none in zip(given, silent.tolist(), strict=True)
    ]
    return pa.array(rows, pa.list_(pa.string()))


MOST_SEED = 2**63


QUALITY = ("mean", "worst", "joint", "bias", "limit", "stated", "actual", "theory", "eff.")


@dataclass(frozen=True)
class Simulation(views.Result):
    """The quality of every table over a number of trials, with the options of `simulate`.

    Attributes
    ----------
    plan : Plan
        The plan of all trials.
    trials : int
        The number of trials.
    fixed_people : bool
        Whether the people were drawn only once.
    tables : tuple of TableQuality
        Coverage, bias, and errors of each table.
    seed : int
        Of the simulation.
    simultaneous : {"max-t", "bonferroni"} or None
        The method of simultaneous intervals.
    weight_to : tuple of str
        The questions to whose shares the trials were weighted.
    of_those_who_answered : bool
        Whether "no answer" was left out.
    guarantee : None
        The trials protect no one.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.load("examples/health.toml")
    >>> found = incrowd.simulate(survey, "examples/rand_hie.csv", trials=2)
    >>> [table.questions for table in found.tables][-1]
    ('physical_limitation', 'self_rated_health')
    """

    plan: Plan
    trials: int
    fixed_people: bool
    tables: tuple[TableQuality, ...]
    seed: int
    simultaneous: SimultaneousMethod | None = None
    weight_to: tuple[str, ...] = ()
    of_those_who_answered: bool = False
    guarantee: None = None  # that of the plan is in the facts; the trials protect nobody

    def __repr__(self) -> str:
        tables = quantity(len(self.tables), "tables")
        return f"Simulation({self.plan.survey.name!r}, {self.trials:,} trials, {tables})"

    def facts(self) -> dict[str, Any]:
        """Return the options, the guarantee of the plan, and the quality of every table."""
        return {
            "trials": self.trials,
            "fixed_people": self.fixed_people,
            "simultaneous": self.simultaneous,
            "weight_to": self.weight_to,
            "of_those_who_answered": self.of_those_who_answered,
            "plan": self.plan.digest,
            "guarantee": guarantee_of(self.plan, seed=self.seed),
            "tables": [table.facts for table in self.tables],
        }

    def long_table(self) -> Sheet:
        """Return a row for each table: its questions, and means over its cells."""
        records = [
            {"questions": JOINT.join(table.questions)} | table.figures for table in self.tables
        ]
        return Sheet.of_records("quality", records)

    def view(self) -> View:
        """Return the quality of every table in percent; the figures fit into 80 columns."""
        people = "people fixed" if self.fixed_people else "people drawn"
        weights = f", weighted to {with_and(self.weight_to)}" if self.weight_to else ""
        whose = ", of those who answered" if self.of_those_who_answered else ""
        trials = f"{self.trials:,} trials, {people}{weights}{whose}"
        title, survey = f"{trials}, nominal coverage 95%", self.plan.survey
        lines = tuple(("\n".join(table.questions), *table.texts) for table in self.tables)
        accuracy = 100 * (0.95 * 0.05 / self.trials) ** 0.5
        by = f" by the {self.simultaneous} intervals" if self.simultaneous else ""
        note = (
            "All in percent. mean, worst, joint: coverage of the cells on average, of the worst "
            f"cell, of all cells of a table at once{by}; each is accurate to ±{accuracy:.1f}. "
            "bias: the largest of any cell; a bias beyond its limit is significant (5% false "
            "alarms per table). stated, actual, theory: standard errors, root mean squares over "
            "the cells. eff.: theoretical over actual variance."
        )
        return View(
            title=title,
            legend=survey.legend(*(question.id for question in survey.questions)),
            tables=(Numbers(title, ("table", *QUALITY), lines, whole=QUALITY, spaces=1),),
            notes=(note,),
        )


def simulate(
    survey: Survey,
    answers: Any,
    *,
    trials: int = 1000,
    fixed_people: bool = False,
    simultaneous: SimultaneousMethod | None = None,
    weight_to: Sequence[str] = (),
    of_those_who_answered: bool = False,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Plan once, then compare the estimates of many simulated collections with the true shares.

    Parameters
    ----------
    survey : Survey
        The survey. Text questions are left out.
    answers : str, Path, file object, or data frame
        As for `load_answers`.
    trials : int
        The number of collections. Each draws `crowd` people from the answers with replacement; if
        questions are open, as many as `randomize` would release, in their strata.
    fixed_people : bool
        Whether people are drawn, and their amounts rounded, only once. The errors are then those of
        the noise alone, otherwise those of noise and sampling. So it is for a census.
    simultaneous : {"max-t", "bonferroni"}, optional
        As for `estimate`.
    weight_to : sequence of str
        Questions to whose shares in the answers every trial is weighted, so that the true shares do
        not change.
    of_those_who_answered : bool
        Whether to leave out "no answer".
    seed : int
        Makes the simulation repeatable.
    progress : callable, optional
        Called with 1 after every trial.

    Returns
    -------
    Simulation
        Coverage, bias, and errors of every table.

    Raises
    ------
    UsageError
        For fewer than 2 or more than a million trials, a negative seed, or fewer fixed people than
        the crowd.
    TableError
        As for `estimate`.
    AnswersError
        As for `randomize`.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.load("examples/health.toml")
    >>> found = incrowd.simulate(survey, "examples/rand_hie.csv", trials=2)
    >>> len(found.tables)
    6
    """
    if not 2 <= trials <= MOST_TRIALS:
        raise UsageError.of("trials", "shared.number-of-trials", value=trials, most=MOST_TRIALS)
    if not 0 <= seed < MOST_SEED:
        raise UsageError.of("seed", "shared.no-seed", value=seed)
    check_method(simultaneous)
    planned, fixed_people = plan(survey), fixed_people or survey.census
    everybody = people_of_file(survey, load_answers(answers, survey))
    generator, keystream = np.random.default_rng(seed), Keystream.for_simulation(seed)
    if fixed_people:
        everybody = rounded(_crowd(survey, everybody, generator), keystream)
    population = Everybody.of(planned, everybody)
    change = _change(planned, population, weight_to, of_those_who_answered)
    trial = Trial(planned, population, fixed_people, simultaneous, change)
    collected = []
    for _ in range(trials):
        collected.append(trial.run(generator, keystream))
        if progress:
            progress(1)
    tables = [
        _quality(trial, population, ids, results)
        for ids, *results in zip(trial.wanted, *collected, strict=True)
    ]
    return Simulation(
        planned,
        trials,
        fixed_people,
        tuple(tables),
        seed,
        simultaneous,
        tuple(weight_to),
        of_those_who_answered,
    )


def _crowd(
    survey: Survey, everybody: EncodedAnswers, generator: np.random.Generator
) -> EncodedAnswers:
    """Return as many people as the survey's crowd; all of them if questions are open."""
    if survey.open:
        return everybody
    if everybody.number < survey.crowd:
        raise UsageError.of(
            "crowd", "shared.few-fixed-people", value=survey.crowd, most=everybody.number
        )
    return everybody.take(np.sort(generator.permutation(everybody.number)[: survey.crowd]))


def _quality(
    trial: Trial, population: Everybody, ids: QuestionIds, results: Sequence[TrialResult]
) -> TableQuality:
    """Return the quality of one table over all trials."""
    change = trial.asked.change
    estimates, intervals = zip(*results, strict=True)
    truth = _truth(trial.plan, population, ids, change is not None and bool(change.left_out))
    theory = np.full(truth.shape, np.nan)
    if change is None:
        theory = _theory(trial.plan, population, ids, estimates[0].error.noise_only, trial.number)
    at_once = [each for each in intervals if each is not None]
    return quality(ids, truth, theory, estimates, at_once)


def _change(
    plan: Plan, population: Everybody, weight_to: Sequence[str], answered: bool
) -> TableChange | None:
    """Return how the tables are changed. The margins are taken from the answers."""
    if not weight_to and not answered:
        return None
    for ids in check_tables(plan, [(id,) for id in weight_to]):
        question = plan.survey.question(ids[0])
        if question.one_way_only or question.wide:
            raise UsageError.of("weight_to", "shared.weight-alone", value=ids[0])
    shares = {
        id: dict(zip(plan.survey.question(id).answers, population.cells(plan, (id,)), strict=True))
        for id in weight_to
    }
    return TableChange(
        known_margins(plan.survey, shares) if shares else (), UNANSWERED if answered else ()
    )


def _truth(plan: Plan, population: Everybody, ids: QuestionIds, answered: bool) -> np.ndarray:
    """Return the true shares of a table. answered: only of those who answered."""
    if not answered or wide_alone(plan.survey, ids):
        return population.cells(plan, ids)
    cells = population.who_answered(plan, ids).cells(plan, ids)
    axes = [plan.survey.question(id).answers for id in ids]
    if cells.ndim != len(axes):  # several open questions are one axis, without "no answer"
        return cells
    return cells[np.ix_(*([a not in UNANSWERED for a in answers] for answers in axes))]


def _theory(
    plan: Plan, population: Everybody, ids: QuestionIds, noise_only: bool, number: int
) -> np.ndarray:
    """Return the standard error that every cell should have with `number` people."""
    closed = plan.survey.closed(ids)

    def of(part: ReleasedPeople, number: int, noise_only: bool) -> np.ndarray:
        weights = [(source.message, source.weight) for source in sources(plan, closed)]
        shares = true_moments(plan, part.people, closed)
        cells = true_table(plan, closed, shares)
        stated = plan, weights, closed, shares, cells
        return theoretical_error(*stated, noise_only, number, part.releases)

    if closed == ids:
        everybody = ReleasedPeople(population.people, max(len(population.releases), 1))
        return of(everybody, number, noise_only)
    axis, parts = population.parts(plan, ids)
    each = [of(part, part.people.number, True) if closed else np.array(0.0) for part in parts]
    noise = np.stack([w * error for w, error in zip(axis.shares, each, strict=True)], axis.place)
    cells = population.cells(plan, ids)
    sampling = 0.0 if noise_only else cells * (1 - cells) / number
    return np.asarray(np.sqrt(noise**2 + sampling))


TrialResult = tuple[TableEstimate, SimultaneousIntervals | None]


class Trial:
    """The common part of all trials: the plan, the people,
    and their records if these never change."""

    def __init__(
        self,
        plan: Plan,
        population: Everybody,
        fixed_people: bool,
        simultaneous: SimultaneousMethod | None,
        change: TableChange | None,
    ) -> None:
        self.plan, self.people, self.fixed_people = plan, population.people, fixed_people
        change = change and change._replace(noise_only=fixed_people)
        self.asked = TableOptions(
            fixed_people, (), {}, simultaneous, covariance=False, change=change
        )
        self.strata = list(population.releases) or [()]
        self.number = self.people.number if plan.survey.open else plan.survey.crowd
        self.release = np.zeros(self.people.number, np.int64)
        for release, rows in enumerate(population.releases.values()):
            self.release[rows] = release
        self.wanted = [ids for ids in plan.survey.wanted if ids[0] not in plan.survey.texts]
        self.records = [self._packed(message) for message in plan.messages]

    def _packed(self, message: Message) -> np.ndarray | None:
        """Return the records of a message; None if they differ between trials (words change with
        the cohort, amounts are rounded anew) or are wide."""
        words = {*message.ids} & {*self.plan.survey.texts}
        if message.cells or words or unrounded(self.people):
            return None
        return pack(message.questions, self.people.encoded, self.people.number)

    def run(self, generator: np.random.Generator, keystream: Keystream) -> list[TrialResult]:
        """Return the estimates of every wanted table from one collection."""
        drawn = np.arange(self.people.number)
        if not self.fixed_people:
            drawn = generator.integers(self.people.number, size=self.number)
        people, release = self.people, self.release
        if unrounded(people):
            people, release = rounded(people.take(drawn), keystream), release[drawn]
            drawn = np.arange(len(drawn))
        reports = [
            self._reports(number, names, people, drawn[release[drawn] == place], keystream)
            for place, names in enumerate(self.strata)
            for number in range(len(self.records))
        ]
        return self._estimated(reports)

    def _estimated(self, reports: Sequence[Collection]) -> list[TrialResult]:
        change, simultaneous = self.asked.change, self.asked.simultaneous
        if change is None and simultaneous is None:
            counted = count(self.plan, reports, tables=self.wanted)
            each = [table(self.plan, counted, ids, self.fixed_people) for ids in self.wanted]
            return [(table, None) for table in each]
        together = [counted_for(self.plan, ids, change) for ids in self.wanted] if change else []
        tables = tuple(dict.fromkeys(filter(None, (*self.wanted, *together))))
        counted = count(self.plan, reports, tables=tables, kind="pairs")
        estimates = figures(self.plan, counted, self.wanted, self.asked)
        return list(
            zip(
                estimates.tables,
                estimates.simultaneous or [None] * len(estimates.tables),
                strict=True,
            )
        )

    def _reports(
        self,
        number: int,
        names: StratumNames,
        people: EncodedAnswers,
        drawn: np.ndarray,
        keystream: Keystream,
    ) -> Collection:
        message, records = self.plan.messages[number], self.records[number]
        draws = SERVICES if message.by_services else 0
        if message.added is not None:
            counts = people_in_cells(message, people.take(drawn))
            packed = as_counts(with_noise(counts, message.added, draws, keystream))
        elif records is None:
            packed = randomize_message(self.plan, message, people.take(drawn), keystream)
        else:
            packed = randomize_records(records[drawn], self.plan, message, keystream)
        return Collection(
            plan=self.plan.digest,
            message=number,
            bits=message.file_bits,
            packed=packed,
            seed=keystream.seed,
            id=f"{label(names)} {number}",
            people=message.declared(len(drawn)),
            strata=names,
            draws=draws,
        )
