"""Randomize answers by a plan: encode, flip and shuffle."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.encoding.amounts import NEGATIVE, Adjusted
from incrowd.encoding.answers import AnswerBatches, load_answers, load_batches, texts
from incrowd.encoding.records import EncodedAnswers, one_row_each, pack, set_cells
from incrowd.encoding.sources import AnswersSource, source_of
from incrowd.errors import AnswersError, IncrowdWarning, Problem
from incrowd.guarantees.certified import analysis_of
from incrowd.plans import Message, Plan
from incrowd.plans.strata import StratumGroup, StratumNames
from incrowd.reports.collection import Collection
from incrowd.reports.folder import save_reports
from incrowd.reports.tally import as_counts
from incrowd.sampling.added import people_in_cells
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKey, DeviceKeys, remembering
from incrowd.sampling.records import draw_cohorts, randomize_cells, randomize_records, repeat_cells
from incrowd.sampling.shuffle import DrawReports, permutation
from incrowd.sampling.strata import (
    crowds,
    people_of,
    released,
    warn_of_fewer_people,
    warn_of_small_strata,
)
from incrowd.sampling.streaming import (
    ProgressBar,
    WrittenReports,
    batch_rows,
    header,
    in_two_passes,
    no_bar,
    publish,
)
from incrowd.survey import AnyQuestion, Survey, takes_numbers

# Random rounding of amounts. Proof: docs/mathematics.md#amounts.


HALF = np.uint64(32)  # bits of a word; the upper ones are compared


def rounded_up(numerators: np.ndarray, keystream: Keystream) -> np.ndarray:
    """Return 1 with probability exactly numerator / 2^32 (0 and 1 included), otherwise 0; int64."""
    drawn = keystream.words(len(numerators)) >> HALF
    return (drawn < numerators.astype(np.uint64)).astype(np.int64)


# Amounts are rounded once for each person, before all messages and copies.


def rounded(people: EncodedAnswers, keystream: Keystream) -> EncodedAnswers:
    """Return the people with each amount replaced with one of its two edges.

    All reports of a person then come from one record, as the guarantee and the errors assume.
    """
    encoded = {
        id: each if each.up is None else each.drawn(rounded_up(each.up, keystream))
        for id, each in people.encoded.items()
    }
    return people._replace(encoded=encoded)


def unrounded(people: EncodedAnswers) -> bool:
    """Return whether there are amounts that are not rounded yet."""
    return any(each.up is not None for each in people.encoded.values())


def people_of_file(survey: Survey, answers: pa.Table) -> EncodedAnswers:
    """Return the encoded answers of a table; warn about answers that count as others."""
    people = EncodedAnswers.of(survey, answers)
    warn_adjusted(survey, [adjusted(people)])
    return people


def adjusted(people: EncodedAnswers) -> dict[str, Adjusted]:
    """Return how many answers count as others, by question."""
    return {id: each.adjusted for id, each in people.encoded.items()}


def warn_adjusted(survey: Survey, pieces: Sequence[Mapping[str, Adjusted]]) -> None:
    """Warn about the answers that count as others, over all pieces of a file."""
    for question in survey.questions:
        total = reduce(Adjusted.and_of, (each[question.id] for each in pieces))
        for line in adjusted_lines(question, total):
            warnings.warn(f"{question.id}: {line}", IncrowdWarning, stacklevel=3)


def adjusted_lines(question: AnyQuestion, total: Adjusted) -> Iterator[Sentence]:
    """Yield a warning about the answers of people who were not asked, one about amounts below the
    first edge, and one about those above the last."""
    if total.unasked:
        condition = str(question.asked_if)
        yield sentence("sampling.not-asked", number=total.unasked, condition=condition)
    if not (question.rounded and takes_numbers(question)):
        return
    for code, number, edge, codes in (
        ("sampling.below", total.below, question.edges[0], total.codes & NEGATIVE),
        ("sampling.above", total.above, question.edges[-1], total.codes - NEGATIVE),
    ):
        if number:
            hint = sentence("sampling.use-missing", codes=sorted(codes)) if codes else ""
            yield Sentence(
                code, {"number": number, "answers": total.answers, "edge": edge, "hint": hint}
            )


MOST_FILES = 400  # open at the same time


def randomize(
    plan: Plan,
    answers: Any,
    *,
    simulation_seed: int | None = None,
    id: str | None = None,
    device_key: DeviceKey | None = None,
) -> tuple[Collection, ...]:
    """Encode, randomize, and shuffle the answers.

    If the plan says that services add the noise of some cells, their people are counted, and noise
    is added to the counts: once, or twice if the survey states a `service_epsilon`. This protects
    people from readers of the counts, and not from whoever calls this function.

    Parameters
    ----------
    plan : Plan
        What is sent, and with how much noise.
    answers : str, Path, file object, or data frame
        As for `load_answers`.
    simulation_seed : int, optional
        Makes the reports repeatable and therefore not private, which the collections state. Real
        reports take their randomness from the operating system.
    id : str, optional
        The column that identifies people; the rows of one person count once. By default, each row
        counts as one person.
    device_key : DeviceKey, optional
        The secret that permanent responses need; a key for each id is derived from it.

    Returns
    -------
    tuple of Collection
        One for each message; if questions are open, one for each stratum and message. Strata with
        fewer people than a release needs are merged or left out, as the survey's `small_strata`
        says.

    Raises
    ------
    AnswersError
        If the answers do not fit the survey, no stratum is large enough, or fewer people answered
        than a release of counts needs.
    UsageError
        If a device key is needed.
    PlanFileError
        If the plan's analysis does not promise what the plan does.

    Warns
    -----
    IncrowdWarning
        About small strata, fewer people than the crowd, and amounts outside their edges.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> len(reports) == len(plan.messages)
    True
    """
    analysis_of(plan)
    answers = load_answers(answers, plan.survey, id=id)
    if id is not None:
        answers = one_row_each(answers, plan.survey, id)
    people = people_of_file(plan.survey, answers)
    warn_of_fewer_people(plan, people.number)
    devices = texts(answers, id).to_pylist() if id is not None and plan.memoized else None
    memory = remembering(plan, people.number, devices, device_key)
    keystream = Keystream.of(simulation_seed)
    people = rounded(people, keystream)
    collections = []
    persons = "rows" if id is None else "ids"
    for names, some, keys in crowds(plan, people, memory):
        for number, message in enumerate(plan.messages):
            if message.cells and message.by_services:
                packed = publish(plan, message, people_in_cells(message, some), keystream)
            else:
                reports = randomize_message(plan, message, some, keystream, keys)
                packed = np.take(reports, permutation(len(reports), keystream), axis=0)
            head = header(plan, number, some.number, keystream)
            collections.append(replace(head, packed=packed, persons=persons, strata=names))
    return tuple(collections)


def randomize_message(
    plan: Plan,
    message: Message,
    people: EncodedAnswers,
    keystream: Keystream,
    memory: DeviceKeys | None = None,
    most: int | None = None,
) -> np.ndarray:
    """Return the packed reports of one message, all its copies, not yet shuffled.

    Returns uint8, shape (reports, ceil(bits of a report / 8)). memory: the device keys for
    permanent responses; without them all stages are drawn afresh, as in a single round. most: how
    many reports of one person fit, which permanent responses respect; other messages are for the
    caller to draw again. Amounts have to be rounded before, once for all messages.
    """
    if message.cells:
        cells = set_cells(message.crossing.blocks, message.questions, people.encoded, people.number)
        if memory is not None and message.memoized:
            return repeat_cells(*cells, plan, message, memory, most)
        return randomize_cells(*cells, people.number, message, keystream)
    questions = message.questions
    if not any(question.hashed for question in questions):
        records = pack(questions, people.encoded, people.number)
        return randomize_records(records, plan, message, keystream, memory)
    copies = []
    for _ in range(message.copies):
        cohorts = draw_cohorts(message, people.number, keystream)
        records = pack(questions, people.encoded, people.number, cohorts)
        copies.append(randomize_records(records, plan, message, keystream, memory, copies=1))
    return np.concatenate(copies)


def randomize_files(
    plan: Plan,
    answers: str | Path | IO[bytes] | AnswersSource,
    output: str | Path,
    *,
    simulation_seed: int | None = None,
    id: str | None = None,
    device_key: DeviceKey | None = None,
    format: str | None = None,
    encoding: str | None = None,
    progress: ProgressBar = no_bar,
) -> WrittenReports:
    """Encode, randomize and shuffle a file of answers of any size, in bounded memory.

    The collections have the same law as with `randomize`: each is one uniform permutation of all
    its reports. A file of a single batch gives exactly the bytes of `randomize`. A second copy of
    the reports is on disk meanwhile, in unnamed files beside the output. Only with `id` is the
    whole file held in memory, since the rows of an id have to be compared.

    answers, format, encoding: as for `load_answers`; CSV and Parquet files may be larger than
    memory, other files and pipes are held in it. output: as for `save_reports`; written completely
    or not at all. progress: makes a progress bar from a label and a total. Other arguments and
    exceptions are as for `randomize`; wrong rows are counted over the whole file.
    """
    analysis_of(plan)
    source = source_of(answers, format, encoding)
    read = _batches(plan, source, id)
    first = list(islice(read.tables, 2))
    if len(first) > 1:
        groups, people = _counted(plan, source)
        changed: list[dict[str, Adjusted]] = []
        written = in_two_passes(
            plan,
            chain(first, read.tables),
            _drawing(plan, device_key, groups, changed),
            Path(output),
            keystream=Keystream.of(simulation_seed),
            size=read.size,
            unit=read.unit,
            bar=progress,
            people=people,
        )
        warn_adjusted(plan.survey, changed)
        warn_of_fewer_people(plan, written.rows)
        return written
    table, _ = first[0]
    with progress("randomizing, rows", table.num_rows) as done:
        collections = randomize(
            plan, table, simulation_seed=simulation_seed, id=id, device_key=device_key
        )
        done(table.num_rows)
    files, reports = save_reports(collections, output), tuple(map(len, collections))
    strata = tuple(each.strata for each in collections if each.strata)
    return WrittenReports(table.num_rows, files, reports, simulation_seed, strata)


def _counted(
    plan: Plan, answers: AnswersSource
) -> tuple[dict[StratumNames, StratumGroup] | None, dict[StratumNames, int] | None]:
    """Return the releases of a file and the number of people in each; reads the open answers first.

    None if no question is open. Raises AnswersError as `crowds`, or if there are more collections
    than can be written at the same time.
    """
    survey = plan.survey
    if not survey.open:
        return None, None
    asked, counts, before = survey.model_copy(update={"questions": survey.open}), Counter[int](), 0
    for table, _ in load_batches(answers, asked, batch_rows(plan)).tables:
        counts.update(EncodedAnswers.of(asked, table, before).strata(asked).tolist())
        before += table.num_rows
    numbers = np.repeat(*(np.array(list(each)) for each in (counts, counts.values())))
    groups = released(survey, numbers, plan.least)
    warn_of_small_strata(survey, numbers, groups, plan.least)
    if (files := len(groups) * len(plan.messages)) > MOST_FILES:
        raise AnswersError.of(
            "answers", "sampling.too-many-collections", collections=files, most=MOST_FILES
        )
    return groups, {names: sum(counts[n] for n in group) for names, group in groups.items()}


def _batches(plan: Plan, answers: AnswersSource, id: str | None) -> AnswerBatches:
    """Return the answers in batches; with ids in a single one, however large."""
    if id is None:
        return load_batches(answers, plan.survey, batch_rows(plan))
    table = load_answers(answers, plan.survey, id=id)
    return AnswerBatches(table.num_rows, "rows", iter([(table, table.num_rows)]))


def _drawing(
    plan: Plan,
    key: DeviceKey | None,
    groups: dict[StratumNames, StratumGroup] | None,
    changed: list[dict[str, Adjusted]],
) -> DrawReports:
    """Return a function that draws the reports of each message and release from a table of answers.

    changed: a list to which it appends how many answers of each table count as others.
    """

    def draw(answers: pa.Table, before: int, keystream: Keystream) -> list[np.ndarray]:
        try:
            people = EncodedAnswers.of(plan.survey, answers, before)
        except AnswersError as error:
            last = before + answers.num_rows
            more = Problem("answers", "sampling.rest-not-checked", last=last)
            raise AnswersError(*error.problems, more) from None
        changed.append(adjusted(people))
        memory = remembering(plan, people.number, None, key)
        people = rounded(people, keystream)
        return [
            as_counts(people_in_cells(message, some))
            if message.cells and message.by_services
            else randomize_message(plan, message, some, keystream, memory)
            for some in people_of(plan, people, groups)
            for message in plan.messages
        ]

    return draw
